"""Attention in several heads with its linear maps, as one call of given weights."""

from __future__ import annotations

import math
from typing import Any

from ..imperative import ParameterError, ShapeError, Tensor, TensorLike, isdtype
from .algebra import matrix_transpose
from .arguments import integer, named, number
from .arranging import as_tensor, expand_dims, squeeze
from .attention import attention, attention_weights
from .creation import zeros
from .generated import (
    broadcast_to,
    concat,
    matmul,
    mean,
    permute_dims,
    reshape,
    where,
)

__all__ = ["multi_head_attention_forward"]
_CALL = "multi_head_attention_forward"


@named
def multi_head_attention_forward(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: TensorLike | None,
    in_proj_bias: TensorLike | None,
    bias_k: TensorLike | None,
    bias_v: TensorLike | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: TensorLike,
    out_proj_bias: TensorLike | None,
    training: bool = True,
    key_padding_mask: TensorLike | None = None,
    need_weights: bool = True,
    attn_mask: TensorLike | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: TensorLike | None = None,
    k_proj_weight: TensorLike | None = None,
    v_proj_weight: TensorLike | None = None,
    static_k: TensorLike | None = None,
    static_v: TensorLike | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    *,
    seed: int = 0,
) -> tuple[Tensor, Tensor | None]:
    """Attention in several heads, between linear maps whose weights are given.

    Its arguments are PyTorch's, as are the layouts: the length comes before the batch, weights are
    (out, in), and True in a mask hides a key. `nn.MultiHeadAttention` is the layer to begin with.

    Args:
        query: (length, batch, width), or (length, width), floating-point.
        key: (keys, batch, width of keys), or without the batch.
        value: (keys, batch, width of values), or without the batch.
        embed_dim_to_check: the width of query.
        num_heads: how many heads share the width.
        in_proj_weight: (3 * width, width), the maps of query, key and value below each other.
        in_proj_bias: (3 * width,), or None.
        bias_k: (1, 1, width), one more key for every batch, or None.
        bias_v: (1, 1, width), its value.
        add_zero_attn: whether a key and a value of zeros are added.
        dropout_p: the probability that a weight becomes 0, in training.
        out_proj_weight: (width, width), the map of the result.
        out_proj_bias: (width,), or None.
        training: whether weights are dropped.
        key_padding_mask: (batch, keys), or (keys,): booleans that hide keys, or numbers to add.
        need_weights: whether the weights are given too.
        attn_mask: (length, keys) or (batch * heads, length, keys): as key_padding_mask.
        use_separate_proj_weight: take the three weights below rather than in_proj_weight.
        q_proj_weight: (width, width).
        k_proj_weight: (width, width of keys).
        v_proj_weight: (width, width of values).
        static_k: (batch * heads, keys, width / heads), keys in place of those of `key`.
        static_v: (batch * heads, keys, width / heads), values likewise.
        average_attn_weights: give the mean of the weights over heads, not those of each.
        is_causal: let position i see keys up to number i only, where there is no attn_mask.
        seed: which weights are dropped; the same seed drops the same ones.

    Returns:
        The result, of the shape of query; and the weights, (batch, length, keys) or
        (batch, heads, length, keys), without the batch where query has none, or None.

    Raises:
        ParameterError: a weight that is asked for is missing, or dropout_p is no probability.
        ShapeError: the shapes do not fit.

    Source:
        Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; PyTorch,
        ``torch.nn.functional.multi_head_attention_forward``.

    Example:
        >>> import tensorlike as tl
        >>> x, w = tl.ones((3, 1, 4)), tl.ones((12, 4))
        >>> y, weights = tl.functional.multi_head_attention_forward(
        ...     x, x, x, 4, 2, w, None, None, None, False, 0.0, tl.eye(4), None
        ... )
        >>> (y.shape, weights.shape)
        ((3, 1, 4), (1, 3, 3))
    """
    query, key, value = as_tensor(query), as_tensor(key), as_tensor(value)
    is_batched = len(query.shape) == 3
    query, key, value = (_with_batch(name, x, is_batched) for name, x in (
        ("query", query), ("key", key), ("value", value)
    ))  # fmt: skip
    heads = integer(_CALL, "num_heads", num_heads, least=1)
    p = number(_CALL, "dropout_p", dropout_p, least=0.0, most=1.0) if training else 0.0
    length, batch, width = query.shape
    _check_width(query.shape, embed_dim_to_check, heads)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    weights = _maps(in_proj_weight, separate if use_separate_proj_weight else None, width)
    q, k, v = _projected((query, key, value), weights, in_proj_bias, width)
    hidden = _Hidden(batch, heads, key_padding_mask, attn_mask)
    if bias_k is not None or bias_v is not None:
        _check_biases(bias_k, bias_v, static_k, static_v)
        k = concat([k, broadcast_to(as_tensor(bias_k), (1, batch, width))], axis=0)
        v = concat([v, broadcast_to(as_tensor(bias_v), (1, batch, width))], axis=0)
        hidden.add_key()
    q = _apart(q, heads)
    k = _apart(k, heads) if static_k is None else _given("static_k", static_k, q)
    v = _apart(v, heads) if static_v is None else _given("static_v", static_v, q)
    if add_zero_attn:
        row = zeros((batch, heads, 1, width // heads), dtype=k.dtype)
        k, v = concat([k, row], axis=-2), concat([v, row], axis=-2)
        hidden.add_key()
    mask = hidden.scores(length, k.shape[-2], q.dtype)
    causal = is_causal and attn_mask is None
    if need_weights:
        each = attention_weights(q, k, mask, None, causal, p, seed)
        found = matmul(each, v)
        shares = mean(each, axis=1) if average_attn_weights else each
        shares = shares if is_batched else squeeze(shares, 0)
    else:
        found = attention(q, k, v, mask, None, causal, dropout_p=p, seed=seed)
        shares = None
    found = reshape(permute_dims(found, (2, 0, 1, 3)), (length, batch, width))
    result = _linear(found, as_tensor(out_proj_weight), out_proj_bias)
    return (result if is_batched else squeeze(result, 1)), shares


class _Hidden:
    """Which keys are hidden from which queries, while keys are added."""

    def __init__(self, batch: int, heads: int, of_keys: Any, of_scores: Any) -> None:
        self.batch, self.heads = batch, heads
        self.masks = []
        if of_keys is not None:
            of_keys = as_tensor(of_keys)
            self.masks.append(reshape(of_keys, (-1, 1, 1, of_keys.shape[-1])))
        if of_scores is not None:
            of_scores = as_tensor(of_scores)
            lead = (batch, heads) if len(of_scores.shape) == 3 else (1, 1)
            self.masks.append(reshape(of_scores, (*lead, *of_scores.shape[-2:])))

    def add_key(self) -> None:
        """One more key, which every query sees."""
        self.masks = [
            concat([m, zeros((*m.shape[:-1], 1), dtype=m.dtype)], axis=-1) for m in self.masks
        ]

    def scores(self, length: int, keys: int, dtype: Any) -> Any:
        """What is added to the scores, or None."""
        total: Any = None
        for mask in self.masks:
            if mask.dtype.name == "bool":
                mask = where(mask, -math.inf, zeros((), dtype=dtype))
            mask = broadcast_to(mask, (self.batch, self.heads, length, keys))
            total = mask if total is None else total + mask
        return total


def _with_batch(name: str, x: Any, is_batched: bool) -> Any:
    if len(x.shape) != (3 if is_batched else 2) or not isdtype(x.dtype, "real floating"):
        raise ShapeError(
            "query, key and value must be real floating-point, and have 3 dimensions, or 2 without "
            "a batch.",
            op=_CALL,
            got=f"{name}.shape={x.shape} and {name}.dtype={x.dtype.name}",
        )
    return x if is_batched else expand_dims(x, 1)


def _check_width(shape: Any, width: int, heads: int) -> None:
    if shape[2] != width or width % heads:
        raise ShapeError(
            "must have the width embed_dim_to_check, which num_heads divides.",
            op=_CALL,
            argument="query",
            got=f"query.shape={shape}, {width} and {heads}",
        )


def _check_biases(k: Any, v: Any, static_k: Any, static_v: Any) -> None:
    if k is None or v is None or static_k is not None or static_v is not None:
        raise ParameterError(
            "bias_k and bias_v must come together, and without static keys.",
            op=_CALL,
            got="one alone, or both kinds",
        )


def _maps(packed: Any, separate: Any, width: int) -> list[Any]:
    if separate is not None and all(w is not None for w in separate):
        return [as_tensor(w) for w in separate]
    if separate is not None or packed is None:
        raise ParameterError(
            "q_proj_weight, k_proj_weight and v_proj_weight must be given with "
            "use_separate_proj_weight, in_proj_weight without.",
            op=_CALL,
            got="None",
        )
    packed = as_tensor(packed)
    if tuple(packed.shape) != (3 * width, width):
        raise ShapeError(
            "must be (3 * width, width).",
            op=_CALL,
            argument="in_proj_weight",
            got=f"{packed.shape} for the width {width}",
        )
    return [packed[i * width : (i + 1) * width] for i in range(3)]


def _projected(given: tuple[Any, ...], weights: list[Any], bias: Any, width: int) -> list[Any]:
    bias = None if bias is None else as_tensor(bias)
    parts = [None] * 3 if bias is None else [bias[i * width : (i + 1) * width] for i in range(3)]
    return [_linear(x, w, b) for x, w, b in zip(given, weights, parts, strict=True)]


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    y = matmul(x, matrix_transpose(weight))
    return y if bias is None else y + as_tensor(bias)


def _apart(x: Any, heads: int) -> Any:
    """(length, batch, width) as (batch, heads, length, width / heads)."""
    length, batch, width = x.shape
    return permute_dims(reshape(x, (length, batch, heads, width // heads)), (1, 2, 0, 3))


def _given(name: str, x: Any, q: Any) -> Any:
    x = as_tensor(x)
    batch, heads, _, size = q.shape
    if len(x.shape) != 3 or x.shape[0] != batch * heads or x.shape[2] != size:
        raise ShapeError(
            "must be (batch * heads, keys, width / heads).",
            op=_CALL,
            argument=name,
            got=f"{x.shape} for {batch} * {heads} and {size}",
        )
    return reshape(x, (batch, heads, *x.shape[1:]))

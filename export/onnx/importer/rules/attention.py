"""Attention with packed projections and masks, as the domain com.microsoft has it."""

from __future__ import annotations

import math
from typing import Any

from ..... import _C
from ..... import functional as F
from ..element_types import converted
from ..rule_table import rule
from .normalizing import layer_normalization
from .quantising import product_of_bytes


@rule
def embed_layer_normalization(
    ids: Any, segments: Any, words: Any, positions: Any, segment_table: Any, gamma: Any, beta: Any,
    mask: Any, position_ids: Any, *, epsilon: float, mask_index_type: int, outputs: int,
) -> Any:  # fmt: skip
    """The layer norm of embeddings of words, of their places, and of segments."""
    found = F.take(words, ids, axis=0)
    if position_ids is None:
        found = found + positions[: ids.shape[1]]
    else:
        found = found + F.take(positions, position_ids, axis=0)
    if segment_table is not None and segments is not None:
        found = found + F.take(segment_table, segments, axis=0)
    normal = layer_normalization(
        found, gamma, beta, axis=-1, epsilon=epsilon, stash_type=1, outputs=1
    )
    if mask is None:
        ends = F.full((ids.shape[0],), 0, dtype="int32")
    else:
        ends = F.sum(mask, axis=1, dtype="int32")
    return (normal, ends, found)[: max(outputs, 1)]


def _heads(x: Any, count: int) -> Any:
    """(batch, length, width) as (batch, heads, length, width of one)."""
    batch, length, width = x.shape
    return F.permute_dims(F.reshape(x, (batch, length, count, width // count)), (0, 2, 1, 3))


def _additions(mask: Any, batch: Any, keys: Any, queries: Any, filter_value: float) -> Any:
    """What a mask of ONNX Runtime adds to scores, (batch, 1, queries, keys)."""
    rank = len(mask.shape)
    if rank == 1:  # the lengths of the examples; after them, perhaps, where they begin
        at = F.reshape(F.arange(keys), (1, -1))
        if mask.shape[0] == batch:
            is_on = at < F.reshape(mask, (-1, 1))
        elif mask.shape[0] == batch * 2:
            is_on = (at < F.reshape(mask[:batch], (-1, 1))) & (
                at >= F.reshape(mask[batch:], (-1, 1))
            )
        else:
            raise _C.ShapeError("must be of the batch", op="Attention", argument="mask")
        shape: tuple[Any, ...] = (batch, 1, 1, keys)
    else:
        is_on = mask != 0
        shape = (batch, 1, 1, keys) if rank == 2 else (batch, 1, *mask.shape[1:])
        if rank == 4:
            shape = tuple(mask.shape)
    is_on = F.reshape(is_on, shape)
    if rank == 4 and shape[-1] != keys:
        is_on = is_on[..., keys - queries : keys, :keys]
    return F.where(is_on, 0.0, filter_value)


def attended(
    query: Any, key: Any, value: Any, mask: Any, added: Any, *, heads: int, causal: int,
    scale: Any, filter_value: float,
) -> Any:  # fmt: skip
    """The attention of heads, joined again: (batch, length, width)."""
    batch, _, queries, width = query.shape
    keys = key.shape[2]
    factor = scale if scale else 1 / math.sqrt(width)
    more = None if mask is None else _additions(mask, batch, keys, queries, filter_value)
    if causal:
        rows = F.reshape(F.arange(queries), (-1, 1)) + (keys - queries)
        later = F.reshape(F.arange(keys), (1, -1)) > rows
        hidden = F.where(later, filter_value, 0.0)
        more = hidden if more is None else more + hidden
    if added is not None:
        more = added if more is None else more + added
    own = None if more is None else converted(more, query.dtype)
    found = F.attend(query, key, value, own, scale=factor)
    joined = F.permute_dims(found, (0, 2, 1, 3))
    return F.reshape(joined, (batch, queries, heads * value.shape[3]))


def _parts(packed: Any, sizes: Any) -> Any:
    width = packed.shape[-1]
    return F.split(packed, tuple(sizes) if sizes else (width // 3,) * 3, axis=-1)


def _with_past(key: Any, value: Any, past: Any) -> tuple[Any, Any]:
    return F.concat([past[0], key], axis=2), F.concat([past[1], value], axis=2)


def _packed(
    packed: Any, mask: Any, past: Any, added: Any, sizes: Any, how: dict[str, Any], outputs: int
) -> Any:
    heads = how["num_heads"]
    if how["do_rotary"] or how["past_present_share_buffer"]:
        raise _C.ArgumentError(
            "do_rotary and past_present_share_buffer must be 0", op="Attention", got="1"
        )
    query, key, value = (_heads(x, heads) for x in _parts(packed, sizes))
    if past is not None:
        key, value = _with_past(key, value, past)
    found = attended(
        query, key, value, mask, added, heads=heads, causal=how["unidirectional"],
        scale=how["scale"], filter_value=how["mask_filter_value"],
    )  # fmt: skip
    return (found, F.stack([key, value])) if outputs > 1 else found


@rule
def packed_attention(
    x: Any, weight: Any, bias: Any, mask: Any, past: Any, added: Any, past_length: Any, *,
    qkv_hidden_sizes: Any, rotary_embedding_dim: int, outputs: int, **how: Any,
) -> Any:  # fmt: skip
    """Attention whose three projections are one product."""
    packed = F.matmul(x, weight)
    if bias is not None:
        packed = packed + bias
    return _packed(packed, mask, past, added, qkv_hidden_sizes, how, outputs)


@rule
def quantized_attention(
    x: Any, weight: Any, bias: Any, x_scale: Any, w_scale: Any, mask: Any, x_zero: Any, w_zero: Any,
    past: Any, *, outputs: int, **how: Any,
) -> Any:  # fmt: skip
    """The same of bytes, whose projections are summed exactly."""
    sums = product_of_bytes(x, weight, x_zero, w_zero)
    packed = converted(sums, x_scale.dtype) * (x_scale * w_scale) + bias
    return _packed(packed, mask, past, None, None, how, outputs)


@rule
def multi_head_attention(
    query: Any, key: Any, value: Any, bias: Any, mask: Any, added: Any, *, num_heads: int,
    scale: Any, unidirectional: int, mask_filter_value: float, outputs: int,
) -> Any:  # fmt: skip
    """Attention of three tensors that were projected."""
    if outputs > 1 or key is None or value is None or len(query.shape) != 3:
        raise _C.ArgumentError(
            "query, key and value must be (batch, length, width), and one result asked for",
            op="MultiHeadAttention", got=f"query of {len(query.shape)} dimensions",
        )  # fmt: skip
    if bias is not None:
        width, own = query.shape[-1], value.shape[-1]
        parts = F.split(bias, (width, width, own), axis=0)
        query, key, value = query + parts[0], key + parts[1], value + parts[2]
    query, key, value = (_heads(x, num_heads) for x in (query, key, value))
    return attended(
        query, key, value, mask, added, heads=num_heads, causal=unidirectional, scale=scale,
        filter_value=mask_filter_value,
    )  # fmt: skip

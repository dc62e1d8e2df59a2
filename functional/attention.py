"""Attention: heads of queries that share keys, and weights that are dropped in training."""

from __future__ import annotations

import math
from typing import Any

from ..imperative import DTypeError, Tensor, TensorLike, isdtype
from ..ops import Attention
from .algebra import matrix_transpose
from .arguments import integer, makes, number, one_op_on
from .arranging import as_tensor, expand_dims
from .generated import all as all_of
from .generated import (
    arange,
    attend,
    broadcast_to,
    dropout,
    less_equal,
    matmul,
    reshape,
    softmax,
    where,
)

__all__ = ["attention"]


def _groups(query: Any, key: Any, value: Any) -> int:
    """How many heads of queries share one of keys; 1 where shapes broadcast, or are wrong."""
    q, k, v = query.shape, key.shape, value.shape
    if len(q) < 3 or len(k) < 3 or len(v) < 3 or k[-3] != v[-3]:
        return 1
    heads, shared = q[-3], k[-3]
    return heads // shared if 1 < shared < heads and heads % shared == 0 else 1


def _apart(x: Any, groups: int) -> Any:
    """Heads as (shared heads, heads of each); one head stays for all."""
    heads = x.shape[-3]
    pair = (1, 1) if heads == 1 else (heads // groups, groups)
    return reshape(x, (*x.shape[:-3], *pair, *x.shape[-2:]))


@one_op_on(3)
def attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    mask: TensorLike | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    *,
    dropout_p: float = 0.0,
    seed: int = 0,
) -> Tensor:
    """The values, weighed by the softmax of the scaled products of query and key.

    Where query has several times the heads of key and value, which are their third dimension from
    the end, neighbouring ones share a head of these (grouped queries).

    Args:
        query: (..., heads, queries, width), real floating-point; leading dimensions broadcast.
        key: (..., heads, keys, width).
        value: (..., heads, keys, value width).
        mask: a shape that broadcasts to (..., heads, queries, keys): booleans say which keys take
            part, numbers are added to the scores. A query that sees no key gives 0.
        scale: what scores are multiplied by; None: 1 / sqrt(width).
        is_causal: let query i see keys up to number i only.
        dropout_p: the probability that a weight becomes 0; the others grow in turn.
        seed: which weights do; the same seed drops the same ones.

    Returns:
        One tensor, (..., heads, queries, value width).

    Raises:
        DTypeError: the mask is neither boolean nor floating-point.
        ParameterError: dropout_p is no probability.
        ShapeError: the shapes do not fit.

    Source:
        Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; without storing the weights: Dao et
        al. 2022, https://arxiv.org/abs/2205.14135; grouped queries: Ainslie et al. 2023,
        https://arxiv.org/abs/2305.13245.

    Example:
        >>> import tensorlike as tl
        >>> q, k, v = tl.ones((4, 1, 2)), tl.ones((2, 3, 2)), tl.ones((2, 3, 5))
        >>> tl.functional.attention(q, k, v).shape
        (4, 1, 5)
    """
    query, key, value = as_tensor(query), as_tensor(key), as_tensor(value)
    p = dropout_p
    if type(p) is not float or p != 0:
        p = number("attention", "dropout_p", dropout_p, least=0.0, most=1.0)
    groups = _groups(query, key, value)
    if groups == 1 and mask is None and p == 0:
        return makes(Attention(scale=scale, is_causal=is_causal))
    if groups == 1:
        return _attend(query, key, value, mask, scale, is_causal, p, seed)
    heads = query.shape[-3]
    if mask is not None:
        mask = as_tensor(mask)
        mask = _apart(mask, groups) if len(mask.shape) > 2 else mask
    query, key, value = _apart(query, groups), expand_dims(key, -3), expand_dims(value, -3)
    found: Any = _attend(query, key, value, mask, scale, is_causal, p, seed)
    return reshape(found, (*found.shape[:-4], heads, *found.shape[-2:]))


def _attend(
    query: Any, key: Any, value: Any, mask: Any, scale: Any, is_causal: bool, p: float, seed: int
) -> Tensor:
    if p == 0:
        return attend(query, key, value, mask, scale=scale, is_causal=is_causal)
    return matmul(attention_weights(query, key, mask, scale, is_causal, p, seed), value)


def attention_weights(
    query: Any, key: Any, mask: Any, scale: Any, is_causal: bool, p: float, seed: int
) -> Any:
    """The weights themselves, of which some may be dropped."""
    factor = 1 / math.sqrt(max(1, query.shape[-1])) if scale is None else scale
    scores = matmul(query, matrix_transpose(key)) * factor
    seen: Any = None
    if is_causal:
        rows, columns = arange(scores.shape[-2]), arange(scores.shape[-1])
        seen = less_equal(columns, expand_dims(rows, -1))
    if mask is not None:
        mask = broadcast_to(as_tensor(mask), tuple(scores.shape))
        if not isdtype(mask.dtype, ("bool", "real floating")):
            raise DTypeError(
                "must be boolean or floating-point.",
                op="attention",
                argument="mask",
                got=mask.dtype.name,
            )
        if mask.dtype.name == "bool":
            seen = mask if seen is None else seen & mask
        else:
            scores = scores + mask
    if seen is not None:
        scores = where(seen, scores, -math.inf)
    is_blind = all_of(scores == -math.inf, axis=-1, keepdims=True)
    weights = where(is_blind, 0, softmax(where(is_blind, 0, scores), axis=-1))
    return weights if p == 0 else dropout(weights, p=p, seed=integer("attention", "seed", seed))

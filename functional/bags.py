"""Embeddings of several indices at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..imperative import DTypeError, ParameterError, ShapeError, Tensor, TensorLike
from ..imperative.arrays import steady
from ..imperative.blocks import is_symbolic
from .arguments import named
from .arranging import as_tensor, expand_dims
from .creation import ones
from .generated import (
    arange,
    astype,
    broadcast_to,
    equal,
    max,
    mean,
    reshape,
    searchsorted,
    sum,
    where,
)
from .picking import take
from .segments import segment_max, segment_mean, segment_sum

__all__ = ["embedding_bag"]


@named
def embedding_bag(
    indices: TensorLike,
    weight: TensorLike,
    offsets: TensorLike | None = None,
    per_sample_weights: TensorLike | None = None,
    *,
    mode: str = "mean",
    padding_idx: int | None = None,
) -> Tensor:
    """The means, sums or maxima of the rows of a table that bags of indices point to.

    Args:
        indices: (bags, indices of a bag), integer; or those of all bags one after the other.
        weight: (rows, features), real floating-point.
        offsets: where each bag begins, in order, where indices have one dimension.
        per_sample_weights: what rows are multiplied by, in the shape of indices; for "sum".
        mode: "mean", "sum" or "max"; a bag without indices gives zeros.
        padding_idx: an index that does not count.

    Returns:
        One tensor of shape (bags, features).

    Raises:
        IndexRangeError: an index is out of range.
        ShapeError: shapes or offsets do not fit.
        ParameterError: the mode is unknown, or has no weights.

    Source:
        PyTorch, ``torch.nn.functional.embedding_bag``.

    Example:
        >>> import tensorlike as tl
        >>> weight = tl.tensor([[1.0], [2.0], [6.0]])
        >>> tl.functional.embedding_bag([0, 2, 1], weight, [0, 2]).tolist()
        [[3.5], [2.0]]
    """
    if mode not in ("mean", "sum", "max"):
        raise ParameterError(
            "must be 'mean', 'sum' or 'max'.", op="embedding_bag", argument="mode", got=repr(mode)
        )
    if per_sample_weights is not None and mode != "sum":
        raise ParameterError("only 'sum' has weights.", op="embedding_bag", got=f"mode={mode!r}")
    weight = as_tensor(weight)
    if any(is_symbolic(x) for x in (indices, offsets)):
        return _recorded(as_tensor(indices), weight, offsets, per_sample_weights, mode, padding_idx)
    places = np.asarray(steady(indices))
    if places.dtype.kind not in "iu" and places.size:
        raise DTypeError(
            "must be integer.", op="embedding_bag", argument="indices", got=f"{places.dtype}"
        )
    if len(weight.shape) != 2:
        raise ShapeError(
            "must be (rows, features).",
            op="embedding_bag",
            argument="weight",
            got=f"{weight.shape}",
        )
    bags, count = _bags(places, offsets)
    factors = None if per_sample_weights is None else as_tensor(per_sample_weights)
    if factors is not None and tuple(factors.shape) != places.shape:
        raise ShapeError(
            "must have the shape of indices.",
            op="embedding_bag",
            argument="per_sample_weights",
            got=f"{factors.shape} and {places.shape}",
        )
    if places.ndim == 2 and padding_idx is None and places.size:
        return _whole(take(weight, places.astype(np.int64), 0), factors, mode)
    places = places.reshape(-1).astype(np.int64)
    factors = None if factors is None else reshape(factors, (-1,))
    if padding_idx is not None:
        at = padding_idx + weight.shape[0] if padding_idx < 0 else padding_idx
        counted = np.flatnonzero(places != at)
        places, bags = places[counted], bags[counted]
        factors = None if factors is None else take(factors, counted)
    return _by_segments(take(weight, places, 0), factors, bags, count, mode)


def _recorded(
    indices: Any, weight: Any, offsets: Any, weights: Any, mode: str, padding_idx: int | None
) -> Tensor:
    """The same where nobody knows the indices yet, in ops alone."""
    if len(indices.shape) != (2 if offsets is None else 1) or len(weight.shape) != 2:
        raise ShapeError(
            "must have two dimensions, or one and offsets, beside a table of two.",
            op="embedding_bag",
            argument="indices",
            got=f"indices.shape={indices.shape} and weight.shape={weight.shape}",
        )
    factors = None if weights is None else as_tensor(weights)
    if offsets is None and padding_idx is None:
        return _whole(take(weight, indices, 0), factors, mode)
    if offsets is None:
        count, width = indices.shape
        bags = reshape(broadcast_to(arange(count)[:, None], (count, width)), (-1,))
    else:
        starts = as_tensor(offsets)
        count = starts.shape[0]
        bags = searchsorted(starts, arange(indices.shape[0]), side="right") - 1
    places = reshape(indices, (-1,))
    if padding_idx is not None:  # to a bag more, which is left out
        at = padding_idx + weight.shape[0] if padding_idx < 0 else padding_idx
        bags = where(equal(places, at), count, bags)
    factors = None if factors is None else reshape(factors, (-1,))
    bags = astype(bags, dtype="int64")
    found = _by_segments(take(weight, places, 0), factors, bags, count + 1, mode)
    return found[:count]


def _bags(places: Any, offsets: TensorLike | None) -> tuple[Any, int]:
    """The bag of each index, and how many bags there are."""
    if places.ndim == 2 and offsets is None:
        return np.repeat(np.arange(places.shape[0]), places.shape[1]), places.shape[0]
    if places.ndim != 1 or offsets is None:
        raise ShapeError(
            "must have two dimensions, or one and offsets.",
            op="embedding_bag",
            argument="indices",
            got=f"indices.shape={places.shape}{('' if offsets is None else ' and offsets')}",
        )
    starts = np.asarray(steady(offsets))
    ends = np.append(starts, len(places))
    is_ordered = starts.ndim == 1 and len(starts) > 0 and starts[0] == 0
    if not is_ordered or (np.diff(ends) < 0).any() or starts.dtype.kind not in "iu":
        raise ShapeError(
            "must be integers from 0 up, in order, within indices.",
            op="embedding_bag",
            argument="offsets",
            got=f"{starts.tolist()}",
        )
    return np.repeat(np.arange(len(starts)), np.diff(ends)), len(starts)


def _whole(rows: Any, factors: Any, mode: str) -> Tensor:
    if mode == "max":
        return max(rows, axis=1)
    if factors is not None:
        rows = rows * expand_dims(factors, -1)
    return mean(rows, axis=1) if mode == "mean" else sum(rows, axis=1)


def _by_segments(rows: Any, factors: Any, bags: Any, count: int, mode: str) -> Tensor:
    ids = astype(as_tensor(bags), dtype="int64")
    if mode == "mean":
        return segment_mean(rows, ids, count)
    if mode == "sum":
        return segment_sum(rows if factors is None else rows * expand_dims(factors, -1), ids, count)
    is_full = segment_sum(ones(ids.shape, dtype="int64"), ids, count) > 0
    return where(expand_dims(is_full, -1), segment_max(rows, ids, count), 0)

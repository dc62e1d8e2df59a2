"""The different elements or slices of a tensor: all that can be said about them, in any choice."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..imperative import Tensor, TensorLike
from .arguments import named
from .arranging import as_tensor, axis_of, moveaxis
from .creation import ones, zeros
from .generated import any as any_of
from .generated import (
    argwhere,
    broadcast_to,
    concat,
    cumulative_sum,
    not_equal,
    reshape,
    subtract,
    unique_elements,
)
from .picking import take

__all__ = [
    "unique",
    "unique_all",
    "unique_consecutive",
    "unique_counts",
    "unique_inverse",
]


class UniqueAllResult(NamedTuple):
    """The different elements, where each occurs first, which one each element is, how often."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """The different elements, and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """The different elements, and for each element of the input which of them it is."""

    values: Tensor
    inverse_indices: Tensor


@named
def unique_all(x: TensorLike, /) -> UniqueAllResult:
    """The different elements, in order, and all that can be said about them.

    Args:
        x: any shape, any dtype. Each NaN differs from all others; complex numbers are in order of
            their real parts, then of their imaginary ones.

    Returns:
        ``(values, indices, inverse_indices, counts)``: one dimension each, but for
        `inverse_indices`, which has the shape of x. All but the values are int64.

    Source:
        Array API 2025.12, ``unique_all``.

    Example:
        >>> import tensorlike as tl
        >>> found = tl.unique_all(tl.tensor([3, 1, 3, 2]))
        >>> found.values.tolist(), found.indices.tolist()
        ([1, 2, 3], [1, 3, 0])
        >>> found.inverse_indices.tolist(), found.counts.tolist()
        ([2, 0, 2, 1], [1, 1, 2])
    """
    return UniqueAllResult(*unique_elements(x))


@named
def unique_counts(x: TensorLike, /) -> UniqueCountsResult:
    """The different elements, in order, and how often each occurs.

    Args:
        x: any shape, any dtype, as for `unique_all`.

    Returns:
        ``(values, counts)``, one dimension each.

    Source:
        Array API 2025.12, ``unique_counts``.

    Example:
        >>> import tensorlike as tl
        >>> tl.unique_counts(tl.tensor([3, 1, 3, 2])).counts.tolist()
        [1, 1, 2]
    """
    return UniqueCountsResult(*unique_elements(x, indices=False, inverse=False))


@named
def unique_inverse(x: TensorLike, /) -> UniqueInverseResult:
    """The different elements, in order, and for each element of x which of them it is.

    Args:
        x: any shape, any dtype, as for `unique_all`.

    Returns:
        ``(values, inverse_indices)``: the latter has the shape of x.

    Source:
        Array API 2025.12, ``unique_inverse``.

    Example:
        >>> import tensorlike as tl
        >>> tl.unique_inverse(tl.tensor([3, 1, 3, 2])).inverse_indices.tolist()
        [2, 0, 2, 1]
    """
    return UniqueInverseResult(*unique_elements(x, indices=False, counts=False))


def _chosen(values: Any, beside: list[tuple[bool, Any]]) -> Any:
    """The values alone, or with what is asked for beside them."""
    found = (values, *(make() for is_wanted, make in beside if is_wanted))
    return found if len(found) > 1 else values


@named
def unique(
    x: TensorLike,
    *,
    axis: int | None = None,
    indices: bool = True,
    inverse: bool = True,
    counts: bool = True,
) -> Any:
    """The different elements, or slices along an axis, in order; and what else is asked for.

    Args:
        x: any shape, any dtype; each NaN differs from all others.
        axis: the dimension whose slices are compared; None compares elements.
        indices: give where each of them occurs first.
        inverse: give, for each element or slice of x, which of them it is.
        counts: give how often each of them occurs.

    Returns:
        The values, and a tensor of int64 for each thing that is asked for; the values alone where
        nothing is. Slices are in the order of their first elements, then of their second ones.

    Raises:
        IndexRangeError: the axis is out of range.

    Source:
        NumPy, ``numpy.unique``.

    Example:
        >>> import tensorlike as tl
        >>> values, counts = tl.functional.unique(
        ...     tl.tensor([[3, 1], [0, 2], [3, 1]]), axis=0, indices=False, inverse=False)
        >>> values.tolist(), counts.tolist()
        ([[0, 2], [3, 1]], [1, 2])
    """
    x = as_tensor(x)
    if axis is None:
        return unique_elements(x, indices=indices, inverse=inverse, counts=counts)
    at = axis_of("unique", axis, len(x.shape))
    ids = _slice_ids(moveaxis(x, at, 0))
    _, first, which, sizes = unique_elements(ids)
    beside = [
        (indices, lambda: first), (inverse, lambda: which), (counts, lambda: sizes)
    ]  # fmt: skip
    return _chosen(take(x, first, at), beside)


def _slice_ids(x: Any) -> Any:
    """A number for each slice along the first axis, in the order of the slices.

    Elements are numbered first, then neighbours together, until one number is left of each slice.
    """
    rows = x.shape[0]
    if not math.prod(x.shape):
        return zeros((rows,), dtype="int64")
    ids = reshape(x, (rows, -1))
    while True:
        ids = unique_elements(ids, indices=False, counts=False)[1]
        width = ids.shape[1]
        if width == 1:
            return reshape(ids, (rows,))
        last = ids[:, width - width % 2 :]
        pairs = ids[:, 0 : width - width % 2 : 2] * (rows * width) + ids[:, 1::2]
        ids = concat([pairs, last], axis=1) if width % 2 else pairs


@named
def unique_consecutive(
    x: TensorLike, *, axis: int | None = None, inverse: bool = False, counts: bool = False
) -> Any:
    """The elements, or slices along an axis, without those that equal the one before.

    Args:
        x: any shape, any dtype; None as the axis takes the elements in C order.
        axis: the dimension whose slices are compared; None compares elements.
        inverse: give, for each element or slice of x, which of the results it is.
        counts: give how many stood beside each other.

    Returns:
        The values, and a tensor of int64 for each thing that is asked for; the values alone where
        nothing is.

    Raises:
        IndexRangeError: the axis is out of range.

    Source:
        PyTorch, ``torch.unique_consecutive``.

    Example:
        >>> import tensorlike as tl
        >>> values, counts = tl.functional.unique_consecutive(tl.tensor([3, 3, 1, 3]), counts=True)
        >>> values.tolist(), counts.tolist()
        ([3, 1, 3], [2, 1, 1])
    """
    x = as_tensor(x)
    if axis is None:
        lines, at = reshape(x, (-1,)), 0
    else:
        lines, at = x, axis_of("unique_consecutive", axis, len(x.shape))
    rows = moveaxis(lines, at, 0)
    size = rows.shape[0]
    flat = reshape(rows, (size, math.prod(rows.shape[1:])))
    differs = any_of(not_equal(flat[1:], flat[:-1]), axis=1)
    is_new = concat([ones((min(1, size),), dtype="bool"), differs], axis=0)
    starts = reshape(argwhere(is_new), (-1,))

    def which() -> Any:
        numbers = cumulative_sum(is_new, axis=0, dtype="int64") - 1
        return reshape(numbers, tuple(x.shape)) if axis is None else numbers

    def sizes() -> Any:
        ends = concat([starts[1:], broadcast_to(as_tensor(size), (min(1, size),))], axis=0)
        return subtract(ends, starts)

    return _chosen(take(lines, starts, at), [(inverse, which), (counts, sizes)])

"""The different elements of a tensor, as the standard's calls give them by name."""

from __future__ import annotations

from typing import NamedTuple

from ..imperative import Tensor, TensorLike
from .generated import unique

__all__ = [
    "unique_all",
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
    return UniqueAllResult(*unique(x))


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
    return UniqueCountsResult(*unique(x, indices=False, inverse=False))


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
    return UniqueInverseResult(*unique(x, indices=False, counts=False))

"""Reductions of those elements that are numbers: NaN is left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..imperative import Tensor, TensorLike, isdtype
from .arguments import named, number
from .arranging import as_tensor
from .creation import ones_like
from .generated import all as all_of
from .generated import (
    argmax,
    argmin,
    astype,
    count_nonzero,
    isnan,
    logical_not,
    prod,
    sqrt,
    square,
    sum,
    where,
)
from .generated import max as largest
from .generated import min as smallest
from .halves import in_float32

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

_Axis = int | Sequence[int] | None


def _without(x: TensorLike, number: float) -> tuple[Any, Any]:
    """The elements with a number in place of NaN, and where NaN is; None where it cannot be."""
    x = as_tensor(x)
    if not isdtype(x.dtype, ("real floating", "complex floating")):
        return x, None
    missing = isnan(x)
    return where(missing, number, x), missing


@named
def nansum(x: TensorLike, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The sum of the elements that are not NaN; 0 where all are.

    Args:
        x: any shape, numeric.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.

    Returns:
        One tensor, of the dtype that `sum` gives.

    Raises:
        IndexRangeError: an axis is out of range.

    Source:
        PyTorch, ``torch.nansum``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.nansum(tl.tensor([1.0, float("nan"), 2.0])).item()
        3.0
    """
    return sum(_without(x, 0)[0], axis=axis, keepdims=keepdims)


@named
def nanprod(x: TensorLike, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The product of the elements that are not NaN; 1 where all are.

    Args:
        x: any shape, numeric.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.

    Returns:
        One tensor, of the dtype that `prod` gives.

    Raises:
        IndexRangeError: an axis is out of range.

    Source:
        NumPy, ``numpy.nanprod``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.nanprod(tl.tensor([1.0, float("nan"), 2.0])).item()
        2.0
    """
    return prod(_without(x, 1)[0], axis=axis, keepdims=keepdims)


@named
@in_float32
def nanmean(x: TensorLike, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The mean of the elements that are not NaN; NaN where all are.

    Args:
        x: any shape, floating-point.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.

    Returns:
        One tensor of the dtype of x, float32 for integers.

    Raises:
        IndexRangeError: an axis is out of range.

    Source:
        PyTorch, ``torch.nanmean``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.nanmean(tl.tensor([1.0, float("nan"), 2.0])).item()
        1.5
    """
    return _mean(*_without(x, 0), axis, keepdims)


def _mean(filled: Any, missing: Any, axis: Any, keepdims: bool) -> Tensor:
    return sum(filled, axis=axis, keepdims=keepdims) / _count(filled, missing, axis, keepdims)


def _count(filled: Any, missing: Any, axis: Any, keepdims: bool) -> Any:
    """How many elements are not missing, in a dtype that divides."""
    is_there = ones_like(filled, dtype="bool") if missing is None else logical_not(missing)
    count = count_nonzero(is_there, axis=axis, keepdims=keepdims)
    return astype(count, dtype=filled.dtype if missing is not None else "float32")


class Moment(Protocol):
    """A call of a moment about the mean."""

    def __call__(
        self, x: TensorLike, *, axis: _Axis = None, correction: float = 0.0, keepdims: bool = False
    ) -> Tensor: ...


_DOC = """{title} of the elements that are not NaN; NaN where all are.

    Args:
        x: any shape, real floating-point.
        axis: the axis or axes to reduce; None reduces all.
        correction: what is taken from the number of elements.
        keepdims: keep the reduced axes with size 1.

    Returns:
        One tensor of the dtype of x, float32 for integers.

    Raises:
        IndexRangeError: an axis is out of range.

    Source:
        NumPy, ``numpy.{name}``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.{name}(tl.tensor([1.0, float("nan"), 2.0])).item()
        {example}
    """


def _moment(name: str, title: str, example: str, of_variance: Callable[[Any], Any]) -> Moment:
    def moment(
        x: TensorLike, *, axis: _Axis = None, correction: float = 0.0, keepdims: bool = False
    ) -> Tensor:
        correction = number(name, "correction", correction)
        filled, missing = _without(x, 0)
        apart = filled - _mean(filled, missing, axis, True)
        squares = square(apart if missing is None else where(missing, 0, apart))
        count = _count(filled, missing, axis, keepdims) - correction
        total = sum(squares, axis=axis, keepdims=keepdims)
        found: Tensor = of_variance(total / where(count > 0, count, math.nan))
        return found

    moment.__name__ = moment.__qualname__ = name
    moment.__doc__ = _DOC.format(name=name, title=title, example=example)
    return named(in_float32(moment))


nanvar = _moment("nanvar", "The variance", "0.25", lambda variance: variance)
nanstd = _moment("nanstd", "The standard deviation", "0.5", sqrt)


@named
def nanmax(x: TensorLike, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The largest element that is not NaN; NaN where all are.

    Args:
        x: any shape, real numeric.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.

    Returns:
        One tensor of the dtype of x; equal ones share the gradient.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: there is no element.

    Source:
        NumPy, ``numpy.nanmax``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.nanmax(tl.tensor([1.0, float("nan"), 2.0])).item()
        2.0
    """
    return _extreme(x, largest, -math.inf, axis, keepdims)


def _extreme(x: TensorLike, reduce: Any, lowest: float, axis: Any, keepdims: bool) -> Tensor:
    filled, missing = _without(x, lowest)
    found = reduce(filled, axis=axis, keepdims=keepdims)
    if missing is None:
        return found
    return where(all_of(missing, axis=axis, keepdims=keepdims), math.nan, found)


@named
def nanmin(x: TensorLike, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest element that is not NaN; NaN where all are.

    Args:
        x: any shape, real numeric.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.

    Returns:
        One tensor of the dtype of x; equal ones share the gradient.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: there is no element.

    Source:
        NumPy, ``numpy.nanmin``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.nanmin(tl.tensor([1.0, float("nan"), 2.0])).item()
        1.0
    """
    return _extreme(x, smallest, math.inf, axis, keepdims)


@named
def nanargmax(x: TensorLike, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first largest element that is not NaN; -1 where all are.

    Args:
        x: any shape, real numeric.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.

    Returns:
        One tensor of int64.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: there is no element.

    Source:
        JAX, ``jax.numpy.nanargmax``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.nanargmax(tl.tensor([1.0, float("nan"), 2.0])).item()
        2
    """
    return _place(x, argmax, -math.inf, axis, keepdims)


def _place(x: TensorLike, search: Any, lowest: float, axis: Any, keepdims: bool) -> Tensor:
    filled, missing = _without(x, lowest)
    if missing is None:
        return search(filled, axis=axis, keepdims=keepdims)
    # Where the lowest number is the largest of all, the first that is no NaN stands before others.
    is_lowest = all_of(filled == lowest, axis=axis, keepdims=True)
    rank = where(is_lowest, where(missing, 0, 1), 0)
    first = argmax(rank, axis=axis, keepdims=keepdims)
    found = search(filled, axis=axis, keepdims=keepdims)
    found = where(all_of(filled == lowest, axis=axis, keepdims=keepdims), first, found)
    return where(all_of(missing, axis=axis, keepdims=keepdims), -1, found)


@named
def nanargmin(x: TensorLike, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first smallest element that is not NaN; -1 where all are.

    Args:
        x: any shape, real numeric.
        axis: the axis or axes to reduce; None reduces all.
        keepdims: keep the reduced axes with size 1.

    Returns:
        One tensor of int64.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: there is no element.

    Source:
        JAX, ``jax.numpy.nanargmin``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.nanargmin(tl.tensor([1.0, float("nan"), 2.0])).item()
        0
    """
    return _place(x, argmin, math.inf, axis, keepdims)

"""Calls that make tensors, composed of the ops that fill and count.

All take `dtype` and `device` as the Array API has them. Without a device they make tensors where
`tensorlike.device` says, and what is like a tensor where that lives.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ..imperative import (
    ArgumentError,
    ParameterError,
    ShapeError,
    Size,
    Tensor,
    TensorBase,
    TensorLike,
    as_dtype,
    from_dlpack,
    tensor,
)
from ..imperative.constructors import array_from
from ..imperative.devices import lives_on
from ..imperative.indexing import assignment_op
from ..ops import Fill, Reshape
from .arguments import creating_op, integer, makes, named, named_quick, one_op
from .arranging import as_tensor, filled
from .generated import arange, astype, equal, reshape, to_device
from .stacking import broadcast_arrays

__all__ = [
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "full_like",
    "meshgrid",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

_Shape = int | Sequence[int]


@named_quick(array_from)
def asarray(
    obj: TensorLike, /, *, dtype: Any = None, device: str | None = None, copy: bool | None = None
) -> Tensor:
    """The data as a tensor.

    Args:
        obj: a number, (nested) sequences of numbers, an array of any library, or a tensor.
        dtype: the dtype to convert to; by default float32 for Python floats, int64 for integers,
            complex64 for complex numbers, and an array's own.
        device: where the tensor lives.
        copy: True copies the elements in any case; False shares the memory of obj, and raises
            where that can't be. None shares what cannot change (tensors) and copies what can.

    Raises:
        DTypeError: the data are not numbers.
        ValueError: copy=False, but the elements must be converted or are not in shareable memory.

    Source:
        Array API 2025.12, ``asarray``.

    Example:
        >>> import tensorlike as tl
        >>> tl.asarray([1, 2], dtype=tl.float32)
        tensor([1., 2.])
    """
    if copy is False and not isinstance(obj, TensorBase):
        if not hasattr(obj, "__dlpack__"):
            raise ArgumentError(
                f"a {type(obj).__name__} must be copied", op="asarray", got="copy=False"
            )
        obj = from_dlpack(obj)
    if not isinstance(obj, TensorBase):
        return tensor(obj, dtype, device=device)
    x = obj if isinstance(obj, Tensor) else Tensor(obj)
    if dtype is not None and x.dtype is not as_dtype(dtype):
        if copy is False:
            raise ArgumentError(
                f"{x.dtype} to {dtype} needs a copy", op="asarray", got="copy=False"
            )
        return astype(x, dtype=dtype, device=device)
    if not lives_on(x, device) and copy is False:
        raise ArgumentError(f"{x.device} to {device} needs a copy", op="asarray", got="copy=False")
    return to_device(x, device=device) if copy or not lives_on(x, device) else x


@creating_op
def zeros(shape: _Shape, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros.

    Args:
        shape: the shape.
        dtype: the dtype, float32 by default.
        device: where the tensor lives.

    Source:
        Array API 2025.12, ``zeros``.

    Example:
        >>> import tensorlike as tl
        >>> tl.zeros(2)
        tensor([0., 0.])
    """
    return filled(shape, 0, dtype, device)


@creating_op
def ones(shape: _Shape, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Ones.

    Args:
        shape: the shape.
        dtype: the dtype, float32 by default.
        device: where the tensor lives.

    Source:
        Array API 2025.12, ``ones``.

    Example:
        >>> import tensorlike as tl
        >>> tl.ones((1, 2), dtype=tl.int64)
        tensor([[1, 1]])
    """
    return filled(shape, 1, dtype, device)


@creating_op
def empty(shape: _Shape, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """A tensor whose elements do not matter; they are zeros, since tensors are values.

    Args:
        shape: the shape.
        dtype: the dtype, float32 by default.
        device: where the tensor lives.

    Source:
        Array API 2025.12, ``empty``.

    Example:
        >>> import tensorlike as tl
        >>> tl.empty((2, 3)).shape
        (2, 3)
    """
    return filled(shape, 0, dtype, device)


def filled_like(x: TensorLike, value: Any, dtype: Any, device: str | None) -> Tensor:
    """The op of one number in the shape of a tensor, and in its dtype where nothing is said."""
    x = as_tensor(x)
    wanted = x.dtype if dtype is None else dtype
    return makes(Fill(shape=x.shape, fill_value=value, dtype=wanted, device=device))


@one_op
def full_like(
    x: TensorLike, /, fill_value: Any, *, dtype: Any = None, device: str | None = None
) -> Tensor:
    """One value everywhere, in the shape of a tensor.

    Args:
        x: gives the shape.
        fill_value: a number.
        dtype: the dtype, that of x by default.
        device: where the tensor lives.

    Source:
        Array API 2025.12, ``full_like``.

    Example:
        >>> import tensorlike as tl
        >>> tl.full_like(tl.tensor([1.0, 2.0]), 7)
        tensor([7., 7.])
    """
    return filled_like(x, fill_value, dtype, device)


@one_op
def zeros_like(x: TensorLike, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros, in the shape of a tensor.

    Args:
        x: gives the shape.
        dtype: the dtype, that of x by default.
        device: where the tensor lives.

    Source:
        Array API 2025.12, ``zeros_like``.

    Example:
        >>> import tensorlike as tl
        >>> tl.zeros_like(tl.tensor([1.0, 2.0]))
        tensor([0., 0.])
    """
    return filled_like(x, 0, dtype, device)


@one_op
def ones_like(x: TensorLike, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Ones, in the shape of a tensor.

    Args:
        x: gives the shape.
        dtype: the dtype, that of x by default.
        device: where the tensor lives.

    Source:
        Array API 2025.12, ``ones_like``.

    Example:
        >>> import tensorlike as tl
        >>> tl.ones_like(tl.tensor([3, 4]))
        tensor([1, 1])
    """
    return filled_like(x, 1, dtype, device)


@one_op
def empty_like(x: TensorLike, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """A tensor whose elements do not matter, in the shape of a tensor; they are zeros.

    Args:
        x: gives the shape.
        dtype: the dtype, that of x by default.
        device: where the tensor lives.

    Source:
        Array API 2025.12, ``empty_like``.

    Example:
        >>> import tensorlike as tl
        >>> tl.empty_like(tl.tensor([[3, 4]])).shape
        (1, 2)
    """
    return filled_like(x, 0, dtype, device)


@creating_op
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: str | None = None,
) -> Tensor:
    """Ones on a diagonal, zeros elsewhere.

    Args:
        n_rows: the number of rows.
        n_cols: the number of columns, as many as rows by default.
        k: the diagonal; 0 is the main one, above it they are positive.
        dtype: the dtype, float32 by default.
        device: where the tensor lives.

    Raises:
        ParameterError: a number is no integer, or is negative.

    Source:
        Array API 2025.12, ``eye``.

    Example:
        >>> import tensorlike as tl
        >>> tl.eye(2, 3, k=1)
        tensor([[0., 1., 0.],
                [0., 0., 1.]])
    """
    rows: Any = integer("eye", "n_rows", n_rows, least=0)
    columns: Any = rows if n_cols is None else integer("eye", "n_cols", n_cols, least=0)
    k = max(-rows, min(operator.index(k), columns))  # further off there are only zeros
    if isinstance(rows, Size) or isinstance(columns, Size):
        row = reshape(arange(k, rows + k, device=device), (rows, 1))
        column = reshape(arange(columns, device=device), (1, columns))
        return astype(equal(row, column), dtype="float32" if dtype is None else dtype)
    first = k if k >= 0 else -k * columns
    length = max(0, min(rows + min(k, 0), columns - max(k, 0)))
    places = slice(first, first + length * (columns + 1), columns + 1)
    zeros = filled(rows * columns, 0, dtype, device)
    return makes(zeros, (assignment_op(places), 1), Reshape(shape=(rows, columns)))


@named
def meshgrid(*arrays: TensorLike, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of the points of a grid.

    Args:
        arrays: the coordinates along each axis, one dimension each, one dtype.
        indexing: "ij" varies the first array along the first axis; "xy" (Cartesian) exchanges the
            first two axes.

    Returns:
        A tensor for each array, all of the shape of the grid.

    Raises:
        ShapeError: an array has more than one dimension.
        ParameterError: indexing is another word.

    Source:
        Array API 2025.12, ``meshgrid``.

    Example:
        >>> import tensorlike as tl
        >>> [x.tolist() for x in tl.meshgrid(tl.tensor([1, 2]), tl.tensor([3, 4]))]
        [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise ParameterError(
            "must be 'xy' or 'ij'.", op="meshgrid", argument="indexing", got=repr(indexing)
        )
    xs = [as_tensor(x) for x in arrays]
    for x in xs:
        if len(x.shape) > 1:
            raise ShapeError(
                "must have one dimension.", op="meshgrid", argument="arrays", got=f"shape {x.shape}"
            )
    places = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        places[:2] = [1, 0]
    shapes = [tuple(-1 if i == place else 1 for i in range(len(xs))) for place in places]
    return broadcast_arrays(*(reshape(x, shape) for x, shape in zip(xs, shapes, strict=True)))

"""Products and parts of matrices and vectors, composed of a few ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...imperative import ShapeError, Tensor, TensorLike
from .. import generated as ops
from ..arguments import integer, named
from ..arranging import as_tensor, axis_of, expand_dims, moveaxis
from ..creation import eye
from .norms import matrix_shape


@named
def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """The vector product of vectors of three elements.

    Args:
        x1: any shape with 3 elements along the axis, numeric.
        x2: the same; the other dimensions broadcast.
        axis: the dimension of the vectors.

    Returns:
        One tensor of the broadcast shape.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: a vector does not have 3 elements.

    Source:
        Array API 2025.12, ``linalg.cross``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.cross(tl.tensor([1, 0, 0]), tl.tensor([0, 1, 0])).tolist()
        [0, 0, 1]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    for x in (x1, x2):
        if x.shape[axis_of("cross", axis, len(x.shape))] != 3:
            raise ShapeError(
                "vectors must have 3 elements along the axis.",
                op="cross",
                got=f"shapes {x1.shape} and {x2.shape} for axis={axis}",
            )
    (a0, a1, a2), (b0, b1, b2) = (
        [moveaxis(x, axis, -1)[..., i] for i in range(3)] for x in (x1, x2)
    )
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return moveaxis(ops.stack(parts, axis=-1), -1, axis)


@named
def outer(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """All products of an element of one vector and one of the other.

    Args:
        x1: (m,), numeric.
        x2: (n,), numeric.

    Returns:
        One tensor, (m, n).

    Raises:
        ShapeError: they are no vectors.

    Source:
        Array API 2025.12, ``linalg.outer``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.outer(tl.tensor([1, 2]), tl.tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if len(x1.shape) != 1 or len(x2.shape) != 1:
        raise ShapeError(
            "x1 and x2 must have one dimension.",
            op="outer",
            got=f"shapes {x1.shape} and {x2.shape}",
        )
    return expand_dims(x1, 1) * expand_dims(x2, 0)


@named
def matrix_power(x: TensorLike, n: int, /) -> Tensor:
    """A matrix multiplied by itself n times; its inverse for a negative n.

    Args:
        x: (..., n, n), numeric.
        n: any integer; 0 gives the identity.

    Returns:
        One tensor of the shape of x.

    Raises:
        MatrixError: n is negative and a matrix singular.
        ParameterError: n is no integer.
        ShapeError: x is not square.

    Source:
        Array API 2025.12, ``linalg.matrix_power``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.matrix_power(tl.tensor([[1, 1], [0, 1]]), 5).tolist()
        [[1, 5], [0, 1]]
    """
    x = as_tensor(x)
    rows, columns = matrix_shape("matrix_power", x)
    if rows != columns:
        raise ShapeError(
            "must be square.", op="matrix_power", argument="x", got=f"x.shape={x.shape}"
        )
    power = integer("matrix_power", "n", n)
    if power == 0:
        return ops.broadcast_to(eye(rows, dtype=x.dtype), tuple(x.shape))
    factor = ops.inv(x) if power < 0 else x
    power = abs(power)
    result: Any = None
    while True:
        if power & 1:
            result = factor if result is None else ops.matmul(result, factor)
        power >>= 1
        if not power:
            return result
        factor = ops.matmul(factor, factor)


@named
def matrix_exp(x: TensorLike, /) -> Tensor:
    """The exponential of matrices: the sum of x**k / k!, with powers of matrices.

    Args:
        x: (..., n, n), floating-point, finite.

    Returns:
        One tensor of the shape of x.

    Raises:
        MatrixError: a matrix has NaN or an infinity.
        ShapeError: x is not square.

    Source:
        Higham (2005), https://doi.org/10.1137/04061101X; SciPy's ``linalg.expm``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.matrix_exp(tl.tensor([[0.0, 1.0], [0.0, 0.0]])).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    return ops.matrix_exp(x)


@named
def multi_dot(xs: Sequence[TensorLike], /) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications.

    Args:
        xs: two or more; the first and the last may be vectors, a row and a column.

    Returns:
        One tensor; without a dimension for each vector.

    Raises:
        ShapeError: there are fewer than two, one has another number of dimensions, or neighbours
            do not fit.

    Source:
        ``numpy.linalg.multi_dot``; PyTorch's ``linalg.multi_dot``.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.multi_dot([tl.ones((2, 9)), tl.ones((9, 3)), tl.ones(3)]).tolist()
        [27.0, 27.0]
    """
    factors: list[Tensor] = [as_tensor(x) for x in xs]
    shapes = [tuple(x.shape) for x in factors]
    inner = shapes[1:-1]
    if (
        len(factors) < 2
        or any(len(shape) != 2 for shape in inner)
        or not all(len(shape) in (1, 2) for shape in shapes)
    ):
        raise ShapeError(
            "must be two matrices or more, of which the first and the last may be vectors.",
            op="multi_dot",
            argument="xs",
            got=f"shapes {', '.join(map(str, shapes))}",
        )
    # The sizes between the factors: factor i is (sizes[i], sizes[i + 1]).
    first, last = ((1, *shapes[0])[-2:], (*shapes[-1], 1)[:2])
    sizes = [first[0], first[1], *(shape[1] for shape in inner), last[1]]
    best: dict[tuple[int, int], tuple[int, int]] = {}
    for length in range(1, len(factors)):
        for i in range(len(factors) - length):
            j = i + length
            best[i, j] = min(
                (_cost(best, i, k) + _cost(best, k + 1, j) + sizes[i] * sizes[k + 1] * sizes[j + 1],
                 k)
                for k in range(i, j)
            )  # fmt: skip

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return factors[i]
        k = best[i, j][1]
        return ops.matmul(product(i, k), product(k + 1, j))

    return product(0, len(factors) - 1)


def _cost(best: dict[tuple[int, int], tuple[int, int]], i: int, j: int) -> int:
    return best[i, j][0] if i < j else 0


@named
def vander(x: TensorLike, /, *, n: int | None = None) -> Tensor:
    """The matrix of Vandermonde: the powers 0 to n - 1 of each element.

    Args:
        x: (..., m), numeric.
        n: how many powers; m by default.

    Returns:
        One tensor, (..., m, n).

    Raises:
        ParameterError: n is no integer.
        ShapeError: x is a single number, or n is negative.

    Source:
        PyTorch's ``linalg.vander``; ``numpy.vander`` with rising powers.

    Example:
        >>> import tensorlike as tl
        >>> tl.linalg.vander(tl.tensor([1, 2, 3])).tolist()
        [[1, 1, 1], [1, 2, 4], [1, 3, 9]]
    """
    x = as_tensor(x)
    if not len(x.shape):
        raise ShapeError(
            "must have one dimension or more.", op="vander", argument="x", got="x.shape=()"
        )
    count = x.shape[-1] if n is None else integer("vander", "n", n)
    if count < 0:
        raise ShapeError("must not be negative.", op="vander", argument="n", got=f"{count}")
    # A signed exponent would make uint64 a float.
    exponents = ops.arange(count, dtype="uint64" if x.dtype.name == "uint64" else "int64")
    return ops.astype(ops.pow(expand_dims(x, -1), exponents), dtype=x.dtype)

"""Products of matrices and vectors added to what is there: ``beta * x + alpha * (x1 @ x2)``."""

from __future__ import annotations

from typing import Any

from ..imperative import ShapeError, Tensor, TensorLike
from .arguments import named
from .arranging import as_tensor
from .generated import broadcast_to, matmul, reshape, sum

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm"]


def _checked(call: str, dims: dict[str, int], *tensors: Any) -> list[Any]:
    """The tensors, each with as many dimensions as its name is given."""
    found = [as_tensor(x) for x in tensors]
    for (name, ndim), x in zip(dims.items(), found, strict=True):
        if len(x.shape) != ndim:
            words = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}[ndim]
            raise ShapeError(
                f"must have {words}.", op=call, argument=name, got=f"{name}.shape={x.shape}"
            )
    return found


def _added(call: str, x: TensorLike, product: Any, beta: TensorLike, alpha: TensorLike) -> Any:
    """A beta of 0 leaves x out, NaN in it, too."""
    x, shape = as_tensor(x), tuple(product.shape)
    try:
        x = broadcast_to(x, shape)
    except ShapeError:
        raise ShapeError(
            f"must broadcast to the product's shape {shape}.",
            op=call,
            argument="x",
            got=f"x.shape={x.shape}",
        ) from None
    scaled = product if _is_number(alpha, 1) else product * alpha
    if _is_number(beta, 0):
        return scaled
    return (x if _is_number(beta, 1) else x * beta) + scaled


def _is_number(value: TensorLike, number: int) -> bool:
    return isinstance(value, int | float) and value == number


@named
def addmm(
    x: TensorLike,
    mat1: TensorLike,
    mat2: TensorLike,
    *,
    beta: TensorLike = 1,
    alpha: TensorLike = 1,
) -> Tensor:
    """A product of matrices, added to what is there.

    ``beta * x + alpha * (mat1 @ mat2)``.

    Args:
        x: what broadcasts to the product, numeric.
        mat1: (rows, inner), numeric.
        mat2: (inner, columns), numeric.
        beta: what x is multiplied by; 0 leaves it out.
        alpha: what the product is multiplied by.

    Returns:
        One tensor of shape (rows, columns).

    Raises:
        ShapeError: a tensor has another number of dimensions, or sizes do not fit.

    Source:
        PyTorch, ``torch.addmm``.

    Example:
        >>> import tensorlike as tl
        >>> a = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tl.functional.addmm(tl.ones(2), a, a, alpha=2).tolist()
        [[15.0, 21.0], [31.0, 45.0]]
    """
    mat1, mat2 = _checked("addmm", {"mat1": 2, "mat2": 2}, mat1, mat2)
    return _added("addmm", x, matmul(mat1, mat2), beta, alpha)


@named
def addmv(
    x: TensorLike,
    mat: TensorLike,
    vec: TensorLike,
    *,
    beta: TensorLike = 1,
    alpha: TensorLike = 1,
) -> Tensor:
    """The product of a matrix and a vector, added to what is there.

    ``beta * x + alpha * (mat @ vec)``.

    Args:
        x: what broadcasts to the product, numeric.
        mat: (rows, inner), numeric.
        vec: (inner,), numeric.
        beta: what x is multiplied by; 0 leaves it out.
        alpha: what the product is multiplied by.

    Returns:
        One tensor of shape (rows,).

    Raises:
        ShapeError: a tensor has another number of dimensions, or sizes do not fit.

    Source:
        PyTorch, ``torch.addmv``.

    Example:
        >>> import tensorlike as tl
        >>> a = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tl.functional.addmv(tl.ones(2), a, tl.ones(2)).tolist()
        [4.0, 8.0]
    """
    mat, vec = _checked("addmv", {"mat": 2, "vec": 1}, mat, vec)
    return _added("addmv", x, matmul(mat, vec), beta, alpha)


@named
def addr(
    x: TensorLike,
    vec1: TensorLike,
    vec2: TensorLike,
    *,
    beta: TensorLike = 1,
    alpha: TensorLike = 1,
) -> Tensor:
    """The outer product of two vectors, added to what is there.

    ``beta * x + alpha * outer(vec1, vec2)``.

    Args:
        x: what broadcasts to the product, numeric.
        vec1: (rows,), numeric.
        vec2: (columns,), numeric.
        beta: what x is multiplied by; 0 leaves it out.
        alpha: what the product is multiplied by.

    Returns:
        One tensor of shape (rows, columns).

    Raises:
        ShapeError: a tensor has another number of dimensions, or sizes do not fit.

    Source:
        PyTorch, ``torch.addr``.

    Example:
        >>> import tensorlike as tl
        >>> a, b = tl.tensor([1.0, 2.0]), tl.tensor([3.0, 4.0])
        >>> tl.functional.addr(tl.zeros((2, 2)), a, b).tolist()
        [[3.0, 4.0], [6.0, 8.0]]
    """
    vec1, vec2 = _checked("addr", {"vec1": 1, "vec2": 1}, vec1, vec2)
    return _added("addr", x, reshape(vec1, (-1, 1)) * vec2, beta, alpha)


@named
def baddbmm(
    x: TensorLike,
    batch1: TensorLike,
    batch2: TensorLike,
    *,
    beta: TensorLike = 1,
    alpha: TensorLike = 1,
) -> Tensor:
    """Products of matrices, one for each of a batch, added to what is there.

    ``beta * x + alpha * (batch1 @ batch2)``.

    Args:
        x: what broadcasts to the products, numeric.
        batch1: (batch, rows, inner), numeric.
        batch2: (batch, inner, columns), numeric.
        beta: what x is multiplied by; 0 leaves it out.
        alpha: what the product is multiplied by.

    Returns:
        One tensor of shape (batch, rows, columns).

    Raises:
        ShapeError: a tensor has another number of dimensions, or sizes do not fit.

    Source:
        PyTorch, ``torch.baddbmm``.

    Example:
        >>> import tensorlike as tl
        >>> a = tl.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> tl.functional.baddbmm(tl.ones(2), a, a).tolist()
        [[[8.0, 11.0], [16.0, 23.0]]]
    """
    batch1, batch2 = _checked("baddbmm", {"batch1": 3, "batch2": 3}, batch1, batch2)
    return _added("baddbmm", x, matmul(batch1, batch2), beta, alpha)


@named
def addbmm(
    x: TensorLike,
    batch1: TensorLike,
    batch2: TensorLike,
    *,
    beta: TensorLike = 1,
    alpha: TensorLike = 1,
) -> Tensor:
    """Products of matrices, summed over a batch, added to what is there.

    ``beta * x + alpha * sum(batch1 @ batch2, axis=0)``.

    Args:
        x: what broadcasts to the sum, numeric.
        batch1: (batch, rows, inner), numeric.
        batch2: (batch, inner, columns), numeric.
        beta: what x is multiplied by; 0 leaves it out.
        alpha: what the product is multiplied by.

    Returns:
        One tensor of shape (rows, columns).

    Raises:
        ShapeError: a tensor has another number of dimensions, or sizes do not fit.

    Source:
        PyTorch, ``torch.addbmm``.

    Example:
        >>> import tensorlike as tl
        >>> a = tl.ones((3, 1, 2))
        >>> tl.functional.addbmm(tl.zeros(1), a, a.mT).tolist()
        [[6.0]]
    """
    batch1, batch2 = _checked("addbmm", {"batch1": 3, "batch2": 3}, batch1, batch2)
    return _added("addbmm", x, sum(matmul(batch1, batch2), axis=0), beta, alpha)

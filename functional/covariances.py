"""How variables vary together: covariances and correlations."""

from __future__ import annotations

from typing import Any

from ..imperative import (
    DTypeError,
    ParameterError,
    ShapeError,
    Tensor,
    TensorLike,
    isdtype,
    stop_gradient,
)
from .algebra import matrix_transpose
from .arguments import elements, named, number
from .arranging import as_tensor, expand_dims, squeeze
from .diagonals import diagonal
from .generated import (
    astype,
    clip_between,
    complex,
    conj,
    full,
    imag,
    matmul,
    maximum,
    real,
    reshape,
    sqrt,
    sum,
)
from .halves import in_float32

__all__ = ["corrcoef", "cov"]


def _weights(name: str, given: TensorLike | None, count: int, *, whole: bool) -> Any:
    """One weight for each observation."""
    if given is None:
        return None
    weights = as_tensor(given)
    if tuple(weights.shape) != (count,):
        raise ShapeError(
            f"must have one element for each of {count} observations.",
            op="cov",
            argument=name,
            got=f"{name}.shape={weights.shape}",
        )
    if whole and not isdtype(weights.dtype, "integral"):
        raise DTypeError("must be integer.", op="cov", argument=name, got=weights.dtype.name)
    known = elements(stop_gradient(weights))
    if known is not None and (known < 0).any():
        raise ParameterError(
            "must not be negative.", op="cov", argument=name, got=f"{known.min()} among them"
        )
    return weights


@named
@in_float32
def cov(
    x: TensorLike,
    *,
    correction: float = 1,
    fweights: TensorLike | None = None,
    aweights: TensorLike | None = None,
) -> Tensor:
    """The covariances of variables, each a row of observations.

    Args:
        x: (variables, observations), or (observations,) of one variable, numeric; integers become
            float32.
        correction: what is taken from the number of observations.
        fweights: (observations,), integer: how often each one counts.
        aweights: (observations,): how much each one counts.

    Returns:
        One tensor, (variables, variables), without dimensions for one variable.

    Raises:
        DTypeError: fweights are not integer.
        ParameterError: a weight is negative.
        ShapeError: x has more dimensions, or there is not one weight for each observation.

    Source:
        PyTorch, ``torch.cov``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.cov(tl.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    x = as_tensor(x)
    if len(x.shape) > 2:
        raise ShapeError(
            "must have two dimensions at most.", op="cov", argument="x", got=f"x.shape={x.shape}"
        )
    correction = number("cov", "correction", correction)
    if not isdtype(x.dtype, ("real floating", "complex floating")):
        x = astype(x, dtype="float32")
    x = reshape(x, (1, -1)) if len(x.shape) < 2 else x
    count = x.shape[1]
    often = _weights("fweights", fweights, count, whole=True)
    much = _weights("aweights", aweights, count, whole=False)
    if often is None and much is None:
        weight, total = None, count
        freedom = full((), count, dtype="float64") - correction
    else:
        weight = often if much is None else much if often is None else often * much
        kind = {"complex64": "float32", "complex128": "float64"}.get(x.dtype.name, x.dtype)
        weight = astype(weight, dtype=kind)
        total = sum(weight)
        bias = correction if much is None else correction * sum(weight * much) / total
        freedom = astype(as_tensor(total - bias), dtype="float64")
    mean = sum(x if weight is None else x * weight, axis=1, keepdims=True) / total
    apart = x - mean
    scaled = apart if weight is None else apart * weight
    other = conj(apart) if isdtype(x.dtype, "complex floating") else apart
    scale = maximum(freedom, 0)
    products = matmul(scaled, matrix_transpose(other))
    return squeeze(products / astype(scale, dtype=products.dtype))


@named
@in_float32
def corrcoef(x: TensorLike) -> Tensor:
    """The correlations of variables, each a row of observations: covariances of the scaled ones.

    Args:
        x: (variables, observations), or (observations,) of one variable, numeric; integers become
            float32.

    Returns:
        One tensor from -1 to 1, (variables, variables), without dimensions for one variable.

    Raises:
        ShapeError: x has more dimensions.

    Source:
        PyTorch, ``torch.corrcoef``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.corrcoef(tl.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    found: Any = cov(x)
    if not found.shape:
        return found / found
    own = diagonal(found)
    size = sqrt(real(own) if isdtype(own.dtype, "complex floating") else own)
    found = found / expand_dims(size, 1) / expand_dims(size, 0)
    if isdtype(found.dtype, "complex floating"):
        return complex(clip_between(real(found), -1, 1), clip_between(imag(found), -1, 1))
    return clip_between(found, -1, 1)

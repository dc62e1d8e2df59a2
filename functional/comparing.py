"""Whether tensors are alike: within tolerances, as a whole, as real numbers; and what stands in for
what is no number.
"""

from __future__ import annotations

from ..imperative import Tensor, TensorLike, finfo, isdtype
from .arguments import named, number
from .arranging import as_tensor
from .generated import abs, equal, finite_or, imag, isfinite, isnan, real
from .generated import all as all_of
from .generated import complex as complex_of

__all__ = ["allclose", "array_equal", "isclose", "isreal", "nan_to_num"]


@named
def isclose(
    x1: TensorLike,
    x2: TensorLike,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Tensor:
    """Whether numbers are close to others: ``abs(x1 - x2) <= atol + rtol * abs(x2)``.

    Infinities are close to themselves alone.

    Args:
        x1: any shape that broadcasts with the other, any dtype.
        x2: any shape that broadcasts with the other, any dtype: what x1 is compared with.
        rtol: the tolerance as a share of x2, not negative.
        atol: the tolerance beside it, not negative.
        equal_nan: whether NaN is close to NaN.

    Returns:
        One tensor of booleans.

    Raises:
        ParameterError: a tolerance is negative.
        ShapeError: the shapes do not broadcast.

    Source:
        NumPy, ``numpy.isclose``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.isclose(tl.tensor([1.0, 2.0]), tl.tensor([1.000001, 2.1])).tolist()
        [True, False]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    rtol, atol = (number("isclose", n, v, least=0.0) for n, v in (("rtol", rtol), ("atol", atol)))
    same = equal(x1, x2)
    if not isdtype(x1.dtype, "bool") or not isdtype(x2.dtype, "bool"):
        a, b = (x * 1.0 if isdtype(x.dtype, ("bool", "integral")) else x for x in (x1, x2))
        same = same | (isfinite(b) & (abs(a - b) <= atol + rtol * abs(b)))
    return same | (isnan(x1) & isnan(x2)) if equal_nan else same


@named
def allclose(
    x1: TensorLike,
    x2: TensorLike,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Tensor:
    """Whether all numbers are close to others, as `isclose` says it.

    Args:
        x1: any shape that broadcasts with the other, any dtype.
        x2: any shape that broadcasts with the other, any dtype: what x1 is compared with.
        rtol: the tolerance as a share of x2, not negative.
        atol: the tolerance beside it, not negative.
        equal_nan: whether NaN is close to NaN.

    Returns:
        One boolean.

    Raises:
        ParameterError: a tolerance is negative.
        ShapeError: the shapes do not broadcast.

    Source:
        NumPy, ``numpy.allclose``.

    Example:
        >>> import tensorlike as tl
        >>> bool(tl.functional.allclose(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 2.000001])))
        True
    """
    return all_of(isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan))


@named
def array_equal(x1: TensorLike, x2: TensorLike, *, equal_nan: bool = False) -> Tensor:
    """Whether two tensors have the same shape and equal elements.

    Args:
        x1: any shape, any dtype.
        x2: any shape, any dtype.
        equal_nan: whether NaN is equal to NaN.

    Returns:
        One boolean.

    Source:
        NumPy, ``numpy.array_equal``.

    Example:
        >>> import tensorlike as tl
        >>> bool(tl.functional.array_equal(tl.tensor([1, 2]), tl.tensor([[1, 2]])))
        False
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.shape != x2.shape:
        return as_tensor(False)
    same = equal(x1, x2)
    return all_of(same | (isnan(x1) & isnan(x2)) if equal_nan else same)


@named
def isreal(x: TensorLike) -> Tensor:
    """Whether the imaginary part is 0.

    Args:
        x: any shape, any dtype.

    Returns:
        One tensor of booleans; all are true where the dtype is real.

    Source:
        NumPy, ``numpy.isreal``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.isreal(tl.tensor([1 + 0j, 1j])).tolist()
        [True, False]
    """
    return equal(imag(x), 0)


@named
def nan_to_num(
    x: TensorLike, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """The numbers, with others in place of NaN and of infinities; they get no gradient there.

    Args:
        x: any shape, numeric; of complex numbers, both parts are treated so.
        nan: what stands in for NaN.
        posinf: what stands in for plus infinity; None is the largest number of the dtype.
        neginf: what stands in for minus infinity; None is the lowest number of the dtype.

    Returns:
        One tensor of the shape and dtype of x.

    Raises:
        ParameterError: what stands in is no number.

    Source:
        NumPy, ``numpy.nan_to_num``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.nan_to_num(tl.tensor([float("nan"), float("inf")]), posinf=9.0).tolist()
        [0.0, 9.0]
    """
    x = as_tensor(x)
    if isdtype(x.dtype, "complex floating"):
        parts = (nan_to_num(part, nan, posinf, neginf) for part in (real(x), imag(x)))
        return complex_of(*parts)
    if not isdtype(x.dtype, "real floating"):
        return +x
    limits = finfo(x.dtype)
    high = limits.max if posinf is None else number("nan_to_num", "posinf", posinf)
    low = limits.min if neginf is None else number("nan_to_num", "neginf", neginf)
    return finite_or(x, number("nan_to_num", "nan", nan), high, low)

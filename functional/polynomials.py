"""Orthogonal polynomials by their recurrences, over degrees that are known when they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..imperative import ParameterError, Tensor, TensorBase, TensorLike, isdtype, result_type
from .arguments import elements, integer, named
from .arranging import as_tensor
from .creation import ones_like
from .generated import astype, where

__all__ = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]
MOST_DEGREES = 4096  # each is a step of a loop


def _polynomial(
    call: str, x: Any, n: Any, first: Callable[[Any], Any], following: Callable[..., Any]
) -> Tensor:
    """The polynomials of the degrees n: `first` gives that of degree 1, `following` that of k + 1.

    Each element stops at its own degree, so that none overflows on the way to another's.
    """
    x = as_tensor(x)
    if not isdtype(x.dtype, "real floating"):
        x = astype(x, dtype=result_type(x, 1.0))
    one = ones_like(x)
    if not isinstance(n, TensorBase | np.ndarray | list | tuple):
        degree = integer(call, "n", n, most=MOST_DEGREES)
        before, here = x * 0, one
        for k in range(degree):
            before, here = here, following(x, k, here, before) if k else first(x)
        return here if degree >= 0 else one * 0
    degrees = elements(as_tensor(n))
    if degrees is None:
        must = "must be an integer, or a tensor whose elements are known"
        fix = "give it from outside of the transform"
        raise ParameterError(must, op=call, argument="n", got="a tensor-like without", fix=fix)
    if not np.isfinite(degrees).all():
        raise ParameterError("must be finite.", op=call, argument="n", got="a NaN or an infinity")
    most = integer(call, "n", int(np.max(np.trunc(degrees), initial=0)), most=MOST_DEGREES)
    n = as_tensor(np.trunc(degrees).astype(np.int64))
    before, here = one * 0, where(n < 0, 0, one)
    for k in range(most):
        there = following(x, k, here, before) if k else first(x)
        before, here = where(n > k, here, before), where(n > k, there, here)
    return here


def _chebyshev(x: Any, k: int, here: Any, before: Any) -> Any:
    return 2 * x * here - before


@named
def chebyshev_polynomial_t(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Chebyshev polynomial T of degree n, of the first kind.

    ``T_n(x) = 2 x T_{n - 1}(x) - T_{n - 2}(x)``, with ``T_0 = 1`` and ``T_1 = x``.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.chebyshev_polynomial_t(tl.tensor([0.5, 2.0]), 2).tolist()
        [-0.5, 7.0]
    """
    return _polynomial("chebyshev_polynomial_t", x, n, lambda x: x, _chebyshev)


@named
def chebyshev_polynomial_u(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Chebyshev polynomial U of degree n, of the second kind.

    ``U_n(x) = 2 x U_{n - 1}(x) - U_{n - 2}(x)``, with ``U_0 = 1`` and ``U_1 = 2 x``.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.chebyshev_polynomial_u(tl.tensor([0.5, 2.0]), 2).tolist()
        [0.0, 15.0]
    """
    return _polynomial("chebyshev_polynomial_u", x, n, lambda x: 2 * x, _chebyshev)


@named
def chebyshev_polynomial_v(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Chebyshev polynomial V of degree n, of the third kind.

    ``V_n(x) = 2 x V_{n - 1}(x) - V_{n - 2}(x)``, with ``V_0 = 1`` and ``V_1 = 2 x - 1``.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.chebyshev_polynomial_v(tl.tensor([0.5, 2.0]), 2).tolist()
        [-1.0, 11.0]
    """
    return _polynomial("chebyshev_polynomial_v", x, n, lambda x: 2 * x - 1, _chebyshev)


@named
def chebyshev_polynomial_w(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Chebyshev polynomial W of degree n, of the fourth kind.

    ``W_n(x) = 2 x W_{n - 1}(x) - W_{n - 2}(x)``, with ``W_0 = 1`` and ``W_1 = 2 x + 1``.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.chebyshev_polynomial_w(tl.tensor([0.5, 2.0]), 2).tolist()
        [1.0, 19.0]
    """
    return _polynomial("chebyshev_polynomial_w", x, n, lambda x: 2 * x + 1, _chebyshev)


@named
def shifted_chebyshev_polynomial_t(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Chebyshev polynomial T* of degree n, T of 2 x - 1.

    ``T*_n(x) = T_n(2 x - 1)``, for x from 0 to 1.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.shifted_chebyshev_polynomial_t(tl.tensor([0.5, 2.0]), 2).tolist()
        [-1.0, 17.0]
    """
    return _polynomial(
        "shifted_chebyshev_polynomial_t", as_tensor(x) * 2 - 1, n, lambda x: x, _chebyshev
    )


@named
def shifted_chebyshev_polynomial_u(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Chebyshev polynomial U* of degree n, U of 2 x - 1.

    ``U*_n(x) = U_n(2 x - 1)``, for x from 0 to 1.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.shifted_chebyshev_polynomial_u(tl.tensor([0.5, 2.0]), 2).tolist()
        [-1.0, 35.0]
    """
    return _polynomial(
        "shifted_chebyshev_polynomial_u", as_tensor(x) * 2 - 1, n, lambda x: 2 * x, _chebyshev
    )


@named
def shifted_chebyshev_polynomial_v(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Chebyshev polynomial V* of degree n, V of 2 x - 1.

    ``V*_n(x) = V_n(2 x - 1)``, for x from 0 to 1.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.shifted_chebyshev_polynomial_v(tl.tensor([0.5, 2.0]), 2).tolist()
        [-1.0, 29.0]
    """
    return _polynomial(
        "shifted_chebyshev_polynomial_v", as_tensor(x) * 2 - 1, n, lambda x: 2 * x - 1, _chebyshev
    )


@named
def shifted_chebyshev_polynomial_w(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Chebyshev polynomial W* of degree n, W of 2 x - 1.

    ``W*_n(x) = W_n(2 x - 1)``, for x from 0 to 1.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.shifted_chebyshev_polynomial_w(tl.tensor([0.5, 2.0]), 2).tolist()
        [-1.0, 41.0]
    """
    return _polynomial(
        "shifted_chebyshev_polynomial_w", as_tensor(x) * 2 - 1, n, lambda x: 2 * x + 1, _chebyshev
    )


@named
def hermite_polynomial_h(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Hermite polynomial H of degree n, as physicists have it.

    ``H_n(x) = 2 x H_{n - 1}(x) - 2 (n - 1) H_{n - 2}(x)``, with ``H_0 = 1`` and ``H_1 = 2 x``.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.hermite_polynomial_h(tl.tensor([0.5, 2.0]), 2).tolist()
        [-1.0, 14.0]
    """
    return _polynomial(
        "hermite_polynomial_h",
        x,
        n,
        lambda x: 2 * x,
        lambda x, k, here, before: 2 * (x * here - k * before),
    )


@named
def hermite_polynomial_he(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Hermite polynomial He of degree n, as statisticians have it.

    ``He_n(x) = x He_{n - 1}(x) - (n - 1) He_{n - 2}(x)``, with ``He_0 = 1`` and ``He_1 = x``.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.hermite_polynomial_he(tl.tensor([0.5, 2.0]), 2).tolist()
        [-0.75, 3.0]
    """
    return _polynomial(
        "hermite_polynomial_he", x, n, lambda x: x, lambda x, k, here, before: x * here - k * before
    )


@named
def laguerre_polynomial_l(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Laguerre polynomial L of degree n.

    ``n L_n(x) = (2 n - 1 - x) L_{n - 1}(x) - (n - 1) L_{n - 2}(x)``, with ``L_0 = 1`` and
    ``L_1 = 1 - x``.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.laguerre_polynomial_l(tl.tensor([0.5, 2.0]), 2).tolist()
        [0.125, -1.0]
    """
    return _polynomial(
        "laguerre_polynomial_l",
        x,
        n,
        lambda x: 1 - x,
        lambda x, k, here, before: ((2 * k + 1 - x) * here - k * before) / (k + 1),
    )


@named
def legendre_polynomial_p(x: TensorLike, n: int | TensorLike) -> Tensor:
    """The Legendre polynomial P of degree n.

    ``n P_n(x) = (2 n - 1) x P_{n - 1}(x) - (n - 1) P_{n - 2}(x)``, with ``P_0 = 1`` and
    ``P_1 = x``.

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.legendre_polynomial_p(tl.tensor([0.5, 2.0]), 2).tolist()
        [-0.125, 5.5]
    """
    return _polynomial(
        "legendre_polynomial_p",
        x,
        n,
        lambda x: x,
        lambda x, k, here, before: ((2 * k + 1) * x * here - k * before) / (k + 1),
    )

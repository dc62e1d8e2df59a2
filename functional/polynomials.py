"""Orthogonal polynomials by their recurrences, over degrees that are known when they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..imperative import ParameterError, Tensor, TensorBase, TensorLike, isdtype
from .arguments import elements, integer, named
from .arranging import as_tensor
from .creation import ones_like
from .generated import astype, where
from .promotion import result_type

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


class Polynomial(Protocol):
    """A call of x and a degree."""

    def __call__(self, x: TensorLike, n: int | TensorLike) -> Tensor: ...


_DOC = """{title}

    {formula}

    Args:
        x: any shape, real floating-point.
        n: the degree, or a tensor of them that broadcasts with x, of whose elements the integer
            parts count; below 0 the result is 0.

    Returns:
        One tensor of the broadcast shape, of the dtype of x.

    Raises:
        ParameterError: n is no integer, above 4096, or a tensor whose elements nobody knows yet.

    Source:
        https://dlmf.nist.gov/18.9

    Example:
        >>> import tensorlike as tl
        >>> tl.special.{name}(tl.tensor([0.5, 2.0]), 2).tolist()
        {example}
    """


def _declared(
    name: str,
    title: str,
    formula: str,
    example: str,
    first: Callable[[Any], Any],
    following: Callable[..., Any],
) -> Polynomial:
    """The call of a name, by the polynomial of degree 1 and by that of k + 1."""

    def polynomial(x: TensorLike, n: int | TensorLike) -> Tensor:
        return _polynomial(name, x, n, first, following)

    polynomial.__name__ = polynomial.__qualname__ = name
    polynomial.__doc__ = _DOC.format(name=name, title=title, formula=formula, example=example)
    return named(polynomial)


def _chebyshev(
    kind: str, ordinal: str, slope: int, constant: int, example: str
) -> tuple[Polynomial, Callable[[str], Polynomial]]:
    """One whose degree 1 is slope * x + constant; and its like of 2 x - 1, by an example."""
    name, linear = f"chebyshev_polynomial_{kind.lower()}", f"{'2 ' if slope == 2 else ''}x"
    linear += {0: "", 1: " + 1", -1: " - 1"}[constant]
    recurrence = f"{kind}_n(x) = 2 x {kind}_{{n - 1}}(x) - {kind}_{{n - 2}}(x)"

    def shifted(example: str) -> Polynomial:
        return _declared(
            f"shifted_{name}",
            f"The Chebyshev polynomial {kind}* of degree n, {kind} of 2 x - 1.",
            f"``{kind}*_n(x) = {kind}_n(2 x - 1)``, for x from 0 to 1.",
            example,
            lambda x: slope * (2 * x - 1) + constant,
            lambda x, k, here, before: 2 * (2 * x - 1) * here - before,
        )

    return _declared(
        name,
        f"The Chebyshev polynomial {kind} of degree n, of the {ordinal} kind.",
        f"``{recurrence}``, with ``{kind}_0 = 1`` and ``{kind}_1 = {linear}``.",
        example,
        lambda x: slope * x + constant,
        lambda x, k, here, before: 2 * x * here - before,
    ), shifted


chebyshev_polynomial_t, _shifted_t = _chebyshev("T", "first", 1, 0, "[-0.5, 7.0]")
chebyshev_polynomial_u, _shifted_u = _chebyshev("U", "second", 2, 0, "[0.0, 15.0]")
chebyshev_polynomial_v, _shifted_v = _chebyshev("V", "third", 2, -1, "[-1.0, 11.0]")
chebyshev_polynomial_w, _shifted_w = _chebyshev("W", "fourth", 2, 1, "[1.0, 19.0]")
shifted_chebyshev_polynomial_t = _shifted_t("[-1.0, 17.0]")
shifted_chebyshev_polynomial_u = _shifted_u("[-1.0, 35.0]")
shifted_chebyshev_polynomial_v = _shifted_v("[-1.0, 29.0]")
shifted_chebyshev_polynomial_w = _shifted_w("[-1.0, 41.0]")

hermite_polynomial_h = _declared(
    "hermite_polynomial_h",
    "The Hermite polynomial H of degree n, as physicists have it.",
    "``H_n(x) = 2 x H_{n - 1}(x) - 2 (n - 1) H_{n - 2}(x)``, with ``H_0 = 1`` and ``H_1 = 2 x``.",
    "[-1.0, 14.0]",
    lambda x: 2 * x,
    lambda x, k, here, before: 2 * x * here - 2 * k * before,
)
hermite_polynomial_he = _declared(
    "hermite_polynomial_he",
    "The Hermite polynomial He of degree n, as statisticians have it.",
    "``He_n(x) = x He_{n - 1}(x) - (n - 1) He_{n - 2}(x)``, with ``He_0 = 1`` and ``He_1 = x``.",
    "[-0.75, 3.0]",
    lambda x: x,
    lambda x, k, here, before: x * here - k * before,
)
laguerre_polynomial_l = _declared(
    "laguerre_polynomial_l",
    "The Laguerre polynomial L of degree n.",
    "``n L_n(x) = (2 n - 1 - x) L_{n - 1}(x) - (n - 1) L_{n - 2}(x)``, with ``L_0 = 1`` and\n"
    "    ``L_1 = 1 - x``.",
    "[0.125, -1.0]",
    lambda x: 1 - x,
    lambda x, k, here, before: ((2 * k + 1 - x) * here - k * before) / (k + 1),
)
legendre_polynomial_p = _declared(
    "legendre_polynomial_p",
    "The Legendre polynomial P of degree n.",
    "``n P_n(x) = (2 n - 1) x P_{n - 1}(x) - (n - 1) P_{n - 2}(x)``, with ``P_0 = 1`` and\n"
    "    ``P_1 = x``.",
    "[-0.125, 5.5]",
    lambda x: x,
    lambda x, k, here, before: ((2 * k + 1) * x * here - k * before) / (k + 1),
)

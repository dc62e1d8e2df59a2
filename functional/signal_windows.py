"""Windows that pieces of signals are multiplied by before their spectra are taken.

They are periodic where the spectra are what is wanted: as a longer symmetric window without its
last element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

from ..imperative import DTypeError, ParameterError, Tensor, isdtype, tensor
from .arguments import integer, named, number, several
from .arranging import checked_shape

__all__ = [
    "bartlett_window",
    "blackman_window",
    "cosine_window",
    "exponential_window",
    "gaussian_window",
    "general_cosine_window",
    "general_hamming_window",
    "hamming_window",
    "hann_window",
    "kaiser_window",
    "nuttall_window",
]


def _window(
    call: str, size: Any, periodic: bool, dtype: Any, formula: Callable[[Any, int], Any]
) -> Tensor:
    """The window by a formula of positions and of the last position of a symmetric one."""
    count = integer(call, "size", size, least=0)
    checked_shape(call, (count,))
    last = count if periodic else count - 1
    values = formula(np.arange(count), last) if count > 1 else np.ones(count)
    window = tensor(values, dtype="float32" if dtype is None else dtype)
    if not isdtype(window.dtype, "real floating"):
        raise DTypeError(f"{call}: dtype must be real floating-point; got {window.dtype.name}.")
    return window


def _cosines(call: str, size: Any, a: Sequence[float], periodic: bool, dtype: Any) -> Tensor:
    def formula(at: Any, last: int) -> Any:
        waves = [
            (-1) ** i * factor * np.cos(2 * np.pi * i * at / last) for i, factor in enumerate(a)
        ]
        return np.sum(waves, axis=0) if waves else np.zeros(at.shape)

    return _window(call, size, periodic, dtype, formula)


_DOC = """{summary}

    Args:
        size: the number of elements.{own}
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative{wrong}.
        DTypeError: dtype is not real floating-point.

    Source:
        PyTorch, ``torch.signal.windows.{word}``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.{name}(4{options}).tolist()]
        {example}
    """
Given = ParamSpec("Given")


def _described(
    example: str, *, own: str = "", wrong: str = "", options: str = ""
) -> Callable[[Callable[Given, Tensor]], Callable[Given, Tensor]]:
    """Says of a window what all have in common, and what its own argument is."""

    def declared(function: Callable[Given, Tensor]) -> Callable[Given, Tensor]:
        function.__doc__ = _DOC.format(
            summary=function.__doc__,
            own=own and f"\n        {own}",
            wrong=wrong and f", or {wrong}",
            word=function.__name__.removesuffix("_window"),
            name=function.__name__,
            options=options,
            example=example,
        )
        return named(function)

    return declared


@_described("[0.0, 0.5, 1.0, 0.5]")
def bartlett_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """A triangle from 0 by 1 to 0."""
    return _window(
        "bartlett_window", size, periodic, dtype, lambda at, last: 1 - np.abs(2 * at / last - 1)
    )


@_described("[-0.0, 0.34, 1.0, 0.34]")
def blackman_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """Three cosines, which make side lobes low."""
    return _cosines("blackman_window", size, (0.42, 0.5, 0.08), periodic, dtype)


@_described("[0.309, 0.809, 1.0, 0.809]")
def cosine_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """Half a wave of a sine."""
    return _window(
        "cosine_window",
        size,
        periodic,
        dtype,
        lambda at, last: np.sin(np.pi * (at + 0.5) / (last + 1)),
    )


@_described(
    "[0.1353, 0.3679, 1.0, 0.3679]",
    own="tau: after how many positions from the middle it falls by e.",
    wrong="tau is not positive",
)
def exponential_window(
    size: int, *, tau: float = 1.0, periodic: bool = True, dtype: Any = None
) -> Tensor:
    """Exponentials that fall to both sides of the middle."""
    tau = number("exponential_window", "tau", tau, above=0.0)
    return _window(
        "exponential_window",
        size,
        periodic,
        dtype,
        lambda at, last: np.exp(-np.abs(at - last / 2) / tau),
    )


@_described(
    "[0.1353, 0.6065, 1.0, 0.6065]",
    own="std: the standard deviation, in positions.",
    wrong="std is not positive",
)
def gaussian_window(
    size: int, *, std: float = 1.0, periodic: bool = True, dtype: Any = None
) -> Tensor:
    """A bell curve around the middle."""
    std = number("gaussian_window", "std", std, above=0.0)
    return _window(
        "gaussian_window",
        size,
        periodic,
        dtype,
        lambda at, last: np.exp(-(((at - last / 2) / std) ** 2) / 2),
    )


@_described(
    "[0.0, 0.5, 1.0, 0.5]",
    own="a: the factors of the cosines.",
    wrong="there is no factor",
    options=", a=(0.5, 0.5)",
)
def general_cosine_window(
    size: int, *, a: Sequence[float], periodic: bool = True, dtype: Any = None
) -> Tensor:
    """A sum of cosines, of alternating signs."""
    factors = several("general_cosine_window", "a", a)
    factors = tuple(number("general_cosine_window", "a", factor) for factor in factors)
    if not factors:
        raise ParameterError("a must have a factor.", op="general_cosine_window", got="none")
    return _cosines("general_cosine_window", size, factors, periodic, dtype)


@_described(
    "[0.08, 0.54, 1.0, 0.54]", own="alpha: the constant, from which a cosine of 1 - alpha is taken."
)
def general_hamming_window(
    size: int, *, alpha: float = 0.54, periodic: bool = True, dtype: Any = None
) -> Tensor:
    """A raised cosine."""
    alpha = number("general_hamming_window", "alpha", alpha)
    return _cosines("general_hamming_window", size, (alpha, 1 - alpha), periodic, dtype)


@_described("[0.08, 0.54, 1.0, 0.54]")
def hamming_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """A raised cosine from 0.08 to 1."""
    return _cosines("hamming_window", size, (0.54, 0.46), periodic, dtype)


@_described("[0.0, 0.5, 1.0, 0.5]")
def hann_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """A raised cosine from 0 to 1."""
    return _cosines("hann_window", size, (0.5, 0.5), periodic, dtype)


@_described(
    "[0.0001, 0.2157, 1.0, 0.2157]", own="beta: how narrow it is.", wrong="beta is negative"
)
def kaiser_window(
    size: int, *, beta: float = 12.0, periodic: bool = True, dtype: Any = None
) -> Tensor:
    """Nearly the window with the most of its energy in the main lobe, by Bessel functions."""
    beta = number("kaiser_window", "beta", beta, least=0.0)

    def formula(at: Any, last: int) -> Any:
        return np.i0(beta * np.sqrt(1 - (2 * at / last - 1) ** 2)) / np.i0(beta)

    return _window("kaiser_window", size, periodic, dtype, formula)


@_described("[0.0004, 0.227, 1.0, 0.227]")
def nuttall_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """Four cosines, which make side lobes very low."""
    factors = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
    return _cosines("nuttall_window", size, factors, periodic, dtype)

"""Windows that pieces of signals are multiplied by before their spectra are taken.

They are periodic where the spectra are what is wanted: as a longer symmetric window without its
last element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..imperative import ParameterError, Tensor, tensor
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
    return tensor(values, dtype="float32" if dtype is None else dtype)


def _cosines(call: str, size: Any, a: Sequence[float], periodic: bool, dtype: Any) -> Tensor:
    def formula(at: Any, last: int) -> Any:
        waves = [
            (-1) ** i * factor * np.cos(2 * np.pi * i * at / last) for i, factor in enumerate(a)
        ]
        return np.sum(waves, axis=0) if waves else np.zeros(at.shape)

    return _window(call, size, periodic, dtype, formula)


@named
def bartlett_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """A triangle from 0 by 1 to 0.

    Args:
        size: the number of elements.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative.

    Source:
        PyTorch, ``torch.signal.windows.bartlett``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.bartlett_window(4).tolist()]
        [0.0, 0.5, 1.0, 0.5]
    """
    return _window(
        "bartlett_window", size, periodic, dtype, lambda at, last: 1 - np.abs(2 * at / last - 1)
    )


@named
def blackman_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """Three cosines, which make side lobes low.

    Args:
        size: the number of elements.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative.

    Source:
        PyTorch, ``torch.signal.windows.blackman``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.blackman_window(4).tolist()]
        [-0.0, 0.34, 1.0, 0.34]
    """
    return _cosines("blackman_window", size, (0.42, 0.5, 0.08), periodic, dtype)


@named
def cosine_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """Half a wave of a sine.

    Args:
        size: the number of elements.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative.

    Source:
        PyTorch, ``torch.signal.windows.cosine``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.cosine_window(4).tolist()]
        [0.309, 0.809, 1.0, 0.809]
    """
    return _window(
        "cosine_window",
        size,
        periodic,
        dtype,
        lambda at, last: np.sin(np.pi * (at + 0.5) / (last + 1)),
    )


@named
def exponential_window(
    size: int, *, tau: float = 1.0, periodic: bool = True, dtype: Any = None
) -> Tensor:
    """Exponentials that fall to both sides of the middle.

    Args:
        size: the number of elements.
        tau: after how many positions from the middle it falls by e.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative, or tau is not positive.

    Source:
        PyTorch, ``torch.signal.windows.exponential``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.exponential_window(4).tolist()]
        [0.1353, 0.3679, 1.0, 0.3679]
    """
    tau = number("exponential_window", "tau", tau, above=0.0)
    return _window(
        "exponential_window",
        size,
        periodic,
        dtype,
        lambda at, last: np.exp(-np.abs(at - last / 2) / tau),
    )


@named
def gaussian_window(
    size: int, *, std: float = 1.0, periodic: bool = True, dtype: Any = None
) -> Tensor:
    """A bell curve around the middle.

    Args:
        size: the number of elements.
        std: the standard deviation, in positions.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative, or std is not positive.

    Source:
        PyTorch, ``torch.signal.windows.gaussian``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.gaussian_window(4).tolist()]
        [0.1353, 0.6065, 1.0, 0.6065]
    """
    std = number("gaussian_window", "std", std, above=0.0)
    return _window(
        "gaussian_window",
        size,
        periodic,
        dtype,
        lambda at, last: np.exp(-(((at - last / 2) / std) ** 2) / 2),
    )


@named
def general_cosine_window(
    size: int, *, a: Sequence[float], periodic: bool = True, dtype: Any = None
) -> Tensor:
    """A sum of cosines, of alternating signs.

    Args:
        size: the number of elements.
        a: the factors of the cosines.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative, or there is no factor.

    Source:
        PyTorch, ``torch.signal.windows.general_cosine``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.general_cosine_window(4, a=(0.5, 0.5)).tolist()]
        [0.0, 0.5, 1.0, 0.5]
    """
    factors = several("general_cosine_window", "a", a)
    factors = tuple(number("general_cosine_window", "a", factor) for factor in factors)
    if not factors:
        raise ParameterError("a must have a factor.", op="general_cosine_window", got="none")
    return _cosines("general_cosine_window", size, factors, periodic, dtype)


@named
def general_hamming_window(
    size: int, *, alpha: float = 0.54, periodic: bool = True, dtype: Any = None
) -> Tensor:
    """A raised cosine.

    Args:
        size: the number of elements.
        alpha: the constant, from which a cosine of 1 - alpha is taken.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative.

    Source:
        PyTorch, ``torch.signal.windows.general_hamming``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.general_hamming_window(4).tolist()]
        [0.08, 0.54, 1.0, 0.54]
    """
    alpha = number("general_hamming_window", "alpha", alpha)
    return _cosines("general_hamming_window", size, (alpha, 1 - alpha), periodic, dtype)


@named
def hamming_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """A raised cosine from 0.08 to 1.

    Args:
        size: the number of elements.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative.

    Source:
        PyTorch, ``torch.signal.windows.hamming``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.hamming_window(4).tolist()]
        [0.08, 0.54, 1.0, 0.54]
    """
    return _cosines("hamming_window", size, (0.54, 0.46), periodic, dtype)


@named
def hann_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """A raised cosine from 0 to 1.

    Args:
        size: the number of elements.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative.

    Source:
        PyTorch, ``torch.signal.windows.hann``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.hann_window(4).tolist()]
        [0.0, 0.5, 1.0, 0.5]
    """
    return _cosines("hann_window", size, (0.5, 0.5), periodic, dtype)


@named
def kaiser_window(
    size: int, *, beta: float = 12.0, periodic: bool = True, dtype: Any = None
) -> Tensor:
    """Nearly the window with the most of its energy in the main lobe, by Bessel functions.

    Args:
        size: the number of elements.
        beta: how narrow it is.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative, or beta is negative.

    Source:
        PyTorch, ``torch.signal.windows.kaiser``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.kaiser_window(4).tolist()]
        [0.0001, 0.2157, 1.0, 0.2157]
    """
    beta = number("kaiser_window", "beta", beta, least=0.0)

    def formula(at: Any, last: int) -> Any:
        return np.i0(beta * np.sqrt(1 - (2 * at / last - 1) ** 2)) / np.i0(beta)

    return _window("kaiser_window", size, periodic, dtype, formula)


@named
def nuttall_window(size: int, *, periodic: bool = True, dtype: Any = None) -> Tensor:
    """Four cosines, which make side lobes very low.

    Args:
        size: the number of elements.
        periodic: leave out the last element of a symmetric one.
        dtype: the dtype, float32 by default.

    Raises:
        ParameterError: size is negative.

    Source:
        PyTorch, ``torch.signal.windows.nuttall``.

    Example:
        >>> import tensorlike as tl
        >>> [round(v, 4) for v in tl.functional.nuttall_window(4).tolist()]
        [0.0004, 0.227, 1.0, 0.227]
    """
    factors = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
    return _cosines("nuttall_window", size, factors, periodic, dtype)

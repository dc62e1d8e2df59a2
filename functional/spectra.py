"""Spectra of short pieces of signals, and signals made of them."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ..imperative import ParameterError, ShapeError, Tensor, TensorLike, isdtype
from .arguments import integer, named
from .arranging import as_tensor, moveaxis
from .creation import ones, zeros
from .generated import astype, fourier_transform, pad, scatter_add, square
from .shaping import sliding_window_view

__all__ = ["istft", "stft"]


def _sizes(call: str, n_fft: Any, hop_length: Any, win_length: Any) -> tuple[int, int, int]:
    size = integer(call, "n_fft", n_fft, least=1)
    hop = max(1, size // 4) if hop_length is None else hop_length
    width = size if win_length is None else integer(call, "win_length", win_length, least=1)
    if width > size:
        raise ParameterError(
            f"must be at most n_fft={size}.",
            op=call,
            argument="win_length",
            got=f"win_length={width}",
        )
    return size, integer(call, "hop_length", hop, least=1), width


def _window(call: str, window: TensorLike | None, size: int, width: int, dtype: Any) -> Any:
    """The window in the middle of as many zeros as it takes."""
    given = ones((width,), dtype=dtype) if window is None else as_tensor(window)
    if tuple(given.shape) != (width,):
        raise ShapeError(
            f"must have one dimension of win_length={width} elements.",
            op=call,
            argument="window",
            got=f"window.shape={given.shape}",
        )
    before = (size - width) // 2
    return pad(given, (before, size - width - before)) if size > width else given


def _is_complex(x: Any) -> bool:
    return isdtype(x.dtype, "complex floating")


@named
def stft(
    x: TensorLike,
    n_fft: int,
    *,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: TensorLike | None = None,
    center: bool = True,
    pad_mode: Literal["constant", "edge", "reflect", "circular"] = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
) -> Tensor:
    """The Fourier transforms of overlapping pieces of signals.

    Args:
        x: (..., samples), floating-point.
        n_fft: the size of a piece.
        hop_length: how far from one piece to the next; None is a quarter of n_fft.
        win_length: the size of the window; None is n_fft.
        window: (win_length,), what pieces are multiplied by, zeros beside it; None is 1.
        center: put the first sample in the middle of the first piece, by padding both ends.
        pad_mode: with what, as `pad` has it.
        normalized: divide by the square root of n_fft.
        onesided: give the first half of the frequencies, which says all of a real signal; None:
            where x and window are real.

    Returns:
        One complex tensor, (..., frequencies, pieces).

    Raises:
        ParameterError: a size is not positive, or the window is longer than a piece.
        ShapeError: x is shorter than a piece, or the window has another size.

    Source:
        PyTorch, ``torch.stft``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.stft(tl.tensor([1.0, 1.0, 1.0, 1.0]), 2, hop_length=2,
        ...                    center=False).tolist()
        [[(2+0j), (2+0j)], [0j, 0j]]
    """
    x = as_tensor(x)
    if not isdtype(x.dtype, ("real floating", "complex floating")):
        x = astype(x, dtype="float32")
    size, hop, width = _sizes("stft", n_fft, hop_length, win_length)
    if not x.shape:
        raise ShapeError("must have a dimension.", op="stft", argument="x", got="none")
    kind = {"complex64": "float32", "complex128": "float64"}.get(x.dtype.name, x.dtype)
    factors = _window("stft", window, size, width, kind)
    if center:
        x = pad(x, (0, 0) * (len(x.shape) - 1) + (size // 2, size // 2), mode=pad_mode)
    if x.shape[-1] < size:
        raise ShapeError(
            f"must be as long as a piece, {size}.",
            op="stft",
            argument="x",
            got=f"{x.shape[-1]} samples",
        )
    pieces = sliding_window_view(x, size, axis=-1, step=hop) * factors
    is_complex = _is_complex(pieces)
    if onesided and is_complex:
        raise ParameterError("onesided needs real x and window.", op="stft", got="complex ones")
    is_half = not is_complex if onesided is None else onesided
    found = fourier_transform(
        pieces,
        axes=(-1,),
        kind="r2c" if is_half else "c2c",
        scale=1 / math.sqrt(size) if normalized else 1.0,
    )
    return moveaxis(found, -1, -2)


@named
def istft(
    x: TensorLike,
    n_fft: int,
    *,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: TensorLike | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signals whose pieces have these Fourier transforms, as nearly as can be.

    Args:
        x: (..., frequencies, pieces), complex, as `stft` gives it.
        n_fft: the size of a piece.
        hop_length: how far from one piece to the next; None is a quarter of n_fft.
        win_length: the size of the window; None is n_fft.
        window: (win_length,), what pieces were multiplied by, zeros beside it; None is 1.
        center: leave out what `stft` padded.
        normalized: multiply by the square root of n_fft.
        onesided: whether x has the first half of the frequencies; None: unless it has n_fft.
        length: the number of samples; None is what the pieces cover.
        return_complex: give a complex signal.

    Returns:
        One tensor, (..., samples); NaN where no window reaches.

    Raises:
        ParameterError: a size is not positive, or the window is longer than a piece.
        ShapeError: x has not these frequencies, or the window has another size.

    Source:
        PyTorch, ``torch.istft``; Griffin and Lim 1984, https://doi.org/10.1109/TASSP.1984.1164317.

    Example:
        >>> import tensorlike as tl
        >>> spectrum = tl.functional.stft(tl.tensor([1.0, 2.0, 3.0, 4.0]), 4)
        >>> [round(v, 4) for v in tl.functional.istft(spectrum, 4).tolist()]
        [1.0, 2.0, 3.0, 4.0]
    """
    x = as_tensor(x)
    if not _is_complex(x):
        x = x * (1 + 0j)
    size, hop, width = _sizes("istft", n_fft, hop_length, win_length)
    if len(x.shape) < 2 or not x.shape[-1]:
        raise ShapeError(
            "must be (..., frequencies, pieces).",
            op="istft",
            argument="x",
            got=f"x.shape={x.shape}",
        )
    is_half = not return_complex and x.shape[-2] != size if onesided is None else onesided
    if x.shape[-2] != (size // 2 + 1 if is_half else size):
        raise ShapeError(
            f"must have {(size // 2 + 1 if is_half else size)} frequencies.",
            op="istft",
            argument="x",
            got=f"x.shape={x.shape}",
        )
    if not is_half and not return_complex:  # the other half says nothing more of a real signal
        x, is_half = x[..., : size // 2 + 1, :], True
    kind = "float64" if x.dtype.name == "complex128" else "float32"
    factors = _window("istft", window, size, width, kind)
    pieces = fourier_transform(
        moveaxis(x, -2, -1),
        axes=(-1,),
        kind="c2r" if is_half else "c2c",
        n=size if is_half else 0,
        inverse=True,
        scale=1 / math.sqrt(size) if normalized else 1 / size,
    )
    count = x.shape[-1]
    total = size + hop * (count - 1)
    places = hop * np.arange(count)[:, None] + np.arange(size)
    sums = _added(pieces * factors, places, total)
    weight = _added(square(factors) * ones((count, 1), dtype=factors.dtype), places, total)
    first = size // 2 if center else 0
    last = total - first if length is None else first + integer("istft", "length", length, least=0)
    found = (sums / weight)[..., first : min(last, total)]
    missing = max(0, last - total)
    return pad(found, (0, 0) * (len(found.shape) - 1) + (0, missing)) if missing else found


def _added(pieces: Any, places: Any, total: int) -> Any:
    """The sums of pieces (..., count, size) at their places in a signal."""
    lead = tuple(pieces.shape[:-2])
    empty = zeros((*lead, total), dtype=pieces.dtype)
    in_front = moveaxis(pieces, (-2, -1), (0, 1))
    return scatter_add(empty, in_front, as_tensor(places), axes=(len(lead),))

"""Fourier transforms, and the weights of mel scales."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..... import _C
from ..... import functional as F
from .....functional import fft
from ..attribute_functions import normal_axis
from ..element_types import converted, dtype_of
from ..rule_table import bounded, rule


def _complex(x: Any) -> Any:
    """From a last axis of one real number, or of the real and the imaginary part."""
    if x.shape[-1] == 1:
        return F.complex(x[..., 0], F.zeros_like(x[..., 0]))
    if x.shape[-1] != 2:
        raise _C.ShapeError("must be 1 or 2", op="DFT", argument="x.shape[-1]", got=str(x.shape))
    return F.complex(x[..., 0], x[..., 1])


def _pairs(x: Any) -> Any:
    return F.stack([F.real(x), F.imag(x)], axis=-1)


@rule
def dft(x: Any, length: int | None, axis: int, *, inverse: int, onesided: int) -> Any:
    """The Fourier transform along an axis."""
    kind = x.dtype
    x = converted(x, "float64")  # sums of many parts, of which some are 0
    rank = len(x.shape)
    axis = normal_axis(axis, rank)
    if axis == rank - 1:
        raise _C.ShapeError("must not be the last", op="DFT", argument="axis", got=str(axis))
    size = x.shape[axis] if length is None else length
    if length is None and onesided and inverse:
        size = 2 * (x.shape[axis] - 1)
    if onesided and inverse:
        found = F.expand_dims(fft.irfft(_complex(x), n=size, axis=axis), -1)
    elif onesided:
        found = _pairs(fft.rfft(x[..., 0], n=size, axis=axis))
    else:
        value = _complex(x)
        found = _pairs((fft.ifft if inverse else fft.fft)(value, n=size, axis=axis))
    return converted(found, kind)


@rule
def stft(signal: Any, step: int, window: Any, frame_length: int | None, *, onesided: int) -> Any:
    """The Fourier transforms of windows of a signal."""
    if len(signal.shape) == 2:
        signal = F.expand_dims(signal, -1)
    length = (
        frame_length if frame_length is not None else None if window is None else window.shape[0]
    )
    if length is None or step < 1:
        raise _C.ArgumentError("must be given", op="STFT", argument="frame_length", got="none")
    if window is not None and window.shape[0] != length:
        raise _C.ShapeError("must be as long as a frame", op="STFT", argument="window")
    size = signal.shape[1]
    count = (size - length) // step + 1
    bounded("STFT", count, length)
    at = np.arange(count)[:, None] * step + np.arange(length)
    frames = F.take(signal, F.asarray(at.astype(np.int64)), axis=1)
    if window is not None:
        frames = frames * F.reshape(window, (1, 1, -1, 1))
    is_real = frames.shape[-1] == 1
    if onesided and is_real:
        return _pairs(fft.rfft(frames[..., 0], axis=2))
    return _pairs(fft.fft(_complex(frames), axis=2))


@rule
def mel_weights(
    bins: int, length: int, rate: int, low: float, high: float, *, output_datatype: int
) -> Any:
    """The matrix from frequencies to a mel scale, as the standard's reference has it."""
    spectrum = length // 2 + 1
    bounded("MelWeightMatrix", spectrum, bins + 2)
    edges = np.arange(0, bins + 2, dtype=np.float64)
    first, last = (2595 * math.log10(1 + f / 700) for f in (low, high))
    edges = edges * ((last - first) / edges.shape[0]) + first
    hertz = 700 * (10 ** (edges / 2595) - 1)
    places = ((length + 1) * hertz // rate).astype(np.int64)
    found = np.zeros((spectrum, bins))
    for i in range(bins):
        lower, centre, upper = places[i : i + 3]
        if centre - lower == 0:
            found[centre, i] = 1
        else:
            for j in range(lower, centre + 1):
                found[j, i] = (j - lower) / (centre - lower)
        if upper - centre > 0:
            for j in range(centre, upper):
                found[j, i] = (upper - j) / (upper - centre)
    return converted(F.asarray(found), dtype_of(output_datatype))


@rule
def window(size: int, *, output_datatype: int, periodic: int, shape: str) -> Any:
    """A window of cosines."""
    coefficients = {
        "hann": (0.5, 0.5, 0.0), "hamming": (25 / 46, 21 / 46, 0.0), "blackman": (0.42, 0.5, 0.08)
    }[shape]  # fmt: skip
    bounded(shape, size)
    at = np.arange(size) / max(size if periodic else size - 1, 1)
    a, b, c = coefficients
    values = a - b * np.cos(2 * np.pi * at) + c * np.cos(4 * np.pi * at)
    return converted(F.asarray(values), dtype_of(output_datatype))

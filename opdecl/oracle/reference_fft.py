"""NumPy references of Fourier transforms: the sums of the definition, element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used


def _along(x: Array, axis: int, inverse: bool) -> Array:
    """The complex transform of any size along one axis."""
    import numpy as np

    size = x.shape[axis]
    steps = np.outer(np.arange(size), np.arange(size)) % max(size, 1)
    wide = np.clongdouble if x.dtype == np.clongdouble else np.complex128
    turns = steps.astype(np.zeros(0, wide).real.dtype) * (2 if inverse else -2) / max(size, 1)
    roots = np.cos(np.pi * turns) + 1j * np.sin(np.pi * turns)
    # Quarters of a turn are exact, as pi is not.
    roots = np.where(steps * 4 % max(size, 1) == 0, np.round(roots), roots)
    return np.moveaxis(np.tensordot(roots.astype(wide), x, axes=([1], [axis])), 0, axis)


def fourier_transform(
    x: Array, axes: Sequence[int], kind: str, n: int, inverse: bool, scale: float
) -> Array:
    """All kinds, by way of the complex one."""
    import numpy as np

    x = np.asarray(x)
    is_wide = x.dtype in (np.longdouble, np.clongdouble)
    wide = x.astype(np.clongdouble if is_wide else np.complex128)
    last = axes[-1] if axes else 0
    if kind == "c2r":
        for axis in axes[:-1]:
            wide = _along(wide, axis, inverse)
        front = np.moveaxis(wide, last, 0)
        ends = front.copy()
        ends.imag[0] = 0
        if n % 2 == 0:
            ends.imag[-1] = 0
        mirrored = np.conj(ends[1 : n - n // 2][::-1])
        whole = np.moveaxis(np.concatenate([ends, mirrored]), 0, last)
        result = _along(whole, last, inverse).real
    else:
        for axis in axes:
            wide = _along(wide, axis, inverse)
        size = x.shape[last] // 2 + 1 if kind == "r2c" else None
        result = wide if size is None else np.take(wide, np.arange(size), axis=last)
    dtypes: dict[str, Any] = {"float32": np.float32, "complex64": np.float32}
    narrow = dtypes.get(x.dtype.name, np.float64)
    if is_wide:
        return result * scale
    dtype = narrow if kind == "c2r" else np.result_type(narrow, np.complex64)
    return (result * scale).astype(dtype)


FFT: Mapping[str, Callable[..., Any]] = {"FourierTransform": fourier_transform}

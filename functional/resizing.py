"""Images in other sizes: `interpolate`, one axis after the other.

Where the elements of the result lie in the input depends on sizes alone, so places and weights are
worked out here, by NumPy; the ops see gathers and products, and gradients follow. Of sizes that
are not known the same is worked out by ops, in the same precision, each time that a program runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..imperative import ParameterError, ShapeError, Size, Tensor, TensorLike
from . import generated as ops
from .algebra import matrix_transpose
from .arguments import integer, named, number, several
from .arranging import as_tensor, checked_shape, moveaxis
from .generated import astype, avg_pool, full, matmul, reshape
from .picking import take

__all__ = ["interpolate"]

_SPATIAL = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "trilinear": (3,),
    "bicubic": (2,),
    "area": (1, 2, 3),
}
_CUBIC = -0.75  # what is free in Keys' kernel, as PyTorch and OpenCV choose it


@named
def interpolate(
    x: TensorLike,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool = False,
    antialias: bool = False,
) -> Tensor:
    """Images in another size.

    Args:
        x: (images, channels, *spatial) of one to three spatial dimensions, real floating-point.
        size: the size of the result, for each dimension or for all.
        scale_factor: or how many times larger the result is, for each dimension or for all.
        mode: "nearest" (the place rounded down), "nearest-exact" (the nearest centre), "linear",
            "bilinear", "trilinear", "bicubic", or "area" (means).
        align_corners: whether the centres of corners, not their outer edges, fall together; for
            the linear modes and "bicubic".
        antialias: widen the kernel where images shrink, so that all elements count; for "bilinear"
            and "bicubic", whose free number is then -0.5.

    Raises:
        ShapeError: x has other dimensions than the mode, is empty, or sizes are not positive.
        ParameterError: the mode is unknown, does not take an option, or not exactly one of size and
            scale_factor is given.

    Source:
        Keys 1981, https://doi.org/10.1109/TASSP.1981.1163711, for "bicubic".

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[[1.0, 3.0]]])
        >>> tl.functional.interpolate(x, size=4, mode="linear").tolist()
        [[[1.0, 1.5, 2.5, 3.0]]]
    """
    x = as_tensor(x)
    spatial = len(x.shape) - 2
    if not isinstance(mode, str) or mode not in _SPATIAL:
        raise ParameterError(
            f"must be one of {list(_SPATIAL)}.", op="interpolate", argument="mode", got=repr(mode)
        )
    if spatial not in _SPATIAL[mode]:
        raise ShapeError(
            f"{mode!r} needs (images, channels, *spatial) of "
            f"{' or '.join(map(str, _SPATIAL[mode]))} spatial dimensions.",
            op="interpolate",
            got=f"x.shape={x.shape}",
        )
    if align_corners and mode in ("nearest", "nearest-exact", "area"):
        raise ParameterError(
            f"{mode!r} does not align corners; leave align_corners out.", op="interpolate"
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ParameterError(
            "antialias is for 'bilinear' and 'bicubic'.", op="interpolate", got=f"mode={mode!r}"
        )
    sizes, steps = _sizes(tuple(x.shape[2:]), size, scale_factor)
    checked_shape("interpolate", [*x.shape[:2], *sizes])
    if mode == "area":
        return avg_pool(x, output_size=sizes)
    for i, (new, step) in enumerate(zip(sizes, steps, strict=True)):
        if antialias:
            x = _smoothed(x, i + 2, new, step, mode, align_corners)
        else:
            x = _along(x, i + 2, new, step, mode, align_corners)
    return x


def _sizes(old: tuple[int, ...], size: Any, scale: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The sizes of the result, and the steps through the input from element to element."""
    if (size is None) == (scale is None):
        raise ParameterError(
            "one of size and scale_factor must be given.",
            op="interpolate",
            got=f"size={size} and scale_factor={scale}",
        )
    if scale is None:
        given = several("interpolate", "size", size, len(old))
        new: list[Any] = [
            n if isinstance(n, Size) else integer("interpolate", "size", n) for n in given
        ]
        steps = [_ratio(n, m) for n, m in zip(old, new, strict=True)]
    else:
        given = several("interpolate", "scale_factor", scale, len(old))
        factors = [number("interpolate", "scale_factor", factor) for factor in given]
        if not all(0 < factor < math.inf for factor in factors):
            raise ParameterError(
                "must be positive.", op="interpolate", argument="scale_factor", got=f"{scale}"
            )
        new = [_times(n, factor) for n, factor in zip(old, factors, strict=True)]
        steps = [np.float64(1 / factor) for factor in factors]
    if any(n < 1 for n in (*old, *new)):
        raise ShapeError(
            "must be positive.", op="interpolate", argument="sizes", got=f"{old} to {tuple(new)}"
        )
    return tuple(new), steps


def _times(n: Any, factor: float) -> Any:
    """So many times a size, rounded down."""
    return n * int(factor) if factor == int(factor) else math.floor(n * factor)


def _ratio(n: Any, m: Any) -> Any:
    """One size by another, which may be 0; a tensor where one is not known."""
    if isinstance(n, Size) or isinstance(m, Size):
        return full((), n, dtype="float64") / full((), m, dtype="float64")
    return np.float64(n / m if m else 0)


def _corner_step(old: Any, new: Any) -> Any:
    """From element to element where the corners meet; 0 where there is one. None is compared."""
    if not isinstance(old, Size) and not isinstance(new, Size):
        return np.float64((old - 1) / (new - 1) if new > 1 else 0)
    gaps = full((), new - 1, dtype="float64")
    step = full((), old - 1, dtype="float64") / ops.maximum(gaps, 1.0)
    return ops.where(gaps > 0, step, 0.0)


def _works_out(*sizes: Any) -> Any:
    """What has the functions that work out places: NumPy, or ours for sizes that are not known."""
    return ops if any(isinstance(size, Size) for size in sizes) else np


def _along(x: Any, axis: int, new: int, step: Any, mode: str, align_corners: bool) -> Any:
    old = x.shape[axis]
    xp = _works_out(old, new)
    at = xp.arange(new, dtype="float64")
    if mode.startswith("nearest"):
        # In single precision, which decides between neighbours as elsewhere.
        shift = 0.5 if mode == "nearest-exact" else 0.0
        places = xp.floor((at.astype("float32") + np.float32(shift)) * step.astype("float32"))
        return take(x, xp.minimum(places.astype("int64"), old - 1), axis)
    places = at * _corner_step(old, new) if align_corners else (at + 0.5) * step - 0.5
    if mode == "bicubic":
        first = xp.floor(places)
        rest = places - first
        taps = [(first + k, _cubic(xp, xp.abs(rest - k))) for k in (-1, 0, 1, 2)]
    else:
        places = xp.minimum(xp.maximum(places, 0), old - 1)
        first = xp.floor(places)
        taps = [(first, 1 - (places - first)), (first + 1, places - first)]
    total: Any = None
    for index, weight in taps:
        index = xp.minimum(xp.maximum(index, 0), old - 1).astype("int64")
        shape = (-1, *([1] * (len(x.shape) - axis - 1)))
        factor = reshape(astype(as_tensor(weight), dtype=x.dtype), shape)
        part = take(x, index, axis) * factor
        total = part if total is None else total + part
    return total


def _smoothed(x: Any, axis: int, new: int, step: Any, mode: str, align_corners: bool) -> Any:
    """Each element of the result from all those that its kernel, as wide as a step, reaches."""
    old = x.shape[axis]
    xp = _works_out(old, new)
    if align_corners:
        step = _corner_step(old, new)
    wide = xp.maximum(step, 1.0)
    centre = step * (xp.arange(new, dtype="float64")[:, None] + 0.5)
    reach = (2.0 if mode == "bicubic" else 1.0) * wide
    first = xp.maximum(xp.trunc(centre - reach + 0.5), 0)
    end = xp.minimum(xp.trunc(centre + reach + 0.5), old)
    at = xp.arange(old, dtype="float64")
    distance = xp.abs(at - centre + 0.5) / wide
    kernel = _cubic(xp, distance, -0.5) if mode == "bicubic" else xp.maximum(1 - distance, 0)
    weights = xp.where((first <= at) & (at < end), kernel, 0)
    shares = astype(as_tensor(weights / xp.sum(weights, axis=1, keepdims=True)), dtype=x.dtype)
    return moveaxis(matmul(moveaxis(x, axis, -1), matrix_transpose(shares)), -1, axis)


def _cubic(xp: Any, distance: Any, free: float = _CUBIC) -> Any:
    """Keys' kernel."""
    near = ((free + 2) * distance - (free + 3)) * distance * distance + 1
    far = ((distance - 5) * distance + 8) * distance - 4
    return xp.where(distance <= 1, near, xp.where(distance < 2, free * far, 0.0))

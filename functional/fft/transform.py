"""What the transforms have in common: sizes, scale, and the one op behind them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from ...imperative import ParameterError, ShapeError, Size, Tensor, TensorLike
from .. import arranging
from ..arguments import integer
from ..arranging import as_tensor
from ..generated import astype, fourier_transform, pad, reciprocal, rsqrt


def axes_of(call: str, ndim: int, s: Sequence[int] | None, axes: Sequence[int] | None) -> list[int]:
    """The axes from the front: those given, the last ones that `s` has sizes for, or all."""
    if axes is None:
        count = ndim if s is None else len(s)
        if count > ndim:
            raise ShapeError(
                f"must have at most {ndim} sizes.", op=call, argument="s", got=f"{tuple(s or ())}"
            )
        return list(range(ndim - count, ndim))
    found = arranging.axes_of(call, tuple(axes), ndim)
    if s is not None and len(s) != len(found):
        raise ShapeError(
            "s and axes must be equally many.", op=call, got=f"{tuple(s)} and {tuple(axes)}"
        )
    return found


def kept(s: Sequence[int] | None) -> list[int | None] | None:
    """Sizes, of which -1 leaves an axis as it is, as the standard has it for several axes."""
    return None if s is None else [None if size == -1 else size for size in s]


def _size_of(call: str, given: Any, default: int) -> int:
    """The size of a transform; None leaves it as it is."""
    size = default if given is None else integer(call, "n", given)
    if size < 1:
        raise ShapeError("the size of a transform must be at least 1.", op=call, got=f"{size}")
    return size


def _resized(x: Any, axes: Sequence[int], sizes: Sequence[int]) -> Any:
    """The tensor cut, or padded with zeros at the end, to sizes along axes."""
    key = [slice(None)] * len(x.shape)
    widths = [0] * (2 * len(x.shape))
    for axis, size in zip(axes, sizes, strict=True):
        if size < x.shape[axis]:
            key[axis] = slice(size)
        widths[2 * axis + 1] = max(0, size - x.shape[axis])
    if any(one != slice(None) for one in key):
        x = x[tuple(key)]
    return pad(x, widths=tuple(widths)) if any(widths) else x


def _scale(call: str, norm: str, is_inverse: bool, sizes: Sequence[int]) -> Any:
    """What a transform is multiplied by: one of the two directions, or both, divide."""
    if norm not in ("backward", "ortho", "forward"):
        raise ParameterError(
            "must be 'backward', 'ortho' or 'forward'.", op=call, argument="norm", got=repr(norm)
        )
    count: Any = math.prod(sizes)
    if isinstance(count, Size):
        number = count.as_tensor_like("float64")
        if norm == "ortho":
            return rsqrt(number)
        return reciprocal(number) if is_inverse == (norm == "backward") else 1.0
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if is_inverse == (norm == "backward") else 1.0


def transform(
    call: str,
    x: TensorLike,
    s: Sequence[int | None] | None,
    axes: Sequence[int] | None,
    norm: str,
    *,
    kind: Literal["c2c", "r2c", "c2r"],
    is_inverse: bool,
) -> Tensor:
    """Any of the transforms, along several axes."""
    x = as_tensor(x)
    shape = tuple(x.shape)
    given: Any = None if s is None else list(s)
    found = axes_of(call, len(shape), given, axes)
    if not found and kind != "c2c":
        raise ShapeError("there must be an axis to transform.", op=call, got=f"shape {shape}")
    defaults = [shape[axis] for axis in found]
    if kind == "c2r":
        defaults[-1] = 2 * (defaults[-1] - 1)
    sizes = [
        _size_of(call, one, default)
        for one, default in zip(given or [None] * len(found), defaults, strict=True)
    ]
    scale = _scale(call, norm, is_inverse, sizes)
    inputs = [*sizes[:-1], sizes[-1] // 2 + 1] if kind == "c2r" else sizes
    last: Any = sizes[-1] if sizes else 0
    if kind == "c2r" and isinstance(last, Size):  # the op wants as many as there are
        resized = _resized(x, found[:-1], inputs[:-1])
    else:
        resized = _resized(x, found, inputs)
    y = fourier_transform(
        resized,
        axes=tuple(found),
        kind=kind,
        n=sizes[-1] if kind == "c2r" else 0,
        inverse=is_inverse,
        scale=scale if isinstance(scale, float) else 1.0,
    )
    if isinstance(scale, float):
        return y
    is_wide = y.dtype.name in ("complex128", "float64")
    return y * astype(scale, dtype="float64" if is_wide else "float32")

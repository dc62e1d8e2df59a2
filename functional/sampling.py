"""Images read at places that tensors give: `grid_sample`, and `affine_grid`, which makes places."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ..imperative import ParameterError, ShapeError, Size, Tensor, TensorLike
from .arguments import integer, named, several
from .arranging import as_tensor, checked_shape, expand_dims, moveaxis, unstack
from .creation import ones
from .generated import (
    abs,
    arange,
    astype,
    broadcast_to,
    clip_between,
    floor,
    gather,
    matmul,
    remainder,
    reshape,
    round,
    stack,
    where,
)
from .spacing import linspace

__all__ = ["affine_grid", "grid_sample"]

_CUBIC = -0.75


@named
def affine_grid(theta: TensorLike, size: Sequence[int], *, align_corners: bool = False) -> Tensor:
    """The places of a result's elements under affine maps, for `grid_sample`.

    Args:
        theta: (images, n, n + 1) for n = 2 or 3 spatial dimensions, floating-point.
        size: the shape of the result: images, channels, and the spatial dimensions.
        align_corners: whether -1 and 1 are the centres of corner elements, not their outer edges.

    Returns:
        One tensor of shape (images, *spatial, n): places in [-1, 1], x before y before z.

    Raises:
        ShapeError: theta and size do not fit each other.

    Source:
        Jaderberg et al. 2015, https://arxiv.org/abs/1506.02025.

    Example:
        >>> import tensorlike as tl
        >>> identity = tl.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> tl.functional.affine_grid(identity, (1, 1, 1, 2)).tolist()
        [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    theta = as_tensor(theta)
    sizes: list[Any] = [
        n if i == 0 and isinstance(n, Size) else integer("affine_grid", "size", n)
        for i, n in enumerate(several("affine_grid", "size", size))
    ]
    images, spatial = sizes[:1], tuple(sizes[2:])
    n = len(spatial)
    if n not in (2, 3) or tuple(theta.shape) != (*images, n, n + 1):
        raise ShapeError(
            "must be (images, n, n + 1) for n = 2 or 3 spatial dimensions.",
            op="affine_grid",
            argument="theta",
            got=f"theta.shape={theta.shape} for size={tuple(size)}",
        )
    checked_shape("affine_grid", [*images, *spatial, n])
    axes = []
    for i, count in enumerate(reversed(spatial)):
        edge = (1 if align_corners else (count - 1) / count) if count > 1 else 0
        line = linspace(-edge, edge, count, dtype=theta.dtype)
        axes.append(broadcast_to(reshape(line, (count, *([1] * i))), spatial))
    points = stack([*axes, broadcast_to(ones((), dtype=theta.dtype), spatial)], axis=-1)
    flat = matmul(reshape(points, (1, -1, n + 1)), moveaxis(theta, 1, 2))
    return reshape(flat, (*images, *spatial, n))


@named
def grid_sample(
    x: TensorLike,
    grid: TensorLike,
    *,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """Images read at places between their elements.

    Args:
        x: (images, channels, *spatial) of n = 2 or 3 spatial dimensions, real floating-point.
        grid: (images, *places, n), of as many dimensions as x: places in [-1, 1], x before y
            before z.
        mode: "bilinear" (in three dimensions trilinear), "nearest", or in two dimensions
            "bicubic".
        padding_mode: what lies outside: "zeros", "border" (the nearest element), or "reflection".
        align_corners: whether -1 and 1 are the centres of corner elements, not their outer edges.

    Returns:
        One tensor of shape (images, channels, *places).

    Raises:
        ShapeError: x and grid do not fit each other, or x has no elements to read.
        ParameterError: a mode is unknown.

    Source:
        Jaderberg et al. 2015, https://arxiv.org/abs/1506.02025.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[[[1.0, 3.0]]]])
        >>> tl.functional.grid_sample(x, tl.tensor([[[[0.0, 0.0]]]])).item()
        2.0
    """
    x, grid = as_tensor(x), as_tensor(grid)
    n = len(x.shape) - 2
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and n == 3):
        raise ParameterError(
            "must be 'bilinear', 'nearest', or in two dimensions 'bicubic'.",
            op="grid_sample",
            argument="mode",
            got=repr(mode),
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ParameterError(
            "must be 'zeros', 'border' or 'reflection'.",
            op="grid_sample",
            argument="padding_mode",
            got=repr(padding_mode),
        )
    fits = n in (2, 3) and len(grid.shape) == n + 2 and grid.shape[-1] == n
    if not fits or grid.shape[0] != x.shape[0] or 0 in x.shape[2:]:
        raise ShapeError(
            "must be (images, channels, *spatial) of 2 or 3 spatial dimensions, grid (images, "
            "*places, 2 or 3).",
            op="grid_sample",
            argument="x",
            got=f"x.shape={x.shape} and grid.shape={grid.shape}",
        )
    places = []
    for at, size in zip(reversed(unstack(grid, axis=-1)), x.shape[2:], strict=True):
        place = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
        if mode != "bicubic":
            place = _padded(place, size, padding_mode, align_corners)
        places.append(place)
    taps = [_taps(place, mode) for place in places]
    return _sum_of_taps(x, taps, padding_mode, align_corners)


def _padded(place: Any, size: int, padding_mode: str, align_corners: bool) -> Any:
    """A place beyond the border moved into the image, unless that is where zeros are."""
    if padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        span = high - low
        if span == 0:
            return place * 0
        turned = remainder(abs(place - low), 2 * span)
        place = low + where(turned > span, 2 * span - turned, turned)
    return place if padding_mode == "zeros" else clip_between(place, 0, size - 1)


def _taps(place: Any, mode: str) -> list[tuple[Any, Any]]:
    """The elements along a dimension that a place is made of, and their weights."""
    if mode == "nearest":
        return [(round(place), None)]
    first = floor(place)
    rest = place - first
    if mode == "bilinear":
        return [(first, 1 - rest), (first + 1, rest)]
    weights = []
    for k in (-1, 0, 1, 2):
        d = abs(rest - k)
        near = ((_CUBIC + 2) * d - (_CUBIC + 3)) * d * d + 1
        far = _CUBIC * (((d - 5) * d + 8) * d - 4)
        weights.append((first + k, near if k in (0, 1) else far))
    return weights


def _sum_of_taps(x: Any, taps: Any, padding_mode: str, align_corners: bool) -> Any:
    sizes = tuple(x.shape[2:])
    n = len(sizes)
    rows = moveaxis(x, 1, -1)  # the channels of an element together
    images = reshape(arange(x.shape[0]), (-1, *([1] * n)))
    total: Any = None
    for corner in itertools.product(*taps):
        indices, factor = [], None
        for (index, weight), size in zip(corner, sizes, strict=True):
            index = _padded(index, size, padding_mode, align_corners)
            inside = clip_between(index, 0, size - 1)
            if padding_mode == "zeros":
                is_inside = astype(index == inside, dtype=x.dtype)
                weight = is_inside if weight is None else weight * is_inside
            # What is no number has no place: it reads the first element.
            indices.append(astype(where(inside == inside, inside, 0), dtype="int64"))
            if weight is not None:
                factor = weight if factor is None else factor * weight
        found = gather(
            rows, broadcast_to(images, indices[0].shape), *indices, axes=tuple(range(n + 1))
        )
        part = found if factor is None else found * expand_dims(factor, -1)
        total = part if total is None else total + part
    return moveaxis(total, -1, 1)

"""Maximum pooling over windows that lie at random, to a part of the size that is no integer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..imperative import ParameterError, ShapeError, Tensor, TensorLike
from .arguments import integer, named, number, several
from .arranging import as_tensor, checked_shape
from .batched_draws import drawn
from .generated import (
    arange,
    argmax,
    astype,
    equal,
    floor,
    random_draw,
    reshape,
    take_along_axis,
    where,
)

__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]

_Size = int | Sequence[int]


def _sizes(
    call: str,
    sizes: Sequence[int],
    kernel_size: _Size,
    output_size: _Size | None,
    output_ratio: float | Sequence[float] | None,
) -> tuple[list[int], list[int]]:
    """The window's size and the result's."""
    count = len(sizes)
    kernel = [integer(call, "kernel_size", n, least=1)
              for n in several(call, "kernel_size", kernel_size, count)]  # fmt: skip
    if (output_size is None) == (output_ratio is None):
        raise ParameterError(
            "must be given, or output_ratio, but not both.",
            op=call,
            argument="output_size",
            got=f"output_size={output_size}, output_ratio={output_ratio}",
        )
    if output_ratio is None:
        given = several(call, "output_size", output_size, count)
        result = [integer(call, "output_size", n, least=1) for n in given]
    else:
        ratios = several(call, "output_ratio", output_ratio, count)
        shares = [number(call, "output_ratio", r, least=0.0, most=1.0) for r in ratios]
        result = [int(n * share) for n, share in zip(sizes, shares, strict=True)]
    for n, k, out in zip(sizes, kernel, result, strict=True):
        if not 1 <= out <= n - k + 1:
            raise ShapeError(
                f"there must be from 1 to {n - k + 1} windows of {k} in {n} elements.",
                op=call,
                got=f"{out}",
            )
    return kernel, result


def _starts(share: Any, size: int, kernel: int, count: int) -> Any:
    """Where the windows along a dimension begin: the last one at the end."""
    last = size - kernel
    if count == 1:
        return astype(share * 0 + last, dtype="int64")
    step = last / (count - 1)
    number_of = astype(arange(0, count), dtype="float64")
    starts = floor((number_of + share) * step) - floor(share * step)
    return astype(where(equal(number_of, count - 1), last, starts), dtype="int64")


def _places(samples: Any, sizes: Sequence[int], kernel: list[int], counts: list[int]) -> Any:
    """The elements of all windows, as (images, channels, windows, elements of a window)."""
    images, channels, n = samples.shape
    places = None
    for i, (size, k, count) in enumerate(zip(sizes, kernel, counts, strict=True)):
        starts = _starts(samples[:, :, i : i + 1], size, k, count)
        lead, inner = [1] * n, [1] * n
        lead[i], inner[i] = count, k
        along = reshape(starts, (images, channels, *lead, *[1] * n))
        along = along + reshape(arange(0, k), (1, 1, *[1] * n, *inner))
        places = along if places is None else places * size + along
    return reshape(places, (images, channels, math.prod(counts), math.prod(kernel)))


def _fractional(
    call: str,
    spatial: int,
    x: TensorLike,
    kernel_size: _Size,
    output_size: _Size | None,
    output_ratio: float | Sequence[float] | None,
    samples: TensorLike | None,
    seed: int,
) -> tuple[Any, Any]:
    x = as_tensor(x)
    if len(x.shape) != spatial + 2:
        raise ShapeError(
            f"must be (images, channels, *spatial) of {spatial + 2} dimensions.",
            op=call,
            argument="x",
            got=f"x.shape={x.shape}",
        )
    images, channels, *sizes = x.shape
    kernel, counts = _sizes(call, sizes, kernel_size, output_size, output_ratio)
    checked_shape(call, [images, channels, *counts, *kernel])
    wanted = (images, channels, spatial)
    if samples is None:
        key = integer(call, "seed", seed)
        shares = drawn(random_draw, wanted, dtype="float64", key=key)
    else:
        shares = astype(as_tensor(samples), dtype="float64")
    if tuple(shares.shape) != wanted:
        raise ShapeError(f"samples.shape must be {wanted}.", op=call, got=f"{shares.shape}")
    places = _places(shares, sizes, kernel, counts)
    flat = reshape(places, (images, channels, math.prod(counts) * math.prod(kernel)))
    windows = take_along_axis(reshape(x, (images, channels, math.prod(sizes))), flat, axis=-1)
    windows = reshape(windows, tuple(places.shape))
    best = argmax(windows, axis=-1, keepdims=True)
    shape = (images, channels, *counts)
    found = (take_along_axis(part, best, axis=-1) for part in (windows, places))
    y, indices = (reshape(part, shape) for part in found)
    return y, indices


@named
def fractional_max_pool2d(
    x: TensorLike,
    kernel_size: _Size,
    *,
    output_size: _Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    samples: TensorLike | None = None,
    seed: int = 0,
) -> Tensor:
    """The maxima of windows at random over height and width.

    Windows of one size begin nearly evenly from the start to the end of each dimension: number i
    at ``floor((i + u) * a) - floor(u * a)``, where a is the mean distance and u is random, of each
    image, channel and dimension.

    Args:
        x: (images, channels, height, width), real numeric.
        kernel_size: the size of the windows, for each dimension or for all.
        output_size: the number of windows, for each dimension or for all.
        output_ratio: the number of windows by that of elements, in place of it.
        samples: (images, channels, 2), the random numbers in [0, 1), first that of the height;
            None draws them.
        seed: decides the random numbers.

    Raises:
        ShapeError: x has other dimensions, or the windows do not fit.
        ParameterError: neither output_size nor output_ratio is given, or both are.

    Source:
        Graham 2014, https://arxiv.org/abs/1412.6071.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.reshape(tl.arange(0.0, 16.0), (1, 1, 4, 4))
        >>> tl.functional.fractional_max_pool2d(x, 4, output_size=1).tolist()
        [[[[15.0]]]]
    """
    given = (x, kernel_size, output_size, output_ratio, samples, seed)
    return _fractional("fractional_max_pool2d", 2, *given)[0]


@named
def fractional_max_pool2d_with_indices(
    x: TensorLike,
    kernel_size: _Size,
    *,
    output_size: _Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    samples: TensorLike | None = None,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:
    """The maxima of windows at random over height and width, and where they stand.

    Windows of one size begin nearly evenly from the start to the end of each dimension: number i
    at ``floor((i + u) * a) - floor(u * a)``, where a is the mean distance and u is random, of each
    image, channel and dimension.

    Args:
        x: (images, channels, height, width), real numeric.
        kernel_size: the size of the windows, for each dimension or for all.
        output_size: the number of windows, for each dimension or for all.
        output_ratio: the number of windows by that of elements, in place of it.
        samples: (images, channels, 2), the random numbers in [0, 1), first that of the height;
            None draws them.
        seed: decides the random numbers.

    Returns:
        The maxima, and the places of the first of each in its channel, counted in C order, int64.

    Raises:
        ShapeError: x has other dimensions, or the windows do not fit.
        ParameterError: neither output_size nor output_ratio is given, or both are.

    Source:
        Graham 2014, https://arxiv.org/abs/1412.6071.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.reshape(tl.arange(0.0, 16.0), (1, 1, 4, 4))
        >>> y, places = tl.functional.fractional_max_pool2d_with_indices(x, 4, output_size=1)
        >>> y.item(), places.item()
        (15.0, 15)
    """
    given = (x, kernel_size, output_size, output_ratio, samples, seed)
    return _fractional("fractional_max_pool2d_with_indices", 2, *given)


@named
def fractional_max_pool3d(
    x: TensorLike,
    kernel_size: _Size,
    *,
    output_size: _Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    samples: TensorLike | None = None,
    seed: int = 0,
) -> Tensor:
    """The maxima of windows at random over depth, height and width.

    Windows of one size begin nearly evenly from the start to the end of each dimension: number i
    at ``floor((i + u) * a) - floor(u * a)``, where a is the mean distance and u is random, of each
    image, channel and dimension.

    Args:
        x: (images, channels, depth, height, width), real numeric.
        kernel_size: the size of the windows, for each dimension or for all.
        output_size: the number of windows, for each dimension or for all.
        output_ratio: the number of windows by that of elements, in place of it.
        samples: (images, channels, 3), the random numbers in [0, 1), first that of the depth;
            None draws them.
        seed: decides the random numbers.

    Raises:
        ShapeError: x has other dimensions, or the windows do not fit.
        ParameterError: neither output_size nor output_ratio is given, or both are.

    Source:
        Graham 2014, https://arxiv.org/abs/1412.6071.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.reshape(tl.arange(0.0, 16.0), (1, 1, 2, 2, 4))
        >>> tl.functional.fractional_max_pool3d(x, (2, 2, 4), output_size=1).tolist()
        [[[[[15.0]]]]]
    """
    given = (x, kernel_size, output_size, output_ratio, samples, seed)
    return _fractional("fractional_max_pool3d", 3, *given)[0]


@named
def fractional_max_pool3d_with_indices(
    x: TensorLike,
    kernel_size: _Size,
    *,
    output_size: _Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    samples: TensorLike | None = None,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:
    """The maxima of windows at random over depth, height and width, and where they stand.

    Windows of one size begin nearly evenly from the start to the end of each dimension: number i
    at ``floor((i + u) * a) - floor(u * a)``, where a is the mean distance and u is random, of each
    image, channel and dimension.

    Args:
        x: (images, channels, depth, height, width), real numeric.
        kernel_size: the size of the windows, for each dimension or for all.
        output_size: the number of windows, for each dimension or for all.
        output_ratio: the number of windows by that of elements, in place of it.
        samples: (images, channels, 3), the random numbers in [0, 1), first that of the depth;
            None draws them.
        seed: decides the random numbers.

    Returns:
        The maxima, and the places of the first of each in its channel, counted in C order, int64.

    Raises:
        ShapeError: x has other dimensions, or the windows do not fit.
        ParameterError: neither output_size nor output_ratio is given, or both are.

    Source:
        Graham 2014, https://arxiv.org/abs/1412.6071.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.reshape(tl.arange(0.0, 8.0), (1, 1, 2, 2, 2))
        >>> y, places = tl.functional.fractional_max_pool3d_with_indices(x, 2, output_size=1)
        >>> y.item(), places.item()
        (7.0, 7)
    """
    given = (x, kernel_size, output_size, output_ratio, samples, seed)
    return _fractional("fractional_max_pool3d_with_indices", 3, *given)

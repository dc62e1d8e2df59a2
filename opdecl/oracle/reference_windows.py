"""NumPy's words for convolutions and pooling: part of the oracle in `reference`.

Written for plainness: a convolution is a sum over the kernel's elements, a pooled element is found
from its own window.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used
Ints: TypeAlias = int | Sequence[int]


def _at(*index: Any) -> tuple[Any, ...]:
    """An index whose end is unpacked, which brackets take from Python 3.11 on only."""
    return index


def _each(value: Ints, n: int) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * n if len(values) == 1 else values


def _pads(
    padding: str | Ints, kernel: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:
    if padding == "same":
        totals = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
        return [(total // 2, total - total // 2) for total in totals]
    values = _each(0 if isinstance(padding, str) else padding, len(kernel))
    return [(value, value) for value in values]


def _taps(
    shape: Sequence[int], kernel: Sequence[int], out: Sequence[int], **attrs: Any
) -> list[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """For each element of the kernel: the part of the padded input that it meets."""
    n = len(kernel)
    stride, dilation = _each(attrs["stride"], n), _each(attrs["dilation"], n)
    found = []
    for tap in itertools.product(*(range(k) for k in kernel)):
        starts = [t * d for t, d in zip(tap, dilation, strict=True)]
        part = tuple(
            slice(first, first + (size - 1) * step + 1, step)
            for first, size, step in zip(starts, out, stride, strict=True)
        )
        found.append((tap, part))
    return found


def _out_sizes(
    shape: Sequence[int], kernel: Sequence[int], pads: Sequence[tuple[int, int]], **attrs: Any
) -> list[int]:
    n = len(kernel)
    return [
        (size + sum(pad) - (k - 1) * d - 1) // s + 1
        for size, k, pad, s, d in zip(
            shape, kernel, pads, _each(attrs["stride"], n), _each(attrs["dilation"], n), strict=True
        )
    ]


def _padded(x: Array, pads: Sequence[tuple[int, int]]) -> Array:
    import numpy as np

    return np.pad(x, [(0, 0), (0, 0), *pads])


def _biased(y: Array, bias: Sequence[Array]) -> Array:
    for b in bias:
        y = y + b.reshape(-1, *[1] * (y.ndim - 2))
    return y


def _channels(part: int, size: int) -> slice:
    return slice(part * size, (part + 1) * size)


def _convolution(
    x: Array, weight: Array, *bias: Array, padding: Any, groups: int, spatial: int = 0, **attrs: Any
) -> Array:
    import numpy as np

    kernel = weight.shape[2:]
    pads = _pads(padding, kernel, _each(attrs["dilation"], len(kernel)))
    out = _out_sizes(x.shape[2:], kernel, pads, **attrs)
    x = _padded(x, pads)
    y = np.zeros((x.shape[0], weight.shape[0], *out), np.result_type(x, weight))
    rows, columns = weight.shape[0] // groups, weight.shape[1]
    for (tap, part), g in itertools.product(
        _taps(x.shape[2:], kernel, out, **attrs), range(groups)
    ):
        seen = x[_at(slice(None), _channels(g, columns), *part)]
        factor = weight[_at(_channels(g, rows), slice(None), *tap)]
        y[:, _channels(g, rows)] += np.einsum("oc,nc...->no...", factor, seen)
    return _biased(y, bias)


def _convolution_transpose(
    x: Array,
    weight: Array,
    *bias: Array,
    padding: Any,
    output_padding: Ints,
    groups: int,
    spatial: int = 0,
    output_size: Ints | None = None,
    **attrs: Any,
) -> Array:
    import numpy as np

    kernel, out = weight.shape[2:], x.shape[2:]
    n = len(kernel)
    stride, dilation = _each(attrs["stride"], n), _each(attrs["dilation"], n)
    extra, pads = _each(output_padding, n), _pads(padding, kernel, dilation)
    whole = [
        (out[i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 + extra[i] for i in range(n)
    ]
    if output_size is not None:
        whole = [size + sum(pad) for size, pad in zip(_each(output_size, n), pads, strict=True)]
    rows, columns = weight.shape[0] // groups, weight.shape[1]
    y = np.zeros((x.shape[0], columns * groups, *whole), np.result_type(x, weight))
    for (tap, part), g in itertools.product(_taps(whole, kernel, out, **attrs), range(groups)):
        factor = weight[_at(_channels(g, rows), slice(None), *tap)]
        spread = np.einsum("oc,no...->nc...", factor, x[:, _channels(g, rows)])
        y[_at(slice(None), _channels(g, columns), *part)] += spread
    kept = tuple(slice(pad[0], size - pad[1]) for pad, size in zip(pads, whole, strict=True))
    return _biased(y[_at(slice(None), slice(None), *kept)], bias)


def _convolution_weight(
    x: Array, gradient: Array, *, kernel: Ints, padding: Any, groups: int, **attrs: Any
) -> Array:
    import numpy as np

    sizes = _each(kernel, x.ndim - 2)
    x = _padded(x, _pads(padding, sizes, _each(attrs["dilation"], len(sizes))))
    rows, columns = gradient.shape[1] // groups, x.shape[1] // groups
    weight = np.zeros((rows * groups, columns, *sizes), np.result_type(x, gradient))
    axes = (0, *range(2, x.ndim))
    taps = _taps(x.shape[2:], sizes, gradient.shape[2:], **attrs)
    for (tap, part), g in itertools.product(taps, range(groups)):
        seen = x[_at(slice(None), _channels(g, columns), *part)]
        weight[_at(_channels(g, rows), slice(None), *tap)] = np.tensordot(
            gradient[:, _channels(g, rows)], seen, (axes, axes)
        )
    return weight


def _windows(
    shape: Sequence[int],
    kernel_size: Ints | None,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    output_size: Ints | None = None,
    spatial: int = 0,
) -> list[list[tuple[list[int], int]]]:
    """For each dimension and window: the positions in the input, and how many count as padded."""
    n = len(shape)
    if kernel_size is None:
        parts = _each(() if output_size is None else output_size, n)
        return [
            [
                (ends := list(range(i * size // part, -(-(i + 1) * size // part))), len(ends))
                for i in range(part)
            ]
            for size, part in zip(shape, parts, strict=True)
        ]
    found = []
    steps = _each(kernel_size if stride is None else stride, n)
    for size, k, s, p, d in zip(
        shape, _each(kernel_size, n), steps, _each(padding, n), _each(dilation, n), strict=True
    ):
        room = size + 2 * p - (k - 1) * d - 1
        count = (math.ceil(room / s) if ceil_mode else room // s) + 1
        if count > 1 and (count - 1) * s >= size + p:
            count -= 1
        spots = [[i * s - p + t * d for t in range(k)] for i in range(count)]
        found.append(
            [([at for at in w if 0 <= at < size], sum(at < size + p for at in w)) for w in spots]
        )
    return found


def _pool(x: Array, reduce: Callable[[Array, int], Array], attrs: Any) -> Array:
    """Fills the result window by window."""
    import numpy as np

    windows = _windows(x.shape[2:], **attrs)
    y = np.zeros((*x.shape[:2], *(len(w) for w in windows)), x.dtype)
    for at in itertools.product(*(range(len(w)) for w in windows)):
        cells = [w[i] for w, i in zip(windows, at, strict=True)]
        index = np.ix_(*(cell[0] for cell in cells))
        counted = math.prod(cell[1] for cell in cells)
        y[_at(..., *at)] = reduce(x[_at(slice(None), slice(None), *index)], counted)
    return y


def _max_pool(x: Array, **attrs: Any) -> Array:
    import numpy as np

    axes = tuple(range(2, x.ndim))
    return _pool(x, lambda part, n: np.max(part, axes, initial=-np.inf), attrs)


def _avg_pool(x: Array, *, count_include_pad: bool, divisor_override: int, **attrs: Any) -> Array:
    import numpy as np

    axes = tuple(range(2, x.ndim))

    def mean(part: Array, counted: int) -> Array:
        inside = counted if count_include_pad else part[0, 0].size
        return np.sum(part, axes) / (divisor_override or inside)

    return _pool(x, mean, attrs) if x.size else _pool(x, lambda part, n: 0, attrs)


def _maxima(x: Array, attrs: Any) -> Array:
    """For each window the flat position, in its plane, of the first maximum."""
    import numpy as np

    spots = np.arange(math.prod(x.shape[2:])).reshape(1, 1, *x.shape[2:])
    places = np.broadcast_to(spots, x.shape)
    pairs = x + 1j * places  # carries both; NumPy's argmax is the first

    def first(part: Array, counted: int) -> Array:
        flat = part.reshape(*part.shape[:2], math.prod(part.shape[2:]))
        best = np.argmax(flat.real, -1)[..., None]
        return np.take_along_axis(flat, best, -1)[..., 0]

    return np.rint(_pool(pairs, first, attrs).imag).astype(int)


def _max_pool_spread(x: Array, gradient: Array, **attrs: Any) -> Array:
    import numpy as np

    places = _maxima(x, attrs)
    y = np.zeros((*x.shape[:2], math.prod(x.shape[2:])), gradient.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        np.add.at(y[n, c], places[n, c].ravel(), gradient[n, c].ravel())
    return y.reshape(x.shape)


def _max_pool_select(x: Array, values: Array, **attrs: Any) -> Array:
    import numpy as np

    places = _maxima(x, attrs)
    flat = values.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    spots = places.reshape(*x.shape[:2], math.prod(places.shape[2:]))
    picked = np.take_along_axis(flat, spots, -1)
    return picked.reshape(places.shape)


def _avg_pool_spread(gradient: Array, *, shape: Sequence[int], **attrs: Any) -> Array:
    """The transpose of the mean, element by element."""
    import numpy as np

    y = np.zeros(tuple(shape), gradient.dtype)
    for spot in np.ndindex(*shape[2:]):
        unit = np.zeros((1, 1, *shape[2:]), gradient.dtype)
        unit[_at(0, 0, *spot)] = 1
        share = _avg_pool(unit, **attrs)
        y[_at(..., *spot)] = np.sum(gradient * share, tuple(range(2, gradient.ndim)))
    return y


WINDOWS: Mapping[str, Callable[..., Any]] = {
    "Convolution": _convolution,
    "ConvolutionTranspose": _convolution_transpose,
    "ConvolutionWeight": _convolution_weight,
    "MaxPool": _max_pool,
    "MaxPoolSpread": _max_pool_spread,
    "MaxPoolSelect": _max_pool_select,
    "AvgPool": _avg_pool,
    "AvgPoolSpread": _avg_pool_spread,
}

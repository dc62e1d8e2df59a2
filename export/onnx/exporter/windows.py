"""Rules of convolutions and of pooling: numbers for each dimension, and padding on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .graph import Graph, Value
from .numbers import Unknown
from .site import Rule, Site


def each(site: Site, name: str, count: int, default: Sequence[int] = ()) -> list[int]:
    """An attribute with one number for all dimensions, or one for each."""
    value = site.known(name)
    numbers = (
        list(default) if value is None else list(value if isinstance(value, tuple) else [value])
    )
    return numbers * count if len(numbers) == 1 else numbers


def both_sides(site: Site, kernel: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """The padding of a convolution: what stands in front of each dimension, then what is behind."""
    padding = site.known("padding")
    if padding == "same":
        totals = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
        return [*(n // 2 for n in totals), *(n - n // 2 for n in totals)]
    if padding == "valid":
        return [0] * (2 * len(kernel))
    return each(site, "padding", len(kernel)) * 2


def write_convolution(site: Site) -> list[str]:
    """Conv."""
    return [_convolved(site, "Conv")]


def write_convolution_transpose(site: Site) -> list[str]:
    """ConvTranspose; of an unknown size with as many rows more as there may be, cut off."""
    graph, count = site.graph, len(site.x.shape) - 2
    if site.attrs["output_size"] is None:
        added = each(site, "output_padding", count)
        return [_convolved(site, "ConvTranspose", output_padding=added)]
    sizes = site.numbers("output_size")
    sizes = sizes * count if len(sizes) == 1 else sizes
    strides, given = each(site, "stride", count), graph.shape(site.x)[2:]
    kernel, dilation = site.sizes(site.inputs[1], 2), each(site, "dilation", count)
    pads = both_sides(site, kernel, dilation)
    added, cut = [], []
    for i, (size, rows, stride) in enumerate(zip(sizes, given, strides, strict=True)):
        if isinstance(size, Unknown) or isinstance(rows, Unknown):
            added.append(stride - 1)
            cut += [(i, size)] if stride > 1 else []
        else:
            whole = (rows - 1) * stride + (kernel[i] - 1) * dilation[i] + 1
            added.append(size - whole + pads[i] + pads[i + count])
    y = _convolved(site, "ConvTranspose", output_padding=added)
    if not cut:
        return [y]
    axes = [i + 2 for i, _ in cut]
    ends = graph.ints([size for _, size in cut])
    return [graph.one("Slice", y, graph.ints([0] * len(cut)), ends, graph.ints(axes))]


def _convolved(site: Site, op: str, **more: Any) -> str:
    graph, count = site.graph, len(site.x.shape) - 2
    kernel = site.sizes(site.inputs[1], 2)
    dilation = each(site, "dilation", count)
    names = [graph.cast(x.name, x.dtype, site.y.dtype) for x in site.inputs]
    return graph.one(
        op, *names, kernel_shape=kernel, dilations=dilation, group=site.known("groups"),
        strides=each(site, "stride", count), pads=both_sides(site, kernel, dilation), **more,
    )  # fmt: skip


def write_convolution_weight(site: Site) -> list[str]:
    """A convolution of x with the gradient, where images and channels have changed places.

    As many places as the kernel has count, be there more, where rows are left over.
    """
    graph, count, groups = site.graph, len(site.x.shape) - 2, site.known("groups")
    kernel = each(site, "kernel", count)
    order = [1, 0, *range(2, count + 2)]
    dilation = each(site, "dilation", count)
    x, flow = (graph.cast(value.name, value.dtype, site.y.dtype) for value in site.inputs)
    found = []
    for i in range(groups):
        parts = [
            graph.one("Transpose", _channels(graph, name, value.shape[1], i, groups), perm=order)
            for name, value in zip((x, flow), site.inputs, strict=True)
        ]
        made = graph.one(
            "Conv", *parts, strides=dilation, dilations=each(site, "stride", count),
            pads=both_sides(site, kernel, dilation),
        )  # fmt: skip
        bounds = [graph.ints(numbers) for numbers in ([0] * count, kernel, range(2, count + 2))]
        found.append(graph.one("Transpose", graph.one("Slice", made, *bounds), perm=order))
    return [found[0] if groups == 1 else graph.one("Concat", *found, axis=0)]


def _channels(graph: Graph, name: str, channels: int, part: int, parts: int) -> str:
    if parts == 1:
        return name
    size = channels // parts
    bounds = ([part * size], [(part + 1) * size], [1])
    return graph.one("Slice", name, *map(graph.ints, bounds))


class Windows(NamedTuple):
    """How windows lie; `ceil` says that ONNX must decide whether there is one more."""

    kernel: list[int]
    stride: list[int]
    pads: list[int]
    dilation: list[int]
    ceil: bool
    is_cut: bool  # whether a last window is partly outside

    def attributes(self, *, dilated: bool) -> dict[str, Any]:
        """ONNX's."""
        found = {
            "kernel_shape": self.kernel, "strides": self.stride, "pads": self.pads,
            "ceil_mode": int(self.ceil),
        }  # fmt: skip
        return {**found, "dilations": self.dilation} if dilated else found


def windows_of(site: Site, x: Value, out: Sequence[Any]) -> Windows | None:
    """The windows over a value, from which a result of these sizes comes; None: adaptive ones."""
    if site.attrs["kernel_size"] is None:
        return None
    count = len(x.shape) - 2
    kernel = each(site, "kernel_size", count)
    stride = each(site, "stride", count, kernel)
    before = each(site, "padding", count)
    dilation = each(site, "dilation", count) if "dilation" in site.attrs else [1] * count
    sizes = site.graph.shape(x)[2:]
    ceil = bool(site.known("ceil_mode"))
    if not ceil:
        return Windows(kernel, stride, before * 2, dilation, False, False)
    needed = [
        None if isinstance(n, Unknown) else (int(m) - 1) * s + (k - 1) * d + 1 - n - b
        for m, s, k, d, n, b in zip(out, stride, kernel, dilation, sizes, before, strict=True)
    ]
    each_axis = list(zip(needed, before, kernel, strict=True))
    after = [b if n is None else max(n, b) for n, b, _ in each_axis]
    if None not in needed and all(n < k for n, k in zip(after, kernel, strict=True)):
        return Windows(kernel, stride, [*before, *after], dilation, False, after != before)
    # Padding must be less than a kernel; so much of what is needed leads to as many windows.
    after = [b if n is None else min(max(n, 0), k - 1) for n, b, k in each_axis]
    return Windows(kernel, stride, [*before, *after], dilation, True, True)


def write_max_pool(site: Site) -> list[str] | None:
    """MaxPool."""
    windows = windows_of(site, site.x, site.y.shape[2:])
    if windows is None:
        return None
    return [site.graph.one("MaxPool", site.x.name, **windows.attributes(dilated=True))]


def write_avg_pool(site: Site) -> list[str] | None:
    """AveragePool, where all windows have so many elements as ONNX counts."""
    windows = windows_of(site, site.x, site.y.shape[2:])
    if windows is None or windows.is_cut or site.known("divisor_override") is not None:
        return None
    counted = int(site.known("count_include_pad"))
    attributes = windows.attributes(dilated=False)
    return [site.graph.one("AveragePool", site.x.name, count_include_pad=counted, **attributes)]


def _places(site: Site, out: Sequence[Any]) -> str | None:
    """The number of each window's first maximum, among all elements."""
    windows = windows_of(site, site.x, out)
    if windows is None:
        return None
    return site.graph.node("MaxPool", [site.x.name], 2, **windows.attributes(dilated=True))[1]


def write_max_pool_select(site: Site) -> list[str] | None:
    """The elements of another tensor at the places of the maxima."""
    graph, places = site.graph, _places(site, site.y.shape[2:])
    if places is None:
        return None
    flat = graph.one("Reshape", site.inputs[1].name, graph.ints([-1]))
    return [graph.one("Gather", flat, places, axis=0)]


def write_max_pool_spread(site: Site) -> list[str] | None:
    """Gradients added to the places of the maxima."""
    graph, gradient = site.graph, site.inputs[1]
    places = _places(site, gradient.shape[2:])
    if places is None:
        return None
    shape = graph.one("Shape", site.x.name)
    zeros = graph.one("Expand", graph.constant(0, site.y.dtype.name), shape)
    flat, index, values = (
        graph.one("Reshape", name, graph.ints([-1])) for name in (zeros, places, gradient.name)
    )
    added = graph.one("ScatterElements", flat, index, values, axis=0, reduction="add")
    return [graph.one("Reshape", added, shape, allowzero=1)]


WINDOW_RULES: Mapping[str, Rule] = {
    "Convolution": write_convolution,
    "ConvolutionTranspose": write_convolution_transpose,
    "ConvolutionWeight": write_convolution_weight,
    "MaxPool": write_max_pool,
    "AvgPool": write_avg_pool,
    "MaxPoolSelect": write_max_pool_select,
    "MaxPoolSpread": write_max_pool_spread,
}

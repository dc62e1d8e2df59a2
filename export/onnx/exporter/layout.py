"""Rules of ops that make, move, join and convert elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .dtypes import element_type
from .graph import Value
from .numbers import Number, Unknown
from .site import Rule, Site, UnsupportedError

OPEN = -(2**63)  # a bound of a slice that was left out
_FAR = 2**63 - 1  # beyond every size
_INTEGER, _SLICE, _NEW, _ELLIPSIS = range(4)


def write_const(site: Site) -> list[str]:
    """A literal; one that is a size is calculated."""
    graph, value = site.graph, site.attrs["value"]
    if isinstance(value, Unknown):
        return [graph.one("Cast", graph.scalar(value), to=element_type(site.y.dtype))]
    return [graph.constant(np.asarray(value), site.y.dtype.name)]


def write_fill(site: Site) -> list[str]:
    """One value everywhere."""
    from onnx import numpy_helper

    graph, value = site.graph, site.attrs["fill_value"]
    shape = graph.ints(site.numbers("shape"))
    if isinstance(value, Unknown):
        made = graph.one("Cast", graph.scalar(value), to=element_type(site.y.dtype))
        return [graph.one("Expand", made, shape)]
    if site.y.dtype.name == "bfloat16":  # which ConstantOfShape has from opset 20 on
        array = np.asarray(value).astype(_numpy(site.y.dtype))
        return [graph.one("Expand", graph.constant(array), shape)]
    tensor = numpy_helper.from_array(np.asarray([value]).astype(_numpy(site.y.dtype)), "value")
    return [graph.one("ConstantOfShape", shape, value=tensor)]


def _numpy(dtype: Any) -> Any:
    from onnx.helper import tensor_dtype_to_np_dtype

    return tensor_dtype_to_np_dtype(element_type(dtype))


def write_arange(site: Site) -> list[str]:
    """Range, which ONNX has of four dtypes."""
    graph, wanted = site.graph, site.y.dtype
    start, stop, step = (site.attrs[name] for name in ("start", "stop", "step"))
    if stop is None:
        start, stop = 0, start
    has_it = wanted.name in ("int16", "int32", "int64", "float32", "float64")
    of = wanted.name if has_it else "float32" if wanted.kind == "floating" else "int64"
    parts = [
        graph.one("Cast", graph.scalar(x), to=element_type(_dtype(of)))
        if isinstance(x, Unknown)
        else graph.constant(x, of)
        for x in (start, stop, step)
    ]
    return [graph.cast(graph.one("Range", *parts), _dtype(of), wanted)]


def _dtype(name: str) -> Any:
    from .... import _C

    return getattr(_C, name)


def write_cast(site: Site) -> list[str]:
    """Another dtype; the same one is the value itself."""
    return [site.graph.one("Cast", site.x.name, to=element_type(site.y.dtype))]


def write_copy(site: Site) -> list[str]:
    """Devices are the runtime's matter."""
    return [site.graph.one("Identity", site.x.name)]


class _Parts(NamedTuple):
    """What items of an index say: slices by axis, axes that go, places of new ones."""

    slices: list[tuple[int, Number, Number, int]]
    dropped: list[int]
    added: list[int]


def _read_items(items: Sequence[Any], ndim: int) -> _Parts:
    """Items stand in groups of four: what it is, and its numbers."""
    groups = [items[i : i + 4] for i in range(0, len(items), 4)]
    taken = sum(group[0] in (_INTEGER, _SLICE) for group in groups)
    found = _Parts([], [], [])
    axis = place = 0
    for kind, first, stop, step in groups:
        if kind == _NEW:
            found.added.append(place)
            place += 1
        elif kind == _ELLIPSIS:
            axis += ndim - taken
            place += ndim - taken
        elif kind == _INTEGER:
            end = _FAR if type(first) is int and first == -1 else first + 1
            found.slices.append((axis, first, end, 1))
            found.dropped.append(axis)
            axis += 1
        else:
            step = 1 if type(step) is int and step == OPEN else step
            found.slices.append((axis, *_bounds(first, stop, step), step))
            axis += 1
            place += 1
    return found


def _bounds(first: Number, stop: Number, step: Any) -> tuple[Number, Number]:
    is_open = any(type(bound) is int and bound == OPEN for bound in (first, stop))
    if isinstance(step, Unknown):
        if is_open:  # at which end depends on its sign
            raise UnsupportedError("the step of a slice follows from an unknown size")
        return first, stop
    if type(first) is int and first == OPEN:
        first = 0 if step > 0 else _FAR
    if type(stop) is int and stop == OPEN:
        stop = _FAR if step > 0 else -_FAR
    return first, stop


def write_subtensor(site: Site) -> list[str]:
    """Slice, then axes that go, then axes that come."""
    graph, name = site.graph, site.x.name
    parts = _read_items(site.numbers("items"), len(site.x.shape))
    whole = [
        (axis, first, stop, step)
        for axis, first, stop, step in parts.slices
        if not (type(first) is int and (first, stop, step) == (0, _FAR, 1))
    ]
    if whole:
        axes, firsts, stops, steps = zip(*whole, strict=True)
        name = graph.one("Slice", name, *map(graph.ints, (firsts, stops, axes, steps)))
    if parts.dropped:
        name = graph.one("Squeeze", name, graph.ints(parts.dropped))
    if parts.added:
        name = graph.one("Unsqueeze", name, graph.ints(parts.added))
    return [name if name != site.x.name else graph.one("Identity", name)]


def write_transpose(site: Site) -> list[str] | None:
    """Of no dimension at all there is no attribute."""
    return None if site.x.shape else write_copy(site)


def write_stack(site: Site) -> list[str]:
    """A new axis in each, and then joined along it."""
    graph, axis = site.graph, site.known("axis")
    axes = graph.ints([axis])
    parts = [
        graph.one("Unsqueeze", graph.cast(x.name, x.dtype, site.y.dtype), axes) for x in site.inputs
    ]
    return [graph.one("Concat", *parts, axis=axis)]


def write_split(site: Site) -> list[str] | None:
    """No parts at all are none of ONNX's nodes."""
    return [] if not site.outputs else None


def write_pad(site: Site) -> list[str] | None:
    """ONNX wants all sizes before, then all sizes after."""
    graph, mode = site.graph, site.known("mode")
    if mode == "circular" and site.writer.opset < 19:
        raise UnsupportedError("circular margins need opset 19", "ask for opset=19 or later")
    widths = site.numbers("widths")
    pads = graph.ints([*widths[::2], *widths[1::2]])
    if mode == "constant":
        value = graph.constant(site.known("value"), site.y.dtype.name)
        return [graph.one("Pad", site.x.name, pads, value, mode=mode)]
    words = {"circular": "wrap"}
    return [graph.one("Pad", site.x.name, pads, mode=words.get(mode, mode))]


def with_shape(site: Site, value: Value, shape: Sequence[Number]) -> str:
    """A value broadcast to a shape."""
    return site.graph.one("Expand", value.name, site.graph.ints(shape))


LAYOUT_RULES: Mapping[str, Rule] = {
    "Const": write_const,
    "Fill": write_fill,
    "Arange": write_arange,
    "Cast": write_cast,
    "Copy": write_copy,
    "Subtensor": write_subtensor,
    "Transpose": write_transpose,
    "Stack": write_stack,
    "Split": write_split,
    "Pad": write_pad,
}

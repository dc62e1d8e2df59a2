"""Rules of ops that pick and place elements by index, by mask, or by order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .... import _C, ops
from ....imperative.sizes import same_size
from .dtypes import element_type
from .graph import Graph, Value
from .site import Rule, Site, Spec, plain_attributes


def as_indices(site: Site, value: Value) -> str:
    """Indices in a dtype that ONNX takes."""
    if value.dtype.name in ("int32", "int64"):
        return value.name
    return site.graph.cast(value.name, value.dtype, _C.int64)


def write_gather(site: Site) -> list[str] | None:
    """Gather, of one index, whose dimensions come first; several are `meanings`' work."""
    axes = site.known("axes")
    if len(site.inputs) != 2 or site.known("last_only"):
        return None
    x, indices = site.inputs
    axis, count = axes[0] % len(x.shape), len(indices.shape)
    found = site.graph.one("Gather", x.name, as_indices(site, indices), axis=axis)
    if axis == 0 or count == 0:
        return [found]
    perm = [*range(axis, axis + count), *range(axis), *range(axis + count, len(site.y.shape))]
    return [site.graph.one("Transpose", found, perm=perm)]


def write_take_along_axis(site: Site) -> list[str] | None:
    """GatherElements does not broadcast."""
    x, indices = site.inputs
    axis = site.known("axis") % max(len(site.y.shape), 1)
    if len(x.shape) != len(indices.shape) or not x.shape:
        return None
    if not _is_alike(x.shape, indices.shape, axis):
        return None
    names = (x.name, as_indices(site, indices))
    return [site.graph.one("GatherElements", *names, axis=axis)]


def _is_alike(a: Sequence[Any], b: Sequence[Any], axis: int) -> bool:
    """Whether two shapes are the same but along an axis."""
    pairs = [pair for i, pair in enumerate(zip(a, b, strict=True)) if i != axis]
    return all(m == n if type(m) is type(n) is int else same_size(m, n) for m, n in pairs)


def write_put_along_axis(site: Site) -> list[str] | None:
    """ScatterElements does not broadcast; values are of the shape of the indices."""
    x, indices, value = site.inputs
    graph, axis = site.graph, site.known("axis") % max(len(site.y.shape), 1)
    if len(x.shape) != len(indices.shape) or not x.shape:
        return None
    if not _is_alike(x.shape, indices.shape, axis):
        return None
    index = as_indices(site, indices)
    made = graph.cast(value.name, value.dtype, site.y.dtype)
    made = graph.one("Expand", made, graph.one("Shape", indices.name))
    names = (graph.cast(x.name, x.dtype, site.y.dtype), index, made)
    reduction = "add" if site.known("mode") == "add" else "none"
    return [graph.one("ScatterElements", *names, axis=axis, reduction=reduction)]


def write_masked_select(site: Site) -> list[str]:
    """Compress, of what the mask's dimensions are made one."""
    graph, (x, mask) = site.graph, site.inputs
    rest = graph.shape(x)[len(mask.shape) :]
    flat = graph.one("Reshape", mask.name, graph.ints([-1]))
    if not mask.shape:
        rows = graph.one("Unsqueeze", x.name, graph.ints([0]))
    elif len(mask.shape) == 1:
        rows = x.name
    else:
        count: Any = 1
        for size in graph.shape(x)[: len(mask.shape)]:
            count = size * count
        rows = graph.one("Reshape", x.name, graph.ints([count, *rest]), allowzero=1)
    return [graph.one("Compress", rows, flat, axis=0)]


def write_masked_scatter(site: Site) -> list[str]:
    """ScatterElements, by the numbers of the elements that the mask picks."""
    graph, (x, mask, value) = site.graph, site.inputs
    shape, numbers = graph.one("Shape", x.name), element_numbers(graph, x)
    dims = graph.ints([i + len(mask.shape) for i in range(len(x.shape) - len(mask.shape))])
    wide = mask.name if mask.shape == x.shape else graph.one("Unsqueeze", mask.name, dims)
    spread = graph.one("Reshape", graph.one("Expand", wide, shape), graph.ints([-1]))
    flat = graph.one("Reshape", numbers, graph.ints([-1]))
    places = graph.one("Compress", flat, spread, axis=0)
    values = graph.cast(value.name, value.dtype, site.y.dtype)
    if value.shape:
        values = graph.one("Expand", values, _picked_shape(site))
        values = graph.one("Reshape", values, graph.ints([-1]))
    else:
        values = graph.one("Expand", values, graph.one("Shape", places))
    elements = graph.one("Reshape", x.name, graph.ints([-1]))
    found = graph.one("ScatterElements", elements, places, values, axis=0)
    return [graph.one("Reshape", found, shape, allowzero=1)]


def _picked_shape(site: Site) -> str:
    """The shape of what the mask picks: how many there are, and the dimensions behind its own."""
    graph, (x, mask, _) = site.graph, site.inputs
    ones = graph.one("Cast", mask.name, to=element_type(_C.int64))
    flat = graph.one("Reshape", ones, graph.ints([-1]))
    count = graph.one("ReduceSum", flat, graph.ints([0]), keepdims=1)
    return graph.one("Concat", count, graph.one("Shape", x.name, start=len(mask.shape)), axis=0)


def write_placed(site: Site) -> list[str]:
    """ScatterElements, by the numbers of the elements that items or indices pick.

    What is picked is found out by nodes, so nothing has to be known of its sizes.
    """
    from .writer import write_op

    graph, (x, value, *indices) = site.graph, site.inputs
    is_part = type(site.op).__name__ == "SetSubtensor"
    op = ops.Subtensor(items=site.op.items) if is_part else ops.Gather(axes=site.op.axes)
    kept = len(x.shape) - (0 if is_part else len(site.known("axes")))
    rank = len(value.shape) if is_part else kept + max(len(one.shape) for one in indices)
    spec = Spec(_C.int64, (None,) * rank)
    numbers = x._replace(name=element_numbers(graph, x), dtype=_C.int64, literal=None)
    attrs = {**plain_attributes(op), **({"items": site.attrs["items"]} if is_part else {})}
    inner = replace(site, op=op, inputs=[numbers, *indices], outputs=[spec], attrs=attrs)
    (places,) = write_op(inner)
    made = graph.cast(value.name, value.dtype, site.y.dtype)
    made = graph.one("Expand", made, graph.one("Shape", places))
    held = graph.cast(x.name, x.dtype, site.y.dtype)
    flat, index, values = (
        graph.one("Reshape", name, graph.ints([-1])) for name in (held, places, made)
    )
    how = "add" if type(site.op).__name__ == "ScatterAdd" else "none"
    found = graph.one("ScatterElements", flat, index, values, axis=0, reduction=how)
    return [graph.one("Reshape", found, graph.one("Shape", x.name), allowzero=1)]


def element_numbers(graph: Graph, x: Value) -> str:
    """The number of each element."""
    shape = graph.one("Shape", x.name)
    last = graph.one("ReduceProd", shape, keepdims=0)
    zero, one = graph.constant(0, "int64"), graph.constant(1, "int64")
    return graph.one("Reshape", graph.one("Range", zero, last, one), shape, allowzero=1)


def write_argwhere(site: Site) -> list[str] | None:
    """NonZero, whose rows are the dimensions."""
    if not site.x.shape:
        return None
    return [site.graph.one("Transpose", site.graph.one("NonZero", site.x.name), perm=[1, 0])]


def write_sort(site: Site) -> list[str] | None:
    """TopK of all: of equal elements it takes the lower index first, whatever the order."""
    graph, axis = site.graph, site.known("axis")
    if not site.x.shape:
        return None
    size = graph.dim(site.x, axis)
    found = graph.node(
        "TopK", [site.x.name, graph.ints([size])], 2, axis=axis,
        largest=int(site.known("descending")), sorted=1,
    )  # fmt: skip
    return [found[1 if type(site.op).__name__ == "ArgSort" else 0]]


def write_topk(site: Site) -> list[str] | None:
    """TopK, and of its results what is not to be left out; all by its key where nothing is."""
    graph, axis = site.graph, site.known("axis")
    skip = site.attrs["skip"]
    end = skip + site.attrs["k"]
    found = graph.node(
        "TopK", [site.x.name, graph.ints([end])], 2, axis=axis, largest=int(site.known("largest")),
        sorted=1,
    )  # fmt: skip
    bounds = [graph.ints([skip]), graph.ints([end]), graph.ints([axis])]
    return [graph.one("Slice", name, *bounds) for name in found]


def write_unique(site: Site) -> list[str]:
    """Unique, which has all that may be asked for."""
    graph = site.graph
    flags = [site.known(name) for name in ("indices", "inverse", "counts")]
    found = graph.node("Unique", [site.x.name], 4, sorted=1)
    kept = [found[0], *(name for name, flag in zip(found[1:], flags, strict=True) if flag)]
    if flags[1]:
        place = 1 + int(flags[0])
        kept[place] = graph.one("Reshape", kept[place], graph.one("Shape", site.x.name))
    return kept


def write_scan(site: Site) -> list[str] | None:
    """CumSum; other running combinations are `meanings`' work."""
    mode, axis = site.known("mode"), site.attrs["axis"]
    names = {"cumulative_sum": ("CumSum", 11), "cumulative_prod": ("CumProd", 26)}
    op, since = names.get(mode, ("", 0))
    if not op or since > site.writer.opset or site.known("include_initial"):
        return None
    if site.y.dtype.name not in ("int32", "int64", "float32", "float64"):
        return None
    graph = site.graph
    x = graph.cast(site.x.name, site.x.dtype, site.y.dtype)
    place = graph.scalar(0 if axis is None else axis)
    return [graph.one(op, x, place, reverse=int(site.known("reverse")))]


INDEXING_RULES: Mapping[str, Rule] = {
    "Gather": write_gather,
    "TakeAlongAxis": write_take_along_axis,
    "PutAlongAxis": write_put_along_axis,
    "SetSubtensor": write_placed,
    "ScatterSet": write_placed,
    "ScatterAdd": write_placed,
    "MaskedSelect": write_masked_select,
    "MaskedScatter": write_masked_scatter,
    "Argwhere": write_argwhere,
    "Sort": write_sort,
    "ArgSort": write_sort,
    "TopK": write_topk,
    "Unique": write_unique,
    "Scan": write_scan,
}

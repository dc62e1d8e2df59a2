"""Rules of reductions that ONNX has under conditions, or as others of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .... import _C
from .choice import write_by_key
from .dtypes import element_type
from .graph import Value
from .site import Rule, Site, plain_attributes

_COUNTED = ("any", "all", "count_nonzero")
_PLACES = ("argmax", "argmin")


def write_reduce(site: Site) -> list[str] | None:
    """No axes at all, booleans, and the place of the largest of all elements."""
    axis = site.known("axis")
    if axis == ():
        return _over_a_new_axis(site)
    if site.op.mode in _COUNTED:
        return [_counted(site, axis)]
    if site.op.mode in _PLACES and (axis is None or isinstance(axis, tuple)):
        return _place_of_all(site)
    return None


def _over_a_new_axis(site: Site) -> list[str] | None:
    """ONNX takes an empty list of axes for all of them."""
    name = site.graph.one("Unsqueeze", site.x.name, site.graph.ints([0]))
    x = Value(name, site.x.dtype, (1, *site.x.shape))
    attrs: dict[str, Any] = {**site.attrs, "axis": 0, "keepdims": False}
    op = type(site.op)(**{**plain_attributes(site.op), **attrs})
    inner = replace(site, op=op, inputs=[x], attrs=attrs, expressions={})
    return write_reduce(inner) or write_by_key(inner)


def _counted(site: Site, axis: Any) -> str:
    """Sums of ones: of no elements they are 0, where a largest one is an error."""
    graph, mode = site.graph, site.op.mode
    flags = graph.one("Cast", site.x.name, to=element_type(_C.bool_))
    if mode == "all":
        flags = graph.one("Not", flags)
    ones = graph.one("Cast", flags, to=element_type(_C.int64))
    axes = [] if axis is None else [graph.ints(axis if isinstance(axis, tuple) else (axis,))]
    count = graph.one("ReduceSum", ones, *axes, keepdims=int(site.known("keepdims")))
    if mode == "count_nonzero":
        return count
    found = graph.one("Cast", count, to=element_type(_C.bool_))
    return graph.one("Not", found) if mode == "all" else found


def _place_of_all(site: Site) -> list[str] | None:
    axis = site.attrs["axis"]
    if isinstance(axis, tuple) and len(axis) != 1:
        return None
    graph = site.graph
    op = "ArgMax" if site.op.mode == "argmax" else "ArgMin"
    if isinstance(axis, tuple):
        return [graph.one(op, site.x.name, axis=axis[0], keepdims=int(site.known("keepdims")))]
    flat = graph.one("Reshape", site.x.name, graph.ints([-1]))
    found = graph.one(op, flat, axis=0, keepdims=0)
    if not site.known("keepdims"):
        return [found]
    return [graph.one("Reshape", found, graph.ints([1] * len(site.x.shape)))]


REDUCING_RULES: Mapping[str, Rule] = {"Reduce": write_reduce}

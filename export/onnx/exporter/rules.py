"""Rules: ops that ONNX says in several nodes, or under conditions, by the names of their classes.

A rule gets a `Site` and gives the names of the results, or None where it does not hold: then the
op is written in another way (`writer`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .... import _C
from .control_flow import write_control
from .drawing import DRAWING_RULES
from .dtypes import type_text, wider
from .indexing import INDEXING_RULES
from .layout import LAYOUT_RULES
from .normalizing import NORMALIZING_RULES
from .products import PRODUCT_RULES
from .reducing import REDUCING_RULES
from .site import Rule, Site, UnsupportedError
from .spectra import SPECTRUM_RULES
from .windows import WINDOW_RULES

RULES: Mapping[str, Rule] = {
    **LAYOUT_RULES, **INDEXING_RULES, **PRODUCT_RULES, **REDUCING_RULES, **NORMALIZING_RULES,
    **WINDOW_RULES, **DRAWING_RULES, **SPECTRUM_RULES,
}  # fmt: skip
# The ops of ONNX that the first inputs of rules go to, where these do not take every dtype.
LIMITED: Mapping[str, str] = {
    "Convolution": "Conv", "ConvolutionTranspose": "ConvTranspose",
    "ConvolutionWeight": "Conv", "MaxPool": "MaxPool",
    "AvgPool": "AveragePool", "MaxPoolSelect": "MaxPool", "MaxPoolSpread": "MaxPool",
    "MaskedSelect": "Compress", "Sort": "TopK", "ArgSort": "TopK", "Unique": "Unique", "Pad": "Pad",
    "Argwhere": "NonZero", "TopK": "TopK",
}  # fmt: skip


def write_by_rule(site: Site) -> list[str] | None:
    """What the rule of the op says, where there is one that holds."""
    name = type(site.op).__name__
    rule = RULES.get(name)
    if rule is None:
        return write_control(site)
    if name not in LIMITED or _is_taken(site, LIMITED[name], site.x.dtype):
        return rule(site)
    wide = wider(site.x.dtype)
    if wide is None or not _is_taken(site, LIMITED[name], wide):
        raise UnsupportedError(f"ONNX's {LIMITED[name]} takes no {site.x.dtype.name}")
    return _widened(site, rule, wide)


def _is_taken(site: Site, op: str, dtype: _C.dtype) -> bool:
    from onnx import defs

    return type_text(dtype) in defs.get_schema(op, site.writer.opset).inputs[0].types


def _widened(site: Site, rule: Rule, wide: _C.dtype) -> list[str] | None:
    """The same with what is of the first input's dtype in a wider one."""
    graph, narrow = site.graph, site.x.dtype
    inputs = [
        x._replace(name=graph.cast(x.name, narrow, wide), dtype=wide) if x.dtype is narrow else x
        for x in site.inputs
    ]
    outputs = [y._replace(dtype=wide) if y.dtype is narrow else y for y in site.outputs]
    found = rule(replace(site, inputs=inputs, outputs=outputs))
    if found is None:
        return None
    return [
        graph.cast(name, y.dtype, spec.dtype)
        for name, y, spec in zip(found, outputs, site.outputs, strict=True)
    ]

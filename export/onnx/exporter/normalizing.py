"""Rules of norms, which ONNX has of the last axes, with weights of their shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....imperative.sizes import same_size
from .site import Rule, Site


def _first_axis(site: Site) -> int | None:
    """Where the axes begin that are normalised, if they are the last ones."""
    axes, ndim = site.known("axes"), len(site.x.shape)
    numbers = sorted(axis % ndim for axis in (axes if isinstance(axes, tuple) else (axes,)))
    return numbers[0] if numbers == list(range(ndim - len(numbers), ndim)) else None


def _has_shape(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(
        m == n if type(m) is type(n) is int else same_size(m, n) for m, n in zip(a, b, strict=True)
    )


def write_layer_norm(site: Site) -> list[str] | None:
    """LayerNormalization."""
    return _normalized(site, "LayerNormalization", since=17)


def write_rms_norm(site: Site) -> list[str] | None:
    """RMSNormalization."""
    return _normalized(site, "RMSNormalization", since=23)


def _normalized(site: Site, op: str, since: int) -> list[str] | None:
    if since > site.writer.opset or not site.x.shape:
        return None
    first = _first_axis(site)
    if first is None or any(x.dtype is not site.y.dtype for x in site.inputs):
        return None
    if site.y.dtype.name not in ("float32", "float64", "float16", "bfloat16"):
        return None
    if not all(_has_shape(weight.shape, site.x.shape[first:]) for weight in site.inputs[1:]):
        return None
    eps = float(site.known("eps"))
    return [site.graph.one(op, *site.names, axis=first, epsilon=eps)]


NORMALIZING_RULES: Mapping[str, Rule] = {
    "LayerNorm": write_layer_norm,
    "RMSNorm": write_rms_norm,
}

"""Rules of random draws: the same distributions, by ONNX's own generator.

ONNX cannot draw the numbers that a key of ours gives, so this is done only where it is asked for
(`draws=True`). A seed decides a draw here: what draws twice by one, as dropout and its gradient do,
has one draw in the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .... import _C
from ....imperative.sizes import same_size
from ....ops import Elemwise
from .dtypes import element_type
from .graph import Value
from .numbers import Number, Unknown
from .site import Rule, Site, Spec, UnsupportedError

EXACT = 2**53  # integers that float64 has all
HALVES: Mapping[str, int] = {"float16": 11, "bfloat16": 8}  # bits of their fractions


def refuse_draws(site: Site) -> None:
    """Raises unless draws may be other numbers of the same distribution.

    Raises:
        UnsupportedError: nobody has said so.
    """
    if not site.writer.draws:
        raise UnsupportedError(
            "it draws random numbers, which ONNX cannot draw the same",
            "leave it out (layers: eval()), give the numbers as an input, or let the model draw "
            "others: draws=True",
        )


def write_random(site: Site) -> list[str] | None:
    """RandomUniform or RandomNormal, and what makes the other distributions of them."""
    refuse_draws(site)
    mode, shape, dtype = site.known("mode"), site.numbers("shape"), site.y.dtype
    key = (mode, site.known("key"), site.known("counter"), site.known("low"), site.known("high"))
    return [_once(site, key, site.y.shape, lambda: _drawn(site, mode, shape, dtype))]


def _drawn(site: Site, mode: str, shape: Sequence[Number], dtype: _C.dtype) -> str:
    graph = site.graph
    if mode == "normal":
        return _plain(site, "RandomNormal", shape, dtype)
    if mode == "uniform":
        return _uniform(site, shape, dtype)
    if mode == "bits":
        if dtype is not _C.uint64:
            raise UnsupportedError(f"it draws bits as {dtype.name}")
        high, low = (_whole(site, shape, 2**32, _C.uint64) for _ in range(2))
        shifted = graph.one("Mul", high, graph.constant(2**32, "uint64"))
        return graph.one("Add", shifted, low)
    if mode == "orders":  # that of random numbers
        keys = _plain(site, "RandomUniform", shape, _C.float32)
        order = graph.node("TopK", [keys, graph.ints(shape[-1:])], 2, axis=-1)[1]
        return graph.cast(order, _C.int64, dtype)
    low, high = site.known("low"), site.known("high")
    if mode == "integers":
        if high - low > EXACT or max(abs(low), abs(high)) > EXACT:
            raise UnsupportedError("it draws integers of more than 53 bits")
        found = _whole(site, shape, high - low, _C.int64)
        moved = graph.one("Add", found, graph.constant(low, "int64"))
        return graph.cast(moved, _C.int64, dtype)
    # The normal distribution between two bounds: by its inverse, between their shares.
    share = _uniform(site, shape, _C.float64)
    first, last = (_share_below(bound) for bound in (low, high))
    scaled = graph.one("Mul", share, graph.constant(last - first, "float64"))
    between = graph.one("Add", scaled, graph.constant(first, "float64"))
    return graph.cast(_elementwise(site, "ndtri", between), _C.float64, dtype)


def _share_below(bound: float) -> float:
    """How much of the normal distribution lies below."""
    import math

    return 0.5 * math.erfc(-bound / math.sqrt(2))


def _elementwise(site: Site, mode: str, name: str) -> str:
    from .writer import write_op

    inner = replace(
        site, op=Elemwise(mode=mode), inputs=[Value(name, _C.float64, site.y.shape)],
        outputs=[Spec(_C.float64, site.y.shape)], attrs={"mode": mode}, expressions={},
    )  # fmt: skip
    return write_op(inner)[0]


def _plain(site: Site, op: str, shape: Sequence[Number], dtype: _C.dtype) -> str:
    """Float32 or float64 by an op of ONNX; halves are cast."""
    graph = site.graph
    wide = _C.float32 if dtype.name in HALVES else dtype
    number = element_type(wide)
    if any(isinstance(size, Unknown) for size in shape):
        like = graph.one("ConstantOfShape", graph.ints(shape))
        found = graph.one(f"{op}Like", like, dtype=number)
    else:
        found = graph.one(op, shape=list(shape) or [1], dtype=number)
        found = found if shape else graph.one("Reshape", found, graph.ints([]))
    return graph.cast(found, wide, dtype)


def _uniform(site: Site, shape: Sequence[Number], dtype: _C.dtype) -> str:
    """From 0 up to 1, which is not reached in halves either."""
    if dtype.name not in HALVES:
        return _plain(site, "RandomUniform", shape, dtype)
    graph, steps = site.graph, 2.0 ** HALVES[dtype.name]
    wide = _plain(site, "RandomUniform", shape, _C.float32)
    whole = graph.one("Floor", graph.one("Mul", wide, graph.constant(steps, "float32")))
    return graph.cast(graph.one("Div", whole, graph.constant(steps, "float32")), _C.float32, dtype)


def _whole(site: Site, shape: Sequence[Number], count: int, dtype: _C.dtype) -> str:
    """Integers from 0 up to a count."""
    graph = site.graph
    wide = _plain(site, "RandomUniform", shape, _C.float64)
    scaled = graph.one("Floor", graph.one("Mul", wide, graph.constant(count, "float64")))
    return graph.cast(scaled, _C.float64, dtype)


def write_dropout(site: Site) -> list[str] | None:
    """Elements that are kept, divided by the share of those."""
    refuse_draws(site)
    graph, p, dtype = site.graph, site.known("p"), site.y.dtype
    x = graph.cast(site.x.name, site.x.dtype, dtype)

    def kept() -> str:
        drawn = graph.one("RandomUniformLike", x, dtype=element_type(_C.float32))
        return graph.one("GreaterOrEqual", drawn, graph.constant(p, "float32"))

    mask = _once(site, ("dropout", p, site.known("seed")), site.y.shape, kept)
    share = graph.cast(graph.constant(1 / (1 - p) if p < 1 else 0.0, "float64"), _C.float64, dtype)
    zero = graph.cast(graph.constant(0.0, "float64"), _C.float64, dtype)
    return [graph.one("Where", mask, graph.one("Mul", x, share), zero)]


def _once(site: Site, key: Any, shape: tuple[Any, ...], draw: Any) -> str:
    """A draw, which is made where it is asked for first."""
    draws = site.writer.drawn
    if key not in draws:
        draws[key] = site.graph, shape, draw()
    graph, known, name = draws[key]
    is_same = len(known) == len(shape) and all(map(_is_same_size, known, shape))
    if graph is not site.graph or not is_same:
        raise UnsupportedError("it draws the same numbers as another op elsewhere")
    return str(name)


def _is_same_size(a: Any, b: Any) -> bool:
    return a is b or (type(a) is int and type(b) is int and a == b) or same_size(a, b)


DRAWING_RULES: Mapping[str, Rule] = {"Random": write_random, "Dropout": write_dropout}

"""Ops as functions of ONNX, from their bodies.

The body, whoever wrote it (a declaration, the core, a class of Python, `meanings`), is recorded as
a program of its own, on variables like the op's inputs, and that program is written as a function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from .... import _C
from .... import functional as F
from ....imperative.levels import stopped, unwrapped
from ....imperative.sizes import ARITHMETIC, Size
from ....imperative.symbolic import Listing, SymbolicTensor
from ....imperative.tensor import Tensor
from .drawing import refuse_draws
from .graph import Graph, Value
from .meanings import MEANINGS
from .numbers import Number
from .site import Site, UnsupportedError

Body = Callable[..., Any]
_MOST_FACTOR, _MOST_REST = 64, 16  # sizes that follow from others so are read as such by the core


def write_body(site: Site) -> list[str] | None:
    """A call of a function made of the op's body, or None where it has none."""
    if _C.is_random(site.op):
        refuse_draws(site)
        raise UnsupportedError("it draws random numbers of a distribution that ONNX has not")
    recorded = _Recorded(site)
    try:
        results = recorded.run()
    except _C.TensorlikeError as error:
        told = recorded.named(str(error))
        raise UnsupportedError(f"what it is made of cannot be recorded: {told}") from error
    return None if results is None else recorded.write(results)


class _Recorded:
    """The program of one body."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.listing = Listing()
        self.sizes: dict[tuple[int, int], str] = {}
        self.extra: list[tuple[Any, Number]] = []  # variables that have sizes of no input
        self.inputs = [self._input(f"x{i}", value) for i, value in enumerate(site.inputs)]

    def _input(self, name: str, value: Value) -> Any:
        """A variable like a value outside.

        Where its sizes follow from those of inputs before it, as those of what is set in a part of
        an array do, it is the result of a step that makes zeros, and being given stands for them:
        an input's sizes are what they are.
        """
        own = [self._own_if_known(size) for size in value.shape]
        if None not in own and any(self._is_new(size) for size in value.shape):
            return stopped(unwrapped(F.zeros(tuple(own), dtype=value.dtype)))
        return self.listing.input(name, [self._named(size) for size in value.shape], value.dtype)

    def _is_new(self, size: Any) -> bool:
        return isinstance(size, Size) and (size.first, size.second) not in self.sizes

    def _named(self, size: Any) -> Any:
        """A size outside, as an input of the program takes it: an unknown one has a name."""
        if not isinstance(size, Size):
            return size
        return self.sizes.setdefault((size.first, size.second), f"size_{len(self.sizes)}")

    def named(self, text: str) -> str:
        """A text in which the numbers that stand for unknown sizes are their names."""
        known = {str(n): name for name, at, i in self.listing.sizes() for n in self._numbers(at, i)}
        return re.sub(r"\d+", lambda found: known.get(found[0], found[0]), text)

    def _numbers(self, variable: int, axis: int) -> tuple[int, int]:
        size: Any = self.listing.shape(variable)[axis]
        return size.first, size.second

    def _own(self, number: int, axis: int) -> Any:
        """What a size outside is in the program; of no input's it is that of one more variable."""
        size = self.site.size_of(number, axis)
        own = self._own_if_known(size)
        if own is None:
            wanted = self.site.number_of(number, axis)
            made = self.listing.input(f"s{len(self.extra)}", [self._named(size)], "bool")
            self.extra.append((made, wanted))
            own = made.shape[0]
        return own

    def _own_if_known(self, size: Any) -> Any:
        """The same, a multiple and a rest of a size of the inputs; None: it is no such thing."""
        if not isinstance(size, Size):
            return size
        named = {name: pair for pair, name in self.sizes.items()}
        roots = [(named[name], v, axis) for name, v, axis in self.listing.sizes() if name in named]
        for (first, second), variable, axis in roots:
            factor, left = divmod(size.first - size.second, first - second)
            rest = size.first - factor * first
            if left == 0 and 1 <= factor <= _MOST_FACTOR and abs(rest) <= _MOST_REST:
                return self.listing.shape(variable)[axis] * factor + rest
        return None

    def _attribute(self, expr: Any) -> Any:
        if not isinstance(expr, tuple):
            return expr
        kind, *rest = expr
        if kind == "size":
            return self._own(*rest)
        parts = [self._attribute(part) for part in rest[0]]
        if kind == "tuple":
            return tuple(parts)
        if kind == "float":
            return parts[0]
        return ARITHMETIC[kind](*parts)

    def run(self) -> list[int] | None:
        """Records the body; the numbers of its results."""
        site, op = self.site, self.site.op
        changed = {name: self._attribute(expr) for name, expr in site.expressions.items()}
        name = type(op).__name__
        with _C.FinalizersWait(), _C.Recording(self.listing):
            if name in MEANINGS:
                attrs = SimpleNamespace(**{**site.attrs, **changed})
                found = MEANINGS[name](attrs, *map(Tensor, self.inputs))
            else:
                if changed:
                    op = type(op)(**{**site.attrs, **changed})
                found = self._applied(op)
        if found is None or found is NotImplemented:
            return None
        parts = found if isinstance(found, (tuple, list)) else [found]
        return [self._number(part) for part in parts]

    def _applied(self, op: Any) -> Any:
        define = getattr(op, "define", None)
        if define is not None and not _C.is_native_op_class(type(op)):
            return define(*self.inputs)
        return _C.apply_body(op, *self.inputs)

    def _number(self, x: Any) -> int:
        value = stopped(unwrapped(x)) if isinstance(x, _C.TensorBase) else _C.tensor(x)
        if isinstance(value, SymbolicTensor) and value.listing is self.listing:
            return value.number
        return self.listing.capture(stopped(unwrapped(value)))

    def write(self, results: Sequence[int]) -> list[str]:
        """The function, and a call of it."""
        site, writer = self.site, self.site.writer
        graph = Graph(is_function=True)
        given = {
            x.number: Value(graph.unique(f"x{i}"), x.dtype, x.shape)
            for i, x in enumerate(self.inputs)
        }
        for i, (x, _) in enumerate(self.extra):
            given[x.number] = Value(graph.unique(f"s{i}"), x.dtype, x.shape)
        failures = len(writer.failures)
        found = writer.write(graph, self.listing, given, results)
        if len(writer.failures) > failures:
            inner = writer.failures[failures]
            del writer.failures[failures:]
            raise UnsupportedError(f"its body needs {inner.op}: {inner.reason}", inner.fix)
        outputs = [
            graph.cast(value.name, value.dtype, spec.dtype)
            for value, spec in zip(found, site.outputs, strict=True)
        ]
        outputs = graph.results(outputs)
        inputs = [value.name for value in given.values()]
        name = writer.add_function(_name(site.op), graph, inputs, outputs)
        more = [_flags(site.graph, number) for _, number in self.extra]
        return writer.call(site.graph, name, [*site.names, *more], graph.lifted)


def _flags(graph: Graph, count: Number) -> str:
    """So many booleans, which give a function their number."""
    return graph.one("Expand", graph.constant(False, "bool"), graph.ints([count]))


def _name(op: Any) -> str:
    return str(getattr(op, "mode", None) or type(op).__name__).strip("_")

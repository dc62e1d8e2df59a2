"""Ops as functions of ONNX, from their bodies.

The body, whoever wrote it (a declaration, the core, a class of Python, `meanings`), is recorded as
a program of its own, on variables like the op's inputs, and that program is written as a function.
"""

from __future__ import annotations

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
        raise UnsupportedError(f"what it is made of cannot be recorded: {error}") from error
    return None if results is None else recorded.write(results)


class _Recorded:
    """The program of one body."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.listing = Listing()
        self.sizes: dict[tuple[int, int], str] = {}
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

    def _own(self, size: Any) -> Any:
        """What a size outside is in the program."""
        own = self._own_if_known(size)
        if own is None:
            raise UnsupportedError("its attributes follow from sizes of others than its inputs")
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
            return self._own(self.site.size_of(*rest))
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
        return writer.call(site.graph, name, site.names, graph.lifted)


def _name(op: Any) -> str:
    return str(getattr(op, "mode", None) or type(op).__name__).strip("_")

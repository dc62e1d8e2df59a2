"""Running a graph: its nodes in order, on values that are computed, or recorded in a program.

A value is a tensor, the sizes of one (`Sizes`), a list (a sequence) or None (nothing). Whether it
is recorded depends on the tensors alone: what is computed from constants is computed at once, so
shapes that a graph puts together are numbers by the time when an op needs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from .... import _C
from .... import functional as F
from ....imperative import Size, Tensor
from ....imperative.blocks import is_symbolic
from .dequantised import product_of_dequantised
from .entries import Entry, Input, apply_entry
from .graph import FunctionGraph, Graph, Node, Reference, SchemaFunction
from .narrow_types import Narrow
from .picked_rows import picked_rows
from .place import Place
from .pooled import pooled_first
from .requantised import requantised_product
from .schema_functions import function_of
from .sizes import Sizes, sized, sizes_rule

DEEPEST = 100  # nodes that are computed once more for a number
# What nodes mean by what has made their inputs, where that takes less.
_SHORTER = (product_of_dequantised, requantised_product, pooled_first, picked_rows)


class NumberNeeded(_C.ArgumentError):
    """The numbers of a tensor are needed, which no run has computed yet."""


class Run:
    """The values of a graph by name, in one run of it.

    Attributes:
        values: by name.
        known: values, computed, of names that stand for variables of a program.
        given: what stands here for values of graphs around, by name.
        attributes: of the function whose graph this is.
        is_recording: whether a program is made.
    """

    def __init__(
        self, graph: Graph, outer: Run | None = None, attributes: Mapping[str, Any] | None = None,
        *, is_recording: bool = False,
    ) -> None:  # fmt: skip
        """Nothing has run yet."""
        self.graph = graph
        self.outer = outer
        around: Mapping[str, Any] = {} if outer is None else outer.attributes
        self.attributes: Mapping[str, Any] = around if attributes is None else attributes
        self.is_recording: bool = is_recording or (outer is not None and outer.is_recording)
        self.values: dict[str, Any] = dict(graph.constants)
        self.known: dict[str, Any] = {}
        self.given: Mapping[str, Any] = {}

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs for these inputs."""
        if len(inputs) > len(self.graph.inputs):
            raise _C.ArgumentError(
                f"takes {len(self.graph.inputs)} values", op=self.graph.name or "onnx",
                got=str(len(inputs)),
            )  # fmt: skip
        names = self.graph.inputs
        self.values.update(zip(names, [*inputs, *[None] * (len(names) - len(inputs))], strict=True))
        for node in self.graph.nodes:
            given = [self.find(name) if name else None for name in node.inputs]
            with naming(node):
                found = self.apply(node, given)
            self.values.update(
                (name, value) for name, value in zip(node.outputs, found, strict=False) if name
            )
        return [self._made(name) for name in self.graph.outputs]

    def _made(self, name: str) -> Any:
        """An output; nothing, where a function leaves it out."""
        is_left_out = self.outer is None and name not in self.values
        return None if is_left_out or not name else self.find(name)

    def find(self, name: str) -> Any:
        """The value of a name, here or in a graph around."""
        run: Run | None = self
        while run is not None:
            for values in (run.values, run.given):
                if name in values:
                    return values[name]
            run = run.outer
        raise _C.ArgumentError(
            "must be made by a node that has run", op="onnx", argument=name, got="nothing"
        )

    def number_of(self, name: str, depth: int = 0) -> Any:
        """The value of a name, computed.

        Raises:
            NumberNeeded: it depends on what a program is given.
        """
        run: Run = self
        while name not in run.values:
            assert run.outer is not None, "find has found it"
            run = run.outer
        value = run.values[name]
        if isinstance(value, Sizes) or not _is_recorded(value):
            return value
        if name not in run.known:
            node = run.graph.makers.get(name)
            if node is None or depth > DEEPEST:
                raise NumberNeeded("must be known when a program is made", op="onnx", argument=name)
            inputs = [run.number_of(one, depth + 1) if one else None for one in node.inputs]
            found = run.apply(node, inputs)
            if any(map(_is_symbol, found)):  # graphs inside of it have read what is recorded
                raise NumberNeeded("must be known when a program is made", op="onnx", argument=name)
            run.known.update(zip(node.outputs, found, strict=False))
        return run.known[name]

    def apply(self, node: Node, given: list[Any]) -> list[Any]:
        """What a node gives."""
        attributes = {name: self._attribute(value) for name, value in node.attributes.items()}
        target = node.target
        if any(isinstance(value, Sizes) for value in given):
            found = sizes_rule(node.op, given, attributes) if node.domain == "" else None
            if found is not None:
                return [found]
        if isinstance(target, SchemaFunction):
            target = function_of(target, node, given, attributes)
        if isinstance(target, FunctionGraph):
            own = {**target.defaults, **attributes}
            results = Run(target.graph, None, own, is_recording=self.is_recording).run(given)
        else:
            results = self._entry(target, node, given, attributes)
        return _typed(node, given, results)

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, Reference):
            return self.attributes.get(value.name)
        if isinstance(value, Graph):
            return Subgraph(value, self)
        return value

    def _entry(
        self, entry: Entry, node: Node, given: list[Any], attributes: Mapping[str, Any]
    ) -> list[Any]:
        values: dict[str, Any] = dict(entry.attrs)
        for name, value in attributes.items():
            if name not in entry.attrs:
                raise _C.ArgumentError(
                    f"takes the attributes {', '.join(entry.attrs) or 'of none'}", op=node.op,
                    argument=name, got=repr(value)[:80],
                )  # fmt: skip
            if value is not None:
                _check_value(entry, name, value)
                values[name] = value
        most = len(entry.inputs)
        if any(one.is_variadic for one in entry.inputs):
            most = len(given)
        if any(value is not None for value in given[most:]):
            raise _C.ArgumentError(f"takes {most} inputs", op=node.op, got=str(len(given)))
        for number, one in enumerate(entry.inputs):
            self._bind(entry, one, number, node, given, values)
        with _computing(entry, given, values):
            place = Place(node, values, self.graph.makers, self.find)
            for shorter in _SHORTER:
                found = shorter(place)
                if found is not None:
                    return [found]
            return apply_entry(entry, values, len(node.outputs))

    def _bind(
        self, entry: Entry, one: Input, number: int, node: Node, given: list[Any],
        values: dict[str, Any],
    ) -> None:  # fmt: skip
        if one.is_variadic:
            values[one.name] = [self._seen(entry, value) for value in _share(entry, one, given)]
            return
        value = given[number] if number < len(given) else None
        if value is None:
            missing = one.name not in entry.attrs or values[one.name] is None
            if missing and not one.is_optional:
                raise _C.ArgumentError("must be given", op=node.op, argument=one.name, got="none")
            values.setdefault(one.name, None)
        elif one.kind:
            if _is_symbol(value):
                value = self.number_of(node.inputs[number])
            values[one.name] = _read(value, one, node)
        else:
            values[one.name] = self._seen(entry, value)

    def _seen(self, entry: Entry, value: Any) -> Any:
        """A value as the meaning of an entry takes it."""
        if isinstance(value, Narrow) and not entry.sees_types:
            value = value.tensor
        return value.as_tensor() if isinstance(value, Sizes) else value


class Subgraph:
    """A graph that is an attribute, as a function.

    Attributes:
        inputs: the names of what it takes.
        outputs: the names of what it gives.
        is_recording: whether a program is made.
    """

    def __init__(self, graph: Graph, outer: Run) -> None:
        """Within a run, whose values it may read."""
        self.graph = graph
        self.inputs = graph.inputs
        self.outputs = graph.outputs
        self.is_recording = outer.is_recording
        self._outer = outer

    def recorded_around(self) -> dict[str, Any]:
        """The tensors of the program around that it reads, by name."""
        found = {name: self._outer.find(name) for name in self.graph.around}
        return {
            name: value
            for name, value in found.items()
            if isinstance(value, Tensor) and is_symbolic(value)
        }

    def __call__(self, *inputs: Any, given: Mapping[str, Any] | None = None) -> list[Any]:
        """What it gives for these inputs.

        Args:
            inputs: tensors.
            given: what stands for values of graphs around, by name.
        """
        run = Run(self.graph, self._outer)
        run.given = given or {}
        return run.run(inputs)


@contextmanager
def naming(node: Node) -> Iterator[None]:
    """A block whose errors of missing numbers say which node needs them."""
    try:
        yield
    except RecursionError as error:
        raise _C.ArgumentError(
            "graphs must not be nested so deep", op=node.op, argument=node.label, got="a deeper one"
        ) from error
    except _C.TensorlikeError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
    ) as error:
        raise _C.ArgumentError(
            "must be what the op takes", op=node.op, argument=node.label, got=str(error)
        ) from error


def _computing(
    entry: Entry, given: Sequence[Any], values: Mapping[str, Any]
) -> AbstractContextManager[Any]:
    """A block in which what is made of constants alone is computed at once, not recorded.

    What draws random numbers is recorded, so that each run draws anew; so is what depends on sizes
    that are not known.
    """
    is_open = any(
        isinstance(one, (Size, Subgraph))
        for value in values.values()
        for one in (value if isinstance(value, (tuple, list)) else (value,))
    )
    if entry.draws or is_open or any(map(_is_recorded, given)):
        return nullcontext()
    return _C.Recording(None)


def _check_value(entry: Entry, name: str, value: Any) -> None:
    """Refuses a value that an attribute cannot have."""
    known = entry.among.get(name)
    if known is not None and value not in known:
        raise _C.ArgumentError(
            f"must be one of {', '.join(map(repr, known))}", op=entry.name, argument=name,
            got=repr(value)[:80],
        )  # fmt: skip


def _is_recorded(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_is_recorded, value))
    if isinstance(value, Narrow):
        return is_symbolic(value.tensor)
    return isinstance(value, Sizes) or (isinstance(value, Tensor) and is_symbolic(value))


def _is_symbol(value: Any) -> bool:
    return not isinstance(value, Sizes) and _is_recorded(value)


def _read(value: Any, one: Input, node: Node) -> Any:
    """An input whose numbers are known, as what it becomes."""
    if isinstance(value, Narrow):
        value = value.tensor
    if isinstance(value, Sizes):
        listed = value.listed()
    elif isinstance(value, Tensor):
        if one.kind == "array":
            return value
        if one.kind == "scalar" and value.size == 1:
            return F.reshape(value, ())
        listed = value.tolist()
    else:
        raise _C.ArgumentError(
            "must be a tensor", op=node.op, argument=one.name, got=type(value).__name__
        )
    is_many = isinstance(listed, list)
    if one.kind in ("ints", "floats"):
        found = tuple(listed) if is_many else (listed,)
        if any(isinstance(item, list) for item in found):
            raise _C.ShapeError("must have one dimension", op=node.op, argument=one.name)
        return found
    while isinstance(listed, list):
        if len(listed) != 1:
            raise _C.ShapeError(
                "must be one number", op=node.op, argument=one.name, got=str(listed)[:80]
            )
        listed = listed[0]
    return int(listed) if one.kind == "int" and not isinstance(listed, Size) else listed


def _share(entry: Entry, one: Input, given: Sequence[Any]) -> Sequence[Any]:
    """What of the inputs belongs to one that is many; of several such, each has as many."""
    names = entry.groups or [one.name]
    first = next(i for i, each in enumerate(entry.inputs) if each.is_variadic)
    count, rest = divmod(max(len(given) - first, 0), len(names))
    if rest or (entry.groups and not count):
        raise _C.ArgumentError(
            f"must be {len(names)} for each tensor that moves", op=entry.name, argument="inputs",
            got=str(len(given) - first),
        )  # fmt: skip
    at = first + names.index(one.name) * count
    return given[at : at + count]


def _typed(node: Node, given: Sequence[Any], results: list[Any]) -> list[Any]:
    """Results that are of the type of a narrow input are marked as it."""
    if not any(isinstance(value, Narrow) for value in given):
        return results
    for i, j in node.same_types:
        source = given[j] if j < len(given) else None
        if isinstance(source, Narrow) and i < len(results) and isinstance(results[i], Tensor):
            results[i] = Narrow(results[i], source.number)
    return results


__all__ = ["NumberNeeded", "Run", "Subgraph", "sized"]

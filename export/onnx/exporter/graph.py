"""Graph: nodes of a model, of a branch of control flow, or of a function, as they are written."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .... import _C
from .dtypes import element_type
from .numbers import Number, Tree, Unknown, tree_of

Array = np.ndarray[Any, Any]
OURS = "tensorlike"  # the domain of our functions
LARGE = 1024  # bytes: larger constants of a function are given to it, and shared


class Value(NamedTuple):
    """A tensor of a graph.

    Args:
        name: in the graph.
        dtype: of its elements.
        shape: as the program has it: integers, and a `Size` for each that is not known.
        literal: the number that it is, where it is a constant one; else None.
    """

    name: str
    dtype: _C.dtype
    shape: tuple[Any, ...]
    literal: Any = None


class Graph:
    """Nodes in their order, and the constants that they read.

    Args:
        outer: the graph around, whose values can be read too; None: a model or a function.
        is_function: whether it is one, which has no initializers.
    """

    def __init__(self, outer: Graph | None = None, *, is_function: bool = False) -> None:
        self.outer = outer
        self.root: Graph = self if outer is None else outer.root
        self.is_function = is_function
        self.nodes: list[Any] = []
        self.initializers: dict[str, Array] = {}
        self.lifted: dict[str, Array] = {}  # of a function: constants that calls give it
        self.line = ""  # the user's, of the step that is being written
        self._names: set[str] = set() if outer is None else outer._names
        self._kept_for_results: set[str] = set()
        self._constants: dict[Any, str] = {}
        self._numbers: MutableMapping[Tree, str] = ChainMap(
            {}, {} if outer is None else outer._numbers
        )

    def unique(self, wanted: str) -> str:
        """A name that nothing has here, in graphs around or inside."""
        name, count = wanted, 1
        while name in self._names or not name:
            count += 1
            name = f"{wanted}_{count}"
        self._names.add(name)
        return name

    def keep_for_results(self, names: Iterable[str]) -> None:
        """Names that nothing but a result gets; `give_back` frees one for it."""
        self._kept_for_results = set(names) - self._names
        self._names |= self._kept_for_results

    def give_back(self, name: str) -> None:
        """The result is about to get its name."""
        if name in self._kept_for_results:
            self._kept_for_results.remove(name)
            self._names.remove(name)

    def node(
        self, op: str, inputs: Sequence[str], count: int = 1, *, domain: str = "", **attrs: Any
    ) -> list[str]:
        """Adds a node; the names of its results."""
        from onnx import helper

        outputs = [self.unique(f"{op.lower()}_out") for _ in range(count)]
        said = {key: value for key, value in attrs.items() if value != []}  # else the default
        made = helper.make_node(op, list(inputs), outputs, domain=domain, **said)
        if self.line and not self.root.is_function:
            made.doc_string = self.line
        self.nodes.append(made)
        return outputs

    def one(self, op: str, *inputs: str, **attrs: Any) -> str:
        """Adds a node of one result; its name."""
        return self.node(op, inputs, **attrs)[0]

    def constant(self, value: Any, dtype: str = "", name: str = "") -> str:
        """A constant; equal ones are one."""
        array = np.asarray(value) if not dtype else np.asarray(value, dtype=dtype)
        root = self.root
        key = (array.dtype.str, array.dtype.name, array.shape, array.tobytes())
        if key not in root._constants or name:
            root._constants[key] = root._add_constant(array, name or "constant")
        return root._constants[key]

    def _add_constant(self, array: Array, wanted: str) -> str:
        name = self.unique(wanted)
        if not self.is_function:
            self.initializers[name] = array
        elif array.nbytes > LARGE:
            self.lifted[name] = array
        else:
            from onnx import helper, numpy_helper

            tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape))
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def ints(self, numbers: Sequence[Number]) -> str:
        """A tensor of int64 with one dimension."""
        if not any(isinstance(number, Unknown) for number in numbers):
            return self.constant(np.asarray(numbers, dtype=np.int64).reshape(len(numbers)))
        parts = [self._element(tree_of(number)) for number in numbers]
        return parts[0] if len(parts) == 1 else self.one("Concat", *parts, axis=0)

    def scalar(self, number: Number) -> str:
        """A tensor without dimensions, of int64, or of float64 where there may be a fraction."""
        if not isinstance(number, Unknown):
            return self.constant(np.int64(number))
        return self.one("Squeeze", self._element(number.tree), self.ints([0]))

    def _element(self, tree: Tree) -> str:
        if isinstance(tree, int):
            return self.ints([tree])
        if isinstance(tree, float):
            return self.constant([tree], "float64")
        if tree not in self._numbers:
            kind, *parts = tree
            if kind == "dim":
                name, axis = parts
                made = self.one("Shape", name, start=axis, end=axis + 1)
            elif kind == "as":
                dtype, part = parts
                wanted = element_type(getattr(_C, dtype))
                made = self.one("Cast", self._element(part), to=wanted)
            else:
                made = self.one(kind, *map(self._element, parts))
            self._numbers[tree] = made
        return self._numbers[tree]

    def dim(self, value: Value, axis: int) -> Number:
        """A size of a value."""
        size = value.shape[axis]
        if type(size) is int:
            return size
        return Unknown(("dim", value.name, axis % len(value.shape)))

    def shape(self, value: Value) -> list[Number]:
        """All sizes of a value."""
        return [self.dim(value, axis) for axis in range(len(value.shape))]

    def cast(self, name: str, dtype: _C.dtype, wanted: _C.dtype) -> str:
        """A value in another dtype."""
        return name if dtype is wanted else self.one("Cast", name, to=element_type(wanted))

    def results(self, names: Iterable[str]) -> list[str]:
        """Names that the graph can give: each of a node of its own."""
        makers = {name for node in self.nodes if node.op_type != "Constant" for name in node.output}
        found: list[str] = []
        for name in names:
            is_free = name in makers and name not in found
            found.append(name if is_free else self.one("Identity", name))
        return found

    def renamed(self, name: str, wanted: str, since: int = 0) -> str:
        """Another name for the result of a node behind `since`; the name that it has then."""
        makers = [node for node in self.nodes[since:] if name in node.output]
        if not makers or wanted in self._names or makers[0].op_type == "Constant":
            return name
        self._names.add(wanted)
        _rename(self.nodes[since:], name, wanted)
        return wanted


def _rename(nodes: Iterable[Any], name: str, wanted: str) -> None:
    """In nodes, and in the graphs that these hold."""
    for node in nodes:
        for names in (node.input, node.output):
            for i, known in enumerate(names):
                if known == name:
                    names[i] = wanted
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g.node, name, wanted)

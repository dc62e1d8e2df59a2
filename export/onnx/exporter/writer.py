"""Writer: programs become graphs of ONNX, step by step.

An op is written, in this order: by a rule of the exporter, where ONNX says it in several nodes or
under conditions (`rules`); by the key `onnx` of its declaration; as a function of ONNX made of its
body, its formula, or what it is in functional calls (`bodies`, `scalars`, `meanings`). What has
none of these is collected, and all of it told at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from .... import _C
from ....imperative.sizes import Size, same_size
from ....imperative.symbolic import Listing, Step
from ....ops.declaring import known_declarations
from .dtypes import element_type, is_exported
from .graph import OURS, Array, Graph, Value
from .numbers import CALCULATIONS, calculated, compared
from .site import Site, Spec, UnsupportedError, plain_attributes
from .spectra import in_pairs, is_complex, write_complex


class Failure(NamedTuple):
    """An op that could not be written."""

    op: str
    line: str
    reason: str
    fix: str


class Writer:
    """What all graphs of a model have in common.

    Args:
        opset: the version of ONNX's ops.
        draws: whether random draws may be others of the same distribution.
    """

    def __init__(self, opset: int, *, draws: bool = False) -> None:
        self.opset = opset
        self.draws = draws
        self.drawn: dict[Any, Any] = {}  # draws by what decides them: graph, shape and name
        self.functions: dict[str, Any] = {}  # FunctionProtos by name
        self.failures: list[Failure] = []
        self.assumptions: list[str] = []  # what the program asked of unknown sizes
        self._reads: dict[str, list[bool]] = {}  # which inputs functions read
        self.scalars: Any = None  # those that are written as functions
        self._contents: dict[bytes, str] = {}  # of functions, with their names

    @cached_property
    def entries(self) -> Mapping[str, Any]:
        """Declarations of ops, scalar functions and reductions, by name."""
        return {entry.name: entry for entry in known_declarations().entries}

    def add_function(
        self, name: str, graph: Graph, inputs: Sequence[str], outputs: Sequence[str]
    ) -> str:
        """Adds a function, unless an equal one is there; the name that it has."""
        from onnx import helper

        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid(OURS, 1)]
        read = names_read(graph.nodes)
        # ONNX Runtime loses its way where a function has an input that nobody reads.
        is_read = [name in read for name in inputs]
        given = [name for name in inputs if name in read] + list(graph.lifted)
        made = helper.make_function(OURS, "", given, list(outputs), graph.nodes, imports)
        content = name.encode() + made.SerializeToString(deterministic=True)
        if content not in self._contents:
            count = sum(known.split(".")[0] == name for known in self.functions)
            made.name = name if count == 0 else f"{name}.{count + 1}"
            self.functions[made.name] = made
            self._contents[content] = made.name
            self._reads[made.name] = is_read
        return self._contents[content]

    def call(self, graph: Graph, name: str, inputs: Sequence[str], lifted: Mapping[str, Array]
             ) -> list[str]:  # fmt: skip
        """A call of a function, with the constants that it wants to be given."""
        constants = [graph.constant(array) for array in lifted.values()]
        given = [x for x, is_read in zip(inputs, self._reads[name], strict=True) if is_read]
        count = len(self.functions[name].output)
        return graph.node(name, [*given, *constants], count, domain=OURS)

    def write(
        self, graph: Graph, listing: Listing, given: dict[int, Value], results: Sequence[int]
    ) -> list[Value]:
        """Writes the steps that make results of what is given; where these are in the graph."""
        return _Program(self, graph, listing, given).write(results)

    def fail(self, op: Any, line: str, error: UnsupportedError) -> None:
        """Keeps what could not be written, once."""
        failure = Failure(str(op), line, error.reason, error.fix)
        if failure not in self.failures:
            self.failures.append(failure)


class _Program:
    """A program that is being written into a graph."""

    def __init__(
        self, writer: Writer, graph: Graph, listing: Listing, given: dict[int, Value]
    ) -> None:
        self.writer = writer
        self.graph = graph
        self.listing = listing
        self.values = dict(given)
        self.names = [name for name, _, _ in listing.variables()]
        self.steps = listing.steps()

    def write(self, results: Sequence[int]) -> list[Value]:
        for place in self._live(results):
            self._write_step(place)
        found = [self._result(number) for number in results]
        checks = self._checks()
        return [self._checked(value, checks) for value in found] if checks else found

    def _result(self, number: int) -> Value:
        try:
            return self._value(number)
        except UnsupportedError as error:
            self.writer.fail(f"result {self.names[number]}", "", error)
            return Value("unsupported", _C.float32, ())

    def _live(self, results: Sequence[int]) -> list[int]:
        """The steps that are needed, in order."""
        found = self._behind(results)
        asked = [expr for guard in self.listing.guards() for expr in guard[:2]]
        for number, axis in (size for expr in asked for size in sizes_of(expr)):
            if not self._says_size(number, axis, found):
                found |= self._behind([number])
        return sorted(found)

    def _behind(self, results: Sequence[int]) -> set[int]:
        makers = {n: i for i, step in enumerate(self.steps) for n in step[2]}
        found: set[int] = set()
        pending = [n for n in results if n not in self.values]
        while pending:
            place = makers.get(pending.pop())
            if place is None or place in found:
                continue
            found.add(place)
            _, inputs, _, _, expressions = self.steps[place]
            read = [n for expr in expressions.values() for n, _ in sizes_of(expr)]
            pending += [n for n in (*inputs, *read) if n not in self.values]
        return found

    def _says_size(self, number: int, axis: int, steps: set[int]) -> bool:
        """Whether one of the values that there will be is of this size."""
        size: Any = self.listing.shape(number)[axis]
        made = [*self.values, *(n for place in steps for n in self.steps[place][2])]
        shapes: list[tuple[Any, ...]] = [self.listing.shape(other) for other in made]
        sizes = [known for shape in shapes for known in shape]
        return number in made or any(same_size(known, size) for known in sizes)

    def _checks(self) -> list[str]:
        try:
            asked = dict.fromkeys(self.listing.guards())  # each once: names of nodes differ
            return [check for guard in asked for check in self._check(*guard)]
        except UnsupportedError as error:
            self.writer.fail("a question for a size", "", error)
            return []

    def _check(self, a: Any, b: Any, how: str, answer: bool, line: str) -> list[str]:
        """A zero, which cannot be had where the program would refuse its sizes.

        Python asked for a size and went one way; for sizes of which the answer is another a model
        must fail, too. No op of ONNX says so, but an index that is none makes runtimes fail, and
        name the node.
        """
        told = f"{self._text(a)} {how} {self._text(b)} is {answer} ({line})"
        times = self.writer.assumptions.count(told)
        self.writer.assumptions.append(told)
        graph, name = self.graph, f"assumes: {told}" + (f" ({times + 1})" if times else "")
        op = {"==": "Equal", "<": "Less", "<=": "LessOrEqual"}[how]
        found = graph.one(op, *map(graph.ints, compared(self._number(a), self._number(b))))
        wrong = graph.one("Not", found) if answer else found
        index = graph.one("Cast", wrong, to=element_type(_C.int64))
        return [graph.one("Gather", graph.ints([0]), index, axis=0, name=name)]

    def _checked(self, value: Value, checks: Sequence[str]) -> Value:
        """The value, which needs the checks."""
        shape = self.graph.one("Shape", value.name)
        for check in checks:
            shape = self.graph.one("Add", shape, check)
        return value._replace(name=self.graph.one("Reshape", value.name, shape, allowzero=1))

    def _text(self, expr: Any) -> str:
        if not isinstance(expr, tuple):
            return str(expr)
        kind, *rest = expr
        if kind == "size":
            return f"{self.names[rest[0]]}.shape[{rest[1]}]"
        parts = ", ".join(map(self._text, rest[0]))
        if kind in ("tuple", "real"):
            return f"({parts})" if kind == "tuple" else parts
        return f"{kind}({parts})"

    def _value(self, number: int) -> Value:
        if number not in self.values:
            name, role, value = self.listing.variables()[number]
            shape, dtype = self.listing.shape(number), self.listing.dtype(number)
            if role != "captured" or not isinstance(value, _C.RawTensor):
                raise UnsupportedError(f"the value of {name} is not known")
            array = array_of(value)
            literal = array.item() if array.shape == () else None
            array = in_pairs(array) if is_complex(dtype) else array
            wanted = name if name[:1] != "_" else "captured"
            made = self.graph.constant(array, name=wanted if array.ndim else "")
            self.values[number] = Value(made, dtype, shape, literal)
        return self.values[number]

    def _write_step(self, place: int) -> None:
        step = Step(*self.steps[place][:4])
        graph, begin = self.graph, len(self.graph.nodes)
        outputs = [Spec(self.listing.dtype(n), self.listing.shape(n)) for n in step.outputs]
        line, graph.line = graph.line, step.line or graph.line
        try:
            inputs = [self._value(number) for number in step.inputs]
            expressions = dict(self.steps[place][4])
            attrs = {**plain_attributes(step.op), **{
                name: self._number(expr) for name, expr in expressions.items()
            }}  # fmt: skip
            site = Site(
                self.writer, graph, step.op, inputs, outputs, attrs, expressions, self._size,
                self._dim,
            )  # fmt: skip
            found = write_op(site)
        except UnsupportedError as error:
            self.writer.fail(self._told(step.op, self.steps[place][4]), graph.line, error)
            found = [graph.unique("unsupported") for _ in step.outputs]
        for number, spec, name in zip(step.outputs, outputs, found, strict=True):
            renamed = graph.renamed(name, self.names[number], begin)
            literal = None if self.steps[place][4] else literal_of(step.op)
            self.values[number] = Value(renamed, spec.dtype, spec.shape, literal)
        graph.line = line

    def _told(self, op: Any, expressions: Mapping[str, Any]) -> str:
        """An op as text, in which sizes that are not known have names."""
        if not expressions:
            return str(op)
        said = {**plain_attributes(op), **expressions}
        parts = (f"{name}={self._text(value)}" for name, value in said.items())
        return f"{type(op).__name__}({', '.join(parts)})"

    def _size(self, number: int, axis: int) -> Any:
        return self.listing.shape(number)[axis]

    def _number(self, expr: Any) -> Any:
        """An attribute's expression, with Unknowns for its sizes."""
        if not isinstance(expr, tuple):
            return expr
        kind, *rest = expr
        if kind == "size":
            return self._dim(*rest)
        parts = [self._number(part) for part in rest[0]]
        if kind == "tuple":
            return tuple(parts)
        if kind == "float":
            return parts[0]
        if kind not in CALCULATIONS:
            raise UnsupportedError(f"a size is calculated by {kind}")
        return calculated(kind, parts)

    def _dim(self, number: int, axis: int) -> Any:
        """A size of a variable; where it is not there, the same size of another one."""
        size: Any = self.listing.shape(number)[axis]
        if number in self.values:
            return self.graph.dim(self.values[number], axis)
        for other in self.values.values():
            for i, known in enumerate(other.shape):
                if isinstance(known, Size) and same_size(known, size):
                    return self.graph.dim(other, i)
        raise UnsupportedError("a size that it needs is not known where it stands")


def names_read(nodes: Iterable[Any]) -> set[str]:
    """What nodes read, and those in the graphs that they hold."""
    found = {name for node in nodes for name in node.input}
    inner = (a.g.node for node in nodes for a in node.attribute if a.HasField("g"))
    return found.union(*map(names_read, inner))


def sizes_of(expr: Any) -> list[tuple[int, int]]:
    """The sizes that an expression reads: variables, and their dimensions."""
    if not isinstance(expr, tuple):
        return []
    if expr[0] == "size":
        return [(expr[1], expr[2])]
    return [size for part in expr[1] for size in sizes_of(part)]


def array_of(value: Any) -> Array:
    """The elements of a RawTensor."""
    import numpy as np

    return np.asarray(value)


def literal_of(op: Any) -> Any:
    """The number that an op makes out of nothing but itself, or None."""
    value = op.value if type(op).__name__ == "Const" else None
    return value if isinstance(value, (bool, int, float)) else None


Way = Callable[[Site], "list[str] | None"]


def write_op(site: Site) -> list[str]:
    """The nodes of an op; the names of its results.

    Raises:
        UnsupportedError: ONNX cannot say it.
    """
    from .bodies import write_body
    from .choice import write_by_key
    from .rules import write_by_rule
    from .scalars import write_scalar

    dtypes = [*(x.dtype for x in site.inputs), *(y.dtype for y in site.outputs)]
    if any(map(is_complex, dtypes)):
        return write_complex(site)
    for dtype in dtypes:
        if not is_exported(dtype):
            raise UnsupportedError(f"ONNX has no ops for {dtype.name}")
    ways: Sequence[Way] = (write_by_rule, write_by_key, write_scalar, write_body)
    for way in ways:
        found = way(site)
        if found is not None:
            return found
    raise UnsupportedError("neither ONNX nor its declaration says what it is made of")

"""CompiledProgram: a program after passes, which are listed, switched off, timed and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeAlias
from zlib import compress, decompress

from .. import _C
from ..functional.arguments import integer
from ..imperative import Listing, engine
from ..imperative.trees import leaves_of, map_tree
from .numbers import number_in


@dataclass(frozen=True)
class PassReport:
    """What a pass did: how many places it changed, how long it took, the program around it."""

    name: str
    changes: int
    microseconds: float
    _before: bytes
    _after: bytes

    @property
    def before(self) -> str:
        """The program's text before it."""
        return decompress(self._before).decode()

    @property
    def after(self) -> str:
        """The program's text after it."""
        return decompress(self._after).decode()


class MemoryReport(NamedTuple):
    """Bytes of what a run makes: all results, those that share one piece of memory, this piece, and
    the least that it could be: what lives at the same time.
    """

    results: int
    planned: int
    shared: int
    least: int

    def __str__(self) -> str:
        """In a line."""
        return (
            f"{self.results} bytes of results; {self.planned} of them share {self.shared}, "
            f"of which {self.least} live at the same time"
        )


class Step(NamedTuple):
    """An op of a graph: the numbers of what it reads and makes, the user's line."""

    op: Any
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    line: str


class Graph:
    """A program under a pass that is written in Python.

    What nobody reads any more is dropped when the pass is over.
    """

    def __init__(self, program: Listing, results: Sequence[int]) -> None:
        """Made for each pass."""
        self.program = program
        self.changes = 0
        self._graph = _C.Graph(program, tuple(results))

    def steps(self) -> list[Step]:
        """The steps as they are now, in order."""
        return [Step(*step) for step in self._graph.steps()]

    def insert(self, place: int, op: Any, inputs: Sequence[int], line: str = "") -> tuple[int, ...]:
        """Adds an op before the step at a place; the numbers of what it makes."""
        numbers = tuple(integer("insert", "inputs", number) for number in inputs)
        return self._graph.insert(integer("insert", "place", place), op, numbers, line)

    def capture(self, value: Any) -> int:
        """A constant; its number.

        Args:
            value: a RawTensor.
        """
        return self._graph.capture(value)

    def replace(self, old: int, new: int) -> None:
        """Whoever reads the one variable reads the other from now on.

        Raises:
            ShapeError: it is of another shape or dtype.
        """
        self._graph.replace(old, new)
        self.changes += 1

    def finish(self) -> tuple[Listing, tuple[int, ...]]:
        """The new program, and the numbers of its results."""
        return self._finish(type(self.program))

    def _finish(self, kind: type[Listing]) -> tuple[Listing, tuple[int, ...]]:
        made = _empty_like(self.program, kind)
        return made, self._graph.finish(made)


PassFunction: TypeAlias = Callable[[Graph], None]


class CompiledProgram:
    """A program that runs as passes have made it; its results are the same.

    Args:
        program: a `Program`, or a `Listing`. It stays as it is. Arrays that it captured are taken
            as they are when it is optimised.
        passes: names of passes and functions of a `Graph`, in their order; None: all that there
            are, `list_passes`.
        opt_level: 0: no pass runs; 1: what changes nothing but the rounding of what a fused op
            computes; 2: identities of real numbers, too, which floats know in part: log(exp(x)) is
            x, even where exp(x) overflows.
        threads: how many large steps may run at once, where none needs what another one makes. A
            kernel shares the same threads out by itself, so more than 1 pays where several branches
            have kernels that don't. Results are the same, to the bit.
        scope: states that the program leaves alone are constants, with the values that they have
            there when it is optimised: of a program that only infers.

    Raises:
        ArgumentError: there is no such pass; when it is optimised, a pass has left no program that
            can run.
        ParameterError: the program or the scope is none, or `opt_level` or `threads` is out of
            range.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike.static import CompiledProgram
        >>> listing = tl.Listing()
        >>> x = listing.input("x", (2,))
        >>> y = x * tl.functional.sigmoid(x)
        >>> compiled = CompiledProgram(listing)
        >>> print(compiled.text(y))
        x: float32(2,)
        _2 = Elemwise(mode='silu')(x)  # float32(2,)
    """

    def __init__(
        self,
        program: Listing,
        passes: Iterable[str | PassFunction] | None = None,
        *,
        opt_level: int = 1,
        threads: int = 1,
        scope: _C.Scope | None = None,
    ) -> None:
        """Nothing runs before results are known."""
        if not isinstance(program, Listing):
            raise _C.ParameterError(
                "must be a Program or a Listing", op="CompiledProgram", argument="program",
                got=type(program).__name__,
            )  # fmt: skip
        self.program = program
        self.opt_level = integer("CompiledProgram", "opt_level", opt_level, least=0, most=2)
        self.threads = integer("CompiledProgram", "threads", threads, least=1, most=64)
        if not (scope is None or isinstance(scope, _C.Scope)):
            raise _C.ParameterError(
                "must be a Scope", op="CompiledProgram", argument="scope", got=type(scope).__name__
            )
        self.scope = scope
        known = [name for name, _, _ in list_passes()]
        is_list = isinstance(passes, Iterable) and not isinstance(passes, str)
        given: Any = known if passes is None else passes if is_list else (passes,)
        self._passes: tuple[str | PassFunction, ...] = tuple(given)
        is_wrong = passes is not None and not is_list
        for one in self._passes:
            if is_wrong or not (one in known if isinstance(one, str) else callable(one)):
                raise _C.ArgumentError(
                    f"must be a list of functions, and of names among {', '.join(known)}",
                    op="CompiledProgram", argument="passes", got=repr(one),
                )  # fmt: skip
        self._made: dict[
            tuple[int, ...], tuple[Listing, tuple[int, ...], tuple[PassReport, ...]]
        ] = {}
        self._version = 0  # of the program that these were made of
        self._reports: tuple[PassReport, ...] = ()

    @property
    def passes(self) -> tuple[str, ...]:
        """The names of the passes, in their order."""
        return tuple(_name_of(one) for one in self._passes)

    def without(self, *names: str) -> CompiledProgram:
        """The same program with some passes switched off.

        Raises:
            ArgumentError: a name is none of a pass.
        """
        for name in names:
            if name not in self.passes:
                raise _C.ArgumentError(
                    f"must be among {', '.join(self.passes)}",
                    op="without", argument="names", got=repr(name),
                )  # fmt: skip
        kept = [
            one for one, name in zip(self._passes, self.passes, strict=True) if name not in names
        ]
        return CompiledProgram(
            self.program, kept, opt_level=self.opt_level, threads=self.threads, scope=self.scope
        )

    def scheduling(self) -> AbstractContextManager[Any]:
        """The mode of the engine in which it runs."""
        if self.threads == 1:
            return nullcontext()
        return engine.mode("async", workers=self.threads)

    def optimised(self, asked: Sequence[Any]) -> tuple[Listing, list[int]]:
        """The program that gives these results, and their numbers in it.

        Args:
            asked: variables of the program, or their names.
        """
        program, numbers = self._compiled([self._number(x) for x in asked])
        return program, list(numbers)

    def run(self, results: Any, /, *inputs: Any) -> Any:
        """What `Listing.run` gives, by the optimised program."""
        leaves = list(leaves_of(results))
        program, numbers = self.optimised(leaves)
        with self.scheduling():
            found = iter(program.run([program.symbol(number) for number in numbers], *inputs))
        return map_tree(lambda _: next(found), results)

    def text(self, results: Any) -> str:
        """The optimised program, line by line."""
        return str(self.optimised(list(leaves_of(results)))[0])

    def report(self) -> tuple[PassReport, ...]:
        """What each pass did when the program was optimised last."""
        return self._reports

    def diff(self, name: str) -> str:
        """The lines that a pass took away and put in, when the program was optimised last.

        Raises:
            ArgumentError: it did not run.
        """
        for report in self._reports:
            if report.name == name:
                lines = unified_diff(
                    report.before.splitlines(), report.after.splitlines(),
                    "before", f"after {name}", lineterm="",
                )  # fmt: skip
                return "\n".join(lines)
        raise _C.ArgumentError(
            "must be a pass that ran", op="diff", argument="name", got=repr(name)
        )

    def memory(
        self, results: Any, /, *shapes: Sequence[int], donate_states: bool = False
    ) -> MemoryReport:
        """How the pass "arena" shares memory in a run for these results.

        Args:
            results: variables of the program, as `run` takes them.
            *shapes: those of the inputs.
            donate_states: whether states may be written over, as `Executor.run` has it.

        Raises:
            ArgumentError: there is not one shape for each input, or no such result.
            ParameterError: a shape is no tuple of sizes.
            ShapeError: an input cannot have such a shape, or the sizes of the program follow from
                elements.
        """
        given = []
        for shape in shapes:
            if not isinstance(shape, list | tuple):
                raise _C.ParameterError(
                    "must be tuples of sizes", op="memory", argument="shapes", got=repr(shape)
                )
            given.append(tuple(integer("memory", "shapes", size, least=0) for size in shape))
        program, numbers = self.optimised(list(leaves_of(results)))
        return MemoryReport(*_C.memory_plan(program, numbers, tuple(given), donate_states is True))

    def _number(self, x: Any) -> int:
        return number_in(self.program, x)

    def _compiled(self, numbers: Sequence[int]) -> tuple[Listing, tuple[int, ...]]:
        if self._version != self.program.version():  # the program has changed
            self._made.clear()
            self._version = self.program.version()
        key = tuple(numbers)
        if key not in self._made:
            self._made[key] = self._optimise(key)
        program, found, self._reports = self._made[key]
        return program, found

    def _frozen(self, scope: _C.Scope, numbers: tuple[int, ...]) -> tuple[Listing, tuple[int, ...]]:
        """The program with constants in the place of states that it leaves alone."""
        graph, changed = Graph(self.program, numbers), _C.assigned_states(self.program)
        for number, (name, role, _) in enumerate(self.program.variables()):
            value = scope.find(name) if role == "state" and number not in changed else None
            if value is not None:
                graph.replace(number, graph.capture(value))
        return graph.finish()

    def _optimise(
        self, numbers: tuple[int, ...]
    ) -> tuple[Listing, tuple[int, ...], tuple[PassReport, ...]]:
        program, reports = self.program, []
        if self.scope is not None:
            program, numbers = self._frozen(self.scope, numbers)
        # Steps that are there twice to save memory are not to be made one.
        spared = {"cse"} if getattr(program, "recomputed", ()) else set()
        # A static program and its blocks hold each other until the collector comes: what is thrown
        # away by the next pass is a plain one.
        kind = type(program)
        before = _packed(program)
        for one in self._passes:
            if one in spared:
                continue
            if isinstance(one, str):
                name, made = one, _empty_like(program, Listing)
                found, changes, nanoseconds = _C.run_pass(
                    one, program, numbers, self.opt_level, made
                )
                is_made = changes > 0
            else:
                name, begin = _name_of(one), perf_counter_ns()
                graph = Graph(program, numbers)
                one(graph)
                made, found = graph._finish(Listing)
                _verified(made, found, name)
                changes, nanoseconds = graph.changes, perf_counter_ns() - begin
                is_made = True
            after = before
            if is_made:
                program, numbers, after = made, found, _packed(made)
            reports.append(PassReport(name, changes, nanoseconds / 1000, before, after))
            before = after
        if type(program) is not kind:
            program, numbers = Graph(program, numbers)._finish(kind)
        _C.trim_heap()  # of the programs in between
        return program, numbers, tuple(reports)


def list_passes() -> list[tuple[str, str, int]]:
    """Name, purpose and least level of each pass that there is, in their order."""
    return _C.list_passes()


def _name_of(one: str | PassFunction) -> str:
    """That of a pass: of what has none, as an object that is called, its class's."""
    if isinstance(one, str):
        return one
    while isinstance(one, partial):
        one = one.func
    return str(getattr(one, "__name__", type(one).__name__))


def _verified(program: Listing, numbers: tuple[int, ...], name: str) -> None:
    """Raises where a pass of the user's has made no program.

    Raises:
        ArgumentError: it reads what is not made before, say.
    """
    try:
        _C.verify_program(program, numbers)
    except _C.TensorlikeError as error:
        raise _C.ArgumentError(
            f"the pass {name} must leave a program that can run", op="CompiledProgram",
            argument="passes", got=str(error),
        ) from error  # fmt: skip


def _packed(program: Listing) -> bytes:
    """Its text in a twelfth of the bytes: those of large programs have megabytes."""
    return compress(str(program).encode(), 1)


def _empty_like(program: Listing, kind: type[Listing]) -> Listing:
    made = kind()
    made.parts.update(program.parts)
    return made

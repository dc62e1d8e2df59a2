"""Copies of programs, step by step: what `clone`, `prune` and the transpilers stand on.

Each step's op is added to the new program again, so that everything is inferred there. Names,
states, the user's lines, unknown sizes, random draws and what is known of gradients go along; a
transpiler replaces inputs of steps, leaves steps out, and adds its own between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from .. import _C
from ..imperative import Tensor
from ..imperative.levels import stopped, unwrapped
from ..imperative.sizes import ARITHMETIC, Size
from .copied import Backward
from .program import Program

_NUMBERED = re.compile(r"_(\d+)")


class Copier:
    """Copies a program into a new one.

    Args:
        source: is left as it is.
        is_whole: whether all its inputs, states and constants are copied; else those that are read.
        sizes: numbers for unknown sizes, by name; they are known in the new program.

    Attributes:
        target: the new program.
        numbers: what later steps read in the place of a variable of the source; a transpiler may
            put another one there.
        results: what a variable of the source is in the new program, for who asks for its value.
        assigned: what states become, by the source's numbers; those that are not there become what
            they do in the source.
    """

    def __init__(
        self, source: Program, *, is_whole: bool = True, sizes: Mapping[str, int] | None = None
    ) -> None:
        """Copies nothing yet."""
        self.source = source
        self._given_sizes = sizes or {}
        self._is_whole = is_whole
        self._given = 0  # up to here inputs, states and constants are copied
        self.target = type(source)()
        self.numbers: dict[int, int] = {}
        self.results: dict[int, int] = {}
        self.assigned: dict[int, int] = {}
        self.steps = source.steps()
        self._variables = source.variables()
        self._sizes: dict[tuple[int, int], Any] = {}  # by the numbers that stand for one
        self._names = {_key(source.shape(at)[axis]): name for name, at, axis in source.sizes()}
        self._backward_of = {n: i for i, b in enumerate(source.backwards) for n in b.made}
        self._backward: dict[int, int] = {}  # of the new program's variables
        counts = [int(m[1]) for name, *_ in self._variables if (m := _NUMBERED.fullmatch(name))]
        _C.reserve_names(self.target, max(counts, default=0))

    def begin(self, at: int) -> None:
        """Copies the inputs, states and constants that come before a step."""
        self._copy_givens(self.steps[at][2][0])

    def _copy_givens(self, before: int) -> None:
        """Copies inputs, states and captured values where they stand among the results."""
        for number in range(self._given, before if self._is_whole else 0):
            if self._variables[number][1] != "result":
                self.number(number)
        self._given = max(self._given, before)

    def number(self, old: int) -> int:
        """What stands for a variable of the source; an input, a state, or a constant is copied."""
        if old not in self.numbers:
            name, role, value = self._variables[old]
            if role == "input":
                made = self.add_input(name, old)
            elif role == "state":
                shape, dtype = self.source.shape(old), self.source.dtype(old)
                made = _C.add_state(self.target, name, shape, dtype)
            elif role == "captured":
                made = self.target.capture(value, name)
            else:
                raise _C.ArgumentError(
                    "a step must come before those that read it", op="Copier", got=name
                )
            self.numbers[old] = self.results[old] = made
        return self.numbers[old]

    def add_input(self, name: str, like: int) -> int:
        """An input of the shape and dtype of a variable of the source."""
        shape = [self._dimension(size) for size in self.source.shape(like)]
        made = self.target.add_input(name, shape, self.source.dtype(like))
        self._note_sizes(like, made)
        return made

    def step(self, at: int, inputs: Sequence[int] | None = None) -> tuple[int, ...]:
        """Copies a step; its results are what later steps read.

        Args:
            at: its number in the source.
            inputs: variables of the new program; None: those that stand for the step's own.

        Returns:
            Its results in the new program.
        """
        self.begin(at)
        made = self.step_again(at, inputs)
        for old, new in zip(self.steps[at][2], made, strict=True):
            self.target.rename(new, self._variables[old][0])
            self.numbers[old] = self.results[old] = new
            if old in self._backward_of:
                self._backward[new] = self._backward_of[old]
        return made

    def step_again(self, at: int, inputs: Sequence[int] | None = None) -> tuple[int, ...]:
        """The results of a step once more: what stands for its own stays as it is."""
        op, read, outputs, line, sizes = self.steps[at]
        if sizes:
            params = {name: self._size(value) for name, value in sizes.items()}
            op = type(op)(**{**op.params(), **params})
        given = [self.number(x) for x in read] if inputs is None else inputs
        made = self.target.append(op, given, None, line)
        for old, new in zip(outputs, made, strict=True):
            self._note_sizes(old, new)
        return made

    @contextmanager
    def as_backward(self, like: int) -> Iterator[None]:
        """A block in which what is added counts as backward, as a variable of the source does."""
        before = _C.count_variables(self.target)
        yield
        part = self._backward_of.get(like)
        if part is not None:
            made = range(before, _C.count_variables(self.target))
            self._backward.update((n, part) for n in made)

    def value(self, number: int) -> Tensor:
        """A variable of the new program as a tensor: what is applied to it is added there."""
        return Tensor(self.target.symbol(number))

    def add_state(self, kind: str, value: Any, startup: Program) -> int:
        """A new state, called so if nothing else is, which begins with a value; its number."""
        programs = (self.source, self.target, startup)
        names = (kind if i == 0 else f"{kind}_{i}" for i in count())
        name = next(x for x in names if all(p.number_of(x) is None for p in programs))
        raw = stopped(unwrapped(Tensor(value)))
        return int(_C.keep_state(self.target, raw, name, startup))

    def assign(self, state: int, new: int) -> None:
        """Lets a state become another variable than the source's; who asks for that gets it too."""
        self.assigned[state] = new
        value = self.source.assigned()[state]
        if self._variables[value][1] == "result" and value not in self._backward_of:
            self.results[value] = new

    def finish(self, *, kept: Iterable[int] | None = None) -> Program:
        """The new program, with assignments, conditions on sizes, parts and gradients.

        Args:
            kept: states of the source that are still assigned; None: all.
        """
        source, target = self.source, self.target
        self._copy_givens(len(self._variables))
        states = source.assigned() if kept is None else {s: source.assigned()[s] for s in kept}
        for state, value in states.items():
            new = self.assigned.get(state, self.numbers.get(value, -1))
            _C.assign_state(target, self.number(state), self.number(value) if new < 0 else new)
        self._copy_guards()
        for name, part in source.parts.items():
            target.add_part(name, part)
        for number, tensor in source.tensors.items():
            if number in self.results:
                target.tensors[self.results[number]] = tensor
        target.starts = {n: x for n, x in source.starts.items() if target.number_of(n) is not None}
        for at, backward in enumerate(source.backwards):
            made = {n for n, part in self._backward.items() if part == at}
            if made and backward.loss in self.results:
                target.backwards.append(self._copied(backward, made))
        target.recomputed = {self.results[n] for n in source.recomputed if n in self.results}
        target.copied_from = (source, self.results)
        _C.copy_draws(source, target)
        return target

    def _copied(self, backward: Backward, made: set[int]) -> Backward:
        found = self.results
        gradients = {
            found[parameter]: found[gradient]
            for parameter, gradient in backward.gradients.items()
            if parameter in found and gradient in found
        }
        seed, scale = found.get(backward.seed, -1), found.get(backward.scale, -1)
        return Backward(found[backward.loss], seed, gradients, made, scale)

    def _copy_guards(self) -> None:
        ops = self.source.guard_ops()
        for (a, b, how, answer, place), op in zip(self.source.guards(), ops, strict=True):
            try:
                first, second = _first(self._size(a)), _first(self._size(b))
            except KeyError:  # a size of inputs that were left out
                continue
            self.target.require(first, second, how, answer, place, op)

    def _dimension(self, size: Any) -> Any:
        if not _is_size(size):
            return size
        name = self._names.get(_key(size))
        if name is not None and name in self._given_sizes:
            return self._given_sizes[name]
        return self._sizes.get(_key(size), name or None)

    def _note_sizes(self, old: int, new: int) -> None:
        shapes = zip(self.source.shape(old), self.target.shape(new), strict=False)
        for size, made in shapes:
            if _is_size(size):
                self._sizes.setdefault(_key(size), made)

    def _size(self, value: Any) -> Any:
        """An attribute that follows from unknown sizes, for those of the new program."""
        if not isinstance(value, tuple):
            return value
        kind, *parts = value
        if kind == "size":
            variable, axis = parts
            size: Any = self.source.shape(variable)[axis]
            return self._sizes[_key(size)] if _is_size(size) else size
        made = [self._size(part) for part in parts[0]]
        if kind == "tuple":
            return tuple(made)
        if kind == "float":
            (size,) = made
            if not _is_size(size):
                return float(size)
            return Size(size.first, size.second, self.target, is_float=True)
        return ARITHMETIC[kind](*made)


def copy(program: Program) -> Program:
    """The same program once more."""
    copier = Copier(program)
    for at in range(len(copier.steps)):
        copier.step(at)
    return copier.finish()


def pruned(program: Program, targets: Sequence[int], kept: Mapping[int, int]) -> Program:
    """What is needed for some variables, and for the states that are still assigned."""
    copier = Copier(program, is_whole=False)
    needed = ancestors(program, [*targets, *kept.values()])
    wanted = {*targets, *kept, *kept.values()}
    for at in sorted(needed):
        wanted.update(read_by(copier.steps[at]))
    for number, (_, role, _) in enumerate(program.variables()):
        if number in wanted and role != "result":
            copier.number(number)
    for at in sorted(needed):
        copier.step(at)
    return copier.finish(kept=kept)


def without_unread(program: Program, candidates: set[int]) -> Program:
    """The program that copying made, without steps whose results are among these, and unread.

    A result that nobody reads in the program that was copied stays.
    """
    source, numbers = program.copied_from or (program, {})
    read = {n for step in source.steps() for n in read_by(step)}
    unasked = candidates & {new for old, new in numbers.items() if old in read}
    needed = {n for b in program.backwards for n in b.gradients.values()}
    needed.update(program.assigned().values())
    copier, kept = Copier(program), []
    for at in reversed(range(len(copier.steps))):
        outputs = copier.steps[at][2]
        if needed.intersection(outputs) or not unasked.issuperset(outputs):
            kept.append(at)
            needed.update(read_by(copier.steps[at]))
    for at in reversed(kept):
        copier.step(at)
    made = copier.finish()
    found = copier.results
    made.copied_from = (source, {old: found[new] for old, new in numbers.items() if new in found})
    return made


def read_by(step: Any) -> Iterator[int]:
    """The variables that a step reads, those of its unknown sizes included."""
    yield from step[1]
    yield from (number for number, _ in _dimensions(step[4]))


def _dimensions(sizes: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """The dimensions of variables of which attributes are made."""
    stack = list(sizes.values())
    while stack:
        value = stack.pop()
        if not isinstance(value, tuple):
            continue
        if value[0] == "size":
            yield value[1], value[2]
        else:
            stack.extend(value[1])


class SizesOf:
    """Which variables a part of a program must have for the sizes in its steps' attributes.

    Args:
        program: of which it is a part.
        given: the variables that the part begins with.
    """

    def __init__(self, program: Program, given: Iterable[int]) -> None:
        """Notes the sizes of what is given."""
        self._program = program
        self._steps = program.steps()
        self._inputs = [n for n, x in enumerate(program.variables()) if x[1] == "input"]
        self._known: set[tuple[int, int]] = set()
        self._note(given)

    def missing(self, at: int, first: Sequence[int]) -> list[int]:
        """Of what an attribute of the next step is made: inputs where they have the size.

        Args:
            at: the step.
            first: inputs that are looked at before others.
        """
        step = self._steps[at]
        inputs = sorted(self._inputs, key=lambda n: n not in first)
        found = []
        for number, axis in _dimensions(step[4]):
            size = self._program.shape(number)[axis]
            if not _is_size(size) or _key(size) in self._known:
                continue
            found.append(next((n for n in inputs if _key(size) in self._keys(n)), number))
            self._note(found)
        self._note(step[2])
        return found

    def _note(self, numbers: Iterable[int]) -> None:
        self._known.update(key for n in numbers for key in self._keys(n))

    def _keys(self, number: int) -> list[tuple[int, int]]:
        return [_key(size) for size in self._program.shape(number) if _is_size(size)]


def ancestors(program: Program, variables: Iterable[int]) -> set[int]:
    """The steps, by number, on which variables depend."""
    steps = program.steps()
    needed, found = set(variables), set()
    for at in reversed(range(len(steps))):
        if needed.intersection(steps[at][2]):
            found.add(at)
            needed.update(read_by(steps[at]))
    return found


def descendants(program: Program, variables: Iterable[int]) -> set[int]:
    """The variables that depend on some, and these."""
    found = set(variables)
    for _, inputs, outputs, _, _ in program.steps():
        if found.intersection(inputs):
            found.update(outputs)
    return found


def number_of(x: Any) -> int:
    """The number of the variable under a tensor."""
    value = stopped(unwrapped(x)) if isinstance(x, _C.TensorBase) else x
    return int(value.number)


def _key(size: Any) -> tuple[int, int]:
    # By the numbers: a comparison of sizes would be remembered as a condition.
    return size.first, size.second


def _is_size(x: Any) -> bool:
    return isinstance(x, Size)


def _first(size: Any) -> Any:
    return size.first if _is_size(size) else size

"""The programs of one function for calls of one signature, by the shapes of the tensors.

The first shapes get a program of their own. When others come, what differs between them becomes
unknown, and one program serves all; where it cannot, each gets its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .recorded_program import RecordedProgram
from .state import State

# So many kinds of calls are known for each program that is kept.
_KINDS_PER_PROGRAM = 4

Shapes = tuple[tuple[int, ...], ...]
Pattern = tuple[tuple[Any, ...], ...]


class Programs:
    """Programs of one signature.

    Attributes:
        by_shapes: those that were recorded for shapes alone.
        by_pattern: those for shapes with unknown sizes, which have names.
        fixed: shapes that no program with unknown sizes serves.
        changes: how often each line was the reason to record again.
        eager_because: why calls of this signature run at once; None: they don't.
        state: names whose values are given with the arguments.
    """

    def __init__(self, state: State | None = None) -> None:
        self.state = State() if state is None else state
        self.by_shapes: dict[Shapes, list[RecordedProgram]] = {}
        self.by_pattern: dict[Pattern, list[RecordedProgram]] = {}
        self.fixed: set[Shapes] = set()
        self.changes: dict[str, int] = {}
        self.eager_because: str | None = None
        self._seen: list[Shapes] = []

    def repeats(self, reason: str) -> int:
        """Counts one more time that a function was recorded again for a reason."""
        self.changes[reason] = self.changes.get(reason, 0) + 1
        return self.changes[reason]

    def all(self) -> list[RecordedProgram]:
        """All programs."""
        lists = [*self.by_shapes.values(), *self.by_pattern.values()]
        return [program for programs in lists for program in programs]

    def forget(self, program: RecordedProgram) -> None:
        """Drops one."""
        for group in (self.by_shapes, self.by_pattern):
            programs: dict[Any, list[RecordedProgram]] = group
            for key in list(programs):
                programs[key] = [one for one in programs[key] if one is not program]
                if not programs[key]:
                    del programs[key]

    def for_shapes(
        self, shapes: Shapes, asked: Pattern | None = None
    ) -> tuple[list[RecordedProgram], Pattern | None]:
        """The programs that may serve a call; the pattern that one is to be recorded for.

        The pattern is None where sizes are to be known.

        Args:
            shapes: of the call's tensors.
            asked: the pattern that the user has named; None: what calls so far have in common.
        """
        if shapes in self.by_shapes:
            return self.by_shapes[shapes], None
        for pattern, programs in self.by_pattern.items():
            fitting = [one for one in programs if fits(pattern, shapes) and one.takes(shapes)]
            if fitting:
                return fitting, pattern
        if shapes not in self._seen:
            self._seen.append(shapes)
        is_open = asked is not None or len(self._seen) > 1
        return [], (
            asked or pattern_of(self._seen)
        ) if is_open and shapes not in self.fixed else None


class KindOfCall(NamedTuple):
    """What a call is of, and the programs for it.

    Attributes:
        given: its arguments.
        kept: what the function's own state is.
        tensors: those among both.
        arguments: how many of these are among the arguments.
        shapes: of all of them.
        programs: for calls of the same signature.
    """

    given: tuple[tuple[Any, ...], dict[str, Any]]
    kept: Sequence[Any]
    tensors: Sequence[Any]
    arguments: int
    shapes: Shapes
    programs: Programs


def fits(pattern: Pattern, shapes: Shapes) -> bool:
    """Whether shapes are of a pattern: sizes of one name are equal."""
    named: dict[str, int] = {}
    for sizes, shape in zip(pattern, shapes, strict=True):
        if len(sizes) != len(shape):
            return False
        for size, got in zip(sizes, shape, strict=True):
            if size is None:
                continue
            if (named.setdefault(size, got) if isinstance(size, str) else size) != got:
                return False
    return True


def pattern_of(seen: list[Shapes]) -> Pattern | None:
    """What all shapes have in common: sizes that differ have names, equal ones the same name.

    None: a tensor has another number of dimensions.
    """
    names: dict[tuple[int, ...], str] = {}
    made = []
    for versions in zip(*seen, strict=True):
        if len({len(shape) for shape in versions}) != 1:
            return None
        sizes: list[Any] = []
        for dims in zip(*versions, strict=True):
            if len(set(dims)) == 1:
                sizes.append(dims[0])
            else:
                sizes.append(names.setdefault(dims, f"size_{len(names)}"))
        made.append(tuple(sizes))
    return tuple(made)


class ProgramCache(dict[Any, Programs]):
    """The programs of a function, by signatures.

    Attributes:
        size: how many programs are kept.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def group(self, key: Any, state: State | None = None) -> Programs:
        """The programs of a signature.

        A signature holds on to arguments; those whose programs are gone are dropped now and then.
        """
        if key not in self:
            if len(self) >= _KINDS_PER_PROGRAM * self.size:
                for old in [old for old, group in list(self.items()) if not group.all()]:
                    self.pop(old, None)
            self[key] = Programs(state)
        return self[key]

    def programs(self) -> list[RecordedProgram]:
        """All programs, in the order of their making."""
        found = [program for group in self.values() for program in group.all()]
        return sorted(found, key=lambda program: program.order)

    def forget_oldest(self) -> bool:
        """Drops the first of all programs, if there are more than are kept; whether it did."""
        programs = self.programs()
        dropped = programs[: max(0, len(programs) - self.size)]
        for program in dropped:
            for group in self.values():
                group.forget(program)
        return bool(dropped)

    def eager_reasons(self) -> list[str]:
        """Why some calls run at once."""
        reasons = [group.eager_because for group in self.values()]
        return [reason for reason in reasons if reason is not None]


def explained(programs: Sequence[RecordedProgram], reasons: Sequence[str]) -> str:
    """Why programs were made, and what they depend on; why other calls run at once."""
    lines = []
    for index, program in enumerate(programs):
        lines.append(f"program {index} of {len(program.compiled.applied())} ops: {program.cause}")
        lines += [f"  {guard!r}" for guard in program.guards.guards if guard.is_value()]
        lines += [f"  {read}" for read in program.reads]
    return "\n".join([*lines, *(f"calls run at once: {reason}" for reason in reasons)])

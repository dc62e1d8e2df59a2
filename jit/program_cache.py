"""The programs of one function for calls of one signature, by the shapes of the tensors.

The first shapes get a program of their own. When others come, what differs between them becomes
unknown, and one program serves all; where it cannot, each gets its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .recorded_program import RecordedProgram

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
    """

    def __init__(self) -> None:
        self.by_shapes: dict[Shapes, list[RecordedProgram]] = {}
        self.by_pattern: dict[Pattern, list[RecordedProgram]] = {}
        self.fixed: set[Shapes] = set()
        self.changes: dict[str, int] = {}
        self.eager_because: str | None = None
        self._seen: list[Shapes] = []

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


def forget_oldest(
    programs: Sequence[RecordedProgram], groups: Iterable[Programs], most: int
) -> bool:
    """Drops the first of all programs, if there are more than may be kept; whether it did."""
    dropped = programs[: max(0, len(programs) - most)]
    for group in groups:
        for program in dropped:
            group.forget(program)
    return bool(dropped)


def with_room(groups: dict[Any, Programs], most: int) -> dict[Any, Programs]:
    """Programs by signatures, in which there is room for one more.

    A signature holds on to arguments; those whose programs are gone are dropped now and then.
    """
    if len(groups) >= _KINDS_PER_PROGRAM * most:
        for key in [key for key, group in list(groups.items()) if not group.all()]:
            groups.pop(key, None)
    return groups


def explained(programs: Sequence[RecordedProgram], reasons: Sequence[str]) -> str:
    """Why programs were made, and what they depend on; why other calls run at once."""
    lines = []
    for index, program in enumerate(programs):
        lines.append(f"program {index} of {len(program.compiled.applied())} ops: {program.cause}")
        lines += [f"  {guard!r}" for guard in program.guards.guards if guard.is_value()]
        lines += [f"  {read}" for read in program.reads]
    return "\n".join([*lines, *(f"calls run at once: {reason}" for reason in reasons)])

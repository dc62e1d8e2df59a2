"""A branch that depends on a tensor: both ways are recorded, and what they leave is joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import _C
from ...imperative import Tensor
from ...imperative.blocks import Block, closed, key_of
from ...imperative.control_flow import Cond
from ...imperative.levels import unwrapped
from ...imperative.sub_programs import Call
from ...ops import Fill
from ..failing_step import run_located
from .aliases import may_be
from .kinds import (
    common_dtype,
    described,
    is_alike,
    line_of,
    number_in,
    quoted,
    shape_of,
)
from .program_effects import COUNT, list_failure
from .python_numbers import is_of_python, note_number
from .refusal import refusal
from .regions import Region, innermost
from .slots import (
    UNBOUND,
    Attribute,
    Content,
    Global,
    Leaf,
    Node,
    Other,
    Shared,
    Slot,
    Variable,
    cells_of,
    is_same,
    snapshot,
)

_Body = Callable[[], Any]


class Site(NamedTuple):
    """Where a branch or loop stands.

    Attributes:
        filename: the user's file.
        line: its line.
        function: the name of the user's function.
        lost: what is told of variables that have no value behind it, by their names.
    """

    filename: str
    line: int
    function: str
    lost: dict[str, str]


class Way(NamedTuple):
    """One of the two ways: the function, its region, and what the slots hold at its end."""

    body: _Body | None
    region: Region
    ends: dict[Any, Any]


def branch(
    test: Any, first: _Body | None, second: _Body | None, slots: Sequence[Slot],
    site: Site, hidden: Sequence[Slot] = (),
) -> None:  # fmt: skip
    """Records both functions, and applies the op that takes one of them.

    Args:
        test: a boolean of a program.
        first: what is called where it holds.
        second: what is called where it does not.
        slots: variables that the functions set.
        site: where it stands.
        hidden: variables that they set, and that nobody reads afterwards.

    Raises:
        ConversionError: the ways leave what cannot be joined.
    """
    regions = []
    for body in (first, second):
        region = Region(slots, hidden)
        region.record(body or _nothing)
        if region.error is not None:
            list_failure(region)
        regions.append(region)
    every = {key: slot for region in regions for key, slot in region.slots.items()}
    ways = [
        Way(body, region, {key: _end(region, slot) for key, slot in every.items()})
        for body, region in zip((first, second), regions, strict=True)
    ]
    union = _Union(ways[0], ways[1], site)
    plans = {key: union.joined(slot) for key, slot in every.items()}
    results = union.applied(test)
    for key, slot in every.items():
        put(slot, _filled(plans[key], results))


def put(slot: Slot, value: Any) -> None:
    """Sets a slot, which a region around may have to undo."""
    around = innermost()
    if around is not None and isinstance(slot, (Attribute, Content, Global, Shared)):
        around.note(slot)
    slot.set(value)


def _nothing() -> None:
    """A way that is not written."""


def _end(region: Region, slot: Slot) -> Any:
    """What a slot holds at the end of a way; one that it left alone holds what it did before."""
    found = region.ends.get(slot.key)
    return snapshot(slot.get()) if found is None else found


class _Output(NamedTuple):
    """Stands for a result of the op."""

    place: int
    others: tuple[Any, ...] = ()  # the Tensors of which it is one
    is_number: bool = False  # of Python's


class _Filling(NamedTuple):
    """A container that results go into."""

    node: Node
    parts: list[Any]


def _filled(plan: Any, results: Sequence[Any]) -> Any:
    if isinstance(plan, _Output):
        found = results[plan.place]
        may_be(found, plan.others)
        return note_number(found) if plan.is_number else found
    if isinstance(plan, _Filling):
        return plan.node.filled([_filled(part, results) for part in plan.parts])
    return plan


class _Union:
    """What two ways leave, as results of one op."""

    def __init__(self, first: Way, second: Way, site: Site) -> None:
        self.ways = (first, second)
        self.site = site
        self.numbers: tuple[list[int], list[int]] = ([], [])

    def joined(self, slot: Slot) -> Any:
        """What a slot holds behind the branch, with marks for results."""
        a, b = (way.ends[slot.key] for way in self.ways)
        failed = [way.region.error is not None for way in self.ways]
        if all(failed):
            return slot.get()
        if failed[0] or failed[1]:  # nothing reads what that way leaves, but the effects
            if slot.key == id(COUNT):
                return self._joined(slot, a, b)
            return self._alone(b if failed[0] else a, 1 if failed[0] else 0)
        return self._joined(slot, a, b)

    def _joined(self, slot: Slot, a: Any, b: Any) -> Any:
        if isinstance(a, Leaf) and isinstance(b, Leaf):
            if is_same(a.original, b.original) or _is_one(a, b):
                return a.original
            return self._result(slot, a, b)
        if a.original is b.original:
            return a.original
        if UNBOUND in (a.original, b.original):
            if slot.is_guarded:
                return self._alone(*((b, 1) if a.original is UNBOUND else (a, 0)))
            self._lose(slot)
            return UNBOUND
        if isinstance(a, Node) and a.like(b):
            pairs = zip(a.children, b.children, strict=True)
            return _Filling(a, [self._joined(slot, x, y) for x, y in pairs])
        if isinstance(a, Other) and isinstance(b, Other) and is_same(a.original, b.original):
            return a.original
        raise self._difference(slot, a, b, "must be the same after both branches")

    def _result(self, slot: Slot, a: Leaf, b: Leaf) -> _Output:
        dtype = common_dtype(a, b)
        if dtype is None or not is_alike(shape_of(a), shape_of(b)):
            must = "must have the same shape and dtype after both branches"
            raise self._difference(slot, a, b, must)
        for numbers, way, leaf in zip(self.numbers, self.ways, (a, b), strict=True):
            numbers.append(number_in(way.region.block, leaf, dtype))
        others = a.original, b.original
        return _Output(len(self.numbers[0]) - 1, others, all(map(is_of_python, others)))

    def _alone(self, found: Any, which: int) -> Any:
        """What one way leaves, where nothing reads it after the other one."""
        if isinstance(found, Node):
            return _Filling(found, [self._alone(child, which) for child in found.children])
        if not isinstance(found, Leaf) or not found.is_tensor:
            return found.original
        own, other = self.ways[which].region.block, self.ways[1 - which].region.block
        zeros = zeros_outside(own, found)
        self.numbers[which].append(own.take(found.value).number)
        self.numbers[1 - which].append(other.take(zeros).number)
        return _Output(len(self.numbers[0]) - 1, is_number=is_of_python(found.original))

    def _lose(self, slot: Slot) -> None:
        lines = [line_of(way.body, slot.name, 0) for way in self.ways]
        where = " and ".join(quoted(self.site.filename, line) for line in lines if line)
        self.site.lost[slot.name] = (
            f"it is assigned only in one branch of {quoted(self.site.filename, self.site.line)}, "
            f"which depends on a tensor; see {where}"
        )

    def _difference(self, slot: Slot, a: Any, b: Any, must: str) -> Exception:
        lines = [line_of(way.body, slot.name, self.site.line) for way in self.ways]
        places = [quoted(self.site.filename, line) for line in lines]
        name = called(slot, [way.body for way in self.ways])
        return refusal(
            f"{name} {must} of a condition on tensors", self.site.filename, self.site.line,
            "give both the same, or decide by what is no tensor",
            got=f"{described(a)} by {places[0]} and {described(b)} by {places[1]}",
        )  # fmt: skip

    def applied(self, test: Any) -> list[Any]:
        """The results of the op, as Tensors."""
        parts = [
            (way.region.block, (), numbers)
            for way, numbers in zip(self.ways, self.numbers, strict=True)
        ]
        calls, outer = closed(parts)
        if not self.numbers[0]:
            return []
        refuse_draws(calls, self.site)
        return list(
            map(Tensor, run_located(Cond(*calls), [unwrapped(test), *outer], self.site.function))
        )


def called(slot: Slot, bodies: Sequence[Any]) -> str:
    """What the user calls a slot: of a container the variable that holds it."""
    if isinstance(slot, Content):
        for body in bodies:
            for name, cell in cells_of(body).items():
                if Variable(name, cell).get() is slot.owner:
                    return name
    return "the returned value" if slot.name == "_jit_value" else slot.name


def _is_one(a: Leaf, b: Leaf) -> bool:
    """Whether two are one variable of the program around."""
    return (
        a.is_tensor
        and b.is_tensor
        and key_of(a.value) == key_of(b.value)
        and (not isinstance(a.original, _C.TensorWrapper))
    )


def zeros_outside(block: Block, leaf: Leaf) -> Any:
    """Zeros like what a block makes, in the program around."""
    shape = tuple(block.outer_size(size) for size in leaf.value.shape)
    return unwrapped(Tensor(Fill(shape=shape, fill_value=0, dtype=leaf.value.dtype)()[0]))


def refuse_draws(calls: Sequence[Call], site: Site) -> None:
    """Raises if a part draws random numbers, which would be others in its gradient."""
    if any(call.draws for call in calls):
        raise refusal(
            "random numbers must not be drawn where a tensor decides", site.filename, site.line,
            "draw them before the branch or loop",
        )  # fmt: skip

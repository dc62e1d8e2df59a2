"""Loops that tensors decide about: a step is recorded, and what it changes is carried along.

What a step changes is found by recording it: first with everything as it is, then with carries for
what has changed, until nothing else does. What a step leaves alone stays Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...imperative import Tensor
from ...imperative.blocks import Block, closed, key_of
from ...imperative.levels import unwrapped
from ...imperative.loops import ScanLoop, WhileLoop
from ..failing_step import run_located
from .aliases import may_be
from .branches import Site, called, put, refuse_draws, zeros_outside
from .kinds import (
    common_dtype,
    described,
    dtype_of,
    is_alike,
    line_of,
    number_in,
    quoted,
    shape_of,
    value_of,
)
from .program_effects import list_failure
from .python_numbers import is_of_python, note_number
from .refusal import refusal
from .regions import Region
from .slots import (
    UNBOUND,
    Attribute,
    Binding,
    Content,
    Leaf,
    Node,
    Slot,
    is_same,
    leaves_of,
    refilled,
    snapshot,
)

_MOST_ROUNDS = 50
_SHARED = (Binding, Content, Attribute)  # which may be known by several names


class Carry:
    """What is carried of one slot: some of the tensors and numbers that it holds.

    Attributes:
        slot: it.
        start: a snapshot of what it holds before the loop.
        dtypes: of those that are carried, by their places among the leaves.
    """

    def __init__(self, slot: Slot, start: Any) -> None:
        self.slot = slot
        self.start = start
        self.dtypes: dict[int, Any] = {}
        self.entered: dict[int, Any] = {}  # the inputs of the step's block, by the same places
        self.aliases: list[Any] = []  # Tensors that a step leaves
        self.numbers: set[int] = set()  # which are numbers of Python's

    def enter(self, block: Block, given: list[Any]) -> None:
        """Puts inputs of a block in the place of what is carried."""
        if not self.dtypes:
            return
        leaves: list[Any] = []
        for index, leaf in enumerate(leaves_of(self.start)):
            if index not in self.dtypes:
                leaves.append(leaf.original)
                continue
            value = value_of(leaf, self.dtypes[index])
            symbol = block.input(
                f"carry_{len(given)}", [block.size_name(size) for size in value.shape],
                self.dtypes[index],
            )  # fmt: skip
            given.append(symbol)
            self.entered[index] = symbol
            carried = Tensor(symbol)
            leaves.append(note_number(carried) if is_of_python(leaf.original) else carried)
        put(self.slot, refilled(self.start, iter(leaves)))

    def note_numbers(self, ends: Sequence[Leaf]) -> None:
        """Finds what is a number of Python's before the loop, and at the end of a step."""
        pairs = list(zip(leaves_of(self.start), ends, strict=False))
        self.numbers = {
            index
            for index in self.dtypes
            if index < len(pairs) and all(is_of_python(leaf.original) for leaf in pairs[index])
        }

    def starts(self) -> list[Any]:
        """The values before the first step."""
        leaves = leaves_of(self.start)
        return [value_of(leaves[i], dtype) for i, dtype in sorted(self.dtypes.items())]

    def leave(self, results: Any) -> None:
        """Puts results of the loop in the place of what was carried."""
        if self.dtypes:
            leaves = []
            for index, leaf in enumerate(leaves_of(self.start)):
                leaves.append(next(results) if index in self.dtypes else leaf.original)
                if index in self.dtypes:
                    may_be(leaves[-1], [leaf.original, *self.aliases])
                if index in self.numbers:
                    note_number(leaves[-1])
            put(self.slot, refilled(self.start, iter(leaves)))


class StagedLoop:
    """A loop of a program.

    Args:
        step: the body, called with what stands for an item; a `while` loop has none.
        slots: variables that it sets.
        site: where it stands.
        rows: tensors that the loop goes along.
        item: from a row of each to the item.
        body: the user's code of the step.
        hidden: variables that it sets, and that neither the next step nor anybody else reads.
    """

    def __init__(
        self, step: Callable[..., Any], slots: Sequence[Slot], site: Site, *,
        rows: Sequence[Any] = (), item: Callable[..., Any] | None = None, body: Any = None,
        hidden: Sequence[Slot] = (),
    ) -> None:  # fmt: skip
        self.step = step
        self.slots = slots
        self.site = site
        self.rows = [unwrapped(x) for x in rows]
        self.item = item
        self.body = step if body is None else body
        self.hidden = hidden
        self.carries: dict[Any, Carry] = {}
        self.lost: dict[Any, Slot] = {}

    def find(self) -> Region:
        """Records the step until what it changes is known; its last recording."""
        for _ in range(_MOST_ROUNDS):
            region = self._recorded()
            if not self._has_grown(region):
                self._refuse_aliases(region)
                return region
        raise self._refused("must come to change the same things in each step", "the loop", {})

    def _recorded(self) -> Region:
        region = Region(self.slots, self.hidden)
        given: list[Any] = []

        def body() -> None:
            for carry in self.carries.values():
                carry.enter(region.block, given)
            rows = [region.block.like(x, f"row_{i}", x.shape[1:]) for i, x in enumerate(self.rows)]
            given.extend(rows)
            if self.item is None:
                self.step()
            else:
                self.step(self.item(*map(Tensor, rows)))

        for carry in self.carries.values():
            region.slots.setdefault(carry.slot.key, carry.slot)
        region.record(body)
        if region.error is not None:
            list_failure(region)
        region.given = given
        return region

    def _has_grown(self, region: Region) -> bool:
        """Whether a step changes something that is not carried yet."""
        grown = False
        for key, slot in region.slots.items():
            end = region.ends[key]
            if key not in self.carries:
                self.carries[key] = Carry(slot, snapshot(slot.get()))
            carry = self.carries[key]
            if region.error is not None and not leaves_of(end):
                continue
            if carry.start.original is UNBOUND and end.original is not UNBOUND:
                grown |= self._begin(region, carry, end)
                continue
            grown |= self._compare(carry, carry.start, end, [0])
        return grown

    def _begin(self, region: Region, carry: Carry, end: Any) -> bool:
        """A variable that has no value before the loop."""
        if not carry.slot.is_guarded:
            self.lost[carry.slot.key] = carry.slot
            return False
        carry.start = snapshot(_like(region.block, end))
        return True

    def _compare(self, carry: Carry, start: Any, end: Any, index: list[int]) -> bool:
        if isinstance(start, Leaf):
            return self._compare_leaf(carry, start, end, index)
        if isinstance(start, Node):
            if end.original is start.original:
                index[0] += len(leaves_of(start))
                return False
            if start.like(end):
                pairs = zip(start.children, end.children, strict=True)
                return any([self._compare(carry, a, b, index) for a, b in pairs])
        elif is_same(start.original, end.original):
            return False
        if end.original is UNBOUND:
            self.lost[carry.slot.key] = carry.slot
            return False
        raise self._different(carry.slot, start, end)

    def _compare_leaf(self, carry: Carry, start: Leaf, end: Any, index: list[int]) -> bool:
        place = index[0]
        index[0] += 1
        if end.original is UNBOUND:
            self.lost[carry.slot.key] = carry.slot
            return False
        if not isinstance(end, Leaf):
            raise self._different(carry.slot, start, end)
        known = carry.dtypes.get(place)
        if known is None:
            is_one = isinstance(carry.slot, Binding) and key_of(start.value) == key_of(end.value)
            if is_one or is_same(start.original, end.original):
                return False
        dtype = common_dtype(start, end) if known is None else known
        if not start.is_tensor and end.is_tensor:
            dtype = common_dtype(start, end)
        if known is not None and start.is_tensor and dtype_of(end) is not known:
            dtype = common_dtype(start, end)
        if dtype is None or not is_alike(shape_of(start), shape_of(end)):
            raise self._different(carry.slot, start, end)
        carry.dtypes[place] = dtype
        return dtype is not known

    def _different(self, slot: Slot, start: Any, end: Any) -> Exception:
        line = line_of(self.body, slot.name, self.site.line)
        return self._refused(
            "must keep its shape and dtype in a loop that depends on tensors",
            called(slot, [self.body]),
            {"got": f"{described(start)} before the loop and {described(end)} after a step, by "
                    f"{quoted(self.site.filename, line)}"},
        )  # fmt: skip

    def _refused(self, must: str, name: str, fields: dict[str, Any]) -> Exception:
        return refusal(
            f"{name} {must}", self.site.filename, self.site.line,
            "give it that shape and dtype before the loop", **fields,
        )  # fmt: skip

    def _refuse_aliases(self, region: Region) -> None:
        """Raises if a step changed, under another name, what a later one leaves alone."""
        for key, carry in self.carries.items():
            if key not in region.ends:
                continue
            leaves = leaves_of(region.ends[key])
            carry.aliases = [leaf.original for leaf in leaves]
            carry.note_numbers(leaves)
            for index in carry.dtypes if isinstance(carry.slot, _SHARED) else ():
                leaf = leaves[index]
                if leaf.is_tensor and key_of(leaf.value) == key_of(carry.entered[index]):
                    raise self._refused(
                        "must have one name in a loop that depends on tensors: only the first step "
                        "changes it", called(carry.slot, [self.body]), {},
                    )  # fmt: skip

    def numbers(self, region: Region) -> list[int]:
        """The variables of the step's block that the carries become."""
        found: list[int] = []
        for key, carry in self.carries.items():
            leaves = leaves_of(region.ends[key]) if key in region.ends else []
            for index, dtype in sorted(carry.dtypes.items()):
                found.append(number_in(region.block, leaves[index], dtype))
        return found

    def starts(self) -> list[Any]:
        """The values of the carries before the loop."""
        return [value for carry in self.carries.values() for value in carry.starts()]

    def leave(self, results: Sequence[Any]) -> None:
        """What slots hold after the loop."""
        rest = iter(map(Tensor, results))
        for carry in self.carries.values():
            carry.leave(rest)
        for slot in self.lost.values():
            line = line_of(self.body, slot.name, self.site.line)
            self.site.lost[slot.name] = (
                "it is assigned only inside of a loop that depends on a tensor, and may take no "
                f"step; see {quoted(self.site.filename, line)}"
            )
            put(slot, UNBOUND)


def run_while(loop: StagedLoop, test: Callable[[], Any]) -> None:
    """A loop that goes on as long as a test, which is recorded too, holds."""
    step = loop.find()
    predicate = Region(loop.slots, loop.hidden)
    given: list[Any] = []
    found: list[Any] = []

    def ask() -> None:
        for carry in loop.carries.values():
            carry.enter(predicate.block, given)
        found.append(unwrapped(test()))

    for carry in loop.carries.values():
        predicate.slots.setdefault(carry.slot.key, carry.slot)
    predicate.record(ask)
    number = predicate.block.take(found[0]).number
    parts = [
        (predicate.block, given, [number]),
        (step.block, step.given, loop.numbers(step)),
    ]
    starts = loop.starts()
    calls, outer = closed(parts)
    refuse_draws(calls, loop.site)
    op = WhileLoop(calls[0], calls[1])
    loop.leave(run_located(op, [*starts, *outer], loop.site.function))


def run_rows(loop: StagedLoop) -> None:
    """A loop over the rows of tensors."""
    step = loop.find()
    numbers = loop.numbers(step)
    starts = loop.starts()
    (call,), outer = closed([(step.block, step.given, numbers)])
    refuse_draws([call], loop.site)
    if numbers:
        op = ScanLoop(call, len(numbers), len(loop.rows))
        loop.leave(run_located(op, [*starts, *loop.rows, *outer], loop.site.function))
    else:
        loop.leave(())


def _like(block: Block, end: Any) -> Any:
    """A value of the form of what a step leaves, which nothing reads before it is assigned."""
    if isinstance(end, Node):
        return end.filled([_like(block, child) for child in end.children])
    if isinstance(end, Leaf) and end.is_tensor:
        return Tensor(zeros_outside(block, end))
    return end.original

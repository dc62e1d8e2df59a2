"""Regions: a body that is recorded in a block, and leaves Python as it was.

Everything that a body changes is noted before: variables, attributes, what containers hold, what
Tensors are bound to. After the recording it is put back, and the region knows what it had become.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ... import _C
from ...imperative import apply
from ...imperative.blocks import Block
from ...imperative.levels import layers
from ...imperative.ongoing import Ongoing
from ...imperative.taking import applied_in_block, recorded_blocks
from ...ops import OpBase
from ..recorded_tensor import RecordedTensor
from ..recording import Recording, current_recording
from .slots import Attribute, Binding, Content, Slot, parts_of, snapshot
from .swallowed import note

_DEEPEST = 30


class Failure(BaseException):
    """A body has come to a `raise`, which happens when the program runs.

    Attributes:
        error: what is raised.
        place: where.
    """

    def __init__(self, error: BaseException, place: Any) -> None:
        super().__init__()
        self.error = error
        self.place = place


class Region:
    """A body, recorded in a block.

    Attributes:
        block: its program.
        slots: what it may change, by their keys.
        ends: snapshots of what they hold at its end.
        error: what it raises instead of coming to its end; `place` is where.
        given: the inputs of the block that the body is given.
    """

    def __init__(self, slots: Sequence[Slot], hidden: Sequence[Slot] = ()) -> None:
        """Nothing reads after the body what is in hidden slots."""
        self.block = Block()
        self.given: list[Any] = []
        self._hidden = hidden
        self.slots: dict[Any, Slot] = {slot.key: slot for slot in slots}
        self.ends: dict[Any, Any] = {}
        self.error: BaseException | None = None
        self.place: Any = None
        self._around: Region | None = None
        self._before: dict[Any, tuple[Slot, Any]] = {}
        self._local: list[Any] = []

    def record(self, body: Callable[[], Any]) -> None:
        """Runs the body once.

        Raises:
            ConversionError: regions go on in each other without an end.
        """
        around, depth = innermost(), 0
        self._around = around
        while around is not None:
            around, depth = around._around, depth + 1
        if depth > _DEEPEST:
            raise _C.ParameterError(
                "a recursion must not end by what a tensor says, which is not known yet",
                op="to_static", got=f"{depth} branches in each other", fix="use a loop",
            )  # fmt: skip
        for slot in (*self.slots.values(), *self._hidden):
            self._before[slot.key] = slot, slot.get()
        recording = current_recording()
        if recording is not None:
            recording.regions += 1
        try:
            with (
                _regions.block(self),
                self.block,
                recorded_blocks.block(self.block),
                _C.Recording(self.block),
                _C.Journal() as journal,
            ):
                try:
                    body()
                except Failure as failure:
                    self.error, self.place = failure.error, failure.place
                except Exception as error:
                    note(error)
                    raise
                for tensor in journal.rebound():
                    if self._is_changed(tensor, recording):
                        slot = Binding(tensor)
                        self.slots[slot.key] = slot
                for key, slot in self.slots.items():
                    self.ends[key] = snapshot(slot.get())
        finally:
            if recording is not None:
                recording.regions -= 1
            self._undo()
        self._forget_local()

    def note(self, slot: Slot) -> None:
        """A slot is going to be changed."""
        if slot.key not in self._before:
            self._before[slot.key] = slot, slot.get()
            self.slots[slot.key] = slot

    def _undo(self) -> None:
        for slot, value in reversed(self._before.values()):
            slot.set(value)

    @staticmethod
    def _is_changed(tensor: Any, recording: Recording | None) -> bool:
        """Whether a Tensor was given another value, and not met for the first time."""
        touched = recording.touched.get(id(tensor)) if recording is not None else None
        if touched is None:
            return True
        *_, bottom = layers(tensor)
        is_input = getattr(bottom, "listing", None) is recording.program  # type: ignore[union-attr]
        return not (is_input and bottom.number == touched.number)

    def _forget_local(self) -> None:
        """Drops containers and objects that only the body knew."""
        held: dict[int, int] = {}
        for end in self.ends.values():
            for part in parts_of(end):
                held[id(part.original)] = held.get(id(part.original), 0) + 1
        owned = [slot for slot in self.slots.values() if isinstance(slot, (Attribute, Content))]
        for slot in owned:
            held[id(slot.owner)] = held.get(id(slot.owner), 0) + 1
        for slot in owned:
            # Whoever else knows the object refers to it once more than slots and snapshots do.
            if sys.getrefcount(slot.owner) <= _ALONE + held[id(slot.owner)]:
                self._local.append(slot.key)
        for key in self._local:
            del self.slots[key]
            self.ends.pop(key, None)


def _held_alone() -> int:
    slot = Content([])
    return sys.getrefcount(slot.owner) - 1


_ALONE = _held_alone()


@apply.register
def apply_recorded_in_block(op: OpBase, *args: RecordedTensor) -> Any:
    """Variables of the function that is recorded, which have values."""
    return applied_in_block(op, args)


recorded_blocks.add_rule(apply_recorded_in_block)
_regions: Ongoing[Region] = Ongoing("tensorlike_region", [])


def innermost() -> Region | None:
    """The region that is being recorded."""
    return _regions.innermost()

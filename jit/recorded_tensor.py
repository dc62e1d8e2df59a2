"""RecordedTensor: a value, and the variable of a program that stands for it.

While a function is recorded its ops run on values of any kind, as they would without, and are
listed. So the first call is the function itself, draws included, and Python can read what it likes.
Inside of the function it is a plain value: tapes and transforms that begin there go over it. Those
that go on outside are in the value, which nobody inside looks at.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from .. import _C
from ..imperative import SymbolicTensor, apply
from ..imperative.levels import is_differentiated, stopped
from ..imperative.sub_programs import Call, is_moving
from ..ops import Elemwise, OpBase, declare
from ..static import Program

if TYPE_CHECKING:
    from .recording import Recording

_STOPPED = """
- scalar: without_history
  args: ["x: all"]
  expr: x
  grad: {x: 0}
  doc: The value, through which no gradient flows.
"""


class RecordedListing(Program):
    """The program that a recording writes.

    Attributes:
        recording: who writes it; None: it is written.
        was_paused: whether ops were recorded without a tape: in a backward pass, say.
    """

    def __init__(self) -> None:
        super().__init__()
        self.recording: Recording | None = None
        self.was_paused = False
        self._roots: dict[int, Any] = {}  # values of variables that say unknown sizes
        self._moving: set[int] = set()  # what derivatives are wanted by goes into these
        self._stopped: dict[int, int] = {}

    def symbol(self, number: int) -> Any:
        """What stands for a variable: with its value, while the program is recorded."""
        if self.recording is None:
            return super().symbol(number)
        return RecordedTensor(self, number, self._made_of_nothing(number))

    def _made_of_nothing(self, number: int) -> Any:
        """The value of what the last op has just made, which has no arguments."""
        step = self.applied()[-1]
        with _C.Recording(None):
            if self._roots:
                return self._run_last(step.outputs, (), ())[step.outputs.index(number)]
            return step.op()[step.outputs.index(number)]

    def note_sizes(self, numbers: Sequence[int], values: Sequence[Any]) -> None:
        """Keeps the values of those variables that say what an unknown size is."""
        sizes = self.sizes()
        if len(sizes) > len(self._roots):
            by_number = dict(zip(numbers, values, strict=True))
            for _, number, _ in sizes:
                if number not in self._roots and number in by_number:
                    self._roots[number] = by_number[number]

    def apply(self, op: OpBase, xs: Sequence[RecordedTensor]) -> list[RecordedTensor]:
        """Runs an op on the values, and lists it."""
        with _C.Recording(None):  # what an op makes on its way is no part of the program
            if self._roots:
                made = self.append(op, inputs := [self.refer(x) for x in xs])
                found = self._run_last(made, inputs, [x.shadow for x in xs])
            else:
                found = op(*[x.shadow for x in xs])
                made = self.append(op, [self.refer(x) for x in xs])
        self._note_moving(xs, made, found)
        self.note_sizes(made, found)
        return [RecordedTensor(self, n, y) for n, y in zip(made, found, strict=True)]

    def _run_last(
        self, made: Sequence[int], inputs: Sequence[int], values: Sequence[Any]
    ) -> tuple[Any, ...]:
        """What the last op gives, whose attributes are of unknown sizes, for those of this call."""
        given = {**self._roots, **dict(zip(inputs, values, strict=True))}
        return _C.Stretch(self, list(given), made).run(list(given.values()))

    def refer(self, x: RecordedTensor) -> int:
        """The variable that a handle stands for, behind a stop where its history was cut."""
        number = x.number
        if number not in self._moving or is_differentiated(x.shadow):
            return number
        if number not in self._stopped:
            (self._stopped[number],) = self.append(_without_history(), [number])
        return self._stopped[number]

    def _note_moving(
        self, xs: Sequence[RecordedTensor], made: Sequence[int], found: Sequence[Any]
    ) -> None:
        self.was_paused |= _C.paused_level() >= 0
        # The program knows of no blocks of `no_grad`: its own gradient would go through.
        is_cut = _C.paused_level() >= 0 and any(is_differentiated(x.shadow) for x in xs)
        for number, y in zip(made, found, strict=True):
            if is_differentiated(y) or (is_cut and is_moving(self.dtype(number))):
                self._moving.add(number)

    def moves(self, number: int) -> None:
        """Says that derivatives are wanted by an input."""
        self._moving.add(number)


class RecordedTensor(SymbolicTensor):
    """A variable of the program that is being recorded, and its value in this call.

    Attributes:
        shadow: the value, of any kind, with its history outside.
    """

    listing: RecordedListing

    def __init__(self, listing: RecordedListing, number: int, shadow: Any) -> None:
        """Made by the recording, and by applying ops."""
        self.listing = listing
        self.number = number
        self.shadow = shadow

    @property
    def device(self) -> str:
        """Where the value lives."""
        return self.shadow.device  # type: ignore[no-any-return]

    @property
    def elements(self) -> Any:
        """The value, which the program depends on from now on."""
        return self.recording().read(self)

    def stopped(self) -> RecordedTensor:
        """The same without history outside."""
        value = stopped(self.shadow)
        if value is self.shadow:
            return self
        return RecordedTensor(self.listing, self.number, value)

    def lift(self, other: Any) -> RecordedTensor:
        """An array beside it is a constant of the program."""
        return self.recording().take(other)

    def recording(self) -> Recording:
        """The recording that goes on.

        Raises:
            AutodiffError: it is over.
        """
        found = self.listing.recording
        if found is None:
            raise _C.AutodiffError(
                "broken due to misuse of tracing: a tensor that was made while a function was "
                "traced must not be used after it",
                op="trace", got=f"{self.name}: {self.describe()}",
                fix="return it from the function, or assign it to a buffer",
            )  # fmt: skip
        return found


@apply.register
def apply_recorded_values(op: OpBase, *args: RecordedTensor) -> list[RecordedTensor]:
    """Runs the op on the values, and lists it."""
    listing = args[0].recording().program
    return listing.apply(op, args)


@apply.register
def apply_call_recorded(op: Call, *args: RecordedTensor) -> tuple[Any, ...]:
    """A program that is called inside of the function becomes a part of what is recorded."""
    return op.define(*args)


@cache
def _without_history() -> OpBase:
    declare(_STOPPED)
    return Elemwise(mode="without_history")

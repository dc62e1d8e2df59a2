"""RecordedTensor: a value, and the variable of a program that stands for it.

While a function is recorded its ops run on values of any kind, as they would without, and are
listed. So the first call is the function itself, draws included, and Python can read what it likes.
Inside of the function it is a plain value: tapes and transforms that begin there go over it. Those
that go on outside are in the value, which nobody inside looks at.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _C
from ..imperative import Listing, SymbolicTensor, apply
from ..imperative.levels import is_differentiated, layers, stopped
from ..imperative.sizes import ARITHMETIC, Size
from ..imperative.sub_programs import Call
from ..imperative.symbolic import is_moving, without_history
from ..ops import OpBase
from ..static import Program
from .errors import Untraceable

if TYPE_CHECKING:
    from .recording import Recording


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
        # What shapes with unknown sizes are in this call, by variables.
        self._shapes: dict[int, tuple[int, ...]] = {}
        self.follows_elements = False  # whether there are sizes that no input says
        self._moving: set[int] = set()  # what derivatives are wanted by goes into these
        self._stopped: dict[int, int] = {}
        self._sizes: list[tuple[weakref.ref[Size], str]] = []  # and the user's lines
        self.handles: list[weakref.ref[RecordedTensor]] = []

    def note_size(self, size: Size) -> None:
        """A size has been made: while a function is recorded it may be kept."""
        if self.recording is not None:
            self._sizes.append((weakref.ref(size), apply.line()))

    def end_sizes(self) -> None:
        """The recording is over: sizes that somebody keeps are none any more."""
        for reference, line in self._sizes:
            size = reference()
            if size is not None:
                size.end(line)

    def kept_size(self) -> str | None:
        """The user's line of a size that somebody keeps; None: nobody does."""
        if any(reference() is not None for reference, _ in self._sizes):
            gc.collect()  # what waits for the collector is kept by nobody
        return next((line for reference, line in self._sizes if reference() is not None), None)

    def settle_kept(self) -> bool:
        """Gives Tensors that somebody keeps the values that they have; whether there are any.

        Raises:
            Untraceable: nothing was computed, so that they have none.
        """
        if not any(handle() is not None for handle in self.handles):
            return False
        gc.collect()  # what waits for the collector is kept by nobody
        kept = [x for x in gc.get_objects() if issubclass(type(x), _C.TensorWrapper)]
        found = [(x, part) for x in kept for part in layers(x.__wrapped__) if self._made(part)]
        for x, part in found:
            value = stopped(part.shadow)
            if isinstance(value, _C.ShapeTensor):
                raise Untraceable("it keeps a tensor, of which nothing was computed")
            is_leaf = x.is_leaf and x.requires_grad
            x._reset(value if is_leaf else part.shadow)
            if is_leaf:
                x.requires_grad = True
        self.handles = []
        return bool(found)

    def _made(self, x: Any) -> bool:
        return isinstance(x, RecordedTensor) and x.listing is self

    def number_now(self, size: Size) -> Any:
        """What a size is in the call that is recorded; None: there is no such call."""
        if self.recording is None or self.recording.is_symbolic:
            return None
        return self._known(self.expression((size.first, size.second)))

    def symbol(self, number: int) -> Any:
        """What stands for a variable: with its value, while the program is recorded."""
        if self.recording is None:
            return super().symbol(number)
        return RecordedTensor(self, number, self._made_of_constants(number))

    def _made_of_constants(self, number: int) -> Any:
        """The value of what the last op has just made, of no arguments or of captured values."""
        _, inputs, outputs, *_ = self.steps()[-1]
        variables = self.variables() if inputs else ()
        with _C.Recording(None):
            return self._last_op()(*[variables[n][2] for n in inputs])[outputs.index(number)]

    def note_shape(self, number: int, shape: tuple[int, ...]) -> None:
        """Keeps what a shape is in this call, if the program does not know it."""
        if not all(isinstance(size, int) for size in self.shape(number)):
            self._shapes[number] = shape

    def apply(self, op: OpBase, xs: Sequence[RecordedTensor]) -> list[RecordedTensor]:
        """Runs an op on the values, and lists it."""
        with _C.Recording(None):  # what an op makes on its way is no part of the program
            if self._shapes:
                made = self._listed(op, [self.refer(x) for x in xs])
                found = self._last_op()(*[x.shadow for x in xs])
            else:
                found = op(*[x.shadow for x in xs])
                made = self._listed(op, [self.refer(x) for x in xs])
        self._note_moving(xs, made, found)
        for number, y in zip(made, found, strict=True):
            self.note_shape(number, y.shape)
            if number in self._shapes and not self.sizes():
                self.follows_elements = True
        return [RecordedTensor(self, n, y) for n, y in zip(made, found, strict=True)]

    def _listed(self, op: OpBase, numbers: Sequence[int]) -> Sequence[int]:
        """Lists an op.

        Raises:
            Untraceable: it takes sizes that follow from elements for others, which a program cannot
                know.
        """
        try:
            return self.append(op, numbers)
        except _C.TensorlikeError as error:
            if not self.follows_elements or self.sizes():
                raise
            raise Untraceable(f"a size follows from elements: {error}") from error

    def _last_op(self) -> OpBase:
        """The last op, with what sizes are in this call in the place of unknown ones."""
        op: OpBase
        op, _, _, _, unknown = self.steps()[-1]
        if not unknown:
            return op
        params = {name: self._known(value) for name, value in unknown.items()}
        return type(op)(**{**op.params(), **params})

    def _known(self, x: Any) -> Any:
        """What an attribute that follows from sizes is in this call."""
        if not isinstance(x, tuple):
            return x
        kind, *parts = x
        if kind == "size":
            number, axis = parts
            return self._shapes.get(number, self.shape(number))[axis]
        made = [self._known(part) for part in parts[0]]
        if kind == "tuple":
            return tuple(made)
        if kind == "float":
            return float(made[0])
        return ARITHMETIC[kind](*made)

    def refer(self, x: RecordedTensor) -> int:
        """The variable that a handle stands for, behind a stop where its history was cut."""
        number = x.number
        if number not in self._moving or is_differentiated(x.shadow):
            return number
        if number not in self._stopped:
            (self._stopped[number],) = self.append(without_history(), [number])
        return self._stopped[number]

    def uncut(self, number: int) -> int:
        """The variable before its history was cut, where a step makes it."""
        before = {cut: made for made, cut in self._stopped.items()}.get(number, number)
        return before if self.variables()[before][1] == "result" else number

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


def read_by(program: Listing, results: Sequence[int]) -> set[int]:
    """The variables that results follow from."""
    read = set(results)
    for step in reversed(program.applied()):
        if not read.isdisjoint(step.outputs):
            read.update(step.inputs)
    return read


class RecordedTensor(SymbolicTensor):
    """A variable of the program that is being recorded, and its value in this call.

    Attributes:
        shadow: the value, of any kind, with its history outside.
    """

    listing: RecordedListing
    knows_history = True

    def __init__(self, listing: RecordedListing, number: int, shadow: Any) -> None:
        """Made by the recording, and by applying ops."""
        self.listing = listing
        self.number = number
        self.shadow = shadow
        listing.handles.append(weakref.ref(self))

    @property
    def device(self) -> str:
        """Where the value lives."""
        return str(self.shadow.device)

    @property
    def elements(self) -> Any:
        """The value, which the program depends on from now on."""
        return self.recording().read(self)

    @property
    def printed(self) -> Any:
        """The value, where it has elements: who prints it depends on them."""
        is_known = self.listing.recording is not None and not self.listing.recording.is_symbolic
        return self.elements if is_known else self

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

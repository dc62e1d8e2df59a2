"""Recording: a function is run once, and what it does with tensors becomes a program.

Nothing in the function, in layers or in optimisers knows of it. A rule that is switched on while
something records sees every op on Tensors: one that was there before the function began becomes an
input of the program and stands for it until the recording ends. What such tensors have become by
then, their gradients included, is what each run of the program gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import RLock
from types import CodeType
from typing import Any

from .. import _C
from ..imperative import SymbolicTensor, Tensor, apply
from ..imperative.autodiff import zeros_like
from ..imperative.blocks import Block
from ..imperative.keeping import recorder
from ..imperative.levels import Level, is_differentiated, layers, stopped
from ..imperative.ongoing import Ongoing
from ..imperative.random import default_stream
from ..imperative.rebinding import inner_of
from ..imperative.trees import leaves_of
from ..ops import OpBase
from ..static import Program
from .errors import Untraceable
from .places import CountPlace, GradientPlace, HeldPlace, Place, TensorPlace
from .recorded_tensor import RecordedListing, RecordedTensor
from .touched import Counted, Read, Touched


def current_recording() -> Recording | None:
    """What is recorded in this thread."""
    return _recordings.innermost()


@apply.register
def apply_while_recording(op: OpBase, *args: _C.TensorWrapper) -> Any:
    """Lets Tensors from outside of what is recorded stand for inputs of the program."""
    recording = current_recording()
    if recording is None:
        return NotImplemented
    for x in args:
        recording.touch(x)
    return apply.super(op, *args)


_lock = RLock()
_LONGEST_WAIT = 10.0  # seconds; then what is recorded waits for this thread, it seems


@contextmanager
def apart() -> Iterator[None]:
    """A block in which no other thread records: Tensors that it meets stand for inputs then."""
    has_lock = _lock.acquire(timeout=_LONGEST_WAIT)
    try:
        yield
    finally:
        if has_lock:
            _lock.release()


def _touch_what_is_read(x: Any) -> None:
    """Python is about to see the value or the gradient of a Tensor, without an op."""
    recording = current_recording()
    if recording is not None:
        recording.touch(x)


_recordings: Ongoing[Recording] = Ongoing(
    "tensorlike_recording", [apply_while_recording], _touch_what_is_read
)


@contextmanager
def exclude_from_trace() -> Iterator[None]:
    """A block whose code runs as Python in every call, and may differ from call to call.

    What is before, between and behind such blocks of a traced function runs as programs, one for
    each part, and gradients go through all of it. That needs the blocks to stand at the top of the
    function, in its source, and parts that hand on tensors and plain values alone; another part, a
    function with such a block in a loop or a branch, and one that is converted run at once, as
    `why()` says. A function that is traced with ``strict=True`` is held against what was recorded
    outside of the blocks. Where code could not run while a program is made (in a branch or a loop
    that a tensor decides about, or with ``symbolic=True``), a warning says that calls run at once.

    Source:
        MegEngine 1.0, ``megengine.jit.exclude_from_trace``.

    Example:
        >>> import tensorlike as tl
        >>> calls = []
        >>> @tl.jit.trace
        ... def counted(x):
        ...     with tl.jit.exclude_from_trace():
        ...         calls.append(x.item())
        ...     return x * 2
        >>> counted(tl.tensor(1.0)).item(), counted(tl.tensor(2.0)).item(), calls
        (2.0, 4.0, [1.0, 2.0])
    """
    recording = current_recording()
    if recording is None:
        yield
        return
    if recording.is_symbolic or recording.regions > 0:
        raise Untraceable("a part that is excluded from the trace takes values")
    begin = len(recording.program.steps())
    try:
        yield
    finally:
        recording.excluded.append((begin, len(recording.program.steps())))


def says_excluded(code: CodeType) -> bool:
    """Whether code speaks of `exclude_from_trace` by its name."""
    return "exclude_from_trace" in (*code.co_names, *code.co_freevars)


def _meta(value: Any) -> Any:
    """A value of the same shape and dtype without elements."""
    made = _C.ShapeTensor(value.shape, value.dtype)
    return _C.Tracer(made) if is_differentiated(value) else made


class Recording:
    """What is being recorded.

    Args:
        captures: whether tensors that are no arguments are constants of the program.
        is_symbolic: whether nothing is computed meanwhile: there are shapes in the place of values.
    """

    def __init__(self, captures: bool = False, is_symbolic: bool = False) -> None:
        self.program = RecordedListing()
        self.is_symbolic = is_symbolic
        self.regions = 0  # bodies that are recorded just now, whether they are taken or not
        self.excluded: list[tuple[int, int]] = []  # steps from and to
        self.born: list[Any] = []  # parameters, and what optimisers keep, that were made inside
        self.numbers: dict[tuple[int, Any], tuple[CountPlace, Tensor]] = {}
        self.counts: list[Counted] = []
        self.captures = captures
        self.touched: dict[int, Touched] = {}  # by the id of the tensor, which is held
        self.captured: dict[int, Any] = {}
        self.inputs: list[tuple[int, Place]] = []
        self.reads: dict[int, Read] = {}
        self.collection = _C.collection()
        self._journal = _C.Journal()
        self._level = Level()
        self._is_touching = False
        self._set: dict[int, HeldPlace] = {}  # what was bound anew without having been met

    @contextmanager
    def going_on(self) -> Iterator[Recording]:
        """A block in which what is applied is recorded; tensors are as before when it ends."""
        with ExitStack() as stack:
            stack.enter_context(apart())
            stack.enter_context(_C.FinalizersWait())
            if self.is_symbolic:  # what is drawn on the way is drawn by nobody: the run draws
                stack.enter_context(default_stream.replay(default_stream.state()))
            stack.enter_context(self._journal)
            stack.enter_context(self._level)
            self.program.recording = self
            stack.callback(self._end)
            stack.enter_context(_recordings.block(self))
            stack.enter_context(_C.Setting(recorder, self))
            stack.enter_context(_C.Recording(self.program))
            yield self

    def _end(self) -> None:
        self.program.recording = None
        self.program.end_sizes()

    def input(self, name: str, value: Any, place: Place, sizes: Sequence[Any]) -> RecordedTensor:
        """An input of the program that has a value in this call."""
        number = self.program.add_input(name, sizes, value.dtype)
        if is_differentiated(value):
            self.program.moves(number)
        self.inputs.append((number, place))
        shadow = _meta(value) if self.is_symbolic else value
        self.program.note_shape(number, value.shape)
        return RecordedTensor(self.program, number, shadow)

    def bind(self, tensor: Any, place: TensorPlace, name: str, sizes: Any = None) -> Touched:
        """Lets a Tensor stand for an input from now on."""
        before, self._is_touching = self._is_touching, True  # what is read here is read by us
        try:
            return self._bound(tensor, place, name, sizes)
        finally:
            self._is_touching = before

    def _bound(self, tensor: Any, place: TensorPlace, name: str, sizes: Any) -> Touched:
        original = tensor.__wrapped__
        gradient = tensor.grad if tensor.is_leaf else None
        bound = self.input(name, original, place, original.shape if sizes is None else sizes)
        touched = Touched(tensor, place, bound.number, original)
        self.touched[id(tensor)] = touched
        self._stand_in(touched, bound)
        if gradient is not None:
            value = stopped(gradient.__wrapped__)
            held = self.input(
                f"{name}_grad", value, GradientPlace(place),
                gradient.shape if sizes is None else sizes,
            )  # fmt: skip
            touched.gradient = held
            tensor.grad = Tensor(held)
        return touched

    def _stand_in(self, touched: Touched, bound: RecordedTensor | None = None) -> None:
        """Binds a Tensor to its input."""
        if bound is None:
            bound = RecordedTensor(self.program, touched.number, touched.shadow)
        touched.shadow = bound.shadow
        touched.tensor._reset(bound)
        if touched.is_differentiated:
            touched.tensor.requires_grad = True

    def touch(self, x: Any) -> None:
        """Binds a Tensor that the function has met, if it was there before."""
        if self._is_touching or not isinstance(x, _C.TensorWrapper):
            return
        self._is_touching = True
        try:
            if self._is_outside(x):
                self._bind_older(x)
        finally:
            self._is_touching = False

    def _bind_older(self, x: Any) -> None:
        known = self.touched.get(id(x))
        if known is not None:
            if x.__wrapped__ is known.original:  # a block inside took its bindings back
                self._stand_in(known)
            return
        if not self._journal.is_as_before(x):
            return
        original = x.__wrapped__
        if self.captures:
            self.captured[id(x)] = (x, original)
            number = self.program.capture(stopped(original))
            x._reset(RecordedTensor(self.program, number, stopped(original)))
            return
        name = f"tensor_{len(self.inputs)}"
        self.bind(x, HeldPlace(x, name), name)

    def _is_outside(self, x: Any) -> bool:
        """Whether a value is of no program that is being recorded, but for those around."""
        part = x
        while part is not None:
            if isinstance(part, RecordedTensor):
                return part.listing is not self.program
            if isinstance(part, SymbolicTensor):
                block = part.listing
                is_around = isinstance(block, Block) and block.level.number < self._level.number
                return is_around or isinstance(block, Program)
            if isinstance(part, _C.TensorWrapper):
                part = part.__wrapped__
            else:
                part = part.primal if isinstance(part, _C.Tracer) else inner_of(part)
        return True

    def take(self, value: Any) -> RecordedTensor:
        """A value beside a variable: an array is a constant.

        Raises:
            DispatchError: it is something else, of which nothing is known in other calls.
        """
        if isinstance(value, _C.RawTensor):
            return RecordedTensor(self.program, self.program.capture(value), value)
        raise _C.DispatchError(
            "a function that is traced meets values of transforms, of carriers and of other "
            "programs in Tensors", op="trace", got=f"a bare {type(value).__name__}",
            fix="wrap it: tl.Tensor(value)",
        )  # fmt: skip

    def read(self, x: RecordedTensor) -> Any:
        """The value of a variable, which Python asks for: the program depends on it."""
        value = stopped(x.shadow)
        if x.number not in self.reads:
            self.reads[x.number] = Read(x.number, Tensor(value)._raw(), apply.line())
        return value

    def refer(self, x: Any) -> RecordedTensor:
        """The variable that a tensor-like of the function is; an array is a constant.

        Raises:
            Untraceable: it is around a variable, or another kind of value: no program makes it.
        """
        part = x
        for part in layers(x):
            if isinstance(part, RecordedTensor) and part.listing is self.program:
                return part.stopped() if part is x else part
        if not isinstance(part, _C.RawTensor):
            raise Untraceable(f"it leaves a {type(part).__name__} behind, which it made")
        return self.take(part)

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        return function(*args, **kwargs)

    def forget_released(self, result: Any) -> None:
        """Cuts results whose graph a backward pass inside of the function has released.

        They say that they require a gradient, and no pass could go through them any more.
        """
        if not self.program.was_paused:
            return
        leaves = tuple(t.tensor for t in self.touched.values() if t.tensor.requires_grad)
        for y in leaves_of(result):
            is_traced = isinstance(y, _C.TensorWrapper) and isinstance(y.__wrapped__, _C.Tracer)
            if is_traced and id(y) not in self.touched and self._is_released(y, leaves):
                y._reset(y.__wrapped__.primal)

    @staticmethod
    def _is_released(y: Any, leaves: tuple[Any, ...]) -> bool:
        try:
            _C.backward((y,), (zeros_like(y),), True, False, leaves, None)
        except _C.AutodiffError:
            return True
        return False

    def made(self, tensor: Any) -> None:
        """Something that is to stay has been made: another call finds it, and makes none."""
        self.born.append(tensor)

    def number(self, holder: Any, key: Any, dtype: Any) -> Any:
        """A number of Python as an input: each call reads it anew."""
        if (id(holder), key) not in self.numbers:
            place = CountPlace(holder, key, dtype)
            self.numbers[id(holder), key] = place, self._input_at(place)
        return self.numbers[id(holder), key][1]

    def count(self, holder: Any, key: Any) -> Any:
        """A number that each call counts on, as a tensor behind that.

        Equal numbers of one list are counted on as one.
        """
        for counted in self.counts:
            place = counted.place
            is_shared = place.holder is holder and place.number(place.keys[0]) == holder[key]
            if is_shared:
                break
        else:
            place = CountPlace(holder, key, _C.float64)
            counted = Counted(place, self._input_at(place))
            self.counts.append(counted)
        return counted.next(key)

    def _input_at(self, place: CountPlace) -> Tensor:
        value = place.find(())
        return Tensor(self.input(f"{place.keys[0]}_{len(self.inputs)}", value, place, value.shape))

    def counted(self) -> list[tuple[Any, Any]]:
        """Who has numbers that are inputs, and under which keys."""
        places = [place for place, _ in self.numbers.values()]
        places += [counted.place for counted in self.counts]
        return [(place.holder, key) for place in places for key in place.keys]

    def settle(self) -> None:
        """What was made inside and stays gets the value that it has: it outlives the recording."""
        for tensor in self.born:
            value = self.refer(tensor.__wrapped__).shadow
            has_gradient = tensor.requires_grad
            tensor._reset(stopped(value))
            tensor.requires_grad = has_gradient

    def place_of(self, tensor: Any) -> TensorPlace | None:
        """Where a tensor is that was there before; None: it was made inside."""
        touched = self.touched.get(id(tensor))
        if touched is not None:
            return touched.place
        if id(tensor) not in self._set and any(tensor is x for x in self._journal.rebound()):
            self._set[id(tensor)] = HeldPlace(tensor, f"tensor_{len(self._set)}")
        return self._set.get(id(tensor))

    def changed(self) -> list[Any]:
        """The older Tensors that are bound to something else, or may be."""
        return list(self._journal.rebound())

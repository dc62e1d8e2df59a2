"""RecordedProgram: what a recording made, ready to run in the function's place.

It is a program, the places of its inputs, and what becomes of its results: some are returned, some
are assigned to tensors and their gradients, and some are held against what Python read when the
function was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from .. import _C
from ..imperative import Tensor
from ..imperative.levels import is_differentiated, stopped, unwrapped
from ..imperative.sub_programs import Call
from ..imperative.trees import flatten, leaves_of, unflatten
from ..static.compiled import CompiledProgram
from ..transforms.checkpoint import checkpoint
from .errors import Untraceable
from .places import ArgumentPlace, Assigned, GradientPlace, HeldPlace, Result
from .python_guards import Change, Guards, shown
from .reading import Reading
from .recorded_tensor import read_by
from .recording import Recording, apart
from .signature import refuse_sizes
from .state import replaced
from .stores import Given, put_all, take_stores, with_same
from .touched import Reads

# Passes after which a value has the same bits, as it must where Python has read it.
_EXACT = ("dead_code", "fold", "cse")
# Passes over what a gradient's rules have made, whose program comes from one after all passes.
_OF_GRADIENTS = ("dead_code", "moves", "identities", "cse", "chains", "rows")


_made = count()


class RecordedProgram:
    """A program that runs in the place of a function, for the calls that it was recorded for.

    Attributes:
        listing: the program as it was recorded.
        inputs: the numbers of its inputs, and their places.
        outputs: the numbers of its results.
        results: the tensors that the function returns or keeps; `leaves` says where each stands.
        arguments: the variables that the arguments' tensors are; `kinds` are these tensors' kinds.
        assigned: what is assigned after a run.
        stores: what else it leaves behind.
        reads: what Python read.
        kept: the names whose values are given behind the arguments.
        exchanged: names of the state, which are replaced, with `_pairs` of each.
        state_found: names that turned out to be such ones: this program served its call alone.
    """

    def __init__(
        self,
        recording: Recording,
        result: Any,
        reading: Reading,
        options: dict[str, Any],
        given: Given,
    ) -> None:
        """Inside of the recording, when the function has returned."""
        self.cause = "the first call of its kind"
        self.long_calls = 0  # those that went the long way
        self.quick: _C.QuickCall | None = None
        self.is_tried = False  # whether calls can go the quick way
        self.order = next(_made)
        self.names: list[str] = []  # of the arguments
        own = [g for g in reading.guards if not g.is_given and (not g.is_guessed or g.holds())]
        self.guards = Guards(own)
        self.state_found = replaced([g for g in reading.guards if not g.is_given])
        self.kept = tuple(reading.state.names)
        self.listing = recording.program
        self.outputs: list[int] = []
        self._shadows: list[Any] = []
        self._recording = recording
        exchanged = [(g.text, g.was, g.now()) for g in (*self.state_found, *reading.given())]
        self.stores, values, self.same = take_stores(reading, result, given, recording.counted())
        recording.forget_released((result, values))
        refuse_sizes(result, self.listing)
        self._flatten(result, values)
        self.exchanged = [(text, self._pairs(was, now)) for text, was, now in exchanged]
        del exchanged, values
        self.assigned = [*self._rebound(), *self._gradients(), *self._counts()]
        self.reads = Reads(list(recording.reads.values()), len(self.outputs))
        self.outputs += [read.number for read in self.reads]
        self._note_held(recording, reading)
        self.is_once = bool(recording.born)
        recording.settle()
        self.excluded = tuple(recording.excluded)
        self.all_inputs = list(recording.inputs)
        self.needed = read_by(self.listing, self.outputs)
        self._options = options
        self._taken: dict[Any, bool] = {}
        # Of what the function leaves behind, by what derivatives are wanted.
        self.lives = [is_differentiated(x) for x in self._shadows]
        self.lives += [False] * len(self.reads)
        self.has_history = any(self.lives)

    def _flatten(self, result: Any, values: list[Any]) -> None:
        """Takes apart what is returned and what is put; each tensor is made once by a run."""
        born = set(map(id, self._recording.born))
        found, self.treedef = flatten(result, _is_tensor_like, is_result=True)
        self.count = len(found)
        put, self.stored = flatten(
            values, lambda x: _is_tensor_like(x) and id(x) not in born, is_result=True
        )
        numbers: dict[int, int] = {}
        self.leaves = [numbers.setdefault(id(y), len(numbers)) for y in (*found, *put)]
        each = {id(y): y for y in (*found, *put)}
        self.results = [self._result(each[key]) for key in numbers]

    def _pairs(self, was: Any, now: Any) -> list[tuple[int, int]] | None:
        """The inputs that a name of the state has, each with the result that gets in its place."""
        touched, old, new = self._recording.touched, leaves_of(was), leaves_of(now)
        is_plain = len(old) == len(new) and all(isinstance(y, _C.TensorWrapper) for y in new)
        if not is_plain or not all(id(x) in touched for x in old):
            return None
        pairs = zip(old, new, strict=True)
        return [(touched[id(x)].number, self._output(y.__wrapped__)) for x, y in pairs]

    def _output(self, x: Any) -> int:
        """Makes the variable that a tensor-like is a result of the run."""
        handle = self._recording.refer(x)
        number = self._recording.program.refer(handle)
        for index, known in enumerate(self.outputs):
            if known == number:
                return index
        self.outputs.append(number)
        self._shadows.append(handle.shadow)
        return len(self.outputs) - 1

    def _result(self, y: Any) -> Result:
        if not isinstance(y, _C.TensorWrapper):
            return Result(None, self._output(y), None)
        self._recording.touch(y)
        place = self._recording.place_of(y)
        if place is not None and id(y) not in self._recording.captured:
            return Result(type(y), -1, place)
        return Result(type(y), self._output(y.__wrapped__), None)

    def _rebound(self) -> list[Assigned]:
        found = []
        for tensor in self._recording.changed():
            touched = self._recording.touched.get(id(tensor))
            place = self._recording.place_of(tensor)
            if place is None or id(tensor) in self._recording.captured:
                continue
            value = tensor.__wrapped__
            if touched is not None and touched.loses_leaf():
                raise Untraceable(f"it writes into {place!r}, whose gradient is wanted")
            if touched is None or self._recording.refer(value).number != touched.number:
                found.append(Assigned(place, self._output(value)))
            elif tensor.requires_grad is not touched.is_differentiated:
                raise Untraceable(f"it sets requires_grad of {touched.place!r}")
        return found

    def _gradients(self) -> list[Assigned]:
        found: list[Assigned] = []
        for touched in self._recording.touched.values():
            if not touched.is_leaf:
                if touched.is_differentiated and touched.tensor.grad is not None:
                    raise Untraceable(
                        f"a backward pass in it goes through {touched.place!r}, which has a "
                        "history outside"
                    )
                continue
            place = GradientPlace(touched.place)
            gradient = touched.tensor.grad if touched.tensor.is_leaf else None
            if gradient is None:
                if touched.gradient is not None:
                    found.append(Assigned(place, None))
                continue
            handle = self._recording.refer(gradient.__wrapped__)
            if touched.gradient is None or handle.number != touched.gradient.number:
                found.append(Assigned(place, self._output(gradient.__wrapped__)))
        return found

    def _counts(self) -> list[Assigned]:
        ends = [end for counted in self._recording.counts for end in counted.ends()]
        return [Assigned(place, self._output(number.__wrapped__)) for place, number in ends]

    def _note_held(self, recording: Recording, reading: Reading) -> None:
        """What must be so again of the tensors that the function met."""
        touched = list(recording.touched.values())
        self._held = [
            (t.tensor, t.place.name, t.original.shape, t.original.dtype, t.is_differentiated)
            for t in touched
            if isinstance(t.place, HeldPlace)
        ]
        self._wanted = [(row[0], row[4]) for row in self._held]
        self.kinds = [t.kind() for t in touched if isinstance(t.place, ArgumentPlace)]
        gradients = [a for a in self.assigned if isinstance(a.place, GradientPlace)]
        steps = self.listing.applied()
        read = {number for step in steps for number in step.inputs}
        uses = any(t.gradient is not None and t.gradient.number in read for t in touched)
        self._leaves = [
            (t.place, t.gradient is not None)
            for t in touched
            if t.is_leaf and (gradients or uses or reading.reads_gradients)
        ]
        self._counted = [counted.place for counted in recording.counts]
        self._constants = list(recording.captured.values())
        places = {id(t.tensor): t.place for t in touched}
        found = [(places.get(id(x)), x) for _, x in reading.tensors]
        self._aliases = [(p.index, x) for p, x in found if isinstance(p, ArgumentPlace)]
        self._apart = {id(row[0]) for row in self._held} if self.assigned else set()

    @property
    def calls(self) -> int:
        """How many calls it has served."""
        return self.long_calls + (0 if self.quick is None else self.quick.calls)

    def held(self) -> list[tuple[str, Any]]:
        """The tensors that the function met, but arguments, under their names."""
        return [(name, tensor) for tensor, name, *_ in self._held]

    def refusal(self, arguments: Sequence[Any]) -> Change | None:
        """What is not as it was when this was recorded; None: nothing."""
        guard = self.guards.first_changed()
        if guard is not None:
            return Change(guard.text, guard.line, guard.told, shown(guard.now()))
        for tensor, is_wanted in self._wanted:
            if tensor.requires_grad is not is_wanted:
                change = self._change_of_history()
                if change is not None:
                    return change
        for numbers in self._counted:
            if not numbers.is_one():
                return Change(f"{numbers}", "", "equal numbers", "others")
        for place, had_one in self._leaves:
            if (place.tensor(arguments).grad is not None) is not had_one:
                is_there = ("None", "a gradient")
                return Change(f"{place}.grad", "", is_there[had_one], is_there[not had_one])
        for tensor, original in self._constants:
            if tensor.__wrapped__ is not original:
                return Change("a constant tensor", "", "what was captured", "another value")
        for index, tensor in self._aliases:
            if arguments[index] is not tensor:
                return Change(f"argument {index}", "", "a tensor of the function", "another")
        if self._apart and any(id(x) in self._apart for x in arguments):
            return Change("an argument", "", "no tensor of the function", "one of them")
        return None

    def _change_of_history(self) -> Change | None:
        for tensor, name, _, _, is_wanted in self._held:
            if tensor.requires_grad is is_wanted:
                continue
            if is_differentiated(tensor.__wrapped__) is not is_wanted:
                return Change(f"{name}.requires_grad", "", f"{is_wanted}", f"{not is_wanted}")
        return None

    def misfit(self) -> Change | None:
        """What is of another shape or dtype of the tensors that the function met."""
        for tensor, name, shape, dtype, _ in self._held:
            value = tensor.__wrapped__
            if value.shape != shape or value.dtype is not dtype:
                return Change(name, "", f"{dtype.name}{shape}", f"{value.dtype.name}{value.shape}")
        return None

    def plain_state(self) -> tuple[Any, ...] | None:
        """What counts beside shapes, dtypes and guards, for calls on plain values.

        That is which derivatives were wanted of the tensors that the function met, which places had
        a gradient, and which tensors an argument must not be. None: more counts.
        """
        has_more = self.reads or self._constants or self._aliases or self._follows_elements
        # What has a history is bound otherwise than a value.
        leaves_history = any(a.output is not None and self.lives[a.output] for a in self.assigned)
        if has_more or leaves_history:
            return None
        leaves = [(place.said(), had_one) for place, had_one in self._leaves]
        apart = [row[0] for row in self._held if id(row[0]) in self._apart]
        return tuple(self._wanted), tuple(leaves), tuple(apart)

    def takes(self, shapes: Sequence[Any]) -> bool:
        """Whether the program runs for arguments of these shapes."""
        known = tuple(shapes)
        if self._follows_elements:
            return True
        if known not in self._taken:
            given = [
                _C.ShapeTensor(shapes[p.index], self.compiled.dtype(n))
                if isinstance(p, ArgumentPlace)
                else _C.ShapeTensor(self.compiled.shape(n), self.compiled.dtype(n))
                for n, p in self.inputs
            ]
            try:
                self.op.stretch.infer(given)
                self._taken[known] = True
            except _C.TensorlikeError:
                self._taken[known] = False
        return self._taken[known]

    def compile(self) -> None:
        """After the recording: the program as passes make it, as an op."""
        passes = _EXACT if self.reads else self._options.get("passes")
        level = self._options.get("opt_level", 1)
        compiled = CompiledProgram(self.listing, passes, opt_level=level)
        # Nobody differentiates a program without history, and a cut would be a copy.
        uncut = [
            number if self.has_history else self.listing.uncut(number) for number in self.outputs
        ]
        symbols = [self.listing.symbol(number) for number in uncut]
        program, numbers = compiled.optimised(symbols)
        self.compiled = program
        given = [n for n, (_, role, _) in enumerate(program.variables()) if role == "input"]
        read = read_by(program, numbers)
        pairs = list(zip(given, self.all_inputs, strict=True))
        self.arguments = [n for n, (_, place) in pairs if isinstance(place, ArgumentPlace)]
        self.inputs = [(n, place) for n, (_, place) in pairs if n in read]
        is_usual = passes is None and level > 0  # else somebody has said what may be done
        derived = _OF_GRADIENTS if is_usual else ()
        self.op = Call(program, [n for n, _ in self.inputs], numbers, derived)
        self.places = [place for _, place in self.inputs]
        # Where sizes follow from elements each step gets its attributes when it runs.
        self._follows_elements = self.listing.follows_elements
        if self._follows_elements:
            self.inputs = [(n, place) for n, (_, place) in pairs]
            self.places = [place for _, place in self.inputs]
        self._outputs_compiled = numbers

    def values(self, arguments: Sequence[Any]) -> list[Any]:
        """The values of the inputs by now."""
        with apart():
            found = [place.find(arguments) for place in self.places]
        if self.has_history:
            return found
        return [x if type(x) is _C.RawTensor else stopped(x) for x in found]

    def run(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The results of the program for the tensors of a call."""
        values = self.values(arguments)
        if self._follows_elements:
            found: Sequence[Any] = self.compiled.values(self._outputs_compiled, tuple(values))
        elif not self.has_history:
            return self.op(*values)
        elif self._options.get("recompute"):
            found = self._recomputed(values)
        else:
            found = self.op(*values)
        return [y if lives else stopped(y) for y, lives in zip(found, self.lives, strict=True)]

    def _recomputed(self, values: Sequence[Any]) -> Sequence[Any]:
        """The results, whose gradient runs the program once more."""
        run = checkpoint(lambda *xs: [Tensor(y) for y in self.op(*map(unwrapped, xs))])
        return [unwrapped(y) for y in run(*map(Tensor, values))]

    def finish(
        self, arguments: Sequence[Any], found: Sequence[Any], given: Given | None = None
    ) -> Any:
        """Assigns what a run changes, all or nothing, and returns what the function returns."""
        with apart():
            if self.assigned:
                with _C.Journal() as journal:
                    for place, output in self.assigned:
                        place.assign(arguments, None if output is None else found[output])
                    journal.keep()
            return self.assembled([self._made(r, arguments, found) for r in self.results], given)

    def assembled(self, made: Sequence[Any], given: Given | None = None) -> Any:
        """Puts what the function leaves behind, and returns what it returns.

        Args:
            made: the tensors of both, each once.
            given: the arguments; None: nothing is left in them.
        """
        leaves = [made[i] for i in self.leaves]
        put_all(self.stores, unflatten(self.stored, leaves[self.count :]), given)
        return with_same(unflatten(self.treedef, leaves[: self.count]), self.same, given)

    def returned(self) -> list[Result]:
        """The tensors that the function returns, by their places in what it returns."""
        return [self.results[i] for i in self.leaves[: self.count]]

    @staticmethod
    def _made(result: Result, arguments: Sequence[Any], found: Sequence[Any]) -> Any:
        if result.place is not None:
            return result.place.tensor(arguments)
        value = found[result.output]
        return value if result.kind is None else result.kind(value)

    def values_of_recording(self) -> Sequence[Any]:
        """The results in the call that was recorded."""
        found, self._shadows = self._shadows, []
        self._is_symbolic = self._recording.is_symbolic
        del self._recording
        return found

    def finish_recording(self, arguments: Sequence[Any], found: Sequence[Any], given: Given) -> Any:
        """What the call that was recorded leaves behind and returns."""
        return self.finish(arguments, self.run(arguments) if self._is_symbolic else found, given)


def _is_tensor_like(x: Any) -> bool:
    return isinstance(x, _C.TensorBase)

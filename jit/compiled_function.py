"""CompiledFunction: a function of Python that runs as programs, one for each kind of call.

A call is looked up by its signature; a program that was recorded for one like it runs, if nothing
that the recording depended on has changed; else the function runs once more, and is recorded.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from ..functional.arguments import integer
from ..imperative.random import default_stream
from ..inspection.profiler import profile
from .around_function import AroundFunction
from .concrete_program import ConcreteProgram
from .errors import RetraceWarning, TraceMismatchError, Untraceable
from .failed_runs import Failure, run
from .input_spec import InputSpec, check_all, example_arguments
from .options import check
from .places import ArgumentPlace, HeldPlace
from .program_cache import KindOfCall, Pattern, ProgramCache, Programs, explained
from .putting_back import Before
from .python_guards import Change
from .quick_call import NamedGuard, with_first
from .reading import Reading
from .recorded_program import RecordedProgram
from .recording import Recording, apart, current_recording, says_excluded
from .signature import argument_names, is_of_another_program, refuse_kept_sizes, signature
from .state import copied
from .strict_replay import refuse_other

# So often the same line may be the reason to record again; then calls run at once.
_MOST_CHANGES = 5
# Options with which each call goes the long way.
_ALWAYS_LONG = ("input_spec", "strict", "profiling", "recompute")


class CompiledFunction(AroundFunction, _C.QuickCaller):
    """A function that runs as programs, which its calls record; made by `trace`.

    Attributes:
        __wrapped__: the function.
        is_enabled: whether calls run as programs; else the function is called.
    """

    _made_by = "trace"

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        input_spec: Sequence[InputSpec] | None = None,
        cache_size: int = 64,
        capture_as_const: bool = False,
        symbolic: bool = False,
        on_change: str = "record",
        opt_level: int = 1,
        strict: bool = False,
        profiling: bool = False,
        recompute: bool = False,
    ) -> None:
        """Nothing is recorded before the first call."""
        check(self._made_by, function, input_spec, on_change)
        functools.update_wrapper(self, function, updated=())
        self.__wrapped__ = function
        self.is_enabled = True
        self.input_spec = None if input_spec is None else tuple(input_spec)
        self.cache_size = integer("trace", "cache_size", cache_size, least=1)
        self._options: dict[str, Any] = {
            "input_spec": input_spec, "cache_size": cache_size, "symbolic": symbolic,
            "capture_as_const": capture_as_const, "on_change": on_change,
            "opt_level": integer(self._made_by, "opt_level", opt_level, least=0),
            "strict": strict, "profiling": profiling, "recompute": recompute,
        }  # fmt: skip
        self._programs = ProgramCache(self.cache_size)
        self._profile: profile | None = None
        self._last: RecordedProgram | None = None
        self._served: RecordedProgram | None = None  # the last call
        self._in_pieces: tuple[Callable[..., Any], Sequence[Any]] | None = None
        self._is_looked_at = False

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives, where the core has found no quick way."""
        if not self.is_enabled or current_recording() is not None:
            return self.recorded_form()(*args, **kwargs)  # a part of what is recorded
        if not self._is_looked_at:  # so that excluded code is never recorded
            self._is_looked_at, self._in_pieces = True, self._cut(only_by_name=True)
        if self._in_pieces is not None:
            return self._in_pieces[0](*args, **kwargs)
        if not self._options["profiling"]:
            return self._call(args, kwargs)
        self._profile = profile()
        with self._profile:
            return self._call(args, kwargs)

    def _failed(self, error: Exception, args: tuple[Any, ...]) -> Any:
        """Raises what a quick call for these arguments has raised."""
        raise error

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = self._kind(args, kwargs)
        if is_of_another_program(args, kwargs, call.shapes):
            return self.recorded_form()(*args, **kwargs)
        programs = call.programs
        if programs.eager_because is not None:
            return self.__wrapped__(*args, **kwargs)
        fitting, pattern = self._fitting(call)
        if self._options["strict"] and fitting:
            made, found = self._record(call, pattern)
            refuse_other(fitting[0], made, self._name())
            return made.finish_recording(call.tensors, found, call.given)
        found, change = self._replayed(fitting, call)
        if found is not NotImplemented:
            if not kwargs:
                self._try_quick(call)
            return found
        if isinstance(change, Failure):  # if it is the function's own, it comes again
            programs.fixed.add(call.shapes)
            pattern = None
        elif change is not None and self._gives_up(programs, change):
            return self.__wrapped__(*args, **kwargs)
        with apart():
            return self._recorded(self._kind(args, kwargs), pattern, change)

    def _kind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> KindOfCall:
        """What kind of call it is, by the arguments and by what the function keeps itself."""
        with apart():
            return self._kind_now(args, kwargs)

    def _kind_now(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> KindOfCall:
        tensors, key, shapes = signature(args, kwargs)
        programs = self._programs.group(key)
        if programs.eager_because is not None or not programs.state.names:
            return KindOfCall((args, kwargs), (), tensors, len(tensors), shapes, programs)
        state, kept, count = programs.state, programs.state.values(), len(tensors)
        tensors, key, shapes = signature(args, kwargs, kept)
        if key not in self._programs and state.is_new_kind_too_many():
            self._stop_tracing(programs, "what it keeps itself is of another kind in each call")
        else:
            programs = self._programs.group(key, state)
        return KindOfCall((args, kwargs), list(map(copied, kept)), tensors, count, shapes, programs)

    def _try_quick(self, call: KindOfCall) -> None:
        """From now on calls like the one that a program has just served go the quick way first."""
        served = self._served
        if served is not None and not any(map(self._options.get, _ALWAYS_LONG)):
            given = (*call.given[0], *call.kept)
            self._quick = with_first(tuple(self._quick), served, given, self._switches())

    def _switches(self) -> list[NamedGuard]:
        """What must be so for calls to run as programs."""
        return [(vars(self), "is_enabled", True)]

    def _fitting(self, call: KindOfCall) -> tuple[list[RecordedProgram], Pattern | None]:
        if self.input_spec is None:
            return call.programs.for_shapes(call.shapes)
        check_all(self.input_spec, call.tensors[: call.arguments], self._name())
        asked = tuple([spec.shape for spec in self.input_spec])
        return call.programs.for_shapes(call.shapes, asked + call.shapes[call.arguments :])

    def _name(self) -> str:
        return getattr(self.__wrapped__, "__name__", type(self.__wrapped__).__name__)

    def _replayed(
        self, programs: list[RecordedProgram], call: KindOfCall
    ) -> tuple[Any, Change | None]:
        """What a program gives; NotImplemented, and why the last one is not for this call."""
        known: list[Any] = []
        change = None
        for program in tuple(programs):
            with apart():
                refusal = program.refusal(call.tensors)
            if refusal is not None:
                change = refusal
                continue
            if not program.reads.agree(known):
                continue
            found, state, refusal = run(program, call.tensors)
            if refusal is not None:
                change = refusal
                continue
            differing = program.reads.differing(found)
            if differing is None:
                program.long_calls += 1
                self._served = program
                if program is not programs[0]:  # it is likely to serve the next call, too
                    programs.remove(program)
                    programs.insert(0, program)
                return program.finish(call.tensors, found, call.given), None
            assert state is not None
            default_stream.give_back(state)
            known = program.reads.values(found)[: differing + 1]
            change = program.reads.change(differing, found)
        return NotImplemented, change

    def _gives_up(self, programs: Programs, change: Change) -> bool:
        """Whether calls run at once from now on, since the same line changes in every call.

        Raises:
            TraceMismatchError: what was recorded must not change.
        """
        if self._options["on_change"] == "error":
            raise TraceMismatchError(
                "what was read when the function was recorded must stay as it was",
                op=self._name(), got=str(change), fix="trace it with on_change='record'",
            )  # fmt: skip
        if programs.repeats(f"{change.what} {change.line}") <= _MOST_CHANGES:
            return False
        self._stop_tracing(programs, f"it would be another program each time: {change}")
        return True

    def _stop_tracing(self, programs: Programs, why: str) -> None:
        programs.eager_because, self._quick = why, ()
        for program in programs.all():
            programs.forget(program)
        warnings.warn(
            f"{self._name()}: calls of this kind are not run as a program: {why}",
            RetraceWarning,
            stacklevel=5,
        )

    def _recorded(self, call: KindOfCall, pattern: Pattern | None, change: Change | None) -> Any:
        """Calls the function, and keeps the program that its ops are."""
        programs, (args, kwargs) = call.programs, call.given
        state, before, why = default_stream.state(), Before(), ""
        try:
            try:
                made, found = self._record(call, pattern, before)
                is_right = pattern is None or made.takes(call.shapes)
                refuse_kept_sizes(made.listing)
            except Exception as error:
                is_told = self.input_spec is None or isinstance(error, _C.ShapeError)
                if pattern is None or not is_told or isinstance(error, Untraceable):
                    raise
                is_right, why = False, f": {error}"  # perhaps the function's own: it comes again
            if not is_right:  # what it does with sizes takes numbers
                default_stream.give_back(state)
                before.put_back()
                programs.fixed.add(call.shapes)
                made, found = self._record(call, None)
                made.cause, pattern = f"sizes that no program with unknown sizes takes{why}", None
        except Untraceable as reason:
            default_stream.give_back(state)
            before.put_back()
            self._stop_tracing(programs, str(reason))
            return self.__wrapped__(*args, **kwargs)
        if change is not None:
            made.cause = str(change)
        elif pattern is not None and self.input_spec is None:
            made.cause = "other sizes, which are unknown in this program"
        self._last = made
        is_last_time = made.listing.settle_kept() or programs.state.add(made.state_found)
        if made.excluded and not self._options["strict"]:
            programs.eager_because = "a part of the function is excluded from the trace"
            self._in_pieces = self._cut()
        elif not (made.is_once or is_last_time):
            self._keep(call, pattern, made)
        elif not made.state_found and programs.repeats("kept") > _MOST_CHANGES:
            self._stop_tracing(programs, "it keeps tensors where no program reaches")
        return made.finish_recording(call.tensors, found, call.given)

    def _record(
        self,
        call: KindOfCall,
        pattern: Pattern | None,
        before: Before | None = None,
        *,
        is_symbolic: bool = False,
    ) -> tuple[RecordedProgram, Any]:
        args, kwargs = call.given
        tensors, state = call.tensors, call.programs.state
        reading = Reading(Before() if before is None else before, state if call.kept else None)
        reading.call(self.__wrapped__, args, kwargs, tensors)
        # What earlier recordings met will be met again.
        reading.tensors += [pair for one in call.programs.all() for pair in one.held()]
        names = argument_names(self.__wrapped__, args, kwargs, tensors[: call.arguments])
        kept_names = [f"kept_{i}" for i in range(len(tensors) - call.arguments)]
        recording = Recording(
            self._options["capture_as_const"], is_symbolic or self._options["symbolic"]
        )
        with recording.going_on():
            for index, (x, name) in enumerate(zip(tensors, names + kept_names, strict=True)):
                sizes = None if pattern is None else pattern[index]
                recording.bind(x, ArgumentPlace(index), name, sizes)
            if not recording.captures:
                for name, x in reading.tensors:
                    if id(x) not in recording.touched:
                        recording.bind(x, HeldPlace(x, name), name)
            result = self.recorded_form()(*args, **kwargs)
            made = RecordedProgram(recording, result, reading, self._options, call.given)
        made.names = names
        made.compile()
        return made, made.values_of_recording()

    def recorded_form(self) -> Callable[..., Any]:
        """What is run to be recorded: the function, or one that does the same."""
        return self.__wrapped__

    def _cut(self, *, only_by_name: bool = False) -> Any:
        """The function in pieces around what is excluded, and these; None: it has none such."""
        if any(map(self._options.get, ("input_spec", "symbolic", "profiling", "strict"))):
            return None
        function = getattr(self.__wrapped__, "__func__", self.__wrapped__)
        code = getattr(function, "__code__", None)
        if code is None or (only_by_name and not says_excluded(code)):
            return None
        from .pieces import in_pieces  # which are functions of this kind

        names = ("cache_size", "capture_as_const", "opt_level", "recompute")
        return in_pieces(self.__wrapped__, {name: self._options[name] for name in names})

    def _keep(self, call: KindOfCall, pattern: Pattern | None, made: RecordedProgram) -> None:
        if pattern is None:
            call.programs.by_shapes.setdefault(call.shapes, []).append(made)
        else:
            call.programs.by_pattern.setdefault(pattern, []).append(made)
        if self._programs.forget_oldest():
            self._quick = ()

    def concrete(self, *args: Any, **kwargs: Any) -> ConcreteProgram:
        """The function for one kind of call as a static program, for files and exporters.

        Nothing is changed by it.

        Args:
            args: tensors, or an `InputSpec` in the place of each; none at all: the call that was
                recorded last.
            kwargs: the same by name.

        Raises:
            ArgumentError: there was no call, or the function changes more than buffers.
        """
        if not args and not kwargs:
            if self.input_spec is not None:
                args = self.input_spec
            elif self._last is not None:
                return ConcreteProgram(self._last, self._last.names)
        made_args, made_kwargs, specs = example_arguments(args, kwargs)
        tensors, _, _ = signature(made_args, made_kwargs)
        if not tensors and not args and self._last is None:
            raise _C.ArgumentError(
                "must have been called, or be given what it is called with", op="concrete",
                argument="args", got="nothing", fix="call it first, or pass an InputSpec",
            )  # fmt: skip
        pattern = tuple([spec.shape for spec in specs]) if len(specs) == len(tensors) else None
        state, before = default_stream.state(), Before()
        try:
            call = KindOfCall((made_args, made_kwargs), (), tensors, len(tensors), (), Programs())
            made, _ = self._record(call, pattern, before, is_symbolic=bool(specs))
        except Untraceable as reason:
            raise reason.as_error("concrete") from reason
        finally:
            default_stream.give_back(state)
            before.put_back()
        given = [spec.name for spec in specs] if pattern is not None else [None] * len(tensors)
        return ConcreteProgram(made, [a or b for a, b in zip(given, made.names, strict=True)])

    def dump(self, path: Any, *args: Any, for_inference: Any = False, **kwargs: Any) -> Any:
        """Writes the program of a call as `jit.save` does; returns what was written.

        Args:
            path: the file.
            args: as `concrete` takes them, like `kwargs`.
            for_inference: as `jit.save` takes it.
            kwargs: see there.
        """
        from .saved import write

        return write(self.concrete(*args, **kwargs), path, for_inference)

    def get_profile(self) -> profile | None:
        """What the last call launched, where it is traced with ``profiling=True``."""
        return self._profile

    def programs(self) -> list[RecordedProgram]:
        """The programs that there are, in the order of their making."""
        return self._programs.programs()

    def why(self) -> str:
        """The programs in the cache, and for each why it was made and what it depends on.

        Example:
            >>> import tensorlike as tl
            >>> double = tl.jit.trace(lambda x: x * 2)
            >>> _ = double(tl.tensor([1.0]))
            >>> print(double.why())
            program 0 of 2 ops: the first call of its kind
        """
        told = [explained(self.programs(), self._programs.eager_reasons())]
        told += ["a part of the function is excluded from the trace"] if self._in_pieces else []
        for number, piece in enumerate(self._in_pieces[1] if self._in_pieces else ()):
            told.append(f"piece {number}:\n{piece.why()}")
        return "\n".join(told)

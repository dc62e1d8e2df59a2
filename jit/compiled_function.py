"""CompiledFunction: a function of Python that runs as programs, one for each kind of call.

A call is looked up by its signature; a program that was recorded for one like it runs, if nothing
that the recording depended on has changed; else the function runs once more, and is recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from ..functional.arguments import integer
from ..imperative.random import default_stream
from .places import ArgumentPlace
from .recorded_program import RecordedProgram
from .recording import Recording, current_recording
from .signature import signature


class Family:
    """The programs for calls of one signature, by shapes."""

    def __init__(self) -> None:
        self.programs: dict[Any, list[RecordedProgram]] = {}

    def count(self) -> int:
        """How many programs there are."""
        return sum(map(len, self.programs.values()))


class CompiledFunction:
    """A function that runs as programs, which its calls record; made by `trace`.

    Attributes:
        __wrapped__: the function.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        input_spec: Any = None,
        cache_size: int = 64,
        capture_as_const: bool = False,
        opt_level: int = 1,
    ) -> None:
        """Nothing is recorded before the first call."""
        functools.update_wrapper(self, function, updated=())
        self.__wrapped__ = function
        self.input_spec = input_spec
        self.cache_size = integer("CompiledFunction", "cache_size", cache_size, least=1)
        self._captures = capture_as_const
        self._options = {"opt_level": opt_level}
        self._families: dict[Any, Family] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives for these arguments, by a program."""
        if current_recording() is not None:  # a part of the function that is recorded
            return self.__wrapped__(*args, **kwargs)
        tensors, key, shapes = signature(args, kwargs)
        family = self._families.get(key)
        if family is None:
            family = self._families[key] = Family()
        programs = family.programs.setdefault(shapes, [])
        found = self._replayed(programs, tensors)
        if found is not NotImplemented:
            return found
        return self._recorded(programs, tensors, args, kwargs)

    def _replayed(self, programs: list[RecordedProgram], tensors: Sequence[Any]) -> Any:
        """What one of the programs gives; NotImplemented: none is for this call."""
        known: list[Any] = []
        state = default_stream.state()
        for program in programs:
            if not program.agrees(known):
                continue
            found = program.run(tensors)
            differing = program.differing(found)
            if differing is None:
                return program.finish(tensors, found)
            default_stream.give_back(state)
            known = program.read_values(found)[: differing + 1]
        return NotImplemented

    def _recorded(
        self,
        programs: list[RecordedProgram],
        tensors: Sequence[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        recording = Recording(self._captures)
        with recording.going_on():
            for index, x in enumerate(tensors):
                recording.bind(x, ArgumentPlace(index), f"x{index}")
            result = self.__wrapped__(*args, **kwargs)
            made = RecordedProgram(recording, result, self._options)
        found = made.finish_recording(tensors)
        made.compile()
        programs.append(made)
        self._forget_oldest()
        return found

    def _forget_oldest(self) -> None:
        count = sum(family.count() for family in self._families.values())
        for family in list(self._families.values()):
            for shapes in list(family.programs):
                while count > self.cache_size and family.programs[shapes]:
                    family.programs[shapes].pop(0)
                    count -= 1
                if not family.programs[shapes]:
                    del family.programs[shapes]

    def programs(self) -> list[RecordedProgram]:
        """The programs that there are, in the order of their making."""
        return [
            program
            for family in self._families.values()
            for programs in family.programs.values()
            for program in programs
        ]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """On an instance a method, with programs of its own."""
        if instance is None:
            return self
        held = getattr(instance, "__dict__", None)
        if held is None:
            return functools.partial(self, instance)
        bound = held.setdefault("_compiled_methods", {})
        name = self.__wrapped__.__name__
        if name not in bound:
            bound[name] = self._over(MethodType(self.__wrapped__, instance))
        return bound[name]

    def _over(self, function: Callable[..., Any]) -> CompiledFunction:
        """The same around another function."""
        return CompiledFunction(
            function, input_spec=self.input_spec, cache_size=self.cache_size,
            capture_as_const=self._captures, **self._options,
        )  # fmt: skip

    def __repr__(self) -> str:
        """What it is around."""
        name = getattr(self.__wrapped__, "__qualname__", type(self.__wrapped__).__name__)
        return f"{type(self).__name__}({name})"

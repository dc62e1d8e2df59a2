"""ConcreteProgram: what was recorded, as a static program: what files and exporters take.

Arguments are its inputs; what the function met beside them, parameters and buffers say, are its
states, which are assigned what the function makes of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _C
from ..imperative.levels import stopped, unwrapped
from ..static import Program, Scope
from ..static.copying import Copier
from ..static.numbers import is_unnamed
from .errors import FrozenValueWarning
from .places import ArgumentPlace, HeldPlace, Place, TensorPlace
from .recorded_program import RecordedProgram
from .result_names import names_of
from .signature import signature


class ConcreteProgram:
    """A function for one kind of call as a static program.

    Attributes:
        program: the program; its lines are the user's.
        inputs: the names of its inputs, in the order of the arguments.
        results: the variables that the function returns, by names that say where in what it
            returns: ``result``, ``result(1)`` in a tuple, ``result[0]`` in a list,
            ``result['loss']`` in a dict; `jit.result_names` has them all.
        structure: what it returns, with marks in the place of tensors.
        states: the tensors that it met beside its arguments, by the names of the states.
    """

    def __init__(self, made: RecordedProgram, names: Sequence[str]) -> None:
        """Of what was recorded; `names` are for the arguments."""
        for read in made.reads:
            warnings.warn(
                f"concrete: the program holds only where {read}, since Python read that; "
                "functional.cond, or to_static, makes both ways a part of it",
                FrozenValueWarning,
                stacklevel=4,
            )
        copier = _Copier(made, names)
        self.program: Program = copier.copied()
        self.inputs = tuple(copier.inputs)
        self.states: dict[str, Any] = copier.states
        self.results: dict[str, Any] = {}
        self.structure = made.treedef
        for name, result in zip(names_of(made.treedef), made.returned(), strict=True):
            if result.place is None:
                old = made.outputs[result.output]
            else:
                old = copier.number_at(result.place)
            self.results[name] = self.program.symbol(copier.number(old))

    def scope(self) -> Scope:
        """A scope that has the values of the states by now."""
        scope = Scope()
        for name, tensor in self.states.items():
            scope.set(name, stopped(unwrapped(tensor)))
        return scope

    def numbers(self) -> Mapping[str, int]:
        """The results as numbers of variables; of a state, what it becomes."""
        assigned = self.program.assigned()
        return {name: assigned.get(y.number, y.number) for name, y in self.results.items()}

    def __repr__(self) -> str:
        return f"ConcreteProgram({', '.join(self.inputs)} -> {', '.join(self.results)})"


class _Copier(Copier):
    """Copies what was recorded, with states in the place of what is no argument."""

    source: Any

    def __init__(self, made: RecordedProgram, names: Sequence[str]) -> None:
        super().__init__(made.listing, is_whole=False)
        self.target = Program()
        self._made = made
        self._names_of_arguments = names
        self._places = {number: self._outside(place) for number, place in made.all_inputs}
        self.inputs: list[str] = []
        self.states: dict[str, Any] = {}

    def copied(self) -> Program:
        """The program, with all arguments as inputs and what becomes of states."""
        for number, place in self._places.items():
            if isinstance(place, ArgumentPlace):
                self.number(number)
        for at in range(len(self.steps)):
            if self._is_needed(at):
                self.step(at)
        for place, output in self._made.assigned:
            if isinstance(place, HeldPlace) and output is not None:
                state = self.number(self.number_at(place))
                _C.assign_state(self.target, state, self.number(self._made.outputs[output]))
            else:
                raise _C.ArgumentError(
                    "a function that is saved may change parameters and buffers alone", op="save",
                    got=f"one that sets the {place!r}", fix="save the layer, not its training step",
                )  # fmt: skip
        for text, pairs in self._made.exchanged:
            self._exchange(text, pairs)
        return self.finish()

    def _outside(self, place: Place) -> Place:
        """What the function keeps itself is a state of the program."""
        index = place.index if isinstance(place, ArgumentPlace) else -1
        if index < len(self._names_of_arguments):
            return place
        kept, _, _ = signature((), {}, [name.value() for name in self._made.kept])
        return HeldPlace(kept[index - len(self._names_of_arguments)], f"kept_{index}")

    def _exchange(self, text: str, pairs: list[tuple[int, int]] | None) -> None:
        """A name of the function's state is a state, which gets what the function puts there.

        Raises:
            ArgumentError: it is not of one kind.
        """
        for old, output in [(-1, -1)] if pairs is None else pairs:
            new = self._made.outputs[output]
            if pairs is None or self.source.describe(old) != self.source.describe(new):
                raise _C.ArgumentError(
                    "what a saved function keeps must be of one kind, before it and behind it",
                    op="save", got=f"{text}, which it replaces by another kind",
                    fix="set it to a tensor of that shape before",
                )  # fmt: skip
            _C.assign_state(self.target, self.number(old), self.number(new))

    def _is_needed(self, at: int) -> bool:
        return not self._made.needed.isdisjoint(self.steps[at][2])

    def number_at(self, place: TensorPlace) -> int:
        """The variable of the source that a tensor's place was at first."""
        return next(number for number, other in self._made.all_inputs if other is place)

    def number(self, old: int) -> int:
        """An argument is an input, any other tensor a state."""
        if old in self.numbers or old not in self._places:
            return super().number(old)
        place = self._places[old]
        if isinstance(place, ArgumentPlace):
            name = self._names_of_arguments[place.index]
            made = self.add_input(name, old)
            self.inputs.append(name)
        elif isinstance(place, HeldPlace):
            name = self._free_name(place.name)
            made = _C.add_state(self.target, name, self.source.shape(old), self.source.dtype(old))
            self.states[name] = place.held
        else:
            raise _C.ArgumentError(
                "a function that is saved may read arguments, parameters and buffers alone",
                op="save", got=f"one that reads the {place!r}",
                fix="save the layer, not its training step",
            )  # fmt: skip
        self.numbers[old] = self.results[old] = made
        return made

    def _free_name(self, name: str) -> str:
        base = f"state{name}" if is_unnamed(name) else name.removeprefix("self.")
        found, count = base, 0
        while self.target.find(found) is not None:
            count += 1
            found = f"{base}_{count}"
        return found

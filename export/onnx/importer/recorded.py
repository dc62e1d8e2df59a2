"""Recorded: the program that a graph of ONNX is, for inputs of given dtypes and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from .... import _C, static
from ....imperative import Tensor
from ....imperative.blocks import is_symbolic
from ....imperative.levels import unwrapped
from ....static.numbers import is_unnamed
from .file import ModelFile, Port
from .narrow_types import Narrow
from .running import Run
from .sizes import Sizes


class Recorded:
    """A program that was made of a model, with its results.

    Attributes:
        program: it.
        scope: the values of its states.
        results: what the outputs are: variables, lists of them, None.
        is_shown: whether others have the scope, and may set values there.
    """

    def __init__(
        self, file: ModelFile, ports: Sequence[Port], fixed: Mapping[str, Any] | None = None
    ) -> None:
        """Records the graph on inputs like these.

        Args:
            file: the model.
            ports: its inputs.
            fixed: inputs that are constants, by name.

        Raises:
            NumberNeeded: the graph needs numbers that only a run knows.
            TensorlikeError: an op refuses what it is given.
        """
        self.program, self.scope = static.Program(), static.Scope()
        self.is_shown = False
        self._fixed = dict(fixed or {})
        graph = file.graph
        names = _variable_names([*graph.inputs, *graph.constants])
        states = {
            name: value
            for name, value in graph.constants.items()
            if isinstance(value, Tensor) and value.dtype.kind == "floating"
        }
        kept = {name: Tensor(unwrapped(value)) for name, value in states.items()}
        with static.program_guard(self.program, static.Program()):
            given = [self._input(port, names[port.name]) for port in ports]
            static.keep(list(kept.values()), [names[name] for name in kept])
            run = Run(graph, is_recording=True)
            run.values.update(kept)
            run.known.update(states)
            self.results = [self._result(value) for value in run.run(given)]
        for name, value in states.items():
            self.scope.set(names[name], value)
        self._rename(graph.outputs)
        self._inputs = [
            (i, names[port.name]) for i, port in enumerate(ports) if port.name not in self._fixed
        ]
        self._states = [names[name] for name in states]
        self._is_flat = all(isinstance(value, _C.TensorBase) for value in self.results)
        self._made: tuple[Any, list[int], list[Any]] | None = None
        self._op: static.ProgramOp | None = None

    def _input(self, port: Port, name: str) -> Any:
        if port.name in self._fixed:
            return self._fixed[port.name]
        value = Tensor(static.data(name, port.shape or (), port.dtype))
        return Narrow(value, port.number) if port.is_narrow else value

    def _result(self, value: Any) -> Any:
        """The variable that a result is."""
        if isinstance(value, list):
            return [self._result(one) for one in value]
        if isinstance(value, (Narrow, Sizes)):
            value = value.tensor if isinstance(value, Narrow) else value.as_tensor()
        if value is None:
            return None
        symbol = unwrapped(value)
        if not is_symbolic(value):
            symbol = self.program.symbol(self.program.capture(symbol))
        return symbol

    def _rename(self, outputs: Sequence[str]) -> None:
        """Gives results the names of the model's outputs, where no others have them."""
        for name, value in zip(outputs, self.results, strict=True):
            if isinstance(value, static.Variable) and is_unnamed(value.name):
                with suppress(_C.ArgumentError):
                    self.program.check_name(name)
                    self.program.rename_result(value.number, name)

    @property
    def op(self) -> static.ProgramOp:
        """The program as an op."""
        if self._op is None:
            self._op = static.program_op(self.program, self.results, self.scope)
        return self._op

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results for these inputs, tensors in the order of the ports."""
        plain = {name: unwrapped(values[i]) for i, name in self._inputs}
        if not self._is_flat or any(type(value) is not _C.RawTensor for value in plain.values()):
            found: list[Any] = self.op(*(values[i] for i, _ in self._inputs))
            return found
        program, numbers = self._optimised()
        return [Tensor(x) for x in _C.execute(program, plain, numbers, self.scope, False)]

    def _optimised(self) -> tuple[Any, list[int]]:
        """The program after passes, in which states are constants; made anew when one changes."""
        if self._made is not None and (not self.is_shown or self._made[2] == self._held()):
            return self._made[0], self._made[1]
        compiled = static.CompiledProgram(self.program, scope=self.scope)
        program, numbers = compiled.optimised(self.results)
        self._made = program, numbers, self._held()
        return program, numbers

    def _held(self) -> list[_Same]:
        """What tells the values of the states from others."""
        return [_Same(self.scope.find(name)) for name in self._states]


class _Same:
    """Equal to what holds the same object; it keeps that alive, so that no other has its place."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]


def _variable_names(names: Sequence[str]) -> dict[str, str]:
    """Names of ONNX as names of variables: those of a program's own kind are told apart."""
    return {name: f"onnx.{name}" if is_unnamed(name) else name for name in names}

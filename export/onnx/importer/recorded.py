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
from .graph import Graph
from .narrow_types import Narrow
from .running import Run
from .sizes import Sizes


class Recorded:
    """A program that was made of a model, with its results.

    Attributes:
        program: it.
        scope: the values of its states.
        results: what the outputs are: variables, lists of them, None.
    """

    def __init__(
        self, file: ModelFile, ports: Sequence[Port], *, states: Mapping[str, Any] | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Records the graph on inputs like these.

        Args:
            file: the model.
            ports: its inputs.
            states: initializers that are states of the program, by name.
            constants: values of other initializers, and of inputs that are constants, by name: what
                follows from constants alone is computed while the program is made.

        Raises:
            NumberNeeded: the graph needs numbers that only a run knows.
            TensorlikeError: an op refuses what it is given.
        """
        self.program, self.scope = static.Program(), static.Scope()
        states, fixed = dict(states or {}), dict(constants or {})
        graph = file.graph
        names = variable_names(graph)
        kept = {name: Tensor(unwrapped(value)) for name, value in states.items()}
        with static.program_guard(self.program, static.Program()):
            given = [
                fixed[port.name] if port.name in fixed else _input(port, names[port.name])
                for port in ports
            ]
            static.keep(list(kept.values()), [names[name] for name in kept])
            run = Run(graph, is_recording=True)
            run.values.update(fixed)
            run.values.update(kept)
            run.known.update(states)
            self.results = [self._result(value) for value in run.run(given)]
        for name, value in states.items():
            self.scope.set(names[name], value)
        self._rename(graph.outputs)
        self._inputs = [
            (i, names[port.name]) for i, port in enumerate(ports) if port.name not in fixed
        ]
        self._is_flat = all(isinstance(value, _C.TensorBase) for value in self.results)
        self._made: tuple[Any, list[int]] | None = None
        self._op: static.ProgramOp | None = None

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

    def applied(self, values: Sequence[Any]) -> list[Any]:
        """The results for these inputs, of any kind, by the program as an op."""
        found: list[Any] = self.op(*(values[i] for i, _ in self._inputs))
        return found

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results for these inputs, tensors in the order of the ports.

        Plain ones go through the program after passes; this is for programs without states.
        """
        plain = {name: unwrapped(values[i]) for i, name in self._inputs}
        if not self._is_flat or any(type(value) is not _C.RawTensor for value in plain.values()):
            return self.applied(values)
        if self._made is None:
            self._made = static.CompiledProgram(self.program).optimised(self.results)
        program, numbers = self._made
        return [Tensor(x) for x in _C.execute(program, plain, numbers, self.scope, False)]


def _input(port: Port, name: str) -> Any:
    value = Tensor(static.data(name, port.shape or (), port.dtype))
    return Narrow(value, port.number) if port.is_narrow else value


def weights_of(graph: Graph) -> dict[str, Any]:
    """The initializers that become states: those of floating-point dtypes."""
    return {
        name: value
        for name, value in graph.constants.items()
        if isinstance(value, Tensor) and value.dtype.kind == "floating"
    }


def variable_names(graph: Graph) -> dict[str, str]:
    """Names of ONNX as names of variables: those of a program's own kind are told apart."""
    names = (*graph.inputs, *graph.constants)
    return {name: f"onnx.{name}" if is_unnamed(name) else name for name in names}

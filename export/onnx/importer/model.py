"""OnnxModel: what `load` makes of a file, a program where it can be one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any

from .... import _C, static
from ....imperative import Size, Tensor
from ....imperative.blocks import is_symbolic
from ....imperative.levels import unwrapped
from .file import ModelFile, Port
from .narrow_types import Narrow
from .running import NumberNeeded, Run
from .sizes import Sizes
from .tensors import given_tensor

MOST_PROGRAMS = 16  # programs for sizes of inputs that are kept
_STATES = ("floating",)


class Recorded:
    """A program that was made of a model, with its results.

    Attributes:
        program: it.
        scope: the values of its states.
        results: what the outputs are: variables, lists of them, None.
    """

    def __init__(self, file: ModelFile, ports: Sequence[Port]) -> None:
        """Records the graph on inputs like these.

        Raises:
            NumberNeeded: the graph needs numbers that only a run knows.
            TensorlikeError: an op refuses what it is given.
        """
        self.program, self.scope = static.Program(), static.Scope()
        graph = file.graph
        names = _variable_names([*graph.inputs, *graph.constants])
        states = {
            name: value
            for name, value in graph.constants.items()
            if isinstance(value, Tensor) and value.dtype.kind in _STATES
        }
        kept = {name: Tensor(unwrapped(value)) for name, value in states.items()}
        with static.program_guard(self.program, static.Program()):
            given = [
                _marked(static.data(names[port.name], port.shape or (), port.dtype), port)
                for port in ports
            ]
            static.keep(list(kept.values()), [names[name] for name in kept])
            run = Run(graph)
            run.values.update(kept)
            run.known.update(states)
            self.results = [self._result(value) for value in run.run(given)]
        for name, value in states.items():
            self.scope.set(names[name], value)
        for name, value in zip(graph.outputs, self.results, strict=True):
            if isinstance(value, static.Variable) and value.name.startswith("_"):
                with suppress(_C.ArgumentError):
                    self.program.check_name(name)
                    self.program.rename_result(value.number, name)
        self.compiled = static.CompiledProgram(self.program, scope=self.scope)
        self._executor = static.Executor()
        self._names = [names[port.name] for port in ports]
        self._op: Any = None

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

    @property
    def op(self) -> static.ProgramOp:
        """The program as an op."""
        if self._op is None:
            self._op = static.program_op(self.program, self.results, self.scope)
        return self._op

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results for these inputs."""
        plain = [unwrapped(value) for value in values]
        if not all(type(value) is _C.RawTensor for value in plain) or not _is_flat(self.results):
            found: list[Any] = self.op(*values)
            return found
        feed = dict(zip(self._names, plain, strict=True))
        return self._executor.run(
            self.compiled, feed, self.results, self.scope, return_numpy=False
        )


class OnnxModel:
    """A model of ONNX, called like a function.

    Where its shapes follow from the sizes of its inputs, it is one `program`, for all sizes that
    the file leaves open. Otherwise a program is made for each of the sizes that come; and where
    shapes hang on the numbers in tensors, its nodes run one by one.

    Attributes:
        inputs: the names of the inputs.
        outputs: the names of the outputs.
        why: why it is not one program; "" where it is.
    """

    def __init__(self, file: ModelFile) -> None:
        """Of a file that was read."""
        self._file = file
        self.inputs = file.graph.inputs
        self.outputs = file.graph.outputs
        self.why = ""
        self._recorded: Recorded | None = None
        self._sized: dict[Any, Recorded | None] = {}
        try:
            self._recorded = self._record(file.inputs)
        except _C.TensorlikeError as error:
            if not self._is_open() and not isinstance(error, NumberNeeded):
                raise
            self.why = str(error)

    def _is_open(self) -> bool:
        """Whether what an input is, its sizes included, is not all known."""
        return any(
            port.kind != "tensor" or port.shape is None or not all(type(n) is int for n in port.shape)
            for port in self._file.inputs
        )

    def _record(self, ports: Sequence[Port]) -> Recorded:
        for port in ports:
            if port.kind != "tensor" or port.shape is None:
                raise NumberNeeded(
                    "must have a known number of dimensions", op="onnx", argument=port.name,
                    got=port.kind if port.kind != "tensor" else "none",
                )  # fmt: skip
        return Recorded(self._file, ports)

    @property
    def program(self) -> static.Program:
        """The program that it is.

        Raises:
            ArgumentError: it is not one.
        """
        return self._whole().program

    @property
    def scope(self) -> static.Scope:
        """The values of the program's states: its initializers, under their names."""
        return self._whole().scope

    @property
    def results(self) -> list[Any]:
        """The program's variables that are its outputs, in their order."""
        return self._whole().results

    @property
    def compiled(self) -> static.CompiledProgram:
        """The program after passes."""
        return self._whole().compiled

    @property
    def op(self) -> static.ProgramOp:
        """The program as an op: states may be given by their names, and have gradients then."""
        return self._whole().op

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the program and its states; `static.load` reads them.

        Raises:
            ArgumentError: it is not one program.
        """
        whole = self._whole()
        static.save(whole.program, path, [x for x in whole.results if x is not None], whole.scope)

    def _whole(self) -> Recorded:
        if self._recorded is None:
            raise _C.ArgumentError(
                "must be one program for all sizes", op="OnnxModel", got=self.why,
                fix="call it, which needs none",
            )  # fmt: skip
        return self._recorded

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs: one, or a tuple of several.

        Args:
            args: the inputs in their order: tensors, arrays or numbers.
            kwargs: or by their names.
        """
        values = self._bound(args, kwargs)
        found = self._run(values)
        results = tuple(_outside(value) for value in found)
        return results[0] if len(results) == 1 else results

    def named(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name, for inputs by name."""
        found = self._run(self._bound((), inputs))
        return dict(zip(self.outputs, map(_outside, found), strict=True))

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        ports = self._file.inputs
        unknown = [name for name in kwargs if name not in self.inputs]
        given = dict(zip(self.inputs, args, strict=False))
        if unknown or len(args) > len(ports) or given.keys() & kwargs.keys():
            raise _C.ArgumentError(
                f"takes {', '.join(self.inputs) or 'nothing'}", op="OnnxModel",
                got=", ".join(unknown) or f"{len(args)} values and {', '.join(kwargs)}",
            )  # fmt: skip
        given.update(kwargs)
        missing = [
            port.name for port in ports if port.name not in given and port.kind != "optional"
        ]
        if missing:
            raise _C.ArgumentError(
                "must be given", op="OnnxModel", argument=missing[0], got="none"
            )
        return [port.value(given.get(port.name)) for port in ports]

    def _run(self, values: list[Any]) -> list[Any]:
        if all(isinstance(value, (Tensor, Narrow)) for value in values):
            tensors = [value.tensor if isinstance(value, Narrow) else value for value in values]
            if self._recorded is not None:
                try:
                    return self._recorded(tensors)
                except _C.ShapeError:
                    if not self._is_open():
                        raise
            recorded = self._for_sizes(tensors)
            if recorded is not None:
                return recorded(tensors)
        return Run(self._file.graph).run(values)

    def _for_sizes(self, values: Sequence[Any]) -> Recorded | None:
        """The program for these sizes; None: its nodes run one by one."""
        key = tuple(tuple(value.shape) for value in values)
        if any(isinstance(size, Size) for shape in key for size in shape):
            return None
        if key not in self._sized:
            ports = [
                port.of_shape(value.shape)
                for port, value in zip(self._file.inputs, values, strict=True)
            ]
            if len(self._sized) >= MOST_PROGRAMS:
                self._sized.pop(next(iter(self._sized)))
            try:
                self._sized[key] = self._record(ports)
            except NumberNeeded:
                self._sized[key] = None
        return self._sized[key]

    def __repr__(self) -> str:
        """What it takes and gives."""
        return f"OnnxModel({', '.join(self.inputs)} -> {', '.join(self.outputs)})"


def _variable_names(names: Sequence[str]) -> dict[str, str]:
    """Names of ONNX as names of variables: those of a program's own kind are told apart."""
    from ....static.numbers import is_unnamed

    return {name: f"onnx.{name}" if is_unnamed(name) else name for name in names}


def _marked(variable: Any, port: Port) -> Any:
    value = Tensor(variable)
    return Narrow(value, port.number) if port.is_narrow else value


def _is_flat(results: Sequence[Any]) -> bool:
    return all(isinstance(value, _C.TensorBase) for value in results)


def _outside(value: Any) -> Any:
    """A result as callers get it."""
    if isinstance(value, list):
        return [_outside(one) for one in value]
    if isinstance(value, Narrow):
        return value.tensor
    return value.as_tensor() if isinstance(value, Sizes) else value


__all__ = ["OnnxModel", "Recorded", "given_tensor"]

"""save and load: functions and layers as files that run without their code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, NamedTuple

from .. import _C
from ..imperative import Parameter, Tensor, program_file
from ..imperative.levels import stopped, unwrapped
from ..imperative.naming import named_around
from ..imperative.sub_programs import Call
from ..inspection.files import path_of, read_file, replace_file
from ..nn import Layer
from ..nn.layer import Buffer
from ..static import Program
from ..static.compiled import CompiledProgram
from .compiled_function import CompiledFunction
from .concrete_program import ConcreteProgram
from .for_inference import ForInference
from .result_names import arranged, names_of
from .result_names import path_of as path_of_result

# Before the names of states that are not learnt.
_BUFFER = "buffer:"


class DumpInfo(NamedTuple):
    """What a file of a program holds."""

    operators: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]


@named_around
def save(
    function: Any,
    path: str | PathLike[str],
    input_spec: Sequence[Any] | None = None,
    *,
    for_inference: bool | ForInference = False,
) -> DumpInfo:
    """Writes a layer or a function as a program with its parameters, which runs without its code.

    Args:
        function: a layer, a function, or one that is traced; a layer's `forward` may be.
        path: the file.
        input_spec: an `InputSpec`, or a tensor like it, for each argument. None: of a function
            that is traced, the call that was recorded last; sizes that were unknown there are.
        for_inference: writes a program that only infers, in which parameters are constants; or a
            `ForInference`, which says in what precision.

    Returns:
        What was written.

    Raises:
        ArgumentError: there is no call to go by, the function changes more than buffers (for
            inference, anything), or an op has no form as bytes.
        OSError: the file cannot be written.

    Source:
        Paddle, ``paddle.jit.save``.

    Example:
        >>> import os, tempfile
        >>> import tensorlike as tl
        >>> layer = tl.nn.Linear(3, 2, seed=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "linear.tlp")
        ...     info = tl.jit.save(layer, path, [tl.jit.InputSpec((None, 3))])
        ...     again = tl.jit.load(path)
        >>> x = tl.ones((4, 3))
        >>> again(x).tolist() == layer(x).tolist(), info.inputs
        (True, ('x',))
    """
    if not isinstance(for_inference, bool | ForInference):
        raise _C.ParameterError(
            "must be a bool or a ForInference", op="save", argument="for_inference",
            got=type(for_inference).__name__,
        )  # fmt: skip
    path = path_of(path, "save")
    if input_spec is not None and not isinstance(input_spec, (list, tuple)):
        raise _C.ArgumentError(
            "must be a list of InputSpec, or of tensors like the arguments", op="save",
            argument="input_spec", got=f"a {type(input_spec).__name__}", fix="put it into a list",
        )  # fmt: skip
    compiled = _compiled(function, input_spec)
    concrete = compiled.concrete(*(() if input_spec is None else input_spec))
    return write(concrete, path, for_inference, _names_in(compiled.__wrapped__))


def _compiled(function: Any, input_spec: Sequence[Any] | None) -> CompiledFunction:
    """What knows the calls of a function, or of a layer."""
    own = function.forward if isinstance(function, Layer) and input_spec is None else function
    return own if isinstance(own, CompiledFunction) else CompiledFunction(function)


def _names_in(function: Any) -> dict[int, str]:
    """What a layer calls its tensors, by their ids; of a function nothing is known."""
    layer = getattr(function, "__self__", function)
    if not isinstance(layer, Layer):
        return {}
    named = (*layer.named_parameters(), *layer.named_buffers())
    return {id(tensor): name for name, tensor in named}


def write(
    concrete: ConcreteProgram, path: str | PathLike[str], for_inference: bool | ForInference,
    names: Mapping[int, str] = MappingProxyType({}),
) -> DumpInfo:  # fmt: skip
    """Writes a program with the values that its states have by now, under their names."""
    outputs = names_of(concrete.structure, with_plain=True)
    if not outputs:
        raise _C.ArgumentError(
            "a function that is saved must return a tensor", op="save",
            got=repr(concrete.structure), fix="return what it computes",
        )  # fmt: skip
    if for_inference is not False:
        options = ForInference() if for_inference is True else for_inference
        inferring, found = options.apply(concrete)
        results = dict(zip(outputs, found.values(), strict=True))
        replace_file(path_of(path, "save"), program_file.write(inferring, results))
        return DumpInfo(len(inferring.steps()), concrete.inputs, tuple(outputs), ())
    program = concrete.program
    weights, learnt = {}, []
    for name, tensor in concrete.states.items():
        number = program.find(name)
        assert number is not None
        own = names.get(id(tensor), name)
        if own != name and program.find(own) is None:
            program.rename(number, own)
            name = own
        if isinstance(tensor, Parameter) or tensor.requires_grad:
            learnt.append(name)
            weights[name] = stopped(unwrapped(tensor))
        else:
            if not name.startswith(_BUFFER):
                program.rename(number, _BUFFER + name)
            weights[_BUFFER + name.removeprefix(_BUFFER)] = stopped(unwrapped(tensor))
    numbers = dict(zip(outputs, concrete.numbers().values(), strict=True))
    data = program_file.write(program, numbers, weights)
    replace_file(path_of(path, "save"), data)
    return DumpInfo(len(program.steps()), concrete.inputs, tuple(outputs), tuple(learnt))


def load(path: str | PathLike[str]) -> TranslatedLayer:
    """The layer that `save` wrote: callable without its class, and it can be trained further.

    Reading runs no code that the reader does not have.

    Args:
        path: the file.

    Raises:
        ArgumentError: the file is no program, or is damaged.
        OSError: it cannot be read.

    Source:
        Paddle, ``paddle.jit.load``.
    """
    program = Program()
    results, weights = program_file.read(read_file(path_of(path, "load"), "load"), program)
    return TranslatedLayer(program, results, weights)


class TranslatedLayer(Layer):
    """A layer that is a program; `load` makes it.

    Attributes:
        program: the program.
        inputs: the names of the arguments.
        parameters_by_name: what is learnt, by the names that it had.
        buffers_by_name: what the program changes or reads beside.

    Source:
        Paddle, ``paddle.jit.TranslatedLayer``.
    """

    def __init__(self, program: Program, results: dict[str, int], weights: dict[str, Any]) -> None:
        """Of what a file holds."""
        self.program = program
        variables = program.variables()
        given = [n for n, (_, role, _) in enumerate(variables) if role == "input"]
        self.inputs = tuple(variables[n][0] for n in given)
        states = [n for n, (_, role, _) in enumerate(variables) if role == "state"]
        self.parameters_by_name: dict[str, Parameter] = {}
        self.buffers_by_name: dict[str, Buffer] = {}
        self._states: list[Tensor] = []
        for number in states:
            name = variables[number][0]
            if name.startswith(_BUFFER):
                buffer = Buffer(Tensor(weights[name]))
                self.buffers_by_name[name.removeprefix(_BUFFER)] = buffer
                self._states.append(buffer)
            else:
                parameter = self.parameters_by_name[name] = Parameter(Tensor(weights[name]))
                self._states.append(parameter)
        changes = program.assigned()
        self._assigned = list(changes)
        self._paths = [path_of_result(name) for name in results]
        asked = [program.symbol(n) for n in (*results.values(), *changes.values())]
        compiled, numbers = CompiledProgram(program).optimised(asked)
        roles = [role for _, role, _ in compiled.variables()]
        now = [n for n, role in enumerate(roles) if role == "input"]
        held = [n for n, role in enumerate(roles) if role == "state"]
        self._op = Call(compiled, [*now, *held], numbers)
        self._numbers = {number: i for i, number in enumerate(states)}

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """What is learnt, by the names that it had in the layer that was saved."""
        yield from self.parameters_by_name.items()

    def named_buffers(self) -> Iterator[tuple[str, Buffer]]:
        """The buffers, likewise."""
        yield from self.buffers_by_name.items()

    def forward(self, *xs: Any, **named: Any) -> Any:
        """Runs the program.

        Raises:
            ArgumentError: the arguments are not as many as it takes, or have other names.
        """
        given = [*xs, *(named[name] for name in self.inputs[len(xs) :] if name in named)]
        if len(given) != len(self.inputs) or len(given) != len(xs) + len(named):
            told = ", ".join([f"{len(xs)} arguments", *named])
            raise _C.ArgumentError(
                f"takes {', '.join(self.inputs) or 'nothing'}", op="TranslatedLayer", got=told
            )
        found = self._op(*map(unwrapped, given), *map(unwrapped, self._states))
        count = len(self._paths)
        for state, value in zip(self._assigned, found[count:], strict=True):
            _C.set_value(self._states[self._numbers[state]], stopped(value))
        return arranged(list(zip(self._paths, map(Tensor, found[:count]), strict=True)))

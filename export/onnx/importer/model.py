"""OnnxModel: what `load` makes of a file, a program where it can be one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from .... import _C, static
from ....imperative import Size, Tensor
from ....imperative.levels import unwrapped
from .file import ModelFile
from .narrow_types import Narrow
from .recorded import Recorded, variable_names, weights_of
from .running import NumberNeeded, Run
from .sizes import Sizes

MOST_PROGRAMS = 16  # programs for sizes of inputs that are kept
USUAL = 8  # calls with sizes that are then worth a program beside the one of all sizes
MOST_USUAL = 2  # such programs that are kept, since each has its weights packed
MOST_NUMBERS = 64  # elements of an input whose numbers a program may be made for


class OnnxModel:
    """A model of ONNX, called like a function.

    Where its shapes follow from the sizes of its inputs, it is one `program`, for all sizes that
    the file leaves open; sizes that come again and again have one of their own, which calculates no
    shapes. Otherwise a program is made for each of the sizes that come, and where
    shapes hang on the numbers in small tensors, for those that come twice. What remains runs node
    by node.

    Attributes:
        inputs: the names of the inputs.
        outputs: the names of the outputs.
        why: why it is not one program; "" where it is.

    Example:
        >>> import onnx
        >>> import tensorlike as tl
        >>> nodes = [onnx.helper.make_node("Mul", ["x", "w"], ["y"])]
        >>> x, y = (onnx.helper.make_tensor_value_info(name, 1, ["n"]) for name in "xy")
        >>> w = onnx.helper.make_tensor("w", 1, [], [3.0])
        >>> model = tl.export.onnx.load(
        ...     onnx.helper.make_model(onnx.helper.make_graph(nodes, "thrice", [x], [y], [w]))
        ... )
        >>> model.named({"x": [1.0, 2.0]})["y"].tolist()
        [3.0, 6.0]
        >>> tl.grad(lambda w: model.op(tl.tensor([1.0, 2.0]), w=w)[0].sum())(tl.tensor(3.0)).item()
        3.0
    """

    def __init__(self, file: ModelFile) -> None:
        """Of a file that was read."""
        self._file = file
        self.inputs = file.graph.inputs
        self.outputs = file.graph.outputs
        self.why = ""
        self._recorded: Recorded | None = None  # whose initializers are states
        self._weights = weights_of(file.graph)
        self._is_shown = False  # whether others have the scope, and may set values there
        self._sized: OrderedDict[Any, Recorded | None] = OrderedDict()
        self._seen: Any = None
        self._has_open_sizes = self._is_open()
        self._calls: OrderedDict[Any, int] = OrderedDict()  # with these sizes
        self._usual: OrderedDict[Any, Recorded | None] = OrderedDict()
        try:
            self._check_ports()
            self._recorded = Recorded(file, file.inputs, states=self._weights)
        except _C.TensorlikeError as error:
            if not self._is_open() and not isinstance(error, NumberNeeded):
                raise
            self.why = str(error)

    def _is_open(self) -> bool:
        """Whether what an input is, its sizes included, is not all known."""
        return any(
            port.kind != "tensor"
            or port.shape is None
            or not all(type(n) is int for n in port.shape)
            for port in self._file.inputs
        )

    def _check_ports(self) -> None:
        for port in self._file.inputs:
            if port.kind != "tensor" or port.shape is None:
                raise NumberNeeded(
                    "must have a known number of dimensions", op="onnx", argument=port.name,
                    got=port.kind if port.kind != "tensor" else "none",
                )  # fmt: skip

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
        self._is_shown = True
        return self._whole().scope

    @property
    def results(self) -> list[Any]:
        """The program's variables that are its outputs, in their order."""
        return self._whole().results

    @property
    def compiled(self) -> static.CompiledProgram:
        """The program after passes, in which the states are constants as they are now."""
        return static.CompiledProgram(self.program, scope=self._whole().scope)

    @property
    def op(self) -> static.ProgramOp:
        """The program as an op: states may be given by their names, and have gradients then."""
        return self._whole().op

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the program and its states; `static.load` reads them.

        Args:
            path: the file.

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
            kwargs: or by their names; inputs that the model fills may be among them.

        Raises:
            ArgumentError: one is missing, or is none of the model's.
            DTypeError: one has another dtype.
            ShapeError: one has another shape.
        """
        found = self._found(args, kwargs)
        results = tuple(_outside(value) for value in found)
        return results[0] if len(results) == 1 else results

    def named(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name.

        Args:
            inputs: by their names, as a call takes them.

        Raises:
            ArgumentError: one is missing, or is none of the model's.
            ParameterError: it is no mapping.
        """
        if not isinstance(inputs, Mapping):
            raise _C.ParameterError(
                "must be a mapping of names to values", op="OnnxModel", argument="inputs",
                got=type(inputs).__name__,
            )  # fmt: skip
        found = self._found((), inputs)
        return dict(zip(self.outputs, map(_outside, found), strict=True))

    def _found(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The outputs, by what a call gives in the place of initializers, too."""
        own = {
            port.name: port.value(kwargs[port.name])
            for port in self._file.defaults
            if port.name in kwargs
        }
        values = self._bound(args, {name: x for name, x in kwargs.items() if name not in own})
        if not own:
            return self._run(values)
        graph = self._file.graph
        return Run(replace(graph, constants={**graph.constants, **own})).run(values)

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        ports = self._file.inputs
        unknown = [name for name in kwargs if name not in self.inputs]
        given = dict(zip(self.inputs, args, strict=False))
        if unknown or len(args) > len(ports) or given.keys() & kwargs.keys():
            raise _C.ArgumentError(
                f"takes {', '.join(self.inputs) or 'nothing'}", op="OnnxModel",
                got=", ".join(map(str, unknown)) or f"{len(args)} values and {', '.join(kwargs)}",
            )  # fmt: skip
        given.update(kwargs)
        missing = [
            port.name for port in ports if port.name not in given and port.kind != "optional"
        ]
        if missing:
            raise _C.ArgumentError("must be given", op="OnnxModel", argument=missing[0], got="none")
        return [port.value(given.get(port.name)) for port in ports]

    def _run(self, values: list[Any]) -> list[Any]:
        if all(isinstance(value, (Tensor, Narrow)) for value in values):
            tensors = [value.tensor if isinstance(value, Narrow) else value for value in values]
            if self._recorded is not None:
                try:
                    return self._by_program(self._recorded, tensors)
                except _C.ShapeError:
                    if not self._is_open():
                        raise
            recorded = self._for_sizes(tensors, values)
            if recorded is not None:
                return recorded(tensors)
        return Run(self._file.graph).run(values)

    def _by_program(self, whole: Recorded, tensors: Sequence[Any]) -> list[Any]:
        """By the program of all sizes; for plain tensors that in which weights are constants."""
        if any(type(unwrapped(tensor)) is not _C.RawTensor for tensor in tensors):
            return whole.applied(tensors)
        if self._is_shown:
            self._look_for_new_weights(whole)
        found = self._for_usual_sizes(tensors) if self._has_open_sizes else None
        if found is None:
            found = self._kept((), [port.shape or () for port in self._file.inputs], {})
        return whole.applied(tensors) if found is None else found(tensors)

    def _for_usual_sizes(self, tensors: Sequence[Any]) -> Recorded | None:
        """The program of sizes that come often; None: they do not."""
        sizes = tuple(tensor.shape for tensor in tensors)
        if sizes in self._usual:
            self._usual.move_to_end(sizes)
            return self._usual[sizes]
        calls = self._calls.pop(sizes, 0) + 1
        if calls < USUAL:
            self._calls[sizes] = calls
            if len(self._calls) > MOST_PROGRAMS:
                self._calls.popitem(last=False)
            return None
        self._usual[sizes] = self._made(sizes, {})
        if len(self._usual) > MOST_USUAL:
            self._usual.popitem(last=False)
        return self._usual[sizes]

    def _look_for_new_weights(self, whole: Recorded) -> None:
        """Lets go of programs of other weights than the scope has by now."""
        names = variable_names(self._file.graph)
        for name, value in self._weights.items():
            now = whole.scope.find(names[name])
            if now is not None and now is not unwrapped(value):
                self._weights = {**self._weights, name: Tensor(now)}
                self._sized.clear()
                self._usual.clear()

    def _for_sizes(self, tensors: Sequence[Any], values: Sequence[Any]) -> Recorded | None:
        """The program for these sizes, or these sizes and numbers; None: there is none."""
        sizes = tuple(tuple(value.shape) for value in tensors)
        if any(isinstance(size, Size) for shape in sizes for size in shape):
            return None
        found = self._kept(sizes, sizes, {})
        if found is not None:
            return found
        fixed = {
            port.name: value
            for port, value, tensor in zip(self._file.inputs, values, tensors, strict=True)
            if tensor.dtype.kind != "floating"
            and tensor.size <= MOST_NUMBERS
            and type(unwrapped(tensor)) is _C.RawTensor
        }
        if not fixed:
            return None
        numbers = tuple(
            str(_inside(value).tolist()) if name in fixed else ""
            for name, value in zip(self.inputs, values, strict=True)
        )
        if (sizes, numbers) not in self._sized and self._seen != (sizes, numbers):
            self._seen = (
                sizes,
                numbers,
            )  # numbers that differ from call to call are worth no program
            return None
        return self._kept((sizes, numbers), sizes, fixed)

    def _kept(self, key: Any, sizes: Sequence[Any], fixed: Mapping[str, Any]) -> Recorded | None:
        """The program for these sizes, with weights and fixed inputs as constants."""
        if key in self._sized:
            self._sized.move_to_end(key)
            return self._sized[key]
        self._sized[key] = self._made(sizes, fixed)
        if len(self._sized) > MOST_PROGRAMS:
            self._sized.popitem(last=False)
        return self._sized[key]

    def _made(self, sizes: Sequence[Any], fixed: Mapping[str, Any]) -> Recorded | None:
        """A program for these sizes; None: it needs numbers that are not among those fixed, or
        cannot be recorded, as where sizes that follow from elements are compared. Node by node an
        error of the model's own comes again."""
        ports = [port.of_shape(shape) for port, shape in zip(self._file.inputs, sizes, strict=True)]
        try:
            return Recorded(self._file, ports, constants={**self._weights, **fixed})
        except _C.TensorlikeError:
            return None

    def __repr__(self) -> str:
        """What it takes and gives."""
        return f"OnnxModel({', '.join(self.inputs)} -> {', '.join(self.outputs)})"


def _inside(value: Any) -> Any:
    return value.tensor if isinstance(value, Narrow) else value


def _outside(value: Any) -> Any:
    """A result as callers get it."""
    if isinstance(value, list):
        return [_outside(one) for one in value]
    if isinstance(value, Narrow):
        return value.tensor
    return value.as_tensor() if isinstance(value, Sizes) else value

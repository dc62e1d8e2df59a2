"""save: programs, functions and layers as ONNX models."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from textwrap import shorten
from typing import Any

from .... import _C
from ....imperative.naming import named_around
from ....imperative.sizes import Size, same_size
from ....inspection.files import path_of, read_file, replace_file
from .control_flow import value_info
from .dtypes import is_exported
from .graph import OURS, Graph, Value
from .recording import Recorded, recorded
from .writer import Failure, Writer, array_of

LEAST_OPSET, MOST_OPSET = 18, 26
EXTERNAL_ABOVE = 2**31 - 2**20  # bytes: protobuf holds no message of 2 GiB


@named_around
def to_model(
    what: Any,
    *,
    inputs: Any = None,
    results: Any = None,
    opset: int = 21,
    scope: Any = None,
    name: str = "model",
    draws: bool = False,
) -> Any:
    """A program, function or layer as a model of the package onnx.

    Args:
        what: a `Program` or `Listing`; or a layer or a function, which is run once on variables.
        inputs: of a function, what it takes: by name or in order, a tensor or an array like it, an
            `InputSpec`, a shape, or a pair of shape and dtype. In shapes, names and None stand for
            sizes that are not known; those of one name are equal.
        results: of a program, what it is to give: variables, or their names; of several names a
            mapping. None: the results that it was loaded with.
        opset: the version of ONNX's ops, from 18 to 26.
        scope: where the values of states are; None is `static.global_scope()`.
        name: of the graph.
        draws: whether what draws random numbers (dropout in training among it) may draw others of
            the same distribution, which differ in each run; else it is refused.

    Returns:
        An ``onnx.ModelProto`` of the least IR version that the opset goes with. States are
        initializers under their names; those that the program assigns are inputs too, and results
        by the name that they have with ``.next`` behind it.

    Raises:
        ArgumentError: there are ops that ONNX cannot say: all of them, with your lines.
        ModuleNotFoundError: the package onnx is not installed.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike.export import onnx
        >>> network = tl.nn.Sequential(tl.nn.Linear(2, 3), tl.nn.ReLU())
        >>> model = onnx.to_model(network, inputs={"x": ("batch", 2)})
        >>> [node.op_type for node in model.graph.node]
        ['MatMul', 'Add', 'Relu']
    """
    checked_opset(opset)
    return _Model(recorded(what, inputs, results, scope), opset, name, draws=draws).proto()


@named_around
def save(
    what: Any,
    path: str | PathLike[str],
    *,
    inputs: Any = None,
    results: Any = None,
    opset: int = 21,
    scope: Any = None,
    name: str = "model",
    draws: bool = False,
    verify: bool = False,
    external_above: int = EXTERNAL_ABOVE,
) -> None:
    """Writes a program, function or layer as an ONNX model.

    Args:
        what: as in `to_model`; so are inputs, results, opset, scope and name.
        path: the file; `.onnx` is usual.
        inputs: see `to_model`.
        results: see `to_model`.
        opset: see `to_model`.
        scope: see `to_model`.
        name: see `to_model`.
        draws: see `to_model`.
        verify: whether ONNX Runtime runs the model, on random numbers and at two values of each
            size that is not known, before the file is written; its results must be the program's.
        external_above: models of more bytes keep their weights in a second file of the same
            folder, `path` with ``.data`` behind it. A model without such a file removes the one
            of the model that it replaces, where that kept its weights there.

    Raises:
        ArgumentError: there are ops that ONNX cannot say; or, with `verify`, that ONNX Runtime has
            not, or gives other results of.
        ModuleNotFoundError: the package onnx, or with `verify` onnxruntime, is not installed.

    Example:
        >>> import os, tempfile
        >>> import tensorlike as tl
        >>> from tensorlike.export import onnx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "twice.onnx")
        ...     onnx.save(lambda x: x * 2, path, inputs={"x": ("n",)})
    """
    import onnx

    from .verifying import verify_model

    path = path_of(path, "onnx.save")
    checked_opset(opset)
    given = recorded(what, inputs, results, scope)
    made = _Model(given, opset, name, draws=draws)
    model = made.proto()
    if verify and made.writer.drawn:
        raise _C.ArgumentError(
            "models that draw random numbers must not be verified, since each run has others",
            op="onnx", argument="verify", got="True",
        )  # fmt: skip
    if verify:
        verify_model(model, given)
    beside = path.with_name(path.name + ".data")
    if model.ByteSize() <= external_above:
        is_left_over = keeps_weights_in(path, beside)
        replace_file(path, model.SerializeToString())
        if is_left_over:
            beside.unlink(missing_ok=True)
        return
    beside.unlink(missing_ok=True)  # onnx would write behind what is there
    onnx.save_model(
        model, path, save_as_external_data=True, location=beside.name, size_threshold=1024
    )


def keeps_weights_in(path: Path, beside: Path) -> bool:
    """Whether a model in a file has its weights in another one: no where that is not certain."""
    import onnx
    from google.protobuf.message import DecodeError

    if any(file.is_symlink() or not file.is_file() for file in (path, beside)):
        return False  # where links lead, other models may read what is beside them
    model = onnx.ModelProto()
    try:
        model.ParseFromString(read_file(path, "onnx.save"))
    except (DecodeError, OSError):
        return False
    return any(
        tensor.data_location == onnx.TensorProto.EXTERNAL
        and any(one.key == "location" and one.value == beside.name for one in tensor.external_data)
        for tensor in model.graph.initializer
    )


def checked_opset(opset: Any) -> None:
    """Raises unless an opset is one that models are written for."""
    if type(opset) is not int or not LEAST_OPSET <= opset <= MOST_OPSET:
        raise _C.ArgumentError(
            f"must be a number from {LEAST_OPSET} to {MOST_OPSET}", op="onnx", argument="opset",
            got=repr(opset),
        )  # fmt: skip


class _Model:
    """A model that is being made of a recorded program."""

    def __init__(self, given: Recorded, opset: int, name: str, *, draws: bool) -> None:
        self.given = given
        self.writer = Writer(opset, draws=draws)
        self.graph = Graph()
        self.name = name
        self.params: dict[str, int] = {}
        self.taken: set[str] = set()  # names of inputs and states
        self.given_out: set[str] = set()  # names of results
        self.renamed: dict[str, str] = {}
        self.sizes = [
            (name, given.program.shape(number)[axis])
            for name, number, axis in given.program.sizes()
        ]

    def proto(self) -> Any:
        """The model, checked."""
        from onnx import helper, numpy_helper

        values, inputs = self._inputs()
        numbers = [*self.given.results.values(), *self.given.next_states.values()]
        refuse(self._failures_of_ports())
        self.graph.keep_for_results(self._names_of_results())
        found = self.writer.write(self.graph, self.given.program, values, numbers)
        refuse(self.writer.failures)
        outputs = self._outputs(found)
        tensors = [
            numpy_helper.from_array(array, name) for name, array in self.graph.initializers.items()
        ]
        graph = helper.make_graph(self.graph.nodes, self.name, inputs, outputs, tensors)
        functions = list(self.writer.functions.values())
        imports = [helper.make_opsetid("", self.writer.opset)]
        imports += [helper.make_opsetid(OURS, 1)] if functions else []
        model = helper.make_model(
            graph, functions=functions, opset_imports=imports, producer_name="tensorlike",
            ir_version=least_ir_version(self.writer.opset),
        )  # fmt: skip
        if self.writer.assumptions:
            text = "\n".join(dict.fromkeys(self.writer.assumptions))
            helper.set_model_props(model, {"tensorlike.assumes": text})
        if model.ByteSize() < EXTERNAL_ABOVE:
            check(model)
        return model

    def _inputs(self) -> tuple[dict[int, Value], list[Any]]:
        given, graph, program = self.given, self.graph, self.given.program
        values: dict[int, Value] = {}
        infos = []
        for name, number in given.inputs.items():
            made = graph.unique(name)
            values[number] = Value(made, program.dtype(number), program.shape(number))
            if is_exported(program.dtype(number)):
                infos.append(self._info(made, program.dtype(number), program.shape(number)))
        for name, (number, value) in given.states.items():
            made = graph.unique(name)
            graph.initializers[made] = array_of(value)
            values[number] = Value(made, program.dtype(number), program.shape(number))
            if name in given.next_states:
                infos.append(self._info(made, program.dtype(number), program.shape(number)))
        self.taken = {value.name for value in values.values()}
        return values, infos

    def _failures_of_ports(self) -> list[Failure]:
        program, given = self.given.program, self.given
        states = {name: number for name, (number, _) in given.states.items()}
        kinds = [("input", given.inputs), ("state", states), ("result", given.results)]
        return [
            Failure(
                f"{kind} {name}",
                "",
                f"ONNX has no ops for {program.dtype(n).name}",
                "let the model take, and give, real and imaginary parts",
            )
            for kind, numbers in kinds
            for name, n in numbers.items()
            if not is_exported(program.dtype(n))
        ]

    def _names_of_results(self) -> list[str]:
        return [*self.given.results, *(f"{name}.next" for name in self.given.next_states)]

    def _outputs(self, found: Sequence[Value]) -> list[Any]:
        names = self._names_of_results()
        infos = []
        for name, value in zip(names, found, strict=True):
            made = self._named(value.name, name)
            infos.append(self._info(made, value.dtype, value.shape))
        return infos

    def _named(self, name: str, wanted: str) -> str:
        """A result under its name: that of a node of its own, where it has another one."""
        name = self.renamed.get(name, name)
        self.graph.give_back(wanted)
        if name not in self.given_out and name != wanted:
            self.renamed[name] = self.graph.renamed(name, wanted)
            name = self.renamed[name]
        made = name
        if name != wanted or name in self.given_out or name in self.taken:
            made = self.graph.unique(wanted)
            self.graph.nodes.append(identity(name, made))
        self.given_out.add(made)
        return made

    def _info(self, name: str, dtype: Any, shape: Sequence[Any]) -> Any:
        info = value_info(name, dtype, shape)
        for dim, size in zip(info.type.tensor_type.shape.dim, shape, strict=True):
            if isinstance(size, Size):
                dim.dim_param = self._param(size)
        return info

    def _param(self, size: Any) -> str:
        """The name of an unknown size; one that follows from others gets its own."""
        for name, known in self.sizes:
            if same_size(known, size) and name:
                return str(name)
        key = f"{size.first}/{size.second}"
        return f"size_{self.params.setdefault(key, len(self.params))}"


def identity(name: str, wanted: str) -> Any:
    """A node that gives a value another name."""
    from onnx import helper

    return helper.make_node("Identity", [name], [wanted])


def check(model: Any) -> None:
    """Holds a model against the standard: its ops, their dtypes, and shapes where they are known.

    Raises:
        ArgumentError: it is none that a runtime must take.
    """
    import onnx

    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise _C.ArgumentError(
            "must make a valid model", op="onnx", argument="what", got=shorten(str(error), 500)
        ) from error


def least_ir_version(opset: int) -> int:
    """The least that a release of ONNX had with this opset."""
    from onnx import helper

    rows: Sequence[Any] = helper.VERSION_TABLE
    return int(min(row[1] for row in rows if row[2] >= opset))


def refuse(failures: Sequence[Failure]) -> None:
    """Raises with all that cannot be said.

    Raises:
        ArgumentError: there is something.
    """
    if not failures:
        return
    told = []
    for failure in failures:
        line = f" ({failure.line})" if failure.line else ""
        fix = f"; {failure.fix}" if failure.fix else ""
        told.append(f"{failure.op}{line}: {failure.reason}{fix}")
    raise _C.ArgumentError(
        "must be ops that ONNX can say", op="onnx", argument="what", got="; ".join(told)
    )

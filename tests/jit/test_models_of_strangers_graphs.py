"""Models that users write, in every form: at once, in the engine's modes, traced, converted, as
programs, saved and exported, with gradients inside and outside, at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, static
from tensorlike.export import onnx

from ..support.strangers_graphs import MODELS, Model

Results = Callable[[Sequence[Any]], Sequence[Any]]
TOLERANCE = 2e-4


def leaves(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, (tuple, list)) else [x]


def arrays(x: Any) -> list[Any]:
    return [np.asarray(y.detach() if isinstance(y, tl.Tensor) else y) for y in leaves(x)]


def slopes(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of a sum of all that moves, by all inputs that move."""

    def loss(*xs: Any) -> Any:
        moving = [y for y in leaves(function(*xs)) if y.dtype.kind == "floating"]
        return sum((F.sum(F.tanh(y)) * (i + 1) for i, y in enumerate(moving)), start=0.0)

    def of(*xs: Any) -> Any:
        places = [i for i, x in enumerate(xs) if x.dtype.kind == "floating"]

        def moved(*ys: Any) -> Any:
            given = dict(zip(places, ys, strict=True))
            return loss(*(given.get(i, x) for i, x in enumerate(xs)))

        y, pull = tl.vjp(moved, *(xs[i] for i in places))
        return pull(tl.ones_like(y))

    return of


def in_mode(mode: str) -> Callable[[Model, Any, Path], Results]:
    def form(_: Model, function: Any, __: Path) -> Results:
        def run(xs: Sequence[Any]) -> Any:
            with tl.engine.mode(mode):
                return function(*map(tl.tensor, xs))

        return run

    return form


def called(make: Callable[[Any], Any]) -> Callable[[Model, Any, Path], Results]:
    def form(_: Model, function: Any, __: Path) -> Results:
        made = make(function)
        return lambda xs: made(*map(tl.tensor, xs))

    return form


def specs_of(model: Model) -> list[Any]:
    return [
        jit.InputSpec(shape, "float32" if kind == "float32" else "int64", name=name)
        for name, (shape, kind) in model.inputs.items()
    ]


def specified(model: Model, function: Any, _: Path) -> Results:
    made = jit.to_static(function, input_spec=specs_of(model))
    return lambda xs: made(*map(tl.tensor, xs))


def saved(model: Model, function: Any, folder: Path) -> Results:
    jit.save(function, folder / "model.tlp", specs_of(model))
    made = jit.load(folder / "model.tlp")
    return lambda xs: made(*map(tl.tensor, xs))


def programmed(model: Model, function: Any) -> tuple[Any, list[Any]]:
    program = static.Program()
    with static.program_guard(program, static.Program()):
        given = [
            tl.Tensor(static.data(name, shape, "float32" if kind == "float32" else "int64"))
            for name, (shape, kind) in model.inputs.items()
        ]
        return program, leaves(function(*given))


def executed(change: Callable[[Any], Any]) -> Callable[[Model, Any, Path], Results]:
    def form(model: Model, function: Any, _: Path) -> Results:
        program, ys = programmed(model, function)
        changed, executor = change(program), static.Executor()
        # Layers made their parameters before the program, and are constants of it.
        return lambda xs: executor.run(changed, dict(zip(model.inputs, xs, strict=True)), ys)

    return form


def exported(is_read_again: bool) -> Callable[[Model, Any, Path], Results]:
    def form(model: Model, function: Any, _: Path) -> Results:
        program, ys = programmed(model, function)
        names = [f"y{i}" for i in range(len(ys))]
        proto = onnx.to_model(program, results=dict(zip(names, ys, strict=True)))
        if is_read_again:
            read = onnx.load(proto)
            return lambda xs: list(
                map(read.named(dict(zip(model.inputs, xs, strict=True))).get, names)
            )
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
        found: Results = lambda xs: session.run(  # noqa: E731
            names, dict(zip(model.inputs, xs, strict=True))
        )
        return found

    return form


FORMS: dict[str, Callable[[Model, Any, Path], Results]] = {
    "lazy": in_mode("lazy"),
    "async": in_mode("async"),
    "traced": called(jit.trace),
    "converted": called(jit.to_static),
    "specified": specified,
    "saved": saved,
    "program": executed(lambda program: program),
    "compiled": executed(static.CompiledProgram),
    "copied": executed(lambda program: program.clone()),
    "ONNX Runtime": exported(False),
    "read again": exported(True),
}
SLOPES: dict[str, Callable[[Model, Any, Path], Results]] = {
    "lazy": lambda model, f, folder: FORMS["lazy"](model, slopes(f), folder),
    "inside a trace": lambda model, f, folder: called(jit.trace)(model, slopes(f), folder),
    "inside what is converted": lambda m, f, folder: called(jit.to_static)(m, slopes(f), folder),
    "around a trace": lambda model, f, folder: called(slopes)(model, jit.trace(f), folder),
    "of a program": lambda model, f, folder: FORMS["program"](model, slopes(f), folder),
    "compiled": lambda model, f, folder: FORMS["compiled"](model, slopes(f), folder),
}
# What is refused, and says so: the words of the error.
REFUSED = {
    ("suppression", "saved"): "a value is needed",
    ("suppression", "program"): "a value is needed",
    ("suppression", "compiled"): "a value is needed",
    ("suppression", "copied"): "a value is needed",
    ("suppression", "ONNX Runtime"): "a value is needed",
    ("suppression", "read again"): "a value is needed",
    ("selected_rows", "saved"): "depends on the elements",
    ("pairs_apart", "saved"): "depends on the elements",
    ("pairs_apart", "program"): "must stay the same",
    ("pairs_apart", "compiled"): "must stay the same",
    ("pairs_apart", "copied"): "must stay the same",
    ("pairs_apart", "ONNX Runtime"): "must stay the same",
    ("pairs_apart", "read again"): "must stay the same",
    ("pairs_apart", "of a program"): "must stay the same",
}


def check(name: str, form: str, forms: Any, wanted_of: Callable[[Any], Any], folder: Path) -> None:
    model = MODELS[name]
    function = model.make()
    refused = REFUSED.get((name, form))
    if refused is not None:
        with pytest.raises(tl.TensorlikeError, match=refused):
            run = forms[form](model, function, folder)
            for sizes in model.sizes:
                run(model.arrays(sizes))
        return
    run = forms[form](model, function, folder)
    for _ in range(2):
        for sizes in model.sizes:
            xs = model.arrays(sizes)
            wanted = arrays(wanted_of(function)(*map(tl.tensor, xs)))
            for y, expected in zip(arrays(run(xs)), wanted, strict=True):
                assert (y.shape, y.dtype) == (expected.shape, expected.dtype), sizes
                np.testing.assert_allclose(
                    y, expected, TOLERANCE, TOLERANCE, err_msg=f"{name} {form} {sizes}"
                )


@pytest.mark.filterwarnings("ignore::tensorlike.jit.RetraceWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_in_a_form_is_the_model(name: str, form: str, tmp_path: Path) -> None:
    check(name, form, FORMS, lambda function: function, tmp_path)


@pytest.mark.filterwarnings("ignore::tensorlike.jit.RetraceWarning")
@pytest.mark.parametrize("form", SLOPES)
@pytest.mark.parametrize("name", [name for name in MODELS if name != "suppression"])
def test_its_slopes_in_a_form_are_its_slopes(name: str, form: str, tmp_path: Path) -> None:
    check(name, form, SLOPES, slopes, tmp_path)

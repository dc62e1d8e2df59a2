"""Random functions: run at once, as a program of an unknown number of rows, compiled, saved, traced
and exported, read again and exported again, they give the same, and so do their gradients."""

from __future__ import annotations

import warnings
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
from tests.support.random_functions import ROWS, RandomFunction, kind_of, random_function

SIZES = (ROWS, 5, 1, 7, 2)
Way = Callable[[list[Any]], Sequence[Any]]


def _fed(xs: Sequence[Any]) -> dict[str, Any]:
    return {f"x{i}": x for i, x in enumerate(xs)}


class Ways:
    """All ways to run a function of one number of rows or another."""

    def __init__(self, inputs: Any, function: Callable[..., Sequence[Any]], folder: Path) -> None:
        self.inputs, self.function, self.folder = inputs, function, folder
        self.executor = static.Executor()
        self.program = static.Program()
        with static.program_guard(self.program, static.Program()):
            given = [
                static.data(f"x{i}", (None, *rest), dtype) for i, (rest, dtype) in enumerate(inputs)
            ]
            self.results = list(function(*given))

    def all(self) -> dict[str, Way]:
        """The ways by name."""
        traced = jit.trace(self.function)
        return {
            "program": lambda xs: self.run(self.program, self.results, xs),
            "compiled": self.compiled(),
            "saved": self.saved(),
            "traced": lambda xs: [y.numpy() for y in traced(*map(tl.tensor, xs))],
            **self.exported(),
        }

    def run(
        self, program: Any, results: Sequence[Any], xs: Sequence[Any], scope: Any = None
    ) -> Any:
        """By the executor."""
        return self.executor.run(program, _fed(xs), list(results), scope)

    def compiled(self) -> Way:
        """After passes."""
        compiled = static.CompiledProgram(self.program)
        return lambda xs: self.run(compiled, self.results, xs)

    def saved(self) -> Way:
        """As a file."""
        path = self.folder / "program.tlp"
        static.save(self.program, path, self.results)
        again = static.load(path, static.Scope())
        found = [again.results[unnamed.name] for unnamed in self.variables()]
        return lambda xs: self.run(again, found, xs)

    def variables(self) -> list[Any]:
        """The results as variables of the program."""
        return [y.__wrapped__ if isinstance(y, tl.Tensor) else y for y in self.results]

    def exported(self) -> dict[str, Way]:
        """As a model of ONNX: run by ONNX Runtime, read again, and exported and read once more."""
        names = [f"y{i}" for i in range(len(self.results))]
        first = onnx.to_model(self.program, results=dict(zip(names, self.results, strict=True)))
        assert [one.name for one in first.graph.output] == names
        ways = {"read again": self.read(first, names)}
        model = onnx.load(first)
        if not model.why:
            results = dict(zip(names, model.results, strict=True))
            again = onnx.to_model(model.program, results=results, scope=model.scope)
            assert [one.name for one in again.graph.output] == names
            ways["exported again"] = self.read(again, names)
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        try:
            session = onnxruntime.InferenceSession(first.SerializeToString(), options)
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
            return ways  # it has no kernel for a dtype
        taken = {one.name for one in session.get_inputs()}
        ways["ONNX Runtime"] = lambda xs: session.run(
            names, {name: x for name, x in _fed(xs).items() if name in taken}
        )
        return ways

    @staticmethod
    def read(proto: Any, names: Sequence[str]) -> Way:
        """A model that is read again."""
        model = onnx.load(proto)
        return lambda xs: [model.named(_fed(xs))[name].numpy() for name in names]


def assert_alike(found: Sequence[Any], wanted: Sequence[Any], told: str) -> None:
    """Values, shapes and dtypes, but for the rounding of sums in another order."""
    for y, expected in zip(found, wanted, strict=True):
        assert (y.dtype, y.shape) == (expected.dtype, expected.shape), told
        if expected.dtype.kind != "f":
            np.testing.assert_array_equal(y, expected, err_msg=told)
            continue
        scale = max(1.0, float(np.max(abs(expected), initial=0.0)))
        close = 5e-5 if expected.dtype == np.float32 else 1e-4  # float64 that was computed narrower
        np.testing.assert_allclose(y, expected, rtol=close, atol=close * scale, err_msg=told)


def _is_for_all_sizes(function: Callable[..., Any], given: RandomFunction) -> bool:
    try:
        for rows in SIZES:
            function(*map(tl.tensor, given.arrays(np.random.default_rng(0), rows)))
    except (tl.TensorlikeError, ZeroDivisionError):
        return False
    return True


def _loss(given: RandomFunction) -> Callable[..., Any]:
    def loss(*xs: Any) -> Any:
        parts = [F.sum(F.tanh(y) * 0.5) for y in given(*xs) if kind_of(y) == "floating"]
        return sum((F.astype(part, "float64") for part in parts), start=tl.tensor(0.0, "float64"))

    return loss


def _check(function: Callable[..., Any], given: RandomFunction, folder: Path, seed: int) -> None:
    if not _is_for_all_sizes(function, given):
        return  # a matrix without columns, and the like
    try:
        ways = Ways(given.inputs, function, folder).all()
    except (tl.ShapeError, tl.ParameterError) as error:
        # What programs of unknown sizes refuse, as note 13 says.
        said = ("shapes must broadcast", "by sums and products", "must fit")
        assert any(part in str(error) for part in said), error
        return
    rng = np.random.default_rng(seed)
    for rows in SIZES:
        xs = given.arrays(rng, rows)
        wanted = [y.numpy() for y in function(*map(tl.tensor, xs))]
        for name, way in ways.items():
            assert_alike(way(xs), wanted, f"{name}, {rows} rows, seed {seed}")


def _check_seed(seed: int, folder: Path) -> None:
    given = random_function(seed)
    real = tuple(i for i, (_, dtype) in enumerate(given.inputs) if dtype[0] == "f")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.RetraceWarning)
        _check(given, given, folder, seed)
        if real:
            _check(tl.grad(_loss(given), argnums=real), given, folder, seed)


@pytest.mark.parametrize("seed", range(25))
def test_random_functions_are_the_same_in_all_forms(seed: int, tmp_path: Path) -> None:
    _check_seed(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_random_functions_are_the_same_in_all_forms(block: int, tmp_path: Path) -> None:
    for seed in range(1000 + 25 * block, 1025 + 25 * block):
        _check_seed(seed, tmp_path)


@pytest.mark.slow
def test_programs_that_live_meanwhile_change_nothing(tmp_path: Path) -> None:
    kept = []  # whose numbers for sizes are many, and near to multiples of others
    for i in range(30):
        for k in range(10):
            listing = tl.Listing()
            listing.input("x", (f"n{k}", None))
            kept += [listing] if k % 3 else []
        _check_seed(12, tmp_path)
        if i % 7 == 6:
            del kept[::2]

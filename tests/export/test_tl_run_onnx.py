"""`tl-run model.onnx`: the core reads models by itself, and gives the results of the standard."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.onnx_cases import CORE_FAILURES, check_same, node_cases, reason_of
from support.tl_run import run

import tensorlike as tl
from tensorlike.__main__ import run_path
from tensorlike.export.onnx.importer.attribute_functions import FUNCTIONS
from tensorlike.export.onnx.importer.body import function_named
from tensorlike.export.onnx.importer.rule_table import RULES
from tensorlike.export.onnx.importer.rules import FAMILIES
from tensorlike.opdecl.compiler.onnx_bodies import NUMBER_FUNCTIONS
from tensorlike.opdecl.compiler.onnx_entries import entries

HERE = "must have"  # how the core says that it lacks an op, a function or a rule


def array_of(value: Any) -> Any:
    """A value of a case as an array, where it is one."""
    return onnx.numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def is_plain(case: Any) -> bool:
    """Whether a case's values are arrays that .npy files hold."""
    values = [array_of(x) for pair in case.data_sets for side in pair for x in side]
    kinds = (np.ndarray, np.generic)
    plain = all(
        isinstance(x, kinds) and x.dtype.kind in "biufc" and x.dtype.type.__module__ == "numpy"
        for x in values
    )
    return plain and len(case.data_sets[0][0]) == len(case.model.graph.input)


def error_of(case: Any, folder: Path) -> str:
    """What is wrong with a case; "" where the results are the standard's."""
    model = folder / "model.onnx"
    onnx.save(case.model, model)
    given, wanted = (list(map(array_of, side)) for side in case.data_sets[0])
    names = [one.name for one in case.model.graph.input]
    done, found = run(model, folder, dict(zip(names, given, strict=True)))
    if done.returncode != 0:
        return f"status {done.returncode}: {done.stderr.strip()}"
    try:
        for ours, theirs in zip(found, wanted, strict=True):
            check_same(ours, theirs, case.rtol, case.atol)
    except AssertionError as error:
        return str(error)[:300]
    return ""


def held(cases: list[Any], folder: Path) -> tuple[int, list[str]]:
    """How many cases pass, and what is wrong: those that fail for no known reason, or should."""
    passed, wrong = 0, []
    for case in cases:
        error = error_of(case, folder)
        passed += not error
        reason = reason_of(case.name, CORE_FAILURES) or reason_of(case.name)
        is_crash = error.startswith("status") and not error.startswith("status 1:")
        if error and (reason is None or is_crash):
            wrong.append(f"{case.name}: {error}")
        if not error and reason is not None and "draws" not in reason:
            wrong.append(f"{case.name} passes, though it is listed: {reason}")
    return passed, wrong


def test_node_tests_that_the_core_has_give_the_standards_results(tmp_path: Path) -> None:
    cases = [case for case in node_cases()[::14] if is_plain(case)]
    passed, wrong = held(cases, tmp_path)
    assert not wrong, "\n".join(wrong)
    assert passed / len(cases) >= 0.9


@pytest.mark.slow
def test_at_least_94_of_100_node_tests_that_files_can_hold_pass_in_the_core(tmp_path: Path) -> None:
    cases = [case for case in node_cases() if is_plain(case)]
    passed, wrong = held(cases, tmp_path)
    print(f"{passed} of {len(cases)} node tests run in the core")
    assert not wrong, "\n".join(wrong)
    assert passed / len(cases) >= 0.94


def test_each_reason_for_failing_in_the_core_is_that_of_a_case() -> None:
    found = {reason_of(case.name, CORE_FAILURES) for case in node_cases()}
    assert set(CORE_FAILURES) <= found


def network(path: Path) -> None:
    """A small convolution network whose batch is open, with a reshape that follows from it."""
    rng = np.random.default_rng(0)
    arrays = {
        "w": rng.standard_normal((4, 3, 3, 3), dtype=np.float32),
        "b": rng.standard_normal(4, dtype=np.float32),
        "m": rng.standard_normal((4, 5), dtype=np.float32),
        "zero": np.asarray([0], dtype=np.int64),
        "rest": np.asarray([-1], dtype=np.int64),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["g"]),
        helper.make_node("Shape", ["g"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Concat", ["n", "rest"], ["to"], axis=0),
        helper.make_node("Reshape", ["g", "to"], ["f"]),
        helper.make_node("MatMul", ["f", "m"], ["l"]),
        helper.make_node("Softmax", ["l"], ["y"], axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 5])],
        [onnx.numpy_helper.from_array(x, name) for name, x in arrays.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


@pytest.mark.parametrize("batch", [1, 3])
def test_a_network_runs_for_the_sizes_that_it_is_fed(tmp_path: Path, batch: int) -> None:
    path = tmp_path / "network.onnx"
    network(path)
    x = np.random.default_rng(1).standard_normal((batch, 3, 8, 8), dtype=np.float32)
    wanted = np.asarray(tl.export.onnx.load(path)(x))
    for options in ((), ("--compile",)):
        done, (found,) = run(path, tmp_path, {"x": x}, *options)
        assert not done.stderr
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_model_is_saved_as_a_program(tmp_path: Path) -> None:
    path, saved = tmp_path / "network.onnx", tmp_path / "network.tlp"
    network(path)
    x = np.ones((2, 3, 8, 8), dtype=np.float32)
    _, (first,) = run(path, tmp_path, {"x": x}, "--save", str(saved))
    program = tl.static.load(saved)
    (again,) = tl.static.Executor().run(program, {"x": x}, list(program.results.values()))
    np.testing.assert_array_equal(first, again)


def test_an_input_of_open_sizes_must_be_fed(tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    network(path)
    done, _ = run(path, tmp_path, {})
    assert done.returncode == 1
    assert done.stderr == (
        "onnx: x must be given a shape, since the model leaves it open; got none; feed it.\n"
    )


def test_all_ops_that_the_core_lacks_are_named_at_once(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Vanish", ["x"], ["a"]),
        helper.make_node("Bernoulli", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "odd", ports[:1], ports[1:])
    path = tmp_path / "odd.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    done, _ = run(path, tmp_path, {"x": np.ones(1, np.float32)})
    assert done.returncode == 1
    assert "none of Bernoulli, Vanish" in done.stderr


def test_a_name_that_is_no_input_is_refused_with_those_that_are(tmp_path: Path) -> None:
    network(tmp_path / "model.onnx")
    done, _ = run(tmp_path / "model.onnx", tmp_path, {"zz": np.ones((1, 3, 8, 8), np.float32)})
    assert done.returncode == 1
    assert "what is fed must be inputs of the model; got zz; its inputs are x" in done.stderr


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for data in (b"", b"\x00", b"\xff" * 40, b"onnx"):
        path.write_bytes(data)
        done = subprocess.run([run_path(), path], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("onnx: the bytes must be an ONNX model")


def test_entries_name_functions_and_rules_that_there_are() -> None:
    assert FAMILIES
    assert frozenset(FUNCTIONS) >= NUMBER_FUNCTIONS
    for versions in entries().values():
        for entry in versions:
            assert entry.meaning != "rule" or entry.text in RULES, entry
            assert all(function_named(name) for name in entry.calls), entry

"""What a model of ONNX says of a program: names, sizes, lines, versions; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx as standard
import pytest
from support.exported_models import array_of, assert_same, check_known, check_unknown, run_model

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.export import onnx
from tensorlike.export.onnx.exporter.saving import LEAST_OPSET, MOST_OPSET
from tensorlike.export.onnx.exporter.verifying import session_of

OPSETS = range(LEAST_OPSET, MOST_OPSET + 1)
# The IR version of the release of ONNX that had the opset first.
IR_VERSIONS = {18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11, 24: 12, 25: 13, 26: 13}


class Network(tl.nn.Layer):
    def __init__(self) -> None:
        self.first = tl.nn.Linear(4, 8, seed=0)
        self.norm = tl.nn.LayerNorm(8)

    def forward(self, x: Any) -> Any:
        y = F.gelu(self.norm(self.first(x)))
        return F.softmax(F.logaddexp(y, 0.5))


def dims(info: Any) -> list[Any]:
    return [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]


@pytest.mark.parametrize("opset", OPSETS)
def test_a_model_is_of_the_opset_asked_for_and_of_the_least_ir_version(opset: int) -> None:
    network = Network()
    made = onnx.to_model(network, inputs={"x": ("batch", 4)}, opset=opset)
    assert {one.domain: one.version for one in made.opset_import}[""] == opset
    assert made.ir_version == IR_VERSIONS[opset]
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    (found,) = session_of(made).run(None, {"x": x})
    assert_same(found, array_of(network(tl.tensor(x))))


@pytest.mark.parametrize("opset", [17, 27, 21.0, True, None])
def test_another_opset_is_refused(opset: Any) -> None:
    with pytest.raises(tl.ArgumentError, match="opset must be a number from 18 to 26"):
        onnx.to_model(lambda x: x, inputs={"x": (2,)}, opset=opset)


def test_names_and_sizes_are_those_of_the_program() -> None:
    with static.program_guard(static.Program()) as main:
        image = static.data("image", ("batch", 3, None))
        score = F.mean(image, axis=1) * 2
    made = onnx.to_model(main, results={"score": score})
    assert [given.name for given in made.graph.input] == ["image"]
    assert [given.name for given in made.graph.output] == ["score"]
    batch, length = dims(made.graph.input[0])[::2]
    assert batch == "batch"
    assert dims(made.graph.output[0]) == [batch, length]


def test_sizes_of_one_name_are_one_axis_and_others_are_not() -> None:
    inputs = {"a": ("n", 2), "b": ("n", 3), "c": ("m",)}
    made = onnx.to_model(lambda a, b, c: (F.concat([a, b], axis=1), c + 1), inputs=inputs)
    assert [dims(info) for info in made.graph.output] == [["n", 5], ["m"]]


def test_what_follows_from_an_unknown_size_is_calculated_in_the_model() -> None:
    def call(x: Any) -> Any:
        n = x.shape[0]
        y = F.reshape(F.concat([x, x], axis=0), (n * 2 * 3, -1))
        tail = x[n - 1 :]
        spread = F.broadcast_to(x[0], (n, 3, 4))
        return y, tail, spread, F.arange(n), F.zeros((n, 2)), x * n, F.mean(x), F.flip(x, axis=0)

    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert check_unknown(call, [x])
    check_known(call, [x])


def test_results_may_be_inputs_constants_or_the_same() -> None:
    def call(x: Any) -> Any:
        y = x + 1
        return x, y, y, tl.tensor([1.0, 2.0]), 3.0

    x = np.ones((2,), np.float32)
    made = onnx.to_model(call, inputs={"x0": (2,)})
    found = run_model(made, [x])
    for a, b in zip(found, [x, x + 1, x + 1, np.float32([1, 2]), np.float32(3)], strict=True):
        np.testing.assert_array_equal(a, b)


def test_nodes_say_the_line_that_made_them() -> None:
    made = onnx.to_model(lambda x: F.exp(x), inputs={"x": (2,)})
    (line,) = [node.doc_string for node in made.graph.node if node.op_type == "Exp"]
    assert "test_onnx_models.py:" in line


def test_all_that_onnx_cannot_say_is_told_at_once_with_its_line() -> None:
    def call(x: Any) -> Any:
        y = F.linalg.matrix_exp(x)
        z = F.dropout(y, 0.5, seed=1)
        return F.linalg.qr(z)[0] + F.exp(x)

    with pytest.raises(tl.ArgumentError) as caught:
        onnx.to_model(call, inputs={"x": (3, 3)})
    text = caught.value.got
    assert text is not None
    for part in ("MatrixExp()", "Dropout(", "QR(", "random numbers", "eval()"):
        assert part in text
    assert text.count("test_onnx_models.py:") == 3


def test_complex_inputs_are_refused_by_name() -> None:
    with pytest.raises(tl.ArgumentError, match="input x: ONNX has no ops for complex64"):
        onnx.to_model(lambda x: F.real(x), inputs={"x": ((2,), "complex64")})


@pytest.mark.parametrize(
    ("what", "options", "message"),
    [
        (3, {}, "what must be a program, a layer or a function; got a int"),
        (F.exp, {}, "inputs must be given for a function"),
        (tl.Listing(), {}, "results must name at least one variable"),
    ],
)
def test_what_cannot_be_exported_is_refused(what: Any, options: Any, message: str) -> None:
    with pytest.raises(tl.ArgumentError, match=message):
        onnx.to_model(what, **options)


def test_a_state_without_a_value_is_refused() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        y = static.fc(static.data("x", (None, 2)), 3)
    with pytest.raises(tl.ArgumentError, match="must have a value in the scope"):
        onnx.to_model(main, results=[y], scope=static.Scope())


def test_a_branch_that_python_took_is_checked_by_the_model() -> None:
    """It refuses sizes for which Python would have gone another way, as the program does."""

    def call(x: Any) -> Any:
        return (x * 2 if x.shape[0] > 3 else x), F.sum(x)

    made = onnx.to_model(call, inputs={"x": ("n",)})
    (note,) = [prop.value for prop in made.metadata_props if prop.key == "tensorlike.assumes"]
    assert "x.shape[0]" in note and "test_onnx_models.py:" in note
    session = session_of(made)
    large, small = np.arange(5, dtype=np.float32), np.arange(2, dtype=np.float32)
    np.testing.assert_array_equal(session.run(None, {"x": large})[0], large * 2)
    for name in ("output_0", "output_1"):
        with pytest.raises(Exception, match=r"assumes: .*x\.shape\[0\]"):
            session.run([name], {"x": small})


def test_equal_bodies_are_one_function() -> None:
    def call(x: Any, y: Any) -> Any:
        return F.var(x, axis=1), F.var(x * 2, axis=1), F.var(y, axis=0)

    made = onnx.to_model(call, inputs={"x": (2, 3), "y": (4, 3)})
    calls = [node.op_type for node in made.graph.node if node.domain == "tensorlike"]
    assert len(calls) == 3
    assert calls[0] == calls[1] != calls[2]


def test_ops_declared_at_run_time_are_functions_of_their_bodies() -> None:
    declared = tl.declare("""
- scalar: onnx_squareplus
  args: [x: real floating-point, "b: real floating-point = 4.0"]
  expr: 0.5 * (x + sqrt(x * x + b))
  doc: A smooth relu.
- op: OnnxStandardize
  args: [x: real floating-point]
  attrs: {axis: {type: int, default: -1}}
  define: |
    d = x - mean(x, axis=axis, keepdims=True)
    d / sqrt(mean(d * d, axis=axis, keepdims=True))
  doc: Mean 0 and variance 1 along an axis.
- scalar: onnx_swish
  args: [x: real floating-point]
  expr: x * sigmoid(x)
  onnx: {op: Swish, since: 24}
  doc: The same as ONNX's.
""")
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    made = check_known(lambda x: declared.onnx_squareplus(declared.onnx_standardize(x)), [x])
    names = {function.name.split(".")[0] for function in made.functions}
    assert {"onnx_squareplus_float32", "OnnxStandardize"} <= names
    assert check_unknown(lambda x: declared.onnx_standardize(x, axis=0), [x])
    swish = onnx.to_model(declared.onnx_swish, inputs={"x": (3,)}, opset=24)
    assert [node.op_type for node in swish.graph.node] == ["Swish"]
    check_known(declared.onnx_swish, [x])


def test_reductions_declared_at_run_time_are_functions() -> None:
    """Of what is combined by a known one, and by a formula of its own."""
    declared = tl.declare("""
- reduction: onnx_norm
  args: [x: real floating-point]
  map: x * x
  finish: sqrt(acc / n)
  doc: The root of the mean of the squares.
- reduction: onnx_hypot
  args: [x: real floating-point]
  map: abs(x)
  combine: sqrt(a * a + b * b)
  init: "0"
  grad: none
  doc: The length.
""")
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    for function in declared.values():
        for attrs in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}, {"axis": -1}):
            check_known(lambda x, f=function, a=attrs: f(x, **a), [x])
        assert check_unknown(lambda x, f=function: f(x, axis=0), [x])


def test_equal_elements_keep_their_order_when_sorted() -> None:
    x = np.array([[3, 1, 2, 1, 3, 1], [0, 0, 0, 5, 5, 5]])
    for descending in (False, True):
        check_known(lambda x, d=descending: F.argsort(x, descending=d), [x])
        check_known(lambda x, d=descending: F.argsort(x, axis=0, descending=d), [x])
    check_known(lambda x: F.topk(x, k=3), [x])
    check_known(lambda x: F.topk(x, k=2, skip=3, largest=False), [x])
    check_known(lambda x: F.kthvalue(x, 2, axis=0), [x])
    check_known(lambda x: F.argmax(x, axis=1), [x])


class Scale(tl.ops.OpBase):
    """An op written in Python, whose meaning is functional calls."""

    factor: float = 2.0

    def define(self, x: Any) -> Any:
        return F.tanh(tl.Tensor(x) * self.factor)


def test_ops_written_in_python_are_functions_of_what_they_define() -> None:
    x = np.ones((2, 3), np.float32)
    made = check_known(lambda x: tl.Tensor(Scale(factor=3.0)(x.__wrapped__)[0]), [x])
    assert [function.name for function in made.functions] == ["Scale"]


def test_large_constants_of_functions_are_given_to_them() -> None:
    weight = tl.tensor(np.random.default_rng(0).normal(size=(40, 40)).astype(np.float32))
    listing = tl.Listing()
    part = static.program_op(listing, F.matmul(listing.input("x", ("n", 40)), weight))
    x = np.ones((2, 40), np.float32)
    made = check_known(lambda x: part(part(x)), [x])
    large = [one for one in made.graph.initializer if np.prod(one.dims) == 1600]
    assert len(large) == 1
    assert all(len(node.input) == 2 for node in made.graph.node if node.domain == "tensorlike")


def test_large_models_keep_their_weights_beside_them(tmp_path: Path) -> None:
    network = tl.nn.Sequential(tl.nn.Linear(64, 64, seed=0), tl.nn.Tanh())
    path = tmp_path / "model.onnx"
    for _ in range(2):  # the second time over the first one's files
        onnx.save(network, path, inputs={"x": ("n", 64)}, external_above=1000)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert path.stat().st_size < 2000
    assert (tmp_path / "model.onnx.data").stat().st_size == 64 * 64 * 4
    standard.checker.check_model(str(path))
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)
    assert_same(session.run(None, {"x": x})[0], array_of(network(tl.tensor(x))))


def test_weights_beside_a_model_that_is_replaced_go_with_it(tmp_path: Path) -> None:
    network = tl.nn.Sequential(tl.nn.Linear(64, 64, seed=0), tl.nn.Tanh())
    path, beside = tmp_path / "model.onnx", tmp_path / "model.onnx.data"
    onnx.save(network, path, inputs={"x": ("n", 64)}, external_above=1000)
    with pytest.raises(tl.ArgumentError):
        onnx.save(F.tanh, path, inputs={"x": ((3,), "complex64")})
    assert beside.exists()  # nothing was replaced
    onnx.save(network, path, inputs={"x": ("n", 64)})
    assert not beside.exists()


def test_a_file_beside_a_model_that_is_not_known_to_be_its_weights_stays(tmp_path: Path) -> None:
    path, beside = tmp_path / "model.onnx", tmp_path / "model.onnx.data"
    beside.write_bytes(b"own")
    for before in (None, b"no model", standard.ModelProto(producer_name=beside.name)):
        if isinstance(before, bytes):
            path.write_bytes(before)
        elif before is not None:
            standard.save(before, path)
        onnx.save(F.tanh, path, inputs={"x": (3,)})
        assert beside.read_bytes() == b"own"
    deep = tmp_path / "deep"
    deep.mkdir()
    network = tl.nn.Linear(64, 64, seed=0)
    onnx.save(network, deep / "model.onnx", inputs={"x": ("n", 64)}, external_above=1000)
    path.unlink()
    path.symlink_to(deep / "model.onnx")
    onnx.save(F.tanh, path, inputs={"x": (3,)})
    assert beside.read_bytes() == b"own"


def test_saving_verifies_at_two_sizes(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(Network(), path, inputs={"x": ("batch", 4)}, verify=True)
    assert path.exists()
    with pytest.raises(tl.ArgumentError, match="verify must run in ONNX Runtime"):
        other = tmp_path / "other.onnx"
        onnx.save(F.atan, other, inputs={"x": ((3,), "float64")}, verify=True)
    assert not other.exists()


def test_verification_tries_sizes_that_the_program_takes(tmp_path: Path) -> None:
    def call(x: Any) -> Any:
        return x * 2 if x.shape[0] > 6 else x

    onnx.save(call, tmp_path / "large.onnx", inputs={"x": ("n",)}, verify=True)
    with pytest.raises(tl.ArgumentError, match="must run at some of the sizes"):
        listing = tl.Listing()
        x = listing.input("x", ("n",))
        y = x * 2 if x.shape[0] > 1000 else x
        onnx.save(listing, tmp_path / "never.onnx", results=[y], verify=True)


def test_verification_notices_another_result() -> None:
    from tensorlike.export.onnx.exporter.recording import recorded
    from tensorlike.export.onnx.exporter.verifying import verify_model

    given = recorded(lambda x: x * 2, {"x": ("n",)}, None, None)
    wrong = onnx.to_model(lambda x: x * 3, inputs={"x": ("n",)})
    with pytest.raises(tl.ArgumentError, match="with other elements"):
        verify_model(wrong, given)
    frozen = onnx.to_model(lambda x: F.broadcast_to(F.sum(x), (2,)), inputs={"x": ("n",)})
    with pytest.raises(tl.ArgumentError):
        verify_model(frozen, given)


def test_a_traced_function_is_the_program_that_it_is() -> None:
    """Of what `concrete` gives: a program, its results by name, and the values of its states."""

    class Traced:
        def __init__(self) -> None:
            self.program, startup = static.Program(), static.Program()
            with static.program_guard(self.program, startup):
                y = static.fc(static.data("x", ("n", 2)), 3, act="tanh")
            self.results = {"result": y}
            self._scope = static.Scope()
            static.Executor().run(startup, scope=self._scope)

        def scope(self) -> Any:
            return self._scope

        def concrete(self) -> Any:
            return self

    traced = Traced()
    session = session_of(onnx.to_model(traced))
    x = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    asked = [traced.results["result"]]
    (wanted,) = static.Executor().run(traced.program, {"x": x}, asked, traced.scope())
    assert [given.name for given in session.get_outputs()] == ["result"]
    assert_same(session.run(None, {"x": x})[0], wanted)


def test_rows_that_go_different_ways_are_refused_with_a_way_out() -> None:
    with static.program_guard(static.Program()) as main:
        x = static.data("x", (4, 2))
        branches = static.IfElse(F.sum(x, axis=1, keepdims=True) > 0)
        with branches.true_block():
            branches.output(branches.input(x) * 2)
        with branches.false_block():
            branches.output(branches.input(x) - 1)
        y = branches()
    with pytest.raises(tl.ArgumentError, match=r"no branch for each row.*where"):
        onnx.to_model(main, results=[y])

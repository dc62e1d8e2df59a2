"""ONNX models become programs of every size, with their names, weights and gradients."""

from __future__ import annotations

import doctest
import inspect
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.onnx_models import by_onnxruntime, model_of, port, two_layers

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static


def test_a_model_whose_shapes_follow_from_sizes_is_one_program_for_all() -> None:
    model = tl.export.onnx.load(two_layers())
    assert model.why == ""
    for n in (1, 5):
        x = np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32)
        (wanted,) = by_onnxruntime(two_layers(), {"x": x})
        np.testing.assert_allclose(model(x), wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(model(x=x), wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(model.named({"x": x})["y"], wanted, rtol=1e-5, atol=1e-6)


def test_what_depends_on_a_size_that_is_1_is_right_for_it_too() -> None:
    """Squeeze of whatever is 1, and Expand to a shape that the graph calculates."""
    nodes = [
        helper.make_node("Squeeze", ["x"], ["s"]),
        helper.make_node("Shape", ["z"], ["shape"]),
        helper.make_node("Expand", ["x", "shape"], ["e"]),
    ]
    proto = model_of(
        nodes, [port("x", ["n", "m", 2]), port("z", ["a", "b", "c"])],
        [port("s", None), port("e", None)],
    )  # fmt: skip
    model = tl.export.onnx.load(proto)
    for n, m, shape in ((3, 4, (3, 4, 2)), (1, 4, (5, 1, 2)), (3, 1, (1, 4, 1)), (1, 1, (1, 1, 1))):
        feed = {"x": np.ones((n, m, 2), np.float32), "z": np.ones(shape, np.float32)}
        wanted = by_onnxruntime(proto, feed)
        for ours, theirs in zip(model(**feed), wanted, strict=True):
            assert ours.shape == theirs.shape, (n, m, shape)


def test_variables_have_the_names_of_the_model_and_weights_are_states() -> None:
    model = tl.export.onnx.load(two_layers())
    variables = model.program.block.vars
    assert {"x", "w", "b", "y"} <= set(variables)
    assert variables["w"].persistable and not variables["x"].persistable
    assert (model.inputs, model.outputs) == (("x",), ("y",))
    assert repr(model) == "OnnxModel(x -> y)"


def test_the_program_runs_in_an_executor_and_after_passes() -> None:
    model = tl.export.onnx.load(two_layers())
    x = np.ones((2, 3), np.float32)
    for program in (model.program, model.compiled):
        (y,) = static.Executor().run(program, {"x": x}, model.results, model.scope)
        np.testing.assert_allclose(y, model(x), rtol=1e-6)


def test_gradients_flow_to_inputs_and_weights() -> None:
    model = tl.export.onnx.load(two_layers())
    x, w = tl.ones((2, 3)), tl.ones((3, 4))

    def loss(x: Any, w: Any) -> Any:
        return F.sum(model.op(x, w=w)[0] ** 2)

    by_x, by_w = tl.grad(loss, argnums=(0, 1))(x, w)
    b = model.scope.find_var("b")
    wanted = tl.grad(lambda x, w: F.sum(F.relu(x @ w + b) ** 2), argnums=(0, 1))(x, w)
    np.testing.assert_allclose(by_x, wanted[0], rtol=1e-5)
    np.testing.assert_allclose(by_w, wanted[1], rtol=1e-5)
    leaf = tl.tensor(np.ones((2, 3), np.float32), requires_grad=True)
    F.sum(model(leaf)).backward()
    assert leaf.grad is not None and leaf.grad.shape == (2, 3)


def test_a_weight_that_is_set_in_the_scope_is_that_of_the_next_call() -> None:
    model = tl.export.onnx.load(two_layers())
    x = np.ones((1, 3), np.float32)
    before = np.asarray(model(x))
    model.scope.set("b", np.full(4, 100.0, np.float32))
    after = np.asarray(model(x))
    assert (after > 50).all() and not (before > 50).all()


def test_a_program_is_saved_and_read_without_onnx(tmp_path: Path) -> None:
    model = tl.export.onnx.load(two_layers())
    model.save(tmp_path / "layers.tlp")
    scope = static.Scope()
    again = static.load(tmp_path / "layers.tlp", scope)
    x = np.ones((3, 3), np.float32)
    (y,) = static.Executor().run(again, {"x": x}, list(again.results.values()), scope)
    np.testing.assert_allclose(y, model(x), rtol=1e-6)


def test_a_model_is_read_from_a_path_bytes_or_a_proto(tmp_path: Path) -> None:
    proto = two_layers()
    path = tmp_path / "layers.onnx"
    path.write_bytes(proto.SerializeToString())
    x = np.ones((2, 3), np.float32)
    sources = (path, os.fspath(path), proto.SerializeToString(), proto)
    found = [np.asarray(tl.export.onnx.load(source)(x)) for source in sources]
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])
    with pytest.raises(tl.ParameterError, match="a path, bytes or a ModelProto"):
        tl.export.onnx.load(3)


def test_a_model_of_the_model_itself_is_a_function_and_vmap_goes_through_it() -> None:
    model = tl.export.onnx.load(two_layers())
    xs = tl.tensor(np.random.default_rng(3).standard_normal((4, 2, 3)).astype(np.float32))
    found = tl.vmap(lambda x: model(x))(xs)
    for i in range(4):
        np.testing.assert_allclose(found[i], model(xs[i]), rtol=1e-5, atol=1e-6)


def test_functions_of_a_model_are_called_with_their_attributes() -> None:
    body = [
        helper.make_node("LeakyRelu", ["a"], ["b"]),
        helper.make_node("Add", ["b", "a"], ["c"]),
    ]
    body[0].attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    function = helper.make_function(
        "own", "Leaky", ["a"], ["c"], body, [helper.make_opsetid("", 18)], ["slope"]
    )
    nodes = [
        helper.make_node("Leaky", ["x"], ["h"], domain="own", slope=0.5),
        helper.make_node("Leaky", ["h"], ["y"], domain="own", slope=0.25),
    ]
    proto = model_of(
        nodes, [port("x", [None])], [port("y", [None])], functions=[function],
        imports=[helper.make_opsetid("own", 1)],
    )  # fmt: skip
    x = np.array([-2.0, 1.0], np.float32)
    model = tl.export.onnx.load(proto)
    np.testing.assert_allclose(model(x), by_onnxruntime(proto, {"x": x})[0])


def test_random_numbers_are_drawn_anew_in_each_run() -> None:
    nodes = [
        helper.make_node("RandomNormal", [], ["noise"], shape=[4]),
        helper.make_node("Add", ["x", "noise"], ["y"]),
    ]
    model = tl.export.onnx.load(model_of(nodes, [port("x", [4])], [port("y", [4])]))
    x = np.zeros(4, np.float32)
    assert np.asarray(model(x)).tolist() != np.asarray(model(x)).tolist()


def test_all_ops_that_are_not_known_are_named_at_once() -> None:
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], name="first", domain="there"),
        helper.make_node("TfIdfVectorizer", ["a"], ["y"], name="second"),
    ]
    proto = model_of(
        nodes, [port("x", [1])], [port("y", [1])], imports=[helper.make_opsetid("there", 1)]
    )
    with pytest.raises(tl.ArgumentError) as caught:
        tl.export.onnx.load(proto)
    assert "there.Frobnicate (node first)" in str(caught.value)
    assert "TfIdfVectorizer (node second)" in str(caught.value)


def test_strings_are_refused_by_their_name() -> None:
    node = helper.make_node("Identity", ["x"], ["y"])
    ports = [port(name, [1], TensorProto.STRING) for name in ("x", "y")]
    with pytest.raises(tl.DTypeError, match="STRING"):
        tl.export.onnx.load(model_of([node], ports[:1], ports[1:]))


def test_an_opset_from_the_future_is_refused() -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    proto = model_of([node], [port("x", [1])], [port("y", [1])], opset=29)
    with pytest.raises(tl.ArgumentError, match=r"from 1 to 28; got 29"):
        tl.export.onnx.load(proto)


def test_calls_tell_what_is_missing_or_too_much() -> None:
    model = tl.export.onnx.load(two_layers())
    with pytest.raises(tl.ArgumentError, match="x must be given"):
        model()
    with pytest.raises(tl.ArgumentError, match="takes x; got z"):
        model(z=1)
    with pytest.raises(tl.DTypeError, match="must be of float32; got int64"):
        model(np.ones((2, 3), np.int64))
    with pytest.raises(tl.ShapeError):
        model(np.ones((2, 4), np.float32))


@pytest.mark.parametrize("thing", [tl.export.onnx.load, tl.export.onnx.OnnxModel])
def test_the_examples_print_what_they_say(thing: Any) -> None:
    text = inspect.cleandoc(thing.__doc__ or "")
    test = doctest.DocTestParser().get_doctest(text, {}, thing.__name__, None, None)
    results = doctest.DocTestRunner(verbose=False).run(test)
    assert results.attempted > 0 and results.failed == 0


def test_a_model_is_a_part_of_other_programs_and_of_every_transform() -> None:
    model = tl.export.onnx.load(two_layers())
    x = np.random.default_rng(5).standard_normal((2, 3)).astype(np.float32)
    with static.program_guard(static.Program()) as main:
        y = model(static.data("x", (None, 3))) * 2
        z = model(x)  # at once, though a program is being built
    found = static.Executor().run(main, {"x": x}, [y])[0]
    np.testing.assert_allclose(found, 2 * np.asarray(model(x)), rtol=1e-6)
    np.testing.assert_allclose(z, model(x), rtol=1e-6)
    value, tangent = tl.jvp(model, (tl.tensor(x),), (tl.tensor(np.ones_like(x)),))
    step = 1e-3
    slope = (np.asarray(model(x + step)) - np.asarray(model(x - step))) / (2 * step)
    np.testing.assert_allclose(value, model(x), rtol=1e-5)
    np.testing.assert_allclose(tangent, slope, rtol=1e-2, atol=1e-3)

"""Networks, control flow and training programs as ONNX models, in ONNX Runtime."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support import control_flow
from support.exported_models import array_of, assert_same, check_known, run_model
from support.models import models
from support.random_programs import random_program

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.export import onnx
from tensorlike.export.onnx.exporter.verifying import session_of

NAMES = ("mlp", "cnn", "residual", "lstm", "gpt")


@pytest.mark.parametrize("name", NAMES)
def test_a_network_runs_at_every_size_of_the_batch(name: str) -> None:
    model = models()[name]
    axis = 1 if name == "lstm" else 0
    shape: list[Any] = list(model.inputs.shape)
    shape[axis] = "batch"
    made = onnx.to_model(model.network, inputs={"x": (shape, tl.tensor(model.inputs).dtype)})
    assert made.graph.input[0].type.tensor_type.shape.dim[axis].dim_param == "batch"
    names = {tensor.name for tensor in made.graph.initializer}
    assert {key for key, _ in model.network.named_parameters()} <= names
    session = session_of(made)
    model.network.eval()
    for size in (1, 3, 4):
        x = np.take(model.inputs, np.arange(size) % model.inputs.shape[axis], axis)
        (found,) = session.run(None, {"x": x})
        assert_same(found, array_of(model.network(tl.tensor(x))))


def test_a_layer_is_exported_as_it_infers_and_stays_as_it_was() -> None:
    network = tl.nn.Sequential(tl.nn.Linear(4, 4, seed=0), tl.nn.BatchNorm1d(4), tl.nn.Dropout(0.5))
    before = {name: array_of(x).copy() for name, x in network.state_dict().items()}
    made = onnx.to_model(network, inputs={"x": ("n", 4)})
    assert network.training and all(layer.training for _, layer in network.named_layers())
    for name, x in network.state_dict().items():
        np.testing.assert_array_equal(array_of(x), before[name])
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    (found,) = session_of(made).run(None, {"x": x})
    network.eval()
    assert_same(found, array_of(network(tl.tensor(x))))


TRAINED = [
    pytest.param(name, optimizer, marks=[pytest.mark.slow] if is_slow else [])
    for name, optimizer, is_slow in [
        ("mlp", "adam", False), ("cnn", "sgd", False), ("residual", "adam", True),
        ("lstm", "sgd", True), ("gpt", "adam", False), ("mlp", "sgd", True), ("cnn", "adam", True),
        ("residual", "sgd", False), ("lstm", "adam", True), ("gpt", "sgd", True),
    ]
]  # fmt: skip


@pytest.mark.parametrize(("name", "optimizer"), TRAINED)
def test_a_training_program_trains_in_onnx_runtime(name: str, optimizer: str) -> None:
    """States come in under their names and go out as what they become."""
    model = models()[name]
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        static.keep(model.network)
        x = static.data("x", model.inputs.shape, model.inputs.dtype.name)
        target = static.data("target", model.classes.shape, "int64")
        loss = F.cross_entropy(model.network(x), target)
        steps = {"sgd": tl.optim.SGD, "adam": tl.optim.Adam}
        options = {"eps": 1e-3} if optimizer == "adam" else {}
        steps[optimizer](None, lr=0.05, **options).minimize(loss)
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    session = session_of(onnx.to_model(main, results={"loss": loss}, scope=scope))
    outputs = [given.name for given in session.get_outputs()]
    feed: dict[str, Any] = {"x": model.inputs, "target": model.classes}
    fed = dict(feed)
    for _ in range(3):
        found = dict(zip(outputs, session.run(None, fed), strict=True))
        (wanted,) = executor.run(main, feed, [loss], scope)
        np.testing.assert_allclose(found["loss"], wanted, 1e-4)
        states = [name for name in outputs if name.endswith(".next")]
        fed.update({name.removesuffix(".next"): found[name] for name in states})
    for name in states:
        state = name.removesuffix(".next")
        np.testing.assert_allclose(found[name], array_of(scope.find_var(state)), 2e-3, 2e-4)


@pytest.mark.parametrize("point", control_flow.POINTS)
@pytest.mark.parametrize("case", control_flow.CASES)
def test_control_flow_is_if_loop_and_scan(case: str, point: str) -> None:
    ours, _ = control_flow.CASES[case]
    x, w = control_flow.POINTS[point]
    made = onnx.to_model(ours, inputs={"x0": (("n", 3), "float64"), "x1": ((3, 3), "float64")})
    ops = ops_in(made.graph.node)
    assert ops & {"If", "Loop", "Scan"}
    for rows in (4, 2):
        (found,) = run_model(made, [x[:rows], w])
        np.testing.assert_allclose(found, array_of(ours(tl.tensor(x[:rows]), tl.tensor(w))), 1e-9)


def ops_in(nodes: Any) -> set[str]:
    inner = [a.g.node for node in nodes for a in node.attribute if a.HasField("g")]
    return {node.op_type for node in nodes}.union(*map(ops_in, inner))


@pytest.mark.parametrize("case", control_flow.CASES)
def test_gradients_of_control_flow_are_control_flow(case: str) -> None:
    ours, _ = control_flow.CASES[case]
    call = tl.grad(ours, argnums=(0, 1))
    check_known(lambda x, w: list(call(x, w)), list(control_flow.POINTS["small"]))


def test_a_loop_without_a_bound_ends_when_its_condition_does() -> None:
    def doubled(x: Any) -> Any:
        return F.while_loop(lambda c: F.sum(c) < 100.0, lambda c: c * 2, x)

    made = onnx.to_model(doubled, inputs={"x0": ("n",)})
    for x in ([1.0, 3.0], [200.0], [30.0, 30.0, 30.0]):
        (found,) = run_model(made, [np.asarray(x, np.float32)])
        assert_same(found, array_of(doubled(tl.tensor(x))))


def test_a_program_as_an_op_is_a_function() -> None:
    listing = tl.Listing()
    x = listing.input("x", ("n", 3))
    twice = static.program_op(listing, F.tanh(x * 2))
    check_known(lambda x: twice(twice(x) + 1), [np.ones((2, 3), np.float32)])


@pytest.mark.parametrize(
    "seed", [pytest.param(i, marks=[pytest.mark.slow] if i >= 12 else []) for i in range(150)]
)
def test_random_programs_with_states_are_what_they_are_here(seed: int) -> None:
    """Of float64, for which ONNX Runtime has not all kernels: those are told by name."""
    made = random_program(seed)
    scope, executor = static.Scope(), static.Executor()
    executor.run(made.startup, scope=scope)
    results = {f"result_{i}": y for i, y in enumerate(made.results)}
    model = onnx.to_model(made.main, results=results, scope=scope)
    try:
        session = session_of(model)
    except tl.ArgumentError as error:
        assert re.search("NOT_IMPLEMENTED.*(Erf|Softplus|Softsign|QuickGelu)", str(error)), error
        return
    names = [given.name for given in session.get_inputs()]
    fed = {name: made.feeds[name] for name in names if name in made.feeds}
    found = session.run(list(results), fed)
    for x, y in zip(found, executor.run(made.main, made.feeds, made.results, scope), strict=True):
        assert_same(x, y)

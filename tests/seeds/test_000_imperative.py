"""Acceptance rows P1, P2 and P4 to P11: Paddle's imperative design, under present names.

P3 is in test_000_functions.py; P12, every op recorded and replayed, is generated in tests/ops.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import guard, nn, to_variable
from tensorlike.nn.initializers import Constant


class MyLayer(nn.Layer):
    def forward(self, inputs: Any) -> list[Any]:
        x = F.relu(inputs)
        x = F.multiply(x, x)
        x = F.sum(x)
        return [x]


class MLP(nn.Layer):
    def __init__(self, input_size: int) -> None:
        self.linear1 = nn.Linear(input_size, 3)
        self.linear2 = nn.Linear(3, 4)
        self.initialize(weight=Constant(0.1), bias=Constant(0.0))

    def forward(self, inputs: Any) -> Any:
        return F.sum(self.linear2(self.linear1(inputs)))


def test_p1_a_layer_builds_its_parameters_once_at_its_first_call() -> None:
    class Scale(nn.Layer):
        built = 0

        def build(self, x: Any, *, shift: float = 0.0) -> None:
            self.built += 1
            if x.ndim != 2:
                raise ValueError("two dimensions")
            self.factor = tl.Parameter(np.full(x.shape[-1], 2.0, np.float32))

        def forward(self, x: Any, *, shift: float = 0.0) -> list[Any]:
            return [x * self.factor + shift]

    layer = nn.Sequential(Scale(), lambda outs: outs[0])
    assert layer.parameters() == []
    with pytest.raises(ValueError, match="two dimensions"):
        layer(tl.tensor([1.0]))
    for _ in range(3):
        assert layer(tl.tensor([[1.0, 2.0]])).tolist() == [[2.0, 4.0]]
    assert layer[0].built == 2 and [p.shape for p in layer.parameters()] == [(2,)]
    assert layer[0](tl.tensor([[1.0, 2.0]]), shift=1.0)[0].tolist() == [[3.0, 5.0]]


def test_p2_a_layer_and_its_gradient() -> None:
    with guard():
        x = to_variable(np.array([1.0, 2.0, -1.0], dtype=np.float32))
        (y,) = MyLayer()(x)
        assert y.item() == 5.0
        y.backward()
        assert x.grad.tolist() == [2.0, 4.0, 0.0]


def test_p4_a_perceptron_of_two_layers() -> None:
    np_inp = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
    with guard() as tape:
        var_inp = to_variable(np_inp)
        mlp = MLP(input_size=2)
        out = mlp(var_inp)
        assert out.detach().numpy() == pytest.approx(1.2)
        out.backward()
    close = dict(rtol=1e-6)
    np.testing.assert_allclose(var_inp.grad.numpy(), np.full((2, 2), 0.12), **close)
    np.testing.assert_allclose(mlp.linear1.weight.grad.numpy(), [[1.6] * 3, [2.4] * 3], **close)
    np.testing.assert_allclose(mlp.linear1.bias.grad.numpy(), [0.8] * 3, **close)
    np.testing.assert_allclose(mlp.linear2.weight.grad.numpy(), np.ones((3, 4)), **close)
    np.testing.assert_allclose(mlp.linear2.bias.grad.numpy(), [2.0] * 4, **close)
    assert tape.inputs[0].shape == (2, 2)


def test_p4_a_layer_takes_what_its_parameters_start_from() -> None:
    tenth = nn.ParamAttr(initializer=Constant(0.1))
    fixed = nn.ParamAttr(initializer=Constant(0.0), trainable=False)
    layer = nn.Linear(2, 3, weight_attr=tenth, bias_attr=fixed)
    assert np.all(layer.weight.value() == np.float32(0.1)) and layer.weight.requires_grad
    assert layer.bias is not None and not layer.bias.requires_grad
    assert layer(to_variable([[1.0, 2.0]])).value()[0] == pytest.approx([0.3] * 3)
    kept = nn.Linear(2, 3, seed=0, weight_attr=nn.ParamAttr(trainable=False))
    assert kept.weight.tolist() == nn.Linear(2, 3, seed=0).weight.tolist()
    assert not nn.Conv2d(1, 2, 3).initialize(weight=fixed).weight.requires_grad
    with pytest.raises(KeyError, match=r"there must be parameters of these names; got \['bias'\]"):
        nn.Linear(2, 3, bias=False, bias_attr=tenth)


def test_p5_a_variable_has_the_seed_s_names_for_its_arrays() -> None:
    with guard():
        x = to_variable(np.array([1.0, 2.0], np.float32))
        assert x.gradient() is None
        F.sum(x * x).backward()
    assert x.value().tolist() == [1.0, 2.0]
    assert x.gradient().tolist() == x.gradient_value().tolist() == [2.0, 4.0]
    assert isinstance(x.gradient(), np.ndarray) and not x.value().flags.writeable


def test_p5_guard_and_variables() -> None:
    array = np.array([[1.0, 2.0]], np.float32)
    with tl.no_grad(), guard():
        x = to_variable(array)
        assert x.detach().numpy().tolist() == array.tolist()
        array[0, 0] = 9  # a variable is a copy
        y = ((x + 1) * 2 - x / 2) @ tl.tensor([[1.0], [1.0]])
        y.backward()
    assert y.item() == pytest.approx((2 * 2 - 0.5) + (3 * 2 - 1))
    assert x.grad.tolist() == [[1.5, 1.5]]


def test_p6_one_functional_call_takes_every_kind() -> None:
    listing = tl.Listing()
    kinds = [
        tl.tensor([[1.0, 2.0]]),
        tl.RawTensor(np.array([[1.0, 2.0]], np.float32)),
        tl.ShapeTensor((1, 2)),
        listing.input("x", (1, 2)),
    ]
    for x in kinds:
        assert isinstance(x, tl.TensorBase)
        y = F.softmax(F.exp(x))
        assert isinstance(y, tl.TensorBase) and type(y) is type(x) and y.shape == (1, 2)
    assert len(listing.ops) == 2


def test_p7_what_is_traced_has_an_op_inputs_and_outputs_and_a_stop() -> None:
    x, w = to_variable(np.ones((2, 3), np.float32)), to_variable(np.ones((3, 4), np.float32))
    with tl.Tape() as tape:
        tl.apply(tl.ops.MatMul(), x, w)
        with tl.no_grad():  # the seed's stop_gradient=True
            tl.apply(tl.ops.MatMul(), x, w)
    (entry,) = tape
    assert entry.op == tl.ops.MatMul()
    assert [value.shape for value in entry.inputs] == [(2, 3), (3, 4)]
    assert [value.shape for value in entry.outputs] == [(2, 4)]

    class Double(tl.PyLayer):
        @staticmethod
        def forward(inputs: Any) -> Any:
            return inputs[0] * 2

        @staticmethod
        def backward(inputs: Any) -> Any:
            return inputs[-1] * 2

    with tl.Tape() as tape:
        (y,) = Double()(x)
    assert y.requires_grad and len(tape) == 1


def test_p7_an_op_is_traced_by_slots() -> None:
    x, w = to_variable(np.ones((2, 3), np.float32)), to_variable(np.ones((3, 4), np.float32))
    y, z = tl.Tensor(0.0), tl.Tensor(0.0)
    with tl.Tape() as tape:
        tape.trace(tl.ops.MatMul(), {"X": [x], "Y": [w]}, {"Out": [y]})
        tape.trace(tl.ops.MatMul(), {"X": [x], "Y": [w]}, {"Out": [z]}, stop_gradient=True)
    assert [entry.op for entry in tape] == [tl.ops.MatMul()]
    assert y.tolist() == z.tolist() == [[3.0] * 4] * 2
    assert y.requires_grad and not z.requires_grad
    F.sum(y).backward()
    assert w.grad.tolist() == [[2.0] * 4] * 3
    with pytest.raises(tl.ParameterError, match="a tensor must be given for each of 1 results"):
        tape.trace(tl.ops.MatMul(), {"X": [x], "Y": [w]}, {"Out": []})


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
def test_p8_the_result_is_known_before_it_is_computed(mode: str) -> None:
    with tl.engine.mode(mode, threshold=1), guard() as tape:
        x = to_variable(np.ones((4, 5), np.float32))
        w = tl.Parameter(np.ones((5, 2), np.float32))
        y = F.sum(F.relu(x @ w) * 2)
        assert y.shape == () and y.dtype is tl.float32
        with pytest.raises(tl.ShapeError):  # on this line, not when it is computed
            x @ x
        y.backward()
        tape.reset()
        tl.optim.SGD([w], lr=0.5).step()
        assert w.tolist() == [[-3.0, -3.0]] * 5 and len(tape) == 0


def test_p9_lazy_execution_keeps_the_order_and_gives_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(16, 8)).astype(np.float32)

    def run(mode: str) -> list[Any]:
        with tl.engine.mode(mode, threshold=1):
            x = to_variable(data)
            y = F.tanh(x * 3 + 1)
            z = y
            z = z * z + x
            x2 = x.detach()
            x2[0] = 7.0  # after x was read
            F.sum(z / (1 + y)).backward()
            return [z.tolist(), x.grad.tolist(), x2.tolist()]

    wanted = run("sync")
    assert run("lazy") == wanted and run("async") == wanted


def test_p10_an_op_runs_where_its_inputs_are() -> None:
    x = to_variable(np.ones(3, np.float32))
    assert (x * 2).device == x.device == "cpu"
    moved = x.to("cpu")
    F.sum(moved * 2).backward()
    assert x.grad.tolist() == [2.0] * 3
    with pytest.raises(tl.DeviceError):
        x.to("nowhere")


def test_p11_training_goes_on_from_a_file_to_the_bit(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    rng = np.random.default_rng(1)
    batches = [rng.normal(size=(8, 2)).astype(np.float32) for _ in range(8)]

    def start() -> tuple[Any, list[Any]]:
        model = nn.Sequential(nn.Linear(2, 8, seed=0), F.tanh, nn.Linear(8, 1, seed=1))
        return model, [
            tl.optim.Adam(model.parameters(), lr=0.05, decay=0.01),
            tl.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
        ]

    def train(model: Any, optimizers: list[Any], batches: list[Any]) -> None:
        for batch in batches:
            for optimizer in optimizers:
                optimizer.zero_grad()
                F.mean((model(batch) - batch[:, :1] * batch[:, 1:]) ** 2).backward()
                optimizer.step()

    whole, optimizers = start()
    train(whole, optimizers, batches)
    model, optimizers = start()
    train(model, optimizers, batches[:3])
    parts = [model, *optimizers]
    for i, part in enumerate(parts):
        safetensors.save_file(part.state_dict(), tmp_path / f"{i}.safetensors")
    model, optimizers = start()
    for i, part in enumerate([model, *optimizers]):
        part.load_state_dict(safetensors.load_file(tmp_path / f"{i}.safetensors"))
    train(model, optimizers, batches[3:])
    for name, value in whole.state_dict().items():
        np.testing.assert_array_equal(model.state_dict()[name], value)


def test_p11_a_state_that_does_not_fit_is_refused_and_nothing_is_set() -> None:
    parameter = tl.Parameter([1.0, 2.0])
    optimizer = tl.optim.Adam([parameter], lr=0.5)
    F.sum(parameter * parameter).backward()
    optimizer.step()
    before = optimizer.state_dict()
    with pytest.raises(KeyError, match=r"missing \['first\.0'"):
        optimizer.load_state_dict({"lr": 1.0, "steps.0": 3})
    with pytest.raises(tl.ShapeError, match=r"second\.0 must have shape"):
        optimizer.load_state_dict({**before, "lr": 1.0, "second.0": np.ones(3, np.float32)})
    assert optimizer.lr == 0.5
    for name, value in optimizer.state_dict().items():
        np.testing.assert_array_equal(value, before[name])

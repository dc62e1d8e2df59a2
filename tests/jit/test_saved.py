"""Programs as files, TracedLayer and inference models: rows Y1, Y2, Y5 and Y7."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn, static
from tests.support.models import models


class Net(nn.Layer):
    """A layer with parameters, buffers and several results."""

    def __init__(self) -> None:
        self.first = nn.Linear(3, 4, seed=0)
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Linear(4, 2, seed=1)

    def forward(self, x: Any) -> Any:
        """Two results, in a dict and a tuple."""
        hidden = F.relu(self.norm(self.first(x)))
        return {"logits": self.last(hidden), "parts": (hidden, F.sum(x))}


def test_y1_a_traced_layer_gives_the_same_and_shares_parameters() -> None:
    layer = nn.Linear(3, 2, seed=0)
    x = tl.ones((4, 3))
    out, traced = jit.TracedLayer.trace(layer, inputs=[x])
    assert out.tolist() == layer(x).tolist() == traced([x])[0].tolist()
    layer.weight.set_value(np.zeros((3, 2), np.float32))
    assert traced([x])[0].tolist() == layer(x).tolist()
    F.sum(traced([x])[0]).backward()
    assert layer.weight.grad is not None
    assert len(traced.function.programs()) == 1


def test_y2_inference_models_are_saved_and_run(tmp_path: Any) -> None:
    layer = Net().eval()
    x = tl.tensor(np.random.default_rng(0).standard_normal((5, 3), dtype=np.float32))
    out, traced = jit.TracedLayer.trace(layer, inputs=[x])
    traced.save_inference_model(tmp_path / "model", feed=[0], fetch=[0, 2])
    exe, scope = static.Executor(), static.Scope()
    program, feed, fetch = static.load_inference_model(tmp_path / "model", exe, scope=scope)
    assert feed == ["x"] and len(fetch) == 2
    logits, total = exe.run(program, feed={"x": x.numpy()}, fetch_list=fetch, scope=scope)
    np.testing.assert_allclose(logits, out["logits"].detach().numpy(), rtol=1e-6)
    np.testing.assert_allclose(total, F.sum(x).numpy(), rtol=1e-6)
    with pytest.raises(tl.ArgumentError, match="indices below 3"):
        traced.save_inference_model(tmp_path / "model", fetch=[3])
    with pytest.raises(tl.ArgumentError, match="must be fed"):
        traced.save_inference_model(tmp_path / "model", feed=[], fetch=[0])


def test_y5_the_cache_goes_by_shapes_dtypes_and_values() -> None:
    calls = []

    @jit.trace
    def scaled(x: Any, n: int) -> Any:
        calls.append(n)
        return x * n

    for _ in range(3):
        scaled(tl.ones(2), 3)
    assert len(calls) == 1
    scaled(tl.ones(2, dtype="float64"), 3)
    scaled(tl.ones((2, 2)), 3)
    scaled(tl.ones(2), 4)
    assert len(calls) == 4 and len(scaled.programs()) == 4
    for _ in range(3):
        scaled(tl.ones(2), 4), scaled(tl.ones((2, 2)), 3)
    assert len(calls) == 4
    assert scaled.why().count("program ") == 4


def test_y7_a_layer_is_loaded_without_its_class_and_trains(tmp_path: Any) -> None:
    layer = Net()
    info = jit.save(layer, tmp_path / "net.tlp", [jit.InputSpec((None, 3))])
    assert info.inputs == ("x",)
    assert set(info.parameters) == {
        f"{part}.{kind}" for part in ("first", "norm", "last") for kind in ("weight", "bias")
    }
    again = jit.load(tmp_path / "net.tlp")
    for count in (4, 7, 2):
        x = tl.tensor(np.random.default_rng(count).standard_normal((count, 3), dtype=np.float32))
        found, wanted = again(x), layer(x)  # both change their running statistics
        assert sorted(found) == ["logits", "parts"] and isinstance(found["parts"], tuple)
        for a, b in zip(
            [found["logits"], *found["parts"]], [wanted["logits"], *wanted["parts"]], strict=True
        ):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)
    for name, buffer in layer.named_buffers():
        np.testing.assert_allclose(
            again.buffers_by_name[name].numpy(), buffer.numpy(), rtol=1e-5, err_msg=name
        )
    x = tl.tensor(np.random.default_rng(9).standard_normal((6, 3), dtype=np.float32))
    for network in (again, layer):
        optimizer = tl.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            F.sum(network(x)["logits"] ** 2).backward()
            optimizer.step()
    for name, parameter in layer.named_parameters():
        np.testing.assert_allclose(
            again.parameters_by_name[name].detach().numpy(), parameter.detach().numpy(),
            rtol=1e-4, atol=1e-6, err_msg=name,
        )  # fmt: skip


@pytest.mark.parametrize("name", sorted(models()))
def test_what_is_loaded_has_the_names_that_the_layer_has(name: str, tmp_path: Any) -> None:
    model = models()[name]
    spec = jit.InputSpec.from_tensor(tl.tensor(model.inputs))
    jit.save(model.network, tmp_path / "model.tlp", [spec])
    again = jit.load(tmp_path / "model.tlp")
    assert sorted(dict(again.named_parameters())) == sorted(dict(model.network.named_parameters()))
    model.network.load_state_dict({**model.network.state_dict(), **dict(again.named_parameters())})
    for parameter in again.parameters():
        parameter.grad = None
    again(tl.tensor(model.inputs)).sum().backward()
    assert all(parameter.grad is not None for parameter in again.parameters())


@pytest.mark.parametrize("name", sorted(models()))
def test_every_model_is_saved_and_loaded(name: str, tmp_path: Any) -> None:
    model = models()[name]
    network = model.network.eval()
    x = tl.tensor(model.inputs)
    spec = jit.InputSpec.from_tensor(x)
    jit.save(network, tmp_path / "model.tlp", [spec])
    found = jit.load(tmp_path / "model.tlp")(x)
    np.testing.assert_allclose(
        found.detach().numpy(), network(x).detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_what_cannot_be_saved_is_refused(tmp_path: Any) -> None:
    p = tl.Parameter([1.0])

    def step(x: Any) -> Any:
        loss = F.sum(p * x)
        loss.backward()
        return loss

    with pytest.raises(tl.ArgumentError, match="must have been called"):
        jit.save(step, tmp_path / "f.tlp")
    with pytest.raises(tl.ArgumentError, match="may change parameters and buffers alone"):
        jit.save(step, tmp_path / "f.tlp", [tl.ones(1)])
    assert p.grad is None and p.is_leaf


def test_an_input_spec_is_held_against_arguments() -> None:
    traced = jit.trace(input_spec=[jit.InputSpec((None, 3)), jit.InputSpec((None,))])(
        lambda x, y: F.sum(x, axis=1) + y
    )
    for count in (2, 5, 3):
        assert traced(tl.ones((count, 3)), tl.ones(count)).tolist() == [4.0] * count
    assert len(traced.programs()) == 1
    with pytest.raises(tl.ShapeError, match="of its InputSpec"):
        traced(tl.ones((2, 4)), tl.ones(2))
    with pytest.raises(tl.DTypeError, match="as its InputSpec says"):
        traced(tl.ones((2, 3), dtype="float64"), tl.ones(2))


def test_saving_changes_nothing() -> None:
    layer = Net()
    before = {name: x.tolist() for name, x in layer.named_buffers()}
    state = tl.imperative.default_stream.state()
    jit.trace(layer).concrete(tl.ones((4, 3)))
    jit.trace(layer).concrete(jit.InputSpec((None, 3)))
    assert before == {name: x.tolist() for name, x in layer.named_buffers()}
    assert tl.imperative.default_stream.state() == state


def test_y3_a_branch_that_is_saved_is_named_by_its_line(tmp_path: Any) -> None:
    def branch(x: Any) -> Any:
        if F.sum(x) > 0:
            return x * 2
        return -x

    line = branch.__code__.co_firstlineno + 1
    with pytest.warns(jit.FrozenValueWarning, match=rf"value was True \(.*test_saved.py:{line}\)"):
        jit.save(branch, tmp_path / "f.tlp", [tl.ones(2)])


@pytest.mark.parametrize(
    ("options", "most", "least"),
    [
        (True, 1e-5, 0.0),
        (jit.ForInference(compute="bfloat16"), 0.05, 1e-5),
        (jit.ForInference(compute="float16"), 0.01, 1e-6),
        (jit.ForInference(weights="bfloat16"), 0.05, 1e-5),
        (jit.ForInference(weights="float16"), 0.01, 1e-6),
        (jit.ForInference(weights="dynamic"), 0.05, 1e-5),
        (jit.ForInference(compute="bfloat16", weights="float16"), 0.05, 1e-5),
    ],
)
def test_j8_optimize_for_inference_writes_constants_in_the_precision_that_is_asked_for(
    options: Any, most: float, least: float, tmp_path: Any
) -> None:
    net = Net().eval()
    numbers = np.random.default_rng(1)
    for x in (numbers.standard_normal((n, 3), dtype=np.float32) for n in (4, 4)):
        net.train()(tl.tensor(x))
    traced = jit.trace(net.eval())
    x = tl.tensor(numbers.standard_normal((5, 3), dtype=np.float32))
    plain = traced.dump(tmp_path / "plain.tlp", jit.InputSpec((None, 3)))
    info = traced.dump(tmp_path / "f.tlp", jit.InputSpec((None, 3)), for_inference=options)
    assert info.parameters == () and len(plain.parameters) > 4
    assert info.inputs == plain.inputs and info.outputs == plain.outputs
    again = jit.load(tmp_path / "f.tlp")
    assert not again.parameters_by_name and not again.buffers_by_name
    for given in (x, x[:2]):
        wanted, found = net(given), again(given)
        assert found["logits"].dtype is wanted["logits"].dtype
        error = np.abs(np.asarray(found["logits"]) - np.asarray(wanted["logits"].detach())).max()
        assert least <= error < most
        assert found["parts"][0].shape == wanted["parts"][0].shape


def test_j8_int8_steps_come_from_samples(tmp_path: Any) -> None:
    layer = nn.Linear(16, 8, seed=0)
    x = tl.tensor(np.random.default_rng(0).standard_normal((4, 16), dtype=np.float32))
    spec = [jit.InputSpec((None, 16))]
    options = jit.ForInference(weights="static", samples=[[x]])
    info = jit.save(layer, tmp_path / "f.tlp", spec, for_inference=options)
    assert info.operators == 1
    error = np.abs(np.asarray(jit.load(tmp_path / "f.tlp")(x)) - np.asarray(layer(x).detach()))
    assert 1e-5 < error.max() < 0.05
    with pytest.raises(tl.ArgumentError, match="samples"):
        jit.save(layer, tmp_path / "f.tlp", spec, for_inference=options._replace(samples=()))


def test_j8_what_changes_something_is_not_written_for_inference(tmp_path: Any) -> None:
    with pytest.raises(tl.ArgumentError, match=r"running.*call eval"):
        jit.save(Net(), tmp_path / "f.tlp", [jit.InputSpec((4, 3))], for_inference=True)

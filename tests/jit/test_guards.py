"""What a program depends on: a traced function gives what it gives, whatever changes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn

SCALE = 2.0
FACTORS = [1.0, 2.0]
SETTINGS = {"offset": 1.0}


def _twice(x: Any) -> Any:
    return x * 2


HELPER = _twice


def test_a_global_that_changes_gives_another_program(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = jit.trace(lambda x: x * SCALE)
    x = tl.tensor([3.0])
    assert traced(x).item() == traced(x).item() == 6.0
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert traced(x).item() == 15.0
    assert "SCALE" in traced.why() and "changed from 2.0 to 5.0" in traced.why()
    assert "test_guards.py:" in traced.why()
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert traced(x).item() == 6.0 and len(traced.programs()) == 2


def test_containers_are_compared_item_by_item(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = jit.trace(lambda x: sum(x * f for f in FACTORS) + SETTINGS["offset"])
    x = tl.tensor([1.0])
    assert traced(x).item() == traced(x).item() == 4.0
    FACTORS.append(10.0)
    assert traced(x).item() == 14.0
    FACTORS.pop()
    monkeypatch.setitem(SETTINGS, "offset", 0.0)
    assert traced(x).item() == 3.0
    assert len(traced.programs()) == 3


def test_a_closure_that_is_bound_to_another_value_is_noticed() -> None:
    scale, weight = 2.0, tl.tensor([1.0])
    traced = jit.trace(lambda x: x * scale * weight)
    x = tl.tensor([3.0])
    assert traced(x).item() == 6.0
    scale = 4.0
    assert traced(x).item() == 12.0
    weight = tl.tensor([10.0])
    assert traced(x).item() == 120.0
    weight.set_value([1.0])  # the same tensor: read anew
    assert traced(x).item() == 12.0 and len(traced.programs()) == 3


def test_a_function_that_is_called_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = {"power": 2}

    def helper(x: Any) -> Any:
        return HELPER(x) ** inner["power"]

    traced = jit.trace(lambda x: helper(x) + 1)
    x = tl.tensor([3.0])
    assert traced(x).item() == 37.0
    inner["power"] = 1
    assert traced(x).item() == 7.0
    monkeypatch.setitem(globals(), "HELPER", lambda x: x * 100)
    assert traced(x).item() == 301.0


def test_defaults_are_arguments() -> None:
    @jit.trace
    def scaled(x: Any, by: float = 2.0, *, plus: Any = None) -> Any:
        return x * by if plus is None else x * by + plus

    x = tl.tensor([1.0])
    assert scaled(x).item() == 2.0
    assert scaled(x, 3.0).item() == 3.0
    assert scaled(x, by=3.0, plus=tl.tensor([1.0])).item() == 4.0
    assert scaled(x, plus=0.5).item() == 2.5


class Scaled(nn.Layer):
    """A layer with settings of Python's."""

    bias = 0.0

    def __init__(self) -> None:
        self.linear = nn.Linear(2, 2, seed=0)
        self.drop = nn.Dropout(0.5, seed=1) if False else nn.Identity()
        self.scale = 1.0
        self.parts = [nn.Linear(2, 2, seed=1)]

    def helper(self, x: Any) -> Any:
        """Reads an attribute in another method."""
        return x * self.scale + self.bias

    def forward(self, x: Any) -> Any:
        """Depends on all of them."""
        y = self.helper(self.linear(x))
        for part in self.parts:
            y = part(y)
        return y * 2 if self.training else y


def _same(traced: Any, plain: Any, x: Any) -> None:
    np.testing.assert_allclose(traced(x).detach().numpy(), plain(x).detach().numpy(), rtol=1e-6)


def test_attributes_of_layers_are_watched() -> None:
    layer = Scaled()
    traced = jit.trace(layer)
    x = tl.tensor([[1.0, 2.0]])
    _same(traced, layer, x), _same(traced, layer, x)
    assert len(traced.programs()) == 1
    changes: list[Any] = [
        lambda: setattr(layer, "scale", 3.0),
        lambda: layer.eval(),
        lambda: layer.parts.append(nn.Linear(2, 2, seed=3)),
        lambda: setattr(layer, "linear", nn.Linear(2, 2, seed=5)),
        lambda: setattr(layer, "bias", 1.5),
        lambda: setattr(layer.linear, "weight", tl.Parameter(np.eye(2, dtype=np.float32))),
        lambda: setattr(layer.linear, "bias", None),
    ]
    for count, change in enumerate(changes, 2):
        change()
        _same(traced, layer, x), _same(traced, layer, x)
        assert len(traced.programs()) == count, change
    layer.linear.weight.set_value([[0.0, 1.0], [1.0, 0.0]])
    _same(traced, layer, x)
    assert len(traced.programs()) == len(changes) + 1


def test_dropout_and_batch_norm_follow_train_and_eval() -> None:
    layer = nn.Sequential(nn.Linear(2, 3, seed=0), nn.BatchNorm1d(3), nn.Dropout(0.5))
    twin = nn.Sequential(nn.Linear(2, 3, seed=0), nn.BatchNorm1d(3), nn.Dropout(0.5))
    traced = jit.trace(layer)
    x = tl.tensor([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]])
    for training in (True, True, False, False, True, False):
        layer.train(training), twin.train(training)
        tl.manual_seed(7)
        found = traced(x).detach().numpy()
        tl.manual_seed(7)
        np.testing.assert_allclose(found, twin(x).detach().numpy(), rtol=1e-5, atol=1e-6)
        for (name, own), (_, other) in zip(
            layer.named_buffers(), twin.named_buffers(), strict=True
        ):
            np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-6, err_msg=name)
    assert len(traced.programs()) == 2


@dataclasses.dataclass
class Config:
    """An object that is handed on."""

    scale: float
    names: tuple[str, ...] = ("a",)


class Holder:
    """An object with slots, a property and a static method."""

    __slots__ = ("config", "weight")

    def __init__(self) -> None:
        self.config = Config(2.0)
        self.weight = tl.tensor([1.0])

    @property
    def factor(self) -> float:
        """Reads two attributes."""
        return self.config.scale * len(self.config.names)

    def apply(self, x: Any) -> Any:
        """Uses it."""
        return _with(self.config, x) * self.factor * self.weight


def _with(config: Config, x: Any) -> Any:
    return x + config.scale


def test_attributes_of_objects_are_watched_along_chains() -> None:
    holder = Holder()
    traced = jit.trace(holder.apply)
    x = tl.tensor([1.0])
    for change in (
        lambda: None,
        lambda: setattr(holder.config, "scale", 3.0),
        lambda: setattr(holder.config, "names", ("a", "b")),
        lambda: setattr(holder, "config", Config(7.0)),
        lambda: setattr(holder, "weight", tl.tensor([3.0])),
    ):
        change()
        assert traced(x).item() == traced(x).item() == holder.apply(x).item()
    assert len(traced.programs()) == 5


def test_arrays_of_numpy_are_compared_by_their_elements() -> None:
    array = np.array([1.0, 2.0], np.float32)
    traced = jit.trace(lambda x, y: x * array + y)
    x, y = tl.tensor([1.0, 1.0]), np.array([0.0, 1.0], np.float32)
    assert traced(x, y).tolist() == [1.0, 3.0]
    array[0] = 5.0
    assert traced(x, y).tolist() == [5.0, 3.0]
    y[1] = 0.0
    assert traced(x, y).tolist() == [5.0, 2.0]


def test_y3_a_branch_on_a_value_is_guarded_with_its_line() -> None:
    @jit.trace
    def branches(x: Any) -> Any:
        if F.sum(x) > 0:
            if F.max(x) > 10:
                return x * 100
            return x * 2
        return -x

    for values in ([1.0, 2.0], [-1.0, 0.0], [20.0, 0.0], [3.0, 1.0], [-5.0, 1.0], [11.0, 1.0]):
        x = tl.tensor(values)
        assert branches(x).tolist() == branches.__wrapped__(x).tolist()
    assert len(branches.programs()) == 3
    line = branches.__wrapped__.__code__.co_firstlineno + 2
    assert f"test_guards.py:{line}" in branches.why()


def test_y3_a_branch_on_a_shape_is_right_for_every_size() -> None:
    @jit.trace
    def cast(x: Any) -> Any:
        if x.shape[0] > 1:
            return F.astype(x, "float64")
        return F.astype(x, "int64")

    for count in (1, 2, 3, 1, 5, 4):
        x = tl.ones(count)
        assert cast(x).dtype is cast.__wrapped__(x).dtype
    assert len(cast.programs()) <= 3


def test_a_change_is_an_error_where_that_is_asked_for() -> None:
    scale = 2.0

    @jit.trace(on_change="error")
    def scaled(x: Any) -> Any:
        return x * scale if x.sum() > 0 else x

    x = tl.tensor([1.0])
    assert scaled(x).item() == 2.0
    with pytest.raises(jit.TraceMismatchError, match=r"value \(read at .*:\d+\) changed from True"):
        scaled(-x)
    scale = 3.0
    with pytest.raises(jit.TraceMismatchError, match=r"scale .* changed from 2.0 to 3.0"):
        scaled(x)
    scale = 2.0
    assert scaled(x).item() == 2.0


def test_values_that_differ_in_every_call_end_in_a_warning_and_right_results() -> None:
    @jit.trace
    def doubled(x: Any) -> Any:
        return x * float(x.sum())

    with pytest.warns(jit.RetraceWarning, match=r"test_guards.py:\d+"):
        for value in range(1, 10):
            x = tl.tensor([float(value)])
            assert doubled(x).item() == value * value
    assert doubled.programs() == [] and "run at once" in doubled.why()


def test_what_the_function_itself_changes_is_seen_by_the_next_call() -> None:
    class Counter:
        count = 0

        def step(self, x: Any) -> Any:
            self.count += 1
            return x + self.count

    counter = Counter()
    traced = jit.trace(counter.step)
    with pytest.warns(jit.RetraceWarning):
        found = [traced(tl.tensor(0.0)).item() for _ in range(9)]
    assert found == [float(i) for i in range(1, 10)]


def test_two_names_of_one_tensor_are_not_two_tensors() -> None:
    weight = tl.tensor([2.0])

    @jit.trace
    def both(x: Any, y: Any) -> Any:
        x += 1
        return x * y * weight

    def plain(x: Any, y: Any) -> Any:
        x += 1
        return x * y * weight

    for case in range(2):
        for other in (False, True, False):
            a, b = tl.tensor([3.0]), tl.tensor([5.0])
            c, d = tl.tensor([3.0]), tl.tensor([5.0])
            found = both(a, a if other else b), plain(c, c if other else d)
            assert found[0].item() == found[1].item() and a.item() == c.item(), case
    start = weight.tolist()
    first = both(weight, tl.tensor([1.0])).item()
    after = weight.tolist()
    weight.set_value(start)
    assert first == plain(weight, tl.tensor([1.0])).item() and after == weight.tolist()


def test_freezing_a_parameter_is_noticed() -> None:
    p, x = tl.Parameter([2.0]), tl.tensor([3.0])
    traced = jit.trace(lambda x: F.sum(p * x))
    assert traced(x).requires_grad and traced(x).requires_grad
    p.requires_grad = False
    assert not traced(x).requires_grad
    p.requires_grad = True
    traced(x).backward()
    assert p.grad.item() == 3.0 and len(traced.programs()) == 2


def test_the_cache_is_bounded() -> None:
    traced = jit.trace(cache_size=3)(lambda x, n: x * n)
    for n in range(10):
        assert traced(tl.tensor([1.0]), n).item() == n
    assert len(traced.programs()) == 3


def test_no_grad_around_a_call_makes_another_program() -> None:
    p, x = tl.Parameter([2.0]), tl.tensor([3.0])
    traced = jit.trace(lambda x: F.sum(p * x))
    for is_on in (False, True, False, True):
        if is_on:
            assert traced(x).requires_grad
        else:
            with tl.no_grad():
                assert not traced(x).requires_grad
    assert len(traced.programs()) == 2


def test_a_layer_for_inference_goes_the_quick_way_until_something_changes() -> None:
    layer = nn.Linear(2, 2, seed=0).eval(record=False)
    traced = jit.trace(layer)
    x = tl.tensor([[1.0, 2.0]])
    for _ in range(4):
        assert traced(x).tolist() == layer(x).tolist() and not traced(x).requires_grad
    layer.weight.set_value([[1.0, 0.0], [0.0, 1.0]])
    assert traced(x).tolist() == layer(x).tolist()
    y = tl.tensor([[1.0, 2.0]], requires_grad=True)
    assert traced(y).requires_grad is layer(y).requires_grad is False
    layer.train()
    assert traced(x).requires_grad
    F.sum(traced(x)).backward()
    assert layer.weight.grad is not None
    layer.eval(record=False)
    with tl.no_grad():
        assert not traced(x).requires_grad
    assert tl.vmap(traced)(tl.stack([x, x])).shape == (2, 1, 2)
    outer = jit.trace(lambda x: traced(x) * 2)
    assert outer(x).tolist() == outer(x).tolist() == (layer(x) * 2).tolist()
    layer.weight.set_value([[0.0, 1.0], [1.0, 0.0]])
    assert outer(x).tolist() == (layer(x) * 2).tolist()

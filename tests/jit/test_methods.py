"""Methods, layers, copies and threads: who has which programs, and for how long."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn


class Net(nn.Layer):
    """A layer whose `forward` is traced."""

    def __init__(self) -> None:
        self.linear = nn.Linear(2, 2, seed=0)
        self.scale = 2.0

    @jit.trace
    def forward(self, x: Any) -> Any:
        """A product, scaled."""
        return self.linear(x) * self.scale


class Wider(Net):
    """Calls what it overrides."""

    def forward(self, x: Any) -> Any:
        """One more."""
        return super().forward(x) + self.scale


@jit.trace
def doubled(x: Any) -> Any:
    """Of the module."""
    return x * 2


def test_each_instance_has_programs_of_its_own() -> None:
    first, second = Net(), Net()
    second.scale = 5.0
    x = tl.ones((1, 2))
    for _ in range(2):
        assert F.allclose(second(x), first(x) * 2.5)
    assert len(first.forward.programs()) == len(second.forward.programs()) == 1
    assert Net.forward.programs() == []
    assert [name for name, _ in first.named_parameters()] == ["linear.weight", "linear.bias"]


def test_a_copy_has_none_as_yet_and_its_own_parameters() -> None:
    net = Net()
    x = tl.ones((1, 2))
    wanted = net(x).tolist()
    twin = copy.deepcopy(net)
    twin.linear.weight.set_value([[0.0, 0.0], [0.0, 0.0]])
    assert twin(x).tolist() == twin(x).tolist() == [[0.0, 0.0]]
    assert net(x).tolist() == wanted
    again = pickle.loads(pickle.dumps(net))
    assert again(x).tolist() == again(x).tolist() == wanted
    assert pickle.loads(pickle.dumps(doubled)) is doubled


def test_programs_go_with_their_instance() -> None:
    net = Net()
    net(tl.ones((1, 2)))
    reference = weakref.ref(net)
    del net
    gc.collect()
    assert reference() is None


def test_methods_that_override_are_read_with_what_they_override() -> None:
    plain = Wider()
    traced = jit.trace(plain)
    x = tl.ones((1, 2))
    for scale in (2.0, 3.0, 2.0):
        plain.scale = scale
        wanted = plain.linear(x) * scale + scale
        assert F.allclose(traced(x), wanted) and F.allclose(traced(x), wanted)
    assert len(traced.programs()) == 2


def test_a_traced_layer_has_what_the_layer_has() -> None:
    layer = nn.Linear(2, 3)
    traced = jit.trace(layer)
    assert traced.parameters() == layer.parameters() or len(traced.parameters()) == 2
    assert traced.weight is layer.weight
    traced.eval()
    assert not layer.training
    with pytest.raises(AttributeError):
        traced.nothing_of_this_name()


def test_layers_that_are_built_at_the_first_call_are_recorded_at_the_second() -> None:
    class Lazy(nn.Layer):
        def build(self, x: Any) -> None:
            self.weight = tl.Parameter(tl.ones(x.shape[-1]) * 3)

        def forward(self, x: Any) -> Any:
            return x * self.weight

    layer = Lazy()
    traced = jit.trace(layer)
    x = tl.ones((1, 2))
    for _ in range(3):
        assert traced(x).tolist() == [[3.0, 3.0]]
    assert layer.weight.tolist() == [3.0, 3.0] and layer.weight.is_leaf
    layer.weight.set_value([1.0, 2.0])
    assert traced(x).tolist() == [[1.0, 2.0]]
    assert len(traced.programs()) == 1


def test_an_optimiser_may_be_made_inside() -> None:
    def training() -> Any:
        held: dict[str, Any] = {}

        def step() -> Any:
            if "optimizer" not in held:
                held["p"] = tl.Parameter([1.0])
                held["optimizer"] = tl.optim.Adam([held["p"]], lr=0.1)
            held["optimizer"].zero_grad()
            (held["p"] * held["p"]).sum().backward()
            held["optimizer"].step()
            return held["p"] * 1

        return step

    plain, traced = training(), jit.trace(training())
    wanted = [plain().item() for _ in range(5)]
    assert [traced().item() for _ in range(5)] == pytest.approx(wanted, rel=1e-6)


def test_a_function_that_calls_itself_is_one_program() -> None:
    @jit.trace
    def factorial(x: Any, n: int) -> Any:
        return x if n == 0 else factorial(x, n - 1) * n

    assert factorial(tl.tensor(1.0), 5).item() == factorial(tl.tensor(1.0), 5).item() == 120.0
    assert len(factorial.programs()) == 1


def _in_threads(work: Callable[[int], None]) -> None:
    """Four at once, each with its number."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_record_and_run_side_by_side() -> None:
    traced = jit.trace(lambda x: F.exp(x) * 2 + x)
    errors: list[str] = []

    def work(number: int) -> None:
        for step in range(30):
            x = tl.ones(1 + (number + step) % 5) * number
            if not F.allclose(traced(x), F.exp(x) * 2 + x):
                errors.append(f"{number} {step}")

    _in_threads(work)
    assert errors == [] and 1 <= len(traced.programs()) <= 8


class Remembering(tl.nn.Layer):
    """Two layers, a sum of all that was given, and the last output."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = tl.nn.Linear(3, 3, seed=1), tl.nn.Linear(3, 3, seed=2)
        self.total = tl.nn.Buffer(np.zeros((), np.float32))
        self.last = tl.zeros((1, 3))

    def forward(self, x: Any) -> Any:
        """Both."""
        self.total.set_value(self.total + F.sum(x.detach()))
        y = self.two(F.tanh(self.one(x)))
        self.last = y.detach()
        return y


def test_threads_may_begin_with_the_same_layer() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    failed: list[str] = []
    try:
        for _ in range(8):
            layer = Remembering()
            traced = jit.trace(layer)

            def work(number: int, layer: Any = layer, traced: Any = traced) -> None:
                for step in range(6):
                    x = tl.ones((1 + (number * 7 + step * 3) % 5, 3)) * (number + 1.0)
                    try:
                        y = traced(x)
                    except Exception as error:
                        failed.append(f"{type(error).__name__}: {error}")
                        return
                    if y.shape != x.shape or layer.last.shape[1:] != (3,):
                        failed.append(f"{y.shape}")

            _in_threads(work)
            x = tl.ones((2, 3))
            assert traced(x).tolist() == layer(x).tolist()
    finally:
        sys.setswitchinterval(before)
    assert failed == []


def test_a_switched_off_function_runs_as_python() -> None:
    calls = []

    @jit.trace
    def counted(x: Any) -> Any:
        calls.append(1)
        return x + 1

    x = tl.tensor(1.0)
    counted(x), counted(x), counted(x)
    counted.is_enabled = False
    assert counted(x).item() == 2.0 and len(calls) == 2
    counted.is_enabled = True
    assert counted(x).item() == 2.0 and len(calls) == 2


def _decorated() -> Any:
    class Decorated(nn.Linear):
        @jit.to_static
        def forward(self, x: Any) -> Any:
            return super().forward(x) * 2

    return jit.to_static(Decorated(2, 2, seed=0))


AGAIN = {
    "a layer": lambda: jit.to_static(jit.to_static(nn.Linear(2, 2, seed=0))),
    "a layer whose forward is decorated": _decorated,
    "a method": lambda: jit.to_static(jit.to_static(nn.Linear(2, 2, seed=0).forward)),
    "a method that is traced": lambda: jit.to_static(jit.trace(nn.Linear(2, 2, seed=0).forward)),
    "a traced method that is converted": lambda: jit.trace(
        jit.to_static(nn.Linear(2, 2, seed=0).forward)
    ),
}


@pytest.mark.parametrize("name", AGAIN)
def test_what_became_a_program_may_become_one_again(name: str) -> None:
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    factor = 2.0 if "decorated" in name else 1.0
    wanted = (nn.Linear(2, 2, seed=0)(x) * factor).tolist()
    again = AGAIN[name]()
    for _ in range(3):
        assert again(x).tolist() == wanted

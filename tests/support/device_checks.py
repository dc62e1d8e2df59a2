"""What is held of devices, for a process that has them: see tests/imperative/test_devices.py."""

from __future__ import annotations

import contextlib
import ctypes
import doctest
import importlib
import io
import pickle
import pkgutil
import re
import sys
from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import TensorBase, nn, optim
from tensorlike.ops import Elemwise
from tensorlike.testing.corpus import Example, examples

from .devices import add_devices

# Functional calls that are written in Python alone have no example.
_NOT_AN_OP = ("to_device",)  # it is about devices itself


_library: ctypes.PyDLL  # of the devices


def _on(xs: list[Any], device: str) -> list[Any]:
    return [x.to(device) for x in xs]


def _same(found: Any, wanted: Any) -> bool:
    x, y = (np.asarray(value.to("cpu")) for value in (found, wanted))
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def _each(check: Callable[[Example], None]) -> None:
    """Runs a check on every op, and tells all that fail together."""
    wrong = []
    for example in examples():
        if example.entry.function in _NOT_AN_OP:
            continue
        try:
            check(example)
        except Exception as error:
            wrong.append(f"{example.entry.function}: {type(error).__name__}: {error}")
    assert not wrong, f"{len(wrong)} ops\n" + "\n".join(wrong)


def every_op_gives_what_the_cpu_gives() -> None:
    def check(example: Example) -> None:
        wanted = example(*example.tensors())
        found = example(*_on(example.tensors(), "emulated"))
        assert [y.device for y in found] == ["emulated:0"] * len(wanted)
        assert all(map(_same, found, wanted))

    _each(check)


def _gradients(example: Example, device: str) -> list[Any]:
    xs = _on(example.tensors(), device)
    moving = [xs[i] for i in example.moving()]
    for x in moving:
        x.requires_grad = True
    total: Any = 0
    for y in example(*xs):
        if y.requires_grad:
            total = total + F.sum(F.real(y * F.conj(y)))
    total.backward()
    return [x.grad for x in moving if x.grad is not None]


def every_gradient_is_what_the_cpu_gives() -> None:
    def check(example: Example) -> None:
        if not example.has_gradient:
            return
        wanted = _gradients(example, "cpu")
        found = _gradients(example, "emulated")
        assert len(found) == len(wanted)
        assert [x.device for x in found] == ["emulated:0"] * len(wanted)
        assert all(map(_same, found, wanted))

    _each(check)


def without_kernels_ops_run_through_their_bodies() -> None:
    x = tl.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 6.0]])
    y = x.to("bare")
    for call in (F.softmax, F.gelu, F.sum, F.log_softmax, lambda x: x * 2 + 1):
        np.testing.assert_allclose(call(y).to("cpu").numpy(), call(x).numpy(), rtol=1e-6)
        assert call(y).device == "bare:0"
    with pytest.raises(tl.DeviceError, match="MatMul: there must be a kernel or a body for bare:0"):
        F.matmul(y[:, :2], y[:, :2])


def _trained(make: Callable[[], nn.Layer], shape: tuple[int, ...], device: str) -> list[Any]:
    tl.manual_seed(3)
    x = tl.tensor(np.random.default_rng(1).normal(size=shape).astype("float32"))
    with tl.device(device):
        layer = make()
        optimizer = optim.Adam(layer.parameters(), lr=0.1)
    x = x.to(device)
    for _ in range(3):
        y = layer(x)
        loss = F.mean((y[0] if isinstance(y, tuple) else y) ** 2)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert loss.device.startswith(device)
    return [loss.detach(), *(x.detach() for x in layer.parameters())]


def layers_and_optimizers_step_as_on_the_cpu() -> None:
    makes: list[tuple[Callable[[], nn.Layer], tuple[int, ...]]] = [
        (lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (5, 4)),
        (lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.GELU()), (2, 2, 6, 6)),
        (lambda: nn.LSTM(4, 3), (5, 2, 4)),
        (lambda: nn.Sequential(nn.LayerNorm(4), nn.Dropout(0.5)), (3, 4)),
    ]
    for make, shape in makes:
        wanted = _trained(make, shape, "cpu")
        found = _trained(make, shape, "emulated")
        assert all(map(_same, found, wanted)), make


def states_are_saved_from_a_device_and_loaded_to_it() -> None:
    with tl.device("emulated"):
        layer, other = nn.Linear(2, 3), nn.Linear(2, 3)
        optimizer = optim.Adam(layer.parameters(), lr=0.1)
    x = tl.ones((1, 2), device="emulated")
    F.sum(layer(x)).backward()
    optimizer.step()
    state = layer.state_dict()
    assert all(isinstance(value, np.ndarray) for value in state.values())
    other.load_state_dict(state)
    assert {p.device for p in other.parameters()} == {"emulated:0"}
    assert _same(other(x).detach(), layer(x).detach())
    kept = optimizer.state_dict()
    optimizer.load_state_dict(kept)
    again = optimizer.state_dict()
    assert all(np.array_equal(kept[name], again[name]) for name in kept)
    F.sum(layer(x)).backward()
    optimizer.step()


def every_documented_example_holds_on_the_device() -> None:
    """Those of the functional calls, with all tensors that they make on the device."""
    checker, wrong, tried = doctest.OutputChecker(), [], 0
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    for module in pkgutil.walk_packages(F.__path__, F.__name__ + "."):
        for name, call in vars(importlib.import_module(module.name)).items():
            text = call.__doc__ if getattr(call, "__module__", None) == module.name else None
            names: dict[str, Any] = {}
            for example in doctest.DocTestParser().get_examples(text or ""):
                tried += 1
                said = io.StringIO()
                try:
                    with tl.device("emulated"), contextlib.redirect_stdout(said):
                        exec(compile(example.source, name, "single"), names)
                except Exception as error:
                    said.write(f"{type(error).__name__}: {error}")
                got = re.sub(r"device='emulated:0'(, )?", "", said.getvalue()).replace(", )", ")")
                want, got = (text.replace("-0j", "+0j") for text in (example.want, got))
                if not checker.check_output(want, got, flags):
                    wrong.append(f"{name}: {example.source}{got}")
    assert tried > 1000 and not wrong, "\n".join(wrong)


def tensors_are_made_where_it_is_said() -> None:
    made = [
        tl.zeros(2, device="emulated"), tl.arange(3, device="emulated:0"),
        tl.asarray([1.0], device="emulated"), tl.tensor([1, 2], device="emulated"),
        tl.full((2,), 3, device="emulated"),
    ]  # fmt: skip
    with tl.device("emulated"):
        made += [tl.zeros(2), tl.arange(3), tl.tensor([1.0]), tl.tensor(2.0), tl.eye(2)]
        made += [tl.random.Generator(1).normal((3,)), tl.RawTensor([1.0])]
        with tl.device("cpu"):
            assert tl.ones(1).device == "cpu"
        x = tl.ones(1).to("cpu")
        assert (x + 1).device == tl.zeros_like(x).device == "cpu"
        assert tl.__array_namespace_info__().default_device() == "emulated:0"
    assert {x.device for x in made} == {"emulated:0"}
    assert tl.zeros(1).device == "cpu"
    y = made[0]
    assert (y + 1).device == tl.zeros_like(y).device == tl.ones_like(y).device == "emulated:0"
    assert tl.__array_namespace_info__().devices() == ("cpu", "emulated:0", "bare:0")
    assert tl.ops.Const(2.0, device="emulated")(tl.tensor([1.0]))[0].device == "emulated:0"


def moving_is_differentiable() -> None:
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    y = F.sum(x.to("emulated") ** 2)
    assert y.device == "emulated:0"
    y.backward()
    assert x.grad is not None
    assert (x.grad.device, x.grad.tolist()) == ("cpu", [2.0, 4.0])
    second = tl.grad(lambda x: F.sum(tl.grad(lambda x: F.sum(x.to("emulated") ** 3))(x)))(x)
    assert (second.device, second.tolist()) == ("cpu", [6.0, 12.0])
    assert x.to("emulated").to("bare").device == "bare:0"
    value, slope = tl.jvp(lambda x: x.to("emulated") * 2, (x.detach(),), (tl.ones(2),))
    assert value.device == slope.device == "emulated:0"
    batched = tl.vmap(lambda x: x.to("emulated") * 2)(tl.tensor([[1.0], [2.0]]))
    assert (batched.device, batched.tolist()) == ("emulated:0", [[2.0], [4.0]])


def reading_copies_and_views_refuse() -> None:
    x = tl.tensor([[1.0, 2.0]], device="emulated")
    assert repr(x) == "tensor([[1., 2.]], device='emulated:0')"
    assert x.tolist() == [[1.0, 2.0]]
    assert (x[0, 1].item(), float(x[0, 0]), bool(x[0, 0])) == (2.0, 1.0, True)
    whole = tl.tensor(3, device="emulated")
    assert (int(whole), [7, 8, 9, 10][whole]) == (3, 10)
    raw = x._raw()
    views: list[Callable[[], Any]] = [
        x.numpy, lambda: np.asarray(x), lambda: memoryview(raw), x.__dlpack__,
        lambda: np.from_dlpack(x),
    ]  # fmt: skip
    for view in views:
        with pytest.raises(tl.DeviceError, match=r'a tensor on emulated:0; move it: x.to\("cpu"\)'):
            view()
    assert x.to("cpu").numpy().tolist() == [[1.0, 2.0]]
    for again in (pickle.loads(pickle.dumps(x)), deepcopy(x), copy(x)):
        assert (again.device, again.tolist()) == (x.device, x.tolist())
    assert (
        x[[True]].tolist() == x[np.array([0])].tolist() == x[tl.tensor([0]).to(x.device)].tolist()
    )
    assert F.add(x, [1.0, 2.0]).tolist() == (np.array([1.0, 2.0], "float32") + x).tolist()
    x[[0]] = np.array([[8.0, 9.0]])
    assert x.tolist() == [[8.0, 9.0]]
    x[0] = 5.0
    x += 1
    assert (x.device, x.tolist()) == ("emulated:0", [[6.0, 6.0]])
    half = tl.tensor([1.5], dtype="bfloat16", device="emulated")
    assert half.tolist() == [1.5]


def operands_live_on_one_device() -> None:
    x, y = tl.ones(3), tl.ones(3, device="emulated")
    mixed = r"operands must live on one device; got {} on cpu, {} on emulated:0; move one"
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: x + y, "add: " + mixed.format("x1", "x2")),
        (lambda: F.where(x > 0, x, y), "where: operands must live on one device"),
        (lambda: F.matmul(x, y), "MatMul: " + mixed.format("a", "b")),
        (lambda: F.concat([x, y]), "Concat: " + mixed.format("operand 0", "operand 1")),
        (lambda: F.softmax(x) * y, "multiply: " + mixed.format("x1", "x2")),
    ]
    for call, text in cases:
        with pytest.raises(tl.DeviceError, match=text):
            call()
    for wrong in ("moon", "emulated:1", "emulated:x", "cpu:1", ""):
        text = "device must be one that this build has: 'cpu', 'emulated:0', 'bare:0'; got"
        with pytest.raises(tl.DeviceError, match=text):
            x.to(wrong)


def memory_may_end() -> None:
    x = tl.ones(1000, device="emulated")
    with pytest.raises(tl.OutOfMemoryError, match="could not be had on the device"):
        x.reshape((1000, 1)) * tl.ones((1, 10**6), device="emulated")
    for _ in range(2000):  # what is dropped is given out again
        x = x + tl.ones(1000, device="emulated")
    assert x[0].item() == 2001.0


def errors_of_kernels_come_at_the_wait() -> None:
    x = tl.tensor([1.0, 2.0], device="emulated")
    y = F.take(x, tl.tensor([5], device="emulated"))
    assert y.shape == (1,)
    with pytest.raises(IndexError):
        y.item()
    assert (x + 1).tolist() == [2.0, 3.0]


def a_kind_without_a_class_reaches_rules_whole() -> None:
    seen = []

    @tl.apply.register
    def apply_any(op: Elemwise, *args: TensorBase) -> Any:
        if type(args[0]) is not TensorBase:
            return NotImplemented
        seen.append([(x.shape, x.dtype, x.device) for x in args])
        return (tl.RawTensor(7.0, tl.float64),)

    result = ctypes.c_double()
    _library.apply_to_variable.restype = ctypes.c_bool
    assert _library.apply_to_variable(ctypes.byref(result)) and result.value == 7.0
    assert seen == [[((), tl.float64, "cpu")] * 2]


def touching_is_fatal() -> None:
    _library.touch()


if __name__ == "__main__":
    _library = add_devices()
    if len(sys.argv) > 2:
        tl.engine.mode(sys.argv[2], threshold=1)
    globals()[sys.argv[1]]()
    assert tl.engine.sync() is None

"""Acceptance rows F1 to F4 and P3: ops made of a forward and a backward method."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tensorlike as tl


class Sigmoid(tl.Function):
    def forward(self, x: Any) -> Any:
        self.y = 1 / (1 + tl.exp(-x))
        return self.y

    def backward(self, dy: Any) -> Any:
        return dy * self.y * (1 - self.y)


class SwapScaled(tl.Function):
    """(x, z) -> (2 z, x), with a note of what flowed."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def forward(self, x: Any, z: Any) -> Any:
        self.save_for_backward(x, z)
        return 2 * z, x

    def backward(self, da: Any, db: Any) -> Any:
        x, z = self.saved_tensors
        assert x.shape == z.shape
        self.seen.append((da, db))
        return db, None if da is None else 2 * da


def test_f1_attributes_carry_values_and_single_outputs_are_not_wrapped() -> None:
    x = tl.tensor(np.linspace(-2, 2, 5))
    op = Sigmoid()
    y = op(x)
    np.testing.assert_allclose(y.numpy(), 1 / (1 + np.exp(-x.numpy())))
    np.testing.assert_array_equal(op.y.numpy(), y.numpy())
    a, b = SwapScaled()(x, y)
    assert a.tolist() == (2 * y).tolist() and b.tolist() == x.tolist()


def test_f2_the_backward_pass_is_recorded_and_nests() -> None:
    for at in (-1.0, 0.3):
        s = 1 / (1 + np.exp(-at))
        assert tl.grad(Sigmoid())(at).item() == pytest.approx(s * (1 - s))
        second = tl.grad(tl.grad(Sigmoid()))(tl.tensor(at, dtype="float64")).item()
        assert second == pytest.approx(s * (1 - s) * (1 - 2 * s))
        _, along = tl.jvp(Sigmoid(), (tl.tensor(at, dtype="float64"),), (tl.tensor(2.0),))
        assert along.item() == pytest.approx(2 * s * (1 - s))
    xs = tl.tensor([-1.0, 0.0, 2.0])
    found = tl.vmap(tl.grad(Sigmoid()))(xs)
    s = 1 / (1 + np.exp(-xs.numpy()))
    np.testing.assert_allclose(found.numpy(), s * (1 - s), rtol=1e-6)


def test_f3_unused_outputs_missing_gradients_and_wrong_counts() -> None:
    x, z = tl.tensor([1.0, 2.0], requires_grad=True), tl.tensor([3.0, 4.0], requires_grad=True)
    op = SwapScaled()
    _, b = op(x, z)
    tl.sum(b).backward()  # nothing flows into a
    assert op.seen[0][0] is None and x.grad.tolist() == [1.0, 1.0]
    assert z.grad is None or z.grad.tolist() == [0.0, 0.0]
    again = copy.deepcopy(op)
    assert isinstance(again, SwapScaled)

    class TooMany(tl.Function):
        def forward(self, x: Any) -> Any:
            return x * 1

        def backward(self, dy: Any) -> Any:
            return dy, dy

    with pytest.raises(tl.AutodiffError, match="one gradient for each of 1 inputs; got 2"):
        tl.grad(lambda v: tl.sum(TooMany()(v)))(tl.tensor([1.0]))

    class StraightThrough(tl.Function):
        """Returns its input unchanged where it is round already."""

        def forward(self, x: Any) -> Any:
            return x

        def backward(self, dy: Any) -> Any:
            return dy * 3

    assert tl.grad(StraightThrough())(2.0).item() == 3.0
    with pytest.raises(TypeError, match="forward\\(self, \\*xs\\) must be defined"):
        tl.Function()(tl.tensor(1.0))


def test_f4_on_what_is_not_recorded_forward_runs() -> None:
    y = Sigmoid()(tl.RawTensor([0.0]))
    assert np.asarray(y).tolist() == [0.5]


class Tanh(tl.PyLayer):
    @staticmethod
    def forward(inputs: list[Any]) -> Any:
        return np.tanh(inputs[0])

    @staticmethod
    def backward(inputs: list[Any]) -> Any:
        inp, out, dout = inputs
        assert inp.shape == out.shape
        return np.array(dout) * (1 - np.square(np.array(out)))


def test_p3_a_layer_of_numpy_functions() -> None:
    x = tl.tensor(np.ones([2, 2], np.float32), requires_grad=True)
    outs = Tanh()(x)
    assert np.sum(outs[0].detach().numpy()) == pytest.approx(3.0463766)
    tl.sum(outs[0]).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full((2, 2), 0.4199743), rtol=1e-6)
    (plain,) = Tanh()(np.ones([2, 2], np.float32))
    assert isinstance(plain, tl.Tensor) and not plain.requires_grad
    with pytest.raises((TypeError, tl.TensorlikeError)):
        tl.grad(tl.grad(lambda v: Tanh()(v)[0]))(tl.tensor(1.0))


def test_recording_can_be_switched_on_again() -> None:
    x = tl.tensor([1.0], requires_grad=True)

    @tl.no_grad()
    def outside() -> Any:
        with tl.enable_grad():
            inside = x * 2
        return inside, x * 3

    inside, around = outside()
    assert inside.requires_grad and not around.requires_grad
    assert (x * 2).requires_grad

"""The library in one file: what it is about, in two seconds. Run it first."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F


def test_an_op_is_constructed_then_called_and_returns_a_tuple() -> None:
    op = tl.ops.Reduce(mode="sum", axis=0)
    (result,) = op(tl.RawTensor([[1.0, 2.0], [3.0, 4.0]]))
    assert np.asarray(result).tolist() == [4.0, 6.0]
    assert op == tl.ops.deserialize(tl.ops.serialize(op))


def test_a_tensor_is_a_mutable_wrapper_of_immutable_values() -> None:
    x = tl.tensor([1.0, 2.0, 3.0])
    old, view = x.alias(), x.numpy()
    x += 1
    x[0] = 9
    x[[1, 2]] = x[[2, 1]]
    assert x.tolist() == [9.0, 4.0, 3.0]
    assert old.tolist() == view.tolist() == [1.0, 2.0, 3.0]


def test_numpy_in_and_out() -> None:
    array = np.arange(6.0).reshape(2, 3)
    x = tl.tensor(array)
    assert np.array_equal((x @ x.T).numpy(), array @ array.T)
    assert np.array_equal(np.asarray(F.softmax(x).sum(axis=1)).round(12), [1.0, 1.0])
    assert isinstance(np.exp(x) + array, tl.Tensor)
    assert pickle.loads(pickle.dumps(x)).tolist() == array.tolist()


def test_gradients_of_any_order() -> None:
    assert tl.grad(tl.grad(lambda x: x**3))(2.0).item() == 12.0
    assert tl.grad(lambda x: x * tl.grad(lambda y: x + y)(1.0))(2.0).item() == 1.0
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_tensor_like_of_ones_own_is_a_class_and_a_rule() -> None:
    class Counted(tl.TensorBase):
        def __init__(self, value: Any, ops: int = 0) -> None:
            self.value, self.ops = value, ops

    def apply_counted(op: tl.ops.OpBase, *xs: Counted) -> Any:
        count = 1 + sum(x.ops for x in xs)
        return tuple(Counted(y, count) for y in op(*(x.value for x in xs)))

    with tl.apply.registered(apply_counted):
        x = Counted(tl.RawTensor([1.0, 2.0]))
        y = F.sum(F.exp(x) * x)
        z = tl.Tensor(x) * x
    assert y.ops == 3
    assert z.__wrapped__.ops == 1
    with pytest.raises(tl.DispatchError, match=r"no rule says what Elemwise means on \(Counted\)"):
        F.exp(x)


def test_a_rule_on_top_sees_every_op_and_passes_on() -> None:
    seen: list[str] = []

    def apply_logged(op: tl.ops.OpBase, *xs: tl.RawTensor) -> Any:
        seen.append(str(op))
        return tl.apply.super(op, *xs)

    with tl.apply.registered(apply_logged):
        assert F.max(tl.tensor([1.0, 2.0]) * 3).item() == 6.0
    assert [line.partition("(")[0] for line in seen] == ["Elemwise", "Reduce"]


def test_an_op_is_declared_in_five_lines_and_has_everything() -> None:
    (tiny,) = tl.declare(
        """
- scalar: tiny_squareplus
  args: ["x: real floating-point"]
  expr: 0.5 * (x + sqrt(x * x + 4))
  doc: A smooth relu.
"""
    ).values()
    assert tiny(tl.tensor([0.0, 1.5])).tolist() == [1.0, 2.0]
    assert tl.grad(tl.grad(tiny))(0.0).item() == pytest.approx(0.25)
    assert tiny(tl.Tensor(tl.ShapeTensor((3, 2)))).shape == (3, 2)


def test_the_same_model_lists_itself_infers_its_shapes_and_trains() -> None:
    net = tl.nn.Sequential(tl.nn.Linear(2, 8, seed=0), F.relu, tl.nn.Linear(8, 1, seed=1))
    assert net(tl.Tensor(tl.ShapeTensor((5, 2)))).shape == (5, 1)
    listing = tl.Listing()
    net(listing.input("x", (5, 2)))
    assert [type(op).__name__ for op in listing.ops] == ["Linear", "Elemwise", "Linear"]
    x = np.random.default_rng(0).standard_normal((64, 2)).astype(np.float32)
    y = (x[:, :1] * x[:, 1:]).astype(np.float32)
    optimizer = tl.optim.Adam(net.parameters(), lr=0.02)
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = F.mean((net(tl.tensor(x)) - y) ** 2)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_errors_say_what_must_hold_and_what_was_got() -> None:
    with pytest.raises(tl.ShapeError) as caught:
        F.matmul(tl.tensor([[1.0]]), tl.tensor([[1.0], [2.0]]))
    assert str(caught.value) == (
        "MatMul: a.shape[-1] must equal b.shape[-2]; got a.shape=(1, 1), b.shape=(2, 1)."
    )

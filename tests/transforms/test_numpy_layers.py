"""PyLayer: NumPy inside; elsewhere its meaning is a loop, a shape rule, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F


class Plain(tl.Carrier):
    """A carrier."""


class SinCos(tl.PyLayer):
    """Two outputs of two inputs."""

    @staticmethod
    def forward(inputs: list[Any]) -> Any:
        x, k = inputs
        return [np.sin(x) * k, np.cos(x)]

    @staticmethod
    def backward(inputs: list[Any]) -> Any:
        x, k, _, _, ds, dc = inputs
        return [ds * np.cos(x) * k - dc * np.sin(x), None]


class Inferred(SinCos):
    """The same with a shape rule."""

    @staticmethod
    def infer(inputs: list[Any]) -> Any:
        x, _ = inputs
        return [tl.ShapeTensor(x.shape, x.dtype)] * 2


def loss(x: Any, layer: Any = SinCos) -> Any:
    s, c = layer()(x, np.float32(2))
    return F.sum(s * 3 + c)


X = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
SLOPE = 6 * np.cos(X) - np.sin(X)


def test_examples_go_through_one_after_the_other() -> None:
    wanted = np.sum(6 * np.sin(X) + np.cos(X), axis=1)
    np.testing.assert_allclose(tl.vmap(loss)(tl.tensor(X)).numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(tl.vmap(tl.grad(loss))(tl.tensor(X)).numpy(), SLOPE, rtol=1e-6)
    slope = tl.grad(lambda x: F.sum(tl.vmap(loss)(x)))(tl.tensor(X))
    np.testing.assert_allclose(slope.numpy(), SLOPE, rtol=1e-6)
    column = tl.vmap(tl.vmap(lambda x: SinCos()(x, np.float32(2))[1]))(tl.tensor(X))
    np.testing.assert_allclose(column.numpy(), np.cos(X), rtol=1e-6)


def test_carriers_and_checkpoints_go_around_it() -> None:
    y = SinCos()(tl.Tensor(Plain(X)), np.float32(2))[0]
    assert isinstance(y.__wrapped__, Plain)
    x = tl.tensor(X, requires_grad=True)
    tl.checkpoint(loss)(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), SLOPE, rtol=1e-6)


def test_a_shape_rule_takes_it_where_there_are_no_elements() -> None:
    listing = tl.Listing()
    y = loss(listing.input("x", (2, 3)), Inferred)
    assert y.shape == () and "Inferred.forward(x" in str(listing)
    np.testing.assert_allclose(
        listing.run(y, tl.tensor(X)).numpy(), np.sum(6 * np.sin(X) + np.cos(X)), rtol=1e-6
    )
    assert tl.grad(lambda x: loss(x, Inferred))(tl.ShapeTensor((2, 3))).shape == (2, 3)
    with pytest.raises(tl.ShapeError, match=r"infer\(inputs\) be defined"):
        loss(tl.Listing().input("x", (2, 3)))


def test_derivatives_that_numpy_has_not_are_refused() -> None:
    refused = pytest.raises(tl.AutodiffError, match="NumPy arrays must not be differentiated")
    with refused:
        tl.grad(lambda x: F.sum(x * tl.grad(loss)(x)))(tl.tensor(X))
    with refused:
        tl.jvp(loss, (tl.tensor(X),), (tl.tensor(X),))


def test_a_backward_of_too_few_gradients_is_refused() -> None:
    class Short(SinCos):
        @staticmethod
        def backward(inputs: list[Any]) -> Any:
            return inputs[0]

    with pytest.raises(
        tl.AutodiffError, match=r"Short.backward: one gradient for each of 2 inputs"
    ):
        tl.grad(lambda x: loss(x, Short))(tl.tensor(X))

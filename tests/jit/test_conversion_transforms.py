"""Converted functions in models, under transforms, and with transforms inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.jit import to_static

F = tl.functional


def squared(x: Any) -> Any:
    """A loop and a branch that tensors decide about."""
    while x < 50.0:
        if x < 4.0:  # noqa: SIM108 - the statement is what is tested
            x = x * x
        else:
            x = x + 17.0 * x
    return x


@pytest.mark.parametrize("value", [3.0, 5.0, 1.5])
def test_y6_gradients_and_tangents_are_those_of_python(value: float) -> None:
    converted = to_static(squared)
    x, dx = tl.tensor(value), tl.tensor(1.0)
    for _ in range(2):
        assert tl.grad(converted)(x).item() == tl.grad(squared)(x).item()
        second = tl.grad(tl.grad(converted))(x).item()
        assert second == tl.grad(tl.grad(squared))(x).item()
        got, wanted = tl.jvp(converted, (x,), (dx,)), tl.jvp(squared, (x,), (dx,))
        assert [y.item() for y in got] == [y.item() for y in wanted]


def test_examples_go_their_own_ways_under_vmap() -> None:
    xs = tl.tensor([3.0, 5.0, 60.0, 1.5])
    expected = [squared(x).item() for x in xs]
    np.testing.assert_allclose(tl.vmap(to_static(squared))(xs).numpy(), expected, rtol=1e-6)

    @to_static
    def inside(xs: Any) -> Any:
        return tl.vmap(lambda x: x * 2 if x > 4 else -x)(xs)

    assert inside(xs).tolist() == [-3.0, 10.0, 120.0, -1.5]


def test_gradients_inside_of_branches() -> None:
    def f(x: Any) -> Any:
        slope = tl.grad(lambda t: (t * t).sum() if x.sum() > 0 else t.sum())(x)
        if slope.sum() > 3:
            slope = slope + tl.grad(lambda t: (t**3 * x).sum())(x)
        return slope

    converted = to_static(f)
    for x in (tl.tensor([1.0, 2.0]), tl.tensor([-1.0, -2.0]), tl.tensor([0.5, 0.25])):
        assert converted(x).tolist() == f(x).tolist()


def model(*, is_static: bool) -> Any:
    """A model whose middle is converted, or not."""

    class Middle(tl.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.linear = tl.nn.Linear(4, 4)
            self.scale = tl.Parameter([1.0, 1.0, 1.0, 1.0])
            self.norm = tl.nn.BatchNorm1d(4)

        def forward(self, x: Any) -> Any:
            y = self.linear(x)
            for i in range(3):
                if y.mean() > 0.1 * i:  # noqa: SIM108 - the statement is what is tested
                    y = self.norm(y) * self.scale
                else:
                    y = self.shifted(y)
            return y

        def shifted(self, y: Any) -> Any:
            steps = 0
            while y.mean() < 0.5 and steps < 4:
                y = y + 0.25
                steps += 1
            return y

    tl.manual_seed(3)
    made = tl.nn.Sequential(tl.nn.Linear(3, 4), Middle(), tl.nn.Linear(4, 1))
    if is_static:
        to_static(made[1])
    return made


def test_y6_a_converted_layer_trains_in_the_middle_of_a_model() -> None:
    models = [model(is_static=flag) for flag in (False, True)]
    draw = np.random.default_rng(0)
    batches = [draw.normal(size=(8, 3)).astype("float32") * scale for scale in (1, 3, 0.5, 2)]
    losses: list[list[float]] = []
    for made in models:
        optimizer = tl.optim.SGD(made.parameters(), lr=0.05)
        losses.append([])
        for batch in batches * 2:
            loss = ((made(tl.tensor(batch)) - 1.0) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses[-1].append(loss.item())
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    pairs = zip(models[0].named_buffers(), models[1].named_buffers(), strict=True)
    for (_, one), (_, other) in pairs:
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-4, atol=1e-6)


def test_y4_methods_and_classes_of_layers_are_converted() -> None:
    class Absolute(tl.nn.Layer):
        @to_static
        def forward(self, x: Any) -> Any:
            return self.flip(x) if x.sum() < 0 else x

        def flip(self, x: Any) -> Any:
            return -x

    @to_static
    class Doubled(Absolute):
        def forward(self, x: Any) -> Any:
            y = super().forward(x)
            if y.sum() > 2:
                y = y * 2
            return y

    low = tl.tensor([-1.0, -2.0])
    assert Absolute()(low).tolist() == [1.0, 2.0]
    assert Doubled()(low).tolist() == [2.0, 4.0]
    assert Doubled()(-low).tolist() == [2.0, 4.0]


def test_private_names_of_classes_are_found() -> None:
    class Holder:
        def __init__(self) -> None:
            self.__factor = 3.0

        @to_static
        def scaled(self, x: Any) -> Any:
            if x.sum() > 0:
                return x * self.__factor
            return x

    assert Holder().scaled(tl.tensor([1.0, 2.0])).tolist() == [3.0, 6.0]


def test_a_converted_function_calls_another_one() -> None:
    inner = to_static(squared)

    @to_static
    def outer(x: Any) -> Any:
        return inner(x) + (inner(x * 2) if x > 4 else 0.0 * x)

    for value in (3.0, 5.0):
        x = tl.tensor(value)
        expected = squared(x) + (squared(x * 2) if value > 4 else 0.0)
        assert outer(x).item() == expected.item()
    assert inner.programs() == []

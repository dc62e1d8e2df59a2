"""Trees with static leaves and layers, through every transform."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import nn

X = tl.tensor(np.array([[0.5, -1.0], [0.25, 2.0], [1.5, 0.75]]))


@dataclass
class Model:
    layer: Any
    name: str
    scale: Any
    power: int = 2
    is_scaled: bool = True
    doubled: Any = field(init=False)

    def __post_init__(self) -> None:
        assert isinstance(self.name, str)
        self.doubled = self.scale * 2


def linear(seed: int = 0) -> nn.Linear:
    layer = nn.Linear(2, 2, seed=seed)
    for _, parameter in layer.named_parameters():
        values = np.random.default_rng(seed).normal(size=parameter.shape)
        parameter._reset(tl.Parameter(values))
    return layer


def score(model: Model) -> Any:
    y = F.tanh(model.layer(X)) ** model.power
    return F.sum(y) * (model.doubled if model.is_scaled else 1.0)


def differences(layer: Any, function: Callable[[], Any]) -> dict[str, Any]:
    """The gradient by a layer's parameters, by central differences."""
    found = {}
    for name, parameter in layer.named_parameters():
        own = parameter.__wrapped__
        values = parameter.detach().numpy()
        slopes = np.zeros(values.shape)
        for index in np.ndindex(values.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = values.copy()
                moved[index] += step
                parameter._reset(tl.tensor(moved))
                ends.append(float(function().detach()))
            slopes[index] = (ends[0] - ends[1]) / 2e-5
        parameter._reset(own)
        found[name] = slopes
    return found


def close(found: Any, wanted: Any, tolerance: float = 1e-7) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        got = np.asarray(found[name].detach())
        np.testing.assert_allclose(got, np.asarray(value), rtol=tolerance, atol=tolerance)


def test_static_leaves_and_layers_stand_anywhere_in_an_argument() -> None:
    layer = linear()
    model = Model(layer, "tanh", 3.0)
    gradient = tl.grad(score)(model)
    assert isinstance(gradient, Model)
    assert (gradient.name, gradient.power, gradient.is_scaled) == (None, None, None)
    close(gradient.layer, differences(layer, lambda: score(model)))
    np.testing.assert_allclose(float(gradient.scale.detach()), float(score(model).detach()) / 3)

    tree = {"parts": [layer, (linear(1), "word")], "function": F.tanh, "labels": tl.tensor([1, 0])}

    def f(tree: Any) -> Any:
        first, (second, word) = tree["parts"]
        y = tree["function"](second(first(X)))
        return F.sum(y[:, tree["labels"]] ** len(word))

    found = tl.grad(f)(tree)
    assert found["function"] is None
    assert found["labels"] is None
    assert found["parts"][1][1] is None
    close(found["parts"][0], differences(layer, lambda: f(tree)))
    second = tree["parts"][1][0]  # type: ignore[index]
    close(found["parts"][1][0], differences(second, lambda: f(tree)))


def test_every_transform_takes_such_arguments() -> None:
    layer = linear()
    model = Model(layer, "tanh", 3.0)
    gradient = tl.grad(score)(model)
    squares = sum(np.sum(np.asarray(g.detach()) ** 2) for g in gradient.layer.values())
    squares += float(gradient.scale.detach()) ** 2
    _, along = tl.jvp(score, (model,), (gradient,))
    np.testing.assert_allclose(float(along.detach()), squares, rtol=1e-6)
    _, push = tl.linearize(score, model)
    np.testing.assert_allclose(float(push(gradient).detach()), squares, rtol=1e-6)
    _, pull = tl.vjp(score, model)
    close(pull(tl.tensor(2.0))[0].layer, {n: 2 * g.detach() for n, g in gradient.layer.items()})
    close(tl.jacrev(score)(model).layer, {n: g.detach() for n, g in gradient.layer.items()})
    close(tl.jacfwd(score)(model).layer, {n: g.detach() for n, g in gradient.layer.items()})
    again = tl.grad(lambda m: tl.checkpoint(score)(m))(model)
    close(again.layer, {n: g.detach() for n, g in gradient.layer.items()})

    blocks = tl.hessian(score)(model)
    product = tl.hvp(score, (model,), (gradient,))
    for name, row in blocks.layer.items():
        total = np.asarray(row.scale.detach()) * float(gradient.scale.detach())
        for other, block in row.layer.items():
            direction = np.asarray(gradient.layer[other].detach())
            total = total + np.tensordot(np.asarray(block.detach()), direction, direction.ndim)
        np.testing.assert_allclose(np.asarray(product.layer[name].detach()), total, rtol=1e-6)


def test_a_layer_that_stands_twice_is_differentiated_by_once() -> None:
    layer = linear()

    def f(pair: Any) -> Any:
        return F.sum(pair[0](X) * F.tanh(pair[1]["again"](X)))

    pair = [layer, {"again": layer}]
    first, second = tl.grad(f)(pair)
    assert second == {"again": {}}
    close(first, differences(layer, lambda: f(pair)))
    vector = [{name: tl.ones(g.shape, dtype=tl.float64) for name, g in first.items()}, None]
    _, along = tl.jvp(f, (pair,), (vector,))
    total = sum(float(F.sum(g).detach()) for g in first.values())
    np.testing.assert_allclose(float(along.detach()), total)


def test_custom_rules_take_layers_and_static_leaves() -> None:
    layer = linear()

    def plain(layer: Any, x: Any, options: Any) -> Any:
        assert options["name"] == "cube"
        return layer(x) ** options["power"]

    options = {"name": "cube", "power": 3}
    wanted = tl.grad(lambda m: F.sum(plain(m, X, options)))(layer)
    by_vjp = tl.custom_vjp(plain)

    def forward(layer: Any, x: Any, options: Any) -> Any:
        y, pull = tl.vjp(lambda m: plain(m, x, options), layer)
        return y, (pull, "residual", x)

    def backward(residuals: Any, dy: Any) -> Any:
        pull, word, _ = residuals
        assert word == "residual"
        return pull(dy)[0], None, None

    by_vjp.defvjp(forward, backward)
    found = tl.grad(lambda m: F.sum(by_vjp(m, X, options)))(layer)
    close(found, {n: g.detach() for n, g in wanted.items()})

    by_jvp = tl.custom_jvp(plain)

    def rule(primals: Any, tangents: Any) -> Any:
        assert tangents[2] == {"name": None, "power": None}
        return tl.jvp(lambda m, x: plain(m, x, options), primals[:2], tangents[:2])

    by_jvp.defjvp(rule)
    found = tl.grad(lambda m: F.sum(by_jvp(m, X, options)))(layer)
    close(found, {n: g.detach() for n, g in wanted.items()})


def test_examples_share_a_layer_unless_in_axes_names_it() -> None:
    layer = linear()
    mapped = tl.vmap(lambda t, x: t["layer"](x) * t["n"])({"layer": layer, "n": 2}, X)
    np.testing.assert_allclose(np.asarray(mapped.detach()), np.asarray((layer(X) * 2).detach()))
    many = linear()
    for _, parameter in many.named_parameters():
        parameter._reset(F.stack([parameter, parameter * 3]))
    axes = ({"weight": 0, "bias": 0}, None)
    for in_axes in (axes, (0, None)):
        mapped = tl.vmap(lambda layer, x: layer(x), in_axes=in_axes)(many, X)
        wanted = F.stack([layer(X), layer(X) * 3])
        np.testing.assert_allclose(np.asarray(mapped.detach()), np.asarray(wanted.detach()))


def test_gradients_by_a_layer_belong_to_the_transforms_and_the_tape_outside() -> None:
    def cubes(layer: Any) -> Any:
        return F.sum(layer(tl.ones((1, 1))) ** 3)

    layer = nn.Linear(1, 1, bias=False)
    layer.weight.set_value([[0.5]])
    for inner in (tl.grad(cubes), lambda q: tl.vjp(cubes, q)[1](tl.tensor(1.0))[0],
                  lambda q: tl.jacrev(cubes)(q), lambda q: tl.jacfwd(cubes)(q)):  # fmt: skip
        outer = tl.grad(lambda q, inner=inner: F.sum(inner(q)["weight"]))(layer)
        assert outer["weight"].tolist() == [[3.0]]
        layer.weight.grad = None
        F.sum(inner(layer)["weight"]).backward()
        assert layer.weight.grad.tolist() == [[3.0]]
    assert layer.weight.is_leaf


def test_a_layer_holds_its_own_parameters_again_whatever_happens() -> None:
    layer = linear()
    F.sum(layer(X)).backward()
    held = [(p.tolist(), p.grad.tolist()) for p in layer.parameters()]

    def broken(layer: Any, *_: Any) -> Any:
        raise KeyError("broken")

    runs: list[Callable[[], Any]] = [
        lambda: tl.grad(broken)(layer),
        lambda: tl.jvp(broken, (layer,), (tl.grad(lambda m: F.sum(m(X)))(layer),)),
        lambda: tl.vmap(broken)(layer, X),
        lambda: tl.checkpoint(broken)(layer),
    ]
    for run in runs:
        with pytest.raises(KeyError):
            run()
        assert [(p.tolist(), p.grad.tolist()) for p in layer.parameters()] == held


CIRCLE: list[Any] = [1.0]
CIRCLE.append(CIRCLE)
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "circle": (lambda: tl.grad(F.sum)(CIRCLE), tl.ParameterError, "must not hold themselves"),
    "circle in vmap": (lambda: tl.vmap(F.sum)(CIRCLE), tl.ParameterError, "not hold themselves"),
    "circle as result": (lambda: tl.vjp(lambda _: CIRCLE, X), tl.ParameterError, "got a list"),
    "an integer": (lambda: tl.grad(F.sum)(3), tl.DTypeError, "only floating-point"),
    "a word": (lambda: tl.grad(F.sum)("word"), tl.DTypeError, "got str"),
    "integers alone": (lambda: tl.grad(lambda _: X[0, 0])([1, 2]), tl.DTypeError, "integers alone"),
    "a tangent of a word": (
        lambda: tl.jvp(lambda t: t["x"], ({"x": X, "s": "a"},), ({"x": X, "s": X},)),
        tl.AutodiffError, "must be None in place of what is not differentiated by",
    ),
    "a stopped layer": (lambda: tl.stop_gradient(linear()), tl.AutodiffError, "got a Linear"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_tree_may_be_is_refused(name: str) -> None:
    run, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        run()

"""Functions with derivatives of their own: one derivative gives all, in every nesting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import AutodiffError, ShapeError, nn, ops


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-6, atol=1e-8)


X = tl.tensor(np.array([0.5, -1.0, 2.0]))
T = tl.tensor(np.array([1.0, 10.0, -3.0]))


def product_with_vjp() -> Any:
    """x * sin(y), whose rule says three times the true gradient, to see whose it is."""

    @tl.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return x * tl.sin(y)

    f.defvjp(
        lambda x, y: (x * tl.sin(y), {"x": x, "y": y}),
        lambda kept, dy: (3 * dy * tl.sin(kept["y"]), 3 * dy * kept["x"] * tl.cos(kept["y"])),
    )
    return f


def product_with_jvp() -> Any:
    @tl.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * tl.sin(y)

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return x * tl.sin(y), 3 * (dx * tl.sin(y) + x * tl.cos(y) * dy)

    f.defjvp(rule)
    return f


def product_of_an_op() -> Any:
    class TimesSine(ops.OpBase):
        def define(self, x: Any, y: Any) -> Any:
            return x * ops.Elemwise(mode="sin")(y)[0]

        def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
            x, y = (tl.Tensor(value) for value in inputs)
            dy = 3 * tl.Tensor(cotangents[0])
            return (dy * tl.sin(y)).__wrapped__, (dy * x * tl.cos(y)).__wrapped__

    return lambda x, y: TimesSine()(x, y)[0]


MADE = [product_with_vjp, product_with_jvp, product_of_an_op]


@pytest.mark.parametrize("make", MADE)
def test_any_one_derivative_gives_all(make: Any) -> None:
    f = make()
    x, y = X, X + 1
    close(f(x, y), np.asarray(x) * np.sin(np.asarray(y)))
    by_x, by_y = 3 * np.sin(np.asarray(y)), 3 * np.asarray(x) * np.cos(np.asarray(y))
    gradients = tl.grad(lambda x, y: tl.sum(f(x, y)), argnums=(0, 1))(x, y)
    close(gradients[0], by_x)
    close(gradients[1], by_y)
    value, tangent = tl.jvp(f, (x, y), (T, 2 * T))
    close(value, np.asarray(x) * np.sin(np.asarray(y)))
    close(tangent, np.asarray(T) * (by_x + 2 * by_y))
    for jacobian in (tl.jacfwd, tl.jacrev):
        close(jacobian(f)(x, y), np.diag(by_x))
    # The rule is differentiated in turn.
    second = np.diag(3 * np.cos(np.asarray(y)))
    crossed = tl.jacfwd(tl.grad(lambda x, y: tl.sum(f(x, y))), argnums=1)(x, y)
    close(crossed, second)
    close(tl.jacrev(tl.jacfwd(lambda x, y: tl.sum(f(x, y))), argnums=1)(x, y), second)


@pytest.mark.parametrize("make", MADE)
def test_examples_go_through_both(make: Any) -> None:
    f = make()
    xs, ys = tl.stack([X, 2 * X]), tl.stack([X, X - 1])
    close(tl.vmap(f)(xs, ys), np.asarray(xs) * np.sin(np.asarray(ys)))
    each = tl.vmap(tl.grad(lambda x, y: tl.sum(f(x, y))), in_axes=(0, None))(xs, X)
    close(each, np.stack([3 * np.sin(np.asarray(X))] * 2))

    def total(x: Any, y: Any) -> Any:
        return tl.sum(tl.vmap(f, in_axes=(0, None))(x, y))

    by_xs, by_y = tl.grad(total, argnums=(0, 1))(xs, X)
    close(by_xs, np.stack([3 * np.sin(np.asarray(X))] * 2))
    close(by_y, 3 * np.asarray(xs).sum(0) * np.cos(np.asarray(X)))
    _, tangent = tl.jvp(tl.vmap(f, in_axes=(0, None)), (xs, X), (xs, None))
    close(tangent, 3 * np.asarray(xs) * np.sin(np.asarray(X)))


def test_trees_numbers_and_arguments_without_gradient() -> None:
    @tl.custom_vjp
    def f(parts: dict[str, Any], n: int) -> dict[str, Any]:
        return {"y": parts["a"] * n, "z": [parts["b"]]}

    f.defvjp(
        lambda parts, n: (f.function(parts, n), (n, parts["b"])),
        lambda kept, dy: ({"a": 7 * kept[0] * dy["y"], "b": dy["z"][0] * kept[1]}, None),
    )

    def loss(parts: Any) -> Any:
        out = f(parts, 2)
        return tl.sum(out["y"]) + tl.sum(out["z"][0])

    gradient = tl.grad(loss)({"a": X, "b": X})
    close(gradient["a"], [14.0] * 3)
    close(gradient["b"], X)


def test_mistakes_in_rules_are_refused() -> None:
    g = tl.custom_vjp(lambda x: x)
    assert g(2.0) == 2.0
    with pytest.raises(AutodiffError, match=r"custom_vjp: .* call .*defvjp\(forward, backward\)"):
        tl.grad(g)(2.0)
    g.defvjp(lambda x: x, lambda kept, dy: (dy,))
    with pytest.raises(AutodiffError, match="must return the value and the residuals"):
        tl.grad(g)(2.0)
    g.defvjp(lambda x: (x * 1, None), lambda kept, dy: dy)
    with pytest.raises(AutodiffError, match="must return a tuple of one gradient per argument, 1"):
        tl.grad(g)(2.0)
    g.defvjp(lambda x: (x * 1, None), lambda kept, dy: (tl.ones(2),))
    with pytest.raises(ShapeError, match=r"must have the shape \(\) of its argument; got \(2,\)"):
        tl.grad(g)(2.0)
    h = tl.custom_jvp(lambda x: x)
    with pytest.raises(AutodiffError, match=r"custom_jvp: .* call .*defjvp\(rule\)"):
        tl.jvp(h, (2.0,), (1.0,))
    h.defjvp(lambda x, dx: dx)
    with pytest.raises(AutodiffError, match="must return the value and its tangent"):
        tl.jvp(h, (2.0,), (1.0,))

    def closing(x: Any) -> Any:
        f = tl.custom_vjp(lambda y: x * y)
        f.defvjp(lambda y: (x * y, None), lambda kept, dy: (dy,))
        return f(x)

    with pytest.raises(AutodiffError, match="got a traced tensor from outside"):
        tl.grad(closing)(2.0)


# --- checkpoint ---


def block(x: Any, scale: Any) -> Any:
    for _ in range(3):
        x = tl.tanh(x * scale) + x
    return x


def test_a_checkpoint_gives_what_the_function_gives_in_every_nesting() -> None:
    again = tl.checkpoint(block)
    scale = tl.tensor(np.float64(0.7))

    def of(f: Any) -> Any:
        return lambda x: tl.sum(f(x, scale) ** 2)

    for transform in (tl.grad, tl.hessian, tl.jacfwd, lambda f: tl.grad(lambda x: tl.sum(
            tl.grad(f)(x) ** 2))):  # fmt: skip
        close(transform(of(again))(X), transform(of(block))(X))
    xs = tl.stack([X, 2 * X])
    close(tl.vmap(tl.grad(of(again)))(xs), tl.vmap(tl.grad(of(block)))(xs))
    close(tl.vmap(again, in_axes=(0, None))(xs, scale), block(xs, scale))


def test_a_checkpoint_keeps_only_its_arguments() -> None:
    x = tl.ones((256, 1024))
    peaks = []
    for f in (block, tl.checkpoint(block)):

        def eight_times(x: Any, f: Any = f) -> Any:
            for _ in range(8):
                x = f(x, 0.5)
            return tl.sum(x)

        tl.grad(eight_times)(x)
        tl.memory.reset_peak()
        before = tl.memory.stats()["allocated"]
        tl.grad(eight_times)(x)
        peaks.append(tl.memory.stats()["peak"] - before)
    assert peaks[1] < 0.75 * peaks[0], peaks


def test_a_checkpointed_layer_learns() -> None:
    layer = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Dropout(0.5), nn.Linear(4, 1, seed=2))
    x = tl.ones((5, 3))
    found = []
    for f in (layer, tl.checkpoint(layer), tl.checkpoint(layer.forward)):
        tl.manual_seed(4)
        for parameter in layer.parameters():
            parameter.grad = None
        tl.sum(f(x)).backward()
        found.append([np.asarray(p.grad) for p in layer.parameters()])
    for other in found[1:]:
        for g, wanted in zip(other, found[0], strict=True):
            close(g, wanted)


def test_a_checkpoint_refuses_what_it_can_not_see() -> None:
    class Hidden:
        pass

    def f(x: Any) -> Any:
        hidden = Hidden()
        hidden.x = x  # type: ignore[attr-defined]
        return tl.checkpoint(lambda y: y * hidden.x)(x)  # type: ignore[attr-defined]

    with pytest.raises(AutodiffError, match="got a traced tensor from outside"):
        tl.grad(f)(2.0)


def test_carriers_see_the_ops_inside_and_listings_those_of_a_checkpoint() -> None:
    class Seen(tl.Carrier):
        pass

    seen = []

    @tl.apply.register
    def apply_seen_inside(op: tl.ops.OpBase, *xs: Seen) -> Any:
        seen.append(getattr(op, "mode", str(op)))
        return tl.apply.super(op, *xs)

    try:
        x = tl.Tensor(Seen([1.0, 2.0]), requires_grad=True)
        assert isinstance(tl.checkpoint(tl.sin)(x).detach().__wrapped__, Seen)
        tl.sum(tl.checkpoint(tl.sin)(x)).backward()
        assert seen.count("sin") == 3 and "sin_dx" in seen
        doubled = tl.custom_vjp(lambda x: tl.exp(x))
        doubled.defvjp(lambda x: (tl.exp(x), None), lambda _, dy: (dy * 2,))
        doubled(x)
        assert "exp" in seen
    finally:
        tl.apply.unregister(apply_seen_inside)
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (2,)), requires_grad=True)
    tl.checkpoint(tl.sin)(x)
    assert "Elemwise(mode='sin')(x)" in str(listing)

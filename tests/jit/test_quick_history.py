"""Quick calls by which derivatives are wanted: what the long way gives, gradients included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.layouts import LAYOUTS
from support.quick import MODES, quick_calls, the_long_way
from support.random_programs import BINARY, UNARY

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn
from tensorlike.ops import OpBase

SHAPES = ((3, 4), (1, 4), (0, 4))
DTYPES = ("float32", "float64", "float32", "float16")


def _drawn(rng: np.random.Generator) -> Callable[..., Any]:
    """A function of two tensors, a number and a weight, of which it also counts the calls."""
    plan = [tuple(rng.integers(0, 1000, 4)) for _ in range(int(rng.integers(3, 10)))]
    weight = tl.Parameter(rng.standard_normal(4).astype(np.float32))
    mean = nn.Buffer(np.zeros(4, np.float32))

    def function(x: Any, y: Any, scale: float) -> Any:
        values = [x, y, x * weight + scale]
        for kind, which, first, second in plan:
            a, b = values[first % len(values)], values[second % len(values)]
            if kind % 6 == 0:
                with tl.no_grad():
                    values.append(F.tanh(a))
            elif kind % 6 == 1:
                values.append(a.detach() * scale)
            elif kind % 6 < 4:
                values.append(F.clip(UNARY[which % len(UNARY)](a), -3.0, 3.0))
            else:
                values.append(BINARY[which % len(BINARY)](a, b))
        if plan[0][0] % 3 == 0:
            with tl.no_grad():
                mean.set_value(mean * 0.5 + F.sum(values[-1], axis=0).astype(tl.float32))
        return {"last": values[-1], "two": (values[-2], F.argmax(values[-1], axis=1)), "x": x}

    function.held = weight, mean  # type: ignore[attr-defined]
    return function


def _arguments(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Two tensors: plain, leaves or with a history, of any layout and dtype."""
    made = []
    for _ in range(2):
        layout = list(LAYOUTS.values())[rng.integers(len(LAYOUTS))]
        array = rng.standard_normal(shape).astype(DTYPES[rng.integers(len(DTYPES))])
        x = tl.Tensor(tl.as_raw_tensor(layout(array) if array.size else array))
        kind = rng.integers(3)
        if kind > 0:
            x.requires_grad = True
        made.append(x if kind < 2 else x * 1)
    return (*made, float(rng.integers(1, 3)))


def _outcome(call: Callable[[], Any], leaves: list[Any], mean: Any) -> list[Any]:
    """Results, gradients and the buffer, as arrays."""
    before = tl.tensor(mean.numpy().copy())
    found = call()
    ys = [found["last"], *found["two"]]
    roots = [y for y in ys if y.requires_grad]
    for leaf in leaves:
        leaf.grad = None
    if roots:
        sum((F.sum(F.sin(y).astype(tl.float32)) for y in roots), tl.tensor(0.0)).backward(
            retain_graph=True
        )
    seen = [*ys, mean, *[leaf.grad for leaf in leaves]]
    arrays = [None if y is None else np.array(y.detach().numpy()) for y in seen]
    mean.set_value(before)
    for leaf in leaves:
        leaf.grad = None
    return [*arrays, [y.requires_grad for y in ys]]


def _assert_same(found: list[Any], wanted: list[Any], *, is_exact: bool) -> None:
    assert found[-1] == wanted[-1]
    for x, y in zip(found[:-1], wanted[:-1], strict=True):
        assert (x is None) == (y is None)
        if x is None:
            continue
        assert x.dtype == y.dtype and x.shape == y.shape
        if is_exact:
            np.testing.assert_array_equal(x, y)
        else:
            is_half = x.dtype == np.float16
            np.testing.assert_allclose(x, y, rtol=0.02 if is_half else 2e-4, atol=2e-3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(12))
def test_random_functions_give_what_the_long_way_gives(seed: int, mode: str) -> None:
    rng = np.random.default_rng(seed)
    plain = _drawn(rng)
    weight, mean = plain.held  # type: ignore[attr-defined]
    traced = jit.trace(plain)
    with tl.engine.mode(mode, **MODES[mode]):
        for turn in range(4):
            args = _arguments(rng, SHAPES[turn % len(SHAPES)])
            leaves = [x for x in args[:2] if x.is_leaf] + [weight]
            for _ in range(3):
                traced(*args)
            before = quick_calls(traced)
            quick = _outcome(lambda args=args: traced(*args), leaves, mean)
            assert quick_calls(traced) == before + 1
            general = _outcome(lambda args=args: the_long_way(traced, *args), leaves, mean)
            _assert_same(quick, general, is_exact=True)
            eager = _outcome(lambda args=args: plain(*args), leaves, mean)
            if not any(x.dtype is tl.float16 for x in args[:2]):
                _assert_same(quick, eager, is_exact=False)


def _cube(x: Any) -> Any:
    return F.sum(x * x * x * 0.5 + F.sin(x))


def _traced_cube(x: Any) -> Any:
    traced = jit.trace(_cube)
    leaf = tl.tensor(x.numpy(), requires_grad=True)
    for _ in range(3):
        traced(leaf).backward()
        tl.grad(traced)(x)
    assert quick_calls(traced) > 0
    return traced


def test_derivatives_of_every_order_and_transforms_around_go_through() -> None:
    x = tl.tensor([0.5, -1.0, 2.0])
    traced = _traced_cube(x)
    for transform in (
        tl.grad,
        lambda f: tl.grad(lambda x: F.sum(tl.grad(f)(x))),
        lambda f: lambda x: tl.hessian(f)(x),
        lambda f: tl.vmap(tl.grad(f)),
        lambda f: lambda x: tl.jvp(tl.grad(f), (x,), (x,))[1],
        lambda f: tl.grad(lambda x: F.sum(tl.vmap(tl.grad(f))(x))),
    ):
        wanted, found = transform(_cube)(x), transform(traced)(x)
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)
    leaf = tl.tensor([0.5, -1.0, 2.0], requires_grad=True)
    (first,) = tl.autograd.grad(traced(leaf), [leaf], create_graph=True)
    F.sum(first).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), 3 * x.numpy() - np.sin(x.numpy()), rtol=1e-5)


def test_hooks_and_retained_graphs_act_as_on_any_node() -> None:
    traced = jit.trace(lambda x: F.tanh(x) * 3)
    leaf = tl.tensor([0.5, 1.0], requires_grad=True)
    for _ in range(3):
        y = traced(leaf)
    before, seen = quick_calls(traced), []
    y = traced(leaf)
    assert quick_calls(traced) == before + 1
    y.register_hook(lambda gradient: seen.append(gradient.tolist()) or gradient * 2)
    y.sum().backward(retain_graph=True)
    first = leaf.grad.numpy().copy()
    y.sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), 2 * first)
    assert seen == [[1.0, 1.0]] * 2
    np.testing.assert_allclose(first, 6 / np.cosh([0.5, 1.0]) ** 2, rtol=1e-5)
    with pytest.raises(tl.AutodiffError, match="must not be used up"):
        y.sum().backward()


def test_rules_of_users_see_what_they_see_on_the_long_way() -> None:
    traced = jit.trace(lambda x: F.exp(x) * 2)
    leaf = tl.tensor([0.5], requires_grad=True)
    for _ in range(3):
        traced(leaf)
    seen: list[str] = []

    def apply_seen_on_tape(op: OpBase, *xs: tl.Tracer) -> Any:
        seen.append(f"tape {op}")
        return tl.apply.super(op, *xs)

    def apply_seen_on_elements(op: OpBase, *xs: tl.RawTensor) -> Any:
        seen.append(f"elements {op}")
        return tl.apply.super(op, *xs)

    plain = leaf.detach()
    for _ in range(3):
        traced(plain)
    with tl.apply.registered(apply_seen_on_elements):
        traced(plain)
        quick, seen[:] = list(seen), []
        the_long_way(traced, plain)
        long, seen[:] = list(seen), []
        assert quick == long and any("Call" in line for line in quick)
    for rule in (apply_seen_on_tape, apply_seen_on_elements):
        with tl.apply.registered(rule):
            traced(leaf).sum().backward()
            quick, seen[:] = list(seen), []
            the_long_way(traced, leaf).sum().backward()
            long, seen[:] = list(seen), []
            assert quick == long and any("Call" in line for line in quick)
    before = quick_calls(traced)
    traced(leaf)
    assert quick_calls(traced) == before + 1


def test_what_derivatives_are_wanted_by_is_seen() -> None:
    traced = jit.trace(lambda x, y: x * y + 1)
    plain, leaf = tl.tensor([2.0]), tl.tensor([3.0], requires_grad=True)
    for args in ((plain, leaf), (leaf, plain), (plain, plain), (leaf, leaf * 2)) * 4:
        y = traced(*args)
        assert y.requires_grad == any(x.requires_grad for x in args)
        if y.requires_grad:
            leaf.grad = None
            y.backward(tl.tensor([1.0]), retain_graph=True)
            wanted = 12.0 if args[0] is leaf and args[1] is not plain else 2.0
            assert leaf.grad.item() == wanted
        with tl.no_grad():
            assert not traced(*args).requires_grad
    assert quick_calls(traced) > 8


def test_arguments_that_no_step_reads_count_by_shape_and_dtype() -> None:
    @jit.trace
    def counted(x: Any, y: Any) -> Any:
        return x * (y.shape[0] if y.ndim == 1 else -1) * (2 if y.dtype is tl.float32 else 3)

    x, leaf = tl.tensor([1.0]), tl.tensor([1.0], requires_grad=True)
    cases = [
        (tl.ones(3), 6.0), (tl.ones(4), 8.0), (tl.ones((3, 3)), -2.0),
        (tl.ones(3, dtype=tl.float64), 9.0),
    ]  # fmt: skip
    for _ in range(4):
        for y, wanted in cases:
            assert counted(x, y).item() == wanted == counted(leaf, y).item()
    assert quick_calls(counted) > 8


def test_a_batch_norm_trains_the_quick_way() -> None:
    rng = np.random.default_rng(3)
    batches = [tl.tensor(rng.standard_normal((6, 4)).astype(np.float32)) for _ in range(6)]
    layers, losses = [], []
    for wrap in (lambda f: f, jit.trace):
        layer = nn.Sequential(nn.Linear(4, 4, seed=0), nn.BatchNorm1d(4), F.gelu)
        optimizer = tl.optim.SGD(layer.parameters(), lr=0.1)
        forward = wrap(lambda x, layer=layer: layer(x))
        losses.append([])
        for x in batches:
            optimizer.zero_grad()
            loss = F.mean(forward(x) ** 2)
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
        layers.append((layer, forward))
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
    eager, traced = (layer.state_dict() for layer, _ in layers)
    for name, value in eager.items():
        np.testing.assert_allclose(traced[name], value, rtol=1e-4, atol=1e-6)
    assert quick_calls(layers[1][1]) > 0


def test_dropout_draws_what_the_long_way_draws() -> None:
    layer = nn.Dropout(0.5)
    traced = jit.trace(lambda x: layer(x) * 2)
    leaf = tl.tensor(np.ones(64, np.float32), requires_grad=True)
    for _ in range(3):
        traced(leaf)
    found: list[Any] = []
    for call in (traced, lambda x: the_long_way(traced, x), lambda x: layer(x) * 2):
        tl.manual_seed(5)
        found.append([])
        for _ in range(2):
            leaf.grad = None
            y = call(leaf)
            y.sum().backward()
            found[-1].append((y.tolist(), leaf.grad.tolist()))
            assert found[-1][-1][0] == found[-1][-1][1]
    assert found[0] == found[1] == found[2] and found[0][0] != found[0][1]
    with_seed = jit.trace(lambda x: F.dropout(x, 0.5, seed=3) * 2)
    for _ in range(4):
        leaf.grad = None
        y = with_seed(leaf)
        y.sum().backward()
        assert y.tolist() == leaf.grad.tolist() == (F.dropout(leaf, 0.5, seed=3) * 2).tolist()
    assert quick_calls(with_seed) > 0

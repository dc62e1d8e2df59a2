"""cond, while_loop and scan: values, gradients of two orders, tangents and examples, eager and in
programs, against the same written as Python's own branches and loops."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from support.control_flow import (
    CASES,
    POINTS,
    TRANSFORMS,
    Function,
    W,
    X,
    both,
    in_program,
    python_scan,
    same,
)

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

RANDOM = np.random.default_rng(8)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("case", CASES)
def test_control_flow_is_what_python_does(case: str, transform: str, point: str) -> None:
    ours, pythons = CASES[case]
    x, w = map(tl.tensor, POINTS[point])
    wanted = TRANSFORMS[transform](pythons)(x, w)
    for function in both(ours).values():
        same(TRANSFORMS[transform](function)(x, w), wanted)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("case", CASES)
def test_transforms_are_recorded_in_programs(case: str, transform: str) -> None:
    ours, pythons = CASES[case]
    x, w = map(tl.tensor, POINTS["small"])
    recorded = in_program(lambda x, w: tuple(TRANSFORMS[transform](ours)(x, w)), ("n", 3), (3, 3))
    same(recorded(x, w), TRANSFORMS[transform](pythons)(x, w))


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("case", CASES)
def test_examples_may_go_different_ways(case: str, transform: str) -> None:
    ours, pythons = CASES[case]
    xs, w = tl.tensor(np.stack([X / 4, X, X * 2])), tl.tensor(W / 3)
    each = [TRANSFORMS[transform](pythons)(x, w) for x in xs]
    wanted = [F.stack(list(ys), axis=0) for ys in zip(*each, strict=True)]
    for function in both(ours).values():
        mapped = tl.vmap(TRANSFORMS[transform](function), in_axes=(0, None))
        same(mapped(xs, w), wanted)
    mapped = tl.vmap(lambda x, w: tuple(TRANSFORMS[transform](ours)(x, w)), in_axes=(0, None))
    same(in_program(mapped, ("examples", "n", 3), (3, 3))(xs, w), wanted)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_finite_differences(case: str) -> None:
    ours, _ = CASES[case]
    x, w = map(tl.tensor, POINTS["small"])
    function = in_program(ours, (4, 3), (3, 3))
    along = tl.tensor(RANDOM.random((3, 3)))
    step = 1e-6
    slope = (function(x, w + step * along) - function(x, w - step * along)) / (2 * step)
    found = F.sum(tl.grad(function, argnums=1)(x, w) * along)
    np.testing.assert_allclose(found.item(), slope.item(), rtol=1e-6)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_scan_of_any_number_of_rows(rows: int) -> None:
    def sums(x: Any) -> Any:
        return F.scan(lambda c, row: (c + row, c * row), F.zeros((3,), dtype=tl.float64), x)

    x = tl.tensor(RANDOM.random((rows, 3)))
    x_ = np.asarray(x)
    before = np.cumsum(x_, axis=0) - x_
    for function in (sums, in_program(sums, (None, 3))):
        last, ys = function(x)
        same([last, ys], [x_.sum(0), before * x_])
        assert ys.shape == (rows, 3)
        assert tl.grad(lambda x: F.sum(function(x)[0]))(x).tolist() == [[1.0] * 3] * rows  # noqa: B023


def test_a_scan_without_rows_counts_steps() -> None:
    def powers(x: Any) -> Any:
        return F.scan(lambda c, _: (c * x, c), tl.ones((), dtype=tl.float64), length=4)

    for function in (powers, in_program(powers, ())):
        last, ys = function(tl.tensor(3.0, dtype=tl.float64))
        assert (last.item(), ys.tolist()) == (81.0, [1.0, 3.0, 9.0, 27.0])


def test_the_length_may_be_a_size_that_is_not_known() -> None:
    function = in_program(
        lambda x: F.scan(lambda c, _: (c * 2, None), F.sum(x), length=x.shape[0])[0], (None, 2)
    )
    assert function(tl.ones((3, 2), dtype=tl.float64)).item() == 48.0


def test_a_loop_of_no_steps_gives_what_it_began_with() -> None:
    def never(x: Any) -> Any:
        return F.while_loop(lambda c: F.sum(c) < 0, lambda c: c * 2, x, max_steps=3)

    x = tl.tensor([1.0, 2.0], dtype=tl.float64)
    for function in (never, in_program(never, (2,))):
        assert function(x).tolist() == [1.0, 2.0]
        assert tl.grad(lambda x: F.sum(function(x)))(x).tolist() == [1.0, 1.0]  # noqa: B023


def test_max_steps_ends_a_loop() -> None:
    def doubled(x: Any) -> Any:
        return F.while_loop(lambda _: True, lambda c: c * 2, x, max_steps=5)

    for function in (doubled, in_program(doubled, ())):
        assert function(tl.tensor(1.0, dtype=tl.float64)).item() == 32.0


def test_only_the_branch_that_is_taken_runs() -> None:
    called = []
    F.cond(True, lambda: called.append("first"), lambda: called.append("second"))
    F.cond(tl.tensor(False), lambda: called.append("first"), lambda: called.append("second"))
    assert called == ["first", "second"]


def test_layers_learn_through_a_recorded_scan() -> None:
    layer = tl.nn.Linear(3, 3, seed=0)
    x = tl.tensor(RANDOM.random((4, 3)), dtype=tl.float32)

    def slope(x: Any) -> Any:
        def loss(layer: Any) -> Any:
            return F.sum(F.scan(lambda c, row: (layer(c) + row, None), x[0], x)[0])

        return tl.grad(loss)(layer)["weight"]

    listing = tl.Listing()
    recorded = static.program_op(listing, slope(tl.Tensor(listing.input("x", (None, 3)))))
    np.testing.assert_allclose(recorded(x).tolist(), slope(x).tolist(), rtol=1e-5)


def newton_of(x: Any, w: Any, scan: Function) -> Any:
    """A body that differentiates, and maps, functions that close over what is outside."""

    def energy(row: Any, h: Any) -> Any:
        return F.sum(F.sin(F.matmul(row, w)) * h) + 0.1 * F.sum(h**3)

    def step(carry: Any, row: Any) -> Any:
        count, h = carry
        slopes = tl.vmap(lambda k: tl.grad(energy, argnums=1)(row * k, h))(tl.tensor([1.0, 2.0]))
        return (count + 1, h - 0.1 * F.sum(F.astype(slopes, dtype=tl.float64), axis=0)), {
            "h": h * row
        }

    (_, last), ys = scan(step, (0, F.sum(x, axis=0)), x)
    return F.sum(last**2) + F.sum(ys["h"])


@pytest.mark.parametrize("transform", ["value", "gradient", "tangent", "second gradient"])
def test_bodies_may_use_transforms(transform: str) -> None:
    x, w = map(tl.tensor, POINTS["small"])
    wanted = TRANSFORMS[transform](lambda x, w: newton_of(x, w, python_scan))(x, w)
    ours = both(lambda x, w: newton_of(x, w, F.scan))
    for function in ours.values():
        same(TRANSFORMS[transform](function)(x, w), wanted)
    recorded = in_program(
        lambda x, w: tuple(TRANSFORMS[transform](ours["eager"])(x, w)), (4, 3), (3, 3)
    )
    same(recorded(x, w), wanted)


@pytest.mark.parametrize("name", ["lazy", "async"])
@pytest.mark.parametrize("case", CASES)
def test_engines_give_the_same(case: str, name: str) -> None:
    ours, _ = CASES[case]
    x, w = map(tl.tensor, POINTS["small"])
    for function in both(ours).values():
        wanted = tl.grad(function, argnums=(0, 1))(x, w)
        with tl.engine.mode(name):
            found = tl.grad(function, argnums=(0, 1))(x, w)
            same(found, wanted)


@pytest.mark.parametrize("case", CASES)
def test_programs_with_control_flow_are_saved(case: str) -> None:
    ours, pythons = CASES[case]
    x, w = map(tl.tensor, POINTS["small"])
    listing = tl.Listing()
    inputs = listing.input("x", ("n", 3), tl.float64), listing.input("w", (3, 3), tl.float64)
    found = tl.value_and_grad(ours, argnums=(0, 1))(*map(tl.Tensor, inputs))
    again, results = tl.Listing.from_bytes(listing.to_bytes((found[0], *found[1])))
    wanted = (pythons(x, w), *tl.grad(pythons, argnums=(0, 1))(x, w))
    same(again.run(results, x, w), wanted)
    function = static.program_op(again, results[0])
    same(tl.grad(function, argnums=(0, 1))(x, w), wanted[1:])


def test_a_program_prints_the_programs_that_its_ops_hold() -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (2,)))
    F.cond(F.sum(x) > 0, lambda x: x * 2, F.sin, x)
    assert str(listing).splitlines() == [
        "x: float32(2,)",
        "_1 = Reduce(mode='sum', axis=None, keepdims=False, dtype=None)(x)  # float32()",
        "_2 = Const(value=0, dtype=None, device=None)(_1)  # float32()",
        "_3 = Elemwise(mode='greater')(_1, _2)  # bool()",
        "_4 = Cond(Call(Const, multiply), Call(sin))(_3, x)  # float32(2,)",
        "Call(Const, multiply) of _4:",
        "  x0: float32(2,)",
        "  _1 = Const(value=2, dtype=None, device=None)(x0)  # float32()",
        "  _2 = Elemwise(mode='multiply')(x0, _1)  # float32(2,)",
        "  (x0) -> (_2)",
        "Call(sin) of _4:",
        "  x0: float32(2,)",
        "  _1 = Elemwise(mode='sin')(x0)  # float32(2,)",
        "  (x0) -> (_1)",
    ]


def test_ops_that_hold_equal_programs_are_equal() -> None:
    def op_of(scale: float) -> Any:
        listing = tl.Listing()
        x = tl.Tensor(listing.input("x", (2,)))
        F.cond(F.sum(x) > 0, lambda x: x * scale, F.sin, x)
        return listing.ops[-1]

    assert op_of(2.0) == op_of(2.0)
    assert op_of(2.0) != op_of(3.0)


def test_programs_go_when_their_ops_do() -> None:
    gc.collect()
    gc.disable()
    try:
        ours, _ = CASES["scan in cond in while"]
        function = in_program(ours, ("n", 3), (3, 3))
        tl.grad(function)(tl.tensor(X), tl.tensor(W))
        listings = [weakref.ref(function.op.program)]
        listings += [
            weakref.ref(call.program) for op in function.op.program.ops
            for call in getattr(op, "sub_programs", ())
        ]  # fmt: skip
        del function
        assert [listing() for listing in listings] == [None] * len(listings)
    finally:
        gc.enable()

"""cond, while_loop and scan: values, gradients of two orders, tangents and examples, eager and in
programs, against the same written as Python's own branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

RANDOM = np.random.default_rng(7)
X, W = RANDOM.random((4, 3)), RANDOM.random((3, 3))
Function = Callable[..., Any]


def cond_of(x: Any, w: Any, branch: Function) -> Any:
    """A branch whose functions read `w` from outside."""
    return branch(
        F.sum(x) > 6.0, lambda x: F.sum(F.matmul(x, w) ** 2), lambda x: F.sum(F.sin(x)) + w[0, 0], x
    )


def python_cond(predicate: Any, first: Function, second: Function, *xs: Any) -> Any:
    return (first if bool(predicate) else second)(*xs)


def rnn_of(x: Any, w: Any, scan: Function, **options: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        count, h = carry
        h = F.tanh(F.matmul(h, w) + row) * (1 + 0.1 * F.astype(count, dtype=tl.float64))
        return (count + 1, h), {"h": h * row}

    (_, last), ys = scan(step, (0, F.sum(x, axis=0)), x, **options)
    return F.sum(last**2) + F.sum(ys["h"][0]) * 2 + F.sum(ys["h"])


def python_scan(step: Function, init: Any, xs: Any, *, reverse: bool = False) -> Any:
    count, h = init
    carry, rows = (tl.tensor(count), h), []
    for i in reversed(range(xs.shape[0])) if reverse else range(xs.shape[0]):
        carry, row = step(carry, xs[i])
        rows.append(row["h"])
    return carry, {"h": F.stack(rows[::-1] if reverse else rows, axis=0)}


def while_of(x: Any, w: Any, loop: Function) -> Any:
    carry = loop(
        lambda c: F.sum(c["x"] ** 2) < 60.0,
        lambda c: {"x": F.matmul(c["x"], w) + c["x"] + 0.1, "n": c["n"] + 1},
        {"x": x, "n": tl.tensor(0)},
    )
    return F.sum(carry["x"] ** 2) * F.astype(carry["n"], dtype=tl.float64)


def python_while(condition: Function, body: Function, carry: Any) -> Any:
    while bool(condition(carry)):
        carry = body(carry)
    return carry


def nested_of(x: Any, w: Any, cond: Function, scan: Function, loop: Function) -> Any:
    def body(c: Any) -> Any:
        value = cond(
            F.sum(c["x"]) > 9.0, lambda x: x * rnn_of(x, w, scan) / 100, lambda x: x * 1.5 + w[0],
            c["x"],
        )  # fmt: skip
        return {"x": value, "n": c["n"] + 1}

    found = loop(lambda c: c["n"] < 3, body, {"x": x, "n": tl.tensor(0)})
    return F.sum(found["x"])


def bounded(condition: Function, body: Function, carry: Any) -> Any:
    return F.while_loop(condition, body, carry, max_steps=6)


CASES: dict[str, tuple[Function, Function]] = {
    "cond": (lambda x, w: cond_of(x, w, F.cond), lambda x, w: cond_of(x, w, python_cond)),
    "scan": (lambda x, w: rnn_of(x, w, F.scan), lambda x, w: rnn_of(x, w, python_scan)),
    "scan backwards": (
        lambda x, w: rnn_of(x, w, F.scan, reverse=True),
        lambda x, w: rnn_of(x, w, python_scan, reverse=True),
    ),
    "while": (lambda x, w: while_of(x, w, bounded), lambda x, w: while_of(x, w, python_while)),
    "scan in cond in while": (
        lambda x, w: nested_of(x, w, F.cond, F.scan, bounded),
        lambda x, w: nested_of(x, w, python_cond, python_scan, python_while),
    ),
}
POINTS = {"small": (X / 4, W / 3), "large": (X * 2, W)}


def in_program(function: Function, *shapes: Sequence[Any]) -> Any:
    """The function as an op around the program that it records."""
    listing = tl.Listing()
    inputs = [listing.input(f"x{i}", shape, tl.float64) for i, shape in enumerate(shapes)]
    return static.program_op(listing, function(*map(tl.Tensor, inputs)))


def both(function: Function) -> dict[str, Function]:
    return {
        "eager": function,
        "known sizes": in_program(function, (4, 3), (3, 3)),
        "unknown sizes": in_program(function, (None, 3), (3, 3)),
    }


def same(found: Any, wanted: Any) -> None:
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-9, atol=1e-10)


def second_order(function: Function) -> Function:
    def of_gradient(*xs: Any) -> Any:
        return sum(F.sum(dx * dx) for dx in tl.grad(function, argnums=(0, 1))(*xs))

    return tl.grad(of_gradient, argnums=(0, 1))


TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "value": lambda f: lambda *xs: (f(*xs),),
    "gradient": lambda f: tl.grad(f, argnums=(0, 1)),
    "second gradient": second_order,
    "tangent": lambda f: lambda x, w: tl.jvp(f, (x, w), (F.cos(x), F.sin(w))),
    "tangent of gradient": lambda f: lambda x, w: tl.jvp(tl.grad(f), (x, w), (w[0] + x, w)),
}


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


MISTAKES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "no boolean": (
        lambda x: F.cond(F.sum(x), F.sin, F.cos, x),
        tl.DTypeError,
        "cond: predicate must be a boolean; got float64",
    ),
    "several booleans": (
        lambda x: F.cond(x > 0, F.sin, F.cos, x),
        tl.ShapeError,
        "cond: predicate must be one boolean",
    ),
    "branches of other shapes": (
        lambda x: F.cond(F.sum(x) > 0, lambda x: {"a": x}, lambda x: {"a": F.sum(x)}, x),
        tl.ShapeError,
        r"cond: result\['a'\] both functions must give the same shape and dtype",
    ),
    "branches arranged otherwise": (
        lambda x: F.cond(F.sum(x) > 0, lambda x: (x, x), lambda x: x, x),
        tl.ParameterError,
        "cond: false_fn must return what is arranged as",
    ),
    "branches with other words": (
        lambda x: F.cond(F.sum(x) > 0, lambda x: ("a", x), lambda x: ("b", x), x),
        tl.ParameterError,
        "cond: false_fn must return .* and beside it the same",
    ),
    "a carry of another dtype": (
        lambda x: F.while_loop(lambda c: c[1] < 3, lambda c: (c[0], c[1] + 0.5), (x, 0)),
        tl.DTypeError,
        r"while_loop: carry\[1\] each step must give the same shape and dtype; got int64",
    ),
    "a scan's carry of another shape": (
        lambda x: F.scan(lambda c, row: (F.stack([c, row], 0), row), x[0, 0], x[0]),
        tl.ShapeError,
        r"scan: carry each step must give the same shape and dtype; got float64\(\)",
    ),
    "no pair": (
        lambda x: F.scan(lambda c, row: c, x[0], x),
        tl.ParameterError,
        "scan: body_fn must return the next carry and a row of results",
    ),
    "no length": (
        lambda x: F.scan(lambda c, _: (c, None), x),
        tl.ParameterError,
        "scan: length the number of steps must be known",
    ),
    "rows that differ": (
        lambda x: F.scan(lambda c, row: (c, None), 0.0, (x, x[:2])),
        tl.ShapeError,
        r"scan: xs\[1\] must have",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused_in_programs(mistake: str) -> None:
    function, kind, text = MISTAKES[mistake]
    with pytest.raises(kind, match=text):
        in_program(function, (4, 3))


@pytest.mark.parametrize("mistake", [name for name in MISTAKES if "branches" not in name])
def test_mistakes_are_refused_on_values(mistake: str) -> None:
    function, kind, text = MISTAKES[mistake]
    with pytest.raises(kind, match=text):
        function(tl.tensor(X))


def test_gradients_of_a_recorded_loop_without_a_bound_are_refused() -> None:
    def doubled(x: Any) -> Any:
        return F.while_loop(lambda c: c < 100.0, lambda c: c * 2, x)

    with pytest.raises(tl.AutodiffError, match=r"need a bound; .*; pass max_steps"):
        in_program(lambda x: tl.grad(doubled)(x), ())
    function = in_program(doubled, ())
    x = tl.tensor(3.0, dtype=tl.float64)
    assert tl.jvp(function, (x,), (x,))[1].item() == 192.0
    assert tl.grad(function)(x).item() == 64.0  # of values: the steps that there were
    nested = in_program(lambda x: F.cond(x > 0, doubled, F.sin, x), ())
    assert tl.grad(nested)(x).item() == 64.0


def test_what_runs_once_must_not_seem_to_run_each_time() -> None:
    total = tl.zeros((3,), dtype=tl.float64)

    def sets_outside(c: Any, row: Any) -> Any:
        total.set_value(total + row)
        return c, None

    with pytest.raises(tl.ArgumentError, match="must not set tensors of the outside"):
        in_program(lambda x: F.scan(sets_outside, 0.0, x)[0], (4, 3))
    assert total.tolist() == [0.0] * 3
    with pytest.raises(tl.ArgumentError, match="must not draw random numbers in a program"):
        in_program(lambda x: F.scan(lambda c, row: (c, F.dropout(row, 0.5)), 0.0, x)[1], (4, 3))


def test_programs_go_when_their_ops_do() -> None:
    import gc
    import weakref

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

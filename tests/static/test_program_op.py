"""A program as an op: in eager code, under transforms, in models that train, in programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.imperative.sub_programs import Call

RANDOM = np.random.default_rng(3)
X, W = tl.tensor(RANDOM.random((4, 3))), tl.tensor(RANDOM.random((3, 2)))


def plain(x: Any, w: Any) -> Any:
    return F.sum(F.tanh(F.matmul(F.concat([x, x * 2], axis=0), w)) ** 2)


def program(x: tuple[Any, ...] = (None, 3)) -> Any:
    with static.program_guard(static.Program()) as main:
        y = plain(static.data("x", x, "float64"), static.data("w", (3, 2), "float64"))
    return static.program_op(main, y)


def same(found: Any, wanted: Any) -> None:
    found, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, wanted))
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-9, atol=1e-12)


class Watched(tl.Carrier):
    """It notes the ops that it sees, and so do the results."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.seen: list[str] = []


@tl.apply.register
def apply_watched(op: tl.ops.OpBase, *xs: Watched) -> Any:
    xs[0].seen.append(str(getattr(op, "mode", type(op).__name__)))
    return tl.apply.super(op, *xs)


def of_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, w: F.sum(tl.grad(f)(x, w) ** 2) + F.sum(tl.grad(f, argnums=1)(x, w) ** 3)


TRANSFORMS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "value": lambda f: f,
    "gradient": lambda f: tl.grad(f, argnums=(0, 1)),
    "second gradient": lambda f: tl.grad(of_gradient(f), argnums=(0, 1)),
    "third gradient": lambda f: tl.grad(of_gradient(of_gradient(f))),
    "hessian": lambda f: tl.hessian(f),
    "tangent": lambda f: lambda x, w: tl.jvp(f, (x, w), (F.sin(x), w)),
    "examples": lambda f: lambda x, w: tl.vmap(f, in_axes=(0, None))(F.stack([x, x * 3], 0), w),
    "gradient of each example": lambda f: (
        lambda x, w: tl.vmap(tl.grad(f), in_axes=(0, None))(F.stack([x, x * 3], 0), w)
    ),
    "gradient over examples": lambda f: tl.grad(
        lambda x, w: F.sum(tl.vmap(f, in_axes=(0, None))(F.stack([x, x * 3], 0), w)), argnums=1
    ),
    "checkpoint": lambda f: tl.grad(tl.checkpoint(f), argnums=(0, 1)),
}


@pytest.mark.parametrize("sizes", [(4, 3), (None, 3)], ids=["known", "unknown"])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_it_is_the_function_that_it_recorded(transform: str, sizes: tuple[Any, ...]) -> None:
    same(TRANSFORMS[transform](program(sizes))(X, W), TRANSFORMS[transform](plain)(X, W))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_it_stands_in_another_program(transform: str) -> None:
    inner = program()
    with static.program_guard(static.Program()) as main:
        x = static.data("a", (4, 3), "float64")
        found = TRANSFORMS[transform](inner)(x, static.data("b", (3, 2), "float64"))
    same(static.program_op(main, found)(X, W), TRANSFORMS[transform](plain)(X, W))


def test_it_is_one_op_there_and_its_gradient_another() -> None:
    inner = program()
    listing = tl.Listing()
    x, w = listing.input("x", ("n", 3), "float64"), listing.input("w", (3, 2), "float64")
    _, slope = tl.value_and_grad(inner, argnums=1)(x, w)
    assert [type(op).__name__ for op in listing.ops] == ["_Traced", "Const", "Call"]
    outer = static.program_op(listing, slope)
    for rows in (1, 4, 0):
        same(outer(X[:rows], W), tl.grad(plain, argnums=1)(X[:rows], W))
    same(  # the program around is differentiated in turn
        tl.grad(lambda w: F.sum(outer(X, w) ** 2))(W),
        tl.grad(lambda w: F.sum(tl.grad(plain, argnums=1)(X, w) ** 2))(W),
    )


def test_gradients_do_not_run_the_forward_ops_again() -> None:
    with static.program_guard(static.Program()) as main:
        y = F.sum(F.exp(F.sin(static.data("x", (None,)))))
    x = Watched(tl.ones(3))
    tl.grad(static.program_op(main, y))(tl.Tensor(x))
    assert x.seen.count("exp") == x.seen.count("sin") == 1


def test_it_trains_in_the_middle_of_a_model() -> None:
    def steps(middle: Callable[[Any, Any], Any]) -> list[float]:
        first, last = tl.nn.Linear(3, 4, seed=0), tl.nn.Linear(2, 1, seed=1)
        weight = tl.tensor(RANDOM_WEIGHT, requires_grad=True)
        optimizer = tl.optim.SGD([*first.parameters(), *last.parameters(), weight], lr=0.1)
        losses = []
        for _ in range(4):
            loss = F.mean(last(middle(F.tanh(first(data)), weight)) ** 2)
            optimizer.minimize(loss)
            losses.append(loss.item())
        return losses

    RANDOM_WEIGHT = RANDOM.random((4, 2), dtype=np.float32)
    data = tl.tensor(RANDOM.random((5, 3), dtype=np.float32))
    with static.program_guard(static.Program()) as main:
        y = F.tanh(F.matmul(static.data("x", (None, 4)), static.data("w", (4, 2))))
    compiled = static.program_op(main, y)
    found, wanted = steps(compiled), steps(lambda x, w: F.tanh(F.matmul(x, w)))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert found[-1] < found[0]


def test_states_come_from_a_scope_or_from_the_call() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        y = tl.nn.Linear(3, 1, seed=0)(static.data("x", (None, 3)))
        total = F.sum(y)
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    function = static.program_op(main, {"rows": y, "sum": total}, scope)
    assert function.states == ("parameter_0", "parameter_1")
    data = np.ones((2, 3), dtype=np.float32)
    wanted = static.Executor().run(main, feed={"x": data}, fetch_list=[y, total], scope=scope)
    found = function(tl.tensor(data))
    same((found["rows"], found["sum"]), tuple(wanted))
    weight = tl.tensor(np.zeros((1, 3), dtype=np.float32))
    if scope.find_var("parameter_0").shape != (1, 3):
        weight = weight.T
    slope = tl.grad(lambda w: function(tl.tensor(data), parameter_0=w)["sum"])(weight)
    assert slope.tolist() == np.full(weight.shape, 2.0).tolist()
    with pytest.raises(tl.ArgumentError, match="takes by name the states of the program"):
        function(tl.tensor(data), weight=weight)
    with pytest.raises(tl.ArgumentError, match=r"must have a value in the scope, or be given"):
        static.program_op(main, y, static.Scope())(tl.tensor(data))


def test_a_step_that_changes_states_gives_what_they_become() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        loss = F.sum(tl.nn.Linear(2, 1, seed=0)(static.data("x", (2, 2))) ** 2)
        tl.optim.SGD(None, lr=0.1).minimize(loss)
    scope = static.Scope()
    exe = static.Executor()
    exe.run(startup, scope=scope)
    step = static.program_op(main, [loss, "parameter_0"], scope)
    before = scope.find_var("parameter_0").tolist()
    _, after = step(tl.ones((2, 2)))
    assert scope.find_var("parameter_0").tolist() == before  # an op changes nothing
    exe.run(main, feed={"x": np.ones((2, 2), np.float32)}, scope=scope)
    same(after, scope.find_var("parameter_0"))


def test_first_values_of_states_may_be_asked_for() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        first = F.full((2,), 3.0)
        static.keep(tl.Tensor(first), "kept")
    assert static.program_op(main, first, static.Scope())(kept=tl.zeros(2)).tolist() == [3.0, 3.0]


def test_random_numbers_are_the_same_forward_and_backward() -> None:
    with static.program_guard(static.Program()) as main:
        y = tl.nn.Dropout(0.5)(static.data("x", (1000,)))
    drop = static.program_op(main, y)
    x = tl.tensor(np.ones(1000, np.float32), requires_grad=True)
    first = drop(x)
    F.sum(first).backward()
    same(x.grad, first.detach())
    assert drop(x).detach().tolist() != first.detach().tolist()  # each call draws anew


def test_what_was_asked_of_sizes_holds_for_programs_around() -> None:
    listing = tl.Listing()
    x = listing.input("x", (None,))
    y = x * 2 if x.shape[0] > 2 else x * 3
    inner = static.program_op(listing, y)
    outer = tl.Listing()
    z = outer.input("z", (None,))
    around = static.program_op(outer, inner(z))
    inlined = tl.Listing()
    z = inlined.input("z", (None,))
    also = static.program_op(inlined, listing.run(y, z))
    for function in (inner, around, also):
        assert function(tl.ones(3)).tolist() == [2.0] * 3
        with pytest.raises(tl.ShapeError, match="as it was when the program was recorded"):
            function(tl.ones(1))


def test_a_program_may_grow_after_it_became_an_op() -> None:
    listing = tl.Listing()
    x = listing.input("x", (None,))
    first = static.program_op(listing, x * 2)
    second = static.program_op(listing, F.exp(x * 3))
    assert first(tl.ones(1)).tolist() == [2.0]
    np.testing.assert_allclose(second(tl.ones(1)).tolist(), [np.exp(3.0)], rtol=1e-6)


def test_a_carrier_sees_its_ops() -> None:
    x = Watched(X)
    program()(tl.Tensor(x), W)
    assert "tanh" in x.seen


def test_wrong_calls_are_refused() -> None:
    function = program()
    with pytest.raises(tl.ArgumentError, match=r"one value for each of its inputs, x, w; got 1"):
        function(X)
    with pytest.raises(tl.ShapeError, match=r"program: x must have the shape \(batch, 3\)"):
        function(W, W)
    with pytest.raises(tl.DTypeError, match=r"program: w must be float64; got float32"):
        function(X, tl.ones((3, 2)))
    with pytest.raises(tl.ArgumentError, match="there must be variables to give"):
        static.program_op(tl.Listing(), [])
    other = tl.Listing().input("x", (2,))
    with pytest.raises(tl.ArgumentError, match="must be variables of the program"):
        static.program_op(tl.Listing(), other)


@pytest.mark.parametrize("name", ["lazy", "async"])
def test_engines_give_the_same(name: str) -> None:
    wanted = tl.grad(program(), argnums=(0, 1))(X, W)
    with tl.engine.mode(name):
        same(tl.grad(program(), argnums=(0, 1))(X, W), wanted)


def test_programs_as_ops_are_equal_where_they_hold_the_same_constants() -> None:
    def made(constant: Any) -> Any:
        listing = tl.Listing()
        assert (tl.Tensor(listing.input("x", (2,), "float32")) * constant).shape == (2,)
        return Call(listing, [0], [listing.applied()[-1].outputs[0]])

    two, three = tl.tensor([2.0, 2.0]), tl.tensor([3.0, 3.0])
    for _ in range(20):  # numbers of objects that are gone come again
        assert made(two) == made(two)
        assert made(two) != made(three)

"""Functional transforms: what they give, how they nest, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C, AutodiffError, DispatchError, ParameterError, ShapeError, nn


@pytest.fixture(autouse=True)
def no_level_stays_open() -> Iterator[None]:
    def next_level() -> int:
        tape = _C.open_tape()
        tape.close()
        return tape.level

    before = next_level()
    yield
    assert next_level() == before


def close(found: Any, wanted: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=tolerance, atol=1e-8)


X = tl.tensor(np.array([0.3, -0.8, 1.7]))
M = tl.tensor(np.arange(9.0).reshape(3, 3) / 7 - 0.4)


def bend(x: Any) -> Any:
    """A function of three numbers that has all derivatives."""
    return tl.sum(tl.sin(M @ x) * tl.exp(x / 2)) + x[0] * x[1] ** 3


def derivative(f: Callable[..., Any]) -> Callable[..., Any]:
    """Forward mode, as a function of one number."""
    return lambda x: tl.jvp(f, (x,), (tl.ones_like(tl.asarray(x)),))[1]


# --- perturbation confusion (Siskind and Pearlmutter 2005, and what others added) ---

DERIVATIVES = [tl.grad, derivative]


@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_a_derivative_inside_does_not_see_the_one_outside(outer: Any, inner: Any) -> None:
    assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0).item() == 1.0
    assert outer(lambda x: x * inner(lambda y: x * y)(1.0))(2.0).item() == 4.0
    assert outer(lambda x: inner(lambda y: x * y * y)(x))(3.0).item() == 12.0
    assert inner(lambda x: outer(lambda y: x * y)(2.0) * x)(5.0).item() == 10.0


@pytest.mark.parametrize("transform", DERIVATIVES)
def test_a_function_that_returns_functions_keeps_levels_apart(transform: Any) -> None:
    def shifted(offset: Any) -> Callable[..., Any]:
        return lambda f: lambda x: f(x + offset)

    def twice(offset: Any) -> Any:
        shift = shifted(offset)
        return shift(shift(tl.exp))(1.0)

    close(transform(twice)(0.0), 2 * np.e)


@pytest.mark.parametrize("first", DERIVATIVES)
@pytest.mark.parametrize("second", DERIVATIVES)
@pytest.mark.parametrize("third", DERIVATIVES)
def test_third_derivatives_in_every_mixture(first: Any, second: Any, third: Any) -> None:
    f = third(second(first(lambda x: tl.sin(x) * x**2)))
    x = 0.7
    wanted = (6 - x**2) * np.cos(x) - 6 * x * np.sin(x)  # of x**2 sin(x), three times
    wanted = -(x**2) * np.cos(x) - 6 * x * np.sin(x) + 6 * np.cos(x)
    close(f(tl.tensor(np.float64(x))), wanted)


# --- how they fit together ---


def test_jacobians_agree_with_each_other_and_with_gradients() -> None:
    def f(x: Any) -> Any:
        return tl.tanh(M @ x) * x[0]

    forward, reverse = tl.jacfwd(f)(X), tl.jacrev(f)(X)
    close(forward, reverse)
    rows = [tl.grad(lambda x, i=i: f(x)[i])(X) for i in range(3)]
    close(forward, np.stack([np.asarray(row) for row in rows]))


def test_hessians_in_every_nesting() -> None:
    wanted = tl.jacfwd(tl.jacfwd(bend))(X)
    for outer in (tl.jacfwd, tl.jacrev):
        for inner in (tl.jacfwd, tl.jacrev, tl.grad):
            close(outer(inner(bend))(X), wanted)
    close(tl.hessian(bend)(X), wanted)
    v = tl.tensor(np.array([1.0, -2.0, 0.5]))
    close(tl.hvp(bend, (X,), (v,)), np.asarray(wanted) @ np.asarray(v))
    close(tl.jvp(tl.grad(bend), (X,), (v,))[1], np.asarray(wanted) @ np.asarray(v))
    close(tl.grad(lambda x: tl.jvp(bend, (x,), (v,))[1])(X), np.asarray(wanted) @ np.asarray(v))


def test_batched_derivatives_are_those_of_each_example() -> None:
    xs = tl.tensor(np.random.default_rng(0).normal(size=(4, 3)))
    for f in (tl.grad(bend), tl.hessian(bend), tl.jacfwd(tl.grad(bend))):
        close(tl.vmap(f)(xs), np.stack([np.asarray(f(x)) for x in xs]))
    ones = tl.ones_like(xs)
    pushed = tl.jvp(tl.vmap(bend), (xs,), (ones,))[1]
    close(pushed, tl.vmap(lambda x, t: tl.jvp(bend, (x,), (t,))[1])(xs, ones))
    total = tl.grad(lambda xs: tl.sum(tl.vmap(bend)(xs)))(xs)
    close(total, tl.vmap(tl.grad(bend))(xs))


def test_nested_batches_are_outer_products() -> None:
    a, b = tl.tensor([1.0, 2.0]), tl.tensor([3.0, 4.0, 5.0])
    outer = tl.vmap(lambda x: tl.vmap(lambda y: x * y)(b))(a)
    assert outer.tolist() == [[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]
    swapped = tl.vmap(tl.vmap(lambda x, y: x * y, in_axes=(None, 0)), in_axes=(0, None), out_axes=1)
    assert swapped(a, b).tolist() == [[3.0, 6.0], [4.0, 8.0], [5.0, 10.0]]


def test_a_linearised_function_is_used_many_times() -> None:
    value, push = tl.linearize(lambda x, y: {"a": M @ x * y, "b": y}, X, tl.tensor(np.float64(2.0)))
    close(value["a"], 2 * np.asarray(M) @ np.asarray(X))
    for seed in range(3):
        t = tl.tensor(np.random.default_rng(seed).normal(size=3))
        s = tl.tensor(np.float64(seed))
        wanted = tl.jvp(lambda x, y: {"a": M @ x * y, "b": y}, (X, tl.tensor(np.float64(2.0))),
                        (t, s))[1]  # fmt: skip
        found = push(t, s)
        close(found["a"], wanted["a"])
        close(found["b"], wanted["b"])


def test_mutation_inside_a_transform() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[0] = y[1] * y[2]
        y += x
        return tl.sum(y * y)

    def plain(x: Any) -> Any:
        y = tl.stack([x[1] * x[2], x[1], x[2]]) + x
        return tl.sum(y * y)

    for transform in (tl.grad, tl.hessian, tl.jacfwd):
        close(transform(f)(X), transform(plain)(X))
    xs = tl.stack([X, 2 * X])
    close(tl.vmap(f)(xs), tl.vmap(plain)(xs))


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Model:
    weights: dict[str, Any]
    scale: Any


def test_arguments_and_results_are_trees() -> None:
    model = Model({"a": X, "b": [X, M]}, 2.0)

    def f(model: Model) -> Pair:
        a, (b, m) = model.weights["a"], model.weights["b"]
        return Pair(tl.sum(m @ a * b) * model.scale, {"a": a})

    gradient = tl.grad(lambda model: f(model).left)(model)
    assert isinstance(gradient, Model)
    close(gradient.weights["b"][0], 2 * np.asarray(M) @ np.asarray(X))
    value, tangent = tl.jvp(f, (model,), (gradient,))
    assert isinstance(value, Pair)
    assert isinstance(tangent, Pair)
    squares = sum(
        float(np.sum(np.asarray(g) ** 2))
        for g in (gradient.weights["a"], *gradient.weights["b"], gradient.scale)
    )
    close(tangent.left, squares)
    jacobian = tl.jacrev(lambda model: {"y": f(model).right["a"]})(model)
    close(jacobian["y"].weights["a"], np.eye(3))
    many = {"x": tl.stack([X, X + 1]), "y": (tl.stack([X, X], axis=1), M)}
    mapped = tl.vmap(
        lambda t: Pair(t["x"] + t["y"][0], tl.sum(t["y"][1])),
        in_axes=({"x": 0, "y": (1, None)},),
        out_axes=Pair(-1, None),
    )(many)
    assert mapped.left.shape == (3, 2)
    close(mapped.right, np.sum(np.asarray(M)))


def test_gradients_by_a_layer_come_under_the_names_of_its_parameters() -> None:
    layer = nn.Linear(3, 2, seed=1)
    x = tl.tensor([[1.0, -1.0, 2.0]])
    held = layer.weight.__wrapped__
    value, gradient = tl.value_and_grad(lambda layer, x: tl.sum(layer(x) ** 2))(layer, x)
    assert sorted(gradient) == ["bias", "weight"]
    tl.sum(layer(x) ** 2).backward()
    close(gradient["weight"].detach(), layer.weight.grad)
    close(value.detach(), tl.sum(layer(x) ** 2).detach())
    assert layer.weight.requires_grad
    assert type(layer.weight.__wrapped__) is type(held)
    by_both = tl.grad(lambda x, layer: tl.sum(layer(x)), argnums=(1, 0))(x, layer)
    assert by_both[1].shape == x.shape
    assert by_both[0]["weight"].shape == (3, 2)


def test_stopped_gradients_are_constants_for_every_transform() -> None:
    f = lambda x: x * tl.stop_gradient(x * x)  # noqa: E731
    assert tl.grad(f)(3.0).item() == 9.0
    assert derivative(f)(3.0).item() == 9.0
    assert tl.vmap(tl.grad(f))(tl.tensor([3.0, 2.0])).tolist() == [9.0, 4.0]
    assert tl.grad(lambda x: tl.sum(tl.vmap(f)(x)))(tl.tensor([3.0, 2.0])).tolist() == [9.0, 4.0]
    assert tl.stop_gradient({"a": X, "b": "word"})["b"] == "word"
    with tl.no_grad():
        assert derivative(lambda x: x * x)(3.0).item() == 6.0  # begun inside

    def paused(x: Any) -> Any:
        with tl.no_grad():
            y = x * x
        return x * y

    assert derivative(paused)(3.0).item() == 9.0


def test_control_flow_on_values_that_are_the_same_for_all_examples() -> None:
    def f(x: Any, n: Any) -> Any:
        return x * 2 if n > 1 else x

    mapped = tl.vmap(f, in_axes=(0, None))
    assert mapped(tl.tensor([1.0, 2.0]), tl.tensor(2)).tolist() == [2.0, 4.0]
    with pytest.raises(DispatchError, match=r"vmap: inside, the elements .* use where"):
        tl.vmap(f)(tl.tensor([1.0, 2.0]), tl.tensor([2, 1]))
    # Where derivatives are taken the value decides.
    assert derivative(lambda x: x * x if x > 0 else -x)(3.0).item() == 6.0


def test_examples_draw_random_numbers_of_their_own() -> None:
    generator = tl.random.Generator(1)
    drawn = np.asarray(tl.vmap(lambda x: x + generator.normal(5))(tl.zeros(4)))
    assert drawn.shape == (4, 5)
    assert len(np.unique(drawn)) == 20
    nested = tl.vmap(lambda x: tl.vmap(lambda y: x + y + tl.random.key(3).uniform())(tl.zeros(3)))(
        tl.zeros(2)
    )
    assert len(np.unique(np.asarray(nested))) == 6
    masks = np.asarray(tl.vmap(nn.Dropout(0.5))(tl.ones((8, 16))))
    assert len(np.unique(masks, axis=0)) == 8
    gammas = tl.vmap(lambda _: generator.gamma(2.0))(tl.zeros(4))
    assert len(np.unique(np.asarray(gammas))) == 4
    # A Jacobian is of one function, whose numbers are drawn once.
    noisy = lambda x: x * generator.normal(3)  # noqa: E731
    jacobian = np.asarray(tl.jacrev(noisy)(tl.ones(3)))
    assert np.count_nonzero(jacobian) == 3
    columns = np.asarray(tl.jacfwd(lambda x: x * tl.random.key(1).normal(3))(tl.ones(3)))
    close(np.diag(columns), tl.random.key(1).normal(3))


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "sizes": (lambda: tl.vmap(lambda x, y: x + y)(tl.ones(2), tl.ones(3)), ShapeError,
              r"vmap: all arguments must have the same number of examples; got \[2, 3\]"),
    "no axis": (lambda: tl.vmap(tl.sin)(1.0), ShapeError,
                r"vmap: an argument must have the axis 0 of examples; got shape \(\)"),
    "no size": (lambda: tl.vmap(lambda x: x, in_axes=None)(1.0), ParameterError,
                "vmap: the number of examples must be known"),
    "axis size": (lambda: tl.vmap(tl.sin, axis_size=3)(tl.ones(2)), ShapeError,
                  r"same number of examples; got \[2, 3\]"),
    "in_axes": (lambda: tl.vmap(lambda x, y: x, in_axes=(0,))(tl.ones(2), tl.ones(2)),
                ParameterError, "vmap: in_axes must be one value, or values arranged as"),
    "in_axes word": (lambda: tl.vmap(tl.sin, in_axes="a")(tl.ones(2)), ParameterError,
                     "vmap: in_axes must be integers or None; got 'a'"),
    "out_axes": (lambda: tl.vmap(tl.sin, out_axes=1)(tl.ones(2)), ParameterError,
                 "vmap: out_axes must be integers within the 1 axes"),
    "out_axes None": (lambda: tl.vmap(tl.sin, out_axes=None)(tl.ones(2)), ParameterError,
                      "vmap: out_axes may be None only for what is the same"),
    "one example's error": (lambda: tl.vmap(lambda x, y: x @ y)(tl.ones((4, 2)), tl.ones((4, 3))),
                            ShapeError, r"a\.shape=\(2,\), b\.shape=\(3,\)"),
    "one example's axis": (lambda: tl.vmap(lambda x: tl.sum(x, axis=-2))(tl.ones((4, 2))),
                           (ShapeError, IndexError), r"sum: axis must be in .* got axis=-2"),
    "softmax of an axis": (lambda: tl.vmap(lambda x: tl.functional.softmax(x, axis=1))(
        tl.ones((4, 2))), (ShapeError, IndexError), r"Softmax: axis must be in .* got axis=1"),
    "unique": (lambda: tl.vmap(tl.unique_values)(tl.ones((4, 2))), ShapeError,
               "Unique: under vmap the shape of the result must not depend"),
    "tangent's shape": (lambda: tl.jvp(tl.sin, (tl.ones(2),), (tl.ones(3),)), ShapeError,
                        r"jvp: a tangent must have the shape \(2,\) of its argument; got \(3,\)"),
    "tangents": (lambda: tl.jvp(tl.sin, (tl.ones(2),), ()), AutodiffError,
                 "jvp: one tangent per argument is needed; got 0 for 1"),
    "no tuple": (lambda: tl.jvp(tl.sin, tl.ones(2), tl.ones(2)), AutodiffError,
                 "jvp: primals and tangents must be tuples"),
    "integers": (lambda: tl.jvp(lambda x: x, (tl.tensor(2),), (tl.tensor(1),)), AutodiffError,
                 "jvp: only floating-point arguments can move; got int64"),
    "tree": (lambda: tl.jvp(lambda x: x["a"], ({"a": X, "b": X},), ({"a": X},)), AutodiffError,
             "jvp: tangents must be arranged as .*, a dict of 2; got a dict of 1; pass None"),
    "argnums": (lambda: tl.jacfwd(bend, argnums=1)(X), AutodiffError,
                "jacfwd: argnums must name positional arguments; got 1 for 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_are_refused_in_words(name: str) -> None:
    run, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        run()


def test_what_is_kept_from_inside_is_refused_outside() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x * 2.0

    derivative(keep)(1.0)
    tl.vmap(keep)(tl.ones(2))
    for x in kept:
        with pytest.raises(AutodiffError, match="must not outlive the transform"):
            tl.sin(x)


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, Interrupted])
def test_an_exception_inside_leaves_nothing_open(error: type[BaseException]) -> None:
    def fail(x: Any) -> Any:
        raise error

    for run in (
        lambda: tl.grad(fail)(1.0),
        lambda: derivative(fail)(1.0),
        lambda: tl.vmap(fail)(tl.ones(2)),
        lambda: tl.hessian(lambda x: tl.vmap(fail)(x))(X),
        lambda: tl.linearize(fail, 1.0),
        lambda: tl.grad(tl.checkpoint(fail))(1.0),
    ):
        with pytest.raises(error):
            run()
    assert np.asarray(tl.random.Generator(0).normal(3)).shape == (3,)


def test_numpy_does_not_drop_tangents_or_examples() -> None:
    with pytest.raises(AutodiffError, match="which NumPy would silently drop"):
        derivative(lambda x: tl.tensor(np.asarray(x)))(1.0)
    with pytest.raises(DispatchError, match="vmap"):
        tl.vmap(lambda x: np.asarray(x))(tl.ones(2))

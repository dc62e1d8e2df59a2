"""Random nestings of transforms over functions of layers and trees, against differences and loops.

Every transform is used as a way from one number-valued function of a tree to another: its
derivative along a fixed direction, the sum over examples, or the same function in another guise.
What a nesting gives is held against central differences of, or a loop over, what the inner
transforms give. All is in float64.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.long_runs import seeds

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import nn

Function = Callable[[Any], Any]
SCALARS: list[Function] = [F.tanh, F.sin, F.sigmoid, lambda x: F.exp(-x * x), lambda x: x * x]


class Problem:
    """A function of a tree with layers, one of which stands twice, and a direction to move it."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        layer = self.double(nn.Linear(2, 2, activation="tanh"))
        norm = self.double(nn.LayerNorm(2, eps=1.0))
        self.tree = {
            "net": [layer, {"again": layer, "norm": norm}],
            "x": self.numbers(3, 2),
            "k": tl.tensor(np.float64(0.75)),
            "half": 0.5,
            "name": "word",
            "power": 2,
            "labels": tl.tensor([1, 0, 1]),
        }
        self.direction = {
            "net": [
                {name: self.numbers(*p.shape) for name, p in layer.named_parameters()},
                {
                    "again": {},
                    "norm": {n: self.numbers(*p.shape) for n, p in norm.named_parameters()},
                },
            ],
            "x": self.numbers(3, 2),
            "k": tl.tensor(np.float64(0.5)),
            "half": None,
            "name": None,
            "power": None,
            "labels": None,
        }
        self.batch = self.numbers(2, 3, 2)
        self.scalars = [SCALARS[i] for i in self.rng.integers(len(SCALARS), size=3)]

    def numbers(self, *shape: int) -> Any:
        return tl.tensor(self.rng.normal(size=shape))

    def double(self, layer: Any) -> Any:
        for parameter in layer.parameters():
            parameter._reset(tl.Parameter(self.rng.normal(size=parameter.shape)))
        return layer

    def function(self, tree: Any) -> Any:
        first, rest = tree["net"]
        inner, outer, last = self.scalars
        y = rest["norm"](first(inner(tree["x"]))) + tree["k"] * tree["x"][tree["labels"]]
        y = rest["again"](outer(y)) * len(tree["name"])
        return F.mean(last(y) ** tree["power"]) * F.cos(tree["k"] * tree["half"])

    def moved(self, step: float) -> Any:
        """The tree at a step along the direction; its layers are others."""
        tree = copy.deepcopy(self.tree)
        layers = [tree["net"][0], tree["net"][1]["norm"]]  # type: ignore[index]
        slopes = [self.direction["net"][0], self.direction["net"][1]["norm"]]  # type: ignore[index]
        for layer, slope in zip(layers, slopes, strict=True):
            for name, parameter in layer.named_parameters():
                values = parameter.detach() + step * slope[name]
                parameter._reset(tl.Parameter(values))
        tree["x"] = tree["x"] + step * self.direction["x"]
        tree["k"] = tree["k"] + step * self.direction["k"]
        return tree


def dot(gradient: Any, direction: Any) -> Any:
    """The sum of products of what stands in the same places."""
    if direction is None:
        return 0.0
    if isinstance(direction, dict):
        return sum(dot(gradient[name], part) for name, part in direction.items())
    if isinstance(direction, (list, tuple)):
        return sum(dot(g, d) for g, d in zip(gradient, direction, strict=True))
    return F.sum(gradient * direction)


def quadratic(rows: Any, left: Any, right: Any) -> Any:
    """A Hessian between two directions."""
    if left is None:
        return 0.0
    if isinstance(left, dict):
        return sum(quadratic(rows[name], part, right) for name, part in left.items())
    if isinstance(left, (list, tuple)):
        return sum(quadratic(r, part, right) for r, part in zip(rows, left, strict=True))
    return F.sum(along(rows, right, left.ndim) * left)


def along(row: Any, direction: Any, first: int) -> Any:
    """Blocks times a direction, of which each block has the axes from `first` on."""
    if direction is None:
        return 0.0
    if isinstance(direction, dict):
        return sum(along(row[name], part, first) for name, part in direction.items())
    if isinstance(direction, (list, tuple)):
        return sum(along(r, part, first) for r, part in zip(row, direction, strict=True))
    return F.sum(row * direction, axis=tuple(range(first, row.ndim)))


def as_custom_vjp(f: Function) -> Function:
    wrapped = tl.custom_vjp(f)
    wrapped.defvjp(lambda t: (f(t), t), lambda t, dy: tl.vjp(f, t)[1](dy))
    return wrapped


def as_custom_jvp(f: Function) -> Function:
    wrapped = tl.custom_jvp(f)
    wrapped.defjvp(lambda primals, tangents: tl.jvp(f, primals, tangents))
    return wrapped


def through_state(f: Function, tree: Any) -> Any:
    """Its first layer called with twice its state, and that state divided by two."""

    class Whole(nn.Layer):
        def __init__(self) -> None:
            self.layer = tree["net"][0]

        def forward(self) -> Any:
            return f(tree)

    whole = Whole()
    state = {name: p * 2.0 / 2.0 for name, p in whole.named_parameters()}
    return nn.functional_call(whole, state)


# Derivatives along the direction d, and the same function in another guise.
DERIVATIVES: dict[str, Callable[[Function, Any], Function]] = {
    "grad": lambda f, d: lambda t: dot(tl.grad(f)(t), d),
    "value_and_grad": lambda f, d: lambda t: dot(tl.value_and_grad(f)(t)[1], d),
    "vjp": lambda f, d: lambda t: dot(tl.vjp(f, t)[1](tl.tensor(np.float64(1.0)))[0], d),
    "jvp": lambda f, d: lambda t: tl.jvp(f, (t,), (d,))[1],
    "linearize": lambda f, d: lambda t: tl.linearize(f, t)[1](d),
    "jacrev": lambda f, d: lambda t: dot(tl.jacrev(f)(t), d),
    "jacfwd": lambda f, d: lambda t: dot(tl.jacfwd(f)(t), d),
}
SECOND: dict[str, Callable[[Function, Any], Function]] = {
    "hvp": lambda f, d: lambda t: dot(tl.hvp(f, (t,), (d,)), d),
    "jvp of grad": lambda f, d: lambda t: dot(tl.jvp(tl.grad(f), (t,), (d,))[1], d),
    "hessian": lambda f, d: lambda t: quadratic(tl.hessian(f)(t), d, d),
}
SAME: dict[str, Callable[[Function], Function]] = {
    "checkpoint": tl.checkpoint,
    "custom_vjp": as_custom_vjp,
    "custom_jvp": as_custom_jvp,
    "functional_call": lambda f: lambda t: through_state(f, t),
}


def over_examples(f: Function, batch: Any) -> Function:
    axes = {
        "net": None,
        "x": 0,
        "k": None,
        "half": None,
        "name": None,
        "power": None,
        "labels": None,
    }
    mapped = tl.vmap(f, in_axes=(axes,))
    return lambda t: F.sum(mapped({**t, "x": batch * F.sum(t["x"])}))


def one_by_one(f: Function, batch: Any) -> Function:
    return lambda t: sum(f({**t, "x": batch[i] * F.sum(t["x"])}) for i in range(2))


def number(f: Function, tree: Any) -> float:
    return float(f(tree).detach())


def difference(f: Function, problem: Problem, is_second: bool, tolerance: float) -> float:
    """The first or second difference along the direction, of fourth order.

    The step is halved until that changes little: how far a function is smooth, only it knows.
    """
    found, step = float("nan"), 1e-3 if is_second else 3e-4
    for _ in range(5):
        a, b, now, y, z = (number(f, problem.moved(i * step)) for i in (-2, -1, 0, 1, 2))
        before = found
        if is_second:
            found = (16 * (y + b) - 30 * now - (z + a)) / (12 * step**2)
        else:
            found = (8 * (y - b) - (z - a)) / (12 * step)
        if abs(found - before) < tolerance * max(1.0, abs(found), abs(now)):
            break
        step /= 2
    return found


def check(names: tuple[str, ...], problem: Problem) -> None:
    """A nesting, the innermost first: each transform against a reference from the ones inside."""
    f, d = problem.function, problem.direction
    tree, tolerance = problem.tree, 1e-6
    held = [p.tolist() for p in tree["net"][0].parameters()]  # type: ignore[index]
    for name in names:
        if name in SAME:
            made, wanted = SAME[name](f), number(f, tree)
        elif name == "vmap":
            made = over_examples(f, problem.batch)
            wanted = number(one_by_one(f, problem.batch), tree)
        else:
            is_second = name in SECOND
            made = (SECOND if is_second else DERIVATIVES)[name](f, d)
            tolerance = max(tolerance, 1e-5) if is_second else tolerance
            wanted = difference(f, problem, is_second, tolerance)
        scale = max(1.0, abs(wanted), abs(number(f, tree)))
        assert abs(number(made, tree) - wanted) < tolerance * scale * 10, (name, names)
        f = made
    assert [p.tolist() for p in tree["net"][0].parameters()] == held  # type: ignore[index]


NAMES = [*DERIVATIVES, *SECOND, *SAME, "vmap"]


@pytest.mark.parametrize("outer", NAMES)
def test_two_transforms_nest_over_layers_and_trees(outer: str) -> None:
    for i, inner in enumerate(NAMES):
        if inner not in SECOND or outer not in SECOND:
            check((inner, outer), Problem(i))


def test_steep_functions_are_held_against_differences_of_small_steps() -> None:
    """Which the first step of the differences misses by two parts in a thousand."""
    check(("value_and_grad", "hvp", "jvp"), Problem(955))


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_random_nestings_of_transforms() -> None:
    for seed in seeds(3600):
        rng = np.random.default_rng([seed, 11])
        depth = int(rng.integers(2, 4))
        names = tuple(NAMES[i] for i in rng.integers(len(NAMES), size=depth))
        if sum(name in SECOND for name in names) < 2:
            check(names, Problem(seed))

"""Functions that mix variables of several transforms, and leaves made inside of them.

Each level of a random nesting brings a variable of its own, whose place depends on those of the
levels outside, and differentiates by it, or maps over it, a random expression of all variables.
The reference computes the same in numbers with infinitesimal parts, one for each level, whose
squares are zero: how they combine is exact in float64, and knows no tensors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.long_runs import seeds

import tensorlike as tl
from tensorlike import functional as F

COUNT = 2  # elements of a variable
NAMES = ("jvp", "grad", "vjp", "linearize", "vmap", "leaf", "Grad", "autograd.grad")


class Jet:
    """A vector with infinitesimal parts: coefficients by the set of levels that they go with."""

    def __init__(self, parts: dict[frozenset[int], Any]) -> None:
        self.parts = parts

    def __add__(self, other: Any) -> Jet:
        return self.joined(other if isinstance(other, Jet) else Jet({frozenset(): other}))

    def joined(self, other: Jet) -> Jet:
        keys = self.parts.keys() | other.parts.keys()
        return Jet({k: self.parts.get(k, 0.0) + other.parts.get(k, 0.0) for k in keys})

    def __mul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet({k: v * other for k, v in self.parts.items()})
        parts: dict[frozenset[int], Any] = {}
        for (a, x), (b, y) in itertools.product(self.parts.items(), other.parts.items()):
            if not a & b:
                parts[a | b] = parts.get(a | b, 0.0) + x * y
        return Jet(parts)

    def mapped(self, derivative: Callable[[Any, int], Any]) -> Jet:
        """A function by its Taylor series, which ends: `derivative(x, k)` is the k-th one."""
        at = self.parts.get(frozenset(), 0.0)
        rest = Jet({k: v for k, v in self.parts.items() if k})
        total, power = Jet({frozenset(): derivative(at, 0)}), Jet({frozenset(): 1.0})
        for k in range(1, 8):
            power = power * rest
            total = total + power * (derivative(at, k) / math.factorial(k))
        return total

    def summed(self) -> Jet:
        return Jet({k: np.sum(np.broadcast_to(v, COUNT)) for k, v in self.parts.items()})

    def slope(self, level: int) -> Jet:
        """What goes with the infinitesimal of this level."""
        return Jet({k - {level}: v for k, v in self.parts.items() if level in k})


def sin_jet(x: Jet) -> Jet:
    return x.mapped(lambda v, k: np.sin(v + k * np.pi / 2))


class Expression:
    """A random function of all variables, in tensors or in jets."""

    def __init__(self, rng: np.random.Generator, count: int) -> None:
        self.weights = rng.normal(size=(3, count, COUNT)) * 0.5
        self.order = [int(i) for i in rng.permutation(count)]

    def __call__(self, xs: list[Any], sin: Any) -> Any:
        """Elementwise: the sine of a sum times another sum, and of a product times a third.

        Sines keep it small: a product that grew from level to level to 1e13 would leave its sine,
        of whoever computes it, no digit that is right.
        """
        first, second, third = (self.total(xs, w) for w in self.weights)
        return sin(first) * second + third * sin(xs[self.order[0]] * xs[self.order[-1]])

    def total(self, xs: list[Any], weights: Any) -> Any:
        terms = [xs[i] * tl_or_jet(xs[i], weights[i]) for i in self.order]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total


def tl_or_jet(x: Any, weights: Any) -> Any:
    return weights if isinstance(x, Jet) else tl.tensor(weights)


class Nesting:
    """Transforms, the outermost first, each over an expression of its own and what is inside."""

    def __init__(self, names: tuple[str, ...], seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.names = names
        self.count = 1 + len(names)
        self.places = [Expression(rng, i + 1) for i in range(len(names))]
        self.inside = [Expression(rng, i + 2) for i in range(len(names))]
        self.directions = rng.normal(size=(self.count, COUNT))
        self.batches = rng.normal(size=(len(names), 2, COUNT))

    def tensors(self, i: int, xs: list[Any]) -> Any:
        """The number that the levels from `i` on give, of the variables outside."""
        if i == len(self.names):
            return 0.0
        where = self.places[i](xs, F.sin)
        return through(self, i, where, lambda x: self.value(i, [*xs, x]))

    def value(self, i: int, xs: list[Any]) -> Any:
        return F.sum(self.inside[i](xs, F.sin)) + self.tensors(i + 1, xs)

    def jets(self, i: int, xs: list[Jet]) -> Jet:
        if i == len(self.names):
            return Jet({})
        where = self.places[i](xs, sin_jet)

        def value(x: Jet) -> Jet:
            inner = [*xs, x]
            return self.inside[i](inner, sin_jet).summed() + self.jets(i + 1, inner)

        if self.names[i] == "vmap":
            return value(where + self.batches[i][0]) + value(where + self.batches[i][1])
        if self.names[i] == "leaf":
            return value(where)
        return value(where + Jet({frozenset({i + 1}): self.directions[i + 1]})).slope(i + 1)


def through(nesting: Nesting, i: int, x: Any, f: Callable[[Any], Any]) -> Any:
    """What one transform makes of a function at x: a number."""
    name, d = nesting.names[i], tl.tensor(nesting.directions[i + 1])
    if name == "jvp":
        return tl.jvp(f, (x,), (d,))[1]
    if name == "grad":
        return F.sum(tl.grad(f)(x) * d)
    if name == "vjp":
        return F.sum(tl.vjp(f, x)[1](tl.tensor(np.float64(1.0)))[0] * d)
    if name == "linearize":
        return tl.linearize(f, x)[1](d)
    if name == "vmap":
        return F.sum(tl.vmap(f)(F.stack([x + tl.tensor(b) for b in nesting.batches[i]])))
    x = x * 1.0
    if not x.requires_grad:
        x.requires_grad = True
    if name == "leaf":
        return f(x)
    if name == "autograd.grad":
        return F.sum(tl.autograd.grad(f(x), x, create_graph=True)[0] * d)
    found: list[Any] = []
    g = tl.Grad().wrt(x, callback=lambda _, dx: found.append(dx))
    outer = tl.Grad().wrt(x, callback=lambda *_: None)  # the gradient is to be recorded
    g(f(x))
    del outer
    return F.sum(found[0] * d)


OUTERMOST = ("backward", "grad", "jvp", "autograd.grad")


def slope_of(nesting: Nesting, how: str, start: Any, d: Any) -> float:
    """The derivative of the whole by the outermost variable, along d."""

    def f(x: Any) -> Any:
        return nesting.tensors(0, [x])

    x = tl.tensor(start)
    if how == "jvp":
        return float(tl.jvp(f, (x,), (tl.tensor(d),))[1])
    if how == "grad":
        return float(F.sum(tl.grad(f)(x) * tl.tensor(d)))
    x.requires_grad = True
    if how == "autograd.grad":
        return float(F.sum(tl.autograd.grad(f(x), x)[0] * tl.tensor(d)))
    f(x).backward()
    return float(F.sum(x.grad * tl.tensor(d)))


def check(names: tuple[str, ...], how: str, seed: int) -> None:
    nesting = Nesting(names, seed)
    start, d = np.random.default_rng([seed, 1]).normal(size=(2, COUNT))
    moved = Jet({frozenset(): start, frozenset({0}): d})
    wanted = float(nesting.jets(0, [moved]).slope(0).parts.get(frozenset(), 0.0))
    got = slope_of(nesting, how, start, d)
    assert abs(got - wanted) < 1e-9 * max(1.0, abs(wanted)), (names, how, seed, got, wanted)


@pytest.mark.parametrize("how", OUTERMOST)
@pytest.mark.parametrize("outer", NAMES)
def test_variables_of_two_levels_mix(outer: str, how: str) -> None:
    for seed, inner in enumerate(NAMES):
        check((outer, inner), how, seed)


def test_a_deep_nesting_stays_well_conditioned() -> None:
    check(("leaf", "vmap", "vjp", "jvp"), "grad", 5_000_137)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_variables_of_several_levels_mix() -> None:
    for seed in seeds(1800):
        rng = np.random.default_rng([seed, 2])
        names = tuple(NAMES[i] for i in rng.integers(len(NAMES), size=int(rng.integers(2, 5))))
        check(names, OUTERMOST[seed % len(OUTERMOST)], seed)

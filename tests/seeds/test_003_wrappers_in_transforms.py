"""Rows W1 to W13, the mutable wrapper, under every transform: what is assigned is what is derived.

Each body mutates; beside it stands the same function without mutation. Every transform of the one
must be that of the other.
"""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.mutations import BODIES

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import Tensor, TensorWrapper

Function = Callable[[Any], Any]
X = tl.tensor(np.array([0.5, 1.5, 2.0, 3.0]))
T = tl.tensor(np.array([1.0, -2.0, 0.5, 3.0]))
XS = tl.stack([X, 2 * X, X + 1])


def total(f: Function) -> Function:
    return lambda x: tl.sum(f(x) * tl.arange(1.0, 1.0 + f(x).size).reshape(f(x).shape))


def by_custom_vjp(f: Function) -> Function:
    """The body inside of a function with a gradient of its own, which is that of the body."""

    @tl.custom_vjp
    def called(x: Any) -> Any:
        return f(x)

    called.defvjp(lambda x: (f(x), x), lambda x, dy: tl.vjp(f, x)[1](dy))
    return tl.grad(total(called))


def by_custom_jvp(f: Function) -> Function:
    @tl.custom_jvp
    def called(x: Any) -> Any:
        return f(x)

    called.defjvp(lambda xs, dxs: tl.jvp(f, xs, dxs))
    return tl.grad(total(called))


def by_listing(f: Function) -> Function:
    def run(x: Any) -> Any:
        listing = tl.Listing()
        result = f(Tensor(listing.input("x", x.shape, x.dtype)))
        return listing.run(result, x)

    return run


TRANSFORMS: dict[str, Callable[[Function], Any]] = {
    "none": lambda f: f(X),
    "grad": lambda f: tl.grad(total(f))(X),
    "backward": lambda f: backward(f),
    "vjp": lambda f: tl.vjp(f, X)[1](f(X) * 0 + 1)[0],
    "jvp": lambda f: tl.jvp(f, (X,), (T,)),
    "linearize": lambda f: tl.linearize(f, X)[1](T),
    "vmap": lambda f: tl.vmap(f)(XS),
    "vmap of grad": lambda f: tl.vmap(tl.grad(total(f)))(XS),
    "grad of vmap": lambda f: tl.grad(total(tl.vmap(f)))(XS),
    "jvp of grad": lambda f: tl.jvp(tl.grad(total(f)), (X,), (T,)),
    "grad of grad": lambda f: tl.grad(lambda x: tl.sum(tl.grad(total(f))(x) ** 2))(X),
    "jacfwd of jacrev": lambda f: tl.jacfwd(tl.jacrev(f))(X),
    "checkpoint": lambda f: tl.grad(total(tl.checkpoint(f)))(X),
    "custom_vjp": lambda f: by_custom_vjp(f)(X),
    "custom_jvp": lambda f: by_custom_jvp(f)(X),
    "Listing": lambda f: by_listing(f)(X),
    "lazy": lambda f: in_lazy_mode(f),
}


def backward(f: Function) -> Any:
    x = Tensor(X, requires_grad=True)
    total(f)(x).backward()
    return x.grad


def in_lazy_mode(f: Function) -> Any:
    with tl.engine.mode("lazy", threshold=1):
        return tl.tensor(np.asarray(f(X)))


def leaves(tree: Any) -> list[Any]:
    return [y for part in tree for y in leaves(part)] if isinstance(tree, tuple) else [tree]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("body", BODIES)
def test_W2_W3_mutation_under_a_transform_is_that_of_the_same_without(
    body: str, transform: str
) -> None:
    mutating, pure = BODIES[body]
    before = np.array(X)
    found, wanted = TRANSFORMS[transform](mutating), TRANSFORMS[transform](pure)
    for y, right in zip(leaves(found), leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(y), np.asarray(right), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.asarray(X), before)  # W1: what it was given is untouched


@pytest.mark.parametrize("transform", [name for name in TRANSFORMS if name != "lazy"])
def test_W3_an_argument_that_is_changed_within_is_not_changed_outside(transform: str) -> None:
    def greedy(x: Any) -> Any:
        x = x.alias()
        x[0] = 100.0
        x *= 2
        return x

    before = np.array(X)
    TRANSFORMS[transform](greedy)
    np.testing.assert_array_equal(np.asarray(X), before)


BITS = {"ior": operator.ior, "iand": operator.iand, "ixor": operator.ixor}
SHIFTS = {"ilshift": operator.ilshift, "irshift": operator.irshift}


@pytest.mark.parametrize("transform", ["none", "grad", "jvp", "vmap", "checkpoint", "Listing"])
@pytest.mark.parametrize("name", [*BITS, *SHIFTS])
def test_W2_integers_change_in_place_beside_what_is_differentiated(
    name: str, transform: str
) -> None:
    def body(x: Any) -> Any:
        n = tl.astype(tl.stop_gradient(x) * 3, tl.int64)
        n = {**BITS, **SHIFTS}[name](n, 2)
        return x * tl.astype(n, x.dtype)

    def pure(x: Any) -> Any:
        plain = getattr(operator, {"ior": "or_", "iand": "and_"}.get(name, name[1:]))
        n = plain(tl.astype(tl.stop_gradient(x) * 3, tl.int64), 2)
        return x * tl.astype(n, x.dtype)

    found, wanted = TRANSFORMS[transform](body), TRANSFORMS[transform](pure)
    for y, right in zip(leaves(found), leaves(wanted), strict=True):
        assert np.array_equal(np.asarray(y), np.asarray(right))


class MyTensor(Tensor):
    """A wrapper of a user."""


@pytest.mark.parametrize("cls", [Tensor, MyTensor])
@pytest.mark.parametrize("transform", [name for name in TRANSFORMS if name != "lazy"])
def test_W4_a_subclass_survives_inside_of_transforms(transform: str, cls: type[Tensor]) -> None:
    seen: list[type] = []

    def body(x: Any) -> Any:
        y = cls(x.__wrapped__)
        z = y * 2 + 1
        z[0] = y[1]
        z += y
        seen.append(type(z))
        return Tensor(z.__wrapped__)

    def pure(x: Any) -> Any:
        return tl.concat([(x[1] + x[0]).reshape(1), (x * 3 + 1)[1:]])

    found, wanted = TRANSFORMS[transform](body), TRANSFORMS[transform](pure)
    for y, right in zip(leaves(found), leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(y), np.asarray(right), rtol=1e-12)
    assert set(seen) == {cls}


def test_W4_the_bare_wrapper_goes_around_tracers_duals_and_batches() -> None:
    kinds = []

    def body(x: Any) -> Any:
        y = TensorWrapper(x.__wrapped__)
        y += y
        kinds.append(type(y.__wrapped__).__name__)
        return Tensor(y.__wrapped__)

    tl.grad(total(body))(X)
    tl.jvp(body, (X,), (T,))
    tl.vmap(body)(XS)
    by_listing(body)(X)
    assert set(kinds) == {"Tracer", "Dual", "Batched", "SymbolicTensor"}


OPERATORS: dict[str, Function] = {
    "W5 arithmetic": lambda x: (2 - x) * x / (1 + x) + x**2 - (3**x) + (-x) + abs(x),
    "W5 floor and remainder": lambda x: (x // 0.7) + (x % 0.7) + (5 // x) + (5 % x),
    "W5 matmul": lambda x: tl.stack([x @ x, x @ (x * 2)]),
    "W5 methods": lambda x: tl.stack(
        [x.sum(), x.prod(), x.max(), x.min(), x.mean(), x.T.sum(), x.flatten().sum()]
    ),
    "W5 shapes": lambda x: x.reshape(2, -1).transpose().flatten(),
    "W5 rounding": lambda x: x * round(x) + x.__floor__() + x.__ceil__(),
    "W5 iteration and length": lambda x: tl.stack([len(x) * row for row in x]),
    "W6 logic": lambda x: tl.where(~((x > 1) & (x < 2.5)) | (x == 1.5), x, x * x),
    "W7 dtypes": lambda x: x * (tl.tensor([1, 2, 3, 4]) / 2).astype(tl.float64),
    "W8 scalars keep the width": lambda x: (x.astype(tl.float32) * 2.5 + 1).astype(tl.float64),
    "W10 NumPy on the left": lambda x: np.ones(4) * x + np.add(x, np.arange(4.0)),
    "W11 to a device": lambda x: x.to("cpu") * x.to_device("cpu"),
    "W13 indexing and literals": lambda x: (x[None, :, None] * [[1.0, 2.0]])[0, ::-1, -1],
}


@pytest.mark.parametrize("name", OPERATORS)
def test_W5_to_W13_operators_have_the_derivatives_of_finite_differences(name: str) -> None:
    f = OPERATORS[name]
    point = np.array([0.57, 1.43, 2.21, 3.17])  # where no function jumps
    step = 1e-2 if name == "W8 scalars keep the width" else 1e-6  # linear, in float32
    columns = []
    for i in range(4):
        e = np.zeros(4)
        e[i] = step
        ends = [np.asarray(f(tl.tensor(point + s * e))) for s in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * step))
    wanted = np.stack(columns, axis=-1)
    tolerance = {"rtol": 1e-4, "atol": 1e-5}
    for jacobian in (tl.jacrev, tl.jacfwd):
        np.testing.assert_allclose(np.asarray(jacobian(f)(tl.tensor(point))), wanted, **tolerance)
    mapped = np.asarray(tl.vmap(f)(XS))
    np.testing.assert_allclose(mapped, np.stack([np.asarray(f(x)) for x in XS]), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(by_listing(f)(X)), np.asarray(f(X)), rtol=1e-12)


def test_W7_W8_dtypes_are_the_same_inside_of_transforms() -> None:
    found: dict[str, list[Any]] = {}

    def body(x: Any) -> Any:
        ints = tl.astype(tl.stop_gradient(x), tl.int32)
        narrow = x.astype(tl.float32)
        results = (ints / 2, tl.mean(ints), tl.sum(ints > 0), narrow * 2.5, narrow + x, ints * 1.5)
        found.setdefault("all", []).append([y.dtype.name for y in results])
        return x * 1.0

    for transform in ("none", "grad", "jvp", "vmap", "checkpoint", "Listing"):
        TRANSFORMS[transform](body)
    expected = ["float32", "float32", "int64", "float32", "float64", "float32"]
    assert all(dtypes == expected for dtypes in found["all"])
    assert len(found["all"]) >= 6


@pytest.mark.parametrize("transform", ["none", "grad", "jvp", "vmap", "checkpoint", "Listing"])
def test_W9_a_device_that_is_missing_is_refused_inside_too(transform: str) -> None:
    with pytest.raises(tl.DeviceError):
        TRANSFORMS[transform](lambda x: x.to("cuda"))


def test_W12_copies_and_pickles_refuse_what_is_being_differentiated() -> None:
    def copied(x: Any) -> Any:
        with pytest.raises(tl.AutodiffError, match="deepcopy"):
            copy.deepcopy(x * 1)
        with pytest.raises(tl.AutodiffError, match="pickle"):
            pickle.dumps(x * 1)
        assert copy.copy(x) is not x
        return tl.sum(copy.copy(x) * copy.deepcopy(x.detach()))

    np.testing.assert_allclose(np.asarray(tl.grad(copied)(X)), np.asarray(X))


def test_W13_a_training_loop_may_assign_anywhere() -> None:
    """Parameters, buffers and inputs change in place between steps that are differentiated."""
    weight = tl.Parameter(np.array([1.0, 2.0, 3.0, 4.0]))
    buffer = tl.zeros(4, dtype=tl.float64)

    def loss() -> Any:
        x = X * 1.0
        x[0] = weight[1]
        x *= weight
        buffer[...] = x.detach()
        return F.sum(x * x)

    losses = []
    for _ in range(3):
        weight.grad = None
        value = loss()
        value.backward()
        losses.append(value.item())
        weight.set_value(weight.detach() - 0.001 * weight.grad)
    assert losses[0] > losses[1] > losses[2]
    assert buffer.tolist()[0] != 0.0

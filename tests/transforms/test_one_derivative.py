"""One derivative is enough: gradient, tangent, Jacobians and examples to third order follow.

The same function is written in every way in which a user may give one derivative, and in plain ops;
all derivatives of the one must be those of the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import ops

Function = Callable[..., Any]


def plain(x: Any, y: Any) -> Any:
    return x * x * x * tl.sin(y)


def plain_by_x(x: Any, y: Any) -> Any:
    return 3 * x * x * tl.sin(y)


def plain_by_y(x: Any, y: Any) -> Any:
    return x * x * x * tl.cos(y)


DECLARED = tl.declare("""
- op: CubeSine
  args: ["x: real floating-point", "y: real floating-point"]
  define: x * x * x * sin(y)
  grad: {x: 3 * x * x * sin(y) * dy, y: x * x * x * cos(y) * dy}
  doc: Both derivatives by hand.
- op: CubeSineBody
  args: ["x: real floating-point", "y: real floating-point"]
  define: x * x * x * sin(y)
  doc: Through the body.
- scalar: cube_sine_scalar
  args: ["x: real floating-point", "y: real floating-point"]
  expr: x * x * x * sin(y)
  doc: A scalar function, whose derivatives are found symbolically.
""")


def of_custom_vjp() -> Function:
    @tl.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return plain(x, y)

    f.defvjp(
        lambda x, y: (plain(x, y), (x, y)),
        lambda kept, dy: (dy * plain_by_x(*kept), dy * plain_by_y(*kept)),
    )
    return f


def of_custom_jvp() -> Function:
    @tl.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return plain(x, y)

    f.defjvp(lambda xs, dxs: (plain(*xs), plain_by_x(*xs) * dxs[0] + plain_by_y(*xs) * dxs[1]))
    return f


def of_function() -> Function:
    class CubeSine(tl.Function):
        def forward(self, x: Any, y: Any) -> Any:
            self.save_for_backward(x, y)
            return plain(x, y)

        def backward(self, dy: Any) -> Any:
            return dy * plain_by_x(*self.saved_tensors), dy * plain_by_y(*self.saved_tensors)

    return lambda x, y: CubeSine()(x, y)


def of_an_op_with_vjp() -> Function:
    class CubeSine(ops.OpBase):
        def define(self, x: Any, y: Any) -> Any:
            return plain(tl.Tensor(x), tl.Tensor(y)).__wrapped__

        def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
            xs = [tl.Tensor(x) for x in inputs]
            dy = tl.Tensor(cotangents[0])
            return (dy * plain_by_x(*xs)).__wrapped__, (dy * plain_by_y(*xs)).__wrapped__

    return lambda x, y: CubeSine()(x, y)[0]


def of_an_op_with_a_body() -> Function:
    class CubeSine(ops.OpBase):
        def define(self, x: Any, y: Any) -> Any:
            return plain(tl.Tensor(x), tl.Tensor(y)).__wrapped__

    return lambda x, y: CubeSine()(x, y)[0]


WAYS: dict[str, Function] = {
    "declare with grad": DECLARED.cube_sine,
    "declare with a body": DECLARED.cube_sine_body,
    "declare a scalar": DECLARED.cube_sine_scalar,
    "custom_vjp": of_custom_vjp(),
    "custom_jvp": of_custom_jvp(),
    "Function": of_function(),
    "OpBase with vjp": of_an_op_with_vjp(),
    "OpBase with a body": of_an_op_with_a_body(),
    "checkpoint": tl.checkpoint(plain),
}

X = tl.tensor(np.array([0.5, -1.0, 2.0]))
Y = tl.tensor(np.array([1.0, 0.25, -0.5]))
T = tl.tensor(np.array([1.0, 10.0, -3.0]))
XS, YS = tl.stack([X, 2 * X]), tl.stack([Y, Y - 1])


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9, atol=1e-10)


def both(way: str, build: Callable[[Function], Any]) -> None:
    found, wanted = build(WAYS[way]), build(plain)
    if not isinstance(found, tuple):
        found, wanted = (found,), (wanted,)
    for y, right in zip(found, wanted, strict=True):
        close(y, right)


def total(f: Function) -> Function:
    return lambda x, y: tl.sum(f(x, y) * tl.tensor(np.array([1.0, 2.0, -1.5])))


@pytest.mark.parametrize("way", WAYS)
def test_gradient_and_tangent(way: str) -> None:
    both(way, lambda f: f(X, Y))
    both(way, lambda f: tl.grad(total(f), argnums=(0, 1))(X, Y))
    both(way, lambda f: tl.jvp(f, (X, Y), (T, 2 * T)))
    both(way, lambda f: tl.jvp(f, (X, Y), (None, T)))
    both(way, lambda f: tl.vjp(f, X, Y)[1](T))
    both(way, lambda f: tl.linearize(f, X, Y)[1](T, T))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("argnum", [0, 1])
def test_jacobians_and_hessians_in_every_nesting(way: str, argnum: int) -> None:
    jacobians = {"rev": tl.jacrev, "fwd": tl.jacfwd}
    for inner in jacobians.values():
        both(way, lambda f, inner=inner: inner(f, argnum)(X, Y))
    for outer, inner in itertools.product(jacobians.values(), repeat=2):
        both(way, lambda f, o=outer, i=inner: o(i(f, argnum), 1 - argnum)(X, Y))
        both(way, lambda f, o=outer, i=inner: o(i(f, argnum), argnum)(X, Y))
    both(way, lambda f: tl.hessian(total(f), argnum)(X, Y))
    both(way, lambda f: tl.hvp(lambda x: total(f)(x, Y), (X,), (T,)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "modes", list(itertools.product((tl.jacrev, tl.jacfwd), repeat=3)), ids=lambda m: str(len(m))
)
def test_third_order_in_every_nesting(way: str, modes: Any) -> None:
    first, second, third = modes
    both(way, lambda f: third(second(first(f, 0), 1), 0)(X, Y))


@pytest.mark.parametrize("way", WAYS)
def test_third_order_by_grad_and_jvp(way: str) -> None:
    def thrice(f: Function) -> Any:
        def once(x: Any) -> Any:
            return tl.grad(lambda v: total(f)(v, Y))(x)

        def twice(x: Any) -> Any:
            return tl.jvp(once, (x,), (T,))[1]

        return tl.grad(lambda x: tl.sum(twice(x) * T))(X)

    both(way, thrice)


@pytest.mark.parametrize("way", WAYS)
def test_examples_of_all_of_them(way: str) -> None:
    both(way, lambda f: tl.vmap(f)(XS, YS))
    both(way, lambda f: tl.vmap(f, in_axes=(0, None))(XS, Y))
    both(way, lambda f: tl.vmap(tl.grad(total(f), argnums=(0, 1)))(XS, YS))
    both(way, lambda f: tl.vmap(lambda x, y: tl.jvp(f, (x, y), (x, y))[1])(XS, YS))
    both(way, lambda f: tl.vmap(tl.hessian(total(f)))(XS, YS))
    both(way, lambda f: tl.vmap(tl.jacfwd(tl.jacfwd(tl.jacrev(f))))(XS, YS))
    both(way, lambda f: tl.grad(lambda x: tl.sum(tl.vmap(f, (0, None))(x, Y)))(XS))
    both(way, lambda f: tl.jacfwd(tl.grad(lambda x: tl.sum(tl.vmap(f)(x, YS) ** 2)))(XS))
    both(way, lambda f: tl.vmap(tl.vmap(f, (0, None)), (None, 0))(XS, YS))


@pytest.mark.parametrize("way", WAYS)
def test_opcheck_holds_all_of_them_against_differences(way: str) -> None:
    report = tl.opcheck(WAYS[way], X, Y)
    assert report.is_right, report


def test_scatters_give_the_gradient_to_the_last_of_duplicates() -> None:
    indices = tl.tensor([1, 1, 0])

    def assigned(x: Any) -> Any:
        y = tl.zeros(3, dtype=tl.float64)
        y[indices] = x
        return y

    def put(x: Any) -> Any:
        return F.put_along_axis(tl.zeros(3, dtype=tl.float64), indices, x)

    for f in (assigned, put):
        expected = [[0.0, 0, 1], [0, 1, 0], [0, 0, 0]]
        assert tl.jacfwd(f)(X).tolist() == expected
        assert tl.jacrev(f)(X).tolist() == expected
        assert tl.vmap(tl.jacrev(f))(XS).tolist() == [expected] * 2

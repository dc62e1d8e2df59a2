"""Derivatives to third order, batched and mixed, against JAX's, where it is installed.

Each function is written once, over a namespace: ours or jax.numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

pytestmark = pytest.mark.slow
jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

A = np.random.default_rng(0).normal(size=(3, 3))
S = A @ A.T + 3 * np.eye(3)
Function = Callable[[Any, Any], Any]

# Of a vector of three numbers, with one number as the result.
FUNCTIONS: dict[str, Function] = {
    "sum": lambda n, x: n.sum(x) ** 3,
    "mean": lambda n, x: n.mean(x**4),
    "prod": lambda n, x: n.prod(x),
    "sin": lambda n, x: n.sum(n.sin(x) ** 2 * x),
    "cos": lambda n, x: n.sum(n.cos(x * x)),
    "tan": lambda n, x: n.sum(n.tan(x / 2)),
    "exp": lambda n, x: n.sum(n.exp(x) / (1 + x * x)),
    "expm1": lambda n, x: n.sum(n.expm1(x) ** 2),
    "log": lambda n, x: n.sum(n.log(x * x + 1) * x),
    "log1p": lambda n, x: n.sum(n.log1p(x * x) ** 2),
    "sqrt": lambda n, x: n.sqrt(n.sum(x * x)),
    "tanh": lambda n, x: n.sum(n.tanh(x) * n.tanh(2 * x)),
    "sinh": lambda n, x: n.sum(n.sinh(x) * x),
    "cosh": lambda n, x: n.sum(n.cosh(x) ** 2),
    "asinh": lambda n, x: n.sum(n.asinh(x) ** 3),
    "atan": lambda n, x: n.sum(n.atan(x) * x),
    "atan2": lambda n, x: n.atan2(x[0], x[1] * x[2]),
    "hypot": lambda n, x: n.hypot(x[0], x[1]) * x[2],
    "asin": lambda n, x: n.sum(n.asin(x / 4) * x),
    "acosh": lambda n, x: n.sum(n.acosh(x * x + 2)),
    "atanh": lambda n, x: n.sum(n.atanh(x / 4) ** 2),
    "power": lambda n, x: n.sum((x * x) ** 1.7),
    "quotient": lambda n, x: x[0] / (x[1] ** 2 + 1) / (x[2] ** 2 + 1),
    "abs": lambda n, x: n.sum(n.abs(x) ** 3),
    "maximum": lambda n, x: n.sum(n.maximum(x, 0.1) ** 3),
    "minimum": lambda n, x: n.sum(n.minimum(x, x * x) ** 2),
    "where": lambda n, x: n.sum(n.where(x > 0, x**3, n.exp(x))),
    "clip": lambda n, x: n.sum(n.clip(x, -0.7, 0.9) ** 2 * x),
    "logaddexp": lambda n, x: n.sum(n.logaddexp(x, x * x)),
    "max": lambda n, x: n.max(x) ** 3 + n.min(x) ** 2,
    "var": lambda n, x: n.var(x) ** 2,
    "std": lambda n, x: n.std(x) ** 3,
    "sort": lambda n, x: n.sum(n.sort(x) * n.asarray(A[0]) * x),
    "cumulative_sum": lambda n, x: n.sum(n.cumulative_sum(x) ** 3),
    "cumulative_prod": lambda n, x: n.sum(n.cumulative_prod(x) ** 2),
    "reshape": lambda n, x: n.sum(n.reshape(x, (3, 1)) * n.reshape(x, (1, 3)) ** 2),
    "broadcast_to": lambda n, x: n.sum(n.broadcast_to(x, (2, 3)) ** 3),
    "concat": lambda n, x: n.sum(n.concat([x, x * x]) ** 2),
    "stack": lambda n, x: n.sum(n.stack([x, n.sin(x)]) ** 3),
    "roll": lambda n, x: n.sum(n.roll(x, 1) * x**2),
    "flip": lambda n, x: n.sum(n.flip(x) ** 2 * x),
    "take": lambda n, x: n.sum(n.take(x, n.asarray([2, 0, 0, 1])) ** 3),
    "indexing": lambda n, x: x[0] * x[1:][0] * x[-1] + n.sum(x[::2] ** 3),
    "outer": lambda n, x: n.sum(n.linalg.outer(x, n.sin(x)) ** 2),
    "matmul": lambda n, x: x @ (n.asarray(A) @ n.tanh(x)),
    "matrices": lambda n, x: n.sum((n.asarray(A) * x @ n.asarray(A)) ** 2),
    "tensordot": lambda n, x: n.tensordot(x, n.asarray(A) * n.exp(x), axes=1)[0] * x[1],
    "vecdot": lambda n, x: n.vecdot(x, n.sin(x)) ** 2,
    "trace": lambda n, x: n.linalg.trace(n.asarray(A) * n.exp(x)) ** 2,
    "solve": lambda n, x: n.sum(n.linalg.solve(n.asarray(S) + n.linalg.outer(x, x), x)),
    "inv": lambda n, x: n.sum(n.linalg.inv(n.asarray(S) + n.linalg.outer(x, x)) ** 2),
    "det": lambda n, x: n.linalg.det(n.asarray(S) + n.linalg.outer(x, x) * x[0]),
    "slogdet": lambda n, x: n.linalg.slogdet(n.asarray(S) + n.linalg.outer(x, x))[1],
    "cholesky": lambda n, x: n.sum(n.linalg.cholesky(n.asarray(S) + n.linalg.outer(x, x)) ** 3),
    "eigh": lambda n, x: n.sum(n.linalg.eigvalsh(n.asarray(S) + n.linalg.outer(x, x)) ** 2),
    "svd": lambda n, x: n.sum(n.linalg.svdvals(n.asarray(A) * x) ** 3),
    "norm": lambda n, x: n.linalg.vector_norm(x) * x[0],
    "fft": lambda n, x: n.sum(n.abs(n.fft.fft(x)) ** 2 * x),
    "complex": lambda n, x: n.sum(n.real(n.exp(x * (1 + 2j)) * n.conj(n.sin(x + 1j)))),
    "softmax": lambda n, x: n.sum((n.exp(x) / n.sum(n.exp(x))) ** 2 * x),
}  # fmt: skip
X = np.array([0.6, -0.8, 1.1])
XS = np.stack([X, X * 0.9 + 0.05, X[::-1] * 0.8])
T = np.array([1.0, -2.0, 0.5])
TOO_MUCH_FOR_JAX = {"eigh", "svd"}  # third derivatives: minutes to trace


def close(found: Any, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    scale = max(1.0, float(np.abs(wanted).max(initial=0)))
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-7, atol=1e-8 * scale)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_jax(name: str) -> None:
    ours = lambda x: FUNCTIONS[name](tl, x)  # noqa: E731
    theirs = lambda x: FUNCTIONS[name](jnp, x)  # noqa: E731
    x, xs, t = tl.tensor(X), tl.tensor(XS), tl.tensor(T)
    close(ours(x), theirs(X))
    close(tl.grad(ours)(x), jax.grad(theirs)(X))
    close(tl.jvp(ours, (x,), (t,))[1], jax.jvp(theirs, (X,), (T,))[1])
    close(tl.vmap(ours)(xs), jax.vmap(theirs)(XS))
    close(tl.vmap(tl.grad(ours))(xs), jax.vmap(jax.grad(theirs))(XS))
    wanted = jax.hessian(theirs)(X)
    for nesting in (tl.hessian(ours), tl.jacfwd(tl.jacrev(ours)), tl.jacrev(tl.jacfwd(ours)),
                    tl.jacfwd(tl.jacfwd(ours))):  # fmt: skip
        close(nesting(x), wanted)
    close(tl.vmap(tl.hessian(ours))(xs), jax.vmap(jax.hessian(theirs))(XS))
    close(tl.hvp(ours, (x,), (t,)), wanted @ T)
    if name in TOO_MUCH_FOR_JAX:
        return
    third = jax.jacfwd(jax.hessian(theirs))(X)
    for nesting in (tl.jacfwd(tl.hessian(ours)), tl.jacrev(tl.jacfwd(tl.jacrev(ours)))):
        close(nesting(x), third)

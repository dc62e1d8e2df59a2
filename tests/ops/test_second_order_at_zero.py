"""Second derivatives where elements are 0: of products and of lengths, which rules divide by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F = tl.functional
STEP = 1e-3


def second_differences(f: Callable[[Any], Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The Hessian of a function of values, by central differences."""
    n = x.size
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            total = 0.0
            for si in (1, -1):
                for sj in (1, -1):
                    moved = x.ravel().copy()
                    moved[i] += si * STEP
                    moved[j] += sj * STEP
                    total += si * sj * float(f(tl.tensor(moved.reshape(x.shape), dtype="float64")))
            found[i, j] = total / (4 * STEP * STEP)
    return found


def hessian(f: Callable[[Any], Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(tl.hessian(f)(tl.tensor(x, dtype="float64"))).reshape(x.size, x.size)


def weights(shape: tuple[int, ...]) -> Any:
    return tl.tensor(np.random.default_rng(3).normal(size=shape), dtype="float64")


def weighted(call: Callable[..., Any], **attrs: Any) -> Callable[[Any], Any]:
    def total(x: Any) -> Any:
        y = call(x, **attrs)
        return F.sum(y * weights(tuple(y.shape)))

    return total


FUNCTIONS = {
    "prod": F.prod,
    "prod along an axis": weighted(F.prod, axis=0),
    "prod along two axes": weighted(F.prod, axis=(0, 1)),
    "cumulative_prod": weighted(F.cumulative_prod, axis=0),
    "cumulative_prod backwards": weighted(F.cumulative_prod, axis=-1, reverse=True),
    "cumulative_prod with the first": weighted(F.cumulative_prod, axis=0, include_initial=True),
}
NORMS = {
    "vector_norm": tl.linalg.vector_norm,
    "vector_norm along an axis": weighted(tl.linalg.vector_norm, axis=1),
    "vector_norm of order 4": lambda x: tl.linalg.vector_norm(x, ord=4),
    "norm": tl.linalg.norm,
    "matrix_norm": tl.linalg.matrix_norm,
    "pairwise_distance": lambda x: F.sum(F.pairwise_distance(x, x * 0, eps=0.0)),
    "normalize": weighted(F.normalize),
    "std": F.std,
}
POINTS = [
    [[0.0, 2.0, 3.0]],
    [[2.0], [0.0], [3.0], [0.5]],
    [[0.0, 2.0], [0.0, -1.5]],
    [[0.0, 0.0], [0.0, 2.0]],
    [[1.5, 0.0, 2.0], [0.0, -1.0, 0.0]],
    [[0.0, 0.0, 0.0, 0.0, 1.0]],
    [[1.0, -2.0], [3.0, 0.5]],
]


@pytest.mark.parametrize("point", POINTS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessians_of_products_are_right_at_zeros(name: str, point: list[list[float]]) -> None:
    f, x = FUNCTIONS[name], np.array(point)
    found = hessian(f, x)
    np.testing.assert_allclose(found, second_differences(f, x), atol=1e-6)
    np.testing.assert_allclose(found, found.T, atol=1e-12)


@pytest.mark.parametrize("point", [p for p in POINTS if all(any(row) for row in p)], ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_hessians_of_lengths_are_right_at_zero_elements(
    name: str, point: list[list[float]]
) -> None:
    f, x = NORMS[name], np.array(point)
    np.testing.assert_allclose(hessian(f, x), second_differences(f, x), atol=1e-4)


@pytest.mark.parametrize("name", ["prod", "cumulative_prod"])
def test_forward_over_reverse_agrees_at_zeros(name: str) -> None:
    f, x = FUNCTIONS[name], np.array([0.0, 2.0, 0.0])
    start, along = tl.tensor(x), tl.tensor([1.0, -1.0, 0.5])
    _, found = tl.jvp(tl.grad(f), (start,), (along,))
    want = second_differences(f, x) @ np.asarray(along)
    np.testing.assert_allclose(np.asarray(found), want, atol=1e-5)

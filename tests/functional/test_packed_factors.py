"""Reflections, pseudo-inverses by absolute bounds, grids of boxes, weights of observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

L = tl.linalg
RANDOM = np.random.default_rng(0)


def matrix(*shape: int, is_complex: bool = False) -> Any:
    x = RANDOM.normal(size=shape)
    return x + 1j * RANDOM.normal(size=shape) if is_complex else x


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (2, 3, 3), (0, 2), (1, 1)])
@pytest.mark.parametrize("is_complex", [False, True])
def test_reflections_make_up_the_matrix(shape: tuple[int, ...], is_complex: bool) -> None:
    x = matrix(*shape, is_complex=is_complex)
    a, tau = L.geqrf(tl.tensor(x))
    r = np.triu(np.asarray(a))
    np.testing.assert_allclose(L.ormqr(a, tau, tl.tensor(r)), x, atol=1e-12)
    back = L.ormqr(a, tau, tl.tensor(x), transpose=True)
    np.testing.assert_allclose(back, r, atol=1e-12)
    right = L.ormqr(a, tau, tl.tensor(adjoint(r)), left=False, transpose=True)
    np.testing.assert_allclose(right, adjoint(x), atol=1e-12)
    again = L.ormqr(a, tau, right, left=False)
    np.testing.assert_allclose(again, adjoint(r), atol=1e-12)


def test_reflections_of_what_is_triangular_already_change_nothing() -> None:
    x = np.array([[2.0, 1.0], [0.0, 3.0]])
    a, tau = L.geqrf(tl.tensor(x))
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(tau, [0, 0])


def test_reflections_have_gradients_and_refuse_what_does_not_fit() -> None:
    x = matrix(3, 2)

    def total(x: Any) -> Any:
        a, tau = L.geqrf(x)
        return F.sum(
            L.ormqr(a, tau, tl.tensor(np.eye(3))) * tl.tensor(np.arange(9.0).reshape(3, 3))
        )

    slope = np.asarray(tl.grad(total)(tl.tensor(x)))
    for at in np.ndindex(3, 2):
        step = np.zeros((3, 2))
        step[at] = 1e-6
        wanted = (total(tl.tensor(x + step)) - total(tl.tensor(x - step))).item() / 2e-6
        np.testing.assert_allclose(slope[at], wanted, rtol=1e-5, atol=1e-7)
    with pytest.raises(tl.ShapeError, match="ormqr: other must be"):
        L.ormqr(tl.tensor(x), tl.tensor([1.0, 1.0]), tl.eye(2))
    with pytest.raises(tl.ShapeError, match="ormqr: x must be"):
        L.ormqr(tl.tensor(x), tl.ones((3,)), tl.eye(3))


def test_pinv_drops_values_below_atol() -> None:
    x = np.diag([4.0, 1.0, 0.01])
    np.testing.assert_allclose(L.pinv(tl.tensor(x), atol=0.1), np.diag([0.25, 1, 0]))
    np.testing.assert_allclose(L.pinv(tl.tensor(x), atol=0.1, rtol=0.5), np.diag([0.25, 0, 0]))
    kept = L.pinv(tl.tensor(np.stack([x, x])), atol=tl.tensor([0.0, 2.0]))
    np.testing.assert_allclose(kept, [np.diag([0.25, 1, 100]), np.diag([0.25, 0, 0])])
    with pytest.raises(tl.ParameterError, match="pinv: atol must not be negative"):
        L.pinv(tl.tensor(x), atol=-1.0)


@pytest.mark.parametrize("is_complex", [False, True])
def test_pinv_of_a_hermitian_matrix_is_the_general_one(is_complex: bool) -> None:
    x = matrix(4, 2, is_complex=is_complex)
    x = x @ np.diag([1.0, -2.0]) @ adjoint(x)
    found = L.pinv(tl.tensor(x), hermitian=True)
    np.testing.assert_allclose(found, np.linalg.pinv(x), atol=1e-10)


@pytest.mark.parametrize("density", [False, True])
def test_histogramdd_is_numpys(density: bool) -> None:
    x = RANDOM.normal(size=(40, 3))
    weight = RANDOM.uniform(size=40)
    bins: Any = [2, [-1.0, 0.0, 0.5, 3.0], 4]
    found, edges = F.histogramdd(tl.tensor(x), bins, weight=tl.tensor(weight), density=density)
    wanted, known = np.histogramdd(x, bins, weights=weight, density=density)
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    for ours, theirs in zip(edges, known, strict=True):
        np.testing.assert_allclose(ours, theirs)
    limits = [(-1, 1)] * 3
    np.testing.assert_array_equal(
        F.histogramdd(tl.tensor(x), 3, range=limits)[0], np.histogramdd(x, 3, range=limits)[0]
    )
    with pytest.raises(tl.ShapeError, match="histogramdd: range must have 3 pairs"):
        F.histogramdd(tl.tensor(x), 3, range=[(0, 1)])


def test_cov_refuses_negative_weights() -> None:
    x = tl.tensor([[0.0, 1.0, 2.0]])
    for name in ("fweights", "aweights"):
        given: Any = {name: tl.tensor([1, -1, 2])}
        with pytest.raises(tl.ParameterError, match=f"cov: {name} must not be negative; got -1"):
            F.cov(x, **given)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_unit_vectors_are_right_at_any_size(size: float) -> None:
    x = tl.tensor(np.array([[3.0, 4.0]]) * size)
    np.testing.assert_allclose(F.normalize(x, eps=0.0), [[0.6, 0.8]], rtol=1e-15)
    np.testing.assert_allclose(F.normalize(x, p=3.0, eps=0.0), [[3, 4] / np.cbrt(91)], rtol=1e-14)
    turned = tl.tensor([[4.0, 3.0]], dtype="float64")
    np.testing.assert_allclose(F.cosine_similarity(x, turned, eps=0.0), [0.96], rtol=1e-15)
    slope = tl.grad(lambda x: F.normalize(x, eps=0.0)[0, 0])(x)
    np.testing.assert_allclose(np.asarray(slope) * size, [[0.128, -0.096]], rtol=1e-13)
    np.testing.assert_allclose(F.normalize(x, eps=1e307), x / 1e307, rtol=1e-14)


@pytest.mark.parametrize("name", ["eig", "eigh", "svd"])
def test_vectors_of_no_elements_have_gradients(name: str) -> None:
    for batch in ((), (2,)):
        x = tl.zeros((*batch, 0, 0), dtype="complex128")

        def total(x: Any) -> Any:
            return sum(F.sum(F.real(part)) for part in getattr(L, name)(x))

        assert tl.grad(total)(x).shape == (*batch, 0, 0)

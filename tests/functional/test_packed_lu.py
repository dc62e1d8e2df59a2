"""Triangular factors in one matrix, what is solved by them, and factors of low rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

L = tl.linalg
RANDOM = np.random.default_rng(0)
SHAPES = [(3, 3), (4, 3), (3, 5), (2, 3, 3), (0, 3), (2, 0, 0), (1, 1)]


def matrix(*shape: int, is_complex: bool = False) -> Any:
    x = RANDOM.normal(size=shape)
    return x + 1j * RANDOM.normal(size=shape) if is_complex else x


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("pivot", [False, True])
def test_packed_factors_make_up_the_matrix(
    shape: tuple[int, ...], is_complex: bool, pivot: bool
) -> None:
    x = matrix(*shape, is_complex=is_complex)
    packed, pivots = L.lu_factor(tl.tensor(x), pivot=pivot)
    assert packed.shape == x.shape
    assert pivots.shape == (*shape[:-2], min(shape[-2:]))
    assert pivots.dtype.name == "int32"
    p, lower, upper = L.lu_unpack(packed, pivots)
    np.testing.assert_allclose(p @ lower @ upper, x, atol=1e-11)
    if not pivot:
        wanted = np.broadcast_to(np.arange(1, min(shape[-2:]) + 1), pivots.shape)
        np.testing.assert_array_equal(pivots, wanted)


@pytest.mark.parametrize("is_complex", [False, True])
def test_packed_factors_are_those_of_lapack(is_complex: bool) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    x = matrix(6, 6, is_complex=is_complex)
    packed, pivots = L.lu_factor(tl.tensor(x))
    wanted, exchanged = linalg.lu_factor(x)
    np.testing.assert_allclose(packed, wanted, rtol=1e-12)
    np.testing.assert_array_equal(pivots, exchanged + 1)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("is_packed", [False, True])
def test_factors_solve_from_either_side_and_of_the_adjoint(
    is_complex: bool, adjoint: bool, is_packed: bool
) -> None:
    a = matrix(2, 4, 4, is_complex=is_complex)
    factors: Any = (L.lu_factor if is_packed else L.lu)(tl.tensor(a))
    used = np.conj(np.swapaxes(a, -1, -2)) if adjoint else a
    right, left = matrix(2, 4, 3), matrix(2, 3, 4, is_complex=True)
    x = np.asarray(L.lu_solve(factors, tl.tensor(right), adjoint=adjoint))
    np.testing.assert_allclose(used @ x, right, atol=1e-11)
    x = np.asarray(L.lu_solve(factors, tl.tensor(left), left=False, adjoint=adjoint))
    np.testing.assert_allclose(x @ used, left, atol=1e-11)
    one = matrix(4, is_complex=True)
    first: Any = tuple(part[0] for part in factors)
    x = np.asarray(L.lu_solve(first, tl.tensor(one), left=False, adjoint=adjoint))
    np.testing.assert_allclose(x @ used[0], one, atol=1e-11)


def test_packed_factors_have_gradients_and_go_through_vmap() -> None:
    a, b = tl.tensor(matrix(3, 3)), tl.tensor(matrix(3))

    def total(a: Any) -> Any:
        return F.sum(L.lu_solve(L.lu_factor(a), b))

    wanted = tl.grad(lambda a: F.sum(L.solve(a, b)))(a)
    np.testing.assert_allclose(tl.grad(total)(a), wanted, rtol=1e-9)
    stack = tl.tensor(matrix(4, 3, 3))
    for found, whole in zip(tl.vmap(L.lu_factor)(stack), L.lu_factor(stack), strict=True):
        np.testing.assert_allclose(found, whole, rtol=1e-12)


def test_pivots_that_do_not_fit_are_refused() -> None:
    packed = tl.tensor(matrix(3, 3))
    with pytest.raises(tl.DTypeError, match=r"^lu_unpack: pivots must be integer"):
        L.lu_unpack(packed, tl.ones(3))
    with pytest.raises(tl.ShapeError, match=r"^lu_unpack: pivots must be \(..., 3\)"):
        L.lu_unpack(packed, tl.tensor([1, 2]))


@pytest.mark.parametrize("is_complex", [False, True])
def test_factors_of_low_rank_are_exact_where_the_rank_is_low(is_complex: bool) -> None:
    x = matrix(2, 7, 3, is_complex=is_complex) @ matrix(2, 3, 5, is_complex=is_complex)
    u, s, vh = (np.asarray(part) for part in L.svd_lowrank(tl.tensor(x), q=3))
    np.testing.assert_allclose((u * s[:, None, :]) @ vh, x, atol=1e-12)
    np.testing.assert_allclose(s, np.linalg.svd(x)[1][:, :3], rtol=1e-10)
    u, s, vh = (np.asarray(part) for part in L.pca_lowrank(tl.tensor(x), q=3))
    centred = x - x.mean(axis=1, keepdims=True)
    np.testing.assert_allclose((u * s[:, None, :]) @ vh, centred, atol=1e-12)
    mean = tl.tensor(x.mean(axis=1, keepdims=True))
    np.testing.assert_allclose(L.svd_lowrank(tl.tensor(x), q=3, M=mean).S, s, rtol=1e-9)


def test_factors_of_low_rank_refuse_more_values_than_there_are() -> None:
    for call in (L.svd_lowrank, L.pca_lowrank):
        with pytest.raises(tl.ParameterError, match="lowrank: q must be at most 2"):
            call(tl.ones((3, 2)), q=3)

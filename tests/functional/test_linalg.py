"""Linear algebra: against NumPy, gradients against finite differences, and bad input."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

Array = np.ndarray[Any, Any]
linalg = tl.linalg
DTYPES = ("float32", "float64", "complex64", "complex128")


def matrices(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return np.asarray(x + 1j * rng.normal(size=shape) if "complex" in dtype else x).astype(dtype)


def adjoint(x: Array) -> Array:
    return np.asarray(np.conj(np.swapaxes(x, -1, -2)))


def positive(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> Array:
    x = matrices(shape, dtype, seed)
    return np.asarray(x @ adjoint(x) + np.eye(shape[-1], dtype=dtype))


def assert_near(found: Any, wanted: Any, dtype: str = "float64") -> None:
    bound = 5e-4 if dtype in ("float32", "complex64") else 1e-9
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 3), (2, 0, 3, 3), (0, 3), (4, 0)])
def test_factors_multiply_to_the_matrix(shape: tuple[int, ...], dtype: str) -> None:
    x = matrices(shape, dtype)
    q, r = linalg.qr(tl.tensor(x))
    assert_near(q @ r, x, dtype)
    q, r = linalg.qr(tl.tensor(x), mode="complete")
    assert_near(q @ r, x, dtype)
    assert_near(
        adjoint(np.asarray(q)) @ np.asarray(q), np.eye(shape[-2]) + 0 * adjoint(q) @ q, dtype
    )
    for full in (False, True):
        u, s, vh = (np.asarray(part) for part in linalg.svd(tl.tensor(x), full_matrices=full))
        k = min(shape[-2:])
        assert_near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x, dtype)
        assert [y.shape for y in np.linalg.svd(x, full)] == [u.shape, s.shape, vh.shape]
        assert_near(linalg.svdvals(tl.tensor(x)), s, dtype)
    p, lower, upper = linalg.lu(tl.tensor(x))
    assert_near(p @ lower @ upper, x, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3), (0, 3, 3), (2, 0, 0)])
def test_square_matrices(shape: tuple[int, ...], dtype: str) -> None:
    x, spd = matrices(shape, dtype), positive(shape, dtype)
    t = tl.tensor(x)
    assert_near(linalg.cholesky(tl.tensor(spd)), np.linalg.cholesky(spd), dtype)
    upper = np.asarray(linalg.cholesky(tl.tensor(spd), upper=True))
    assert_near(adjoint(upper) @ upper, spd, dtype)
    w, v = (np.asarray(part) for part in linalg.eigh(tl.tensor(spd)))
    assert_near(w, np.linalg.eigvalsh(spd), dtype)
    assert_near(spd @ v, v * w[..., None, :], dtype)
    w, v = (np.asarray(part) for part in linalg.eig(t))
    assert_near(x @ v, v * w[..., None, :], dtype)
    assert_near(linalg.det(t), np.linalg.det(x), dtype)
    for found, wanted in zip(linalg.slogdet(t), np.linalg.slogdet(x), strict=True):
        assert_near(found, wanted, dtype)
    assert_near(linalg.inv(t), np.linalg.inv(x), dtype)
    assert_near(linalg.matrix_power(t, 3), np.linalg.matrix_power(x, 3), dtype)
    b = matrices((*shape[:-1], 2), dtype, 1)
    assert_near(linalg.solve(t, tl.tensor(b)), np.linalg.solve(x, b), dtype)


def test_right_sides_broadcast_and_may_be_vectors() -> None:
    a, b, v = matrices((3, 1, 4, 4)), matrices((2, 4, 2), seed=1), matrices((4,), seed=2)
    assert_near(linalg.solve(tl.tensor(a), tl.tensor(b)), np.linalg.solve(a, b))
    assert_near(linalg.solve(tl.tensor(a), tl.tensor(v)), np.linalg.solve(a, v[:, None])[..., 0])
    for upper in (False, True):
        triangle = np.triu(a) if upper else np.tril(a)
        found = linalg.solve_triangular(tl.tensor(a), tl.tensor(b), upper=upper)
        assert_near(found, np.linalg.solve(triangle, b))
        found = linalg.solve_triangular(
            tl.tensor(a), tl.tensor(np.swapaxes(b, -1, -2)), upper=upper, left=False
        )
        assert_near(
            np.asarray(found) @ triangle, np.broadcast_to(np.swapaxes(b, -1, -2), (3, 2, 2, 4))
        )


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_least_squares_and_pseudo_inverses(shape: tuple[int, int]) -> None:
    a = matrices(shape)
    a[:, -1] = a[:, 0]  # not of full rank
    b = matrices((shape[0], 2), seed=1)
    wanted = np.linalg.lstsq(a, b)
    found = linalg.lstsq(tl.tensor(a), tl.tensor(b))
    assert_near(found.solution, wanted[0])
    assert found.rank.item() == wanted[2] == linalg.matrix_rank(tl.tensor(a)).item()
    assert_near(linalg.pinv(tl.tensor(a)), np.linalg.pinv(a))
    assert_near(
        linalg.pinv(tl.tensor(a), rtol=tl.tensor([1e-9], "float64")[0:1]), [np.linalg.pinv(a)]
    )


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_norms_of_matrices(ord: Any) -> None:
    x = matrices((2, 3, 4))
    wanted = np.linalg.norm(x, ord, axis=(-2, -1), keepdims=True)
    assert_near(linalg.matrix_norm(tl.tensor(x), ord=ord, keepdims=True), wanted)


@pytest.mark.parametrize("ord", [0, 1, 2, 3, 0.5, -1, -2, np.inf, -np.inf])
def test_norms_of_vectors(ord: float) -> None:
    x = matrices((3, 4))
    assert_near(linalg.vector_norm(tl.tensor(x), ord=ord), np.linalg.norm(x.ravel(), ord))
    assert_near(linalg.vector_norm(tl.tensor(x), axis=0, ord=ord), np.linalg.norm(x, ord, axis=0))


def test_parts_and_products() -> None:
    x = matrices((2, 3, 4))
    for offset in range(-4, 6):
        wanted = np.diagonal(x, offset, -2, -1) if -3 <= offset <= 4 else np.zeros((2, 0))
        assert_near(linalg.diagonal(tl.tensor(x), offset=offset), wanted)
        assert_near(linalg.trace(tl.tensor(x), offset=offset), wanted.sum(-1))
    a, b = matrices((2, 3)), matrices((4, 1, 3), seed=1)
    assert_near(linalg.cross(tl.tensor(a), tl.tensor(b)), np.cross(a, b))
    assert_near(linalg.outer(tl.tensor(a[0]), tl.tensor(b[0, 0])), np.outer(a[0], b[0, 0]))


def symmetric(x: Any) -> Any:
    return x + linalg.matrix_transpose(x)


SMOOTH: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "cholesky": (lambda x: linalg.cholesky(x @ x.mT + tl.eye(3, dtype="float64")), (2, 3, 3)),
    "cholesky, upper": (lambda x: linalg.cholesky(x @ x.mT, upper=True), (3, 3)),
    "Q of tall": (lambda x: linalg.qr(x)[0], (4, 3)),
    "R of wide": (lambda x: linalg.qr(x)[1], (3, 5)),
    "Q of wide": (lambda x: linalg.qr(x)[0], (3, 5)),
    "svdvals": (linalg.svdvals, (4, 3)),
    "projection": (lambda x: (u := linalg.svd(x, full_matrices=False)[0])[..., :1] @ u[..., :1].mT,
                   (4, 3)),
    "right projection": (
        lambda x: (v := linalg.svd(x, full_matrices=False)[2])[..., :1, :].mT @ v[..., :1, :],
        (3, 4)),
    "eigvalsh": (linalg.eigvalsh, (3, 3)),
    "eigenvectors": (lambda x: (v := linalg.eigh(x)[1])[:, :1] @ v[:, :1].mT, (3, 3)),
    "L of tall": (lambda x: linalg.lu(x)[1], (5, 3)),
    "U of wide": (lambda x: linalg.lu(x)[2], (3, 5)),
    "L of square": (lambda x: linalg.lu(x)[1], (3, 3)),
    "det": (linalg.det, (2, 3, 3)),
    "det of singular": (lambda x: linalg.det(x * tl.tensor([[1.0], [0.0], [1.0]])), (3, 3)),
    "logabsdet": (lambda x: linalg.slogdet(x)[1], (3, 3)),
    "inv": (linalg.inv, (2, 3, 3)),
    "pinv": (linalg.pinv, (4, 3)),
    "solve": (lambda x: linalg.solve(x[..., :3], x[..., 3:]), (3, 5)),
    "triangular": (lambda x: linalg.solve_triangular(x[:, :3], x[:, 3:], upper=True), (3, 5)),
    "triangular on the right": (
        lambda x: linalg.solve_triangular(x[:3], x[3:], upper=False, left=False,
                                          unitriangular=True), (5, 3)),
    "least squares": (lambda x: linalg.lstsq(x[:, :3], x[:, 3:]).solution, (5, 5)),
    "least norm": (lambda x: linalg.lstsq(x[:, :4], x[:, 4:]).solution, (3, 5)),
    "matrix_exp": (linalg.matrix_exp, (3, 3)),
    "vector_norm": (linalg.vector_norm, (3, 4)),
    "3-norm": (lambda x: linalg.vector_norm(x, ord=3), (5,)),
    "nuclear norm": (lambda x: linalg.matrix_norm(x, ord="nuc"), (3, 4)),
    "matrix_power": (lambda x: linalg.matrix_power(x, -3), (3, 3)),
    "diagonal": (lambda x: linalg.diagonal(x, offset=1), (3, 4)),
    "norm": (lambda x: linalg.norm(x, "nuc", axis=(0, 2)), (3, 2, 4)),
    "cond": (linalg.cond, (3, 3)),
    "multi_dot": (lambda x: linalg.multi_dot([x[:, 0], x, x.mT, x]), (3, 4)),
    "vander": (lambda x: linalg.vander(x, n=4), (2, 3)),
    "cholesky_solve": (lambda x: linalg.cholesky_solve(x[..., :3], x[..., 3:]), (2, 3, 5)),
    "lu_solve": (lambda x: linalg.lu_solve(linalg.lu(x[:, :3]), x[:, 3]), (3, 4)),
    "tensorinv": (lambda x: linalg.tensorinv(x, ind=1), (6, 2, 3)),
    "cross": (lambda x: linalg.cross(x[0], x[1]), (2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_to_second_order(name: str) -> None:
    function, shape = SMOOTH[name]
    x, along, other = (matrices(shape, seed=seed) for seed in (1, 2, 3))
    weights = tl.tensor(matrices(function(tl.tensor(x)).shape, seed=4))

    def loss(x: Any) -> Any:
        return (function(x) * weights).sum()

    def slope(x: Any) -> Any:
        return (tl.grad(loss)(x) * tl.tensor(other)).sum()

    for step, bound, of in ((1e-6, 1e-5, loss), (1e-5, 1e-4, slope)):
        high, low = (of(tl.tensor(x + sign * step * along)).item() for sign in (1, -1))
        found = float(np.sum(np.asarray(tl.grad(of)(tl.tensor(x))) * along))
        wanted = (high - low) / (2 * step)
        np.testing.assert_allclose(found, wanted, rtol=bound, atol=bound)


def test_the_gradient_of_a_norm_is_zero_at_zero() -> None:
    assert tl.grad(linalg.vector_norm)(tl.tensor([0.0, 0.0])).tolist() == [0.0, 0.0]
    assert tl.grad(linalg.matrix_norm)(tl.tensor([[0.0, 0.0]])).tolist() == [[0.0, 0.0]]


def test_matrices_that_will_not_do_are_refused() -> None:
    zero, nan = tl.tensor([[0.0, 0.0], [0.0, 0.0]]), tl.tensor([[float("nan"), 0.0], [0.0, 1.0]])
    with pytest.raises(tl.MatrixError, match=r"^inv: x must be invertible; got a singular matrix"):
        linalg.inv(zero)
    with pytest.raises(tl.MatrixError, match=r"^Solve: x1 must be invertible"):
        linalg.solve(zero, tl.tensor([1.0, 2.0]))
    with pytest.raises(tl.MatrixError, match=r"^Cholesky: x must be positive definite"):
        linalg.cholesky(zero)
    with pytest.raises(tl.MatrixError, match="number 1 of the batch"):
        linalg.inv(tl.tensor(np.stack([np.eye(2), np.zeros((2, 2))])))
    for call in (
        linalg.svd,
        linalg.svdvals,
        linalg.eigh,
        linalg.eig,
        linalg.pinv,
        linalg.matrix_exp,
    ):
        with pytest.raises(tl.MatrixError, match="must be finite"):
            call(nan)
    for call in (linalg.det, linalg.inv, linalg.eigh, linalg.cholesky, linalg.matrix_exp):
        with pytest.raises(tl.ShapeError, match="square"):
            call(tl.tensor([[1.0, 2.0]]))
    assert issubclass(tl.MatrixError, ValueError)


def test_huge_determinants_overflow_no_sooner_than_they_must() -> None:
    x = np.diag([1e200, 1e200, 1e-200, 1e-200])
    assert linalg.det(tl.tensor(x)).item() == pytest.approx(1.0)
    assert linalg.slogdet(tl.tensor(np.diag([1e300] * 4))).logabsdet.item() == pytest.approx(
        1200 * np.log(10)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
def test_factors_solve_what_they_were_made_of(upper: bool, dtype: str) -> None:
    x, b = positive((2, 3, 3), dtype), matrices((2, 3, 2), dtype, 1)
    for sides in (b, b[0, :, 0]):
        wanted = np.linalg.solve(x, sides[:, None] if sides.ndim == 1 else sides)
        wanted = wanted[..., 0] if sides.ndim == 1 else wanted
        factor = linalg.cholesky(tl.tensor(x), upper=upper)
        assert_near(linalg.cholesky_solve(factor, tl.tensor(sides), upper=upper), wanted, dtype)
        assert_near(linalg.lu_solve(linalg.lu(tl.tensor(x)), tl.tensor(sides)), wanted, dtype)
    assert_near(linalg.cholesky_inverse(factor, upper=upper), np.linalg.inv(x), dtype)


def test_tensors_are_solved_and_inverted_as_matrices() -> None:
    x = matrices((2, 3, 6))
    assert_near(linalg.tensorinv(tl.tensor(x)), np.linalg.tensorinv(x))
    y = np.moveaxis(x, 2, 0)
    b = matrices((6,), seed=1)
    assert_near(linalg.tensorsolve(tl.tensor(y), tl.tensor(b)), np.linalg.tensorsolve(y, b))
    b = matrices((2, 3), seed=1)
    found = linalg.tensorsolve(tl.tensor(y), tl.tensor(b), axes=(0,))
    assert_near(found, np.linalg.tensorsolve(y, b, (0,)))
    with pytest.raises(tl.ShapeError, match="tensorinv: the product"):
        linalg.tensorinv(tl.tensor(x), ind=1)
    with pytest.raises(tl.ShapeError, match=r"tensorsolve: x1\.shape must"):
        linalg.tensorsolve(tl.tensor(x), tl.tensor(b[0]))


def test_chains_are_multiplied_in_the_cheapest_order() -> None:
    sizes = [3, 40, 2, 30, 5]
    chain = [matrices(pair, seed=i) for i, pair in enumerate(itertools.pairwise(sizes))]
    wanted = np.linalg.multi_dot(chain)
    assert_near(linalg.multi_dot([tl.tensor(x) for x in chain]), wanted)
    ends = [chain[0][0], *chain[1:-1], chain[-1][:, 0]]
    assert_near(linalg.multi_dot([tl.tensor(x) for x in ends]), np.linalg.multi_dot(ends))
    assert_near(linalg.multi_dot([tl.tensor(chain[0]), tl.tensor(chain[1])]), chain[0] @ chain[1])
    for wrong in ([chain[0]], [chain[0], chain[1][0], chain[2]], [chain[0], chain[2]]):
        with pytest.raises(tl.ShapeError):
            linalg.multi_dot([tl.tensor(x) for x in wrong])


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float64", "complex128"])
@pytest.mark.parametrize("n", [None, 0, 1, 5])
def test_powers_rise_from_one(n: int | None, dtype: str) -> None:
    x = np.array([1, 2, 0 if dtype == "uint64" else -3]).astype(dtype)
    found = linalg.vander(tl.tensor(x), n=n)
    wanted = np.vander(x, n, increasing=True)
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(np.asarray(found), wanted)
    stacked = linalg.vander(tl.tensor(np.stack([x, x])), n=n)
    np.testing.assert_array_equal(np.asarray(stacked)[1], wanted)


def test_a_norm_is_that_of_the_axes() -> None:
    x = matrices((2, 3, 4))
    t = tl.tensor(x)
    assert_near(linalg.norm(t), np.linalg.norm(x))
    assert_near(linalg.norm(t, axis=1, keepdims=True), np.linalg.norm(x, axis=1, keepdims=True))
    for ord in ("fro", "nuc", 1, -2, np.inf):
        for axes in ((0, 1), (2, 0), (-1, -2)):
            wanted = np.linalg.norm(x, ord, axis=axes, keepdims=True)
            assert_near(linalg.norm(t, ord, axis=axes, keepdims=True), wanted)
    assert_near(linalg.norm(t[0], 1), np.linalg.norm(x[0], 1))
    assert_near(linalg.norm(t[0, 0], 3), np.linalg.norm(x[0, 0], 3))
    assert_near(linalg.norm(tl.tensor(-2.0)), 2.0)
    for wrong in ({"ord": 2}, {"ord": 1, "axis": (0, 0)}, {"ord": "fro", "axis": 0}):
        with pytest.raises(tl.TensorlikeError):
            linalg.norm(t, **wrong)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (3, 6), (1, 1)])
def test_complex_vectors_of_factors_have_one_phase(shape: tuple[int, ...], dtype: str) -> None:
    x = tl.tensor(matrices(shape, dtype))
    found = [np.asarray(linalg.svd(x, full_matrices=False).U)]
    if shape[-1] == shape[-2]:
        found += [np.asarray(call(x).eigenvectors) for call in (linalg.eigh, linalg.eig)]
    for vectors in found:
        sizes = np.abs(vectors)
        chosen = np.take_along_axis(vectors, np.argmax(sizes, -2, keepdims=True), -2)
        assert (chosen.imag == 0).all() and (chosen.real > 0).all()
    _, r = linalg.qr(x)
    assert (np.diagonal(np.asarray(r), 0, -2, -1).imag == 0).all()


def test_of_equal_elements_of_a_vector_the_first_is_real() -> None:
    """Their last bits decide nothing: the eigenvectors are (1, i) and (1, -i)."""
    for scale in np.random.default_rng(0).uniform(0.1, 9.0, 20):
        x = tl.tensor(scale * np.array([[0, -1j], [1j, 0]]))
        vectors = np.asarray(linalg.eigh(x).eigenvectors) * np.sqrt(2)
        np.testing.assert_allclose(vectors, [[1, 1], [-1j, 1j]], atol=1e-14)


def test_a_loss_that_sees_no_phase_has_the_gradient_of_one_that_cannot() -> None:
    """The projector on the largest vectors, by factors and by a function of the product."""
    x = tl.tensor(matrices((5, 3), "complex128"))
    weights = tl.tensor(matrices((5, 5), "complex128", 1))

    def by_vectors(x: Any) -> Any:
        u = linalg.svd(x, full_matrices=False).U
        return (tl.real((u @ tl.conj(u).mT) * weights)).sum()

    def by_inverse(x: Any) -> Any:
        y = tl.conj(x).mT
        return (tl.real((x @ linalg.inv(y @ x) @ y) * weights)).sum()

    assert_near(tl.grad(by_vectors)(x), np.asarray(tl.grad(by_inverse)(x)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_and_large_systems_are_solved_alike(dtype: str) -> None:
    """Small ones by loops of our own, large ones by LAPACK, many sides in blocks."""
    for n in (*range(1, 22), 40, 70):
        x = matrices((2, n, n), dtype, n) + 3 * np.eye(n, dtype=dtype)
        x[:, 0, 0] = 0  # rows are exchanged
        if n == 1:
            x[:] = 2
        assert_near(linalg.inv(tl.tensor(x)), np.linalg.inv(x), dtype)
        sign, size = linalg.slogdet(tl.tensor(x))
        assert_near(sign, np.linalg.slogdet(x)[0], dtype)
        assert_near(size, np.linalg.slogdet(x)[1], dtype)
        for k in (1, 3, 130):
            b = matrices((2, n, k), dtype, k)
            assert_near(linalg.solve(tl.tensor(x), tl.tensor(b)), np.linalg.solve(x, b), dtype)
            for upper in (False, True):
                triangle = np.triu(x) if upper else np.tril(x)
                triangle = triangle + 5 * np.eye(n, dtype=dtype)
                found = linalg.solve_triangular(tl.tensor(triangle), tl.tensor(b), upper=upper)
                assert_near(found, np.linalg.solve(triangle, b), dtype)

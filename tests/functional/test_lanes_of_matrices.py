"""Batches of small matrices, which are treated one in each lane of a vector, against NumPy's in
double precision: of every size about those, well and ill conditioned, in odd layouts, with the
errors of single ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional
SIDES = (1, 2, 3, 4, 5, 8, 12, 16, 17, 20, 21, 24, 25)
COUNTS = (0, 1, 2, 3, 8, 15, 16, 17, 35)
DTYPES = ("float32", "float64")
KINDS = ("normal", "graded", "close", "integers", "tiny", "huge")
LAYOUTS = ("in_order", "columns", "every_second", "reversed")


def drawn(kind: str, count: int, m: int, n: int, dtype: str, seed: int) -> Any:
    """Matrices: with rows of all sizes, with rows that are nearly multiples, of small integers,
    with numbers whose squares leave the dtype's range."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, m, n))
    if kind == "graded":
        x *= np.logspace(0, -5, m)[:, None]
    if kind == "close":
        x = x[:, :1] + 1e-4 * x
    if kind == "integers":
        x = np.rint(2 * x)
    far = 1e25 if dtype == "float32" else 1e180
    if kind in ("tiny", "huge"):
        x *= far if kind == "huge" else 1 / far
    return x.astype(dtype)


def placed(x: Any, layout: str) -> tl.Tensor:
    """The same matrices with other strides."""
    if layout == "columns":
        return tl.tensor(np.ascontiguousarray(x.swapaxes(-1, -2))).mT
    if layout == "reversed":
        return tl.tensor(np.ascontiguousarray(x[::-1, ::-1]))[::-1, ::-1]
    if layout == "every_second":
        return tl.tensor(np.repeat(np.repeat(x, 2, axis=0), 2, axis=2))[::2, :, ::2]
    return tl.tensor(x)


def cases(square: bool = True) -> Any:
    seed = 0
    for dtype in DTYPES:
        for side in SIDES:
            for count in COUNTS:
                seed += 1
                other = side if square else 1 + seed * 5 % 25
                kind = KINDS[seed % len(KINDS)]
                x = drawn(kind, count, side, other, dtype, seed)
                yield kind, x, placed(x, LAYOUTS[seed % len(LAYOUTS)])


def sizes(x: Any) -> Any:
    """The largest element of each matrix, 1 for zeros."""
    most = np.abs(x).max((-2, -1), initial=0)
    return np.where(most == 0, 1, most)[..., None, None]


def check(found: tl.Tensor, wanted: Any, x: Any, factor: float = 8) -> None:
    """Within `factor` times the side of the precision of the largest element of x's matrices."""
    if found.shape[0] == 0:
        assert found.shape == wanted.shape
        return
    precision = np.finfo(x.dtype).eps * max(x.shape[-2:]) * factor
    assert np.asarray(found).dtype == x.dtype
    scale = sizes(x.astype("float64")).reshape((-1,) + (1,) * (wanted.ndim - 1))
    errors = np.abs(np.asarray(found).astype("float64") / scale - wanted / scale)
    assert errors.max(initial=0) <= precision, errors.max()


def test_cholesky() -> None:
    for kind, x, _ in cases():
        if kind in ("tiny", "huge"):
            continue
        n = x.shape[-1]
        spd = (x @ x.swapaxes(1, 2) + np.eye(n)).astype(x.dtype)
        for upper in (False, True):
            for layout in LAYOUTS[:3]:
                a = np.asarray(F.cholesky(placed(spd, layout), upper=upper)).astype("float64")
                low = a.swapaxes(1, 2) if upper else a
                assert (np.triu(low, 1) == 0).all()
                check(tl.tensor((low @ low.swapaxes(1, 2)).astype(x.dtype)), spd, spd)


def test_solutions_have_small_residuals() -> None:
    for kind, x, a in cases():
        if kind == "integers":  # which may be singular
            continue
        count, n, _ = x.shape
        for k in (1, 3, n):
            b = np.random.default_rng(k).standard_normal((count, n, k)).astype(x.dtype)
            y = np.asarray(F.solve(a, tl.tensor(b))).astype("float64")
            scale = sizes(x.astype("float64"))
            left = (x.astype("float64") / scale) @ (y * scale)
            allowed = 8 * n * np.finfo(x.dtype).eps * (1 + np.abs(y * scale).max(1, keepdims=True))
            assert (np.abs(left - b) <= allowed).all(), (kind, x.shape, k)


def test_inverses_of_well_conditioned_matrices() -> None:
    for kind, x, _ in cases():
        if kind not in ("normal", "tiny", "huge"):
            continue
        n = x.shape[-1]
        x = (x / sizes(x.astype("float64")) + 3 * np.eye(n)).astype(x.dtype)
        check(F.inv(tl.tensor(x)), np.linalg.inv(x.astype("float64")), x)


def test_determinants() -> None:
    for kind, x, a in cases():
        if kind in ("close", "graded"):
            continue
        n = x.shape[-1]
        eps = n * float(np.finfo(x.dtype).eps)
        scale = sizes(x.astype("float64"))
        exact = np.linalg.det(x.astype("float64") / scale)
        sign, log = (np.asarray(y).astype("float64") for y in F.slogdet(a))
        scaled = sign * np.exp(log - n * np.log(scale[:, 0, 0]))
        # The product of the lengths of the rows bounds a determinant, and its condition.
        bound = np.prod(np.linalg.norm(x / scale, axis=2), axis=1)
        assert (np.abs(scaled - exact) <= 8 * eps * bound + 8 * eps * np.abs(log)).all(), kind
        found = np.asarray(F.det(a)).astype("float64")
        limit = np.log(float(np.finfo(x.dtype).max))
        near = np.abs(log) < limit - 1
        ratio = np.log(np.abs(found[near])) - log[near]
        assert np.abs(ratio).max(initial=0) <= 8 * eps * (1 + np.abs(log[near]).max(initial=0))
        assert (np.sign(found[near]) == sign[near]).all()
        assert np.isinf(found[log > limit + 1]).all()
        assert (found[log < -2 * limit] == 0).all()


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangles(left: bool, upper: bool, unit: bool) -> None:
    for kind, x, _ in cases():
        if kind != "normal":
            continue
        count, n, _ = x.shape
        part = (np.triu if upper else np.tril)(x) / (2 * n)
        t = part - part * np.eye(n) + (np.eye(n) if unit else (2 + np.abs(part)) * np.eye(n))
        stored = (x * ~np.tri(n, dtype=bool).T if upper else x * ~np.tri(n, dtype=bool)) + t
        b = np.random.default_rng(1).standard_normal((count, n, 3) if left else (count, 3, n))
        stored, b, t = stored.astype(x.dtype), b.astype(x.dtype), t.astype(x.dtype).astype("f8")
        for layout in LAYOUTS:
            y = F.solve_triangular(
                placed(stored, layout), placed(b, layout), left=left, upper=upper,
                unitriangular=unit,
            )  # fmt: skip
            solved = np.asarray(y).astype("float64")
            check(tl.tensor((t @ solved if left else solved @ t).astype(x.dtype)), b, b)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr(mode: str) -> None:
    for kind, x, a in cases(square=False):
        q, r = (np.asarray(y).astype("float64") for y in F.qr(a, mode=mode))
        m, n = x.shape[1:]
        width = m if mode == "complete" else min(m, n)
        assert q.shape == (len(x), m, width) and r.shape == (len(x), width, n)
        assert (np.tril(r, -1) == 0).all()
        scale = sizes(x.astype("float64"))
        eps = np.finfo(x.dtype).eps * max(m, n)
        assert (np.abs(q @ (r / scale) - x / scale) <= 8 * eps).all(), (kind, x.shape)
        assert (np.abs(q.swapaxes(1, 2) @ q - np.eye(width)) <= 8 * eps).all()
        if kind in ("normal", "tiny", "huge") and len(x) > 0:  # R is LAPACK's, signs included
            lapack = np.linalg.qr((x / scale).astype("float64"), mode=mode)[1]
            assert (np.abs(lapack - r / scale) <= 2000 * eps).all()


def test_eigenvalues() -> None:
    for _, x, a in cases():
        half = x.astype("float64")
        half = (half + half.swapaxes(1, 2)) / 2
        wanted = np.linalg.eigvalsh(half) if len(x) else np.zeros(x.shape[:2])
        check(F.eigvalsh(a), wanted, x)


def test_singular_values() -> None:
    for _, x, a in cases(square=False):
        wanted = np.linalg.svd(x.astype("float64"), compute_uv=False)
        found = F.svdvals(a)
        check(found, wanted, x)
        assert (np.diff(np.asarray(found)) <= 0).all() and (np.asarray(found) >= 0).all()


CALLS: dict[str, Callable[[Any], Any]] = {
    "cholesky": F.cholesky,
    "inv": F.inv,
    "solve": lambda x: F.solve(x, x),
    "det": F.det,
    "qr": lambda x: F.qr(x)[1],
    "eigvalsh": F.eigvalsh,
    "svdvals": F.svdvals,
    "triangular": lambda x: F.solve_triangular(x, x, upper=False),
}


@pytest.mark.parametrize("name", CALLS)
def test_alone_and_together_and_over_threads(name: str) -> None:
    before = tl.num_threads()
    for dtype in DTYPES:
        for n in (1, 3, 8, 11, 16, 24):
            x = drawn("normal", 1000 // n, n, n, dtype, n)
            x = (x @ x.swapaxes(1, 2) / n + np.eye(n)).astype(dtype)
            together = np.asarray(CALLS[name](tl.tensor(x)))
            for threads in (1, 2, 5):
                tl.set_num_threads(threads)
                try:
                    assert (np.asarray(CALLS[name](tl.tensor(x))) == together).all()
                finally:
                    tl.set_num_threads(before)
            for i in (0, 1, len(x) - 1):
                alone = np.asarray(CALLS[name](tl.tensor(x[i])))
                most = np.abs(together[i]).max()
                assert np.abs(alone - together[i]).max() <= 64 * n * np.finfo(dtype).eps * most


def refusal(call: Callable[[Any], Any], x: Any) -> str:
    with pytest.raises(tl.MatrixError) as error:
        call(tl.tensor(x))
    return str(error.value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cholesky", "inv", "solve", "triangular", "eigvalsh", "svdvals"])
def test_the_first_matrix_that_is_refused_is_named(name: str, dtype: str) -> None:
    call = CALLS[name]
    rng = np.random.default_rng(len(name))
    takes_all = name in ("inv", "solve", "triangular")
    for n in (1, 2, 3, 8, 16, 24, 25):
        x = drawn("normal", 70, n, n, dtype, n)
        x = (x @ x.swapaxes(1, 2) + n * np.eye(n)).astype(dtype)
        for at in sorted(rng.choice(70, 4, replace=False)):
            bad = -np.eye(n) if name == "cholesky" else np.zeros((n, n))
            if name in ("eigvalsh", "svdvals"):
                bad = np.full((n, n), rng.choice([np.nan, np.inf, -np.inf]))
            y = x.copy()
            y[at] = bad
            y[min(69, at + 20)] = bad
            alone = refusal(call, y[at])
            assert f"number {at} of the batch" in refusal(call, y)
            assert alone.split("got")[0] == refusal(call, y).split("got")[0]
        if not takes_all:
            y = x.copy()
            y[13, 0, 0] = np.nan
            assert "must be finite" in refusal(call, y) and "number 13 " in refusal(call, y)


@pytest.mark.parametrize("n", [2, 5, 16])
def test_nan_and_infinities_flow_as_in_a_single_matrix(n: int) -> None:
    for value in (np.nan, np.inf):
        x = drawn("normal", 40, n, n, "float32", 1) + 3 * np.eye(n, dtype=np.float32)
        x[7, 1, 0] = value
        for call in (F.inv, F.det, lambda y: F.solve(y, y), lambda y: F.qr(y)[1]):
            together, alone = np.asarray(call(tl.tensor(x))), np.asarray(call(tl.tensor(x[7])))
            assert (np.isfinite(together[7]) == np.isfinite(alone)).all()
            assert np.isfinite(np.delete(together, 7, axis=0)).all()


def test_one_matrix_meets_many_right_sides() -> None:
    a = drawn("normal", 1, 4, 4, "float64", 3) + 3 * np.eye(4)
    b = np.random.default_rng(0).standard_normal((30, 4, 2))
    found = np.asarray(F.solve(F.broadcast_to(tl.tensor(a), (30, 4, 4)), tl.tensor(b)))
    assert np.allclose(found, np.linalg.solve(a, b), rtol=1e-12, atol=1e-12)
    many = drawn("normal", 30, 4, 4, "float64", 4) + 3 * np.eye(4)
    found = np.asarray(F.solve(tl.tensor(many.reshape(5, 6, 4, 4)), tl.tensor(b[:6])))
    assert np.allclose(found, np.linalg.solve(many.reshape(5, 6, 4, 4), b[:6]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_matrices(dtype: str) -> None:
    eps = float(np.finfo(dtype).eps)
    for seed, n in enumerate((1, 2, 3, 4, 7, 8, 15, 16, 17)):
        for count in COUNTS:
            rng = np.random.default_rng(seed)
            x = rng.standard_normal((count, n, n)) + 1j * rng.standard_normal((count, n, n))
            x = (x + 2 * np.eye(n)).astype(dtype)
            b = (rng.standard_normal((count, n, 3)) - 1j).astype(dtype)
            a = placed(x, LAYOUTS[seed % len(LAYOUTS)])
            wide = x.astype("complex128")
            y = np.asarray(F.solve(a, tl.tensor(b))).astype("complex128")
            allowed = 16 * n * eps * (1 + np.abs(y).max(1, keepdims=True))
            assert (np.abs(wide @ y - b) <= allowed).all()
            exact = np.linalg.det(wide)
            bound = np.prod(np.linalg.norm(wide, axis=2), axis=1)
            assert (np.abs(np.asarray(F.det(a)) - exact) <= 16 * n * eps * bound).all()
            sign, log = (np.asarray(part) for part in F.slogdet(a))
            assert (np.abs(sign * np.exp(log) - exact) <= 16 * n * eps * bound).all()
            inverse = np.asarray(F.inv(a)).astype("complex128")
            assert (
                np.abs(wide @ inverse - np.eye(n))
                <= 16 * n * eps * (1 + np.abs(inverse).max((1, 2), keepdims=True, initial=0))
            ).all()
            h = (wide @ wide.conj().swapaxes(1, 2) + np.eye(n)).astype(dtype)
            low = np.asarray(F.cholesky(tl.tensor(h))).astype("complex128")
            up = np.asarray(F.cholesky(tl.tensor(h), upper=True)).astype("complex128")
            most = 1 + np.abs(h).max((1, 2), keepdims=True, initial=0)
            assert (np.abs(low @ low.conj().swapaxes(1, 2) - h) <= 8 * n * eps * most).all()
            assert (np.abs(up.conj().swapaxes(1, 2) @ up - h) <= 8 * n * eps * most).all()
            assert (np.triu(low, 1) == 0).all() and (np.tril(up, -1) == 0).all()
            t = np.tril(x) + 3 * np.eye(n, dtype=dtype)
            solved = np.asarray(F.solve_triangular(tl.tensor(t), tl.tensor(b), upper=False))
            allowed = (
                16
                * n
                * eps
                * (1 + np.abs(solved).max(1, keepdims=True))
                * (1 + np.abs(t).max(initial=0))
            )
            assert (np.abs(t @ solved - b) <= allowed).all()


def test_complex_matrices_are_refused_as_real_ones() -> None:
    x = np.tile(np.eye(3, dtype=np.complex64) * (1 + 0j), (40, 1, 1))
    bad = x.copy()
    bad[21, 2, 2] = 0
    for name in ("cholesky", "inv", "solve", "triangular"):
        assert "number 21 of the batch" in refusal(CALLS[name], bad)
    bad[13, 0, 1] = complex(0, np.nan)
    assert "finite" in refusal(F.cholesky, bad) and "number 13 " in refusal(F.cholesky, bad)
    assert np.asarray(F.det(tl.tensor(x * 1j))) == pytest.approx(np.full(40, -1j))

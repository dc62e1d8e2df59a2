"""Linear algebra of what no one should pass: a value, or an error of our own that names the op."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

Array = np.ndarray[Any, Any]
L = tl.linalg
NAN, INF = math.nan, math.inf
ONE = (
    "cholesky", "cond", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lu",
    "matrix_exp", "matrix_norm", "matrix_rank", "matrix_transpose", "pinv", "qr", "slogdet", "svd",
    "svdvals", "trace",
)  # fmt: skip
rng = np.random.default_rng(0)


def spoiled(n: int, value: float, dtype: str = "float64") -> Array:
    """A matrix with one element that is no number."""
    x = rng.normal(size=(n, n)).astype(dtype)
    x[n // 2, -1] = value
    return x


MATRICES: dict[str, Any] = {
    "number": np.float64(1), "vector": np.ones(3), "wide": np.ones((2, 3)), "tall": np.ones((3, 2)),
    "zeros": np.zeros((3, 3)), "ones": np.ones((3, 3)), "not positive": -np.eye(3),
    "without eigenvectors": np.array([[1.0, 1], [0, 1]]),
    "one of them singular": np.stack([np.eye(3), np.zeros((3, 3))]),
    "nan": spoiled(3, NAN), "large nan": spoiled(300, NAN, "float32"), "inf": spoiled(3, INF),
    "-inf": spoiled(40, -INF), "complex nan": spoiled(40, NAN).astype("complex64"),
    "all nan": np.full((5, 5), NAN), "all inf": np.full((2, 6, 6), INF),
    "0x0": np.zeros((0, 0)), "0x3": np.zeros((0, 3)), "3x0": np.zeros((3, 0)),
    "no matrices": np.zeros((0, 3, 3)), "empty matrices": np.zeros((2, 0, 0)),
    "integers": np.array([[2, 1], [1, 3]]), "booleans": np.eye(2) > 0,
    "bytes": np.eye(2, dtype="uint8"), "halves": 2 * np.eye(3, dtype="float16"),
    "huge": np.full((4, 4), 1e308), "huge in single": np.full((4, 4), 3e38, "float32"),
    "denormal": rng.normal(size=(4, 4)) * 1e-320, "graded": np.diag([1e150, 1.0, 1e-150]),
    "large": rng.normal(size=(300, 300)), "turned": rng.normal(size=(4, 6))[:, ::-2][:3],
    "list": [[1.0, 2.0], [3.0, 4.0]],
    "nothing": None, "text": "a", "ragged": [[1.0], [1.0, 2.0]], "object": object(),
}  # fmt: skip


def run(call: Callable[[], Any]) -> Any:
    """The result, or None where the call is refused as we refuse."""
    try:
        return call()
    except tl.TensorlikeError as error:
        assert re.match(r"\w+: .+ must .+", str(error)), str(error)
        return None


@pytest.mark.timeout(30)
@pytest.mark.parametrize("given", MATRICES)
@pytest.mark.parametrize("name", ONE)
def test_no_matrix_hangs_or_crashes(name: str, given: str, capfd: Any) -> None:
    with np.errstate(all="ignore"):
        found = run(lambda: getattr(L, name)(MATRICES[given]))
    for part in found if isinstance(found, tuple) else (found,):
        assert part is None or np.asarray(part).size < 10**6
    printed = capfd.readouterr()
    assert printed.out + printed.err == ""  # LAPACK prints what it is called wrongly with


A, B = 2 * np.eye(3), np.ones(3)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "sizes": (lambda: L.solve(A, np.ones(4)), "Solve: x1.shape[-2] must equal x2.shape[0]"),
    "no right side": (lambda: L.solve(A, 1.0), "Solve: shapes must be x1 (..., n, n), x2 (n,), or"),
    "batches": (lambda: L.solve(np.ones((2, 3, 3)), np.ones((4, 3, 1))), "Solve: shapes must"),
    "not square": (lambda: L.solve(np.ones((2, 3)), B), "Solve: x1 must be square"),
    "zero on the diagonal": (lambda: L.solve_triangular(0 * A, B, upper=True),
                             "SolveTriangular: x1 must be invertible"),
    "upper": (lambda: L.solve_triangular(A, B, upper="yes"), "solve_triangular: upper must be"),  # type: ignore[arg-type]
    "rtol": (lambda: L.lstsq(A, B, rtol=-1.0), "lstsq: rtol >= 0 must hold; got rtol=-1.0"),
    "rtol NaN": (lambda: L.lstsq(A, B, rtol=NAN), "lstsq: rtol >= 0 must hold"),
    "sides with NaN": (lambda: L.lstsq(A, B * NAN), "lstsq: x1 must be finite"),
    "mode": (lambda: L.qr(A, mode="raw"), "QR: mode must be 'reduced' or 'complete'; got 'raw'."),
    "determinant's mode": (lambda: tl.functional.determinant(A, mode="spam"),
                           "Determinant: mode must be 'value', 'logarithm' or 'cofactors'"),
    "full_matrices": (lambda: L.svd(A, full_matrices=2), "svd: full_matrices must be"),
    "norm": (lambda: L.matrix_norm(A, ord=3), "matrix_norm: ord must be 'fro', 'nuc'"),
    "norm of a vector": (lambda: L.vector_norm(A, ord=NAN), "vector_norm: ord must be a number"),
    "axis": (lambda: L.vector_norm(A, axis=5), "vector_norm: axis must be in [-2, 1]"),
    "axis twice": (lambda: L.vector_norm(A, axis=(0, 0)), "vector_norm: axes must differ"),
    "power": (lambda: L.matrix_power(A, 1.5), "matrix_power: n must be an integer"),  # type: ignore[arg-type]
    "power of none": (lambda: L.matrix_power(0 * A, -1), "matrix_power: x must be invertible"),
    "offset": (lambda: L.diagonal(A, offset=0.5), "diagonal: offset must be an integer"),  # type: ignore[arg-type]
    "two elements": (lambda: L.cross(np.ones(2), np.ones(2)), "cross: vectors must have 3"),
    "cross axis": (lambda: L.cross(B, B, axis=2), "cross: axis must be in [-1, 0]"),
    "cross axis name": (lambda: L.cross(B, B, axis="a"), "cross: axis must be an integer"),  # type: ignore[arg-type]
    "outer": (lambda: L.outer(A, A), "outer: x1 and x2 must have one dimension"),
    "axes": (lambda: L.tensordot(A, A, axes=5), "tensordot: axes must be in [0, 2]"),
    "empty cond": (lambda: L.cond(np.ones((0, 2))), "cond: a matrix must have elements"),
    "negative powers": (lambda: L.vander(B, n=-1), "vander: n must not be negative; got -1."),
    "too many powers": (lambda: L.vander(B, n=2**60), "vander: "),
    "one factor": (lambda: L.multi_dot([A]), "multi_dot: xs must be two matrices or more"),
    "sizes beyond LAPACK's": (lambda: L.svdvals(tl.broadcast_to(tl.tensor(1.0), (2**31, 0))),
                              "svdvals: max(m, n) < 1073741824 must hold"),
    "beyond memory": (lambda: L.qr(tl.broadcast_to(tl.tensor(1.0), (2**29, 1)), mode="complete"),
                      "QR: 1152921504606846976 bytes could not be had"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_will_not_do_is_said_in_one_line(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises((tl.TensorlikeError, MemoryError)) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_equations_without_unknowns_or_sides_have_empty_solutions(capfd: Any) -> None:
    def shapes(result: Any) -> list[tuple[int, ...]]:
        return [tuple(part.shape) for part in result]

    assert L.solve(np.ones((0, 0)), np.ones((0, 2))).shape == (0, 2)
    assert L.solve(np.ones((0, 0)), np.ones(0)).shape == (0,)
    assert L.solve(A, np.ones((3, 0))).shape == (3, 0)
    assert shapes(L.lstsq(np.ones((0, 3)), np.ones((0, 2)))) == [(3, 2), (2,), (), (0,)]
    assert shapes(L.lstsq(np.ones((3, 0)), np.ones((3, 2)))) == [(0, 2), (2,), (), (0,)]
    found = L.lstsq(np.ones((3, 2)), np.ones((3, 0)))
    assert shapes(found) == [(2, 0), (0,), (), (2,)] and found.rank.item() == 1
    assert capfd.readouterr().err == ""


def test_the_condition_of_a_singular_matrix_is_infinite() -> None:
    assert L.cond(tl.zeros((2, 2))).item() == INF
    assert L.cond(tl.tensor([[1.0, 0.0], [0.0, 0.0]])).item() == INF

"""Reductions of columns, a strip of them at a time: each column has what it has by itself, whatever
stands beside it, of every dtype; and deviations of short rows."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional
HALVES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
DTYPES = ["bool", "uint8", "int16", "int32", "int64", "uint64", "float16", "bfloat16", "float32",
          "float64", "complex64", "complex128"]  # fmt: skip
WIDTHS = [2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 24, 31, 33, 48, 64, 65, 77, 100, 130, 257, 1030]


def values(shape: tuple[int, ...], dtype: str) -> Any:
    rng = np.random.default_rng(shape[-1])
    x = rng.normal(size=shape) * 9
    if dtype == "bool":
        return x > 0
    if dtype.startswith("complex"):
        return (x + 1j * rng.normal(size=shape)).astype(dtype)
    return (np.abs(x) if dtype[0] == "u" else x).astype(HALVES.get(dtype, dtype))


def bits(x: Any) -> bytes:
    return np.asarray(x).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_in_strips_are_those_of_wider_tables(dtype: str) -> None:
    names = ["sum", "prod", "any"] + ([] if dtype.startswith("complex") else ["max", "min"])
    for rows in (0, 1, 7, 8, 17, 64):
        table = values((rows, max(WIDTHS) + 9), dtype)
        for name in names if rows > 0 else names[:3]:
            f = getattr(F, name)
            if dtype.startswith("complex") and name == "prod":
                continue  # whether products are rounded before they are added is the compiler's
            whole = np.asarray(f(tl.tensor(table), axis=0))
            for width in WIDTHS:
                part = np.ascontiguousarray(table[:, 9 : 9 + width])
                wanted = whole[9 : 9 + width].tobytes()
                assert bits(f(tl.tensor(part), axis=0)) == wanted, (name, rows, width)
                assert bits(f(tl.tensor(table)[:, 9 : 9 + width], axis=0)) == wanted
                middle = tl.tensor(np.stack([part, part]))
                assert bits(f(middle, axis=1)) == 2 * wanted


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int16", "int64", "float32", "float64"])
def test_columns_in_strips_are_as_exact_as_numbers_are(dtype: str) -> None:
    for rows, width in ((515, 77), (4000, 33), (45057, 9), (3000, 300), (300, 3000)):
        x = values((rows, width), dtype)
        wanted = x.astype("f8").sum(axis=0)
        found = np.asarray(F.sum(tl.tensor(x), axis=0)).astype("f8")
        size = np.abs(x.astype("f8")).sum(axis=0)
        rounding = {"float16": 5e-4, "bfloat16": 4e-3}.get(dtype, 0)
        assert np.all(np.abs(found - wanted) <= 1e-6 * size + rounding * np.abs(wanted))


def test_columns_in_strips_do_not_depend_on_threads() -> None:
    before = tl.num_threads()
    try:
        for shape in ((515, 77), (70, 130), (9, 642), (20, 2114), (3, 4101), (4, 40, 650)):
            for dtype in ("float16", "float64", "complex64"):
                x = tl.tensor(values(shape, dtype))
                found = set()
                for threads in (1, 2, 5):
                    tl.set_num_threads(threads)
                    found.add(tuple(bits(f(x, axis=-2)) for f in (F.sum, F.prod)))
                assert len(found) == 1, (shape, dtype)
    finally:
        tl.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_deviations_of_a_short_row_are_those_of_the_row_alone(dtype: str) -> None:
    for n in (*range(1, 35), 63, 64, 65, 78, 300, 1023, 1024, 1025, 2000):
        x = values((19, n), dtype) + 1000
        x[2] = x[2, 0]
        x[5, n // 2] = np.nan
        x[7, n - 1] = np.inf
        made = tl.tensor(x)
        found = np.asarray(F.var(made, axis=1))
        assert found[2] == 0
        plain = np.delete(np.arange(19), [2, 5, 7])
        np.testing.assert_allclose(found[plain], x[plain].astype("f8").var(axis=1), rtol=2e-6)
        assert np.isnan(found[[5, 7]]).all()
        alone = [bits(F.var(tl.tensor(row), axis=0)) for row in x]
        assert [row.tobytes() for row in found] == alone
        wider = tl.tensor(np.concatenate([x, x], axis=1))[:, :n]
        assert bits(F.var(wider, axis=1)) == found.tobytes()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_deviations_are_exact_where_the_first_element_is_far_from_the_others(
    dtype: str, axis: int
) -> None:
    for n in (9, 64, 500, 1024, 3000):
        x = values((n, 21), "float64")
        x[0] = 1e6
        x[:, 1] += 1e5
        x[n // 2, 2] = -1e7
        x = x.astype(dtype) if axis == 0 else np.ascontiguousarray(x.astype(dtype).T)
        exact = x.astype(np.longdouble).var(axis=axis)
        found = np.asarray(F.var(tl.tensor(x), axis=axis), dtype="f8")
        np.testing.assert_allclose(found, exact.astype("f8"), 1e-13 if dtype == "float64" else 2e-7)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_largest_of_columns_of_halves_is_nan_where_any_is(dtype: str) -> None:
    for rows, width in ((8, 16), (64, 33), (100, 130), (530, 70)):
        x = values((rows, width), dtype)
        x[rows // 3, 5] = np.nan
        x[rows - 1, width - 1] = -np.nan
        x[0, 7], x[1, 8] = np.inf, -np.inf
        x[:, 9] = np.where(np.arange(rows) % 2 > 0, 0.0, -0.0)
        for name in ("max", "min"):
            call = getattr(F, name)
            found = call(tl.tensor(x), axis=0)
            wide = call(tl.tensor(x.astype("f4")), axis=0)
            assert bits(found) == bits(wide.astype(dtype)), (name, rows, width)
            alone = [bits(call(tl.tensor(np.ascontiguousarray(c)), axis=0)) for c in x.T[:9]]
            assert alone[:9] == [bits(found[c]) for c in range(9)]

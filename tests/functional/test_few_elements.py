"""Short rows and few columns: vectors across them give the bits of the loops along them.

tests/test_isa_levels.py runs some of these at every level of the processor, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

Array = np.ndarray[Any, Any]
DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", "complex64",
]  # fmt: skip
NAMES = ["sum", "prod", "max", "min", "any", "all", "mean", "count_nonzero", "sumsq", "sumabs"]


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if "int" in dtype:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    x = rng.normal(size=shape).astype(dtype)
    if dtype[0] == "f":
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
        x = np.where(rng.random(shape) < 0.02, rng.choice(special, shape), x)
    return x


def is_defined(name: str, dtype: str) -> bool:
    if name in ("max", "min", "sumabs"):
        return "complex" not in dtype
    return name != "mean" or dtype[0] in "fc"


def bits(x: Any) -> bytes:
    """What tells zeros apart, but no NaN from another."""
    found = np.asarray(x)
    return (
        np.where(np.isnan(found), np.nan, found) if found.dtype.kind in "fc" else found
    ).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_rows_that_follow_each_other_have_the_bits_of_those_apart(name: str, dtype: str) -> None:
    if not is_defined(name, dtype):
        pytest.skip("not defined")
    call = getattr(F, name)
    for n in [*range(1, 35), 63, 64, 65, 130, 511, 512]:
        for rows in (0, 1, 3, 4, 5, 63, 64, 65, 131):
            x = drawn((rows, n), dtype, n)
            wider = np.concatenate([x, drawn((rows, 3), dtype, 9)], 1)
            found = bits(call(tl.tensor(x), axis=1))
            assert found == bits(call(tl.tensor(wider)[:, :n], axis=1)), (n, rows)
            if rows in (5, 131):
                alone = np.stack([np.asarray(call(tl.tensor(row), axis=0)) for row in x])
                assert found == bits(alone), (n, rows)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_few_columns_have_the_bits_of_those_of_wider_rows(name: str, dtype: str) -> None:
    if not is_defined(name, dtype):
        pytest.skip("not defined")
    call = getattr(F, name)
    for columns in range(1, 18):
        for rows in (1, 7, 8, 9, 16, 63, 64, 65, 300, 1031):
            x = drawn((rows, columns), dtype, columns)
            wider = np.concatenate([x, drawn((rows, 1), dtype, 9)], 1)
            given = tl.tensor(x)
            found = bits(call(given, axis=0))
            if columns > 1:  # one column is a row
                assert found == bits(call(tl.tensor(wider)[:, :-1], axis=0)), (columns, rows)
            several = tl.tensor(np.stack([x, x, x]))
            assert bits(call(several, axis=1)) == 3 * found, (columns, rows)


@pytest.mark.parametrize("shape", [(70000, 3), (40001, 7), (3, 20003, 2), (50000, 4, 1)])
@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64"])
def test_few_elements_have_the_same_bits_for_any_number_of_threads(
    shape: tuple[int, ...], dtype: str
) -> None:
    x = drawn(shape, dtype, 4)
    given = tl.tensor(x)
    before = tl.num_threads()
    for name in ("sum", "max", "mean") if dtype[0] == "f" else ("sum", "max"):
        for axis in (len(shape) - 2, len(shape) - 1):
            found = []
            try:
                for threads in (1, 2, 5):
                    tl.set_num_threads(threads)
                    found.append(bits(getattr(F, name)(given, axis=axis)))
            finally:
                tl.set_num_threads(before)
            with tl.engine.mode("lazy"):
                found.append(bits(getattr(F, name)(given * np.array(1, dtype), axis=axis)))
            assert found == found[:1] * 4, (name, axis)


def test_sums_of_few_elements_are_as_right_as_ever() -> None:
    for shape, axis in (((100000, 3), 0), ((30000, 5), 0), ((999, 31), 1), ((1000, 2), 1)):
        x = np.abs(drawn(shape, "float32", 1))
        x[~np.isfinite(x)] = 1
        exact = x.astype(np.float64).sum(axis)
        found = np.asarray(F.sum(tl.tensor(x), axis=axis))
        np.testing.assert_allclose(found, exact, 2e-7)
        np.testing.assert_array_equal(np.asarray(F.max(tl.tensor(x), axis=axis)), x.max(axis))

"""Places of extremes in few columns, and in short and long rows: NumPy's, of every dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional
DTYPES = [
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64",
]  # fmt: skip
KINDS = ["any", "few values", "rising", "falling", "equal", "nan", "zeros"]


def values(shape: tuple[int, ...], dtype: str, kind: str) -> np.ndarray:
    rng = np.random.default_rng(len(shape) + shape[0])
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        x = x % 3 if kind == "few values" else x
    else:
        x = rng.normal(size=shape).astype(dtype)
        x = np.round(x) if kind == "few values" else x
        if kind == "nan":
            x[rng.random(shape) < 0.02] = np.nan
        if kind == "zeros":
            x = np.copysign(np.zeros(shape, dtype), x)
    x = np.sort(x, axis=0) if kind in ("rising", "falling") else x
    x = x[::-1].copy() if kind == "falling" else x
    return np.zeros_like(x) + x[:1] if kind == "equal" else x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_places_in_columns_of_any_number(dtype: str, kind: str) -> None:
    for rows in (1, 2, 15, 64, 256, 257, 1500, 5000):
        for columns in (1, 2, 3, 4, 7, 8, 10, 15, 16, 17, 40):
            x = values((rows, columns), dtype, kind)
            for ours, theirs in ((F.argmax, np.argmax), (F.argmin, np.argmin)):
                found = np.asarray(ours(tl.tensor(x), axis=0))
                np.testing.assert_array_equal(found, theirs(x, axis=0))
                several = np.stack([x, x[::-1]])
                found = np.asarray(ours(tl.tensor(several), axis=1))
                np.testing.assert_array_equal(found, theirs(several, axis=1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float32"])
def test_places_in_rows_of_more_groups_than_a_byte_counts(dtype: str) -> None:
    for n in (8000, 8001, 16001, 32000, 32001, 40000, 100001):
        x = np.zeros(n, dtype)
        for place in (0, 1, 255, n // 3, n // 2 + 7, n - 65, n - 1):
            x[:] = 5
            x[place:] = 7  # the first of many
            found = int(F.argmax(tl.tensor(x)))
            assert found == place
            x[place:] = 3
            assert int(F.argmin(tl.tensor(x))) == place


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_places_in_rows_of_any_length(dtype: str, kind: str) -> None:
    for n in (*range(1, 36), 63, 64, 65, 127, 128, 200, 767, 768, 1000, 2047, 2048, 2049, 5000):
        x = values((n, 70), dtype, kind).T.copy()
        wider = np.concatenate([x, x[:, :1]], axis=1)[:, :n]  # rows with something between them
        for ours, theirs in ((F.argmax, np.argmax), (F.argmin, np.argmin)):
            for each in (x, wider, x[:3]):
                found = np.asarray(ours(tl.tensor(each), axis=1))
                np.testing.assert_array_equal(found, theirs(each, axis=1))

"""Reductions that may stop early, and extremes: of every length and layout, on any thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

Array = np.ndarray[Any, Any]
# Around a block, a group of blocks, and the chunks that threads share.
SIZES = [0, 1, 63, 64, 65, 511, 512, 513, 1023, 4096, 4097, 65_536, 200_003]


def on_threads(call: Callable[[Any], Any], x: Any) -> Array:
    """The result, once it is the same with 1, 2 and 5 threads, to the bit."""
    before, found = tl.num_threads(), []
    for threads in (1, 2, 5):
        tl.set_num_threads(threads)
        try:
            found.append(np.asarray(call(x)))
        finally:
            tl.set_num_threads(before)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    return found[0]


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize("n", SIZES)
def test_one_element_decides_wherever_it_is(n: int, dtype: str) -> None:
    for place in sorted({0, n // 2, n - 1} & set(range(n))) or [None]:
        x = np.zeros(n, dtype)
        if place is not None:
            x[place] = 1
        for name, given in (("any", x), ("all", 1 - x if dtype != "bool" else ~x)):
            wanted = getattr(np, name)(given)
            made = tl.tensor(np.asarray(given, dtype))
            assert on_threads(getattr(F, name), made) == wanted


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
def test_what_is_computed_on_the_way_is_written_whole(mode: str) -> None:
    x = np.random.default_rng(3).normal(size=300_000).astype("f4")
    with tl.engine.mode(mode):
        is_above = tl.tensor(x) > 0
        assert F.any(is_above).item() and not F.all(is_above).item()
        np.testing.assert_array_equal(np.asarray(is_above), x > 0)


@pytest.mark.parametrize("columns", [1, 3, 4, 5, 8, 15, 17, 31, 63, 64, 65, 127, 169])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64"])
def test_columns_of_any_number_are_those_of_numpy(columns: int, dtype: str) -> None:
    rng = np.random.default_rng(columns)
    for rows in (1, 2, 7, 8, 9, 21):
        x = rng.integers(0, 2 if dtype == "bool" else 100, (rows, columns)).astype(dtype)
        if dtype == "bool":
            x &= rng.random((rows, columns)) < 0.1
        for name in ("any", "all", "sum", "max", "min", "prod"):
            given = x.astype("i4") if dtype == "bool" and name in ("max", "min") else x
            wanted = getattr(np, name)(given, axis=0)
            found = np.asarray(getattr(F, name)(tl.tensor(given), axis=0))
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float16", "float32", "float64"])
@pytest.mark.parametrize("n", SIZES[1:])
def test_extremes_see_every_element_and_pass_nan_on(n: int, dtype: str) -> None:
    x = np.random.default_rng(n).normal(size=n) * 20
    x = (np.abs(x) if dtype[0] == "u" else x).astype(dtype)
    for place in sorted({0, n // 2, n - 1}):
        for name in ("max", "min"):
            given = x.copy()
            given[place] = 120 if name == "max" else (0 if dtype[0] == "u" else -120)
            for is_nan in (False, True) if dtype[0] == "f" else (False,):
                if is_nan:
                    given[place] = np.nan
                made = tl.tensor(given)
                found = on_threads(getattr(F, name), made)
                np.testing.assert_array_equal(found, getattr(np, name)(given))


@pytest.mark.parametrize("n", [36, 511, 512, 513, 700])
def test_rows_have_the_bits_of_a_row_alone(n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.choice(np.array([0.0, -0.0, -1.5], "f4"), (9, n))
    x[3, n // 2] = np.nan
    for name in ("max", "min", "sum", "mean"):
        f = getattr(F, name)
        alone = [np.asarray(f(tl.tensor(row))).tobytes() for row in x]
        assert [row.tobytes() for row in np.asarray(f(tl.tensor(x), axis=1))] == alone
        turned = tl.tensor(x[:, ::-1].copy())[:, ::-1]
        assert [row.tobytes() for row in np.asarray(f(turned, axis=1))] == alone


@pytest.mark.parametrize("name", ["sum", "max", "any", "prod", "mean"])
@pytest.mark.parametrize(
    "axes", [(0, 1), (1, 2), (0, 2), (2, 1), (-1, -2), (-2, -1), (0, 1, 2), (1,), (-3,), (2, 0, 1)]
)
def test_several_axes_of_a_small_tensor(name: str, axes: tuple[int, ...]) -> None:
    for shape in ((3, 4, 5), (1, 1, 1), (2, 1, 7)):
        x = np.random.default_rng(5).integers(-2, 3, shape).astype("f4")
        for keepdims in (False, True):
            wanted = getattr(np, name)(x, axis=axes, keepdims=keepdims)
            found = np.asarray(getattr(F, name)(tl.tensor(x), axis=axes, keepdims=keepdims))
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("axes", [(0, 3), (-4, -3), (2, 3), (1, 1)])
def test_axes_that_are_not_there_are_refused(axes: tuple[int, ...]) -> None:
    with pytest.raises((tl.IndexRangeError, tl.ShapeError)):
        F.sum(tl.zeros((2, 3, 4)), axis=axes)
    with pytest.raises(tl.ShapeError):
        F.argmax(tl.zeros((2, 3)), axis=(0, 1))  # type: ignore[arg-type]

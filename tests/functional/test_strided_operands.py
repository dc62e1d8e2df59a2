"""Elementwise programs on operands that lie in memory in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.declarations import Array

import tensorlike as tl

F: Any = tl.functional
DTYPES = ["int8", "float16", "float32", "int64", "complex128"]


def filled(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Numbers that small types can tell apart."""
    numbers = np.random.default_rng(seed).integers(-50, 50, shape)
    return numbers.astype(dtype)


def check(view: Any, x: Array, y: Array) -> None:
    """view(x) + y, and the sum of its rows, in every number of threads."""
    wanted = view(x) + y
    before = tl.num_threads()
    for threads in (1, 2, 3):
        tl.set_num_threads(threads)
        try:
            found = np.asarray(view(tl.tensor(x)) + tl.tensor(y))
        finally:
            tl.set_num_threads(before)
        np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(300, 200), (16, 4097), (4097, 16), (1, 5000), (5000, 1), (17, 33), (700, 701)]
)
def test_transposed(shape: tuple[int, int], dtype: str) -> None:
    x, y = filled(shape, dtype), filled(shape[::-1], dtype, 1)
    check(lambda a: a.T, x, y)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("axes", [(0, 2, 1), (2, 1, 0), (1, 0, 2), (2, 0, 1), (1, 2, 0)])
@pytest.mark.parametrize("shape", [(3, 90, 110), (30, 20, 70)])
def test_permuted(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    def permuted(a: Any) -> Any:
        return a.transpose(axes) if isinstance(a, np.ndarray) else F.permute_dims(a, axes=axes)

    x = filled(shape, dtype)
    check(permuted, x, filled(permuted(x).shape, dtype, 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_flips_and_windows(dtype: str) -> None:
    x = filled((130, 290), dtype)
    views: list[Any] = [
        lambda a: a[:, ::2],
        lambda a: a[::2],
        lambda a: a[:, ::-1],
        lambda a: a[::3, 5:250:7],
        lambda a: a[10:100, 20:203].T,
        lambda a: a[::-1, 100:].T,
        lambda a: a[:, :1],
        lambda a: a[:, None, 7:9],
    ]
    for view in views:
        check(view, x, filled(view(x).shape, dtype, 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_broadcast_columns_and_rows(dtype: str) -> None:
    y = filled((900, 37), dtype)
    check(lambda a: a[:, None], filled((900,), dtype), y)
    check(lambda a: a[None], filled((37,), dtype), y)
    check(lambda a: a[:, None, :], filled((40, 37), dtype), filled((40, 25, 37), dtype))
    check(lambda a: a[:, :, None], filled((40, 25), dtype), filled((40, 25, 37), dtype))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_of_transposed_sums(axis: int | None) -> None:
    x, y = filled((700, 300), "int64"), filled((300, 700), "int64", 1)
    with tl.engine.mode("lazy", threshold=1):
        found = np.asarray(F.sum(tl.tensor(x).T + tl.tensor(y), axis=axis))
    np.testing.assert_array_equal(found, (x.T + y).sum(axis))

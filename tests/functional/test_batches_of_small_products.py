"""Batches of small products, whose tiles are found once: each is what it would be by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

SIZES = [1, 2, 3, 4, 7, 8, 9, 12, 15, 16, 17, 23, 24, 25, 31, 32, 33, 63, 64, 65]


def numbers(rng: Any, *shape: int, dtype: str) -> Any:
    return tl.tensor(rng.standard_normal(shape).astype(dtype))


def one_by_one(a: Any, b: Any) -> Any:
    """Each product by itself, over the batch of both."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    made = np.empty((*batch, a.shape[-2], b.shape[-1]), np.asarray(a).dtype)
    left = tl.broadcast_to(a, (*batch, *a.shape[-2:]))
    right = tl.broadcast_to(b, (*batch, *b.shape[-2:]))
    for at in np.ndindex(*batch):
        made[at] = np.asarray(tl.matmul(left[at], right[at]))
    return made


def check(a: Any, b: Any) -> None:
    found = np.asarray(tl.matmul(a, b))
    assert found.tobytes() == one_by_one(a, b).tobytes(), (a.shape, b.shape)
    exact = np.matmul(np.asarray(a, "float64"), np.asarray(b, "float64"))
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(4))
def test_products_in_batches_are_those_one_by_one(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        m, n, k = (int(rng.choice(SIZES)) for _ in range(3))
        batch = [int(size) for size in rng.integers(1, 5, int(rng.integers(1, 4)))]
        a, b = numbers(rng, *batch, m, k, dtype=dtype), numbers(rng, *batch, k, n, dtype=dtype)
        match int(rng.integers(7)):
            case 0:  # turned
                a = numbers(rng, *batch, k, m, dtype=dtype).mT
            case 1:
                b = numbers(rng, *batch, n, k, dtype=dtype).mT
            case 2:  # one for all
                b = b[(0,) * len(batch)]
            case 3:  # one for each row of the batch
                a = a[:1] if len(batch) > 1 else a
            case 4:  # backwards, in steps
                a, b = a[::-1], numbers(rng, 2 * batch[0], *batch[1:], k, n, dtype=dtype)[::2]
            case 5:  # parts of larger ones
                b = numbers(rng, *batch, k + 2, n + 3, dtype=dtype)[..., 1:-1, 2:-1]
        check(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 2, 7, 50])
def test_few_elements_in_any_order_are_those_one_by_one(dtype: str, count: int) -> None:
    rng = np.random.default_rng(count)
    for m, n, k in np.ndindex(5, 5, 8):
        a, turned_a = (numbers(rng, count, *each, dtype=dtype) for each in _turns(m + 1, k + 1))
        b, turned_b = (numbers(rng, count, *each, dtype=dtype) for each in _turns(k + 1, n + 1))
        for left in (a, turned_a.mT):
            for right in (b, turned_b.mT):
                check(left, right)


def _turns(rows: int, columns: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (rows, columns), (columns, rows)


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (3, 0, 4, 5), (3, 4, 0, 5), (3, 4, 5, 0)])
def test_batches_of_nothing_are_products_too(shape: tuple[int, int, int, int]) -> None:
    count, m, k, n = shape
    rng = np.random.default_rng(0)
    check(numbers(rng, count, m, k, dtype="float32"), numbers(rng, count, k, n, dtype="float32"))


def test_threads_share_a_batch_without_a_change() -> None:
    rng = np.random.default_rng(5)
    a, b = (numbers(rng, 3, 700, 17, 17, dtype="float32") for _ in range(2))
    before, wanted = tl.num_threads(), np.asarray(a @ b).tobytes()
    try:
        for count in (1, 2, 3):
            tl.set_num_threads(count)
            assert np.asarray(a @ b).tobytes() == wanted
    finally:
        tl.set_num_threads(before)
    check(a[:, :5], b[:, :5])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_bits_of_a_product_are_not_those_of_its_layout(dtype: str) -> None:
    """Programs that come from a file, and weights that are kept, may lie otherwise. Products of 64
    steps and fewer are apart, as are those of long rows with few."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        m, n = (int(rng.choice(SIZES[1:])) for _ in range(2))
        k = int(rng.choice([*SIZES, 100, 257, 400, 511]))
        if m * n * k <= 64:
            continue
        a, b = numbers(rng, m, k, dtype=dtype), numbers(rng, k, n, dtype=dtype)
        wanted = np.asarray(tl.matmul(a, b)).tobytes()
        left, right = np.asarray(a).T.copy(), np.asarray(b).T.copy()
        for x in (a, tl.tensor(left).T):
            for y in (b, tl.tensor(right).T):
                assert np.asarray(tl.matmul(x, y)).tobytes() == wanted, (m, n, k)

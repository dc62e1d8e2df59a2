"""Attention of few queries, which reads keys and values where they lie: generated shapes, layouts
and masks against the definition in float64, with several numbers of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.attention import reference
from support.layouts import LAYOUTS
from support.threads import by_threads

import tensorlike as tl
import tensorlike.functional as F

Array = np.ndarray[Any, Any]
LENGTHS = (1, 2, 5, 31, 32, 33, 64, 100, 257, 700, 1500)
WIDTHS = (1, 3, 4, 8, 15, 16, 17, 40, 64, 65, 128)


def mask_of(random: Any, shape: tuple[int, ...]) -> Array | None:
    """Booleans, some of which hide all keys of a query; numbers; or none."""
    kind = random.choice(("none", "none", "hides", "adds"))
    if kind == "none":
        return None
    seen = random.random(shape) < random.choice((0.05, 0.5, 0.95))
    if kind == "hides":
        return seen
    return np.where(seen, random.standard_normal(shape), -np.inf).astype("float32")


def drawn(seed: int) -> tuple[list[Array], Array | None, bool]:
    """Query, key and value, a mask, and whether attention is causal."""
    random = np.random.default_rng(seed)
    queries = 1 + seed % 5  # the last of which are too many
    keys, width, value_width = (int(random.choice(x)) for x in (LENGTHS, WIDTHS, WIDTHS))
    heads = int(random.choice((1, 2, 12)))
    batch = ((), (3,), (1,))[int(random.integers(3))]
    dtype = ("float32", "float32", "float64", "float16")[int(random.integers(4))]
    shared = (1,) if random.random() < 0.2 else (heads,)
    shapes = (
        (*batch, heads, queries, width),
        (*batch, heads, keys, width),
        (*shared, keys, value_width),
    )
    inputs = [random.standard_normal(shape).astype(dtype) for shape in shapes]
    for i, layout in enumerate(random.choice([*LAYOUTS, "", "", "", ""], 3)):
        if layout and layout != "one_row_repeated":
            inputs[i] = LAYOUTS[layout](inputs[i])
    mask = mask_of(random, (queries, keys) if random.random() < 0.5 else (1, keys))
    return inputs, mask, bool(random.random() < 0.3)


@pytest.mark.parametrize("seed", range(150))
def test_few_queries_are_answered(seed: int) -> None:
    inputs, mask, is_causal = drawn(seed)
    tensors = [tl.Tensor(tl.RawTensor(x)) for x in inputs]
    call = lambda: F.attention(*tensors, mask, is_causal=is_causal)  # noqa: E731
    first, *others = by_threads(lambda: np.asarray(call()))
    wanted = reference(*inputs, mask, None, is_causal)
    tolerance = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-12}[inputs[0].dtype.name]
    np.testing.assert_allclose(first, wanted, rtol=tolerance, atol=tolerance)
    for found in others:
        np.testing.assert_array_equal(found, first)


@pytest.mark.parametrize("heads", [1, 3, 40])
@pytest.mark.parametrize("queries", [1, 4])
def test_threads_share_the_keys_of_few_heads(heads: int, queries: int) -> None:
    random = np.random.default_rng(heads)
    q, k, v = (
        random.standard_normal((heads, n, 64)).astype("float32") for n in (queries, 3000, 3000)
    )
    first, *others = by_threads(lambda: np.asarray(F.attention(q, k, v)))
    np.testing.assert_allclose(first, reference(q, k, v, None, None, False), rtol=1e-4, atol=1e-6)
    for found in others:
        np.testing.assert_array_equal(found, first)


def test_without_keys_a_query_gives_nothing() -> None:
    for queries in (0, 1, 3):
        found = F.attention(tl.ones((2, queries, 8)), tl.ones((2, 0, 8)), tl.ones((2, 0, 5)))
        np.testing.assert_array_equal(found, np.zeros((2, queries, 5), "float32"))


def test_without_elements_all_keys_weigh_the_same() -> None:
    value = np.arange(12, dtype="float32").reshape(1, 4, 3)
    found = F.attention(tl.ones((1, 2, 0)), tl.ones((1, 4, 0)), value, scale=1.0)
    np.testing.assert_allclose(found, np.repeat(value.mean(1, keepdims=True), 2, axis=1))


def test_huge_scores_neither_overflow_nor_lose_the_largest() -> None:
    q = np.full((1, 1, 2), 1e18, "float32")
    k = np.array([[[1e18, 0], [0, 0], [9e17, 0]]], "float32")
    value = np.eye(3, dtype="float32")[None]
    np.testing.assert_array_equal(F.attention(q, k, value), [[[1, 0, 0]]])

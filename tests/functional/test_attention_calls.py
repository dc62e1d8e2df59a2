"""Calls of attention, in any order and form, beside NumPy: most are one op, which is remembered."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from support.attention import reference
from support.layouts import LAYOUTS

import tensorlike as tl
import tensorlike.functional as F

Array = np.ndarray[Any, Any]


def given(array: Array, choose: random.Random) -> Any:
    """As a tensor, a leaf, a list or an array."""
    if choose.random() < 0.3:
        array = LAYOUTS[choose.choice(["transposed", "reversed", "inside_a_larger_one"])](array)
    form = choose.choice(["tensor", "tensor", "tensor", "leaf", "list", "array"])
    if form == "leaf":
        return tl.tensor(array, requires_grad=True)
    return array.tolist() if form == "list" else array if form == "array" else tl.tensor(array)


@pytest.mark.parametrize("seed", range(8))
def test_calls_of_all_kinds_follow_each_other(seed: int) -> None:
    choose, numbers = random.Random(seed), np.random.default_rng(seed)
    for _ in range(60):
        heads, shared = choose.choice([(1, 1), (2, 2), (4, 4), (4, 2), (4, 1), (1, 4), (6, 2)])
        queries, keys = choose.choice([(1, 1), (2, 2), (2, 3), (5, 5), (17, 33)])
        leading = choose.choice([(), (), (2,), (1,)])
        draw = lambda *shape: numbers.standard_normal(shape).astype(np.float32)  # noqa: E731
        q, k = draw(*leading, heads, queries, 4), draw(shared, keys, 4)
        v = draw(*leading, shared, keys, choose.choice([1, 4, 5]))
        mask = choose.choice([None, None, draw(queries, keys), numbers.random((1, keys)) < 0.7])
        scale = choose.choice([None, None, 0.5, -1.0, 1])
        is_causal = choose.choice([False, False, True])
        tensors = [given(x, choose) for x in (q, k, v)]
        place = choose.randrange(4)  # of the first that has a name
        names = dict(zip(("query", "key", "value")[place:], tensors[place:], strict=True))
        named = [*names.items(), ("mask", mask), ("scale", scale), ("is_causal", is_causal)]
        choose.shuffle(named)
        if choose.random() < 0.5:
            found = F.attention(*tensors, mask, scale, is_causal)
        else:
            found = F.attention(*tensors[:place], **dict(named))
        wanted = reference(q, k, v, mask, scale, is_causal)
        is_leaf = any(isinstance(x, tl.Tensor) and x.requires_grad for x in tensors)
        assert found.requires_grad == is_leaf
        np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("sizes", [(1, 2, 4), (3, 7, 4), (8, 16, 16), (8, 40, 32), (9, 41, 33)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_do_not_show(sizes: tuple[int, int, int], dtype: str) -> None:
    """On both sides of what is too little for several, with few heads and with many."""
    heads, length, width = sizes
    numbers = np.random.default_rng(1)
    q, k, v = (
        tl.tensor(numbers.standard_normal((heads, length, width)).astype(dtype)) for _ in range(3)
    )
    before, found = tl.num_threads(), []
    try:
        for count in (1, 2, 5):
            tl.set_num_threads(count)
            found.append(np.asarray(F.attention(q, k, v, is_causal=True)).tobytes())
    finally:
        tl.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_a_mask_of_nothing_and_no_elements() -> None:
    q, nothing = tl.ones((2, 3, 4)), tl.zeros((2, 3, 4)).tolist()
    assert F.attention(q, q, q, tl.zeros((3, 3), dtype="bool")).tolist() == nothing
    assert F.attention(q[:, :0], q, q).shape == (2, 0, 4)
    assert F.attention(q, q[:, :0], q[:, :0]).tolist() == nothing
    assert F.attention(q[:0], q[:0], q[:0]).shape == (0, 3, 4)

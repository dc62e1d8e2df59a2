"""Drawn integers are what the words of their draw say, whatever the range, at any place."""

from __future__ import annotations

import pytest

import tensorlike as tl
import tensorlike.functional as F

RANGES = [
    (0, 1), (0, 10), (-5, 5), (7, 1000), (0, 2**31), (-1, 2**32 - 2), (0, 2**32), (3, 2**32 + 10),
    (0, 2**40), (-(2**63), 2**63 - 1), (-(2**62), 2**62), (0, 2**63 - 1),
]  # fmt: skip


@pytest.mark.parametrize("bounds", RANGES)
@pytest.mark.parametrize("count", [1, 2, 7, 31, 1023, 1024, 1025, 5001])
def test_an_integer_is_the_high_word_of_a_product(bounds: tuple[int, int], count: int) -> None:
    low, high = bounds
    for counter in range(3):
        draw = {"key": 11 + count, "counter": counter}
        words = F.random_draw((count,), mode="bits", **draw).tolist()  # type: ignore[arg-type]
        drawn = F.random_draw((count,), mode="integers", low=low, high=high, **draw)  # type: ignore[arg-type]
        assert drawn.tolist() == [low + (word * (high - low) >> 64) for word in words]


def test_parts_of_a_long_draw_are_drawn_alike_by_any_number_of_threads() -> None:
    before = tl.num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            tl.set_num_threads(threads)
            found.append(F.random_draw((100_003,), mode="integers", low=-3, high=50, key=4).numpy())
        assert all((each == found[0]).all() for each in found)
    finally:
        tl.set_num_threads(before)

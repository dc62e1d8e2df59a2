"""Blocks that generators leave open end in any order: the innermost that is left counts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tensorlike as tl


def _left_open(block: Callable[[], Any]) -> Iterator[None]:
    with block():
        yield


def _is_recorded() -> bool:
    x = tl.tensor([1.0], requires_grad=True)
    return (x * x).requires_grad


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_what_is_recorded_is_what_the_innermost_block_says(order: tuple[int, ...]) -> None:
    kinds = (tl.no_grad, tl.enable_grad, tl.no_grad)
    blocks = [_left_open(kind) for kind in kinds]
    for block in blocks:
        next(block)
    left = [0, 1, 2]
    for which in order:
        assert _is_recorded() is (kinds[left[-1]] is tl.enable_grad)
        blocks[which].close()  # type: ignore[attr-defined]
        left.remove(which)
    assert _is_recorded()


def test_a_block_of_another_thread_is_none_of_this() -> None:
    block: Any = _left_open(tl.no_grad)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(next, block).result()
        with tl.no_grad():
            block.close()
            assert not _is_recorded()
        assert _is_recorded()


def test_one_block_is_entered_again_inside_itself() -> None:
    block = tl.no_grad()
    with block:
        with tl.enable_grad(), block:
            assert not _is_recorded()
        assert not _is_recorded()
    assert _is_recorded()

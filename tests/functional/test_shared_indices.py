"""Indices and masks in the memory of another library, which writes to it while they are read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import ops

COUNT = 200_000  # long enough for the interpreter's lock to be let go
FAR = 2**50
VALUES = F.arange(COUNT)
ONES = F.ones(COUNT, dtype="int64")
TABLES = F.reshape(VALUES, (2, COUNT // 2))

BY_INDEX: dict[str, Callable[[tl.Tensor], tl.Tensor]] = {
    "gather": lambda i: ops.Gather(axes=(0,))(VALUES, i)[0],
    "gather of tables": lambda i: ops.Gather(axes=(1,))(TABLES, i)[0],
    "scatter_set": lambda i: ops.ScatterSet(axes=(0,))(VALUES, ONES, i)[0],
    "scatter_add": lambda i: ops.ScatterAdd(axes=(0,))(VALUES, ONES, i)[0],
    "take_along_axis": lambda i: F.take_along_axis(VALUES, i),
    "put_along_axis": lambda i: F.put_along_axis(VALUES, i, ONES),
}
BY_MASK: dict[str, Callable[[tl.Tensor], tl.Tensor]] = {
    "masked_select": lambda m: F.masked_select(VALUES, m),
    "masked_select of rows": lambda m: F.masked_select(F.stack([VALUES] * 3, axis=1), m),
    "masked_scatter": lambda m: F.masked_scatter(VALUES, m, F.zeros(1, dtype="int64")),
    "argwhere": lambda m: F.argwhere(m),
}


@contextmanager
def written_to(array: np.ndarray, values: tuple[int, int]) -> Iterator[None]:
    """Another thread writes one value, then the other, to places all over the array."""
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            for value in values:
                array[:: COUNT // 50] = value

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("name", BY_INDEX)
def test_indices_that_change_while_they_are_read_are_checked_as_they_are_used(name: str) -> None:
    array = np.zeros(COUNT, dtype=np.int64)
    index = tl.from_dlpack(array)
    with written_to(array, (FAR, 0)):
        for _ in range(20):
            try:
                y = BY_INDEX[name](index)
            except tl.IndexRangeError as error:
                assert "indices must" in str(error)
            else:
                assert 0 <= int(F.min(y)) <= int(F.max(y)) <= 2 * COUNT


@pytest.mark.parametrize("name", BY_MASK)
def test_masks_that_change_while_they_are_read_give_no_more_than_was_counted(name: str) -> None:
    array = np.zeros(COUNT, dtype=np.bool_)
    mask = tl.from_dlpack(array)
    with written_to(array, (1, 0)):
        for _ in range(20):
            try:
                y = BY_MASK[name](mask)
            except tl.IndexRangeError as error:
                assert "masks must stay the same" in str(error)
            else:
                assert y.size == 0 or 0 <= int(F.min(y)) <= int(F.max(y)) <= COUNT

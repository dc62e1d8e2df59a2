"""Orders that are drawn: each row of its own, exactly as likely as the others."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F


def test_each_row_of_orders_is_one_of_its_own() -> None:
    for shape in [(1,), (2, 1), (5, 7), (3, 256), (2, 2, 257), (40, 1000), (4, 0), (0, 3)]:
        for dtype in (tl.int64, tl.int32, tl.uint16):
            made = np.asarray(F.random_draw(shape, mode="orders", dtype=dtype, key=3, counter=1))
            assert made.shape == shape and made.dtype == dtype.name
            assert np.array_equal(
                np.sort(made, axis=-1), np.broadcast_to(np.arange(shape[-1]), shape)
            )
    rows = np.asarray(F.random_draw((40, 1000), mode="orders", key=3))
    assert len({tuple(row) for row in rows.tolist()}) == 40
    means = np.asarray(F.random_draw((4000, 9), mode="orders", key=5)).mean(axis=0)
    assert np.all(np.abs(means - 4) < 5 * np.sqrt(60 / 9 / 4000))
    with pytest.raises(OverflowError):
        F.random_draw((300,), mode="orders", dtype=tl.int8)
    with pytest.raises(tl.ShapeError, match="must have a dimension"):
        F.random_draw((), mode="orders")
    with pytest.raises(tl.DTypeError, match="must be integer"):
        F.random_draw((3,), mode="orders", dtype=tl.float32)

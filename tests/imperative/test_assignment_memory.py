"""Assignment through masks and index arrays reuses memory that nobody else holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

ROWS = [3, 1, 3]


def by_mask(x: Any) -> None:
    x[x > 0] = 0.0


def by_mask_of_rows(x: Any) -> None:
    x[tl.tensor([True, False, True, False])] = tl.tensor([[1.0] * 5, [2.0] * 5])


def by_rows(x: Any) -> None:
    x[ROWS] = 7.0


def by_array_of_rows(x: Any) -> None:
    x[np.array(ROWS)] = np.ones((3, 5), np.float32)


def by_pairs(x: Any) -> None:
    x[tl.tensor(ROWS), [0, 1, 2]] += 1.0


def by_slice_and_rows(x: Any) -> None:
    x[1:, [0, 2]] = -1.0


WAYS = [by_mask, by_mask_of_rows, by_rows, by_array_of_rows, by_pairs, by_slice_and_rows]


def drawn() -> Any:
    return np.random.default_rng(2).normal(size=(4, 5)).astype(np.float32)


def address(x: Any) -> int:
    return int(np.asarray(x.detach()).__array_interface__["data"][0])


@pytest.mark.parametrize("assign", WAYS)
def test_what_nobody_else_holds_is_written_in_place(assign: Callable[[Any], None]) -> None:
    x = tl.tensor(drawn())
    before = address(x)
    assign(x)
    wanted = drawn()
    assign_numpy(assign, wanted)
    np.testing.assert_array_equal(np.asarray(x), wanted)
    assert address(x) == before


@pytest.mark.parametrize("assign", WAYS)
def test_values_that_others_hold_stay_as_they_were(assign: Callable[[Any], None]) -> None:
    x = tl.tensor(drawn())
    view, raw, other = x[1:], tl.as_raw_tensor(x), F.positive(x)
    assign(x)
    for held, part in ((view, drawn()[1:]), (raw, drawn()), (other, drawn())):
        np.testing.assert_array_equal(np.asarray(held), part)


def assign_numpy(assign: Callable[[Any], None], array: Any) -> None:
    x = array
    if assign is by_mask:
        x[x > 0] = 0
    elif assign is by_mask_of_rows:
        x[[0, 2]] = [[1.0] * 5, [2.0] * 5]
    elif assign is by_rows:
        x[ROWS] = 7
    elif assign is by_array_of_rows:
        x[ROWS] = 1
    elif assign is by_pairs:
        x[ROWS, [0, 1, 2]] += 1
    else:
        x[1:, [0, 2]] = -1


def test_a_tensor_is_assigned_to_places_of_its_own() -> None:
    x = tl.tensor(drawn())
    x[[0, 1]] = x[[1, 0]]
    np.testing.assert_array_equal(np.asarray(x), drawn()[[1, 0, 2, 3]])
    y = tl.tensor([3.0, 1.0, 2.0])
    y[[2, 1, 0]] = y
    assert y.tolist() == [2.0, 1.0, 3.0]
    y[y > 1.5] = y[::2]
    assert y.tolist() == [2.0, 1.0, 3.0]


def test_nothing_is_written_where_an_index_is_wrong() -> None:
    x = tl.tensor(drawn())
    for key, value in (([0, 9], 1.0), ([0, -5], 1.0), (np.ones(3, bool), 1.0)):
        with pytest.raises(tl.IndexRangeError):
            x[key] = value
    with pytest.raises(tl.ShapeError):
        x[x > 0] = tl.tensor([1.0, 2.0])
    with pytest.raises(tl.ShapeError):
        x[[0, 1]] = np.ones((3, 5), np.float32)
    np.testing.assert_array_equal(np.asarray(x), drawn())


def test_gradients_flow_through_what_is_assigned() -> None:
    def loss(x: Any, v: Any) -> Any:
        y = x * 1.0
        y[[0, 2]] = v
        y[y > 100.0] = 0.0
        return F.sum(y * y)

    x, v = tl.tensor([1.0, 2.0, 3.0]), tl.tensor([5.0, 7.0])
    by_x, by_v = tl.grad(loss, argnums=(0, 1))(x, v)
    assert (by_x.tolist(), by_v.tolist()) == ([0.0, 4.0, 0.0], [10.0, 14.0])


def test_a_leaf_under_no_grad_stays_the_leaf_it_was() -> None:
    x = tl.tensor(drawn(), requires_grad=True)
    before = address(x)
    with tl.no_grad():
        x[[0, 1]] = 0.0
        x[tl.tensor(drawn() > 0)] = 1.0
    assert x.requires_grad
    assert x.is_leaf
    assert address(x) == before

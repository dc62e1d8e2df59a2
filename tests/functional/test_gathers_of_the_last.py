"""`gather(..., last_only=True)`: what flows back to values that were written one over the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F

RNG = np.random.default_rng(3)
X = tl.tensor(RNG.normal(size=(5, 3)))
TWICE = tl.tensor([1, 2, 1, 4, 2])
APART = tl.tensor([4, 0, 2])


def of_last(x: Any, *indices: Any, axes: tuple[int, ...] = (0,)) -> Any:
    return F.gather(x, *indices, axes=axes, last_only=True)


def test_of_indices_that_meet_the_last_gets_the_element() -> None:
    found = np.asarray(of_last(X, TWICE))
    np.testing.assert_array_equal(found[[2, 3, 4]], np.asarray(X)[[1, 4, 2]])
    np.testing.assert_array_equal(found[[0, 1]], np.zeros((2, 3)))


def test_an_index_from_the_end_meets_the_same_one_from_the_front() -> None:
    assert of_last(tl.tensor([1.0, 2.0, 3.0]), tl.tensor([2, -1])).tolist() == [0.0, 3.0]


def test_indices_of_several_axes_meet_where_all_of_them_do() -> None:
    rows, columns = tl.tensor([0, 0, 0]), tl.tensor([1, 2, 1])
    found = of_last(X, rows, columns, axes=(0, 1)).tolist()
    assert found == [0.0, X[0, 2].item(), X[0, 1].item()]


def test_behind_other_axes_every_row_is_treated_alike() -> None:
    index = tl.tensor([1, 1, 0])
    found, x = np.asarray(of_last(X, index, axes=(1,))), np.asarray(X)
    np.testing.assert_array_equal(found, np.stack([0 * x[:, 1], x[:, 1], x[:, 0]]))


def test_where_no_two_meet_it_is_a_gather() -> None:
    np.testing.assert_array_equal(of_last(X, APART), F.gather(X, APART, axes=(0,)))


@pytest.mark.parametrize("index", [TWICE, APART], ids=["met", "apart"])
def test_it_is_the_gradient_of_what_was_written(index: Any) -> None:
    flow = tl.tensor(RNG.normal(size=(5, 3)))
    value = tl.tensor(RNG.normal(size=(*index.shape, 3)))
    by_value = tl.grad(lambda v: F.sum(F.scatter_set(X, v, index, axes=(0,)) * flow))(value)
    np.testing.assert_array_equal(by_value, of_last(flow, index))


@pytest.mark.parametrize("index", [TWICE, APART], ids=["met", "apart"])
def test_its_derivatives_agree_with_differences(index: Any) -> None:
    report = tl.opcheck(lambda x: of_last(x, index), X)
    assert report.is_right, report


def test_examples_meet_nobody_elses_indices() -> None:
    indices = tl.tensor(RNG.integers(0, 5, (4, 6)))
    examples = tl.tensor(RNG.normal(size=(4, 5, 3)))
    for xs, in_axes in ((examples, (0, 0)), (X, (None, 0))):
        found = tl.vmap(of_last, in_axes=in_axes)(xs, indices)
        looped = [of_last(x, i) for x, i in zip([X] * 4 if xs is X else xs, indices, strict=True)]
        np.testing.assert_array_equal(found, F.stack(looped))

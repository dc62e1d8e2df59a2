"""Segments, bins, dropout of channels, defaults: what the table of network calls leaves out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import opdecl


@pytest.mark.parametrize("bins", [1, 7, np.array([-1.0, 0.0, 0.5, 2.0])])
@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("limits", [None, (-0.5, 1.0)])
def test_a_histogram_is_that_of_numpy(bins: Any, density: bool, limits: Any) -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(20, 10)), rng.uniform(0.5, 1.5, (20, 10))
    for weights in (None, weight):
        wanted = np.histogram(x, bins, range=limits, weights=weights, density=density)
        found = F.histogram(tl.tensor(x), bins, range=limits, weight=weights, density=density)
        for part, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(part, want.astype(float), 1e-12)


def test_numbers_outside_and_nan_are_in_no_bin() -> None:
    counts, _ = F.histogram(tl.tensor([-9.0, 0.5, math.nan, 9.0]), 2, range=(0.0, 1.0))
    assert counts.tolist() == [0.0, 1.0]


def test_bincount_is_that_of_numpy() -> None:
    x = np.random.default_rng(0).integers(0, 9, 50)
    weights = np.random.default_rng(1).normal(size=50)
    for given in (None, weights):
        for least in (0, 20):
            wanted = np.bincount(x, given, least)
            found = F.bincount(tl.tensor(x), given, minlength=least)
            np.testing.assert_allclose(found, wanted, 1e-12, strict=True)
    assert F.bincount(tl.tensor(np.zeros(0, np.int64)), minlength=2).tolist() == [0, 0]


def test_interpolation_on_lines_is_that_of_numpy() -> None:
    rng = np.random.default_rng(0)
    xp, fp = np.sort(rng.normal(size=9)), rng.normal(size=9)
    x = np.append(rng.normal(size=30) * 2, [*xp, math.nan, math.inf, -math.inf])
    np.testing.assert_allclose(F.interp(x, xp, fp), np.interp(x, xp, fp), 1e-12)
    np.testing.assert_allclose(
        F.interp(x, xp, fp, left=7.0, right=math.nan),
        np.interp(x, xp, fp, left=7.0, right=math.nan),
        1e-12,
    )
    assert F.interp(tl.tensor([1.0, 3.0]), [2.0], [5.0]).tolist() == [5.0, 5.0]


def test_segments_without_rows() -> None:
    x, ids = tl.tensor([[1.0], [5.0]]), tl.tensor([2, 2])
    assert F.segment_sum(x, ids, 4).tolist() == [[0.0], [0.0], [6.0], [0.0]]
    assert F.segment_mean(x, ids, 4).tolist() == [[0.0], [0.0], [3.0], [0.0]]
    assert F.segment_max(x, ids, 3).tolist() == [[-math.inf], [-math.inf], [5.0]]
    assert F.segment_min(tl.tensor([3, 1]), ids, 3).tolist() == [2**63 - 1, 2**63 - 1, 1]
    nothing = F.segment_max(tl.tensor(np.zeros((0, 2))), tl.tensor(np.zeros(0, np.int64)), 1)
    assert nothing.tolist() == [[-math.inf, -math.inf]]


@pytest.mark.parametrize("name", ["dropout1d", "dropout2d", "dropout3d"])
def test_channels_are_dropped_as_a_whole(name: str) -> None:
    x = tl.tensor(np.ones((40, 50, *[2] * int(name[-2]))))
    y = np.asarray(getattr(F, name)(x, p=0.25, seed=3)).reshape(2000, -1)
    assert (y == y[:, :1]).all()
    assert set(np.unique(y)) == {0.0, 1 / 0.75}
    assert np.mean(y[:, 0] == 0) == pytest.approx(0.25, abs=0.04)
    gradient = tl.grad(lambda x: F.sum(getattr(F, name)(x, p=0.25, seed=3)))(x)
    np.testing.assert_array_equal(np.asarray(gradient).reshape(2000, -1), y)


def test_a_dropped_infinity_is_zero() -> None:
    x = tl.tensor(np.full((20, 2), math.inf))
    assert set(np.asarray(F.dropout1d(x, seed=1)).ravel()) == {0.0, math.inf}


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = tl.tensor(np.random.default_rng(0).normal(size=(300, 300)))
    for p in (0.1, 0.5):
        y = np.asarray(F.alpha_dropout(x, p=p, seed=5))
        assert y.mean() == pytest.approx(0.0, abs=0.02)
        assert y.var() == pytest.approx(1.0, abs=0.03)
    rows = np.asarray(F.feature_alpha_dropout(tl.tensor(np.zeros((3, 9, 4))), seed=2))
    assert (rows == rows[:, :, :1]).all()
    assert np.asarray(F.alpha_dropout(x, p=1.0)).any() == np.False_


def test_losses_of_what_is_ignored_are_zero_even_where_logits_are_infinite() -> None:
    logits = tl.tensor([[0.0, 0.0], [-math.inf, math.nan]])
    labels = tl.tensor([1, -100])
    for attrs in ({}, {"label_smoothing": 0.5}):
        gradient = tl.grad(lambda x, attrs=attrs: F.cross_entropy(x, labels, **attrs))(logits)
        assert F.cross_entropy(logits, labels, **attrs).item() == pytest.approx(math.log(2))
        assert np.asarray(gradient)[0].tolist() == pytest.approx([0.5, -0.5], abs=0.26)
    assert math.isnan(F.cross_entropy(logits[:1], tl.tensor([-100])).item())


def test_labels_without_an_alignment_have_an_infinite_loss() -> None:
    even = tl.tensor(np.full((2, 1, 3), -math.log(3)))
    assert F.ctc_loss(even, [[1, 1]], [2], [2]).item() == math.inf
    assert F.ctc_loss(even, [[1, 1]], [2], [2], zero_infinity=True).item() == 0.0
    gradient = tl.grad(lambda x: F.ctc_loss(x, [[1, 1]], [2], [2], zero_infinity=True))(even)
    assert not np.asarray(gradient).any()


def test_an_argument_with_a_default_may_be_left_out() -> None:
    x = tl.tensor([-2.0, 1.0])
    assert F.leaky_relu(x, 0.5).tolist() == F.leaky_relu(x, negative_slope=0.5).tolist()
    np.testing.assert_allclose(F.leaky_relu(x), [-0.02, 1.0], 1e-6)
    both = tl.grad(F.sum)(F.celu(x, tl.tensor([1.0, 2.0])))
    assert both.shape == (2,)
    (function,) = tl.declare(
        '- scalar: my_scale\n  args: ["x: real numeric", "by: real numeric = 3"]\n'
        "  expr: x * by\n  doc: Scaled.\n"
    ).values()
    assert function(tl.tensor([2])).tolist() == [6]
    assert function(tl.tensor([2]), by=5).tolist() == [10]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ('["x: all = a"]', "the default must be a number"),
        ('["x: all = inf"]', "the default must be a number"),
        ('["x: all = 1", "y: all"]', "'y' has no default, but 'x' before it has"),
    ],
)
def test_a_wrong_default_is_reported(args: str, text: str) -> None:
    with pytest.raises(opdecl.DeclarationError, match=text):
        tl.declare(f"- scalar: my_wrong\n  args: {args}\n  expr: x\n")

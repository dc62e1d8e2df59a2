"""The loss of label sequences without an alignment: against all paths, and of every order."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

RNG = np.random.default_rng(8)
X = RNG.normal(size=(4, 3, 3))
LABELS = np.array([[1, 2], [1, 1], [2, 0]])
STEPS, COUNTS = np.array([4, 3, 2]), np.array([2, 2, 1])


def collapsed(path: tuple[int, ...]) -> list[int]:
    return [label for label, _ in itertools.groupby(path) if label != 0]


def by_paths(x: Any) -> Any:
    """The sum over every path of classes, in ordinary calls."""
    losses = []
    for n in range(3):
        wanted = LABELS[n, : COUNTS[n]].tolist()
        paths = [p for p in itertools.product(range(3), repeat=int(STEPS[n]))
                 if collapsed(p) == wanted]  # fmt: skip
        index = np.array(paths)
        logs = F.sum(F.stack([F.take(x[t, n], index[:, t]) for t in range(STEPS[n])]), axis=0)
        losses.append(-F.logsumexp(logs))
    return F.stack(losses)


def ours(x: Any) -> Any:
    return F.ctc(x, tl.tensor(LABELS), tl.tensor(STEPS), tl.tensor(COUNTS))


def test_values_and_derivatives_to_third_order_are_those_of_all_paths() -> None:
    x = tl.tensor(X)
    weights = tl.tensor([0.5, -1.5, 2.0])

    def first(call: Any) -> Any:
        return lambda x: F.sum(weights * call(x))

    def steeper(f: Any) -> Any:
        return lambda x: F.sum(F.square(tl.grad(f)(x)))

    functions = [first(ours), first(by_paths)]
    np.testing.assert_allclose(np.asarray(ours(x)), np.asarray(by_paths(x)), 1e-12)
    for _ in range(3):
        found, wanted = (np.asarray(tl.grad(f)(x)) for f in functions)
        np.testing.assert_allclose(found, wanted, 1e-9, 1e-11)
        functions = [steeper(f) for f in functions]


def test_forward_mode_and_batches_agree() -> None:
    xs = tl.tensor(RNG.normal(size=(2, *X.shape)))
    together = np.asarray(tl.vmap(ours)(xs))
    slopes = np.asarray(tl.vmap(tl.grad(lambda x: F.sum(ours(x))))(xs))
    for i in range(2):
        np.testing.assert_allclose(together[i], np.asarray(ours(xs[i])), 1e-12)
        wanted = np.asarray(tl.grad(lambda x: F.sum(ours(x)))(xs[i]))
        np.testing.assert_allclose(slopes[i], wanted, 1e-10, 1e-12)
    _, along = tl.jvp(ours, (xs[0],), (xs[1],))
    step = 1e-6
    ends = [np.asarray(ours(xs[0] + sign * step * xs[1])) for sign in (1, -1)]
    np.testing.assert_allclose(np.asarray(along), (ends[0] - ends[1]) / (2 * step), 1e-6, 1e-8)


def test_no_alignment_no_steps_and_no_labels() -> None:
    x = tl.tensor(np.full((2, 4, 3), -math.log(3)))
    labels = tl.tensor(np.array([[1, 1], [1, 0], [0, 0], [0, 0]]))
    steps, counts = tl.tensor([2, 0, 0, 2]), tl.tensor([2, 1, 0, 0])
    losses = F.ctc(x, labels, steps, counts)
    assert losses.tolist()[:3] == [math.inf, math.inf, 0.0]
    assert losses.tolist()[3] == pytest.approx(2 * math.log(3))
    slopes = tl.grad(lambda x: F.sum(F.ctc(x, labels, steps, counts)))(x)
    assert not np.asarray(slopes)[:, :3].any()
    np.testing.assert_allclose(np.asarray(slopes)[:, 3], [[-1, 0, 0]] * 2, atol=1e-7)


def test_nan_is_not_lost() -> None:
    x = X.copy()
    x[1, 0, 1] = np.nan
    losses = np.asarray(F.ctc(tl.tensor(x), tl.tensor(LABELS), tl.tensor(STEPS), tl.tensor(COUNTS)))
    assert np.isnan(losses).tolist() == [True, False, False]


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    x = tl.tensor(RNG.normal(size=(50, 9, 20)).astype(np.float32))
    labels = tl.tensor(RNG.integers(1, 20, (9, 12)))
    lengths = tl.tensor(np.full(9, 50)), tl.tensor(np.full(9, 12))
    before = tl.num_threads()
    try:
        runs = []
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            runs.append(np.asarray(tl.grad(lambda x: F.sum(F.ctc(x, labels, *lengths)))(x)))
    finally:
        tl.set_num_threads(before)
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


WRONG: dict[str, tuple[dict[int, Any], dict[str, Any], type[Exception], str]] = {
    "dimensions": (
        {0: X[0]},
        {},
        tl.ShapeError,
        r"CTC: log_probs must have the shape \(steps, seq",
    ),
    "rows": (
        {1: LABELS[:2]},
        {},
        tl.ShapeError,
        r"CTC: log_probs.shape\[1\] must equal labels.shape\[0\]",
    ),
    "lengths": (
        {2: STEPS[:2]},
        {},
        tl.ShapeError,
        r"CTC: log_probs.shape\[1\] must equal input_lengths.shape",
    ),
    "blank": (
        {},
        {"blank": 3},
        tl.ShapeError,
        "CTC: blank >= 0 and blank < classes must hold; got blank=3",
    ),
    "labels": ({1: LABELS + 9}, {}, tl.IndexRangeError, r"CTC: labels must be in \[0, 2\]; got 10"),
    "below": ({1: LABELS - 9}, {}, tl.IndexRangeError, r"CTC: labels must be in \[0, 2\]; got -8"),
    "steps": ({2: STEPS + 9}, {}, tl.IndexRangeError, r"CTC: input_lengths must be in \[0, 4\]"),
    "counts": ({3: COUNTS - 9}, {}, tl.IndexRangeError, r"CTC: target_lengths must be in \[0, 2\]"),
    "dtype": ({1: LABELS * 1.0}, {}, tl.DTypeError, "CTC: labels must be integer"),
    "complex": ({0: X * 1j}, {}, tl.DTypeError, "CTC: log_probs"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_refused(name: str) -> None:
    changed, attrs, kind, text = WRONG[name]
    given = [changed.get(i, x) for i, x in enumerate((X, LABELS, STEPS, COUNTS))]
    with pytest.raises(kind, match=text):
        F.ctc(*map(tl.tensor, given), **attrs)

"""A launch that repeats is made by a plan: with the bits, the strides and the errors of the first.

Plans are an op's own, so that a copy of the op, which has none, is what a planned launch is held
against: over every declared function, in mixed dtypes and odd layouts, with sizes that change.
"""

from __future__ import annotations

import pickle
import random
import threading
from typing import Any

import numpy as np
import pytest
from support.called_ops import EXAMPLES, applied, changed

import tensorlike as tl
from tensorlike import _C


def outcome(op: Any, xs: list[tl.Tensor]) -> list[Any]:
    """All that can be seen of the results, or the error."""
    try:
        results = op(*xs)
    except (tl.TensorlikeError, ValueError, TypeError, KeyError) as error:
        return [type(error), str(error)]
    return [
        (y.dtype, y.shape, seen.strides, seen.tobytes())
        for y in results
        for seen in [np.asarray(y.astype(tl.float32) if y.dtype == tl.bfloat16 else y)]
    ]


def fresh(op: Any) -> Any:
    """The same op, which has no plans."""
    return pickle.loads(pickle.dumps(op))


@pytest.mark.parametrize("name", EXAMPLES)
def test_planned_launches_are_as_unplanned_ones(name: str) -> None:
    for op, xs in applied(EXAMPLES[name]):
        first = fresh(op)
        assert not _C.is_planned(first, *xs)
        wanted = outcome(first, xs)
        again = fresh(op)
        for _ in range(4):
            assert outcome(again, xs) == wanted, (op, xs)


def test_most_ops_are_planned() -> None:
    """What is left: sizes that elements decide, kernels that are bodies, what small loops do."""
    planned, others = set(), set()
    for name in EXAMPLES:
        for op, xs in applied(EXAMPLES[name]):
            again = fresh(op)
            is_error = any(isinstance(outcome(again, xs)[:1], type) for _ in range(3))
            if is_error or not _C.is_planned(again, *xs):
                others.add(type(op).__name__)
            else:
                planned.add(type(op).__name__)
    assert len(planned) > 75, sorted(others - planned)


@pytest.mark.parametrize("seed", range(8))
def test_plans_follow_shapes_dtypes_and_layouts_that_change(seed: int) -> None:
    rng = random.Random(seed)
    for name in rng.sample(sorted(EXAMPLES), 60):
        notes = applied(EXAMPLES[name])
        for op, xs in rng.sample(notes, min(2, len(notes))):
            kept = fresh(op)
            met: list[list[tl.Tensor]] = [xs]
            for _ in range(12):
                ys = rng.choice(met)
                if rng.random() < 0.5:
                    ys = [changed(rng, x) for x in ys]
                    met.append(ys)
                assert outcome(kept, ys) == outcome(fresh(op), ys), (op, ys)


def test_an_op_keeps_the_plans_of_many_shapes_and_forgets_the_rest() -> None:
    op = tl.ops.Softmax(axis=-1)
    xs = [
        tl.tensor(np.linspace(0, 1, 3 * n, dtype=np.float32)).reshape(3, n) for n in range(1, 200)
    ]
    for _ in range(6):
        for x in xs:
            assert outcome(op, [x]) == outcome(tl.ops.Softmax(axis=-1), [x])
    assert sum(_C.is_planned(op, x) for x in xs) <= 64
    for _ in range(3):
        for x in xs[:24]:
            op(x)
    assert sum(_C.is_planned(op, x) for x in xs[:24]) > 12


def test_threads_share_the_plans_of_an_op() -> None:
    op = tl.ops.MatMul()
    pairs = [(tl.ones((n, 3)) * float(n), tl.ones((3, n + 1)) + float(n)) for n in range(1, 20)]
    wanted = [outcome(tl.ops.MatMul(), list(pair)) for pair in pairs]
    failures: list[Any] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(400):
            i = rng.randrange(len(pairs))
            if outcome(op, list(pairs[i])) != wanted[i]:
                failures.append(pairs[i])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("mode", ["lazy", "async", "sync"])
def test_modes_give_what_plans_give(mode: str) -> None:
    x = tl.tensor(np.linspace(-1, 1, 24, dtype=np.float32)).reshape(4, 6)
    op = tl.ops.LogSoftmax(axis=-1)
    wanted = [outcome(op, [x]) for _ in range(4)]
    with tl.engine.mode(mode):
        found = [outcome(op, [x]) for _ in range(4)]
    assert found == wanted


def test_memory_that_is_not_to_be_had_is_told_in_the_name_of_a_planned_op() -> None:
    op = tl.ops.Softmax(axis=-1)
    x = tl.ones((4, 1000))
    for _ in range(4):
        op(x)
    assert _C.is_planned(op, x)
    _C.fail_allocation_after(0)
    with pytest.raises(tl.OutOfMemoryError, match="Softmax"):
        op(x)
    assert np.asarray(op(x)[0]).sum() == pytest.approx(4)


def test_results_of_plans_are_tensors_of_their_own() -> None:
    op = tl.ops.Softmax(axis=-1)
    x = tl.ones((2, 4))
    kept = [op(x)[0] for _ in range(5)]
    (other,) = op(x * 0.0 + tl.tensor([1.0, 2.0, 3.0, 4.0]))
    for y in kept:
        assert y.tolist() == [[0.25] * 4] * 2
    assert other.tolist() != kept[0].tolist()


def test_what_is_made_is_made_where_the_scope_says() -> None:
    """Ops without operands have one key: plans are for the CPU alone."""
    for _ in range(4):
        assert tl.zeros((2, 3)).device == "cpu"
        assert tl.zeros((2, 3), device="cpu").device == "cpu"

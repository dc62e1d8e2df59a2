"""Nodes of a tape share what they write down of dtypes and shapes: it is that of each call.

Over every declared function, in mixed dtypes, with sizes and layouts that change between calls of
one op, in threads, and under tracers of tracers.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from support.called_ops import EXAMPLES, applied, changed

import tensorlike as tl
from tensorlike import functional as F

REFUSED = (tl.TensorlikeError, ValueError, TypeError, KeyError)


def recorded(op: Any, xs: list[tl.Tensor]) -> int:
    """Applies the op to leaves where they may be; what the tape says of it is what was there."""
    leaves = [
        tl.tensor(x, requires_grad=True) if x.dtype.kind in ("floating", "complex") else x
        for x in xs
    ]
    with tl.Tape() as tape:
        try:
            results = op(*leaves)
        except REFUSED:
            return 0
    own = [entry for entry in tape if entry.op == op]
    for entry in own:
        for said, is_there in ((entry.inputs, leaves), (entry.outputs, results)):
            got = [(value.dtype, tuple(value.shape)) for value in said]
            assert got == [(x.dtype, x.shape) for x in is_there], op
    wanted = [y for y in results if y.requires_grad and y.dtype.kind == "floating"]
    if not own or not wanted:
        return len(own)
    sums = [F.sum(y.astype(tl.float32)) for y in wanted]
    try:
        F.sum(F.stack(sums)).backward()
    except REFUSED:
        return len(own)
    for x in leaves:
        if x.requires_grad and x.grad is not None:
            assert (x.grad.dtype, x.grad.shape) == (x.dtype, x.shape), op
    return len(own)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_written_down_follows_shapes_dtypes_and_layouts_that_change(seed: int) -> None:
    rng = random.Random(seed)
    seen = 0
    for name in rng.sample(sorted(EXAMPLES), 50):
        notes = applied(EXAMPLES[name])
        for op, xs in rng.sample(notes, min(2, len(notes))):
            for _ in range(5):
                seen += recorded(op, [changed(rng, x) for x in xs])
    assert seen > 50


def test_shapes_of_as_many_elements_are_told_apart() -> None:
    add = tl.ops.Elemwise(mode="add")
    for shape in ((2, 6), (3, 4), (6, 2), (12, 1), (2, 6)):
        x = tl.ones(shape)
        for other in (x, x.astype(tl.float64), x[:1], x[:, :1]):
            assert recorded(add, [x, other]) == 1


def test_threads_write_down_their_own_calls() -> None:
    add = tl.ops.Elemwise(mode="add")
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(200):
                shape = tuple(rng.randrange(4) for _ in range(rng.randrange(4)))
                recorded(add, [tl.ones(shape), tl.ones(shape[1:])])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_tracers_of_tracers_and_other_tensor_likes_are_written_down_as_they_are() -> None:
    def loss(x: tl.Tensor) -> tl.Tensor:
        return F.sum(F.exp(x) * x)

    for shape in ((3,), (2, 3), (3,), (0,), (2, 3)):
        x = tl.full(shape, 0.5)
        second = tl.grad(lambda x: F.sum(tl.grad(loss)(x)))(x)
        assert (second.dtype, second.shape) == (x.dtype, shape)
        mapped = tl.vmap(tl.grad(loss))(F.stack([x, x]))
        assert mapped.shape == (2, *shape)

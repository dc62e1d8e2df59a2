"""Sizes that a traced function puts away: numbers of each call, or refused where they are used."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn


class Holder:
    """Something with attributes."""

    size: Any = None
    shape: Any = None
    twice: Any = None


class Sized(nn.Layer):
    """A layer that remembers the length of what it was given."""

    length = 0

    def forward(self, x: Any) -> Any:
        """Doubles."""
        self.length = x.shape[0]
        return x * 2


@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
def test_a_size_that_a_function_keeps_is_that_of_each_call(kind: Callable[..., Any]) -> None:
    holder, table = Holder(), {}

    @kind
    def keeping(x: Any) -> Any:
        holder.size = x.shape[0]
        holder.shape = x.shape
        holder.twice = (x.shape[0] * 2, [x.shape[0]])
        table["size"] = x.shape[0]
        return x * x.shape[0]

    seen = []
    for n in (3, 3, 3):
        seen.append(keeping(tl.ones(n)).tolist())
        assert holder.size == n
    with pytest.warns(jit.RetraceWarning, match=r"keeps a size.*test_kept_sizes\.py:\d+"):
        seen.append(keeping(tl.ones(4)).tolist())
    for n in (4, 5, 3, 7, 3):
        if n != 4:
            seen.append(keeping(tl.ones(n)).tolist())
        assert (holder.size, holder.shape, holder.twice) == (n, (n,), (2 * n, [n]))
        assert table == {"size": n} and type(holder.size) is int
    assert seen == [[float(n)] * n for n in (3, 3, 3, 4, 5, 3, 7, 3)]
    assert "keeps a size" in keeping.why()


def test_a_layer_may_remember_a_length() -> None:
    layer = Sized()
    traced = jit.trace(layer)
    traced(tl.ones(3))
    with pytest.warns(jit.RetraceWarning, match="keeps a size"):
        traced(tl.ones(5))
    for n in (5, 3, 6):
        if n != 5:
            traced(tl.ones(n))
        assert layer.length == n


def test_what_nobody_keeps_is_no_reason_to_run_at_once() -> None:
    @jit.trace
    def cyclic(x: Any) -> Any:
        ring: list[Any] = [x.shape[0]]
        ring.append(ring)  # garbage that waits for the collector
        return F.reshape(x, (ring[0], 1)) * ring[0]

    for n in (3, 4, 5, 3, 4, 5):
        assert cyclic(tl.ones(n)).tolist() == [[float(n)]] * n
    assert "calls run at once" not in cyclic.why() and len(cyclic.programs()) == 2


USES: list[Callable[[Any], Any]] = [
    lambda n: n + 1, lambda n: 3 * n, lambda n: -n, lambda n: n == 4, lambda n: n < 5,
    bool, operator.index, float, lambda n: n // 1, lambda n: n / 2, lambda n: tl.ones((n,)),
    lambda n: tl.ones(4) * n, lambda n: F.reshape(tl.ones(4), (n,)), lambda n: range(n),
]  # fmt: skip


@pytest.mark.parametrize("use", range(len(USES)))
def test_a_size_that_was_left_over_is_refused_wherever_it_is_used(use: int) -> None:
    queue: SimpleQueue[Any] = SimpleQueue()  # what is in it is not put back

    @jit.trace
    def keeping(x: Any) -> Any:
        queue.put(x.shape[0])
        return x * 2

    keeping(tl.ones(3))
    with pytest.warns(jit.RetraceWarning):
        keeping(tl.ones(4))
    kept = [queue.get() for _ in range(3)]
    assert kept[0] == 3 and kept[-1] == 4  # between them what the recording has left
    with pytest.raises(tl.ShapeError, match=r"must not be used after it; got one of .*\.py:\d+"):
        USES[use](kept[1])


def test_a_layer_that_remembers_a_length_is_saved_with_an_unknown_one(tmp_path: Path) -> None:
    layer = Sized()
    jit.trace(layer).dump(tmp_path / "sized.tl", jit.InputSpec((None, 2)))
    loaded = jit.load(tmp_path / "sized.tl")
    for n in (2, 5):
        assert loaded(tl.ones((n, 2))).tolist() == [[2.0, 2.0]] * n
    assert layer.length == 0

"""A function that is called once more, since its recording was for other calls, acts once."""

from __future__ import annotations

import collections
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit

COUNT = 0


class Counter:
    """Counts."""

    count = 0


def _asks_a_table(x: Any) -> Any:
    return x * {3: 2.0, 4: 5.0}.get(x.shape[0], 1.0)


def _takes_an_integer(x: Any) -> Any:
    return F.reshape(x, (int(x.shape[0]), 1))


def _fails(x: Any) -> Any:
    return F.matmul(x, tl.ones(4))


def _acting(body: Callable[[Any], Any]) -> tuple[Callable[[Any], Any], Callable[[], Any]]:
    log: list[int] = []
    table: Any = collections.defaultdict(list)
    seen: set[int] = set()
    space, counter, count = types.SimpleNamespace(n=0), Counter(), 0

    def function(x: Any) -> Any:
        nonlocal count
        global COUNT
        count, COUNT = count + 1, COUNT + 1
        counter.count += 1
        space.n += 1
        log.append(count)
        table["calls"].append(count)
        seen.add(len(seen))
        return body(x)

    def state() -> Any:
        return list(log), dict(table), set(seen), space.n, counter.count, count, COUNT

    return function, state


def _keeps_a_size(kept: list[Any]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        kept.append(x.shape[0])
        return x * 2

    return function


@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
@pytest.mark.parametrize("body", [_asks_a_table, _takes_an_integer, _fails])
def test_what_the_first_run_did_is_taken_back(
    kind: Any, body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for make in (lambda f: f, kind):
        monkeypatch.setitem(globals(), "COUNT", 0)
        function, state = _acting(body)
        called = make(function)
        results = []
        for n in (4, 3):
            try:
                results.append(called(tl.ones(n)).tolist())
            except tl.ShapeError:
                results.append("failed")
        found.append((results, state()))
    assert found[0] == found[1]


def test_a_size_is_kept_once() -> None:
    kept: list[Any] = []
    traced = jit.trace(_keeps_a_size(kept))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.RetraceWarning)
        for n in (3, 4, 5):
            traced(tl.ones(n))
    assert kept == [3, 4, 5]

"""Parts that are excluded from a trace, where a program is made: row J5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit

SEEN: list[float] = []


def in_a_branch(x: Any) -> Any:
    if F.sum(x) > 0:
        with jit.exclude_from_trace():
            SEEN.append(x.sum().item())
        y = x * 2
    else:
        y = -x
    return y


def in_a_loop(x: Any) -> Any:
    while F.sum(x) < 10:
        with jit.exclude_from_trace():
            SEEN.append(x.sum().item())
        x = x * 2
    return x


@pytest.mark.parametrize("function", [in_a_branch, in_a_loop])
def test_j5_excluded_code_in_control_flow_on_tensors_runs_in_every_call(
    function: Callable[..., Any],
) -> None:
    converted = jit.to_static(function)
    calls = [tl.tensor([v]) for v in (1.0, 3.0, -1.0 if function is in_a_branch else 4.0)]
    SEEN.clear()
    wanted = [(function(x).item(), list(SEEN)) for x in calls]
    SEEN.clear()
    with pytest.warns(jit.RetraceWarning, match="excluded"):
        found = [(converted(calls[0]).item(), list(SEEN))]
    found += [(converted(x).item(), list(SEEN)) for x in calls[1:]]
    assert found == wanted
    assert "excluded" in converted.why()


def test_j5_excluded_code_of_a_symbolic_trace_runs_in_every_call() -> None:
    seen = []

    @jit.trace(symbolic=True)
    def logged(x: Any) -> Any:
        with jit.exclude_from_trace():
            seen.append(x.sum().item())
        return x * 2

    with pytest.warns(jit.RetraceWarning, match="excluded"):
        assert logged(tl.tensor([1.0])).item() == 2.0
    assert logged(tl.tensor([2.0])).item() == 4.0
    assert seen == [1.0, 2.0]


def test_j5_gradients_flow_through_loops_with_excluded_code_that_differs() -> None:
    weight = tl.Parameter([2.0])
    seen: list[float] = []

    def function(x: Any) -> Any:
        y = weight * x
        for _ in range(3):
            with jit.exclude_from_trace():
                seen.append(y.item())
                if len(seen) % 2:
                    y = y * 3
            y = y + weight
        return y.sum()

    traced, outer = jit.trace(function), jit.trace(lambda x: traced(x) * 1)
    for value in (1.0, 2.0, 3.0):
        found = []
        for run in (function, traced, outer):
            seen.clear()
            weight.grad = None
            y = run(tl.tensor([value]))
            y.backward()
            assert weight.grad is not None
            found.append((y.item(), weight.grad.item(), list(seen)))
        assert found[0] == found[1] == found[2]

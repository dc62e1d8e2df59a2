"""cond, while_loop and scan: what they refuse, on values and in programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.control_flow import X, in_program

import tensorlike as tl
import tensorlike.functional as F

MISTAKES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "no boolean": (
        lambda x: F.cond(F.sum(x), F.sin, F.cos, x),
        tl.DTypeError,
        "cond: predicate must be a boolean; got float64",
    ),
    "several booleans": (
        lambda x: F.cond(x > 0, F.sin, F.cos, x),
        tl.ShapeError,
        "cond: predicate must be one boolean",
    ),
    "branches of other shapes": (
        lambda x: F.cond(F.sum(x) > 0, lambda x: {"a": x}, lambda x: {"a": F.sum(x)}, x),
        tl.ShapeError,
        r"cond: result\['a'\] both functions must give the same shape and dtype",
    ),
    "branches arranged otherwise": (
        lambda x: F.cond(F.sum(x) > 0, lambda x: (x, x), lambda x: x, x),
        tl.ParameterError,
        "cond: false_fn must return what is arranged as",
    ),
    "branches with other words": (
        lambda x: F.cond(F.sum(x) > 0, lambda x: ("a", x), lambda x: ("b", x), x),
        tl.ParameterError,
        "cond: false_fn must return .* and beside it the same",
    ),
    "a carry of another dtype": (
        lambda x: F.while_loop(lambda c: c[1] < 3, lambda c: (c[0], c[1] + 0.5), (x, 0)),
        tl.DTypeError,
        r"while_loop: carry\[1\] each step must give the same shape and dtype; got int64",
    ),
    "a scan's carry of another shape": (
        lambda x: F.scan(lambda c, row: (F.stack([c, row], 0), row), x[0, 0], x[0]),
        tl.ShapeError,
        r"scan: carry each step must give the same shape and dtype; got float64\(\)",
    ),
    "no pair": (
        lambda x: F.scan(lambda c, row: c, x[0], x),
        tl.ParameterError,
        "scan: body_fn must return the next carry and a row of results",
    ),
    "no length": (
        lambda x: F.scan(lambda c, _: (c, None), x),
        tl.ParameterError,
        "scan: length the number of steps must be known",
    ),
    "rows that differ": (
        lambda x: F.scan(lambda c, row: (c, None), 0.0, (x, x[:2])),
        tl.ShapeError,
        r"scan: xs\[1\] must have",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused_in_programs(mistake: str) -> None:
    function, kind, text = MISTAKES[mistake]
    with pytest.raises(kind, match=text):
        in_program(function, (4, 3))


@pytest.mark.parametrize("mistake", [name for name in MISTAKES if "branches" not in name])
def test_mistakes_are_refused_on_values(mistake: str) -> None:
    function, kind, text = MISTAKES[mistake]
    with pytest.raises(kind, match=text):
        function(tl.tensor(X))


def test_gradients_of_a_recorded_loop_without_a_bound_are_refused() -> None:
    def doubled(x: Any) -> Any:
        return F.while_loop(lambda c: c < 100.0, lambda c: c * 2, x)

    with pytest.raises(tl.AutodiffError, match=r"need a bound; .*; pass max_steps"):
        in_program(lambda x: tl.grad(doubled)(x), ())
    function = in_program(doubled, ())
    x = tl.tensor(3.0, dtype=tl.float64)
    assert tl.jvp(function, (x,), (x,))[1].item() == 192.0
    assert tl.grad(function)(x).item() == 64.0  # of values: the steps that there were
    nested = in_program(lambda x: F.cond(x > 0, doubled, F.sin, x), ())
    assert tl.grad(nested)(x).item() == 64.0


def test_what_runs_once_must_not_seem_to_run_each_time() -> None:
    total = tl.zeros((3,), dtype=tl.float64)

    def sets_outside(c: Any, row: Any) -> Any:
        total.set_value(total + row)
        return c, None

    with pytest.raises(tl.ArgumentError, match="must not set tensors of the outside"):
        in_program(lambda x: F.scan(sets_outside, 0.0, x)[0], (4, 3))
    assert total.tolist() == [0.0] * 3

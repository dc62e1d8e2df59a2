"""J11: ops whose results have sizes that follow from elements, in programs, run after run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

RUNS = ([1.0, -2.0, 3.0], [-1.0, -2.0, -3.0], [5.0], [], [1.0, 1.0, 2.0, -1.0, 1.0])


def check(call: Any, runs: Any = RUNS) -> None:
    """Holds one program against eager calls on rows of several sizes."""
    with static.program_guard(static.Program(), static.Program()) as main:
        results = call(tl.Tensor(static.data("x", (None,))))
    for row in runs:
        x = np.asarray(row, np.float32)
        found = static.Executor().run(main, {"x": x}, [*results], static.Scope())
        for y, wanted in zip(found, call(tl.tensor(x)), strict=True):
            np.testing.assert_allclose(y, np.asarray(wanted), rtol=1e-6, strict=True)


def test_J11_cond_take_and_what_follows_from_it() -> None:
    def call(x: Any) -> Any:
        taken = F.masked_select(x, x > 0)
        places = F.argwhere(x > 0)
        return taken, places, taken * 2 + 1, F.sum(taken), F.cumulative_sum(taken)

    check(call)


def test_J11_topk_and_distinct_values() -> None:
    check(lambda x: F.topk(x, k=1), [row for row in RUNS if row])
    check(lambda x: (F.unique_values(x), F.mean(F.unique_values(x) ** 2)), [r for r in RUNS if r])


def test_J11_sizes_are_multiplied_added_and_shaped() -> None:
    def call(x: Any) -> Any:
        taken = F.masked_select(x, x > 0)
        pairs = F.reshape(taken, (-1, 1)) * F.reshape(taken, (1, -1))
        return (
            F.reshape(pairs, -1), F.concat([taken, x, taken], axis=0),
            F.zeros((taken.shape[0] + 2, 2)), F.stack([taken, taken], axis=1),
        )  # fmt: skip

    check(call)


def test_J11_two_sizes_that_are_found_have_to_be_equal_where_an_op_wants_it() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x = static.data("x", (None,))
        both = F.masked_select(x, x > 0) + F.masked_select(x, x < 0)
    assert "assumes " in str(main)
    exe = static.Executor()
    assert exe.run(main, {"x": [1.0, -2.0, 4.0, -3.0]}, [both])[0].tolist() == [-1.0, 1.0]
    for wrong in ([1.0, -2.0, 4.0], [1.0, 2.0, -4.0, 5.0], [1.0]):
        with pytest.raises(tl.ShapeError, match=r"test_found_sizes\.py"):
            exe.run(main, {"x": wrong}, [both])


def test_J11_a_step_that_does_not_fit_what_was_found_is_an_error() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x = static.data("x", (None,))
        first = F.masked_select(x, x > 0)[:2]
    exe = static.Executor()
    assert exe.run(main, {"x": [1.0, 2.0, 3.0]}, [first])[0].tolist() == [1.0, 2.0]
    with pytest.raises(tl.ShapeError, match="record a program for such sizes") as caught:
        exe.run(main, {"x": [1.0, -2.0]}, [first])
    assert "test_found_sizes.py" in str(caught.value)


def test_J11_a_gradient_goes_through() -> None:
    def loss(x: Any) -> Any:
        taken = F.masked_select(x, x > 0)
        return (F.sum(taken * taken),)

    def slope(x: Any) -> Any:
        value, pull = tl.vjp(lambda z: loss(z)[0], x)
        return (value, *pull(tl.ones_like(value)))

    check(slope, [row for row in RUNS if row])


def test_such_a_program_is_not_bound_ahead() -> None:
    listing = tl.Listing()
    F.argwhere(listing.input("x", (3,)))
    with pytest.raises(tl.ShapeError, match=r"bind: _1 must not have a size that follows.*run"):
        listing.bind(())

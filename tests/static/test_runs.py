"""What a program holds and what its runs do, beyond the rows of seed 004."""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static


def test_a_program_is_freed_with_what_it_holds() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        layer = tl.nn.Linear(4, 3)
        loss = F.mean(layer(static.data("x", (None, 4))))
        tl.optim.Adam(lr=0.1).minimize(loss)
    seen = [weakref.ref(main), weakref.ref(startup), weakref.ref(layer.weight)]
    del main, startup, layer, loss
    gc.collect()
    assert [ref() for ref in seen] == [None] * 3


def test_a_tensor_from_outside_that_would_be_forgotten_is_refused() -> None:
    layer = tl.nn.BatchNorm1d(3)
    before = layer.running_mean.tolist()
    with (
        pytest.raises(tl.TensorlikeError, match=r"before the block must not become.*static\.keep"),
        static.program_guard(static.Program(), static.Program()),
    ):
        layer(static.data("x", (None, 3)))
    assert layer.running_mean.tolist() == before
    with static.program_guard(static.Program(), static.Program()) as main:
        static.keep(layer)
        layer(static.data("x", (None, 3)))
    assert len(main.assigned()) == 2 and layer.running_mean.tolist() == before


def test_what_starts_two_states_may_be_read_as_well(programs: Any) -> None:
    main, startup = programs
    start = F.full((2,), 3.0)
    first, second = tl.Parameter(start), tl.Parameter(start * 2)
    y = start + first + second
    main.assign_kept()
    exe = static.Executor()
    exe.run(startup)
    assert exe.run(main, {}, [y])[0].tolist() == [12.0, 12.0]


def test_each_run_draws_anew_and_as_eager_calls_do(programs: Any) -> None:
    main, _ = programs
    x = static.data("x", (1000,))
    y = tl.nn.Dropout(0.5)(x)
    loss = F.sum(y * y)
    drawn = F.random.uniform((3,))
    w = tl.Parameter([1.0])
    scaled = F.sum(tl.nn.Dropout(0.5)(x * w))
    ((_, gradient),) = static.append_backward(scaled)
    exe, feed = static.Executor(), {"x": np.ones(1000, np.float32)}
    static.global_scope().set("parameter_0", [1.0])
    tl.manual_seed(7)
    runs = [exe.run(main, feed, [loss, drawn, scaled, gradient]) for _ in range(2)]
    assert not np.array_equal(runs[0][1], runs[1][1])
    for _, _, value, slope in runs:  # the gradient drops what the call dropped
        np.testing.assert_allclose(slope[0], value, rtol=1e-6)
    tl.manual_seed(7)
    for found in runs:
        with tl.guard():
            eager = tl.nn.Dropout(0.5)(tl.tensor(feed["x"]))
            assert float(F.sum(eager * eager)) == float(found[0])
            assert F.random.uniform((3,)).tolist() == found[1].tolist()
            assert float(F.sum(tl.nn.Dropout(0.5)(tl.tensor(feed["x"])))) == float(found[2])


def test_an_error_in_a_run_names_the_line_and_changes_nothing(programs: Any) -> None:
    main, startup = programs
    x = static.data("x", ("n",))
    counter = tl.nn.Buffer([0.0])
    counter.set_value(counter + 1)
    z = x[:3] + tl.tensor([1.0, 2.0, 3.0])
    main.assign_kept()
    exe = static.Executor()
    exe.run(startup)
    assert exe.run(main, {"x": [1.0] * 4}, [z])[0].tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(
        tl.ShapeError, match=r"Subtensor.*record a program for such sizes"
    ) as caught:
        exe.run(main, {"x": [1.0] * 2}, [z])
    assert "test_runs.py" in str(caught.value)
    assert static.global_scope().find_var("buffer_0").tolist() == [1.0]


def test_the_program_of_the_rooms_readme_learns() -> None:
    text = (Path(__file__).parents[2] / "static" / "README.md").read_text("utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.S)
    with static.scope_guard(static.Scope()):
        exec(program, {})


def test_programs_that_nobody_holds_take_no_room_from_others() -> None:
    """Shapes with many unknown sizes are refused where their numbers are large."""
    thresholds = gc.get_threshold()
    gc.set_threshold(10**9)  # as where a process is large, and rarely looks for garbage
    try:
        for _ in range(1000):
            dropped = tl.Listing()
            dropped.itself = dropped  # type: ignore[attr-defined]
            dropped.input("x", (None, 3))
        listing = tl.Listing()
        scores = listing.input("scores", ("b", 12, "n", "n"))
        assert F.softmax(scores, axis=-1).shape[1] == 12
    finally:
        gc.set_threshold(*thresholds)


def test_an_error_of_a_step_names_the_line_that_recorded_it() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x, at = static.data("x", (None, 3)), static.data("at", (None,), "int64")
        y = F.take(tl.Tensor(x), tl.Tensor(at), axis=0)
    with pytest.raises(
        tl.IndexRangeError, match=r"got 7 at position 1; applied at .*test_runs\.py"
    ):
        static.Executor().run(main, {"x": np.zeros((2, 3), np.float32), "at": [0, 7]}, [y])

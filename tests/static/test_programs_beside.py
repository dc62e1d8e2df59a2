"""Several programs in one process, by names that each gives its states."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

FEED = {"x": np.ones((2, 3), np.float32)}


def model(main: Any, startup: Any, width: int = 2) -> tuple[Any, Any]:
    with static.program_guard(main, startup):
        layer = tl.nn.Linear(3, width)
        return layer, layer(static.data("x", (None, 3)))


def test_two_programs_of_one_startup_have_states_of_their_own() -> None:
    executor, scope, startup = static.Executor(), static.Scope(), static.Program()
    made = [(main, *model(main, startup)) for main in (static.Program(), static.Program())]
    executor.run(startup, scope=scope)
    first, second = (executor.run(main, FEED, [y], scope)[0] for main, _, y in made)
    assert not np.array_equal(first, second)
    assert len(scope.names()) == 4


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_startup_program_does_not_write_over_the_states_of_another(is_compiled: bool) -> None:
    executor, scope = static.Executor(), static.Scope()
    main, startup, other = static.Program(), static.Program(), static.Program()
    layer, y = model(main, startup)
    executor.run(startup, scope=scope)
    before = executor.run(main, FEED, [y], scope)[0]
    rival = model(static.Program(), other)
    begins: Any = static.CompiledProgram(other) if is_compiled else other
    for where in (scope, scope.new_scope()):
        with pytest.raises(tl.ArgumentError, match="parameter_0 must not be a state of another"):
            executor.run(begins, scope=where)
    assert np.array_equal(executor.run(main, FEED, [y], scope)[0], before)
    executor.run(begins, scope=static.Scope())
    executor.run(startup.clone(), scope=scope)  # its own states begin anew
    del layer, rival


def test_what_is_gone_is_written_over() -> None:
    executor, scope = static.Executor(), static.Scope()

    def cell() -> None:  # of a notebook, which is run again
        main, startup = static.Program(), static.Program()
        y = model(main, startup)[1]
        executor.run(startup, scope=scope)
        executor.run(main, FEED, [y], scope)

    for _ in range(3):
        cell()
    assert len(scope.names()) == 2


def halves(x: Any) -> Any:
    half = F.max_pool2d(x, 2)
    up = F.interpolate(F.avg_pool2d(half, 2), scale_factor=2, mode="bilinear") + half
    return F.interpolate(up, scale_factor=2, mode="nearest") + x


def parts(x: Any) -> Any:
    y = F.avg_pool2d(x, 2)
    b, c, h, w = y.shape
    y = F.reshape(F.reshape(y, (b, c * h, 1, w)).expand(b, c * h, 24, w), (b, c * h * 24, w))
    return F.reshape(y, (b, c * h, 24 * w)), F.reshape(y.permute_dims((0, 2, 1)), (-1, 24 * h * c))


@pytest.mark.parametrize("function", [halves, parts])
def test_sizes_are_told_whatever_programs_live(function: Any) -> None:
    rng, living = random.Random(1), []
    for _ in range(150):
        for _ in range(rng.randrange(4)):
            program = static.Program()
            with static.program_guard(program, static.Program()):
                static.data("x", tuple("abcd"[: rng.randrange(1, 5)]))
            living.append(program)
        while len(living) > 6:
            living.pop(rng.randrange(len(living)))
        program = static.Program()
        with static.program_guard(program, static.Program()):
            function(tl.Tensor(static.data("x", ("b", 2, "h", "w"))))
        living.append(program)

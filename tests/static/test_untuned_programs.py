"""Programs that nobody wrote for the transpilers: each way alone, and two one after the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import static
from tensorlike.imperative import random
from tensorlike.static import transpilers
from tensorlike.static.copying import ancestors
from tensorlike.static.phases import phases
from tests.support.training_programs import states_of
from tests.support.untuned_programs import LOOPS, Built, batches, built

STEPS = 6


class Plain:
    """What runs a program: a step is so many runs on one batch.

    Attributes:
        scopes: one for each process.
    """

    count = 1

    def __init__(self, main: Any, startup: Any, losses: list[Any], runs: int) -> None:
        self.main, self.startup, self.losses, self.runs = main, startup, losses, runs
        self.exe, self.scopes = static.Executor(), [static.Scope() for _ in range(self.count)]

    def begin(self) -> None:
        """Gives states their first values: random ones are the same in each process."""
        state = random.default_stream.state()
        for scope in self.scopes:
            with random.default_stream.replay(state):
                self.exe.run(self.startup, scope=scope)
        self.scale(128)

    def scale(self, number: float) -> None:
        """Sets the scale of the loss, where there is one."""
        for scope in self.scopes:
            if scope.find_var("loss_scale") is not None:
                scope.set("loss_scale", np.float32(number))

    def step(self, feed: dict[str, Any]) -> list[float]:
        """The losses of the last run."""
        for _ in range(self.runs):
            found = self.run(feed)
        return [float(x) for x in found]

    def run(self, feed: dict[str, Any]) -> list[Any]:
        return self.exe.run(self.main, feed, self.losses, self.scopes[0])

    def states(self) -> dict[str, Any]:
        """All states, by name."""
        found = {}
        for scope in self.scopes:
            found.update(states_of(scope))
        return found


class Parallel(Plain):
    """Two processes, which see the same batch."""

    count = 2

    def __init__(self, main: Any, startup: Any, losses: list[Any], runs: int) -> None:
        split = transpilers.data_parallel(main, startup, 2)
        self.combine, self.gradients = split.combine, split.gradients
        super().__init__(split.part, split.startup, losses, runs)

    def run(self, feed: dict[str, Any]) -> list[Any]:
        sent: dict[str, Any] = {}
        for i, scope in enumerate(self.scopes):
            found = self.exe.run(self.main, feed, [*self.gradients, *self.losses], scope)
            sent.update((f"{name}.{i}", found.pop(0)) for name in self.gradients)
        for scope in self.scopes:
            self.exe.run(self.combine, sent, scope=scope)
        return found


class Pipeline(Plain):
    """Two stages; losses are those of the forward parts that have them."""

    count = 2

    def __init__(self, main: Any, startup: Any, losses: list[Any], runs: int) -> None:
        super().__init__(main, startup, losses, runs)
        self.stages = transpilers.pipeline_cut(main, startup, 2)

    def begin(self) -> None:
        for stage, scope in zip(self.stages, self.scopes, strict=True):
            self.exe.run(stage.startup, scope=scope)
        self.scale(128)

    def run(self, feed: dict[str, Any]) -> list[Any]:
        sent, losses = dict(feed), {}
        first, second = ((stage, i) for i, stage in enumerate(self.stages))
        for (stage, i), key in [
            (first, "forward"), (second, "forward"), (second, "backward"), (first, "backward"),
            (first, "update"), (second, "update"),
        ]:  # fmt: skip
            part = getattr(stage, key)
            inputs = [name for name, role, _ in part.program.variables() if role == "input"]
            known = [part.program.copy_of(unwrapped(loss)) for loss in self.losses]
            here = [at for at, n in enumerate(known) if n is not None and key == "forward"]
            found = self.exe.run(
                part.program, {name: sent[name] for name in inputs},
                [*part.sends, *(self.losses[at] for at in here)], self.scopes[i],
            )  # fmt: skip
            sent.update(zip(part.sends, found, strict=False))
            losses.update(zip(here, found[len(part.sends) :], strict=True))
        return [losses[at] for at in range(len(self.losses))]


def unwrapped(x: Any) -> Any:
    return tl.imperative.levels.stopped(tl.imperative.levels.unwrapped(x))


def checkpoints(main: Any) -> list[Any]:
    """Some results of the forward pass."""
    steps, rng = main.steps(), np.random.default_rng(len(main.steps()))
    needed = ancestors(main, [backward.loss for backward in main.backwards])
    made = [n for at in phases(main).forward if at in needed for n in steps[at][2]]
    chosen = rng.choice(made, size=min(3, len(made)), replace=False)
    return [main.symbol(int(n)) for n in chosen]


# What makes a program of a program, and how many runs of it are a step.
WAYS: dict[str, tuple[int, Callable[[Any, Any], tuple[Any, Any]]]] = {
    "bfloat16": (1, transpilers.mixed_precision),
    "float16": (1, lambda m, s: transpilers.mixed_precision(m, s, "float16", 128.0)),
    "dynamic": (1, lambda m, s: transpilers.mixed_precision(m, s, "float16", "dynamic")),
    "accumulated": (2, lambda m, s: transpilers.gradient_accumulation(m, s, 2)),
    "recomputed": (1, lambda m, s: (transpilers.recompute(m, checkpoints(m)), s)),
}
LAST: dict[str, type[Plain]] = {"": Plain, "parallel": Parallel, "pipeline": Pipeline}
ERROR = {"bfloat16": 0.05, "float16": 0.01, "dynamic": 0.01}
SCALED = {"float16", "dynamic"}


def made(found: Built, ways: tuple[str, ...], last: str = "") -> Plain:
    """What runs a program that was transformed in these ways."""
    main, startup, runs = found.main, found.startup, 1
    for way in ways:
        times, function = WAYS[way]
        (main, startup), runs = function(main, startup), runs * times
    return LAST[last](main, startup, found.losses, runs)


def seen(runner: Plain, feeds: list[dict[str, Any]]) -> tuple[list[Any], list[dict[str, Any]]]:
    """The losses and the states of so many steps."""
    tl.manual_seed(5)
    runner.begin()
    losses, states = [], []
    for feed in feeds:
        losses.append(runner.step(feed))
        states.append(runner.states())
    return losses, states


def moved_by_batches(found: Built) -> set[str]:
    """The running statistics, which move in each run."""
    updated = phases(found.main).updated
    return {found.main.names(n) for n in found.main.assigned() if n not in updated}


def is_refused(ways: tuple[str, ...], last: str, error: tl.TensorlikeError) -> bool:
    """Whether ways do not go together, which an error says, and what to do."""
    text = str(error)
    if len(SCALED.intersection(ways)) == 2 or any(ways.count(way) > 1 for way in SCALED):
        return "must be None where the loss is scaled already" in text and "leave it out" in text
    return last == "pipeline" and (
        ("an update must not need several stages" in text and "leave out loss_scale" in text)
        or "draw a mask" in text
        or "give static.data known sizes" in text
    )


def check(name: str, batch: Any, ways: tuple[str, ...], last: str) -> None:
    found, feeds = built(name, batch), batches(name, STEPS)
    before = str(found.main), str(found.startup)
    wanted, plain = seen(Plain(found.main, found.startup, found.losses, 1), feeds)
    try:
        runner = made(found, ways, last)
    except tl.ArgumentError as error:
        assert is_refused(ways, last, error), error
        return
    losses, states = seen(runner, feeds)
    assert (str(found.main), str(found.startup)) == before
    error = max((ERROR[way] for way in ways if way in ERROR), default=0)
    np.testing.assert_allclose(losses, wanted, rtol=error + 1e-6, atol=error)
    passed = moved_by_batches(found) if runner.runs > 1 else set()
    for got, plain_ones in zip(states, plain, strict=True):
        for key, value in plain_ones.items():
            if key in got and key not in passed:
                np.testing.assert_allclose(
                    got[key], value, rtol=1e-6, atol=2 * error + 1e-7, err_msg=key
                )


@pytest.mark.parametrize("name", [name for name in LOOPS if not LOOPS[name].draws])
def test_a_program_does_what_its_lines_do_at_once(name: str) -> None:
    found, feeds = built(name), batches(name, 10)
    losses, states = seen(Plain(found.main, found.startup, found.losses, 1), feeds)
    loop = LOOPS[name]()
    for feed, wanted in zip(feeds, losses, strict=True):
        made_now = loop(**{key: tl.tensor(value) for key, value in feed.items()})
        np.testing.assert_allclose([x.item() for x in made_now], wanted, rtol=1e-6)
    assert found.names.keys() == loop.state().keys()
    for key, value in loop.state().items():
        np.testing.assert_allclose(
            np.array(value.detach()), states[-1][found.names[key]], rtol=1e-5, atol=1e-7
        )


@pytest.mark.parametrize("name", ["Adversaries", "Skipping", "Annealed", "Tasks"])
def test_a_count_is_each_stage_s_own(name: str) -> None:
    """Of runs that accumulate, and of steps: a pipeline takes such programs."""
    for ways in [("accumulated",), ("bfloat16", "accumulated"), ("accumulated", "recomputed")]:
        runner = made(built(name), ways, "pipeline")
        assert isinstance(runner, Pipeline)
        for stage in runner.stages:
            program = stage.update.program
            assert "accumulated_runs" in map(program.names, program.assigned())
        check(name, "batch", ways, "pipeline")


@pytest.mark.parametrize("batch", [4, "batch"], ids=["known", "unknown"])
@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("name", LOOPS)
def test_each_way_does_what_the_program_does(name: str, last: str, batch: Any) -> None:
    for ways in [(), *((way,) for way in WAYS)]:
        check(name, batch, ways, last)


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("name", LOOPS)
def test_two_ways_one_after_the_other_do_what_the_program_does(name: str, first: str) -> None:
    for second in WAYS:
        check(name, "batch", (first, second), "")


@pytest.mark.parametrize("ways", [(), ("accumulated",), ("recomputed",)], ids=str)
@pytest.mark.parametrize("name", LOOPS)
def test_a_step_that_overflows_moves_nothing_but_statistics(
    name: str, ways: tuple[str, ...]
) -> None:
    found = built(name)
    for order in (("dynamic", *ways), (*ways, "dynamic")):
        for last in ("", "parallel"):
            runner = made(found, order, last)
            tl.manual_seed(5)
            runner.begin()
            runner.scale(2.0**100)
            before = runner.states()
            for _ in range(2):
                runner.step(batches(name, 1)[0])
            now = runner.states()
            has_halves = "float16" in {
                runner.main.dtype(n).name for n in range(len(runner.main.variables()))
            }
            if not has_halves:
                continue  # all products are in branches and loops
            each_run = 100 - 2 * runner.runs  # where it goes around the accumulation
            assert now["loss_scale"] in (2.0**98, 2.0**each_run)
            passed = moved_by_batches(found)
            for key in plain_states(found):
                same = np.array_equal(now[key], before[key])
                assert same or key in passed, (key, order, last)


def plain_states(found: Built) -> set[str]:
    return {found.main.names(n) for n in found.main.assigned()}


@pytest.mark.parametrize("way", ["", *WAYS])
@pytest.mark.parametrize("name", LOOPS)
def test_a_program_that_was_saved_goes_on(name: str, way: str, tmp_path: Path) -> None:
    found, feeds = built(name), batches(name, 4)
    runner = made(found, (way,) if way else ())
    tl.manual_seed(5)
    runner.begin()
    for feed in feeds[:2]:
        runner.step(feed)
    names = [f"loss_{i}" for i in range(len(found.losses))]
    for loss, key in zip(runner.losses, names, strict=True):
        number = runner.main.copy_of(unwrapped(loss))
        runner.main.rename(number, key)
    static.save(runner.main, tmp_path / "half.tlp", names, runner.scopes[0])
    scope = static.Scope()
    again = Plain(static.load(tmp_path / "half.tlp", scope), None, names, runner.runs)
    again.scopes = [scope]
    for feed in feeds[2:]:
        state = random.default_stream.state()
        wanted = runner.step(feed)
        with random.default_stream.replay(state):
            assert again.step(feed) == wanted
    for key, value in again.states().items():
        assert np.array_equal(value, runner.states()[key]), key


@pytest.mark.parametrize("way", ["float16", "dynamic", "accumulated"])
def test_what_has_gradients_alone_is_no_program_with_updates(way: str) -> None:
    split = transpilers.data_parallel(*built("Tasks")[:2], 2)
    with pytest.raises(tl.ArgumentError, match=r"must be a program with updates.* minimize"):
        WAYS[way][1](split.part, split.startup)

"""Fair timing: all contenders in one process, taking turns, checked before they are timed.

A shared machine drifts, so a ratio is the median of the ratios of single rounds, in which the
contenders ran one after the other; who starts a round rotates. Other processes can hurt one
contender more than another, so the ratio of the best rounds is told as well, and a bar is met only
if both meet it.
"""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Settings:
    """How much to measure."""

    is_quick: bool = False
    builds_wheel: bool = False
    compiles: bool = True  # whether torch.compile takes part
    is_one_thread: bool = False  # and the processor's time counts

    @property
    def clock(self) -> Callable[[], float]:
        """What times are told by."""
        return time.process_time if self.is_one_thread else time.perf_counter

    @property
    def rounds(self) -> int:
        """How often each contender has its turn."""
        return 9 if self.is_quick else 41

    @property
    def turn(self) -> float:
        """The seconds that a turn should take; at least one call is made."""
        return 0.002 if self.is_quick else 0.005

    @property
    def seconds(self) -> float:
        """What a row of the suite may take, beside building its contenders."""
        return 0.6 if self.is_quick else 2.5


@dataclass(frozen=True)
class Contender:
    """A statement and the names that it uses; a statement costs no call of Python's own."""

    statement: str
    names: dict[str, Any]

    def run(self) -> Any:
        """The statement's value."""
        return eval(self.statement, self.names)


@dataclass(frozen=True)
class Result:
    """A row of the table. `bar` is the most that the ratios may be, or our figure if absolute."""

    name: str
    ours: float
    unit: str
    peer: str = ""
    theirs: float | None = None
    ratio: float | None = None
    best_ratio: float | None = None
    bar: float | None = None
    bar_is_absolute: bool = False

    @property
    def verdict(self) -> str:
        """Whether the bar is met; empty where there is none."""
        if self.bar is None:
            return ""
        compared = self.ours
        if self.ratio is not None and not self.bar_is_absolute:
            compared = max(self.ratio, self.best_ratio or 0.0)
        return "met" if compared <= self.bar else "MISSED"


@dataclass(frozen=True)
class Timings:
    """Seconds of one call, in each round, by contender."""

    rounds: Mapping[str, list[float]]

    def median(self, name: str) -> float:
        """The median over the rounds."""
        return statistics.median(self.rounds[name])

    def ratio(self, name: str, to: str) -> float:
        """The median of the ratios of the rounds."""
        pairs = zip(self.rounds[name], self.rounds[to], strict=True)
        return statistics.median(a / b for a, b in pairs)

    def best_ratio(self, name: str, to: str) -> float:
        """The ratio of the best rounds."""
        return min(self.rounds[name]) / min(self.rounds[to])

    def told(self, name: str, to: str) -> str:
        """Both ratios."""
        return f"{self.ratio(name, to):.2f} ({self.best_ratio(name, to):.2f})"

    def results(
        self, name: str, bars: Mapping[str, float | None], *, ours: str = "tensorlike", per: int = 1
    ) -> list[Result]:
        """A row for each peer that `bars` names; `per` is how many things a call does."""
        return [
            Result(
                name,
                self.median(ours) / per,
                "s",
                peer,
                self.median(peer) / per,
                self.ratio(ours, peer),
                self.best_ratio(ours, peer),
                bar,
            )
            for peer, bar in bars.items()
        ]


def check(contenders: Mapping[str, Contender], tolerance: float) -> None:
    """Raises unless all contenders compute the same."""
    values = {name: as_array(contender.run()) for name, contender in contenders.items()}
    first, *others = values
    for other in others:
        np.testing.assert_allclose(
            values[other], values[first], rtol=tolerance, atol=tolerance, err_msg=other
        )


def as_array(value: Any) -> np.ndarray[Any, Any]:
    """The elements of anybody's tensor."""
    if str(getattr(value, "dtype", "")) == "torch.bfloat16":  # which NumPy does not have
        value = value.float()
    for step in ("detach", "numpy"):
        value = getattr(value, step, lambda same=value: same)()
    return np.asarray(value)


def arrays_of(value: Any) -> list[np.ndarray[Any, Any]]:
    """The elements of a tensor, or of several."""
    return [as_array(part) for part in (value if isinstance(value, (tuple, list)) else [value])]


def time_in_turns(
    contenders: Mapping[str, Contender], settings: Settings, *, tolerance: float = 1e-5
) -> Timings:
    """Checks that the contenders agree, then times them in turns."""
    check(contenders, tolerance)
    timers = {
        name: timeit.Timer(contender.statement, globals=contender.names)
        for name, contender in contenders.items()
    }
    calls = {name: calls_in(timer, settings.turn) for name, timer in timers.items()}
    return take_turns(timers, calls, settings.rounds)


# Threads of a pool that has just worked spin for a while, on whose cores the next contender would
# run: it waits until they sleep. ONNX Runtime's spin for 12 to 25 ms.
PAUSE = 0.03
FEWEST_ROUNDS = 5


def take_turns(
    timers: Mapping[str, timeit.Timer],
    calls: Mapping[str, int],
    most: int,
    *,
    seconds: float | None = None,
) -> Timings:
    """Times all in each round; as many rounds as fit, up to `most`, where `seconds` are given."""
    rounds: dict[str, list[float]] = {name: [] for name in timers}
    order = list(timers)
    start = time.perf_counter()
    for done in range(most):
        if seconds is not None and done >= FEWEST_ROUNDS and time.perf_counter() > start + seconds:
            break
        for name in order:
            time.sleep(PAUSE)
            timers[name].timeit(1)  # whatever the one before has left in caches and threads
            rounds[name].append(timers[name].timeit(calls[name]) / calls[name])
        order.append(order.pop(0))
    return Timings(rounds)


def time_calls(
    calls: Mapping[str, Callable[[], Any]],
    *,
    rounds: int,
    turn: float,
    clock: Callable[[], float] = time.perf_counter,
    seconds: float | None = None,
) -> Timings:
    """Times calls in turns of about `turn` seconds, by any clock."""
    timers = {name: timeit.Timer(call, timer=clock) for name, call in calls.items()}
    counts = {name: calls_in(timer, turn) for name, timer in timers.items()}
    return take_turns(timers, counts, rounds, seconds=seconds)


def calls_in(timer: timeit.Timer, seconds: float) -> int:
    """How many calls take about so long; after a warm-up."""
    calls = 1
    while (taken := timer.timeit(calls)) < seconds:
        calls = max(calls + 1, min(10 * calls, round(calls * seconds / max(taken, 1e-9))))
    return calls


def in_turns(measures: Mapping[str, Callable[[], float]], rounds: int) -> Timings:
    """The same for measures that time themselves, such as fresh processes."""
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            found[name].append(measure())
    return Timings(found)

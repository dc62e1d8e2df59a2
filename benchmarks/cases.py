"""A row of the suite: what is compared, how it is measured, what came out.

A library that lacks a function, or fails, leaves its column empty and its reason in the figures;
when it is ours, the row says so and counts as missed.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from compare import Settings, Timings, arrays_of, time_calls
from peers import COMPILED, JAX, MLX, OURS, TORCH, Array, Build, Call

LEAST_TO_TELL = 0.05  # seconds of a first call that are worth telling as compilation


@dataclass(frozen=True, kw_only=True)
class Case:
    """What a row compares.

    Attributes:
        bar: the most that our time may be of the best peer's.
        against: the peers that the bar speaks of; others are told beside.
        builds: the contenders, ours among them; made when the row is measured.
        given: forms of the peers that write into memory that they are given; told beside, since
            ours returns fresh results.
        exact: the results, of float64, that all are checked against; else those of the first peer.
        tolerance: how far results may be off; infinity where each draws its own numbers.
        describe: more words for the name, of the measured times.
    """

    name: str
    builds: Callable[[], Mapping[str, Build]]
    bar: float | None = None
    against: Sequence[str] = (TORCH, COMPILED, JAX, MLX)
    given: Callable[[], Mapping[str, Build]] = dict
    exact: Callable[[], Sequence[Array]] | None = None
    tolerance: float = 1e-4
    describe: Callable[[Timings], str] = lambda _: ""


@dataclass(kw_only=True)
class Row:
    """What a case gave; times are seconds."""

    name: str
    bar: float | None
    times: dict[str, float] = field(default_factory=dict)
    given: dict[str, float] = field(default_factory=dict)
    to_compile: dict[str, float] = field(default_factory=dict)
    best_peer: str = ""
    ratio: float | None = None
    best_ratio: float | None = None
    troubles: dict[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Whether the bar is met; empty where there is none."""
        if OURS in self.troubles:
            return self.troubles[OURS].partition(":")[0]
        if self.bar is None or self.ratio is None:
            return ""
        return "met" if max(self.ratio, self.best_ratio or 0) <= self.bar else "MISSED"


def measure(case: Case, settings: Settings) -> Row:
    """Builds the contenders, compares their results, times them in turns."""
    row = Row(name=case.name, bar=case.bar)
    given = case.given()
    calls, results = _build({**case.builds(), **given}, row, settings)
    _check(case, results, row)
    del results
    timings = time_calls(
        calls,
        rounds=settings.rounds,
        turn=settings.turn,
        clock=settings.clock,
        seconds=settings.seconds,
    )
    medians = {name: timings.median(name) for name in calls}
    row.times = {name: t for name, t in medians.items() if name not in given}
    row.given = {name: t for name, t in medians.items() if name in given}
    peers = [name for name in case.against if name in row.times]
    if OURS in row.times and peers:
        row.best_peer = min(peers, key=medians.__getitem__)
        row.ratio = timings.ratio(OURS, row.best_peer)
        row.best_ratio = timings.best_ratio(OURS, row.best_peer)
    if OURS in row.times:
        row.name += case.describe(timings)
    del calls
    gc.collect()
    return row


def _build(
    builds: Mapping[str, Build], row: Row, settings: Settings
) -> tuple[dict[str, Call], dict[str, list[Any]]]:
    """The calls and the results of their first runs; what fails is told and left out."""
    calls: dict[str, Call] = {}
    results: dict[str, list[Any]] = {}
    for name, build in builds.items():
        if name == COMPILED and not settings.compiles:
            continue
        start = time.perf_counter()
        try:
            call = build()
            results[name] = [np.array(x) for x in arrays_of(call())]
        except Exception as error:  # whatever a library may raise
            word = "missing" if isinstance(error, AttributeError) else "fails"
            _trouble(row, name, f"{word}: {type(error).__name__}: {error}")
            continue
        calls[name] = call
        taken = time.perf_counter() - start
        if name.startswith((COMPILED, JAX)) and taken > LEAST_TO_TELL:
            row.to_compile[name] = taken
    return calls, results


def _check(case: Case, results: Mapping[str, list[Any]], row: Row) -> None:
    """Compares all with the exact results, or else with the first peer's; by the largest element,
    since sums cancel."""
    reference = next((name for name in results if name != OURS), OURS)
    expected = results.get(reference, []) if case.exact is None else case.exact()
    reference = reference if case.exact is None else "float64"
    for name, values in results.items():
        for value, wanted in zip(values, expected, strict=False):
            scale = float(np.max(np.abs(wanted), initial=0)) if wanted.dtype.kind == "f" else 0
            is_free = case.tolerance == np.inf
            if value.shape != wanted.shape or not (
                is_free
                or np.allclose(value, wanted, rtol=case.tolerance, atol=case.tolerance * scale)
            ):
                _trouble(row, name, f"DIFFERS: from {reference}'s result")
                break


def _trouble(row: Row, name: str, text: str) -> None:
    row.troubles[name] = text.splitlines()[0][:300]
    print(f"{row.name}: {name} {row.troubles[name]}", file=sys.stderr)

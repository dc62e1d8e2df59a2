"""Measures the ways of a convolution and fits what they cost on this processor.

    python benchmarks/fit_costs.py [--shapes N] [--data FILE] [--write]

Shapes are drawn from the zoo's tables of layers and from ranges. Each way that may compute one is
timed (one thread, the processor's time, in turns). Half of the shapes, drawn by a seed, give the
rates of csrc/kernels/ways.inc: nanoseconds for each count of a way's work, none negative, with
predictions as near as can be in proportion. The other half judges them: by how much the way with
the least predicted time is slower than the fastest. What was measured says on which family of
processors, so that a file may be fitted elsewhere.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import zoo_layers as layers
import zoo_windows as windows
from compare import time_calls
from scipy.optimize import least_squares
from zoo_layers import Convolution

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C
from tensorlike.static import CompiledProgram

RATES = Path(__file__).parent.parent / "csrc" / "kernels" / "ways.inc"
WAYS = [
    "strips", "tiles", "pixels", "rows", "blocks", "alone", "dots", "tile dots", "pixel dots",
    "apart", "apart dots", "scattered", "parts", "part dots",
]  # fmt: skip
TABLES = [
    layers.RESNET, layers.POINTWISE, layers.DEPTHWISE, layers.FEW_CHANNELS, layers.DETECTORS,
    layers.OTHERS, windows.DILATED, windows.SEQUENCES, windows.VOLUMES, windows.GROUPED,
]  # fmt: skip
KINDS = ["forward", "kept", "by the image", "by the weights"]
COUNTS, MADE = 6, 4  # of Work; that of weights that are made ready
AROUND = 500.0  # nanoseconds, at first
HOLD = 3.0  # what keeps rates near those that are known; the best of 0.5 to 8 on other halves
MOST_WORK = 1.5e9  # multiply-adds of a case
ROUNDS, TURN = 7, 0.002


def shapes(random: Random, count: int) -> Iterator[tuple[Convolution, int]]:
    """Layers of the zoo, and as many around the places where ways meet; images of one to eight."""
    for i in range(count):
        batch = random.choice((1, 1, 2, 4, 8))
        if i % 2 == 0:
            (row,) = layers.drawn(random, random.choice(TABLES), 1)
            yield row, batch
            continue
        c_in, c_out = (int(2 ** random.uniform(0, 10)) for _ in range(2))
        size = (int(2 ** random.uniform(0, 6.5)), int(2 ** random.uniform(0, 6.5)))
        window, groups = random.choice((1, 1, 3, 3, 3, 5)), 1
        if random.random() < 0.15:
            c_out, groups = c_in, c_in
        size = (max(size[0], window), max(size[1], window))
        stride, dilation = random.choice((1, 1, 1, 2)), 1
        if window == 3 and random.random() < 0.3:
            size, stride, dilation = (size[0] + 12, size[1] + 12), 1, random.choice((2, 3, 4, 6))
        yield Convolution(c_in, c_out, size, window, stride, groups, dilation), batch


def multiply_adds(row: Convolution, batch: int) -> float:
    """How many, about."""
    pixels = math.prod(row.sizes) / (1 if row.transposed else math.prod(row.of_each(row.stride)))
    taps = math.prod(row.windows)
    return batch * row.c_in * row.c_out / row.groups * taps * pixels


def calls(row: Convolution, batch: int) -> dict[str, Callable[[], Any]]:
    """The result, the result with weights that are kept, and both gradients."""
    ndim = len(row.sizes)
    x = tl.tensor(layers.numbers(batch, row.c_in, *row.sizes))
    w = tl.tensor(layers.numbers(row.c_out, row.c_in // row.groups, *row.windows, seed=1))
    options = {"stride": row.of_each(row.stride), "padding": row.pads, "groups": row.groups}
    options |= {"dilation": row.dilation}
    function = getattr(F, f"conv{ndim}d")
    dy = tl.tensor(layers.numbers(*function(x, w, **options).shape, seed=2))
    listing = tl.Listing()
    kept = CompiledProgram(listing, ["keep"])
    y = function(tl.Tensor(listing.input("x", x.shape, x.dtype)), w, **options)

    def slope(of: int) -> Callable[[], Any]:
        operands = [tl.tensor(z, requires_grad=i == of) for i, z in enumerate((x, w))]
        result = function(*operands, **options)
        return lambda: tl.autograd.grad(result, operands[of], dy, retain_graph=True)

    return {
        "forward": lambda: function(x, w, **options),
        "kept": lambda: kept.run(y, x),
        "by the image": slope(0),
        "by the weights": slope(1),
    }


def measured(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """For each shape and call between several ways: counts and seconds of each."""
    tl.set_num_threads(1)
    for row, batch in shapes(Random(seed), count):
        if row.transposed or multiply_adds(row, batch) > MOST_WORK:
            continue
        for kind, call in calls(row, batch).items():
            _C.note_ways(True)
            call()
            ways = {name: counts for name, _, counts in _C.noted_ways()}
            _C.note_ways(False)
            if len(ways) < 2 and Random(f"{row}{kind}").random() < 0.7:
                continue
            times = time_calls(
                {name: wanting(name, call) for name in ways},
                rounds=ROUNDS,
                turn=TURN,
                clock=time.process_time,
            )
            seconds = {name: min(times.rounds[name]) for name in ways}
            yield {
                "family": [_C.isa(), _C.processor_vendor()], "shape": f"{row}, batch {batch}",
                "kind": kind, "ways": ways, "times": seconds,
            }  # fmt: skip


def wanting(name: str, call: Callable[[], Any]) -> Callable[[], Any]:
    """The call, by one way."""

    def run() -> Any:
        _C.want_way(name)
        result = call()
        _C.want_way(None)
        return result

    return run


def halves(found: Sequence[dict[str, Any]], seed: int) -> tuple[list[Any], list[Any]]:
    """By shape: what rates are fitted on, and what judges them."""
    first = {shape: Random(f"{seed} {shape}").random() < 0.5 for shape in
             {each["shape"] for each in found}}  # fmt: skip
    return [e for e in found if first[e["shape"]]], [e for e in found if not first[e["shape"]]]


def fitted(
    found: Sequence[dict[str, Any]], known: dict[str, list[float]]
) -> dict[str, list[float]]:
    """Rates by way: those that are known, each times what brings predictions nearest in proportion.

    A way of few cases stays near what is known, but for the speed of the processor. Large errors
    count less than their squares, since a neighbour's turn is no cost.
    """
    rates = {}
    least = np.max(list(known.values()), axis=0) / 100  # a count that was free may cost
    speed = np.median(
        [e["times"][w] * 1e9 / predicted(known, w, counts) for e in found
         for w, counts in e["ways"].items()]
    )  # fmt: skip
    for way, start in known.items():
        of_way = [e for e in found if way in e["ways"]]
        if not of_way:
            continue
        # What autodiff and programs take around a call is the same for all ways: left out below.
        around = [[float(e["kind"] == kind) for kind in KINDS[1:]] for e in of_way]
        counts = np.array([[*e["ways"][way], 1.0, *a] for e, a in zip(of_way, around, strict=True)])
        counts[[e["kind"] == "kept" for e in of_way], MADE] = 0  # by an earlier call
        first = speed * np.array([*np.maximum(start, least), *[AROUND for _ in KINDS[1:]]])
        seconds = np.array([e["times"][way] for e in of_way])
        parts = counts * first / (seconds * 1e9)[:, None]
        rates[way] = [float(r) for r in (first * _factors(parts))[: COUNTS + 1]]
    return rates


def _factors(parts: np.ndarray) -> np.ndarray:
    """What the parts of each time are to be multiplied by; no more than is to be gained."""

    def errors(logarithms: np.ndarray) -> np.ndarray:
        return np.concatenate([np.log(parts @ np.exp(logarithms)), HOLD * logarithms])

    def slopes(logarithms: np.ndarray) -> np.ndarray:
        shares = parts * np.exp(logarithms)
        held = HOLD * np.eye(len(logarithms))
        return np.vstack([shares / shares.sum(axis=1)[:, None], held])

    start = np.zeros(parts.shape[1])
    return np.exp(least_squares(errors, start, jac=slopes, loss="soft_l1").x)


def predicted(rates: dict[str, list[float]], way: str, counts: Sequence[float]) -> float:
    """Nanoseconds."""
    return sum(rate * count for rate, count in zip(rates[way], [*counts, 1.0], strict=True))


def regrets(found: Sequence[dict[str, Any]], rates: dict[str, list[float]]) -> dict[str, float]:
    """Of each call between several ways: the time of the way with the least predicted time over
    that of the fastest."""

    def chosen(each: dict[str, Any]) -> str:
        return min(each["ways"], key=lambda way: predicted(rates, way, each["ways"][way]))

    return {
        f"{e['kind']}, {e['shape']}": e["times"][chosen(e)] / min(e["times"].values())
        for e in found
        if len(e["ways"]) > 1
    }


def told(name: str, found: dict[str, float]) -> str:
    """The mean, the worst tenth and the worst."""
    ratios = sorted(found.values())
    tenth = ratios[-max(1, len(ratios) // 10) :]
    mean, worst = (math.exp(sum(map(math.log, r)) / len(r)) for r in (ratios, tenth))
    above = sum(r > 1.1 for r in ratios)
    last = max(found, key=found.__getitem__)
    return (
        f"{name}: {len(ratios)} calls, mean {mean:.3f}, worst tenth {worst:.2f}, "
        f"above 1.1 {above}; the worst {found[last]:.2f}: {last}"
    )


def text_of(level: str, vendor: str, rates: dict[str, list[float]]) -> str:
    """A family's entry of ways.inc."""
    lines = [f'    {{Isa::k{level.upper()}, "{vendor}", {{']
    for way in WAYS:
        numbers = ", ".join(f"{rate:.4g}" for rate in rates[way])
        lines.append(f"        {{{numbers}}},  // {way}")
    return "\n".join([*lines, "    }},"])


HEAD = """\
// Written by benchmarks/fit_costs.py: nanoseconds of each count of Work, in its order, then of the
// call itself; by Way. A processor of another family takes the nearest level's, its own maker's
// first.
// clang-format off
"""


def families() -> dict[tuple[str, str], dict[str, list[float]]]:
    """The rates that ways.inc has, by level and maker."""
    found = {}
    for level, vendor, text in re.findall(
        r"\{Isa::k(\w+), \"([^\"]*)\", \{(.*?)\n    \}\},", RATES.read_text(), re.S
    ):
        lines = re.findall(r"\{(.*)\},  // (.*)", text)
        rates = {way: [float(rate) for rate in numbers.split(",")] for numbers, way in lines}
        found[level.lower(), vendor] = rates
    return found


def write(level: str, vendor: str, rates: dict[str, list[float]]) -> None:
    """Into ways.inc, in place of what this family had."""
    known = families() | {(level, vendor): rates}
    by_level = sorted(sorted(known), key=lambda family: family[0], reverse=True)
    entries = [text_of(*family, known[family]) for family in by_level]
    RATES.write_text(HEAD + "\n".join(entries) + "\n")


def main() -> None:
    """Measures or reads, fits, judges; writes where it is asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shapes", type=int, default=400)
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--data", type=Path, help="what was measured: read if there, else written")
    parser.add_argument("--write", action="store_true", help="into csrc/kernels/ways.inc")
    given = parser.parse_args()
    if given.data and given.data.exists():
        found = [json.loads(line) for line in given.data.read_text().splitlines()]
    else:
        found = []
        for each in measured(given.shapes, given.seed):
            found.append(each)
            if given.data:
                with given.data.open("a") as file:
                    file.write(json.dumps(each) + "\n")
    learnt, judged = halves(found, given.seed)
    ((level, vendor),) = {tuple(each["family"]) for each in found}
    known = families()
    start = known.get((level, vendor)) or known[min(known, key=lambda family: family[0] != level)]
    rates = {**start, **fitted(learnt, start)}
    print(text_of(level, vendor, rates))
    print(told("fitted half", regrets(learnt, rates)))
    print(told("judged half", regrets(judged, rates)))
    for family, others in known.items():
        print(told(f"with the rates of {' '.join(family)}", regrets(judged, others)))
    if given.write:
        write(level, vendor, {**start, **fitted(found, start)})


if __name__ == "__main__":
    main()

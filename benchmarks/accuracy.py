"""Measures how far the mathematical functions are off, and writes docs/accuracy.md.

    pip install -e '.[accuracy]'
    python benchmarks/accuracy.py              # every function, at every ISA level of this build
    python benchmarks/accuracy.py erf lgamma   # only these; printed, not written

Each function is called on arguments from its whole range: random bit patterns (every exponent,
both signs, denormal numbers), sizes around 1, and the neighbours of the points where functions
vanish, have poles, overflow or change their formula. NumPy in a wider type picks the arguments at
which the result seems worst; mpmath, with some thirty digits to spare, has the last word on those
and on a random choice of the others. An error is counted in units in the last place (ulp) of the
exact result, rounded to the dtype.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_functions import FUNCTIONS, Function
from mpmath import mp, mpf  # type: ignore[import-untyped]

import tensorlike as tl
from tensorlike import functional as F
from tensorlike.opdecl import load_builtin
from tensorlike.opdecl.oracle.reference import Reference

Array = Any
PAGE = Path(__file__).parent.parent / "docs" / "accuracy.md"
RANDOM, CONFIRMED, SAMPLED = 60_000, 120, 200
mp.prec = 160

# Where the functions vanish, have poles, overflow, or change their formula.
POINTS = [
    *(0.1, 0.25, 0.41421356, 0.5, 0.6, 0.70710678, 1, 1.41421356, 1.4616321449683623, 1.5, 2),
    *(2.41421356, 3, 4.6, 5, 6, 10, 17.3, 20, 26.6, 37, 87.34, 88.72, 89.4, 103.97, 126, 128, 149),
    *(150, 708.4, 709.78, 710.47, 744.44, 745.13, 1022, 1024, 1074, 1075, 131072, 1e6, 2.0**30),
    *(2.4570247382208006, 2.7476826467274127, 3.1435808883499798, 4.0, 7.0),
    *(n * 0.7853981633974483 for n in range(1, 60)),
    *(n * 0.34657359027997264 for n in range(1, 20)),
]
SPECIAL = [0.0, 1.0, 2.0, 0.5, 1.5, 2.5, 3.0, np.inf, np.nan]


def special_values(dtype: str) -> Array:
    info = np.finfo(dtype)
    edges = [*SPECIAL, info.max, info.tiny, info.smallest_subnormal, info.eps]
    return np.array([sign * x for x in edges for sign in (1, -1)], dtype)


def sweep(dtype: str, count: int, seed: int) -> Array:
    """Random bits, sizes around 1, and the surroundings of POINTS."""
    rng = np.random.default_rng(seed)
    size = np.dtype(dtype).itemsize
    bits = rng.integers(0, 256, count * size, np.uint8).view(dtype)
    usual = rng.uniform(-1, 1, count) * 2.0 ** rng.uniform(-30, 10, count)
    point = np.tile(np.array(POINTS), 60)
    distance = rng.uniform(-1, 1, point.size) * 2.0 ** rng.uniform(-52, -6, point.size)
    near = point * (1 + distance) * rng.choice([-1, 1], point.size)
    return np.concatenate([special_values(dtype), bits, usual.astype(dtype), near.astype(dtype)])


def pairs(dtype: str) -> list[Array]:
    """Pairs of random bits, of one size, around 1, and with a moderate power."""
    rng = np.random.default_rng(3)
    special = special_values(dtype)
    x, y = sweep(dtype, RANDOM // 2, 1), sweep(dtype, RANDOM // 2, 2)
    rng.shuffle(y)
    with np.errstate(all="ignore"):
        base = np.abs(x[:RANDOM])
        exponent = rng.uniform(-1, 1, base.size) * np.finfo(dtype).maxexp / np.log2(base)
        like = x * rng.uniform(-4, 4, x.size).astype(dtype)
    first = [np.repeat(special, special.size), x, x, base]
    second = [np.tile(special, special.size), y, like, exponent.astype(dtype)]
    return [np.concatenate(first), np.concatenate(second)]


def unit_of(exact: Array, dtype: str) -> Array:
    """A unit in the last place of the numbers of a dtype, in a wider type."""
    info = np.finfo(dtype)
    _, exponent = np.frexp(exact)
    return np.ldexp(np.ones_like(exact), np.maximum(exponent, info.minexp + 1) - info.nmant - 1)


def error_of(got: Array, inputs: list[Array], function: Function, dtype: str) -> float:
    """The error of one result by mpmath; 0 where both overflow."""
    exact = function.exact(*(mpf(float(x)) for x in inputs))
    if exact is None or not mp.isfinite(exact) or exact == 0 or not np.isfinite(got):
        return 0.0
    info = np.finfo(dtype)
    size = max(abs(exact), mpf(function.at_least))
    exponent = max(int(mp.floor(mp.log(size, 2))), info.minexp)
    if exponent >= info.maxexp:
        return 0.0
    return float(abs(mpf(float(got)) - exact) / mpf(2) ** (exponent - info.nmant))


def wrong_kinds(got: Array, wanted: Array, dtype: str) -> Array:
    """Where one is NaN, infinite, or a zero of some sign, and the other is not."""
    with np.errstate(all="ignore"):
        wanted = wanted.astype(dtype)
    is_zero = (got == 0) & (wanted == 0) & (np.signbit(got) != np.signbit(wanted))
    limit = np.finfo(dtype).max
    overflows = (np.isinf(got) != np.isinf(wanted)) & (np.fmin(abs(got), abs(wanted)) < limit)
    return (np.isnan(got) != np.isnan(wanted)) | overflows | is_zero


def measure(name: str, dtype: str, reference: Reference) -> dict[str, Any]:
    """The worst error, where it is, and the special values that come out wrong."""
    function = FUNCTIONS[name]
    inputs = pairs(dtype) if function.arguments == 2 else [sweep(dtype, RANDOM, 0)]
    got = np.asarray(getattr(F, function.name)(*(tl.tensor(x) for x in inputs)))
    wide = np.float64 if dtype == "float32" else np.longdouble
    with np.errstate(all="ignore"):
        wanted = np.asarray(reference.call(function.name, *(x.astype(wide) for x in inputs)))
        guess = np.abs(got.astype(wide) - wanted) / unit_of(
            np.fmax(np.abs(wanted), wide(function.at_least)), dtype
        )
    guess[~np.isfinite(guess)] = 0
    special = special_values(dtype).size ** function.arguments
    wrong = np.flatnonzero(wrong_kinds(got[:special], wanted[:special], dtype))
    inside = np.ones(got.size, bool) if function.domain is None else function.domain(*inputs)
    chosen = np.argsort(np.where(inside, guess, 0))[-CONFIRMED:]
    some = np.random.default_rng(4).choice(np.flatnonzero(inside), SAMPLED)
    worst, place = 0.0, 0
    for i in (*chosen, *some):
        error = error_of(got[i], [x[i] for x in inputs], function, dtype)
        if error > worst:
            worst, place = error, int(i)
    at = [float(x[place]) for x in inputs]
    bits = hashlib.sha256(np.where(np.isnan(got), got.dtype.type(np.nan), got).tobytes())
    return {
        "ulp": worst,
        "at": at,
        "wrong": [[float(x[i]) for x in inputs] for i in wrong],
        "bits": bits.hexdigest(),
    }


def measure_all(names: list[str]) -> dict[str, Any]:
    """Everything, at the level that this process runs at."""
    reference = Reference(load_builtin())
    found = {
        name: {t: measure(name, t, reference) for t in ("float32", "float64")} for name in names
    }
    return {"isa": tl._C.isa(), "found": found}


def numbers(values: list[float]) -> str:
    return ", ".join(f"{value:.9g}" for value in values)


def table(results: list[dict[str, Any]]) -> str:
    """The page's table: a row for each function and dtype, a column for each level."""
    levels = [result["isa"] for result in results]
    head = ["function", "dtype", *(f"ulp at {level}" for level in levels), "worst at", "wrong kind"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name in results[0]["found"]:
        for dtype in ("float32", "float64"):
            rows = [result["found"][name][dtype] for result in results]
            worst = max(rows, key=lambda row: row["ulp"])
            wrong = "; ".join(numbers(x) for x in worst["wrong"][:4]) or "none"
            cells = [name, dtype, *(f"{row['ulp']:.2f}" for row in rows)]
            lines.append("| " + " | ".join([*cells, numbers(worst["at"]), wrong]) + " |")
    return "\n".join(lines)


def same_bits(results: list[dict[str, Any]]) -> str:
    """For each two levels, the functions whose results differ in some bit."""
    lines = []
    for one, other in itertools.combinations(results, 2):
        differ = [
            f"{name} ({dtype})"
            for name, found in one["found"].items()
            for dtype in found
            if found[dtype]["bits"] != other["found"][name][dtype]["bits"]
        ]
        count = sum(len(found) for found in one["found"].values())
        names = f"{len(differ)} of {count}" if len(differ) > 8 else ", ".join(differ)
        lines.append(f"  - {one['isa']} and {other['isa']}: {names or 'none'}")
    return "\n".join(lines) or f"  - not measured: this build has {results[0]['isa']} alone"


def page(results: list[dict[str, Any]]) -> str:
    return f"""# Accuracy of the mathematical functions

Written by `python benchmarks/accuracy.py`, which says how it measures.

The largest errors found, in units in the last place (ulp) of the exact result; 0.5 is perfect
rounding. *Wrong kind* lists arguments (NaN, infinities, zeros of both signs, denormal numbers, the
ends of the range, and small numbers) whose result is NaN, infinite or a zero of some sign where the
exact one is not: at most four of them.

{table(results)}

- The rows in which any bit of any result differs, on the same arguments (v2 has no fused
  multiply-add, so that products are rounded there before they are added):
{same_bits(results)}
- Left of 0, float64 `lgamma`, `digamma` and `tetragamma` keep the absolute error small and not the
  relative one: their zeros there are where two parts cancel. So the errors there are those in ulp
  of 1 where the result is smaller. float32 `lgamma`, `digamma` and `trigamma` are worked out in
  float64 and have no such trouble.
- Functions declared by a formula (`tetragamma`, `sinc`, `logit`, `sigmoid`, `softplus`) are as good
  as its steps. Left of 0 `tetragamma` cubes a sine, and with it its error. `gelu` is not listed: by
  its formula with `erf` it is -0 left of -6 in float32, where the exact value is below 1e-8; `erfc`
  would save it at twice the time. `sigmoid`, `silu` and `gelu_tanh` keep their digits there.
"""


def main(names: list[str]) -> None:
    if "--json" in names:
        names.remove("--json")
        chosen = [key for key, f in FUNCTIONS.items() if not names or f.name in names]
        print(json.dumps(measure_all(chosen)))
        return
    results = []
    for level in ("v2", "v3", "v4"):
        command = [sys.executable, __file__, "--json", *names]
        environment = {**os.environ, "TENSORLIKE_ISA": level}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{level}: not in this build, or too much for this processor\n{done.stderr}")
            continue
        result = json.loads(done.stdout)
        if result["isa"] not in [other["isa"] for other in results]:
            results.append(result)
    if names:
        print(table(results))
    else:
        PAGE.write_text(page(results))
        print(f"wrote {PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])

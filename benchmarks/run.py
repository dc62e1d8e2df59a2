"""Measures tensorlike beside NumPy and PyTorch, and prints a table with what was asked for.

python benchmarks/run.py [NAME ...] [--quick] [--wheel] [--json FILE]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

THREADS = 2
os.environ["OMP_NUM_THREADS"] = os.environ["TENSORLIKE_NUM_THREADS"] = str(THREADS)

import footprint  # noqa: E402
import large  # noqa: E402  (the libraries read the number of threads when they are imported)
import machine  # noqa: E402
import scaling  # noqa: E402
import tiny  # noqa: E402
import torch  # noqa: E402
import training  # noqa: E402
from compare import Result, Settings  # noqa: E402

import tensorlike as tl  # noqa: E402

BENCHMARKS: dict[str, Callable[[Settings], list[Result]]] = {
    "add": tiny.add,
    "add-recording": tiny.add_recording,
    "sum": tiny.sum_,
    "gelu": tiny.gelu,
    "chain": tiny.chain,
    "python": tiny.python_kind,
    "multiply-add-large": large.multiply_add,
    "gelu-large": large.gelu,
    "bandwidth": large.bandwidth,
    "mlp": training.mlp,
    "import": footprint.imports,
    "deep": scaling.deep,
    "leak": scaling.leak,
    "wheel": footprint.wheel,
}


def readable(value: float | None, unit: str) -> str:
    """Three digits, in the unit that suits."""
    if value is None:
        return ""
    steps = [("MB", 1e6), ("kB", 1e3), ("B", 1.0)]
    if unit == "s":
        steps = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)]
    name, size = next((step for step in steps if abs(value) >= step[1]), steps[-1])
    return f"{value / size:.3g} {name}"


def row(result: Result) -> list[str]:
    """The cells of a line of the table."""
    verdict = {None: "", True: "met", False: "MISSED"}[result.is_met]
    bar = "" if result.bar is None else f"{result.bar:g}"
    if result.bar is not None and (result.ratio is None or result.bar_is_absolute):
        bar = readable(result.bar, result.unit)
    return [
        result.name,
        readable(result.ours, result.unit),
        " ".join(part for part in (result.peer, readable(result.theirs, result.unit)) if part),
        "" if result.ratio is None else f"{result.ratio:.3g}",
        "" if result.best_ratio is None else f"{result.best_ratio:.3g}",
        bar,
        verdict,
    ]


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter chains")
    parser.add_argument("--wheel", action="store_true", help="build the wheel for its size")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    torch.set_num_threads(THREADS)
    tl.set_num_threads(THREADS)

    settings = Settings(options.quick, options.wheel)
    results: list[Result] = []
    if os.getloadavg()[0] > 1:
        print("warning: other processes are busy; wait until they aren't", file=sys.stderr)
    print(f"{machine.describe()}\n")
    print("| benchmark | tensorlike | peer | ratio | of the best | bar | |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for name in options.names or BENCHMARKS:
        for result in BENCHMARKS[name](settings):
            results.append(result)
            print(f"| {' | '.join(row(result))} |", flush=True)
    if options.json:
        records = [{**dataclasses.asdict(r), "is_met": r.is_met} for r in results]
        options.json.write_text(json.dumps(records, indent=2) + "\n")


if __name__ == "__main__":
    main()

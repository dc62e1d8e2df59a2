"""Measures tensorlike beside its peers and prints tables with the bars.

python benchmarks/run.py [NAME ...] [--quick] [--no-compile] [--keep-heap] [--write]
                         [--json FILE] [--wheel]
python benchmarks/run.py zoo [WORD ...] [--quick] [--one-thread] [--seed N] [--count N] [--write]
python benchmarks/run.py --sweep [FILE]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ONE_THREAD = "--one-thread" in sys.argv
THREADS = 1 if ONE_THREAD else 2
# By these glibc keeps what was freed, and new results need no fresh pages from the system: the time
# of a large elementwise op is else mostly that of its pages. It reads them when a process starts.
KEPT_HEAP = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TOP_PAD_": str(2**28),
    "MALLOC_TRIM_THRESHOLD_": str(2**40),
}
KEPT_BAR = 0.9
KEEPS_HEAP = "--keep-heap" in sys.argv
if KEEPS_HEAP and not KEPT_HEAP.items() <= os.environ.items():
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEPT_HEAP})
CORES = sorted(os.sched_getaffinity(0))[:THREADS]
# The libraries read these when they are imported; those that count cores see two.
os.sched_setaffinity(0, CORES)
os.environ["OMP_NUM_THREADS"] = os.environ["TENSORLIKE_NUM_THREADS"] = str(THREADS)
os.environ["JAX_PLATFORMS"] = "cpu"
# Of NumPy's OpenBLAS: its threads spin for 2**26 cycles after a product, 25 ms in which the next
# contender has one core. 2**16 cycles are enough between products that follow each other.
os.environ["OPENBLAS_THREAD_TIMEOUT"] = "16"

import busy  # noqa: E402
import calls  # noqa: E402
import elementwise  # noqa: E402
import footprint  # noqa: E402
import inference  # noqa: E402
import large  # noqa: E402
import machine  # noqa: E402
import memory  # noqa: E402
import moving  # noqa: E402
import networks  # noqa: E402
import products  # noqa: E402
import programs  # noqa: E402
import reductions  # noqa: E402
import report  # noqa: E402
import scaling  # noqa: E402
import starting  # noqa: E402
import sweep  # noqa: E402
import tiny  # noqa: E402
import torch  # noqa: E402
import training  # noqa: E402
import zoo  # noqa: E402
from cases import Case, Row, measure  # noqa: E402
from compare import Result, Settings  # noqa: E402

import tensorlike as tl  # noqa: E402
import transforms  # noqa: E402

# Against the best of all peers, a row each.
SUITE: dict[str, Callable[[], Iterator[Case]]] = {
    "functions": elementwise.functions,
    "chain": elementwise.chain,
    "adam": elementwise.adam,
    "bandwidth": elementwise.bandwidth,
    "reductions": reductions.reductions,
    "rows": reductions.row_programs,
    "matmul": products.matmul,
    "conv": products.conv,
    "attention": products.attention,
    "moving": moving.moving,
    "networks": networks.networks,
    "programs": programs.programs,
    "inference": inference.inference,
}
# Against one peer or a bound: overhead, memory, scaling.
SINGLE: dict[str, tuple[Callable[[Settings], list[Result]], ...]] = {
    "tiny": (
        tiny.add,
        tiny.add_recording,
        tiny.sum_,
        tiny.gelu,
        tiny.layers,
        tiny.views,
        tiny.conversions,
        tiny.chain,
        tiny.steps,
        tiny.python_kind,
    ),
    "calls": (calls.calls, calls.training),
    "executor": (programs.overhead,),
    "large": (large.multiply_add, large.gelu),
    "mlp": (training.mlp,),
    "transforms": (transforms.backward, transforms.grad, transforms.vmap, transforms.hessian),
    "memory": (memory.memory,),
    "starting": (starting.starting,),
    "import": (footprint.imports,),
    "scaling": (scaling.deep, scaling.leak),
    "busy": (busy.busy,),
    "wheel": (footprint.wheel,),
}


def rows_of(name: str, settings: Settings) -> Iterator[Row | Result]:
    """What a group measures, one after the other."""
    if name in SUITE:
        for case in SUITE[name]():
            if KEEPS_HEAP:
                kept = f"{case.name}, kept heap"
                case = dataclasses.replace(case, name=kept, bar=case.bar and KEPT_BAR)
            yield measure(case, settings)
    else:
        for benchmark in SINGLE[name]:
            yield from benchmark(settings)


def run(names: Sequence[str], settings: Settings) -> dict[str, list[dict[str, Any]]]:
    """Measures groups, prints each row as it comes, and returns all as plain data."""
    groups: dict[str, list[dict[str, Any]]] = {}
    head = ""
    for name in names:
        groups[name] = []
        for found in rows_of(name, settings):
            data = report.record(found)
            groups[name].append(data)
            if head != report.table_head(data):
                head = report.table_head(data)
                print(f"\n{head}")
            print(report.line(report.cells(data)), flush=True)
    return {name: rows for name, rows in groups.items() if rows}


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    known = [*SUITE, *SINGLE]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    text = f"groups to measure: {', '.join(known)}; or zoo and words of its families"
    add("names", nargs="*", metavar="NAME", help=text)
    add("--quick", action="store_true", help="fewer rounds, shorter chains")
    add("--no-compile", action="store_true", help="leave out torch.compile, which takes minutes")
    add("--keep-heap", action="store_true", help="the peers keep freed memory: MALLOC_* variables")
    text = "one thread, and the processor's time, which other processes disturb little"
    add("--one-thread", action="store_true", help=text)
    add("--wheel", action="store_true", help="build the wheel for its size")
    add("--json", type=Path, metavar="FILE", help="write the figures there")
    add("--write", action="store_true", help="put them into figures.json and the README")
    plot = Path(__file__).with_name("sweep.png")
    text = "only draw the times of a few ops by size"
    add("--sweep", type=Path, nargs="?", const=plot, metavar="FILE", help=text)
    add("--seed", type=int, default=zoo.SEED, help="of the cases that the zoo draws")
    add("--count", type=int, default=zoo.COUNT, help="how many it draws of a family")
    options = parser.parse_args(arguments)
    if options.names[:1] == ["zoo"]:
        return options
    if unknown := set(options.names) - set(known):
        parser.error(f"no group named {', '.join(unknown)}; there are {', '.join(known)}")
    options.names = options.names or known
    return options


def main() -> None:
    """Runs what is asked for."""
    options = options_of()
    torch.set_num_threads(THREADS)
    tl.set_num_threads(THREADS)
    if os.getloadavg()[0] > 1:
        print("warning: other processes are busy; wait until they aren't", file=sys.stderr)
    described = machine.describe(len(CORES))
    if KEEPS_HEAP:
        described += ", with freed memory kept (--keep-heap)"
    if ONE_THREAD:
        described += ", of the processor's time (--one-thread)"
    print(described, flush=True)
    if options.sweep:
        sweep.draw(options.sweep, described, quick=options.quick)
        return
    settings = Settings(options.quick, options.wheel, not options.no_compile, ONE_THREAD)
    if options.names[0] == "zoo":
        table = zoo.run(options.names[1:], settings, options.seed, options.count)
        print(f"\n{table}")
        if options.write:
            report.write_part("zoo", f"`./dev bench zoo` on {described}.\n\n{table}")
        return
    groups = run(options.names, settings)
    if KEEPS_HEAP:
        groups = {f"{name}, freed memory kept": rows for name, rows in groups.items()}
    if options.json:
        options.json.write_text(json.dumps({"machine": described, **groups}, indent=2) + "\n")
    if options.write:
        report.write_figures(groups, described)


if __name__ == "__main__":
    main()

"""A sweep, not a list: cases drawn from tables of layers and from ranges of sizes, by family.

A kernel is judged on its family: the geometric mean of the ratios to the best peer, the mean of
the worst tenth, and how many cases are above 1.0 and 1.1. PyTorch, jax.jit and, for what it has,
NumPy take part; MLX and torch.compile do not, so that a family takes a minute or two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import report
import zoo_algebra as algebra
import zoo_creation
import zoo_dtypes as narrow
import zoo_layers as layers
import zoo_norms
import zoo_ops as ops
import zoo_windows as windows
from cases import Case, Row, measure
from compare import Settings

SEED = 18
COUNT = 24  # cases of a family


def _exact(random: Random, rows: Sequence[layers.Convolution], count: int) -> Iterator[Case]:
    return layers.convolutions(random, rows, count, is_exact=True)


FAMILIES: dict[str, Callable[[Random, int], Iterator[Case]]] = {
    "ResNet's convolutions": lambda r, n: layers.convolutions(r, layers.RESNET, n),
    "convolutions 1x1": lambda r, n: layers.convolutions(r, layers.POINTWISE, n),
    "convolutions, depthwise": lambda r, n: layers.convolutions(r, layers.DEPTHWISE, n),
    "convolutions, few channels": lambda r, n: layers.convolutions(r, layers.FEW_CHANNELS, n),
    "convolutions of detectors": lambda r, n: layers.convolutions(r, layers.DETECTORS, n),
    "convolutions, other kinds": lambda r, n: layers.convolutions(r, layers.OTHERS, n),
    "convolutions, dilated": lambda r, n: _exact(r, windows.DILATED, n),
    "convolutions, transposed": lambda r, n: _exact(r, windows.TRANSPOSED, n),
    "convolutions of sequences": lambda r, n: _exact(r, windows.SEQUENCES, n),
    "convolutions of volumes": lambda r, n: _exact(r, windows.VOLUMES, n),
    "convolutions, grouped": lambda r, n: _exact(r, windows.GROUPED, n),
    "pooling": layers.pools,
    "pooling, other windows": windows.pools,
    "pooling, parts and places": windows.parts,
    "batch norms": zoo_norms.batch_norms,
    "batch norms, narrow": zoo_norms.narrow_batch_norms,
    "norms and softmax": zoo_norms.norms,
    "norms and softmax, other axes": zoo_norms.along_axes,
    "norms and softmax, rows": zoo_norms.rows,
    "linear layers": layers.products,
    "attention": layers.attentions,
    "elementwise": ops.elementwise,
    "reductions": ops.reductions,
    "order": ops.order,
    "gathers and scatters": ops.gathers,
    "permutations": ops.permutations,
    "creation": zoo_creation.creations,
    "other dtypes": ops.dtypes,
    "other dtypes, reductions": narrow.reductions,
    "other dtypes, elementwise": narrow.elementwise,
    "other dtypes, conversions": narrow.conversions,
    "other dtypes, products": narrow.products,
    "products and einsum": algebra.products,
    "linear algebra": algebra.linear_algebra,
}


@dataclass(frozen=True)
class Summary:
    """What the ratios of a family say."""

    ratios: Sequence[float]
    worst: str

    @property
    def mean(self) -> float:
        """The geometric one."""
        return math.exp(sum(map(math.log, self.ratios)) / len(self.ratios))

    @property
    def worst_tenth(self) -> float:
        """The geometric mean of the tenth with the largest ratios."""
        largest = sorted(self.ratios)[-max(1, len(self.ratios) // 10) :]
        return math.exp(sum(map(math.log, largest)) / len(largest))

    def above(self, bar: float) -> int:
        """How many ratios are."""
        return sum(ratio > bar for ratio in self.ratios)


def summary(rows: Sequence[Row]) -> Summary:
    """Of the rows that have a ratio: the smaller of the median one and that of the best rounds,
    since other processes only ever make a contender slower."""
    ratios = {row.name: min(row.ratio, row.best_ratio or row.ratio) for row in rows if row.ratio}
    worst = max(ratios, key=ratios.__getitem__)
    return Summary(list(ratios.values()), f"{worst}: {ratios[worst]:.2f}")


def cases(family: str, count: int = COUNT, seed: int = SEED) -> Iterator[Case]:
    """Those of one family; the same in each run of one seed."""
    yield from FAMILIES[family](Random(f"{seed} {family}"), count)


HEAD = ["family", "cases", "mean", "worst tenth", "above 1.0", "above 1.1", "the worst"]


def cells(family: str, found: Sequence[Row]) -> list[str]:
    """A family's row of the table."""
    told = summary(found)
    return [
        family,
        str(len(told.ratios)),
        f"{told.mean:.2f}",
        f"{told.worst_tenth:.2f}",
        str(told.above(1.0)),
        str(told.above(1.1)),
        told.worst,
    ]


def chosen(words: Sequence[str]) -> list[str]:
    """The families whose names contain one of the words; all without words."""
    return [name for name in FAMILIES if not words or any(word in name for word in words)]


def run(words: Sequence[str], settings: Settings, seed: int = SEED, count: int = COUNT) -> str:
    """Measures families, prints each case as it comes, and returns the table of families."""
    table = [report.head(HEAD)]
    for family in chosen(words):
        found = []
        print(f"\n{report.head(report.SUITE_HEAD)}")
        for case in cases(family, count, seed):
            row = measure(case, settings)
            found.append(row)
            print(report.line(report.suite_cells(report.record(row))), flush=True)
        if any(row.ratio for row in found):
            table.append(report.line(cells(family, found)))
            print(f"\n{table[0]}\n{table[-1]}", flush=True)
    return "\n".join(table) + "\n"

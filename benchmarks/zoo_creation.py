"""The sweep's cases of tensors that are made of nothing: counted, filled, drawn."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import torch
from cases import Case
from peers import NUMPY, OURS, TORCH, Function, forward
from zoo_ops import elements

import tensorlike as tl

DTYPES = ("float32", "float32", "float64", "int64", "int32", "uint8")
DRAWS = ("uniform", "normal", "randint", "permutation")
KINDS = ("zeros", "full", "ones", "arange", "linspace", "eye", "tril", *DRAWS)


def creations(random: Random, count: int) -> Iterator[Case]:
    """Calls that take no tensors, for results of up to ten million elements."""
    for _ in range(count):
        kind, dtype = random.choice(KINDS), random.choice(DTYPES)
        if kind in ("linspace", *DRAWS):
            dtype = "int64" if kind in ("randint", "permutation") else "float32"
        n = round(elements(random, 0.7, 7))
        if (kind, dtype) == ("arange", "uint8"):
            n = min(n, 256)  # more do not fit
        yield _case(kind, max(2, round(n**0.5)) if kind in ("eye", "tril") else n, dtype)


def _case(kind: str, n: int, dtype: str) -> Case:
    functions = _functions(kind, n, dtype)
    drawn = {"tolerance": float("inf")} if kind in DRAWS else {}  # other numbers, as it must be
    return Case(
        name=f"{kind} {n}, {dtype}",
        builds=lambda: forward([], functions),
        against=(TORCH, NUMPY),
        **drawn,
    )


def _functions(kind: str, n: int, dtype: str) -> dict[str, Function]:
    ours, theirs, wanted = (getattr(library, dtype) for library in (tl, torch, np))
    generator: Any = np.random.default_rng(0)
    mine = tl.random.Generator(0)
    match kind:
        case "full":
            return {OURS: lambda: tl.full(n, 3, dtype=ours),
                    TORCH: lambda: torch.full((n,), 3, dtype=theirs),
                    NUMPY: lambda: np.full(n, 3, wanted)}  # fmt: skip
        case "arange":
            return {OURS: lambda: tl.arange(n, dtype=ours),
                    TORCH: lambda: torch.arange(n, dtype=theirs),
                    NUMPY: lambda: np.arange(n, dtype=wanted)}  # fmt: skip
        case "linspace":
            return {OURS: lambda: tl.linspace(0, 1, n), TORCH: lambda: torch.linspace(0, 1, n),
                    NUMPY: lambda: np.linspace(0, 1, n, dtype=np.float32)}  # fmt: skip
        case "eye":
            return {OURS: lambda: tl.eye(n, dtype=ours), TORCH: lambda: torch.eye(n, dtype=theirs),
                    NUMPY: lambda: np.eye(n, dtype=wanted)}  # fmt: skip
        case "tril":
            return {OURS: lambda: tl.tril(tl.ones((n, n), dtype=ours)),
                    TORCH: lambda: torch.tril(torch.ones((n, n), dtype=theirs)),
                    NUMPY: lambda: np.tril(np.ones((n, n), wanted))}  # fmt: skip
        case "uniform":
            return {OURS: lambda: mine.uniform((n,)), TORCH: lambda: torch.rand(n),
                    NUMPY: lambda: generator.random(n, np.float32)}  # fmt: skip
        case "normal":
            return {OURS: lambda: mine.normal((n,)), TORCH: lambda: torch.randn(n),
                    NUMPY: lambda: generator.standard_normal(n, np.float32)}  # fmt: skip
        case "randint":
            return {OURS: lambda: mine.randint(0, 10, (n,)),
                    TORCH: lambda: torch.randint(0, 10, (n,)),
                    NUMPY: lambda: generator.integers(0, 10, n)}  # fmt: skip
        case "permutation":
            return {OURS: lambda: mine.permutation(n), TORCH: lambda: torch.randperm(n),
                    NUMPY: lambda: generator.permutation(n)}  # fmt: skip
    return {OURS: lambda: getattr(tl, kind)(n, dtype=ours),
            TORCH: lambda: getattr(torch, kind)(n, dtype=theirs),
            NUMPY: lambda: getattr(np, kind)(n, wanted)}  # fmt: skip

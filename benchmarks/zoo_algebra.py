"""The sweep's cases of linear algebra: products, einsums, decompositions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import torch
from cases import Case
from peers import JAX, NUMPY, OURS, TORCH, Function, jnp
from zoo_layers import numbers
from zoo_ops import case, elements

import tensorlike.functional as F


def products(random: Random, count: int) -> Iterator[Case]:
    """Matrix products of any shape and layout, batches of small ones, einsums."""
    equations = ["bij,bjk->bik", "bhqd,bhkd->bhqk", "ij,jk,kl->il", "bi,ij,bj->b", "bic,bjc->bij",
                 "ijk,kl->ijl", "ii->i", "bij->b", "i,j->ij", "abc,cd,de->abe"]  # fmt: skip
    for _ in range(count):
        kind = random.choice(("plain", "transposed", "small", "einsum", "vector"))
        if kind == "einsum":
            equation = random.choice(equations)
            sizes = {c: random.choice((4, 16, 33, 64)) for c in "abcdehijklq"}
            parts = equation.partition("->")[0].split(",")
            inputs = [numbers(*(sizes[c] for c in p), seed=i) for i, p in enumerate(parts)]
            shapes = ", ".join(str(x.shape) for x in inputs)
            libraries = {OURS: F, TORCH: torch, JAX: jnp, NUMPY: np}
            functions = {k: _einsum(library, equation) for k, library in libraries.items()}
            yield case(f"einsum {equation}, {shapes}", inputs, functions)
            continue
        n, m, k = (round(2 ** random.uniform(0, 10.5)) for _ in range(3))
        if kind == "small":
            n = m = k = random.randint(2, 32)
            batch = round(elements(random, 2, 4.5))
            a, b = numbers(batch, n, k), numbers(batch, k, m, seed=1)
        elif kind == "vector":
            a, b = numbers(n, k), numbers(k, 1, seed=1)
        else:
            a, b = numbers(n, k), numbers(*((m, k) if kind == "transposed" else (k, m)), seed=1)
        f = (lambda x, y: x @ y.T) if kind == "transposed" else (lambda x, y: x @ y)
        functions = dict.fromkeys((OURS, TORCH, JAX, NUMPY), f)
        yield case(f"product {kind}, {a.shape} {b.shape}", [a, b], functions)


def _einsum(library: Any, equation: str) -> Function:
    return lambda *xs: library.einsum(equation, *xs)


def linear_algebra(random: Random, count: int) -> Iterator[Case]:
    """Decompositions and solutions, of batches of small matrices and of single large ones."""
    for _ in range(count):
        n = round(2 ** random.uniform(1, 7.5))
        batch = max(1, round(min(elements(random, 0, 4), 3e6 / n**3)))
        kind = random.choice(("solve", "inv", "det", "cholesky", "qr", "svdvals", "eigvalsh"))
        x = numbers(batch, n, n) / np.float32(math.sqrt(n)) + 2 * np.eye(n, dtype=np.float32)
        if kind in ("cholesky", "eigvalsh"):
            x = x @ x.swapaxes(1, 2) + np.eye(n, dtype=np.float32)
        name = f"{kind}, {batch} of {n} x {n}"
        if kind == "solve":
            y = numbers(batch, n, 1, seed=1)
            functions = {OURS: F.solve, TORCH: torch.linalg.solve, NUMPY: np.linalg.solve,
                         JAX: jnp.linalg.solve}  # fmt: skip
            yield case(name, [x, y], functions, tolerance=1e-2)
            continue
        libraries = {OURS: F, TORCH: torch.linalg, NUMPY: np.linalg, JAX: jnp.linalg}
        functions = {k: _factor(getattr(library, kind), kind) for k, library in libraries.items()}
        yield case(name, [x], functions, tolerance=1e-2)


def _factor(function: Function, kind: str) -> Function:
    """Rows of R and columns of Q have any sign: their absolute values are compared. Both are read,
    since a compiler leaves out what nobody reads."""
    if kind == "qr":
        return lambda x: tuple(map(abs, function(x)))
    return function

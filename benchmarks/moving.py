"""Ops that move elements: lookups, masks, transposes, joins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from cases import Case
from elementwise import arrays
from peers import JAX, MLX, NUMPY, OURS, TORCH, Array, both_ways, forward, jnp, mx

import tensorlike.functional as F

BAR = 0.8
WITH_NUMPY = (TORCH, JAX, MLX, NUMPY)
WORDS, WIDTH, LOOKUPS = 50_000, 256, 8192


def integers(high: int, count: int) -> Array:
    """Random places."""
    return np.random.default_rng(1).integers(0, high, count)


def moving() -> Iterator[Case]:
    """All of them."""
    yield from lookups()
    yield from transposes()
    yield from joins()


def lookups() -> Iterator[Case]:
    """Rows of a table, single elements, sums into places, and what a mask selects."""
    table, places = arrays(1, WORDS, WIDTH)[0], integers(WORDS, LOOKUPS)
    dy = arrays(2, LOOKUPS, WIDTH)[1]
    embed = {
        OURS: our_embedding,
        TORCH: lambda table, i: torch.nn.functional.embedding(i, table),
        JAX: lambda table, i: jnp.take(table, i, axis=0),
    }
    title = f"embedding, {LOOKUPS} of {WORDS} x {WIDTH}"
    both = [table, places]
    yield Case(
        name=title, bar=BAR, against=WITH_NUMPY, builds=lambda: forward(both, {**embed, MLX: taken})
    )
    yield Case(
        name=f"{title}, forward and backward",
        bar=BAR,
        against=WITH_NUMPY,
        builds=lambda: both_ways(both, dy, embed),
    )
    (flat,) = arrays(1, 1_000_000)
    far = integers(1_000_000, 1_000_000)
    gather = {
        OURS: lambda x, i: F.take(x, i, axis=0),
        TORCH: torch.take,
        JAX: lambda x, i: jnp.take(x, i),
        MLX: lambda x, i: mx.take(x, i),
        NUMPY: np.take,
    }
    yield Case(
        name="gather, 1e+06 of 1e+06",
        bar=BAR,
        against=WITH_NUMPY,
        builds=lambda: forward([flat, far], gather),
    )
    (sums,), near = arrays(1, 100_000), integers(100_000, 1_000_000)
    scatter = {
        OURS: lambda x, v, i: F.scatter_add(x, v, i, axes=(0,)),
        TORCH: lambda x, v, i: torch.scatter_add(x, 0, i, v),
        JAX: lambda x, v, i: x.at[i].add(v),
        MLX: lambda x, v, i: x.at[i].add(v),
        NUMPY: added,
    }
    yield Case(
        name="scatter-add, 1e+06 into 1e+05",
        bar=BAR,
        against=WITH_NUMPY,
        builds=lambda: forward([sums, flat, near], scatter),
    )
    (large,) = arrays(1, 10_000_000)
    selected = {name: lambda x, m: x[m] for name in (OURS, TORCH, NUMPY)}
    masked = [large, large > 0]
    yield Case(
        name="x[mask], 1e+07", bar=BAR, against=WITH_NUMPY, builds=lambda: forward(masked, selected)
    )


def our_embedding(table: Any, places: Any) -> Any:
    """Our lookup."""
    return F.embedding(places, table)


def taken(table: Any, places: Any) -> Any:
    """MLX's lookup."""
    return mx.take(table, places, axis=0)


def added(x: Array, values: Array, places: Array) -> Array:
    """NumPy's sum into places."""
    y = x.copy()
    np.add.at(y, places, values)
    return y


def transposes() -> Iterator[Case]:
    """Axes in another order, and the elements moved."""
    for title, shape, axes in (
        ("permute 64 x 128 x 256 to (2, 0, 1)", (64, 128, 256), (2, 0, 1)),
        ("transpose 4096 x 4096", (4096, 4096), (1, 0)),
    ):
        (x,) = arrays(1, *shape)
        functions = {
            OURS: lambda x, axes=axes: F.reshape(F.permute_dims(x, axes=axes), shape=(-1,)),
            TORCH: lambda x, axes=axes: x.permute(axes).reshape(-1),
            JAX: lambda x, axes=axes: jnp.transpose(x, axes).reshape(-1),
            MLX: lambda x, axes=axes: mx.transpose(x, axes).reshape(-1),
            NUMPY: lambda x, axes=axes: x.transpose(axes).reshape(-1),
        }
        yield Case(
            name=title, bar=BAR, against=WITH_NUMPY, builds=lambda x=x, f=functions: forward([x], f)
        )


def joins() -> Iterator[Case]:
    """Four parts of 2.5 million elements."""
    parts = arrays(4, 2500, 1000)
    for axis in (0, 1):
        functions = {
            OURS: lambda *xs, axis=axis: F.concat(xs, axis=axis),
            TORCH: lambda *xs, axis=axis: torch.cat(xs, axis),
            JAX: lambda *xs, axis=axis: jnp.concatenate(xs, axis),
            MLX: lambda *xs, axis=axis: mx.concatenate(xs, axis),
            NUMPY: lambda *xs, axis=axis: np.concatenate(xs, axis),
        }
        yield Case(
            name=f"concat, 4 x 2.5e+06 along {axis}",
            bar=BAR,
            against=WITH_NUMPY,
            builds=lambda f=functions: forward(parts, f),
        )

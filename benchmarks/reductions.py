"""Reductions, scans, sorting; and the row programs of neural networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from cases import Case
from elementwise import arrays
from peers import (
    COMPILED,
    JAX,
    MLX,
    NUMPY,
    OURS,
    TORCH,
    Function,
    both_ways,
    forward,
    jax,
    jnp,
    mx,
)

import tensorlike.functional as F

WITH_NUMPY = (TORCH, JAX, MLX, NUMPY)
SHAPE = (2500, 4000)
ROWS = (10_000, 1024)
CLASSES = (8192, 1000)


def by_name(library: Any, name: str, **options: Any) -> Function | None:
    """A library's function with options; None where the library is not here."""
    if library is None:
        return None
    function = getattr(library, name)
    return lambda x: function(x, **options)


def present(functions: dict[str, Function | None]) -> dict[str, Function]:
    """Those that are here."""
    return {name: f for name, f in functions.items() if f is not None}


def reductions() -> Iterator[Case]:
    """Sums, the largest element's place, running sums, sorting."""
    (x,) = arrays(1, *SHAPE)
    wanted: list[tuple[str, str, str, Any]] = [
        ("sum, all of 1e+07", "sum", "sum", None),
        ("sum, axis 0 of 2500 x 4000", "sum", "sum", 0),
        ("sum, axis 1 of 2500 x 4000", "sum", "sum", 1),
        ("argmax, all of 1e+07", "argmax", "argmax", None),
        ("argmax, axis 1 of 2500 x 4000", "argmax", "argmax", 1),
        ("cumulative sum, axis 1 of 2500 x 4000", "cumulative_sum", "cumsum", 1),
    ]
    for title, ours, theirs, axis in wanted:
        functions = {
            OURS: lambda x, name=ours, axis=axis: getattr(F, name)(x, axis=axis),
            TORCH: by_name(torch, theirs, dim=axis),
            JAX: by_name(jnp, theirs, axis=axis),
            MLX: by_name(mx, theirs, axis=axis),
            NUMPY: by_name(np, theirs, axis=axis),
        }
        yield Case(
            name=title,
            bar=0.9,
            against=WITH_NUMPY,
            builds=lambda f=functions: forward([x], present(f)),
            tolerance=1e-3,
        )
    (flat,) = arrays(1, 1_000_000)
    sorting = {
        OURS: lambda x: F.sort(x),
        TORCH: lambda x: torch.sort(x)[0],
        JAX: by_name(jnp, "sort"),
        MLX: by_name(mx, "sort"),
        NUMPY: np.sort,
    }
    yield Case(
        name="sort, 1e+06",
        bar=0.9,
        against=WITH_NUMPY,
        builds=lambda: forward([flat], present(sorting)),
    )


def row_programs() -> Iterator[Case]:
    """Softmax, layer norm and cross entropy: the result, and with it the gradients."""
    (x, dy) = arrays(2, *ROWS)
    last = ROWS[1]
    softmax: dict[str, Function | None] = {
        OURS: lambda x: F.softmax(x, axis=-1),
        TORCH: lambda x: torch.softmax(x, -1),
        COMPILED: lambda x: torch.softmax(x, -1),
        JAX: None if jax is None else lambda x: jax.nn.softmax(x, -1),
        MLX: by_name(mx, "softmax", axis=-1),
    }
    weighted = [x, *(1 + 0.1 * part for part in arrays(2, last))]
    theirs = torch.nn.functional.layer_norm
    norm: dict[str, Function | None] = {
        OURS: lambda x, w, b: F.layer_norm(x, w, b),
        TORCH: lambda x, w, b: theirs(x, (last,), w, b),
        COMPILED: lambda x, w, b: theirs(x, (last,), w, b),
        JAX: None if jax is None else jax_layer_norm,
        MLX: None if mx is None else lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-5),
    }
    logits = arrays(1, *CLASSES)[0]
    labels = np.random.default_rng(0).integers(0, CLASSES[1], CLASSES[0])
    entropy: dict[str, Function | None] = {
        OURS: F.cross_entropy,
        TORCH: torch.nn.functional.cross_entropy,
        COMPILED: torch.nn.functional.cross_entropy,
        JAX: None if jax is None else jax_cross_entropy,
    }
    for title, functions, inputs, cotangent in (
        ("softmax, 10000 x 1024", softmax, [x], dy),
        ("layer norm, 10000 x 1024", norm, weighted, dy),
        ("cross entropy, 8192 x 1000", entropy, [logits, labels], None),
    ):
        here = present(functions)
        yield Case(name=title, bar=0.7, builds=lambda i=inputs, f=here: forward(i, f))
        here = {name: f for name, f in here.items() if name != MLX}
        yield Case(
            name=f"{title}, forward and backward",
            bar=0.7,
            builds=lambda i=inputs, c=cotangent, f=here: both_ways(i, c, f),
        )


def jax_layer_norm(x: Any, w: Any, b: Any) -> Any:
    """JAX has no layers."""
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * w + b


def jax_cross_entropy(logits: Any, labels: Any) -> Any:
    """Nor losses."""
    logp = jax.nn.log_softmax(logits, -1)
    return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], 1))

"""Matrix products, convolutions, attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from cases import Case
from elementwise import arrays, each
from peers import JAX, OURS, TORCH, Array, Function, both_ways, forward, given, jax, jnp

import tensorlike.functional as F

MATRICES: list[tuple[str, tuple[int, ...], tuple[int, ...], float]] = [
    ("matmul, 64", (64, 64), (64, 64), 0.7),
    ("matmul, 256", (256, 256), (256, 256), 1.0),
    ("matmul, 1024", (1024, 1024), (1024, 1024), 1.0),
    ("matmul, 64 times 128 x 128", (64, 128, 128), (64, 128, 128), 1.0),
    ("matmul, 8 x 1024 x 4096", (8, 1024), (1024, 4096), 1.0),
    ("matmul, 1 x 1024 x 1024", (1, 1024), (1024, 1024), 1.0),
]


def matmul() -> Iterator[Case]:
    """Square, batched, skinny."""
    for title, left, right, bar in MATRICES:
        a, b = arrays(1, *left)[0], arrays(2, *right)[1]
        yield Case(
            name=title,
            bar=bar,
            builds=lambda a=a, b=b: forward([a, b], each(lambda x, y: x @ y)),
            given=lambda a=a, b=b: {
                "PyTorch, out=": given([a, b], a @ b, lambda x, y, out: torch.matmul(x, y, out=out))
            },
        )


# Name, the shape of x, the shape of the weights, stride, padding, groups.
CONVOLUTIONS: list[tuple[str, tuple[int, ...], tuple[int, ...], int, int, int]] = [
    ("conv 3x3, 64 to 64, 8 x 56 x 56", (8, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1),
    ("conv 7x7 / 2, 3 to 64, 8 x 224 x 224", (8, 3, 224, 224), (64, 3, 7, 7), 2, 3, 1),
    ("conv 3x3 depthwise, 64, 8 x 56 x 56", (8, 64, 56, 56), (64, 1, 3, 3), 1, 1, 64),
]


def conv() -> Iterator[Case]:
    """Forward, and the way back alone."""
    for title, shape, kernel, stride, padding, groups in CONVOLUTIONS:
        inputs = [arrays(1, *shape)[0], arrays(2, *kernel)[1]]
        functions = convolutions(stride, padding, groups)
        yield Case(
            name=title, bar=1.0, builds=lambda i=inputs, f=functions: forward(i, f), tolerance=1e-3
        )
        size = shape[2] // stride
        dy = arrays(3, shape[0], kernel[0], size, size)[2]
        yield Case(
            name=f"{title}, backward",
            bar=1.0,
            builds=lambda i=inputs, d=dy, f=functions: both_ways(i, d, f, only_backward=True),
            tolerance=1e-3,
        )


def convolutions(stride: int, padding: int, groups: int) -> dict[str, Function]:
    """One for each library that has the layout."""

    def by_jax(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(
            x, w, (stride, stride), [(padding, padding)] * 2, feature_group_count=groups
        )

    options = {"stride": stride, "padding": padding, "groups": groups}
    return {
        OURS: lambda x, w: F.conv2d(x, w, **options),
        TORCH: lambda x, w: torch.nn.functional.conv2d(x, w, **options),
        JAX: by_jax,
    }


ATTENTION = (8, 8, 512, 64)


def attention() -> Iterator[Case]:
    """Batch 8, 8 heads, length 512, width 64; with and without the mask of what is to come."""
    inputs: list[Array] = arrays(3, *ATTENTION)
    dy = arrays(4, *ATTENTION)[3]
    for is_causal in (False, True):
        functions = attentions(is_causal)
        title = f"attention, {' x '.join(str(n) for n in ATTENTION)}{is_causal * ', causal'}"
        yield Case(name=title, bar=0.8, builds=lambda f=functions: forward(inputs, f))
        yield Case(
            name=f"{title}, forward and backward",
            bar=0.8,
            builds=lambda f=functions: both_ways(inputs, dy, f),
        )


def attentions(is_causal: bool) -> dict[str, Function]:
    """One for each library."""

    def by_jax(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
        if is_causal:
            allowed = jnp.tril(jnp.ones(scores.shape[-2:], bool))
            scores = jnp.where(allowed, scores, -jnp.inf)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)

    theirs = torch.nn.functional.scaled_dot_product_attention
    return {
        OURS: lambda q, k, v: F.attention(q, k, v, is_causal=is_causal),
        TORCH: lambda q, k, v: theirs(q, k, v, is_causal=is_causal),
        JAX: by_jax,
    }

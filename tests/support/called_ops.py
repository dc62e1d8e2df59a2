"""The ops that the declared functions come to, on inputs in mixed dtypes and odd layouts."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any, ClassVar

import tensorlike as tl
from support.declarations import BUILT_IN
from tensorlike import functional as F
from tensorlike.testing.corpus import Example, examples

EXAMPLES = {example.entry.function: example for example in examples(BUILT_IN)}
FLOATS = ("float32", "float64", "float16", "bfloat16")
LAYOUTS = ("in_order", "transposed", "reversed", "every_second", "repeated")


class Noted(tl.Carrier):
    """Notes which ops are applied to which elements."""

    notes: ClassVar[list[tuple[Any, list[Any]]]] = []


@tl.apply.register
def apply_noted(op: tl.ops.OpBase, *xs: Noted) -> tuple[Noted, ...]:
    """Notes it, and goes on."""
    Noted.notes.append((op, [tl.Tensor(x.value) for x in xs]))
    return tl.apply.super(op, *xs)


def in_order(x: tl.Tensor) -> tl.Tensor:
    """The same elements, one after the other."""
    return F.stack([x, x])[0]


def laid_out(x: tl.Tensor, layout: str) -> tl.Tensor:
    """The same elements with other strides; `repeated`: the first along the first axis."""
    if x.ndim == 0 or 0 in x.shape or layout == "in_order":
        return x
    if layout == "transposed":
        axes = tuple(reversed(range(x.ndim)))
        return F.permute_dims(in_order(F.permute_dims(x, axes=axes)), axes=axes)
    if layout == "reversed":
        flip = (slice(None, None, -1),) * x.ndim
        return in_order(x[flip])[flip]
    if layout == "repeated":
        return F.broadcast_to(x[:1], x.shape)
    return F.stack([x, x], axis=-1)[..., 0]


def inputs_of(example: Example) -> Iterator[list[tl.Tensor]]:
    """Its arguments: floating-point ones in dtypes that differ, each in the layouts in turn."""
    layouts = itertools.cycle(LAYOUTS)
    for first, others in (("float32", "float32"), ("float64", "float32"), ("bfloat16", "bfloat16")):
        dtypes = itertools.chain([first], itertools.repeat(others))
        xs = [tl.tensor(x) for _, x in example.arrays]
        xs = [x.astype(next(dtypes)) if x.dtype.kind == "floating" else x for x in xs]
        yield xs
        yield [laid_out(x, next(layouts)) for x in xs]
        yield [x[:0] if x.ndim else x for x in xs]


def applied(example: Example) -> list[tuple[Any, list[Any]]]:
    """The ops that it comes to."""
    Noted.notes = []
    for xs in inputs_of(example):
        try:
            example(*(Noted(tl.as_raw_tensor(x)) for x in xs))
        except (tl.TensorlikeError, ValueError, TypeError, KeyError):
            continue
    return Noted.notes


def changed(rng: random.Random, x: tl.Tensor) -> tl.Tensor:
    """Of another shape, dtype or layout, or as it is."""
    axis = rng.randrange(x.ndim) if x.ndim else 0
    change = rng.choice(("size", "dtype", "layout", "nothing", "nothing"))
    if change == "size" and x.ndim:
        key = [slice(None)] * x.ndim
        key[axis] = slice(0, rng.randrange(x.shape[axis] + 1))
        return x[tuple(key)]
    if change == "dtype" and x.dtype.kind == "floating":
        return x.astype(rng.choice(FLOATS))
    return laid_out(x, rng.choice(LAYOUTS)) if change == "layout" else x

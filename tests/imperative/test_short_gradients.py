"""Gradients of few elements go a short way; it gives what the general one does, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.declarations import (
    REDUCTIONS,
    SCALARS,
    Array,
    function_of,
    inputs_of,
    name_of,
)

import tensorlike as tl
from tensorlike.opdecl.compiler.model import Entry, ReductionEntry

SHAPES = [(), (1,), (3,), (2, 3), (0,), (2, 0, 3), (2, 1, 4)]
OTHERS = [(), (3,), (1, 3), (2, 3)]  # of the second argument and the third, against (2, 3)


def found(call: Any, arrays: list[Array], create_graph: bool) -> Any:
    """The bytes of the gradients; or what kind of error there is."""
    xs = [tl.tensor(x, requires_grad=x.dtype.kind in "fc") for x in arrays]
    try:
        y = call(*xs)
        outputs = y if isinstance(y, tuple) else (y,)
        seeds = [tl.functional.full(y.shape, 1.5, dtype=y.dtype) for y in outputs]
        total = sum((y * seed).sum() for y, seed in zip(outputs, seeds, strict=True))
        tl.functional.real(total).backward(create_graph=create_graph)
    except tl.TensorlikeError as error:
        return type(error)
    gradients = [
        x.grad.detach().numpy() if x.grad is not None else None for x in xs if x.requires_grad
    ]
    for x in xs:
        if x.requires_grad:
            x.grad = None  # one with a graph leads to its leaf
    return [None if g is None else (g.dtype, g.shape, g.tobytes()) for g in gradients]


def calls_of(entry: Entry) -> list[tuple[Any, list[tuple[int, ...]]]]:
    """Calls, and the shapes of what they are applied to."""
    function = function_of(entry)
    if not isinstance(entry, ReductionEntry):
        count = len(entry.args)
        return [
            (function, [(2, 3), *[other] * (count - 1)])
            for other in OTHERS[: 4 if count > 1 else 1]
        ]
    calls: list[tuple[Any, list[tuple[int, ...]]]] = []
    for shape in SHAPES:
        calls += [(function, [shape]), (lambda x: function(x, keepdims=True), [shape])]
        if shape:
            calls.append((lambda x: function(x, axis=0), [shape]))
            calls.append((lambda x: function(x.T if x.ndim == 2 else x), [shape]))
    return calls


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("entry", SCALARS + REDUCTIONS, ids=name_of)
def test_the_short_way_gives_what_the_general_one_does(entry: Entry, dtype: str) -> None:
    rng = np.random.default_rng(0)
    for call, shapes in calls_of(entry):
        arrays = inputs_of(entry, shapes, dtype, rng)
        with np.errstate(all="ignore"):
            assert found(call, arrays, False) == found(call, arrays, True), (shapes, call)

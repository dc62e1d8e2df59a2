"""Every declared function and its gradient with an axis of unknown size, whichever it is: a program
gives what the call gives for each size, odd ones and even ones, or it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.unknown_sizes import MISTAKES, array, gradients, leaves

import tensorlike as tl
from tensorlike.opdecl import load_builtin
from tensorlike.testing.corpus import Example, examples

EXAMPLES = examples(tuple(load_builtin().functions))
SIZES = (1, 2, 3, 4, 5, 8)
Axes = dict[int, tuple[int, ...]]  # of the arguments that have some


def choices(arrays: list[Any]) -> Iterator[Axes]:
    """The axes that are as long as one of the first argument that has axes: there, or anywhere."""
    first = next((i for i, x in enumerate(arrays) if x.ndim), None)
    if first is None:
        return
    for axis in range(-1, -arrays[first].ndim, -1):
        alone = {first: (axis,)}
        size = arrays[first].shape[axis]
        places = [tuple(k for k in range(-x.ndim, 0) if x.shape[k] == size) for x in arrays]
        shared = {i: found for i, found in enumerate(places) if found}
        yield from (alone, shared) if shared != alone else (alone,)


def resized(x: Any, axes: tuple[int, ...], size: int) -> Any:
    """With so many rows along axes, of those that there are."""
    for axis in axes:
        x = np.take(x, np.resize(np.arange(x.shape[axis]), size), axis)
    return x


def wrong(call: Callable[..., Any], arrays: list[Any]) -> list[str]:
    """Where a program gives something else than the call."""
    found = []
    for axes in choices(arrays):
        listing = tl.Listing()
        shapes = [
            ["n" if k - x.ndim in axes.get(i, ()) else size for k, size in enumerate(x.shape)]
            for i, x in enumerate(arrays)
        ]
        try:
            given = [
                tl.Tensor(listing.input(f"x{i}", shape, tl.tensor(x).dtype))
                for i, (x, shape) in enumerate(zip(arrays, shapes, strict=True))
            ]
            results = call(*given)
        except MISTAKES:
            continue
        for size in SIZES:
            xs = [tl.tensor(resized(x, axes.get(i, ()), size)) for i, x in enumerate(arrays)]
            try:
                ys = listing.run(results, *xs)
                wanted = call(*xs)
            except MISTAKES:
                continue
            for y, expected in zip(leaves(ys), leaves(wanted), strict=True):
                y, expected = array(y), array(expected)
                is_same = y.shape == expected.shape and y.dtype == expected.dtype
                if not is_same or not np.allclose(y, expected, 1e-5, 1e-8, equal_nan=True):
                    found.append(f"axes {axes} of size {size}: {y} for {expected}")
    return found


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.entry.function)
def test_a_function_is_that_of_each_size_along_any_axis(example: Example) -> None:
    assert wrong(example, [x for _, x in example.arrays]) == []


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.has_gradient],
    ids=lambda example: example.entry.function,
)
def test_a_gradient_is_that_of_each_size_along_any_axis(example: Example) -> None:
    call = gradients(example, example.moving())
    assert wrong(call, [x for _, x in example.arrays]) == []

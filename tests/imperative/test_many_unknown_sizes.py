"""Tensors of many unknown sizes: up to eight in one, whose product no integer holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import Listing

COUNTS = range(1, 9)

WAYS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: F.tanh(x) * 2 + x,
    "flat": lambda x: F.reshape(x, (-1,)) * 2,
    "flat by sizes": lambda x: F.reshape(x, (x.size,)) + 1,
    "flat and back": lambda x: F.reshape(F.exp(F.reshape(x, (-1,))), x.shape),
    "rows": lambda x: F.sum(F.reshape(x, (x.shape[0], -1)), axis=1),
    "columns": lambda x: F.sum(F.reshape(x, (-1, x.shape[-1])), axis=0),
    "flat, then rows": lambda x: F.reshape(F.reshape(x, (-1,)), (x.shape[0], -1)) * 2,
    "turned": lambda x: F.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "sum": lambda x: F.sum(x * x),
    "mean": lambda x: F.mean(x * x),
    "mean by size": lambda x: F.sum(x) / x.size,
    "scaled by size": lambda x: x * (2.0 * x.size),
    "variance": lambda x: F.var(x, correction=1.0),
    "variance of columns": lambda x: F.var(F.reshape(x, (-1, x.shape[-1])), axis=0),
    "softmax": lambda x: F.softmax(x, axis=-1),
    "joined": lambda x: F.concat([x, x], axis=0),
    "stacked": lambda x: F.sum(F.stack([x, x * 2], axis=0), axis=-1),
    "joined flat": lambda x: F.concat([F.reshape(x, (-1,)), tl.ones(3)]),
    "dense": lambda x: F.matmul(x[..., None], tl.ones((1, 2))),
    "slices": lambda x: x[::-1] * 2,
    "counted": lambda x: tl.ones(x.shape) * F.arange(x.shape[0] * 2).sum(),
}  # fmt: skip
GRADIENTS = ("flat and back", "mean", "mean by size", "variance", "variance of columns", "softmax",
             "rows", "dense", "flat, then rows")  # fmt: skip


def shapes_of(count: int) -> list[tuple[int, ...]]:
    """Different sizes, equal ones, some of 1, and an empty one."""
    rng = np.random.default_rng(count)
    drawn = [tuple(int(n) for n in rng.integers(1, 4, count)) for _ in range(3)]
    return [*drawn, (2,) * count, (1,) * count, (*drawn[0][:-1], 0)]


def elements(shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(sum(shape))
    return rng.standard_normal(shape).astype(np.float32)


def said(function: Callable[[], Any]) -> Any:
    """The elements, or that there is an error."""
    try:
        return np.asarray(function())
    except tl.TensorlikeError:
        return None


def check(run: Callable[[Any], Any], function: Callable[[Any], Any], count: int) -> None:
    for shape in shapes_of(count):
        x = elements(shape)
        wanted = said(lambda x=x: function(tl.tensor(x)))  # type: ignore[misc]
        found = said(lambda x=x: run(x))  # type: ignore[misc]
        assert (found is None) == (wanted is None), shape
        if wanted is not None:
            np.testing.assert_allclose(found, wanted, 1e-5, 1e-6, strict=True, err_msg=str(shape))


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("count", COUNTS)
def test_a_program_of_many_sizes_gives_what_calls_give(name: str, count: int) -> None:
    listing = Listing()
    y = WAYS[name](tl.Tensor(listing.input("x", (None,) * count)))
    check(lambda x: listing.run(y, x), WAYS[name], count)


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("count", COUNTS)
def test_its_gradient_is_that_of_calls(name: str, count: int) -> None:
    def slopes(x: Any) -> Any:
        return tl.grad(lambda y: F.sum(WAYS[name](y) ** 2))(x)

    listing = Listing()
    y = slopes(tl.Tensor(listing.input("x", (None,) * count)))
    check(lambda x: listing.run(y, x), slopes, count)


@pytest.mark.parametrize("channels", [3, 64, 1024])
def test_known_sizes_beside_unknown_ones(channels: int) -> None:
    def function(x: Any) -> Any:
        flat = F.reshape(x, (-1, channels))
        return F.mean(flat) + F.var(flat, axis=0) + F.sum(F.reshape(x, (-1,))) / x.size

    listing = Listing()
    y = function(tl.Tensor(listing.input("x", (None, None, None, None, channels))))
    for shape in ((2, 3, 1, 2), (1, 1, 1, 1), (3, 3, 3, 3)):
        x = elements((*shape, channels))
        found, wanted = listing.run(y, x), function(tl.tensor(x))
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), 1e-4, 1e-5, strict=True)


def test_what_does_not_fit_is_refused_for_the_sizes_of_a_run() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", (None,) * 5))
    y = F.reshape(x, (-1, 7))
    assert listing.run(y, elements((7, 1, 2, 1, 1))).shape == (2, 7)
    with pytest.raises(tl.ShapeError, match="the number of elements must stay the same"):
        listing.run(y, elements((3, 1, 2, 1, 1)))
    with pytest.raises(tl.ShapeError, match="must stay the same"):
        F.reshape(x, (x.shape[0], x.shape[1], x.shape[2], x.shape[3]))
    with pytest.raises(tl.ShapeError, match="must stay the same"):
        F.reshape(x, (x.size + 1,))


def test_numbers_are_numbers_beside_such_programs() -> None:
    """A shape that is too large is refused, whatever programs there are."""
    listing = Listing()
    x = tl.Tensor(listing.input("x", (None,) * 6))
    assert listing.run(F.sum(x), elements((1,) * 6)).shape == ()
    for shape in ((2**40, 2**40), (80_021,) * 5, (2**58,)):
        with pytest.raises((tl.ShapeError, tl.OutOfMemoryError)):
            tl.zeros(shape)
        with pytest.raises((tl.ShapeError, tl.OutOfMemoryError)):
            F.broadcast_to(tl.ones(1), shape) + 1


def test_means_of_three_sizes_beside_many_programs() -> None:
    """Whose sizes are larger numbers for it, so that no double counts the elements."""

    def slopes(x: Any) -> Any:
        return tl.grad(lambda y: F.sum(F.mean(y**2, axis=(-2, -1))) + F.var(y))(x)

    others = []
    for _ in range(40):
        others.append(listing := Listing())
        y = slopes(tl.Tensor(listing.input("x", (None, 8, None, None))))
    for shape in ((2, 8, 3, 1), (1, 8, 4, 4), (0, 8, 2, 2)):
        x = elements(shape)
        np.testing.assert_allclose(
            np.asarray(listing.run(y, x)), np.asarray(slopes(tl.tensor(x))), 1e-5, 1e-6
        )

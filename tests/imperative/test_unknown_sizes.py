"""Sizes that are not known: what may be done with one, and that no program is silently wrong."""

from __future__ import annotations

import contextlib
import gc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import Listing, ShapeError
from tensorlike.imperative import Size
from tensorlike.imperative.sizes import ends_with


def recorded(function: Callable[..., Any], *shapes: tuple[Any, ...]) -> tuple[Listing, Any]:
    listing = Listing()
    return listing, function(
        *(tl.Tensor(listing.input(f"x{i}", shape)) for i, shape in enumerate(shapes))
    )


def rows(size: int, *more: int) -> Any:
    return np.arange(math.prod((size, *more)), dtype=np.float32).reshape(size, *more)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.reshape(x, (x.shape[0] * 3,)),
        lambda x: F.reshape(x, (3, -1)),
        lambda x: x[: x.shape[0] - 1] * x.shape[0],
        lambda x: x[-1] + x.size,
        lambda x: F.concat([x, x, x[:2]]) * 2,
        lambda x: F.sum(F.concat([x, x])) / F.concat([x, x]).shape[0],
        lambda x: tl.zeros((x.shape[0] + 1, 2)) + F.arange(x.shape[0] + 1)[:, None],
        lambda x: tl.arange(4) * x.shape[0],
        lambda x: F.broadcast_to(tl.ones(3), x.shape) + x,
        lambda x: F.where(F.arange(x.shape[0])[:, None] >= 1, x, 0.0),
        lambda x: F.mean(x, axis=0) * (x.shape[0] - 1) * 1.5,
        lambda x: F.tile(x, (2, 1)),
        lambda x: F.flip(F.cumulative_sum(x, axis=0), axis=0),
        lambda x: tl.vmap(lambda row: F.reshape(row, (3, 1)))(x),
        lambda x: tl.vmap(lambda column: F.sum(column) / x.shape[0], in_axes=1)(x),
        lambda x: tl.vmap(tl.grad(lambda row: F.mean(F.reshape(row, (3, 1)) ** 2)))(x),
        lambda x: tl.grad(lambda y: F.var(F.reshape(y, (y.size,)), correction=1.0))(x),
        lambda x: tl.grad(lambda y: F.sum(tl.grad(lambda z: F.mean(z**3))(y) ** 2))(x),
        lambda x: tl.jvp(lambda y: F.softmax(y, axis=0), (x,), (x * 2,))[1],
    ],
)
def test_what_is_made_of_a_size_is_made_of_each_size(function: Callable[..., Any]) -> None:
    listing, y = recorded(function, (None, 3))
    for size in (2, 3, 7):
        x = rows(size, 3)
        found, wanted = listing.run(y, x), function(tl.tensor(x))
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), 1e-5, strict=True)


def test_a_size_is_no_number() -> None:
    listing = Listing()
    n = listing.input("x", (None, 3)).shape[0]
    assert isinstance(n, Size) and str((n, 3)) == "(x.shape[0], 3)"
    assert n * 2 + 1 - n == n + 1
    assert (n * 6) // 3 == n * 2 and (n * 4 + 3) % 4 == 3
    for wrong in (
        lambda: int(n), lambda: float(n / 2), lambda: n / 0, lambda: n // 0, lambda: n % 0,
        lambda: n * 1j, lambda: tl.zeros((n / 2,)), lambda: tl.zeros(3)[n / 2 :],
        lambda: range(n), lambda: [0] * n, lambda: math.sqrt(n), lambda: np.zeros(n),
        lambda: tl.tensor([1, 2])[n], lambda: n * Listing().input("y", (None,)).shape[0],
    ):  # fmt: skip
        with pytest.raises((ShapeError, TypeError, IndexError, ZeroDivisionError)):
            wrong()


def test_sizes_are_called_by_their_names() -> None:
    listing = Listing()
    x, y = listing.input("x", (None, 3)), listing.input("y", (None, "time"))
    n, m, t = x.shape[0], y.shape[0], y.shape[1]
    assert str((*x.shape, *y.shape)) == "(x.shape[0], 3, y.shape[0], time)"
    assert f"{n * 2 + 1}, {t - 1}, {-n}, {m * (n // 3)}, {t / 2}" == (
        "(2 * x.shape[0]) + 1, time - 1, -x.shape[0], y.shape[0] * (x.shape[0] // 3), time / 2"
    )
    assert f"{t:>6}" == "  time"
    with pytest.raises(ShapeError, match=r"got x\.shape\[0\] and y\.shape\[0\] in 'ij,ij->i'"):
        F.einsum("ij,ij->i", x, y)
    with pytest.raises(ShapeError, match=r"labels.shape=\(y.shape\[0\],\) and x.shape=\(x.sh"):
        F.nll_loss(x, F.argmax(y, axis=1))


def test_what_was_asked_of_a_size_is_remembered() -> None:
    def branching(x: Any) -> Any:
        return x * 2 if x.shape[0] > 3 else x * 5

    listing, y = recorded(branching, ("batch", 2))
    assert listing.run(y, rows(4, 2)).tolist() == (rows(4, 2) * 2).tolist()
    with pytest.raises(ShapeError) as caught:
        listing.run(y, rows(3, 2))
    assert str(caught.value).startswith(
        "run: sizes must be so that 3 < batch is true, as it was when the program was recorded; "
        "got 3 and 3; record a program for such sizes; applied at "
    )
    assert __file__ in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.sum(x[:100], axis=0) / x[:100].shape[0],
        lambda x: F.sum(x[:300_000], axis=0) / x[:300_000].shape[0],
        lambda x: x[:2] * x[:2].shape[0],
        lambda x: tl.grad(lambda y: F.mean(y[:100]))(x),
    ],
)
def test_a_size_that_is_known_of_large_ones_alone_is_refused(function: Any) -> None:
    """Rows up to the 100th: for fewer rows, the number that Python saw is not theirs."""
    listing, y = recorded(function, (None, 2))
    for size in (1, 5, 150, 300_001):
        x = rows(size, 2)
        try:
            found = listing.run(y, x)
        except ShapeError as error:
            assert "as it was when the program was recorded" in str(error)
            continue
        np.testing.assert_allclose(np.asarray(found), np.asarray(function(tl.tensor(x))), 1e-4)


def test_sizes_are_equal_by_name_alone() -> None:
    listing, y = recorded(lambda x, t: x - t, ("batch", 3), ("batch", 3))
    with pytest.raises(ShapeError, match=r"must have the shape \(batch, 3\) with batch=2; got \(1"):
        listing.run(y, rows(2, 3), rows(1, 3))
    with pytest.raises(ShapeError, match=r"got \(x0.shape\[0\], 3\) and \(x1.shape\[0\], 3\)"):
        recorded(lambda x, t: x - t, (None, 3), (None, 3))
    with pytest.raises(ShapeError, match=r"got \(batch, 3\) and \(5, 3\)"):
        recorded(lambda x, t: x - t, ("batch", 3), (5, 3))
    listing = Listing()
    x = listing.input("x", (None, 3))
    t = listing.input("t", (x.shape[0],))
    assert listing.run(tl.Tensor(x)[:, 0] - tl.Tensor(t), rows(2, 3), rows(2)).shape == (2,)
    with pytest.raises(ShapeError, match="a size made of one"):
        listing.input("z", (x.shape[0] + 1,))


def test_attributes_that_follow_by_divisions_are_those_of_each_size() -> None:
    def halved(x: Any) -> Any:
        return tl.grad(lambda y: F.sum(F.avg_pool1d(y, 2) ** 2))(x)

    listing, y = recorded(lambda x: F.max_pool1d(x, 2), (2, 3, None))
    assert listing.run(y, rows(2, 3, 9)).shape == (2, 3, 4)
    listing, y = recorded(lambda x: F.mean(F.max_pool1d(x, 2)), (2, 3, None))
    assert listing.run(y, rows(2, 3, 9)).item() == F.mean(F.max_pool1d(rows(2, 3, 9), 2)).item()
    listing, y = recorded(halved, (2, 3, None))
    for size in (8, 9):
        x = rows(2, 3, size)
        np.testing.assert_allclose(listing.run(y, x), halved(tl.tensor(x)))


def test_numbers_that_look_like_a_size_are_not_taken_for_one() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", (None, 3)))
    number = x.shape[0].first  # type: ignore[attr-defined]
    with pytest.raises(tl.ParameterError, match="is written, and stands for an unknown size"):
        x + number
    with pytest.raises(tl.ParameterError, match="is written"):
        F.clip(x, 0, number * 2)
    with pytest.raises(tl.ParameterError, match="is written"):
        x[number - 3 :]
    kept = []  # of many programs some size is near to a multiple of such a number
    for usual in 8 * (4096, 50_257, 65_536, 128_256, 262_144, 300_000, 1_000_000, 2**20, 2**31 - 1):
        kept.append(found := Listing())
        y = tl.Tensor(found.input("x", (None, 3))) + usual
        assert found.run(y, rows(2, 3))[0, 0].item() == np.float32(usual)


@pytest.mark.parametrize("bound", (4_096, 56_000, 70_000, 100_000, 200_000))
def test_bounds_of_slices_are_numbers(bound: int) -> None:
    """A slice may make a size of the same number, for which a bound is not taken: what is not
    right is refused, as it is recorded or as it runs."""
    listing = Listing()
    x, other = (tl.Tensor(listing.input(name, (name,))) for name in ("x", "other"))
    lines: list[Callable[[Any, Any], Any]] = [
        lambda x, _: x[:bound], lambda _, y: y[bound:], lambda _, y: F.sum(y) * bound,
        lambda x, y: x[-bound:],
    ]  # fmt: skip
    results = {}
    for line in lines:
        with contextlib.suppress(tl.ParameterError):
            results[line] = line(x, other)
    assert len(results) > 1
    for size in (1, bound - 1, bound, bound + 3):
        given = rows(5), rows(size)
        for line, result in results.items():
            wanted = line(*map(tl.tensor, given))
            try:
                found = listing.run(result, *given)
            except ShapeError as error:
                assert "as it was when the program was recorded" in str(error)
            else:
                assert found.tolist() == wanted.tolist()


def test_bounds_near_a_size_of_another_program_are_numbers() -> None:
    listing = Listing()
    there = tl.Tensor(listing.input("there", (None,)))[16_000:]
    number = there.shape[0].first  # type: ignore[attr-defined]
    for near in (number, number + 1, 2 * number - 16):
        apart = Listing()
        z = tl.Tensor(apart.input("z", (None,)))[:near]
        with contextlib.suppress(ShapeError):
            assert apart.run(z, rows(7)).shape == (7,)


def test_known_sizes_near_a_witness_are_not_taken_for_it() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", (None, 2)))
    number = x.shape[0].first  # type: ignore[attr-defined]
    known = tl.Tensor(listing.input("known", (number + 3,)))  # as large as that by chance
    with pytest.raises(tl.ParameterError, match="is near a known size"):
        tl.grad(lambda y: F.mean(y))(known)
    y = tl.grad(lambda y: F.mean(y))(x)
    assert (
        listing.run(y, rows(4, 2), np.zeros(number + 3, np.float32)).tolist() == [[0.125] * 2] * 4
    )


def test_eager_calls_of_such_sizes_are_their_own_when_a_listing_has_run() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", (None,)))
    y = x * 2
    listing.run(y, rows(3))
    size = x.shape[0].first  # type: ignore[attr-defined]
    gradient = tl.grad(lambda z: F.mean(z * z))(tl.Tensor(np.ones(size, np.float32)))
    np.testing.assert_allclose(np.asarray(gradient)[:2], [2 / size] * 2, 1e-6)
    z = y + tl.zeros((x.shape[0],))
    assert listing.run(z, rows(4)).tolist() == [0.0, 2.0, 4.0, 6.0]


def test_values_of_an_unknown_size_are_not_captured() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", (None, 3)))
    with pytest.raises(ShapeError, match="must have sizes that are known"):
        x + tl.RawTensor(np.zeros((x.shape[0].first, 3), np.float32))  # type: ignore[attr-defined]


def test_sizes_end_with_their_listing() -> None:
    listing = Listing()
    listing.input("x", (None, 3))
    first = listing.shape(0)[0].first  # type: ignore[attr-defined]
    del listing
    gc.collect()
    assert tl.zeros((first,)).shape == (first,)  # a number like others


def test_binding_says_the_line_of_what_does_not_go_together() -> None:
    listing, y = recorded(lambda x, y: F.reshape(x, (6,)) + y, (2, 3), (6,))
    assert listing.run(y, rows(2, 3), rows(6)).shape == (6,)
    listing, y = recorded(lambda x: F.max(x, axis=0), (None, 3))
    with pytest.raises(ShapeError, match=rf"an empty axis has no max.*applied at {__file__}"):
        listing.run(y, rows(0, 3))


@pytest.mark.parametrize("heads", [12, 16])
def test_attention_of_many_heads_is_recorded_for_every_batch_and_length(heads: int) -> None:
    def attend(x: Any) -> Any:
        parts = F.permute_dims(F.reshape(x, (x.shape[0], x.shape[1], heads, 2)), (0, 2, 1, 3))
        scores = F.softmax(F.matmul(parts, F.matrix_transpose(parts)), axis=-1)
        return F.permute_dims(F.matmul(scores, parts), (0, 2, 1, 3))

    def gradient(x: Any) -> Any:
        return tl.grad(lambda y: F.sum(attend(y) ** 2))(x)

    for function in (attend, gradient):
        listing, y = recorded(function, ("batch", "length", heads * 2))
        for batch, length in ((2, 5), (3, 1), (1, 4)):
            x = np.sin(rows(batch, length, heads * 2))
            found, wanted = listing.run(y, x), function(tl.tensor(x))
            np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), 1e-5, 1e-6)


def test_a_shape_ends_with_sizes_as_its_tuple_does() -> None:
    given = [np.zeros(shape) for shape in ((), (3,), (2, 3), (0, 3), (1, 2, 3))]
    shaped: list[Any] = [*given, *map(tl.tensor, given)]
    shaped += [tl.tensor(x, requires_grad=True) for x in given]
    shaped.append(tl.Tensor(Listing().input("x", (None, 3))))
    others: list[Any] = [(), (3,), (2, 3), (0, 3), (4, 1, 2, 3), (2**70,), (True,), (3.0,), ("a",)]
    for x in shaped:
        for sizes in others:
            last = tuple(x.shape)[-len(sizes) :] if sizes else ()
            assert ends_with(x, sizes) == (last == sizes), (x.shape, sizes)

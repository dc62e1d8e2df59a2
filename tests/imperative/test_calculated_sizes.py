"""What Python calculates of unknown sizes, and what follows from them by divisions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import Listing


def recorded(function: Callable[..., Any], *shapes: tuple[Any, ...]) -> tuple[Listing, Any]:
    listing = Listing()
    given = [tl.Tensor(listing.input(f"x{i}", shape)) for i, shape in enumerate(shapes)]
    return listing, function(*given)


def drawn(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def check(function: Callable[..., Any], shape: tuple[Any, ...], sizes: tuple[int, ...]) -> None:
    """A listing of the unknown shape gives what calls give, or refuses what they refuse."""
    listing, y = recorded(function, shape)
    for size in sizes:
        x = drawn(*(size if part is None else part for part in shape))
        try:
            wanted = function(tl.tensor(x))
        except tl.TensorlikeError:
            with pytest.raises(tl.TensorlikeError):
                listing.run(y, x)
            continue
        np.testing.assert_allclose(
            np.asarray(listing.run(y, x)), np.asarray(wanted), 1e-4, 1e-5, strict=True
        )


@pytest.mark.parametrize("number", [-5000, -17, 5, 16, 17, 40, 1000, 1500, 4096, 5000, 10**6])
@pytest.mark.parametrize("factor", [1, 2, -3])
def test_a_sum_is_that_of_each_size_however_large_it_is(number: int, factor: int) -> None:
    check(lambda x: x * (factor * x.shape[0] + number), (None, 2), (1, 3, 8))


def test_questions_about_sums_are_asked_of_each_size() -> None:
    def branching(x: Any) -> Any:
        return x * 2 if x.shape[0] + 40 > 45 else x * 3

    listing, y = recorded(branching, (None,))
    assert listing.run(y, np.ones(6, np.float32)).tolist() == [2.0] * 6
    with pytest.raises(tl.ShapeError, match="as it was when the program was recorded"):
        listing.run(y, np.ones(5, np.float32))


def test_sums_of_several_sizes_are_made_of_each() -> None:
    def call(x: Any, y: Any) -> Any:
        n, m = x.shape[0], y.shape[0]
        whole = F.concat([x, y, tl.zeros((m - n + 40,)), tl.zeros((n * m + 2 * n + 100,))])
        return whole * (n + m + 17) + whole.shape[0]

    listing, z = recorded(call, (None,), (None,))
    for n, m in ((3, 2), (9, 1), (5, 5)):
        given = drawn(n), drawn(m)
        wanted = call(*map(tl.tensor, given))
        np.testing.assert_allclose(listing.run(z, *given), wanted, 1e-5)


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_random_arithmetic_on_sizes_is_that_on_integers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps: list[Any] = []
    for _ in range(int(rng.integers(1, 6))):
        name = str(rng.choice(list(STEPS)))
        number = int(rng.choice([1, 2, 3, 7, 16, 17, 64, 300, -1, -5]))
        steps.append((name, int(rng.integers(0, 3)), number))

    def calculated(n: Any, m: Any) -> Any:
        value = n
        for name, operand, number in steps:
            other = (number, m, n)[operand]
            if name in "//%" and operand != 0:
                other = other + abs(number)
            value = STEPS[name](value, other)
        return value

    def call(x: Any, y: Any) -> Any:
        return (F.sum(x) + F.sum(y)).astype(tl.int64) * calculated(x.shape[0], y.shape[0])

    try:
        listing, z = recorded(lambda x, y: call(x, y), (None,), (None,))
    except (tl.ShapeError, tl.TensorlikeError) as error:
        assert "nearly equal" in str(error) or "64 bits" in str(error), error
        return
    for n, m in ((1, 1), (7, 2), (30, 31), (128, 5), (1000, 999)):
        given = np.ones(n, np.float32), np.ones(m, np.float32)
        wanted = (n + m) * calculated(n, m)
        try:
            found = listing.run(z, *given).item()
        except tl.ShapeError as error:
            assert "as it was when the program was recorded" in str(error)
            continue
        assert found == wanted, steps


WINDOWS: dict[str, Callable[[Any, int], Any]] = {
    "pooled": lambda x, k: F.mean(F.avg_pool1d(x, k)),
    "count": lambda x, k: F.sum(F.avg_pool1d(x, k)) / F.avg_pool1d(x, k).shape[-1],
    "slope": lambda x, k: tl.grad(lambda z: F.mean(F.avg_pool1d(z, k) ** 2))(x),
    "largest": lambda x, k: tl.grad(lambda z: F.var(F.max_pool1d(z, k) ** 2))(x),
    "steps": lambda x, k: tl.grad(lambda z: F.mean(z[..., ::k] ** 2))(x),
    "twice": lambda x, k: tl.grad(lambda z: F.sum(F.max_pool1d(F.avg_pool1d(z, 2), k) ** 2))(x),
    "back": lambda x, k: F.interpolate(F.avg_pool1d(x, k), scale_factor=k, mode="nearest"),
    "part": lambda x, k: x[..., : x.shape[-1] // k] * (x.shape[-1] % k),
    "halves": lambda x, k: tl.grad(
        lambda z: F.sum(z[..., : z.shape[-1] // k] ** 3) / (-(-z.shape[-1] // k))
    )(x),
    "filled": lambda x, k: F.pad(x, ((0, 0), (0, 0), (0, (k - x.shape[-1] % k) % k))),
}


@pytest.mark.parametrize("name", sorted(WINDOWS))
@pytest.mark.parametrize("k", [2, 3, 5, 16, 40, 64])
def test_what_is_divided_is_divided_for_each_size(name: str, k: int) -> None:
    check(lambda x: WINDOWS[name](x, k), (2, 3, None), (64, 65, 127, 128, 200, 257))


def test_a_size_that_is_divided_twice_is_no_other() -> None:
    def deep(x: Any) -> Any:
        y = x
        for _ in range(5):
            y = F.max_pool2d(y, 2)
        return F.sum(y, axis=(2, 3)) / (y.shape[2] * y.shape[3])

    listing, y = recorded(deep, (None, 2, None, None))
    for shape in ((1, 2, 32, 33), (3, 2, 100, 64)):
        x = drawn(*shape)
        np.testing.assert_allclose(listing.run(y, x), deep(tl.tensor(x)), 1e-5)
    listing, y = recorded(
        lambda x: tl.grad(lambda z: F.sum(deep(z) ** 2))(x), (None, 2, None, None)
    )
    x = drawn(2, 2, 70, 64)
    wanted = tl.grad(lambda z: F.sum(deep(z) ** 2))(tl.tensor(x))
    np.testing.assert_allclose(listing.run(y, x), wanted, 1e-5)


@pytest.mark.parametrize("channels", [3, 16, 33, 64])
def test_counts_of_elements_are_those_of_each_size(channels: int) -> None:
    """What stands for three sizes may be more than a double counts."""

    def slope(x: Any) -> Any:
        return tl.grad(lambda z: F.mean(z * z) + F.var(z, correction=1))(x)

    listing, y = recorded(slope, (None, channels, None, None))
    for shape in ((2, channels, 3, 2), (1, channels, 2, 1)):
        x = drawn(*shape)
        np.testing.assert_allclose(listing.run(y, x), slope(tl.tensor(x)), 1e-4, 1e-6)

"""Convolutions of few windows, of channels by themselves, small pools: ways of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.convolutions import convolved

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C
from tensorlike.static import CompiledProgram

# Images, channels of a group in and out, groups, sizes, kernel, stride, padding, dilation.
FEW = [
    (1, 3, 16, 1, (9,), (4,), (2,), (1,), (1,)),
    (2, 5, 24, 1, (5,), (3,), (2,), (1,), (2,)),
    (1, 4, 20, 3, (4, 4), (3, 3), (2, 2), (1, 1), (1, 1)),
    (3, 2, 16, 1, (3, 2), (3, 3), (1, 1), (0, 1), (1, 1)),
    (1, 2, 16, 2, (3, 3, 3), (2, 3, 2), (1, 1, 1), (0, 1, 0), (1, 1, 1)),
]
# The first are by rows of their own, the last by strips.
ALONE = [
    (2, 1, 1, 4, (3, 70), (5, 5), (1, 1), (2, 2), (1, 1)),
    (1, 1, 1, 3, (4, 64), (5, 5), (2, 2), (2, 2), (1, 1)),
    (1, 1, 1, 5, (3, 66), (3, 3), (1, 1), (2, 3), (2, 3)),
    (1, 1, 1, 2, (2, 95), (3, 4), (1, 3), (1, 2), (1, 2)),
    (2, 1, 1, 3, (2, 2, 48), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    (1, 1, 1, 3, (96,), (5,), (1,), (2,), (1,)),
    (1, 1, 1, 2, (13, 18), (3, 3), (2, 2), (1, 1), (1, 1)),
    (1, 1, 1, 2, (7, 200), (1, 7), (3, 2), (0, 0), (1, 3)),
]
# By tiles, whose rows are as far apart as those of a window; the first columns alone are not.
APART = [
    (2, 24, 26, 1, (23, 30), (3, 3), (1, 1), (2, 1), (2, 1)),
    (1, 32, 24, 2, (41, 33), (3, 3), (1, 1), (1, 0), (3, 1)),
    (1, 24, 24, 1, (31, 64), (3, 3), (1, 1), (5, 1), (5, 1)),
    (3, 25, 24, 1, (17, 40), (3, 3), (1, 1), (3, 2), (7, 1)),
    (1, 24, 24, 1, (12, 90), (3, 3), (1, 1), (0, 1), (4, 1)),
    (2, 24, 24, 1, (24, 31), (3, 3), (1, 1), (1, 2), (1, 2)),
]
# Whose last axes have one element.
NARROW = [
    (2, 5, 24, 1, (40, 1), (5, 1), (1, 1), (0, 0), (1, 1)),
    (1, 3, 16, 2, (30, 1), (3, 1), (2, 3), (2, 0), (2, 1)),
    (1, 4, 8, 1, (9, 8, 1), (3, 3, 1), (1, 1, 1), (1, 1, 0), (1, 1, 1)),
    (1, 4, 8, 1, (50, 1, 1), (4, 1, 1), (1, 1, 1), (1, 0, 0), (1, 1, 1)),
    (2, 1, 1, 6, (48, 1), (5, 1), (1, 1), (2, 0), (1, 1)),
    (1, 3, 4, 1, (6, 1), (3, 1), (1, 1), (1, 1), (1, 1)),
    (1, 24, 26, 1, (30, 30, 1), (3, 3, 1), (1, 1, 1), (1, 1, 0), (1, 1, 1)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", FEW + ALONE + APART + NARROW)
def test_convolutions_are_what_they_are_by_definition(case: Any, dtype: str) -> None:
    images, inner, outer, groups, sizes, kernel, stride, padding, dilation = case
    random = np.random.default_rng(0)
    x = random.standard_normal((images, groups * inner, *sizes)).astype(dtype)
    w = random.standard_normal((groups * outer, inner, *kernel)).astype(dtype)
    b = random.standard_normal(groups * outer).astype(dtype)
    wanted = convolved(x, w, b, stride, padding, dilation, groups)

    def call(x: Any) -> Any:
        return F.convolution(
            x, tl.tensor(w), tl.tensor(b), stride=stride, padding=padding, dilation=dilation,
            groups=groups,
        )  # fmt: skip

    found = np.asarray(call(tl.tensor(x)))
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * 10)
    listing = tl.Listing()
    y = call(tl.Tensor(listing.input("x", x.shape, dtype)))
    compiled = np.asarray(CompiledProgram(listing).run(y, x))  # whose weights are packed once
    np.testing.assert_array_equal(compiled, found)


@pytest.mark.parametrize("case", APART)
def test_gradients_of_dilated_convolutions_are_their_transposes(case: Any) -> None:
    images, inner, outer, groups, sizes, kernel, stride, padding, dilation = case
    random = np.random.default_rng(0)
    x, toward = random.standard_normal((2, images, groups * inner, *sizes))
    w = random.standard_normal((groups * outer, inner, *kernel))
    wanted = convolved(toward, w, np.zeros(len(w)), stride, padding, dilation, groups)
    c = random.standard_normal(wanted.shape)

    def loss(x: Any) -> Any:
        y = F.convolution(
            x, tl.tensor(w), stride=stride, padding=padding, dilation=dilation, groups=groups
        )
        return F.sum(y * tl.tensor(c))

    slope = np.asarray(tl.grad(loss)(tl.tensor(x)))
    np.testing.assert_allclose(np.sum(slope * toward), np.sum(wanted * c), rtol=1e-9)


@pytest.mark.parametrize("where", [(0, 0), (11, 15), (22, 29)])
def test_an_infinite_element_is_seen_by_its_windows_alone(where: tuple[int, int]) -> None:
    images, inner, outer, groups, sizes, kernel, stride, padding, dilation = APART[0]
    random = np.random.default_rng(0)
    x = random.standard_normal((images, inner, *sizes)).astype(np.float32)
    w = random.standard_normal((outer, inner, *kernel)).astype(np.float32)
    x[(0, 3, *where)] = np.inf
    found = F.convolution(tl.tensor(x), tl.tensor(w), padding=padding, dilation=dilation)
    wanted = convolved(x, w, np.zeros(outer), stride, padding, dilation, groups)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-4)


@pytest.fixture
def wanted_way() -> Iterator[Callable[[str | None], None]]:
    yield _C.want_way
    _C.want_way(None)


@pytest.mark.parametrize("apart", [(2, 1), (3, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_what_is_apart_has_the_bits_of_images_of_its_own(
    kind: str, apart: tuple[int, int], wanted_way: Callable[[str | None], None]
) -> None:
    random = np.random.default_rng(3)
    x = tl.tensor(random.standard_normal((2, 24, 12 * apart[0], 20 * apart[1])).astype(kind))
    w = tl.tensor(random.standard_normal((26, 24, 3, 3)).astype(kind))

    def loss(w: Any, x: Any, apart: tuple[int, int]) -> Any:
        y = F.convolution(x, w, padding=apart, dilation=apart)
        return F.sum(F.square(y)), y

    wanted_way("apart")
    slope, found = tl.grad(loss, has_aux=True)(w, x, apart)
    slopes = np.zeros(w.shape)
    wanted_way("tiles")
    for row, column in product(range(apart[0]), range(apart[1])):
        own = (slice(None), slice(None), slice(row, None, apart[0]), slice(column, None, apart[1]))
        part, wanted = tl.grad(loss, has_aux=True)(w, x[own], (1, 1))
        np.testing.assert_array_equal(np.asarray(found)[own], np.asarray(wanted))
        slopes += np.asarray(part)
    rtol = 1e-4 if kind == "float32" else 1e-10
    np.testing.assert_allclose(np.asarray(slope), slopes, rtol=rtol, atol=rtol * slopes.std())


KINDS = ["float32", "float64", "bfloat16", "int8", "uint8", "int32"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [(1, 2), (1, 4), (2, 2), (2, 4)])
@pytest.mark.parametrize("sizes", [(5, 16), (5, 19), (2, 4), (4, 2), (7, 131), (3, 5, 70)])
def test_the_largest_of_few_beside_each_other(
    sizes: tuple[int, ...], window: tuple[int, int], kind: str
) -> None:
    random = np.random.default_rng(1)
    x = random.integers(0, 100, (2, 3, *sizes)).astype(np.float64)
    if kind.startswith(("float", "bf")):
        x = np.where(x < 5, np.nan, np.where(x < 10, -np.inf, np.where(x < 15, -0.0, x)))
    given = F.astype(tl.tensor(x), kind)
    ones = (1,) * (len(sizes) - 2)
    pool = {2: F.max_pool2d, 3: F.max_pool3d}[len(sizes)]
    for step, apart in ((1, 1), (2, 1), (3, 2)):
        rows = (sizes[-2] - (window[0] - 1) * apart - 1) // step + 1
        columns = sizes[-1] // window[1]
        if rows < 1 or columns < 1:
            continue
        found = pool(
            given, (*ones, *window), stride=(*ones, step, window[1]), dilation=(*ones, apart, 1)
        )
        wanted = np.full((*x.shape[:-2], rows, columns), -np.inf)
        for row, column in product(*map(range, window)):
            lines = slice(row * apart, row * apart + (rows - 1) * step + 1, step)
            seen = x[..., lines, column : columns * window[1] : window[1]]
            wanted = np.maximum(wanted, seen)
        np.testing.assert_array_equal(np.asarray(F.astype(found, "float64")), wanted)

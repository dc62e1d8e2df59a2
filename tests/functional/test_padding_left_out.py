"""Convolutions whose windows see padding, even nothing else: every way against the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.convolutions import Array, convolved, gradients
from support.ways import check_every_way, wanted

import tensorlike as tl
import tensorlike.functional as F


def drawn(seed: int, dtype: str) -> tuple[Array, Array, Array, dict[str, Any]]:
    """x, weights, bias, and how windows lie: images of little more than the windows, paddings that
    may exceed these."""
    random = np.random.default_rng([7, seed])
    ndim = (2, 1, 3, 2)[seed % 4]

    def each(*numbers: int) -> tuple[int, ...]:
        return tuple(int(n) for n in random.choice(numbers, ndim))

    kernel, stride = each(1, 2, 3, 3, 5), each(1, 1, 1, 2, 3)
    dilation = each(1, 1, 2, 3, 7)
    most = {1: 300, 2: 24, 3: 7}[ndim]
    reach = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    sizes = tuple(int(random.integers(1, most)) for _ in reach)
    padding = tuple(
        max(int(random.integers(0, r + 3)), -(-(r + 1 - n) // 2))
        for n, r in zip(sizes, reach, strict=True)
    )
    groups = int(random.choice([1, 1, 2, 3]))
    inner, outer = (int(n) for n in random.integers(20, 50, 2) // groups)
    x, w, b = (
        random.standard_normal(shape).astype(dtype)
        for shape in ((int(random.integers(1, 4)), groups * inner, *sizes),
                      (groups * outer, inner, *kernel), (groups * outer,))
    )  # fmt: skip
    how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return x, w, b, how


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(40))
def test_padding_left_out_changes_no_result(seed: int, dtype: str) -> None:
    check_every_way(*drawn(seed, dtype))


def test_padding_left_out_in_every_dimension() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 24, 4, 5, 3)).astype(np.float32)
    w = random.standard_normal((25, 24, 3, 5, 3)).astype(np.float32)
    b = random.standard_normal(25).astype(np.float32)
    how = {"stride": (1, 1, 1), "padding": (1, 2, 1), "dilation": (1, 1, 1), "groups": 1}
    assert {"parts", "part dots"} <= check_every_way(x, w, b, how)


@pytest.mark.parametrize("shape", [(0, 24, 9, 9), (2, 0, 9, 9), (2, 24, 0, 9)])
def test_padding_left_out_of_nothing(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    w = np.random.default_rng(0).standard_normal((32, shape[1], 3, 3)).astype(np.float32)
    b = np.arange(32, dtype=np.float32)
    how = {"stride": (1, 1), "padding": (9, 4), "dilation": (4, 4), "groups": 1}
    found = F.convolution(tl.tensor(x), tl.tensor(w), tl.tensor(b), **how)
    np.testing.assert_array_equal(np.asarray(found), convolved(x, w, b, **how).astype(np.float32))


def test_transposed_windows_that_see_nothing_have_the_bias() -> None:
    random = np.random.default_rng(0)
    like = {"stride": (3, 1), "padding": (0, 6), "dilation": (2, 4), "groups": 1}
    x = random.standard_normal((2, 30, 9, 20)).astype(np.float32)
    w = random.standard_normal((30, 28, 2, 3)).astype(np.float32)
    b = random.standard_normal(28).astype(np.float32)
    result = gradients(np.zeros((2, 28, 27, 16)), w, x, **like)[0] + b[:, None, None]
    for way in (None, "strips", "parts"):
        with wanted(way):
            found = F.convolution_transpose(tl.tensor(x), tl.tensor(w), tl.tensor(b), **like)
        np.testing.assert_allclose(np.asarray(found), result, rtol=1e-4, atol=1e-4)


def test_the_weights_of_taps_that_nobody_sees_do_not_count() -> None:
    """The same for any number of threads, since parts are cut by the problem alone."""
    x = np.ones((1, 64, 6, 40), np.float32)
    w = np.ones((64, 64, 3, 3), np.float32)
    w[:, :, 0] = np.inf
    found = []
    for threads in (1, 2, 5):
        before = tl.num_threads()
        tl.set_num_threads(threads)
        with wanted("parts"):
            y = F.convolution(tl.tensor(x), tl.tensor(w), padding=(1, 1))
        tl.set_num_threads(before)
        found.append(np.asarray(y).tobytes())
    assert found[0] == found[1] == found[2]

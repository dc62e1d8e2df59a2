"""3x3 windows that are computed in tiles, and their gradients: against plain sums over windows,
on generated shapes around what tiles serve; errors, what is not finite, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import static

F = tl.functional
KERNEL = 3


def taps(x: Any, shape: tuple[int, ...]) -> Any:
    """For each tap: where it is, and what windows of a padded x see of it."""
    for i in range(KERNEL):
        for j in range(KERNEL):
            yield (..., i, j), x[:, :, i : i + shape[2], j : j + shape[3]]


def padded(x: Any, padding: tuple[int, int]) -> Any:
    return np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))


def reference(x: Any, weight: Any, dy: Any, padding: tuple[int, int]) -> list[Any]:
    """The convolution, its gradient by x and that by the weights, as sums in float64."""
    x, weight, dy = (a.astype("float64") for a in (x, weight, dy))
    seen, y, dw = padded(x, padding), np.zeros_like(dy), np.zeros_like(weight)
    dx = np.zeros_like(seen)
    spread = [part for _, part in taps(dx, dy.shape)]
    for (at, part), target in zip(taps(seen, dy.shape), spread, strict=True):
        y += np.einsum("nchw,kc->nkhw", part, weight[at])
        dw[at] = np.einsum("nkhw,nchw->kc", dy, part)
        target += np.einsum("nkhw,kc->nchw", dy, weight[at])
    inside = tuple(slice(p, n - p) for p, n in zip(padding, dx.shape[2:], strict=True))
    return [y, dx[(..., *inside)], dw]


def ours(x: Any, weight: Any, dy: Any, padding: tuple[int, int]) -> list[Any]:
    x, weight, dy = (tl.tensor(a) for a in (x, weight, dy))
    how = {"padding": padding}
    kept = static.CompiledProgram(listing := tl.Listing(), ["keep"])
    y = F.conv2d(tl.Tensor(listing.input("x", x.shape, x.dtype)), weight, **how)
    found = [
        F.conv2d(x, weight, **how),
        kept.run(y, x),
        F.conv_transpose2d(dy, weight, **how),
        F.convolution_weight(x, dy, kernel=(KERNEL, KERNEL), **how),
    ]
    return [np.asarray(each) for each in found]


def generated(seed: int, dtype: str) -> tuple[Any, Any, Any, tuple[int, int]]:
    rng = np.random.default_rng(seed)
    padding = tuple(int(p) for p in rng.integers(0, 3, 2))
    most = 300 if seed % 8 == 0 else 30
    size = [int(rng.integers(max(1, KERNEL - 2 * p), most)) for p in padding]
    size[0] = min(size[0], 30)
    images, inside, outside = (int(rng.integers(a, b)) for a, b in ((1, 6), (10, 50), (14, 70)))
    if seed % 4 == 3:  # whole vectors of channels
        inside, outside = -(-inside // 16) * 16, -(-outside // 16) * 16
    drawn = [rng.standard_normal(s) for s in ((images, inside, *size), (outside, inside, 3, 3))]
    result = [n + 2 * p - KERNEL + 1 for n, p in zip(size, padding, strict=True)]
    drawn.append(rng.standard_normal((images, outside, *result)))
    x, weight, dy = (a.astype(dtype) for a in drawn)
    return x, weight, dy, (padding[0], padding[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(24))
def test_tiles_give_what_sums_over_windows_give(seed: int, dtype: str) -> None:
    x, weight, dy, padding = generated(seed, dtype)
    y, dx, dw = reference(x, weight, dy, padding)
    bounds = reference(abs(x), abs(weight), abs(dy), padding)
    before = tl.num_threads()
    found = {}
    for threads in (1, 2, 5):
        tl.set_num_threads(threads)
        found[threads] = ours(x, weight, dy, padding)
    tl.set_num_threads(before)
    unit = np.finfo(dtype).eps
    for got, wanted, bound in zip(found[1], (y, y, dx, dw), (bounds[0], *bounds), strict=True):
        assert got.shape == wanted.shape
        assert float((abs(got - wanted) / (bound + bound.max() / 8)).max(initial=0)) < 8 * unit
    for threads in (2, 5):
        for got, other in zip(found[1], found[threads], strict=True):
            assert got.tobytes() == other.tobytes()


def test_no_images_and_no_windows_are_nothing() -> None:
    x, weight = np.zeros((0, 32, 14, 14), "float32"), np.zeros((32, 32, 3, 3), "float32")
    dy = np.zeros((0, 32, 12, 12), "float32")
    y, kept, dx, dw = ours(x, weight, dy, (0, 0))
    assert (y.shape, kept.shape, dx.shape) == (dy.shape, dy.shape, x.shape)
    assert not dw.any()


def test_gradients_by_weights_err_as_little_as_sums() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 32, 56, 56)).astype("float32")
    dy = rng.standard_normal((4, 48, 56, 56)).astype("float32")
    weight = np.zeros((48, 32, 3, 3), "float32")
    exact = reference(x, weight, dy, (1, 1))[2]
    found = np.asarray(
        F.convolution_weight(tl.tensor(x), tl.tensor(dy), kernel=(3, 3), padding=(1, 1))
    )
    norms = [np.sqrt((a.astype("float64") ** 2).sum((0, 2, 3))) for a in (dy, x)]
    scale = np.outer(*norms)[:, :, None, None]
    assert float((abs(found - exact) / scale).max()) < 2e-7


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("which", ["x", "dy"])
def test_what_is_not_finite_stays_with_its_weights(which: str, value: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 20, 15, 14)).astype("float32")
    dy = rng.standard_normal((2, 33, 15, 14)).astype("float32")
    (x if which == "x" else dy)[1, 3, 7, 6] = value
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = reference(x, np.zeros((33, 20, 3, 3)), dy, (1, 1))[2].astype("float32")
    found = np.asarray(
        F.convolution_weight(tl.tensor(x), tl.tensor(dy), kernel=(3, 3), padding=(1, 1))
    )
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))
    is_finite = np.isfinite(wanted)
    np.testing.assert_allclose(found[is_finite], wanted[is_finite], rtol=1e-3, atol=1e-3)

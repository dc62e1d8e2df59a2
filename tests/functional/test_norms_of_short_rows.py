"""Norms of rows of some vectors, several of which go together: against float64, for any number of
rows, layouts and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.threads import by_threads

import tensorlike as tl
import tensorlike.functional as F

Array = np.ndarray[Any, Any]
ROWS = [1, 2, 15, 16, 17, 33, 300]


def drawn(*shape: int, seed: int, dtype: str) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def by_definition(x: Array, w: Array, b: Array | None, dy: Array) -> list[Array]:
    """The norm and its gradients; without a bias that of root mean squares."""
    x, w, dy = (z.astype(np.longdouble) for z in (x, w, dy))
    mean = 0 if b is None else x.mean(axis=-1, keepdims=True)
    factor = 1 / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5)
    u = (x - mean) * factor
    g = dy * w
    centre = 0 if b is None else g.mean(axis=-1, keepdims=True)
    dx = (g - centre - u * (g * u).mean(axis=-1, keepdims=True)) * factor
    found = [u * w + (0 if b is None else b), dx, (dy * u).sum(axis=0)]
    return found if b is None else [*found, dy.sum(axis=0)]


def computed(x: Any, w: Array, b: Array | None, dy: Array) -> list[Any]:
    leaves = [tl.tensor(z, requires_grad=True) for z in (x, w, b) if z is not None]
    y = F.rms_norm(*leaves) if b is None else F.layer_norm(*leaves)
    y.backward(tl.tensor(dy))
    return [y.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [*range(2, 36), 47, 49, 63, 64, 65, 143, 300, 511, 512, 513])
def test_they_are_what_the_definition_gives(n: int, dtype: str) -> None:
    unit = float(np.finfo(dtype).eps)
    w = 1 + drawn(n, seed=1, dtype=dtype) / 4
    for rows in ROWS:
        x, dy = (drawn(rows, n, seed=s, dtype=dtype) for s in (2, 3))
        x[:, 0] += 3  # so that rows of two have a variance
        for b in (drawn(n, seed=4, dtype=dtype), None):
            wanted = by_definition(x, w, b, dy)
            for found, by in zip(computed(x, w, b, dy), wanted, strict=True):
                size = max(float(abs(by).max()), rows**0.5)
                assert abs(np.asarray(found) - by).max() < 40 * unit * size, (rows, b is None)


@pytest.mark.parametrize("n", [1, 3, 7, 9, 20, 49, 130])
def test_weights_that_are_one_a_row_have_gradients_of_their_own(n: int) -> None:
    x, dy = (drawn(70, n, seed=s, dtype="float32") for s in (2, 3))
    w, b = (1 + drawn(70, 1, seed=s, dtype="float32") / 4 for s in (4, 5))
    leaves = [tl.tensor(z, requires_grad=True) for z in (x, w, b)]
    y = F.layer_norm(*leaves, axes=(1,), eps=0.1)
    y.backward(tl.tensor(dy))
    wide, dwide = x.astype(np.float64), dy.astype(np.float64)
    factor = 1 / np.sqrt(wide.var(axis=1, keepdims=True) + 0.1)
    u = (wide - wide.mean(axis=1, keepdims=True)) * factor
    g = dwide * w
    dx = factor * (g - g.mean(1, keepdims=True) - u * (g * u).mean(1, keepdims=True))
    wanted = [u * w + b, dx, (dwide * u).sum(1, keepdims=True), dwide.sum(1, keepdims=True)]
    for found, by in zip([y.detach(), *(leaf.grad for leaf in leaves)], wanted, strict=True):
        np.testing.assert_allclose(np.asarray(found), by, 2e-5, 2e-5)


@pytest.mark.parametrize("n", [3, 10, 49])
def test_layouts_do_not_change_a_bit(n: int) -> None:
    x, dy = (drawn(100, n, seed=s, dtype="float32") for s in (2, 3))
    w, b = (drawn(n, seed=s, dtype="float32") for s in (4, 5))
    plain = computed(x, w, b, dy)
    for layout in (np.asfortranarray(x), np.repeat(x, 2, 0)[::2], np.repeat(x, 2, 1)[:, ::2],
                   x[::-1].copy()[::-1]):  # fmt: skip
        y = F.layer_norm(tl.RawTensor(layout), tl.tensor(w), tl.tensor(b))
        np.testing.assert_array_equal(np.asarray(y), np.asarray(plain[0]))


@pytest.mark.parametrize("groups", [1, 2, 5, 10])
@pytest.mark.parametrize("size", [(), (2,), (3,), (7, 7)])
def test_groups_have_weights_of_their_own(groups: int, size: tuple[int, ...]) -> None:
    x, dy = (drawn(3, 10, *size, seed=s, dtype="float32") for s in (2, 3))
    w, b = (1 + drawn(10, seed=s, dtype="float32") for s in (4, 5))
    leaves = [tl.tensor(z, requires_grad=True) for z in (x + 1, w, b)]
    y = F.group_norm(leaves[0], groups, *leaves[1:], eps=0.1)
    y.backward(tl.tensor(dy))
    apart = (x + 1.0).astype(np.float64).reshape(3, groups, -1)
    mean = apart.mean(axis=-1, keepdims=True)
    factor = 1 / np.sqrt(apart.var(axis=-1, keepdims=True) + 0.1)
    u = (apart - mean) * factor
    each = (1, 10, *[1] * len(size))
    g = (dy * w.reshape(each)).astype(np.float64).reshape(apart.shape)
    dx = factor * (g - g.mean(axis=-1, keepdims=True) - u * (g * u).mean(axis=-1, keepdims=True))
    others = (0, *range(2, x.ndim))
    u = u.reshape(x.shape)
    wanted = [u * w.reshape(each) + b.reshape(each), dx.reshape(x.shape), (dy * u).sum(axis=others),
              dy.sum(axis=others)]  # fmt: skip
    for found, by in zip([y.detach(), *(leaf.grad for leaf in leaves)], wanted, strict=True):
        np.testing.assert_allclose(np.asarray(found), by, 2e-5, 2e-5)


def test_a_row_that_is_not_finite_is_alone() -> None:
    x = drawn(40, 10, seed=0, dtype="float32")
    x[3, 4], x[39, 0] = np.nan, np.inf
    w, b = (drawn(10, seed=s, dtype="float32") for s in (4, 5))
    y, dx, *_ = computed(x, w, b, drawn(40, 10, seed=1, dtype="float32"))
    for found in (np.asarray(y), np.asarray(dx)):
        assert np.isnan(found[[3, 39]]).any(axis=1).all()
        assert np.isfinite(np.delete(found, [3, 39], axis=0)).all()


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    def run() -> list[bytes]:
        x, dy = (drawn(9001, 10, seed=s, dtype="float32") for s in (2, 3))
        w, b = (drawn(10, seed=s, dtype="float32") for s in (4, 5))
        return [np.asarray(z).tobytes() for z in computed(x, w, b, dy)]

    found = by_threads(run)
    assert found[0] == found[1] == found[2]

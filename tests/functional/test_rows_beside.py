"""Softmax and norms of rows that lie beside each other in memory: against float64, against the same
rows one behind the other, for any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.threads import by_threads

import tensorlike as tl
import tensorlike.functional as F

Array = np.ndarray[Any, Any]
# Shapes and the axis of a row: few and many elements, rows that fill no vector, more than are taken
# together, alone or between others; none at all.
SHAPES = [
    ((3, 40), 0), ((2, 5, 33), 1), ((2, 33, 32), 1), ((1, 700, 64), 1), ((65, 70), 0),
    ((7, 1100), 0), ((2, 3, 16, 33), 1), ((2, 3, 5, 48), 2), ((130, 520), 0), ((2, 513), 0),
    ((3000, 35), 0), ((1, 64), 0), ((0, 40), 0), ((3, 0, 40), 0), ((5, 4, 0), 1), ((0, 3, 64), 1),
]  # fmt: skip
DTYPES = ["float32", "float64", "float16", "bfloat16"]
NUMBERS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def unit(dtype: str) -> float:
    return NUMBERS.get(dtype) or float(np.finfo(dtype).eps)


def drawn(shape: tuple[int, ...], seed: int, dtype: str) -> Any:
    found = np.random.default_rng(seed).normal(size=shape)
    return F.astype(tl.tensor(found), dtype=dtype)


def wide(x: Any) -> Array:
    return np.asarray(F.astype(x.detach(), dtype="float64")).astype(np.longdouble)


def results(call: Callable[..., Any], *operands: Any, seed: int = 9) -> list[Any]:
    """What is computed, and the gradients of all operands."""
    leaves = [tl.tensor(x, requires_grad=True) for x in operands]
    y = call(*leaves)
    dy = drawn(tuple(y.shape), seed, y.dtype.name)
    y.backward(dy)
    return [y, *(leaf.grad for leaf in leaves)]


def close(found: Any, wanted: Array, dtype: str, times: float = 8) -> None:
    size = abs(wanted).max(initial=1)
    assert abs(wide(found) - wanted).max(initial=0) <= times * unit(dtype) * size


def by_definition(name: str, x: Array, axis: int, dy: Array) -> list[Array]:
    powers = np.exp(x - x.max(axis=axis, keepdims=True, initial=-1e9))
    soft = powers / powers.sum(axis=axis, keepdims=True)
    if name == "softmax":
        return [soft, soft * (dy - (dy * soft).sum(axis=axis, keepdims=True))]
    return [np.log(soft), dy - soft * dy.sum(axis=axis, keepdims=True)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_softmax_is_what_the_definition_gives(
    shape: tuple[int, ...], axis: int, name: str, dtype: str
) -> None:
    x = drawn(shape, 0, dtype)
    dy = drawn(shape, 9, dtype)
    found = results(lambda x: getattr(F, name)(x, axis=axis), x)
    for got, wanted in zip(found, by_definition(name, wide(x), axis, wide(dy)), strict=True):
        close(got, wanted, dtype, 16)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_layouts_differ_by_rounding_alone(shape: tuple[int, ...], axis: int, name: str) -> None:
    x = drawn(shape, 0, "float32")
    function = getattr(F, name)
    behind = function(F.moveaxis(x, axis, -1) + 0.0, axis=-1)
    for layout in (
        lambda z: z,
        lambda z: F.flip(F.flip(z, axis=0) + 0.0, axis=0),
        lambda z: F.repeat(z, 2, axis=-1)[..., ::2],
        lambda z: (z.T + 0.0).T,
    ):
        found = F.moveaxis(function(layout(x), axis=axis), axis, -1)
        close(found, wide(behind), "float32", 4)


def test_rows_with_nan_and_infinities_are_alone() -> None:
    x = np.random.default_rng(0).normal(size=(5, 64)).astype(np.float32)
    x[2, 3], x[1, 7], x[:, 9], x[4, 11] = np.nan, np.inf, -np.inf, -np.inf
    for name in ("softmax", "log_softmax"):
        beside = np.asarray(getattr(F, name)(tl.tensor(x), axis=0))
        behind = np.asarray(getattr(F, name)(tl.tensor(x.T.copy()), axis=1)).T
        np.testing.assert_array_equal(np.isnan(beside), np.isnan(behind))
        np.testing.assert_allclose(beside, behind, 1e-6, 1e-6)
    soft = np.asarray(F.softmax(tl.tensor(x), axis=0))
    assert np.isnan(soft[:, [3, 7, 9]]).any(axis=0).all() and soft[4, 11] == 0
    assert np.isfinite(np.delete(soft, [3, 7, 9], axis=1)).all()


def norm_by_definition(x: Array, w: Array, b: Array, dy: Array, axes: Any, eps: float) -> list[Any]:
    count = np.prod([x.shape[a] for a in axes])
    mean = x.mean(axis=axes, keepdims=True)
    factor = 1 / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + eps)
    u = (x - mean) * factor
    g = dy * w

    def mean_of(z: Array) -> Array:
        return np.asarray(z.sum(axis=axes, keepdims=True) / count)

    return [
        u * w + b, (g - mean_of(g) - u * mean_of(g * u)) * factor,
        (dy * u).sum(axis=axes, keepdims=True), dy.sum(axis=axes, keepdims=True),
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [
    (9, 32), (33, 40), (64, 513), (700, 70), (3000, 33), (5, 1100), (4, 64, 1, 1), (2, 8, 40),
])  # fmt: skip
def test_batch_norms_of_rows_are_what_the_definition_gives(
    shape: tuple[int, ...], dtype: str
) -> None:
    axes = (0, 1) if shape == (2, 8, 40) else (0, *range(2, len(shape)))
    each = tuple(1 if i in axes else n for i, n in enumerate(shape))
    x = F.astype(drawn(shape, 0, "float64") * 3 + 100, dtype=dtype)
    w, b = drawn(each, 1, dtype), drawn(each, 2, dtype)
    found = results(lambda x, w, b: F.batch_norm(x, w, b, axes=axes)[0], x, w, b)
    dy = drawn(shape, 9, dtype)
    wanted = norm_by_definition(wide(x), wide(w), wide(b), wide(dy), axes, 1e-5)
    for got, by in zip(found, wanted, strict=True):
        close(got, by, dtype, 300)  # 100 is 33 times the spread
    _, mean, variance = F.batch_norm(x, w, b, axes=axes)
    close(mean, wide(x).mean(axis=axes, keepdims=True), dtype)
    close(variance, wide(x).var(axis=axes, keepdims=True), dtype, 300)
    plain = F.batch_norm(x, 1.0, 0.0, axes=axes)[0]
    centred = norm_by_definition(wide(x), np.ones(each), np.zeros(each), wide(dy), axes, 1e-5)
    close(plain, centred[0], dtype, 300)


@pytest.mark.parametrize("shape", [(33, 40), (64, 513), (700, 70)])
def test_rms_norms_of_rows_beside_each_other(shape: tuple[int, ...]) -> None:
    x, w = drawn(shape, 0, "float32"), drawn((1, shape[1]), 1, "float32")
    found = results(lambda x, w: F.rms_norm(x, w, axes=0), x, w)
    dy = drawn(shape, 9, "float32")
    turned = tl.tensor(x.T + 0.0, requires_grad=True)
    behind = F.rms_norm(turned, w.T, axes=1)
    behind.backward(dy.T)
    close(found[0], wide(behind).T, "float32")
    close(found[1], wide(turned.grad).T, "float32")


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    def run() -> list[bytes]:
        made: list[Any] = []
        for shape, axis in SHAPES:
            x = drawn(shape, 0, "float32")
            made += results(lambda x, axis=axis: F.softmax(x, axis=axis), x)
            made += results(lambda x, axis=axis: F.log_softmax(x, axis=axis), x)
        x, w = drawn((700, 610), 0, "float32"), drawn((610,), 1, "float32")
        made += results(lambda x, w: F.batch_norm(x, w, 0.0)[0], x, w)
        return [np.asarray(y.detach()).tobytes() for y in made]

    found = by_threads(run)
    assert found[0] == found[1] == found[2]

"""Rows of every length: what goes many at a time agrees with one alone, and with NumPy.

tests/test_isa_levels.py runs some of these at every level of the processor, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

LENGTHS = [*range(1, 36), 47, 48, 63, 64, 65, 127, 255, 511, 512, 513, 530, 1025]
LONGER = [2048, 3100, 4095, 4096, 4200, 6300]
DTYPES = ["bool", "int8", "int32", "uint64", "float16", "float32", "float64", "complex64"]
Array = np.ndarray[Any, Any]


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype == "complex64":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if "int" in dtype:
        return rng.integers(0, 5, shape).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "any", "mean"])
def test_extremes_and_sums_of_many_rows_have_the_bits_of_each_alone(name: str, dtype: str) -> None:
    if (name == "max" and "complex" in dtype) or (name == "mean" and "o" not in dtype[1:4]):
        pytest.skip("not defined")
    call = getattr(F, name)
    for n in LENGTHS + LONGER:
        rows = 71 if n in LENGTHS else 6
        x = tl.tensor(drawn((rows, n + 3), dtype))
        together = np.asarray(call(x[:, :n], axis=1))
        alone = np.stack([np.asarray(call(x[r, :n], axis=0)) for r in range(rows)])
        np.testing.assert_array_equal(together, alone, f"{n} elements")


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "sumsq", "sumabs"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_in_rows_of_any_length_have_the_bits_of_float32(name: str, dtype: str) -> None:
    call = getattr(F, name)
    for n in LENGTHS + LONGER:
        x = tl.tensor(drawn((9, n + 3), "float32", n)).astype(dtype)[:, :n]
        for rows in (x, x.copy(), x[:1]):
            found = call(rows, axis=1)
            wanted = call(rows.astype("float32"), axis=1).astype(dtype)
            assert found.dtype == wanted.dtype
            assert bool(F.all((found == wanted) | ((found != found) & (wanted != wanted)))), n


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64"])
def test_extremes_of_integers_in_rows_are_those_of_numpy(dtype: str) -> None:
    rng = np.random.default_rng(5)
    for n in (1, 7, 8, 9, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 257, 511, 513):
        for rows in (3, 64, 150):
            x = rng.integers(0, 2 if dtype == "bool" else 100, (rows, n + 5)).astype(dtype)
            x[rng.integers(0, rows), rng.integers(0, n)] = x.max()
            for given in (x[:, :n], np.ascontiguousarray(x[:, :n])):
                for name in ("any", "all") if dtype == "bool" else ("max", "min", "all"):
                    found = np.asarray(getattr(F, name)(tl.RawTensor(given), axis=1))
                    np.testing.assert_array_equal(found, getattr(np, name)(given, axis=1))


def test_sums_of_short_rows_are_those_of_numpy() -> None:
    for n in LENGTHS:
        x = drawn((9, 5, n), "float32")
        exact = x.astype(np.float64).sum(axis=2)
        np.testing.assert_allclose(np.asarray(F.sum(tl.tensor(x), axis=2)), exact, 1e-6, 1e-5)
        np.testing.assert_array_equal(np.asarray(F.max(tl.tensor(x), axis=2)), x.max(axis=2))
        turned = tl.tensor(np.ascontiguousarray(x.transpose(0, 2, 1)))
        summed = np.asarray(F.sum(turned, axis=1))
        np.testing.assert_allclose(summed, exact, 1e-6, 1e-5)


def test_rows_of_some_thousand_elements_side_by_side_in_order_and_for_any_number_of_threads() -> (
    None
):
    before = tl.num_threads()
    for n in (513, 1060, 2047, 4095, 4096, 4100, 9000):
        x = drawn((37, n), "float32")
        given = tl.tensor(x)
        found = []
        try:
            for threads in (1, 2, 5):
                tl.set_num_threads(threads)
                found.append(np.asarray(F.sum(given, axis=1)))
        finally:
            tl.set_num_threads(before)
        with tl.engine.mode("lazy"):
            found.append(np.asarray(F.sum(given * 1.0, axis=1)))
        for each in found:
            np.testing.assert_array_equal(each, found[0])
        size = np.abs(x).astype(np.float64).sum(1)
        assert (np.abs(found[0] - x.astype(np.float64).sum(1)) < 1e-6 * size).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_at_any_place_of_a_short_row_is_the_largest(dtype: str) -> None:
    for n in (1, 5, 15, 16, 17, 33, 70, 200):
        x = np.zeros((n, n), dtype)
        np.fill_diagonal(x, np.nan)
        assert np.isnan(np.asarray(F.max(tl.tensor(x), axis=1))).all()
        assert np.isnan(np.asarray(F.min(tl.tensor(x), axis=0))).all()
        assert np.isnan(np.asarray(F.min(tl.tensor(x))))
        other = np.arange(n * n, dtype=dtype).reshape(n, n) % 50
        other[n // 2] = x[n // 2]
        np.testing.assert_array_equal(np.asarray(F.min(tl.tensor(other), axis=1)), other.min(1))
        np.testing.assert_array_equal(np.asarray(F.max(tl.tensor(other), axis=1)), other.max(1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_extremes_of_many_halves_are_those_of_float32(dtype: str) -> None:
    for n in (4095, 4097, 70000, 200001):
        x = tl.tensor(drawn((n,), "float32")).astype(dtype)
        for call in (F.max, F.min):
            assert float(call(x)) == float(call(x.astype("float32")))
        x[n // 2] = np.nan
        assert np.isnan(float(F.max(x)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "uint64"])
@pytest.mark.parametrize("columns", [1, 2, 3, 5, 7, 8, 13, 18, 31, 33, 63, 64])
def test_extremes_of_few_columns_are_those_of_numpy(columns: int, dtype: str) -> None:
    for rows in (9, 127, 300, 1030, 2047):
        x = drawn((rows, columns + 1), dtype)
        x[rows - 1, 0] = x[:, 0].max()
        for given in (x[:, :columns], np.ascontiguousarray(x[:, :columns])):
            seen = tl.RawTensor(given)
            for name in ("any", "all") if dtype == "bool" else ("max", "min", "any"):
                wanted = getattr(np, name)(given, axis=0)
                np.testing.assert_array_equal(np.asarray(getattr(F, name)(seen, axis=0)), wanted)


@pytest.mark.parametrize("columns", [1, 3, 4, 15, 16, 17, 21, 135])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "float64", "complex64"])
def test_columns_of_any_number_are_summed_as_numpy_does(columns: int, dtype: str) -> None:
    for rows in (1, 7, 8, 9, 300):
        x = drawn((rows, columns), dtype)
        wide = x.astype({"f": "float64", "c": "complex128"}.get(x.dtype.kind, "int64"))
        found = np.asarray(F.sum(tl.tensor(x), axis=0))
        np.testing.assert_allclose(found, wide.sum(axis=0), 1e-5, 1e-4)
        if x.dtype.kind in "if":
            np.testing.assert_array_equal(np.asarray(F.max(tl.tensor(x), axis=0)), x.max(axis=0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_and_its_kin_of_rows_of_any_length(dtype: str) -> None:
    close = {"rtol": 1e-5, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-13, "atol": 1e-14}
    for n in LENGTHS:
        for rows in (1, 19):
            x = drawn((rows, n), dtype) * 3
            wide = x.astype(np.float64)
            shifted = wide - wide.max(axis=1, keepdims=True)
            total = np.exp(shifted).sum(axis=1, keepdims=True)
            found = np.asarray(F.log_softmax(tl.tensor(x), axis=1))
            np.testing.assert_allclose(found, shifted - np.log(total), **close)
            found = np.asarray(F.softmax(tl.tensor(x), axis=1))
            np.testing.assert_allclose(found, np.exp(shifted) / total, **close)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_softmax_and_its_kin_of_rows_of_any_length(dtype: str) -> None:
    unit = float(np.finfo(dtype).eps)
    for n in LENGTHS:
        for rows in (1, 19):
            x, dy = drawn((rows, n), dtype) * 3, drawn((rows, n), dtype, 1)
            labels = np.arange(rows) * 5 % n
            labels[rows // 2] = -100
            wide = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
            y = wide / wide.sum(axis=1, keepdims=True)
            total = dy.astype(np.float64).sum(axis=1, keepdims=True)
            is_label = (np.arange(n) == labels[:, None]).astype(np.float64)
            is_kept = labels[:, None] >= 0
            wanted = {
                "softmax": y * (dy - (y * dy).sum(axis=1, keepdims=True)),
                "log_softmax": dy - y * total,
                "cross_entropy": (y - is_label) * is_kept / max(1, is_kept.sum()),
            }
            for name, gradient in wanted.items():
                leaf = tl.tensor(x, requires_grad=True)
                if name != "cross_entropy":
                    getattr(F, name)(leaf, axis=1).backward(tl.tensor(dy))
                elif is_kept.any():
                    F.cross_entropy(leaf, tl.tensor(labels)).backward()
                else:
                    continue
                off = np.abs(np.asarray(leaf.grad) - gradient).max()
                assert off < 40 * unit * max(1.0, np.abs(total).max()), (name, n, rows)


def test_rows_of_infinities_stay_so_however_many_go_together() -> None:
    rows = [[-np.inf, -np.inf], [np.inf, 0], [np.nan, 0], [0, -np.inf], [1e30, -1e30]]
    x = np.array(rows * 7, np.float32)
    found = np.asarray(F.log_softmax(tl.tensor(x), axis=1))
    for r, row in enumerate(x):
        alone = np.asarray(F.log_softmax(tl.tensor(row), axis=0))
        np.testing.assert_array_equal(found[r], alone)
    assert np.isnan(found[:3]).any(axis=1).all()
    np.testing.assert_array_equal(found[3], [0, -np.inf])


def composed(x: Any, weight: Any, bias: Any, axes: tuple[int, ...], eps: float) -> Any:
    d = x - F.mean(x, axis=axes, keepdims=True)
    variance = F.mean(d * d, axis=axes, keepdims=True)
    return d / F.sqrt(variance + eps) * weight + bias


# The shape of x, the axes, the shapes of weight and bias: repeated along some last axes of a row.
NORMS = [
    ((3, 4, 5, 3, 7), (2, 3, 4), (4, 5, 1, 1), (4, 5, 1, 1)),
    ((2, 2, 3, 2, 2), (2, 3, 4), (2, 3, 1, 1), (2, 3, 1, 1)),  # a run is shorter than a vector
    ((2, 6, 40), (1, 2), (6, 1), (2, 6, 1)),
    ((2, 6, 40), (1, 2), (2, 1, 1), (6, 1)),
    ((5, 3, 17), (2, 1), (5, 3, 1), ()),
    ((4, 3, 9), (0, 2), (4, 3, 1), (3, 1)),
    ((2, 1, 3, 33), (2, 3), (2, 1, 3, 1), (3, 1)),
    ((2, 3, 4), (1, 2), (2, 3, 4), (2, 3, 1)),
    ((2, 3, 0), (1, 2), (2, 3, 1), (2, 3, 1)),
    ((0, 3, 9), (1, 2), (3, 1), (3, 1)),
]


@pytest.mark.parametrize(("shape", "axes", "of_weight", "of_bias"), NORMS)
def test_weights_that_repeat_along_the_end_of_a_row_are_those_of_the_body(
    shape: tuple[int, ...], axes: tuple[int, ...], of_weight: Any, of_bias: Any
) -> None:
    arrays = [drawn(s, "float64", seed) for seed, s in enumerate((shape, of_weight, of_bias))]
    cotangent = tl.tensor(drawn(shape, "float64", 9))

    def gradients(norm: Any) -> list[Array]:
        xs = [tl.tensor(a, requires_grad=True) for a in arrays]
        y = norm(*xs)
        F.sum(y * cotangent).backward()
        return [np.asarray(y.detach()), *(np.asarray(x.grad) for x in xs)]

    found = gradients(lambda x, w, b: F.layer_norm(x, w, b, axes=axes, eps=0.1))
    expected = gradients(lambda x, w, b: composed(x, w, b, axes, 0.1))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-10, 1e-10)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 8, 5, 6), (1, 16, 3), (3, 4), (2, 12, 2, 2, 5), (2, 4, 0)])
def test_a_group_norm_is_what_its_words_say(shape: tuple[int, ...], dtype: str) -> None:
    groups = 4 if shape[1] % 4 == 0 else 2
    x, weight, bias = (drawn(s, dtype, i) for i, s in enumerate((shape, shape[1:2], shape[1:2])))
    wide = x.astype(np.float64).reshape(shape[0], groups, -1)
    if wide.shape[2]:
        wide = (wide - wide.mean(2, keepdims=True)) / np.sqrt(wide.var(2, keepdims=True) + 1e-5)
    each = (-1, *[1] * (len(shape) - 2))
    wide = wide.reshape(shape)
    expected = wide * weight.reshape(each) + bias.reshape(each)
    close = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    for layout in (x, np.asfortranarray(x)):
        found = F.group_norm(tl.tensor(layout), groups, tl.tensor(weight), tl.tensor(bias))
        assert found.dtype.name == dtype
        np.testing.assert_allclose(np.asarray(found), expected, close, close)
    found = F.group_norm(tl.tensor(x), groups, tl.tensor(weight))
    np.testing.assert_allclose(np.asarray(found), wide * weight.reshape(each), close, close)
    found = F.group_norm(tl.tensor(x), groups)
    np.testing.assert_allclose(np.asarray(found), wide, close, close)


def test_the_gradient_of_a_group_norm_has_gradients() -> None:
    x, weight = (drawn(s, "float64", i) for i, s in enumerate(((2, 4, 3, 3), (4,))))

    def by_words(x: Any, weight: Any) -> Any:
        each = F.reshape(weight, (2, 2, 1, 1))
        apart = F.reshape(x, (2, 2, 2, 3, 3))
        return F.reshape(composed(apart, each, each, (2, 3, 4), 1e-5), (2, 4, 3, 3))

    def second(norm: Any) -> list[Array]:
        slope = tl.grad(lambda x, w: F.sum(norm(x, w) ** 3), argnums=(0, 1))
        both = tl.grad(lambda x, w: F.sum(slope(x, w)[0] ** 2) + F.sum(slope(x, w)[1] ** 2))
        return [np.asarray(both(tl.tensor(x), tl.tensor(weight)))]

    for ours, theirs in zip(
        second(lambda x, w: F.group_norm(x, 2, w, w)), second(by_words), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, 1e-7, 1e-7)


def test_sums_along_axes_that_do_not_end_a_row_are_refused() -> None:
    ones = tl.tensor(np.ones((2, 3, 4)))
    with pytest.raises(tl.ShapeError, match="the last of axes"):
        F.layer_norm_grad(ones, 1.0, ones, axes=(1, 2), sum_axes=(1,))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_the_first_extreme_of_a_row_wherever_it_stands(dtype: str) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 63, 64, 65, 99, 101, 127, 128, 129, 191, 299, 1023, 1024, 1030, 1087, 2500):
        x = rng.integers(0, 3 if n % 2 else n, (40, n)).astype(dtype)
        if x.dtype.kind == "f":
            x[::3, rng.integers(0, n, 2)] = np.nan
            x[1, -1] = np.nan
            x[4::5, 0] = np.nan
        x[2, -1] = x[2].max() + 1
        for name in ("argmax", "argmin"):
            found = np.asarray(getattr(F, name)(tl.tensor(x), axis=1))
            np.testing.assert_array_equal(found, getattr(np, name)(x, axis=1), f"{name}, {n}")

"""Values and gradients at the ends of a dtype's range: no step overflows where the result does not.

tests/test_isa_levels.py runs these at every level of the processor, too.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, inf, log2, nan
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F = tl.functional


@pytest.mark.parametrize("size", [1e3, 1e9, 1e10, 1e30])
@pytest.mark.parametrize("keys", [3, 40, 700])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_attention_with_huge_scores_picks_the_best_key(size: float, keys: int, dtype: str) -> None:
    rng = np.random.default_rng(keys)
    places = rng.permutation(keys) + 1.0
    key = tl.tensor(np.stack([places, np.ones(keys)], axis=1), dtype=dtype)
    value = tl.tensor(places[:, None], dtype=dtype)
    query = tl.tensor([[size, 0.0], [-size, 0.0], [size / 3, 1.0]], dtype=dtype)
    found = np.asarray(F.attention(query, key, value)).ravel()
    np.testing.assert_allclose(found, [keys, 1.0, keys], rtol=1e-2 if size == 1e3 else 1e-6)
    mask = tl.zeros((3, keys), dtype=dtype)
    masked = np.asarray(F.attention(query, key, value, mask)).ravel()
    np.testing.assert_allclose(masked, found, rtol=1e-5)


@pytest.mark.parametrize("size", [2, 40, 3000])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_logsumexp_of_nan_is_nan_beside_infinities(size: int, axis: int, dtype: str) -> None:
    x = np.zeros((size, 3))
    x[0] = [nan, inf, 1.0]
    x[1] = [inf, nan, inf]
    x[-1, 2] = inf
    x = x if axis == 0 else x.T
    found = np.asarray(F.logsumexp(tl.tensor(x, dtype=dtype), axis=axis))
    np.testing.assert_array_equal(found.astype(float), [nan, nan, inf])


def test_the_gradient_of_logsumexp_is_that_of_the_limit_at_infinity() -> None:
    def slopes(values: list[float]) -> Any:
        return np.asarray(tl.grad(F.logsumexp)(tl.tensor(values)))

    np.testing.assert_array_equal(slopes([inf, 1.0]), [1.0, 0.0])
    np.testing.assert_array_equal(slopes([-inf, 1.0]), [0.0, 1.0])
    np.testing.assert_array_equal(slopes([-inf, -inf]), [0.0, 0.0])
    assert np.isnan(slopes([nan, 1.0])).all()


LENGTHS = [("float16", 300.0), ("float16", 3e-5), ("bfloat16", 1e30), ("float32", 1e30),
           ("float32", 1e-30), ("float32", 1.5e38), ("float32", 1e-38)]  # fmt: skip


@pytest.mark.parametrize(("dtype", "size"), LENGTHS)
def test_lengths_neither_overflow_nor_vanish_where_they_fit(dtype: str, size: float) -> None:
    v = tl.full((1, 4), size, dtype=dtype)
    exact = float(v[0, 0].astype("float64"))
    close = {"rtol": 1e-2 if dtype != "float32" else 1e-5}
    for found in (
        tl.linalg.vector_norm(v, axis=1),
        tl.linalg.norm(v),
        tl.linalg.matrix_norm(v),
        F.pairwise_distance(v, v * 0, eps=0.0),
    ):
        assert found.dtype is v.dtype
        np.testing.assert_allclose(np.asarray(found).astype(float), 2 * exact, **close)
    slope = np.asarray(tl.grad(lambda x: F.sum(tl.linalg.vector_norm(x)))(v)).astype(float)
    np.testing.assert_allclose(slope, np.full((1, 4), 0.5), **close)
    if size > 1e-20:  # else the least length that a vector is taken to have decides
        np.testing.assert_allclose(np.asarray(F.normalize(v, eps=0.0)).astype(float), 0.5, **close)
    if size > 1e-3:
        found = F.cosine_similarity(v, v)
        assert found.dtype is v.dtype
        np.testing.assert_allclose(np.asarray(found).astype(float), 1.0, **close)


def test_a_half_vector_of_zeros_is_normalized_to_zeros() -> None:
    found = F.normalize(tl.zeros((2, 3), dtype="float16"))
    np.testing.assert_array_equal(found, np.zeros((2, 3), np.float16), strict=True)


def test_the_variance_of_equal_numbers_is_0() -> None:
    rng = np.random.default_rng(0)
    for count in (2, 3, 64, 65, 100, 1500, 5000):
        for dtype in ("float32", "float64"):
            for value in [*rng.normal(size=5) * 1e15, 1e15 + 1 / 3, 0.1, 1e30]:
                x = tl.full((count,), float(value), dtype=dtype)
                assert F.var(x).item() == 0
                assert not np.asarray(F.var(F.broadcast_to(x[:, None], (count, 9)), axis=0)).any()


def _nearest(value: float, bits: int) -> float:
    """The number of so many binary digits that is nearest, of two the even one."""
    exact = Fraction(value)
    if exact == 0:
        return 0.0
    exponent = floor(log2(abs(exact)))
    unit = Fraction(2) ** (exponent - bits + 1)
    return float(round(exact / unit) * unit)  # Python rounds halves to even


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "int32"])
def test_conversions_to_bfloat16_round_once(dtype: str) -> None:
    rng = np.random.default_rng(1)
    halfway = rng.integers(128, 256, 400) * 2 + 1
    if dtype == "float64":
        x = halfway * (1 + rng.choice([-1, 0, 1], 400) * 2.0**-45)
    else:
        shift = 20 if dtype == "int32" else 50
        x = (halfway.astype(np.int64) * 2**shift + rng.choice([-1, 0, 1], 400)).astype(dtype)
    want = [_nearest(value, 8) for value in x.tolist()]
    for found in (tl.tensor(x).astype("bfloat16"), tl.tensor(x, dtype="bfloat16"),
                  tl.tensor(np.repeat(x, 2))[::2].astype("bfloat16")):  # fmt: skip
        assert np.asarray(found).astype(float).tolist() == want
    if dtype == "int64":
        assert np.asarray(tl.tensor(-x).astype("bfloat16")).astype(float).tolist() == [
            -value for value in want
        ]


@pytest.mark.parametrize("count", [4, 17, 300, 5000, 200_000])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("descending", [False, True])
def test_a_sort_leaves_zeros_of_both_signs_in_their_order(
    count: int, dtype: str, descending: bool
) -> None:
    rng = np.random.default_rng(count)
    x = rng.choice([0.0, -0.0, 1.0, -1.0, nan], count).astype(dtype)
    found = np.asarray(tl.sort(tl.tensor(x), descending=descending))
    order = np.asarray(tl.argsort(tl.tensor(x), descending=descending))
    np.testing.assert_array_equal(found, x[order])
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(x[order][found == 0]))
    zeros = order[found == 0]
    assert (np.diff(zeros) > 0).all()


def test_each_nan_is_unique() -> None:
    """As the standard has it: NaN equals nothing."""
    values, counts = tl.unique_counts(tl.tensor([nan, 1.0, nan, 1.0]))
    np.testing.assert_array_equal(values, np.array([1.0, nan, nan], np.float32))
    assert counts.tolist() == [2, 1, 1]


def test_a_floor_division_by_infinity_is_a_zero_with_the_sign_of_the_quotient() -> None:
    """The Array API standard's answer; NumPy gives -1 where the signs differ."""
    for dtype in ("float16", "float32", "float64"):
        x1 = np.array([1.0, -1.0, 1.0, -1.0, 0.0, -0.0, 3e4], dtype)
        x2 = np.array([inf, inf, -inf, -inf, inf, inf, -inf], dtype)
        found = np.asarray(tl.floor_divide(tl.tensor(x1), tl.tensor(x2)))
        np.testing.assert_array_equal(found, np.zeros(7))
        np.testing.assert_array_equal(np.signbit(found), np.signbit(x1 / x2))
        np.testing.assert_array_equal(
            tl.floor_divide(
                tl.tensor([inf, -inf, inf], dtype=dtype), tl.tensor([2.0, 2.0, -3.0], dtype=dtype)
            ),
            np.array([inf, -inf, -inf]),
        )


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions_keep_the_signs_of_zeros(dtype: str) -> None:
    for count in (1, 9, 100):
        zero = np.asarray(tl.expm1(tl.tensor(np.zeros(count, dtype))))
        assert not np.signbit(zero.real).any() and not np.signbit(zero.imag).any()
        x = np.full(count, complex(inf, 1.0), dtype)
        for z in (x, x.conj(), -x):
            found, want = np.asarray(tl.tanh(tl.tensor(z))), np.tanh(z)
            np.testing.assert_array_equal(found, want)
            np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(want.imag))


@pytest.mark.parametrize("name", ["asin", "acos", "atanh"])
def test_inverse_functions_are_within_two_units(name: str) -> None:
    """Of float32, over all exponents and mantissas that a coarse walk meets."""
    numpy_name = {"asin": np.arcsin, "acos": np.arccos, "atanh": np.arctanh}[name]
    bits = np.arange(0x30000000, 0x3F800000, 97, dtype=np.uint32)
    x = np.concatenate([bits.view(np.float32), -bits.view(np.float32), np.float32([0.50024486])])
    exact = numpy_name(x.astype(np.float64))
    found = np.asarray(getattr(F, name)(tl.tensor(x))).astype(np.float64)
    units = np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert units.max() < 2.0, (x[units.argmax()], units.max())

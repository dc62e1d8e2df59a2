"""Every declared function in the dtypes that others leave out: small integers, halves, complex.

Small integers wrap as NumPy's do. Halves are computed in float32 and rounded once, so that they
are held, bit by bit, to what float32 gives. Complex numbers are held to NumPy's.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.cases import TESTED_BY_INDEXING, cases_of
from support.declarations import (
    ALL_DTYPES,
    COMPLEX,
    HALVES,
    INTEGERS,
    OPS,
    PROMOTED,
    REDUCTIONS,
    SCALARS,
    Array,
    accepts,
    compute_dtype,
    function_of,
    kind_of,
    name_of,
    result_dtype,
    without_refused,
)
from support.oracle import EXACT, assert_matches, tuple_of

import tensorlike as tl
from tensorlike.opdecl.compiler.model import (
    Category,
    OpEntry,
    ReductionEntry,
    ScalarEntry,
    is_differentiable,
)

SMALL = [dtype for dtype in INTEGERS if dtype not in ("int32", "int64")]
EXTREMES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-8, 6e-5, 65504, 65520, 1e39, -3.7])


def numpy_dtype(dtype: str) -> Any:
    if dtype == "bfloat16":
        return pytest.importorskip("ml_dtypes").bfloat16
    return np.dtype(dtype)


def as_float32(x: tl.Tensor) -> Array:
    return np.asarray(x.astype(tl.float32))


def integers(dtype: str, count: int, seed: int) -> Array:
    """Small ones, and the ends of the range."""
    info = np.iinfo(dtype)
    drawn = np.random.default_rng(seed).integers(max(info.min, -9), 10, count).astype(dtype)
    drawn[:4] = [info.max, info.min, info.max - 1, info.min + 1]
    return np.random.default_rng(seed + 1).permutation(drawn)


def complexes(dtype: str, shape: Any, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape), dtype=dtype)


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_small_integers_wrap_as_those_of_numpy(entry: ScalarEntry, dtype: str) -> None:
    takes = [arg.category is Category.BOOLEAN or accepts(arg.category, dtype) for arg in entry.args]
    if not all(takes) or all(arg.category is Category.BOOLEAN for arg in entry.args):
        pytest.skip("takes no integers")
    inputs = [
        x > 3 if arg.category is Category.BOOLEAN else x
        for i, arg in enumerate(entry.args)
        for x in [integers(dtype, 300, 10 * i)]
    ]
    inputs = without_refused(entry, inputs)
    outputs = tuple_of(function_of(entry)(*map(tl.tensor, inputs)))
    compute = compute_dtype(entry, [x.dtype.name for x in inputs])
    converted = [x if x.dtype == bool else x.astype(compute) for x in inputs]
    assert outputs[0].dtype.name == result_dtype(entry, compute)
    try:
        with np.errstate(all="ignore"):
            assert_matches(entry, outputs, converted)
    except OverflowError as error:
        pytest.skip(f"NumPy refuses a literal of the formula: {error}")


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_halves_are_float32_rounded_once(entry: ScalarEntry, dtype: str) -> None:
    if not all(a.category is Category.BOOLEAN or accepts(a.category, dtype) for a in entry.args):
        pytest.skip("takes no floats")
    rng = np.random.default_rng(3)
    inputs = []
    for arg in entry.args:
        drawn = rng.uniform(0.1, 0.9, 400) if len(entry.args) > 3 else 3 * rng.normal(size=400)
        drawn[: EXTREMES.size] = rng.permutation(EXTREMES)
        is_bool = arg.category is Category.BOOLEAN
        inputs.append(tl.tensor(drawn > 0) if is_bool else tl.tensor(drawn, dtype))
    outputs = function_of(entry)(*inputs)
    wide = function_of(entry)(*(x if x.dtype is tl.bool_ else x.astype(tl.float32) for x in inputs))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wide = wide if isinstance(wide, tuple) else (wide,)
    for output, want in zip(outputs, wide, strict=True):
        rounded = want.astype(output.dtype)
        if output.dtype.kind == "complex":  # no complex number has halves for parts
            np.testing.assert_array_equal(np.asarray(output), np.asarray(want))
            continue
        np.testing.assert_array_equal(as_float32(output), as_float32(rounded))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_complex_numbers_are_those_of_numpy(entry: ScalarEntry, dtype: str) -> None:
    if not all(a.category is Category.BOOLEAN or accepts(a.category, dtype) for a in entry.args):
        pytest.skip("takes no complex numbers")
    inputs = [
        np.random.default_rng(i).random(200) > 0.5
        if arg.category is Category.BOOLEAN
        else complexes(dtype, 200, i)
        for i, arg in enumerate(entry.args)
    ]
    if all(x.dtype == bool for x in inputs):
        pytest.skip("takes no complex numbers")
    outputs = tuple_of(function_of(entry)(*map(tl.tensor, inputs)))
    wide = [x if x.dtype == bool else x.astype(np.complex128) for x in inputs]
    with np.errstate(all="ignore"):
        wanted = tuple_of(EXACT.call(entry.function, *wide))
    tolerance = 3e-5 if dtype == "complex64" else 1e-12
    for output, want in zip(outputs, wanted, strict=True):
        assert output.dtype.name == result_dtype(entry, dtype)
        np.testing.assert_allclose(output, want, tolerance, tolerance)


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("function", ["exp", "log", "sqrt", "sinh", "cosh", "tanh"])
def test_special_complex_values_are_those_of_c(function: str) -> None:
    z = np.array([complex(re, im) for re, im in itertools.product(SPECIAL, repeat=2)])
    with np.errstate(all="ignore"):
        wanted = getattr(np, function)(z)
    found = np.asarray(getattr(tl.functional, function)(tl.tensor(z)))
    for part in ("real", "imag"):
        one, other = getattr(found, part), getattr(wanted, part)
        # C leaves the sign of some zeros and infinities, and which part is NaN, unspecified.
        is_same = (np.abs(one) == np.abs(other)) | np.isclose(one, other, equal_nan=True)
        assert is_same.all(), [
            (function, z[i], found[i], wanted[i]) for i in np.flatnonzero(~is_same)
        ]


def test_promotion_is_symmetric_and_what_operators_do() -> None:
    for a, b in itertools.product(ALL_DTYPES, repeat=2):
        assert PROMOTED[a, b] == PROMOTED[b, a]
        joined = tl.functional.concat(tl.tensor([1], a), tl.tensor([1], b))
        assert joined.dtype.name == PROMOTED[a, b]


def test_promotion_is_associative_but_where_uint64_meets_signed_integers_and_floats() -> None:
    for a, b, c in itertools.product(ALL_DTYPES, repeat=3):
        if PROMOTED[PROMOTED[a, b], c] == PROMOTED[a, PROMOTED[b, c]]:
            continue
        assert "uint64" in (a, b, c)
        assert {x for x in (a, b, c) if x in INTEGERS and x.startswith("int")}


def representatives(dtype: str) -> Array:
    """Values of the dtype, as NumPy has them."""
    kind = kind_of(dtype)
    if kind == 0:
        return np.array([True, False])
    if kind == 1:
        return integers(dtype, 40, 1)
    values = np.concatenate([EXTREMES, np.linspace(-300, 300, 77), np.geomspace(1e-9, 1e9, 50)])
    with np.errstate(all="ignore"):
        if kind == 3:
            return (values[:, None] + 1j * values[None]).ravel().astype(dtype)
        return values.astype(numpy_dtype(dtype))


@pytest.mark.parametrize("source", ALL_DTYPES)
def test_every_pair_of_dtypes_converts_as_in_numpy(source: str) -> None:
    for target in ALL_DTYPES:
        x = representatives(source)
        tensor = tl.tensor(x)
        assert tensor.dtype.name == source
        if kind_of(source) == 3 and kind_of(target) in (1, 2):
            with pytest.raises(tl.DTypeError, match=r"real\(x\)"):
                tensor.astype(target)
            continue
        if kind_of(source) == 2 and kind_of(target) == 1:
            info = np.iinfo(target)  # what does not fit has no value in NumPy either
            wide = np.trunc(x.astype(np.float64))
            x = x[(wide >= float(info.min)) & (wide < float(info.max))]
        with np.errstate(all="ignore"):
            wanted = x.astype(numpy_dtype(target))
        found = np.asarray(tl.tensor(x).astype(target))
        assert found.dtype == wanted.dtype
        as_wide = wanted.dtype if kind_of(target) != 2 else np.float64
        np.testing.assert_array_equal(found.astype(as_wide), wanted.astype(as_wide))


@pytest.mark.parametrize("dtype", [*SMALL, *HALVES, *COMPLEX])
@pytest.mark.parametrize("entry", REDUCTIONS, ids=name_of)
def test_reductions_are_those_of_a_wider_dtype(entry: ReductionEntry, dtype: str) -> None:
    if not accepts(entry.args[0].category, dtype):
        pytest.skip("not taken")
    kind = kind_of(dtype)
    for shape in [(5,), (3, 4), (40, 70)]:
        count = math.prod(shape)
        if kind == 1:
            x = integers(dtype, count, 2).reshape(shape)
            wide = x.astype(np.uint64 if dtype == "uint64" else np.int64)
        else:
            drawn = 1 + complexes("complex128", shape, 3) / 60
            x = (drawn if kind == 3 else drawn.real).astype(numpy_dtype(dtype))
            wide = x.astype(np.complex128 if kind == 3 else np.float64)
        if entry.args[0].category in (Category.FLOATING, Category.REAL_FLOATING) and kind == 1:
            wide = wide.astype(np.float64)
        for axis in (None, 0, -1):
            with np.errstate(all="ignore"):
                wanted = np.asarray(EXACT.call(entry.name, wide, axis=axis, keepdims=False))
            found = np.asarray(function_of(entry)(tl.tensor(x), axis=axis))
            compute = compute_dtype(entry, [dtype])
            assert found.dtype.name == result_dtype(entry, compute)
            if found.dtype.kind in "biu":
                np.testing.assert_array_equal(found, wanted.astype(found.dtype))
                continue
            bound = {"float16": 2e-3, "bfloat16": 1e-2, "complex128": 1e-11}.get(dtype, 1e-4)
            is_complex = found.dtype.kind == "c"
            shown = found if is_complex else found.astype(np.float64)
            np.testing.assert_allclose(shown, wanted, bound, bound)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_matrices_of_every_dtype_multiply(dtype: str) -> None:
    rng = np.random.default_rng(4)
    shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((3, 4), (4, 5)), ((4,), (4, 2)), ((2, 1, 3, 4), (3, 4, 2)), ((40, 33), (33, 50)),
        ((2, 0), (0, 3)),
    ]  # fmt: skip
    for a_shape, b_shape in shapes:
        a, b = (rng.integers(0, 3, shape).astype(np.float64) for shape in (a_shape, b_shape))
        if dtype == "bool":
            a, b = a > 0, b > 0
        elif dtype in COMPLEX:
            a, b = a + 2j * (a - 1), b - 1j * b
        wanted = np.matmul(a, b) if dtype != "bool" else np.matmul(a.astype(int), b.astype(int))
        found = tl.tensor(a, dtype) @ tl.tensor(b, dtype)
        assert found.dtype.name == ("int64" if dtype == "bool" else dtype)
        same = found.astype(tl.complex128 if dtype in COMPLEX else tl.float64)
        np.testing.assert_array_equal(np.asarray(same), wanted)  # small integers are exact
    if dtype in COMPLEX:
        x = complexes(dtype, (6, 5), 5)
        product = np.asarray(tl.tensor(x).T @ tl.tensor(x))
        np.testing.assert_allclose(product, x.T @ x, 1e-5, 1e-5)


LAYOUT = [e for e in OPS if e.stem == "layout" and e.function not in TESTED_BY_INDEXING and e.args]


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("entry", LAYOUT, ids=name_of)
def test_layout_ops_move_elements_of_every_dtype(entry: OpEntry, dtype: str) -> None:
    for case in cases_of(entry, "float64"):
        if "dtype" in case.attrs:
            continue
        changed, wide = [], []
        for i, x in enumerate(case.inputs):
            arg = entry.args[min(i, len(entry.args) - 1)]
            if arg.category.rank < 2:
                changed.append(tl.tensor(x))
                wide.append(tl.tensor(x))
                continue
            if not accepts(arg.category, dtype):
                pytest.skip("not taken")
            small = np.arange(x.size).reshape(x.shape) % (2 if dtype == "bool" else 50)
            changed.append(tl.tensor(small, dtype))
            wide.append(tl.tensor(small, "float64"))
        outputs = function_of(entry)(*changed, **case.attrs)
        wanted = function_of(entry)(*wide, **case.attrs)
        pairs = (
            zip(outputs, wanted, strict=True) if isinstance(outputs, tuple) else [(outputs, wanted)]
        )
        for output, want in pairs:
            if want.dtype is tl.float64:
                assert output.dtype.name == dtype
            if dtype == "bool":
                want = want.astype(tl.bool_)
            same = np.asarray(output.astype(tl.complex128))
            np.testing.assert_array_equal(same, np.asarray(want))


SMOOTH = [
    e
    for e in SCALARS
    if len(e.args) <= 2
    and is_differentiable(e)
    and all(a.category.rank >= 2 for a in e.args)
    and e.args[0].name not in e.unknown_slopes
]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("entry", SMOOTH, ids=name_of)
def test_gradients_of_halves_are_halves(entry: ScalarEntry, dtype: str) -> None:
    rng = np.random.default_rng(6)
    rough = [tl.tensor(rng.uniform(0.3, 0.8, 30), dtype) for _ in entry.args]
    gradient = tl.grad(lambda *xs: tl.functional.real(function_of(entry)(*xs)).sum())
    found, wanted = gradient(*rough), gradient(*(x.astype(tl.float32) for x in rough))
    assert found.dtype.name == dtype
    bound = 0.02 if dtype == "float16" else 0.1
    np.testing.assert_allclose(as_float32(found), np.asarray(wanted), bound, bound)

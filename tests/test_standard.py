"""The Array API standard, name by name: array-api-strict says what there is and what it gives."""

from __future__ import annotations

import inspect
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import tensorlike as tl

OTHER = {"Device", "ArrayAPIStrictFlags", "fft", "linalg"}
NAMES = sorted(
    name for name in strict.__all__ if name not in OTHER and "array_api_strict_flags" not in name
)
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(strict, name))]
BINARY = [
    name
    for name in FUNCTIONS
    if list(inspect.signature(getattr(strict, name)).parameters) == ["x1", "x2"]
    and name not in ("matmul", "searchsorted")
]
UNARY = [
    name
    for name in FUNCTIONS
    if list(inspect.signature(getattr(strict, name)).parameters) == ["x"]
    and not name.startswith("unique")
    and name not in ("nonzero", "matrix_transpose")
]
DTYPES = strict.__array_namespace_info__().dtypes()


def test_every_name_is_there() -> None:
    assert [name for name in NAMES if not hasattr(tl, name)] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_are_called_as_the_standard_calls_them(name: str) -> None:
    wanted = inspect.signature(getattr(strict, name)).parameters.values()
    found = inspect.signature(getattr(tl, name)).parameters
    for parameter in wanted:
        if parameter.kind is parameter.VAR_POSITIONAL:
            assert any(one.kind is one.VAR_POSITIONAL for one in found.values())
        elif parameter.kind is not parameter.POSITIONAL_ONLY:
            assert parameter.name in found, parameter.name
            is_open = parameter.default is parameter.empty or name in ("astype", "from_dlpack")
            assert is_open or parameter.default == found[parameter.name].default, parameter.name
    positional = [p for p in wanted if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    taken = [p for p in found.values() if p.kind is not p.KEYWORD_ONLY]
    assert len(taken) >= len(positional) or any(p.kind is p.VAR_POSITIONAL for p in taken)


def values_of(dtype: Any, seed: int) -> np.ndarray[Any, Any]:
    """Special values and random ones, the same number for every dtype."""
    random = np.random.default_rng(seed)
    name = str(dtype).rpartition(".")[2]
    if name == "bool":
        return random.integers(0, 2, 40).astype(bool)
    kind = np.dtype(name)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        special = [0, 1, limits.max, limits.min, limits.max - 1, 2]
        small = random.integers(max(limits.min, -9), 10, 34)
        return random.permutation(np.concatenate([np.array(special, kind), small.astype(kind)]))
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.0, 1e-30, 3e5]
    if kind.kind == "c":
        real, imag = (random.uniform(-2, 2, 40).astype(kind) for _ in range(2))
        return real + 1j * imag
    return random.permutation(np.concatenate([special, random.normal(0, 3, 28)])).astype(kind)


def assert_as_strict(name: str, *arrays: np.ndarray[Any, Any]) -> None:
    """The same error or the same values as the strict namespace; the same dtype where it is set."""
    with np.errstate(all="ignore"):
        try:
            wanted = getattr(strict, name)(*(strict.asarray(x) for x in arrays))
        except (TypeError, ValueError):
            return  # the standard leaves it open
        except OverflowError:
            return
    found = getattr(tl, name)(*(tl.asarray(x) for x in arrays))
    expected = np.asarray(wanted._array)
    if expected.dtype.kind in "fc" and not all(x.dtype.kind in "fc" for x in arrays):
        pass  # a floating-point function of integers: open
    else:
        assert found.dtype.name == expected.dtype.name
    tolerance = 2e-5 if expected.dtype.name in ("float32", "complex64") else 1e-11
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance * 1e-2)
    if expected.dtype.kind == "f":
        nonzero = expected == 0
        np.testing.assert_array_equal(
            np.signbit(found.numpy())[nonzero], np.signbit(expected)[nonzero]
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name: str, dtype: str) -> None:
    assert_as_strict(name, values_of(dtype, 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors(name: str, dtype: str) -> None:
    x1, x2 = values_of(dtype, 1), values_of(dtype, 2)
    if "shift" in name and x1.dtype.kind in "iu":
        x2 = np.abs(x2) % 7
    if name == "pow" and x1.dtype.kind == "i":
        x2 = np.abs(x2) % 4
    if name in ("floor_divide", "remainder") and x1.dtype.kind in "iu":
        x2 = np.where(x2 == 0, x2.dtype.type(1), x2)
    if name == "floor_divide" and x1.dtype.kind == "f":  # NumPy has NaN where the standard says inf
        x1 = np.where(np.isinf(x1), x1.dtype.type(3), x1)
    assert_as_strict(name, x1, x2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wanted", ["int8", "int64", "uint64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_sums_are_made_in_the_dtype_that_is_asked_for(name: str, wanted: str, dtype: str) -> None:
    x = np.resize(values_of(dtype, 3), (4, 10))
    x = np.where(np.isfinite(x), x, x.dtype.type(1)) if x.dtype.kind in "fc" else x
    if x.dtype.kind == "c" and wanted != "complex128":
        with pytest.raises(tl.DTypeError, match="a complex number has no"):
            getattr(tl, name)(tl.asarray(x), dtype=wanted)
        return
    if x.dtype.kind == "f" and wanted in ("int8", "uint64"):
        x = np.abs(x) % 8  # what does not fit an integer is no one value
    found = getattr(tl, name)(tl.asarray(x), axis=1, dtype=wanted)
    assert found.dtype.name == wanted
    with np.errstate(all="ignore"):
        converted = x.astype(wanted)
        exact = getattr(np, name)(converted, axis=1, dtype=wanted)
    size = np.abs(converted.astype("complex128")).sum(axis=1) if name == "sum" else np.abs(exact)
    for got, right, around in zip(found.numpy(), exact, size, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5 * min(float(around), 1e30))


def test_the_namespace_says_what_it_can_do() -> None:
    x = tl.asarray([[1.0, 2.0]])
    assert x.__array_namespace__(api_version="2025.12") is tl
    with pytest.raises(ValueError, match=r"no version '2019\.12'"):
        x.__array_namespace__(api_version="2019.12")
    info = tl.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"]
    assert info.default_dtypes(device="cpu")["indexing"] is tl.int64
    assert set(info.dtypes(kind=("bool", "integral"))) <= set(info.dtypes())
    assert x.to_device(x.device).device == info.default_device()
    assert x.mT.shape == (2, 1)


@pytest.mark.parametrize("dtype", ["int64", "float32", "complex64", "bool"])
def test_what_is_unique_has_names(dtype: str) -> None:
    x = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    if dtype == "complex64":
        x = x + 1j * np.array([[1, 0, 1], [2, 0, 1]]).astype("float32")
    wanted = strict.unique_all(strict.asarray(x))
    found = tl.unique_all(tl.asarray(x))
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    for name in found._fields:
        np.testing.assert_array_equal(
            np.asarray(getattr(found, name)), np.asarray(getattr(wanted, name))
        )
    assert tl.unique_counts(tl.asarray(x)).counts.tolist() == found.counts.tolist()
    inverse = tl.unique_inverse(tl.asarray(x)).inverse_indices
    assert inverse.tolist() == found.inverse_indices.tolist()
    assert tl.unique_values(tl.asarray(x)).tolist() == found.values.tolist()


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_running_sums_and_products_of_complex_numbers(name: str, dtype: str) -> None:
    random = np.random.default_rng(5)
    for shape, axis in (((1000,), None), ((3, 40, 5), 1), ((70000,), 0)):
        x = np.exp(1j * random.normal(size=shape)).astype(dtype)
        found = np.asarray(getattr(tl, name)(tl.asarray(x), axis=axis))
        wanted = getattr(np, name)(x.astype("complex128"), axis=axis)
        assert found.dtype == x.dtype
        scale = np.abs(wanted).max()
        limit = 1e-3 if dtype == "complex64" and x.size > 10000 else 1e-4
        np.testing.assert_allclose(found / scale, wanted / scale, atol=limit)

"""The Array API standard's extensions `linalg` and `fft`: names, parameters, results by name, and
values, as array-api-strict has them, over shapes, dtypes and arguments that hypothesis draws."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import tensorlike as tl

Array = np.ndarray[Any, Any]
REAL = ("float32", "float64")
FLOATING = (*REAL, "complex64", "complex128")
NUMERIC = ("int32", "int64", "uint8", *FLOATING)
# The strict namespace does without the two that came with 2025.12.
LINALG = sorted({*strict.linalg.__all__, "eig", "eigvals"})
FFT = sorted(strict.fft.__all__)
FIELDS = {
    "eig": ("eigenvalues", "eigenvectors"),
    "eigh": ("eigenvalues", "eigenvectors"),
    "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"),
    "svd": ("U", "S", "Vh"),
}
drawn = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
batches = st.lists(st.integers(0, 3), max_size=2).map(tuple)
sizes = st.integers(0, 5)
orders = st.sampled_from([0, 1, -1, 2, -2, 3, 0.5, -0.5, math.inf, -math.inf])


def values(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0 if dtype[0] == "u" else -4, 5, shape).astype(dtype)
    x = rng.normal(size=shape)
    return np.asarray(x + 1j * rng.normal(size=shape) if "complex" in dtype else x).astype(dtype)


def adjoint(x: Array) -> Array:
    return np.asarray(np.conj(np.swapaxes(x, -1, -2)))


@st.composite
def matrices(draw: Any, dtypes: tuple[str, ...] = FLOATING) -> Array:
    shape = (*draw(batches), draw(sizes), draw(sizes))
    return values(shape, draw(st.sampled_from(dtypes)), draw(st.integers(0, 99)))


@st.composite
def square(draw: Any, dtypes: tuple[str, ...] = FLOATING) -> Array:
    """Far from singular, so that rounding errors stay small."""
    n = draw(sizes)
    x = values((*draw(batches), n, n), draw(st.sampled_from(dtypes)), draw(st.integers(0, 99)))
    return np.asarray(x + 4 * np.eye(n)).astype(x.dtype)


@st.composite
def positive(draw: Any) -> Array:
    """Hermitian, and positive definite."""
    x = draw(square())
    return np.asarray(x @ adjoint(x) + np.eye(x.shape[-1])).astype(x.dtype)


def assert_same(found: Any, wanted: Any) -> None:
    """The same shape and dtype, and the same values up to rounding errors."""
    expected = np.asarray(getattr(wanted, "_array", wanted))
    got = np.asarray(found)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, expected)
        return
    bound = 2e-4 if expected.dtype.itemsize == 4 or expected.dtype == "complex64" else 1e-10
    scale = np.abs(np.where(np.isfinite(expected), expected, 0)).max(initial=1.0)
    np.testing.assert_allclose(got, expected, rtol=bound, atol=bound * scale)


def compare(extension: str, name: str, *arrays: Array, **given: Any) -> None:
    """Our result against the strict one; where that is an error, ours may be one of our own."""
    positional = given.pop("positional", ())
    ours, theirs = (getattr(getattr(space, extension), name) for space in (tl, strict))
    try:
        with np.errstate(all="ignore"):
            wanted = theirs(*(strict.asarray(x) for x in arrays), *positional, **given)
    except (ValueError, TypeError, IndexError, np.linalg.LinAlgError):
        try:
            ours(*(tl.asarray(x) for x in arrays), *positional, **given)
        except tl.TensorlikeError as error:
            assert str(error)
        return
    found = ours(*(tl.asarray(x) for x in arrays), *positional, **given)
    if not isinstance(wanted, tuple):
        return assert_same(found, wanted)
    assert found._fields == wanted._fields
    for part, expected in zip(found, wanted, strict=True):
        assert_same(part, expected)


@pytest.mark.parametrize(("extension", "names"), [("linalg", LINALG), ("fft", FFT)])
def test_the_extensions_are_complete(extension: str, names: list[str]) -> None:
    assert len(names) == {"linalg": 25, "fft": 14}[extension]
    space = getattr(tl, extension)
    assert [name for name in names if not callable(getattr(space, name, None))] == []
    assert set(names) <= set(space.__all__)


@pytest.mark.parametrize(
    ("extension", "name"),
    [("linalg", name) for name in strict.linalg.__all__] + [("fft", name) for name in FFT],
)
def test_parameters_are_those_of_the_standard(extension: str, name: str) -> None:
    wanted = inspect.signature(getattr(getattr(strict, extension), name)).parameters
    found = inspect.signature(getattr(getattr(tl, extension), name)).parameters
    positional = [p for p in wanted.values() if p.kind is p.POSITIONAL_ONLY]
    taken = [p for p in found.values() if p.kind is not p.KEYWORD_ONLY]
    assert len(taken) >= len(positional)
    for parameter in wanted.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert found[parameter.name].default == parameter.default, parameter.name


ONE_MATRIX: dict[str, tuple[Any, Any]] = {
    "cholesky": (positive(), st.fixed_dictionaries({}, optional={"upper": st.booleans()})),
    "det": (square(), st.just({})),
    "diagonal": (matrices(NUMERIC),
                 st.fixed_dictionaries({}, optional={"offset": st.integers(-6, 6)})),
    "eigvalsh": (positive(), st.just({})),
    "inv": (square(), st.just({})),
    "matrix_norm": (matrices(), st.fixed_dictionaries({}, optional={
        "keepdims": st.booleans(),
        "ord": st.sampled_from(["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf, None])})),
    "matrix_power": (square(), st.integers(-3, 5).map(lambda n: {"positional": (n,)})),
    "matrix_rank": (matrices(), st.fixed_dictionaries({}, optional={
        "rtol": st.sampled_from([None, 0.0, 0.3, 0.9])})),
    "matrix_transpose": (matrices(NUMERIC), st.just({})),
    "pinv": (matrices(), st.fixed_dictionaries({}, optional={
        "rtol": st.sampled_from([None, 1e-6, 0.2])})),
    "slogdet": (square(), st.just({})),
    "svdvals": (matrices(), st.just({})),
    "trace": (matrices(NUMERIC), st.fixed_dictionaries({}, optional={
        "offset": st.integers(-6, 6)})),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_MATRIX)
def test_functions_of_matrices_have_the_strict_values(name: str) -> None:
    inputs, arguments = ONE_MATRIX[name]

    @drawn
    @given(inputs, arguments)
    def check(x: Array, given: dict[str, Any]) -> None:
        compare("linalg", name, x, **given)

    check()


def rebuilt_qr(x: Array, parts: tuple[Array, ...]) -> Array:
    assert_same(adjoint(parts[0]) @ parts[0], 0 * adjoint(parts[0]) @ parts[0] + identity(parts[0]))
    np.testing.assert_array_equal(parts[1], np.triu(parts[1]))
    return np.asarray(parts[0] @ parts[1])


def identity(x: Array) -> Array:
    return np.eye(x.shape[-1], dtype=x.dtype)


def rebuilt_svd(x: Array, parts: tuple[Array, ...]) -> Array:
    u, s, vh = parts
    for vectors in (u, adjoint(vh)):
        assert_same(adjoint(vectors) @ vectors, 0 * adjoint(vectors) @ vectors + identity(vectors))
    assert (np.diff(s) <= 0).all() and (s >= 0).all()
    k = s.shape[-1]
    return np.asarray((u[..., :k] * s[..., None, :].astype(u.dtype)) @ vh[..., :k, :])


def rebuilt_eigen(x: Array, parts: tuple[Array, ...]) -> Array:
    values, vectors = parts
    left = x.astype(vectors.dtype) @ vectors
    assert_same(left, (vectors * values[..., None, :]).astype(left.dtype))
    lengths = np.linalg.norm(vectors, axis=-2)
    np.testing.assert_allclose(lengths, np.ones_like(lengths), rtol=1e-4)
    return x


FACTORS: dict[str, tuple[Any, Any, Callable[[Array, tuple[Array, ...]], Array]]] = {
    "qr": (matrices(), st.fixed_dictionaries({}, optional={
        "mode": st.sampled_from(["reduced", "complete"])}), rebuilt_qr),
    "svd": (matrices(), st.fixed_dictionaries({}, optional={"full_matrices": st.booleans()}),
            rebuilt_svd),
    "eigh": (positive(), st.just({}), rebuilt_eigen),
    "eig": (square(), st.just({}), rebuilt_eigen),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTORS)
def test_factors_have_the_standards_names_and_shapes_and_multiply_to_the_matrix(name: str) -> None:
    """Factors are not unique: shapes and dtypes are the strict ones, products the matrix."""
    inputs, arguments, rebuild = FACTORS[name]

    @drawn
    @given(inputs, arguments)
    def check(x: Array, given: dict[str, Any]) -> None:
        found = getattr(tl.linalg, name)(tl.asarray(x), **given)
        assert isinstance(found, tuple) and found._fields == FIELDS[name]
        if name == "eig":
            dtype = "complex64" if x.dtype in (np.float32, np.complex64) else "complex128"
            kinds = [(x.shape[:-1], dtype), (x.shape, dtype)]
        else:
            wanted = getattr(strict.linalg, name)(strict.asarray(x), **given)
            kinds = [(np.asarray(y._array).shape, np.asarray(y._array).dtype) for y in wanted]
        assert [(tuple(y.shape), y.dtype.name) for y in found] == kinds
        assert_same(rebuild(x, tuple(np.asarray(y) for y in found)), x)

    check()


@drawn
@given(square())
def test_eigenvalues_are_those_of_numpy_in_some_order(x: Array) -> None:
    found = np.asarray(tl.linalg.eigvals(tl.asarray(x)))
    wanted = np.linalg.eigvals(x).astype(found.dtype)
    assert found.shape == wanted.shape
    count = math.prod(x.shape[:-2])
    left, right = (part.reshape(count, x.shape[-1]) for part in (found, wanted))
    for ours, theirs in zip(left, right, strict=True):
        distances = np.abs(ours[:, None] - theirs)
        bound = 1e-2 if found.dtype == np.complex64 else 1e-6
        assert distances.min(axis=0, initial=bound).max(initial=0.0) <= bound
        np.testing.assert_allclose(ours.sum(), theirs.sum(), rtol=1e-4, atol=1e-4)


@drawn
@given(st.data(), batches, batches, sizes, sizes, sizes)
def test_products_and_solutions_have_the_strict_values(
    data: Any, b1: tuple[int, ...], b2: tuple[int, ...], m: int, k: int, n: int
) -> None:
    first, second = (data.draw(st.sampled_from(NUMERIC)) for _ in range(2))
    seed = data.draw(st.integers(0, 99))
    if (first in FLOATING) == (second in FLOATING):  # else it is undefined
        x1, x2 = values((*b1, m, k), first, seed), values((*b2, k, n), second, seed + 1)
        compare("linalg", "matmul", x1, x2)
        compare("linalg", "matmul", values((k,), first, seed), x2)
        compare("linalg", "matmul", x1, values((k,), second, seed))
        compare("linalg", "outer", values((m,), first, seed), values((n,), second, seed))
        y1, y2 = values((*b1, m, k), first, seed), values((*b2, 1, k), second, seed)
        compare("linalg", "vecdot", y1, y2)
        compare("linalg", "vecdot", y1, np.swapaxes(y2, -1, -2), axis=-2)
        axes = data.draw(st.sampled_from([0, 1, 2, ((-1,), (0,)), ((0, 1), (1, 0))]))
        compare("linalg", "tensordot", values((2, 3), first, seed), values((3, 2), second, seed),
                axes=axes)  # fmt: skip
        for axis in (-1, -2):
            shape = (3, 3) if axis == -2 else (m, 3)
            x1, x2 = values((*b1, *shape), first, seed), values((*b2, *shape), second, seed)
            compare("linalg", "cross", x1, x2, axis=axis)
    first, second = (data.draw(st.sampled_from(FLOATING)) for _ in range(2))
    a = values((*b1, m, m), first, seed) + 4 * np.eye(m, dtype=first)
    compare("linalg", "solve", a, values((*b2, m, n), second, seed))
    compare("linalg", "solve", a, values((m,), second, seed))


@drawn
@given(st.data(), st.lists(sizes, max_size=4).map(tuple), st.sampled_from(FLOATING), orders)
def test_norms_of_vectors_have_the_strict_values(
    data: Any, shape: tuple[int, ...], dtype: str, order: float
) -> None:
    given: dict[str, Any] = {"keepdims": data.draw(st.booleans())}
    if shape:
        axes = data.draw(st.sets(st.integers(0, len(shape) - 1), max_size=len(shape)))
        one = st.integers(-len(shape), len(shape) - 1)
        given["axis"] = data.draw(st.sampled_from([None, data.draw(one), tuple(axes) or None]))
    compare("linalg", "vector_norm", values(shape, dtype, 1), ord=order, **given)
    compare("linalg", "vector_norm", values(shape, dtype, 1), **given)


@drawn
@given(st.data(), matrices(NUMERIC), st.sampled_from(NUMERIC))
def test_traces_are_made_in_the_dtype_that_is_asked_for(data: Any, x: Array, dtype: str) -> None:
    if np.can_cast(x.dtype, dtype, "same_kind"):
        found = tl.linalg.trace(tl.asarray(x), dtype=getattr(tl, dtype))
        wanted = strict.linalg.trace(strict.asarray(x), dtype=getattr(strict, dtype))
        assert_same(found, wanted)


@drawn
@given(matrices(), st.sampled_from([0.0, 0.1, 0.5]))
def test_a_tolerance_may_be_one_for_each_matrix(x: Array, rtol: float) -> None:
    real = np.zeros(0, x.dtype).real.dtype
    bounds = np.full(x.shape[:-2], rtol, real)
    for name in ("matrix_rank", "pinv"):
        call = getattr(tl.linalg, name)
        found = call(tl.asarray(x), rtol=tl.asarray(bounds))
        assert_same(found, np.asarray(call(tl.asarray(x), rtol=rtol)))


FROM_REAL, TO_REAL = ("rfft", "rfftn", "ihfft"), ("irfft", "irfftn", "hfft")


@pytest.mark.parametrize("name", [name for name in FFT if "freq" not in name])
def test_transforms_have_the_strict_values(name: str) -> None:
    @drawn
    @given(st.data(), st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple))
    def check(data: Any, shape: tuple[int, ...]) -> None:
        dtypes = REAL if name in FROM_REAL else ("complex64", "complex128")
        x = values(shape, data.draw(st.sampled_from(dtypes)), data.draw(st.integers(0, 99)))
        given: dict[str, Any] = {}
        axis = st.integers(-len(shape), len(shape) - 1)
        if name.endswith("shift"):
            several = st.sets(st.integers(0, len(shape) - 1), min_size=1).map(tuple)
            given["axes"] = data.draw(st.one_of(st.none(), axis, several))
        else:
            given["norm"] = data.draw(st.sampled_from(["backward", "ortho", "forward"]))
            if name.endswith("n"):
                found = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(tuple))
                given["axes"] = data.draw(st.sampled_from([None, found]))
                if given["axes"] is not None and data.draw(st.booleans()):
                    length = st.integers(1, 9)
                    given["s"] = tuple(data.draw(length) for _ in found)
            else:
                given |= {"axis": data.draw(axis), "n": data.draw(st.one_of(
                    st.none(), st.integers(1, 9)))}  # fmt: skip
        compare("fft", name, x, **given)

    check()


@drawn
@given(st.integers(1, 40), st.floats(0.01, 9.0), st.sampled_from([None, *REAL]))
def test_frequencies_are_the_strict_ones(n: int, d: float, dtype: str | None) -> None:
    for name in ("fftfreq", "rfftfreq"):
        kind = (None, None) if dtype is None else (getattr(tl, dtype), getattr(strict, dtype))
        found = getattr(tl.fft, name)(n, d=d, dtype=kind[0])
        wanted = np.asarray(getattr(strict.fft, name)(n, d=d, dtype=kind[1])._array)
        # The default dtype is ours: float32.
        assert_same(found, wanted.astype(dtype or "float32"))

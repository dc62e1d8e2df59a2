"""Fourier transforms: values against NumPy and the strict namespace, gradients, bad input."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import tensorlike as tl

Array = np.ndarray[Any, Any]
F = tl.functional

ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL_AXES = ("fftn", "ifftn", "rfftn", "irfftn")
FROM_REAL = ("rfft", "rfftn", "ihfft")
TO_REAL = ("irfft", "irfftn", "hfft")
NAMES = sorted(strict.fft.__all__)
NORMS = ("backward", "ortho", "forward")
# One, two, powers, products of small primes, primes small and large (Bluestein's way).
SIZES = (1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 30, 49, 97, 101, 128, 210, 211, 509, 1000, 1009, 2311)


def draw(call: str, shape: tuple[int, ...], wide: bool, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if call not in FROM_REAL:
        return np.asarray(x + 1j * rng.normal(size=shape), "complex128" if wide else "complex64")
    return np.asarray(x, "float64" if wide else "float32")


def assert_close(found: Any, wanted: Array, x: Array) -> None:
    """Errors relative to the whole, as those of a transform are."""
    found = np.asarray(found)
    is_wide = x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1) == 8
    real, complex_ = ("float64", "complex128") if is_wide else ("float32", "complex64")
    assert found.dtype == (complex_ if wanted.dtype.kind == "c" else real)
    assert found.shape == wanted.shape
    scale = np.sqrt(np.mean(np.abs(wanted) ** 2)) if wanted.size else 0.0
    bound = 12 * np.finfo(real).eps * max(float(scale), float(np.finfo(real).tiny))
    assert np.abs(found - wanted).max(initial=0.0) <= bound * 8


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("call", ONE_AXIS)
def test_transforms_of_all_sizes_are_numpys(call: str, wide: bool, norm: Any) -> None:
    for seed, size in enumerate(SIZES):
        if call in ("irfft", "hfft") and size == 1:
            continue
        x = draw(call, (3, size), wide, seed)
        exact = x.astype("complex128" if x.dtype.kind == "c" else "float64")
        found = getattr(tl.fft, call)(tl.tensor(x), norm=norm)
        assert_close(found, getattr(np.fft, call)(exact, norm=norm), x)


@pytest.mark.parametrize("call", ONE_AXIS)
def test_any_axis_of_any_layout_is_cut_and_padded(call: str) -> None:
    rng = np.random.default_rng(1)
    for seed in range(40):
        shape = tuple(int(size) for size in rng.integers(2, 9, rng.integers(1, 4)))
        axis = int(rng.integers(-len(shape), len(shape)))
        n = int(rng.integers(1, 14))
        x = draw(call, shape, True, seed)
        x = np.asfortranarray(x) if seed % 2 else x
        found = getattr(tl.fft, call)(tl.RawTensor(x), n=n, axis=axis)
        assert_close(found, getattr(np.fft, call)(x, n=n, axis=axis), x)


@pytest.mark.parametrize("call", SEVERAL_AXES)
def test_several_axes_are_cut_and_padded(call: str) -> None:
    rng = np.random.default_rng(2)
    for seed in range(40):
        shape = tuple(int(size) for size in rng.integers(2, 9, rng.integers(1, 4)))
        count = int(rng.integers(1, len(shape) + 1))
        axes = tuple(int(axis) for axis in rng.permutation(len(shape))[:count])
        s = tuple(int(size) for size in rng.integers(1, 10, count))
        x = draw(call, shape, True, seed)
        norm: Any = NORMS[seed % 3]
        found = getattr(tl.fft, call)(tl.tensor(x), s=s, axes=axes, norm=norm)
        assert_close(found, getattr(np.fft, call)(x, s=s, axes=axes, norm=norm), x)
        assert_close(getattr(tl.fft, call)(tl.tensor(x)), getattr(np.fft, call)(x), x)


@pytest.mark.parametrize("shape", [(37, 5), (5, 37), (70, 16), (16, 70), (3, 1, 40), (2, 17, 3)])
@pytest.mark.parametrize("wide", [False, True])
def test_lines_in_and_beyond_whole_groups_are_transformed(
    shape: tuple[int, ...], wide: bool
) -> None:
    for call in ONE_AXIS:
        for axis in range(len(shape)):
            if shape[axis] > 1:
                x = draw(call, shape, wide, 3)
                found = getattr(tl.fft, call)(tl.tensor(x), axis=axis)
                assert_close(found, getattr(np.fft, call)(x.astype(x.dtype), axis=axis), x)


def test_threads_do_not_change_values() -> None:
    x = tl.tensor(draw("fft", (67, 1000), False, 4))
    before = tl.num_threads()
    found = []
    for count in (1, 2, 5):
        tl.set_num_threads(count)
        found.append(np.asarray(tl.fft.fftn(x)))
    tl.set_num_threads(before)
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_extension_has_the_standards_names_and_parameters(name: str) -> None:
    assert name in tl.fft.__all__
    wanted = inspect.signature(getattr(strict.fft, name)).parameters
    found = inspect.signature(getattr(tl.fft, name)).parameters
    assert [(p.name, p.kind, p.default) for p in wanted.values()] == [
        (p.name, p.kind, p.default) for p in found.values()
    ]


def test_shifts_and_frequencies_are_numpys() -> None:
    for n in range(1, 12):
        for d in (1.0, 0.1, 3.0):
            for name in ("fftfreq", "rfftfreq"):
                found = getattr(tl.fft, name)(n, d=d, dtype=tl.float64)
                np.testing.assert_allclose(np.asarray(found), getattr(np.fft, name)(n, d))
        x = np.arange(n * 3).reshape(n, 3)
        for axes in (None, 0, (1,), (0, -1)):
            for name in ("fftshift", "ifftshift"):
                found = getattr(tl.fft, name)(tl.tensor(x), axes=axes)
                np.testing.assert_array_equal(np.asarray(found), getattr(np.fft, name)(x, axes))
    assert tl.fft.fftfreq(3).dtype == tl.float32


def test_small_dtypes_are_computed_in_float32() -> None:
    for dtype in (tl.float16, tl.bfloat16, tl.int8, tl.int64, tl.bool_):
        x = tl.astype(tl.tensor([1.0, 0.0, 1.0]), dtype=dtype)
        assert tl.fft.rfft(x).dtype == tl.complex64
        np.testing.assert_allclose(np.asarray(tl.fft.fft(x)), np.fft.fft([1, 0, 1]), atol=1e-6)


def test_empty_batches_and_no_axes() -> None:
    assert tl.fft.fft(tl.zeros((0, 4))).shape == (0, 4)
    assert tl.fft.rfftn(tl.zeros((3, 0, 4)), axes=(0, 2)).shape == (3, 0, 3)
    assert tl.fft.irfft(tl.zeros((2, 3)), n=5).shape == (2, 5)
    x = tl.tensor([1 + 2j, 3.0])
    np.testing.assert_array_equal(np.asarray(tl.fft.fftn(x, axes=())), np.asarray(x))
    assert tl.fft.fftn(tl.tensor(3.0)).tolist() == 3.0


def test_huge_and_special_values_pass_through() -> None:
    x = tl.tensor([np.inf, 1.0, np.nan, 2.0])
    assert not np.isfinite(np.asarray(tl.fft.fft(x))).any()
    big = tl.tensor(np.full(4, 1e300))
    np.testing.assert_allclose(np.asarray(tl.fft.fft(big, norm="forward"))[0], 1e300)


# ---- gradients ----------------------------------------------------------------------------------


def real_loss(call: str, weights: Array, **attrs: Any) -> Callable[[Any], Any]:
    """A real number that depends on the real and the imaginary parts, and is not linear."""

    def loss(x: Any) -> Any:
        y = getattr(tl.fft, call)(x, **attrs)
        if y.dtype in (tl.complex64, tl.complex128):
            parts = F.sin(F.real(y)) * weights.real + F.square(F.imag(y)) * weights.imag
            return F.sum(parts)
        return F.sum(F.sin(y) * weights.real)

    return loss


def carries_complex() -> bool:
    try:
        tl.grad(lambda z: F.sum(F.real(z)))(tl.tensor([1 + 1j]))
    except tl.DTypeError:
        return False
    return True


needs_complex = pytest.mark.skipif(not carries_complex(), reason="complex carries no gradients")
GRADIENT_CASES: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("fft", (5,), {}),
    ("fft", (2, 4), {"axis": 0, "n": 3, "norm": "ortho"}),
    ("ifft", (3, 4), {"n": 6}),
    ("rfft", (5,), {}),
    ("rfft", (2, 6), {"norm": "forward"}),
    ("rfft", (1,), {}),
    ("irfft", (4,), {}),
    ("irfft", (3, 2), {"axis": 0, "n": 5}),
    ("irfft", (2, 1), {"n": 1}),
    ("hfft", (2, 3), {"norm": "ortho"}),
    ("ihfft", (7,), {}),
    ("fftn", (2, 3), {}),
    ("rfftn", (3, 4), {"axes": (1, 0)}),
    ("irfftn", (3, 2, 3), {"s": (4, 5), "axes": (0, 2)}),
]


@needs_complex
@pytest.mark.parametrize("is_real", [True, False])
@pytest.mark.parametrize(("call", "shape", "attrs"), GRADIENT_CASES)
def test_gradients_are_those_of_finite_differences(
    call: str, shape: tuple[int, ...], attrs: dict[str, Any], is_real: bool
) -> None:
    if not is_real and call in FROM_REAL:
        pytest.skip("takes real numbers alone")
    x = draw("fft", shape, True, 5)
    x = x.real.copy() if is_real else x
    size = getattr(tl.fft, call)(tl.tensor(x), **attrs).shape
    loss = real_loss(call, draw("fft", size, True, 6), **attrs)
    gradient = np.asarray(tl.grad(loss)(tl.tensor(x)))
    assert gradient.dtype == x.dtype
    rng = np.random.default_rng(7)
    along = np.asarray(rng.normal(size=shape) + (0 if is_real else 1j * rng.normal(size=shape)))
    step = 1e-6
    ends = [float(np.asarray(loss(tl.tensor(x + sign * step * along)))) for sign in (1, -1)]
    slope = (ends[0] - ends[1]) / (2 * step)
    # A step moves a real function by the real part of the inner product with its gradient.
    np.testing.assert_allclose(np.sum(np.conj(gradient) * along).real, slope, rtol=1e-6, atol=1e-7)


@needs_complex
@pytest.mark.parametrize(("call", "shape", "attrs"), GRADIENT_CASES)
def test_gradients_of_gradients_are_those_of_finite_differences(
    call: str, shape: tuple[int, ...], attrs: dict[str, Any]
) -> None:
    x = draw("fft", shape, True, 8).real.copy()
    size = getattr(tl.fft, call)(tl.tensor(x), **attrs).shape
    first = tl.grad(real_loss(call, draw("fft", size, True, 9), **attrs))
    weights, along = np.random.default_rng(10).normal(size=(2, *shape))
    second = np.asarray(tl.grad(lambda z: F.sum(first(z) * weights))(tl.tensor(x)))
    step = 1e-5
    ends = [
        np.sum(np.asarray(first(tl.tensor(x + sign * step * along))) * weights) for sign in (1, -1)
    ]
    slope = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(np.sum(second * along), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("norm", NORMS)
def test_real_transforms_of_real_numbers_have_gradients(norm: Any) -> None:
    """The op itself, from real numbers to real numbers: complex ones are inside it alone."""
    x = np.random.default_rng(11).normal(size=(3, 4))
    y = np.random.default_rng(12).normal(size=(3, 6))

    def pulled(dy: Any) -> Any:
        return tl.vjp(lambda z: tl.fft.irfft(z, n=6, norm=norm), tl.tensor(x))[1](tl.tensor(dy))

    dx = pulled(y)
    dx = np.asarray(dx[0] if isinstance(dx, tuple) else dx)
    pushed = np.asarray(tl.fft.irfft(tl.tensor(x), n=6, norm=norm))
    np.testing.assert_allclose(np.sum(pushed * y), np.sum(x * dx))


# ---- bad input ----------------------------------------------------------------------------------

BAD: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("complex", lambda: tl.fft.rfft(tl.tensor([1j])), tl.DTypeError, "x must be real"),
    ("axis", lambda: tl.fft.fft(tl.zeros(3), axis=1), tl.IndexRangeError, "fft: axis must be"),
    ("no axis", lambda: tl.fft.fft(tl.tensor(1.0)), tl.IndexRangeError, "zero-dimensional"),
    ("n of 0", lambda: tl.fft.fft(tl.zeros(3), n=0), tl.ShapeError, "at least 1; got 0"),
    ("negative n", lambda: tl.fft.rfft(tl.zeros(3), n=-2), tl.ShapeError, "got -2"),
    ("empty axis", lambda: tl.fft.fft(tl.zeros(0)), tl.ShapeError, "at least 1; got 0"),
    ("half of 0", lambda: tl.fft.irfft(tl.zeros(1)), tl.ShapeError, "at least 1; got 0"),
    ("fraction", lambda: tl.fft.fft(tl.zeros(3), n=2.5), TypeError, "an integer"),  # type: ignore[arg-type]
    ("norm", lambda: tl.fft.fft(tl.zeros(3), norm="no"), tl.ParameterError, "norm must be"),
    ("axes twice", lambda: tl.fft.fftn(tl.zeros((2, 2)), axes=(0, -2)), tl.ShapeError, "differ"),
    ("s and axes", lambda: tl.fft.fftn(tl.zeros((2, 2)), s=(2,), axes=(0, 1)), tl.ShapeError, "s"),
    ("too many s", lambda: tl.fft.fftn(tl.zeros(2), s=(2, 2)), tl.ShapeError, "at most 1"),
    ("real of ()", lambda: tl.fft.rfftn(tl.zeros(2), axes=()), tl.ShapeError, "an axis"),
    ("freq of 0", lambda: tl.fft.fftfreq(0), tl.ShapeError, "at least 1"),
    ("d of 0", lambda: tl.fft.rfftfreq(3, d=0.0), tl.ParameterError, "d must be"),
    ("freq dtype", lambda: tl.fft.fftfreq(3, dtype=tl.int64), tl.DTypeError, "real floating"),
    ("huge n", lambda: tl.fft.fft(tl.zeros(3), n=2**62), tl.TensorlikeError, "."),
    (
        "kind",
        lambda: F.fourier_transform(tl.zeros(3), axes=(0,), kind="c3c"),
        tl.ParameterError,
        "kind must be",
    ),
    (
        "half of the wrong size",
        lambda: F.fourier_transform(tl.zeros(3), axes=(0,), kind="c2r", n=7),
        tl.ShapeError,
        "n // 2 \\+ 1",
    ),
    (
        "scale",
        lambda: F.fourier_transform(tl.zeros(3), axes=(0,), scale=float("nan")),
        tl.ParameterError,
        r"isfinite\(scale\) must hold",
    ),
]


@pytest.mark.parametrize(("what", "run", "error", "text"), BAD, ids=[case[0] for case in BAD])
def test_bad_input_is_refused(
    what: str, run: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        run()

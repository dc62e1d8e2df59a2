"""The formula of every scalar function, printed for devices, against the kernels.

The functions are printed as CUDA C, compiled as C++ and called on special points and random ones;
where nvcc is at hand, it compiles them too, and where there is a device, they run on it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.printed import Array, Printed, PrintedForCuda, has_cuda, write

import tensorlike as tl
from tensorlike.opdecl import load_builtin
from tensorlike.opdecl.compiler.model import ScalarEntry
from tensorlike.opdecl.compiler.scalar_code import (
    REAL_OF,
    WIDER,
    Code,
    ScalarCode,
    all_code,
    dtypes_of,
)

DECLARED = load_builtin()
CODE = ScalarCode(DECLARED)
NATIVE = [e for e in DECLARED.entries if isinstance(e, ScalarEntry) and e.is_native]
NATIVE_CASES = [CODE.code(entry.name, dtype) for entry in NATIVE for dtype in dtypes_of(entry)]
NATIVE_NAMES = {entry.name for entry in NATIVE}
OTHER_CASES = [CODE.code(name, dtype) for name, dtype in CODE.wanted() if name not in NATIVE_NAMES]
RANDOM = 6_000
WRONG = 1e30  # units, where one is NaN or infinite and the other is not

# How many units in the last place a formula may be away from the kernel. Special functions promise
# 4 or more units themselves.
UNITS = 4.0
UNITS_OF: Mapping[str, float] = {
    "erfinv": 8, "ndtri": 8, "trigamma": 8, "gamma_density": 20, "igamma": 20, "igammac": 30,
    "pow-complex128": 100,  # exp(y log(x)), of exponents of 70
}  # fmt: skip
# Where the parts of a result cancel, units are those of the parts.
SIZES: Mapping[str, Callable[..., Array]] = {
    "lgamma": lambda x: np.where(x < 0, 2 + np.abs(x) * np.log1p(np.abs(x)), 0),
    "digamma": lambda x: np.where(x < 0, 2 + np.log1p(np.abs(x)), 0),
    "bessel_j0": lambda x: np.sqrt(2 / (np.pi * np.maximum(np.abs(x), 1))),
    "bessel_j1": lambda x: np.where(
        np.abs(x) > 3, np.sqrt(2 / (np.pi * np.maximum(np.abs(x), 1))), 0
    ),
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    return Printed(tmp_path_factory.mktemp("printed"), all_code(DECLARED))


def special_integers(dtype: str) -> list[int]:
    info = np.iinfo(dtype)
    small = [0, 1, 2, 3, 7, 31, 32, 63, 64, 65]
    signed = [-1, -2, -3, -7, -64] if info.min < 0 else []
    return [*small, *signed, info.max, info.max - 1, info.min, info.min + 1, info.max // 2 + 1]


def special_floats(dtype: str) -> Array:
    info = np.finfo(dtype)
    eps, least = float(info.eps), float(info.smallest_subnormal)
    sizes = [
        0, 1, 0.5, 2, 2.5, 3.5, 0.25, 0.75, 1 + eps, 1 - eps / 2, eps, least, float(info.tiny),
        float(info.max), 1e-5, 1e5, 10, 27, 30, 100, 700, 1000, 1e10, np.pi, np.inf,
    ]  # fmt: skip
    return np.array([*sizes, *(-size for size in sizes), np.nan], dtype)


def random_floats(dtype: str, rng: np.random.Generator) -> Array:
    top = np.log10(float(np.finfo(dtype).max)) - 1
    parts = [
        rng.normal(size=RANDOM) * 3,
        rng.uniform(-1, 1, RANDOM),
        rng.uniform(-60, 60, RANDOM) * rng.choice([1, 10], RANDOM),
        10 ** rng.uniform(-top, top, RANDOM) * rng.choice([-1, 1], RANDOM),
    ]
    return rng.permutation(np.concatenate(parts)).astype(dtype)


def points(dtype: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Special numbers, and random ones."""
    if dtype == "bool":
        return np.array([False, True]), rng.integers(0, 2, 4 * RANDOM).astype(bool)
    if dtype in REAL_OF:
        part = special_floats(REAL_OF[dtype])
        some = part[[0, 1, 2, 3, 5, 11, 13, 24, 25, 26, 27, 28, 38, 49, 50]]
        first, second = (random_floats(REAL_OF[dtype], rng) for _ in range(2))
        return joined(*map(np.ravel, np.meshgrid(some, some)), dtype), joined(first, second, dtype)
    if dtype.startswith("float"):
        return special_floats(dtype), random_floats(dtype, rng)
    info = np.iinfo(dtype)
    wide = rng.integers(info.min, info.max, RANDOM, dtype, endpoint=True)
    small = rng.integers(max(info.min, -20), 20, RANDOM).astype(dtype)
    middle = rng.integers(max(info.min, -100_000), 100_000, 2 * RANDOM).astype(dtype)
    numbers = rng.permutation(np.concatenate([wide, small, middle]))
    return np.array(special_integers(dtype), dtype), numbers


def joined(re: Array, im: Array, dtype: str) -> Array:
    result = np.empty(re.size, dtype)
    result.real, result.imag = re, im
    return result


def inputs(code: Code, seed: int = 1) -> list[Array]:
    """Special numbers with each other, and random ones."""
    rng = np.random.default_rng(seed)
    found = [points(dtype, rng) for dtype in code.args]
    if len(found) > 2:
        return [np.concatenate([rng.choice(s, RANDOM), numbers]) for s, numbers in found]
    crossed = np.meshgrid(*(special for special, _ in found))
    return [np.concatenate([c.ravel(), n]) for c, (_, n) in zip(crossed, found, strict=True)]


def domain(code: Code, args: list[Array]) -> list[Array]:
    """Without what kernels refuse, or leave to the C library: negative powers of integers, and
    complex powers that are far out, whose angles have lost their digits."""
    if code.name == "pow" and code.of in ("int32", "int64"):
        return [args[0], np.abs(args[1] // 2)]
    if code.name == "pow" and code.of in REAL_OF:
        size = np.abs(args[0])
        is_small = (size < 1e3) & ((size > 1e-3) | (size == 0)) & (np.abs(args[1]) < 10)
        return [arg[is_small] for arg in args]
    return args


def called(name: str, code: Code, args: list[Array]) -> tuple[Array, ...]:
    """What the kernel gives."""
    given = [tl.tensor(np.ascontiguousarray(a), d) for a, d in zip(args, code.args, strict=True)]
    found: Any = tl.ops.Elemwise(mode=name)(*given)
    return tuple(np.asarray(one) for one in (found if isinstance(found, tuple) else (found,)))


def expected(code: Code, args: list[Array]) -> Array:
    """What the kernel gives; of a function that goes through a wider dtype, in that one."""
    wider = WIDER.get(code.of, "")
    if (code.name, wider) not in code.calls:
        return called(code.name, code, args)[0]
    wide = CODE.code(code.name, wider)
    with np.errstate(all="ignore"):
        return called(code.name, wide, args)[0].astype(code.results[0].dtype)


def units(got: Array, want: Array, size: Array) -> Array:
    """How far apart real numbers are, in units in the last place; a zero's sign counts."""
    if got.dtype.kind not in "fc":
        return np.where(got == want, 0, WRONG)
    if got.dtype.kind == "c":
        return complex_units(got, want)
    wide, least = np.longdouble, np.finfo(got.dtype).smallest_subnormal
    with np.errstate(all="ignore"):
        unit = np.spacing(np.maximum(np.abs(want), size.astype(want.dtype)))
        unit = np.where(np.isfinite(unit), unit, np.spacing(np.finfo(got.dtype).max))
        away = np.abs(got.astype(wide) - want.astype(wide)) / np.maximum(unit, least)
    away = np.where((got == want) | (np.isnan(got) & np.isnan(want)), 0, away)
    is_wrong = (np.isnan(got) != np.isnan(want)) | (np.isinf(got) != np.isinf(want))
    is_wrong |= (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
    return np.where(is_wrong, WRONG, away)


def complex_units(got: Array, want: Array) -> Array:
    """In units of the larger part. The sign of an infinity beside a NaN is left open."""
    is_wrong = np.zeros(got.shape, bool)
    for one, other, beside in ((got.real, want.real, want.imag), (got.imag, want.imag, want.real)):
        is_wrong |= np.isnan(one) != np.isnan(other)
        is_endless = np.isinf(one) | np.isinf(other)
        is_same = np.where(np.isnan(beside), np.abs(one) == np.abs(other), one == other)
        is_wrong |= is_endless & ~is_same & ~np.isnan(other)
    numbers = [np.where(np.isfinite(z), z, 0) for z in (got.real, got.imag, want.real, want.imag)]
    a, b, c, d = (part.astype(np.longdouble) for part in numbers)
    info = np.finfo(got.dtype)
    unit = np.maximum(np.maximum(np.abs(c), np.abs(d)) * info.eps, info.smallest_subnormal)
    away = np.maximum(np.abs(a - c), np.abs(b - d)) / unit
    return np.where(is_wrong, WRONG, away)


def name_of(code: Code) -> str:
    return f"{code.name}-{code.of}"


@pytest.mark.parametrize("code", NATIVE_CASES, ids=name_of)
def test_a_formula_is_what_the_kernel_gives(code: Code, printed: Printed) -> None:
    check_formula(code, printed, UNITS)


def check_formula(code: Code, printed: Printed, most: float) -> None:
    args = domain(code, inputs(code))
    got, want = printed(code, *args)[0], expected(code, args)
    with np.errstate(all="ignore"):
        size = SIZES[code.name](*args) if code.name in SIZES else np.zeros(args[0].shape)
    away = units(got, want, size)
    worst = int(np.argmax(away))
    told = f"of {[arg[worst] for arg in args]}: {got[worst]}, where the kernel has {want[worst]}"
    most = max(most, UNITS_OF.get(name_of(code), UNITS_OF.get(code.name, 0)))
    assert away[worst] <= most, f"{away[worst]} units {told}"


@pytest.mark.parametrize("code", OTHER_CASES, ids=name_of)
def test_what_has_an_expression_is_printed_from_it(code: Code, printed: Printed) -> None:
    check_expression(code, printed)


def check_expression(code: Code, printed: Printed) -> None:
    """Gradients too. Their own rounding errors may grow, so that usual numbers have to do."""
    rng = np.random.default_rng(2)
    args = [usual(dtype, rng) for dtype in code.args]
    results = printed(code, *args)
    eps = np.finfo(code.of).eps if code.of.startswith(("float", "complex")) else 0
    for got, want in zip(results, called(code.name, code, args), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e4 * eps, atol=2e4 * eps)


def usual(dtype: str, rng: np.random.Generator) -> Array:
    if dtype == "bool" or not dtype.startswith(("float", "complex")):
        return rng.integers(0, 2 if dtype == "bool" else 9, 500).astype(dtype)
    sizes = rng.uniform(0.1, 0.9, 500) * rng.choice([-1, 1, 1], 500)
    return np.array(sizes + (1j * sizes[::-1] if dtype in REAL_OF else 0), dtype)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_nvcc_compiles_all_that_is_printed(tmp_path: Path) -> None:
    write(tmp_path, all_code(DECLARED))
    text = (tmp_path / "run.cpp").read_text().replace("return 0; ", "")
    text = text.replace('extern "C" int', 'extern "C" __global__ void')
    (tmp_path / "run.cu").write_text(text)
    command = ["nvcc", "-std=c++17", "-Werror", "all-warnings", "-ptx", "-o", "run.ptx", "run.cu"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert f"run_{CODE.code('igamma', 'float32').name}" in (tmp_path / "run.ptx").read_text()


@pytest.fixture(scope="module")
def on_cuda(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    if not has_cuda():
        pytest.skip("needs nvcc and a device of NVIDIA's")
    return PrintedForCuda(tmp_path_factory.mktemp("on_cuda"), all_code(DECLARED))


# Primitives are the device's own there: up to 2 units (CUDA C++ Programming Guide, appendix on
# mathematical functions), where the kernels have 1.
UNITS_ON_CUDA = 8.0


@pytest.mark.slow
@pytest.mark.parametrize("code", NATIVE_CASES, ids=name_of)
def test_a_formula_runs_on_a_device(code: Code, on_cuda: Printed) -> None:
    check_formula(code, on_cuda, UNITS_ON_CUDA)


@pytest.mark.slow
@pytest.mark.parametrize("code", OTHER_CASES, ids=name_of)
def test_an_expression_runs_on_a_device(code: Code, on_cuda: Printed) -> None:
    check_expression(code, on_cuda)

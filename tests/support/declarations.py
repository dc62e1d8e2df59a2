"""The declarations as tests see them: the entries, the dtype rules, and inputs drawn to fit.

The rules are stated here once more, as plain tables, so that a test compares two statements.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tensorlike as tl
from tensorlike.opdecl import load_builtin
from tensorlike.opdecl.compiler.model import (
    Category,
    DefinedOp,
    Entry,
    OpEntry,
    ReductionEntry,
    ScalarEntry,
)

Array = npt.NDArray[Any]

DECLARED = load_builtin()
SCALARS = [entry for entry in DECLARED.entries if isinstance(entry, ScalarEntry)]
REDUCTIONS = [entry for entry in DECLARED.entries if isinstance(entry, ReductionEntry)]
OPS = [entry for entry in DECLARED.functions.values() if isinstance(entry, OpEntry)]
BUILT_IN = list(DECLARED.functions)  # beside what tests declare, some of it wrong on purpose
DEFINED = [entry for entry in OPS if isinstance(entry, DefinedOp)]

# Arguments whose slopes are declared to be unknown.
UNKNOWN_SLOPES = frozenset((entry.name, arg) for entry in SCALARS for arg in entry.unknown_slopes)

# The dtypes that most tests run over: the ordinary ones, which kernels compute in.
DTYPES = ("bool", "int32", "int64", "float32", "float64")
FLOATS = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = (*SIGNED, *UNSIGNED)
REAL_FLOATS = (*HALVES, *FLOATS)
ALL_DTYPES = ("bool", *INTEGERS, *REAL_FLOATS, *COMPLEX)

# The promotion of two tensors' dtypes, as digits: rows and columns are in the order of ALL_DTYPES,
# digits are places in that order.
_PROMOTIONS = """
0 1 2 3 4 5 6 7 8 9 a b c d e
1 1 2 3 4 2 3 4 c 9 a b c d e
2 2 2 3 4 2 3 4 c 9 a b c d e
3 3 3 3 4 3 3 4 c 9 a b c d e
4 4 4 4 4 4 4 4 c 9 a b c d e
5 2 2 3 4 5 6 7 8 9 a b c d e
6 3 3 3 4 6 6 7 8 9 a b c d e
7 4 4 4 4 7 7 7 8 9 a b c d e
8 c c c c 8 8 8 8 9 a b c d e
9 9 9 9 9 9 9 9 9 9 b b c d e
a a a a a a a a a b a b c d e
b b b b b b b b b b b b c d e
c c c c c c c c c c c c c e e
d d d d d d d d d d d d e d e
e e e e e e e e e e e e e e e
"""
PROMOTED = {
    (first, second): ALL_DTYPES[int(digit, 16)]
    for first, row in zip(ALL_DTYPES, _PROMOTIONS.split("\n")[1:-1], strict=True)
    for second, digit in zip(ALL_DTYPES, row.split(), strict=True)
}


def name_of(entry: Entry) -> str:
    """What a parametrised test shows."""
    return entry.function


def function_of(entry: Entry) -> Any:
    """The functional call."""
    return getattr(tl.functional, entry.function)


def promoted(dtypes: Sequence[str]) -> str:
    """The joint dtype of several tensors."""
    joint = dtypes[0]
    for dtype in dtypes[1:]:
        joint = PROMOTED[joint, dtype]
    return joint


def kind_of(dtype: str) -> int:
    """Its place in the order of promotion: 0 boolean, 1 integer, 2 floating-point, 3 complex."""
    if dtype in COMPLEX:
        return 3
    return 2 if dtype in REAL_FLOATS else int(dtype in INTEGERS)


def accepts(category: Category, dtype: str) -> bool:
    """Whether a tensor of the dtype may be passed; lower dtypes are promoted into a category."""
    if category is Category.INTEGER:
        return kind_of(dtype) == 1
    return kind_of(dtype) <= category.rank


def compute_dtype(entry: Entry, dtypes: Sequence[str]) -> str:
    """The dtype that a scalar function or a reduction computes in."""
    counted = [
        (arg.category, dtype)
        for arg, dtype in zip(entry.args, dtypes, strict=True)
        if arg.category is not Category.BOOLEAN
    ]
    if not counted:
        return "bool"
    joint = promoted([dtype for _, dtype in counted])
    categories = {category for category, _ in counted}
    if categories & {Category.REAL_FLOATING, Category.FLOATING} and kind_of(joint) < 2:
        return "float32"
    is_scalar = isinstance(entry, ScalarEntry)
    is_numeric = bool(categories & {Category.NUMERIC, Category.REAL_NUMERIC})
    if is_scalar and is_numeric and joint == "bool":
        return "int64"
    return joint


def result_dtype(entry: Entry, compute: str) -> str:
    """The dtype that comes out."""
    if entry.result == "sum":
        if kind_of(compute) >= 2:
            return compute
        return "uint64" if compute in UNSIGNED else "int64"
    if entry.result == "real":
        return {"complex64": "float32", "complex128": "float64"}.get(compute, compute)
    if entry.result == "complex":
        return "complex128" if compute in ("float64", "complex128") else "complex64"
    return compute if entry.result == "same" else entry.result


def draw(category: Category, shape: Sequence[int], dtype: str, rng: np.random.Generator) -> Array:
    """Ordinary values for an argument: of both signs, small ones and larger ones."""
    if not accepts(category, dtype):
        dtype = "bool" if category is Category.BOOLEAN else "int64"
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), dtype=bool)
    if dtype.startswith("int"):
        return np.asarray(rng.integers(-9, 10, shape), dtype=dtype)
    values = np.where(rng.random(shape) < 0.5, rng.normal(size=shape), 8 * rng.normal(size=shape))
    return np.asarray(values, dtype=dtype)


def inputs_of(
    entry: Entry, shapes: Sequence[Sequence[int]], dtype: str, rng: np.random.Generator
) -> list[Array]:
    """An array for each argument of a scalar function or a reduction.

    Functions of many arguments are updates with rates in (0, 1): all their arguments are.
    """
    if len(entry.args) > 3 and dtype in FLOATS:
        return [np.asarray(rng.uniform(0.1, 0.9, shape), dtype=dtype) for shape in shapes]
    return without_refused(entry, [
        draw(arg.category, shape, dtype, rng) for arg, shape in zip(entry.args, shapes, strict=True)
    ])  # fmt: skip


def without_refused(entry: Entry, inputs: list[Array]) -> list[Array]:
    """The inputs, with what an op refuses of elements replaced: integers to a negative power."""
    if entry.name == "pow" and inputs[1].dtype.kind == "i":
        inputs[1] = np.where(inputs[1] < 0, ~inputs[1], inputs[1])
    return inputs


_SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, 1e-3, 10.0]
_EXTREME = [-20.0, 20.0, 87.0, -88.0, 100.0, -100.0, 709.0, -745.0, 1e5, -1e5, 1e-30, -1e-30]


def special_values(dtype: str) -> Array:
    """NaN, infinities, zeros of both signs, denormal numbers, the largest and the smallest."""
    info = np.finfo(dtype)
    edges = [info.max, info.tiny, info.smallest_subnormal, info.tiny * 0.25, info.eps]
    both = [sign * edge for edge in edges for sign in (1, -1)]
    return np.array([*_SPECIAL, *both, *_EXTREME], dtype=dtype)


def special_integers(dtype: str) -> Array:
    """Small ones, shifts around the widths, and the ends of the range."""
    if dtype == "bool":
        return np.array([True, False])
    info = np.iinfo(dtype)
    small = [0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 63, 64, 100, -100]
    return np.array([*small, info.max, info.min, info.max - 1, info.min + 1], dtype=dtype)


def all_combinations(entry: Entry, values: Array) -> list[Array]:
    """Every combination of the values for up to three arguments (of the first 14 for three)."""
    count = len(entry.args)
    if count > 3:
        return [np.roll(values, i) for i in range(count)]
    values = values[:14] if count == 3 else values
    grid = np.array(list(itertools.product(values, repeat=count)), dtype=values.dtype)
    columns = [np.ascontiguousarray(grid[:, i]) for i in range(count)]
    return without_refused(entry, [
        column > 0 if arg.category is Category.BOOLEAN and column.dtype != bool else column
        for arg, column in zip(entry.args, columns, strict=True)
    ])  # fmt: skip

"""One number beside many, and rows and columns beside matrices: the bits of the same call on
operands that are written out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.declarations import SCALARS, accepts, function_of, name_of

import tensorlike as tl
from tensorlike.opdecl.compiler.model import ScalarEntry

F: Any = tl.functional
DTYPES = ["int8", "uint16", "int32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"]
SHAPES: list[tuple[int, ...]] = [
    (0, 3), (3, 0), (1, 1), (2, 63), (3, 64), (5, 65), (7, 100), (1, 1031), (40, 513), (3, 5, 70),
    (2, 3, 1, 66), (20, 1000),
]  # fmt: skip


def of_arguments(count: int, dtype: str) -> list[ScalarEntry]:
    """Functions of so many arguments of this dtype, but those of which few numbers make sense."""
    return [
        entry
        for entry in SCALARS
        if len(entry.args) == count
        and all(accepts(arg.category, dtype) for arg in entry.args)
        and entry.name not in ("pow", "zeta")
    ]


CASES = [(dtype, entry) for dtype in DTYPES for entry in of_arguments(2, dtype)]
TRIPLES = [(dtype, entry) for dtype in DTYPES for entry in of_arguments(3, dtype)]


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> tl.Tensor:
    """Of both signs, and zeros, infinities and NaN among them."""
    rng = np.random.default_rng(seed)
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        ends = rng.choice(np.array([info.min, info.max, 0, 1], dtype), shape)
        some = rng.integers(max(info.min, -100), 100, shape).astype(dtype)
        return tl.tensor(np.where(rng.random(shape) < 0.3, ends, some))
    some = rng.normal(size=shape) * 10
    special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], shape)
    return tl.tensor(np.where(rng.random(shape) < 0.2, special, some)).astype(dtype)


def laid_out(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """A number, a row, a column, and what is one number for each of the first two axes."""
    ones = (1,) * len(shape)
    found = [(), ones, (*ones[:-1], shape[-1]), (*shape[:-1], 1), (shape[0], *ones[1:])]
    return list(dict.fromkeys(found))


def written_out(x: tl.Tensor, shape: tuple[int, ...]) -> tl.Tensor:
    return F.broadcast_to(x, shape).copy()


def seen(results: Any) -> list[np.ndarray]:
    """One NaN is like another."""
    found = []
    for x in results if isinstance(results, tuple) else (results,):
        wide = np.asarray(x.astype("float32") if x.dtype.name == "bfloat16" else x)
        found.append(wide)
        if wide.dtype.kind == "f":
            found.append(np.signbit(wide) & ~np.isnan(wide))
    return found


def assert_same(found: Any, wanted: Any) -> None:
    for a, b in zip(seen(found), seen(wanted), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize(
    ("dtype", "entry"), CASES, ids=[f"{dtype}-{name_of(entry)}" for dtype, entry in CASES]
)
def test_one_number_gives_what_many_of_it_give(dtype: str, entry: ScalarEntry) -> None:
    function = function_of(entry)
    for shape in SHAPES:
        x = numbers(shape, dtype, 1)
        for seed, small in enumerate(laid_out(shape), 2):
            y = numbers(small, dtype, seed)
            many = written_out(y, shape)
            assert_same(function(x, y), function(x, many))
            assert_same(function(y, x), function(many, x))
            for other in laid_out(shape):  # which repeats, too
                z = F.broadcast_to(numbers(other, dtype, seed + 1), shape)
                assert_same(function(y, z), function(many, z.copy()))


@pytest.mark.parametrize(
    ("dtype", "entry"), TRIPLES, ids=[f"{dtype}-{name_of(entry)}" for dtype, entry in TRIPLES]
)
def test_numbers_of_three_arguments_give_what_many_of_them_give(
    dtype: str, entry: ScalarEntry
) -> None:
    function = function_of(entry)
    ways = list(itertools.product((False, True), repeat=3))
    for shape, are_many in itertools.product(SHAPES, ways):
        for small in laid_out(shape):
            drawn = [numbers(shape if many else small, dtype, i) for i, many in enumerate(are_many)]
            wanted = function(*(written_out(x, shape) for x in drawn))
            found = function(*drawn)
            if not any(are_many):
                found = (
                    [written_out(y, shape) for y in found]
                    if isinstance(found, tuple)
                    else (written_out(found, shape))
                )
            assert_same(found, wanted)


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["int64", "float16", "float32"])
def test_chains_of_numbers_rows_and_columns_give_it_too(
    dtype: str, threads: int, mode: str
) -> None:
    def chain(x: tl.Tensor, row: tl.Tensor, column: tl.Tensor, number: tl.Tensor) -> tl.Tensor:
        scaled = F.multiply(F.subtract(x, row), column)
        return F.maximum(F.add(F.multiply(scaled, number), column), F.subtract(number, scaled))

    before = tl.num_threads()
    tl.set_num_threads(threads)
    try:
        for shape in [
            (0, 9),
            (3, 70),
            (70, 513),
            (300, 127),
            (5, 3, 1000),
            (40, 1025),
            (1100, 1030),
        ]:
            x = numbers(shape, dtype, 1)
            *_, columns = shape
            operands = [
                numbers(small, dtype, seed)
                for seed, small in enumerate([(columns,), (*shape[:-1], 1), ()], 2)
            ]
            wanted = chain(x, *(written_out(y, shape) for y in operands))
            with tl.engine.mode(mode):
                assert_same(chain(x, *operands), wanted)
                total = F.sum(chain(x, *operands), axis=0)
            np.testing.assert_array_equal(
                np.asarray(total.astype("float64")),
                np.asarray(F.sum(wanted, axis=0).astype("float64")),
            )
    finally:
        tl.set_num_threads(before)


@pytest.mark.parametrize("view", ["rows", "columns", "reversed", "turned"])
def test_views_beside_numbers_rows_and_columns(view: str) -> None:
    of: dict[str, Any] = {
        "rows": lambda x: x[::2],
        "columns": lambda x: x[:, ::2],
        "reversed": lambda x: x[:, ::-1],
        "turned": lambda x: x.T,
    }
    x = of[view](numbers((200, 220), "float32", 1))
    for small in ((), (1, x.shape[1]), (x.shape[0], 1)):
        y = numbers(small, "float32", 2)
        assert_same(F.subtract(x, y), F.subtract(x.copy(), written_out(y, x.shape)))
        assert_same(F.subtract(y, x), F.subtract(written_out(y, x.shape), x.copy()))

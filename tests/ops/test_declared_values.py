"""Every declared scalar function and op: its values, in every dtype and layout, by the oracle."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from support.cases import TESTED_BY_INDEXING, Case, cases_of
from support.declarations import (
    DTYPES,
    FLOATS,
    OPS,
    SCALARS,
    Array,
    accepts,
    all_combinations,
    compute_dtype,
    function_of,
    inputs_of,
    name_of,
    special_integers,
    special_values,
)
from support.layouts import LAYOUTS
from support.oracle import EXACT, INCOMPLETE, assert_matches, expected, tuple_of

import tensorlike as tl
from tensorlike.opdecl.compiler.model import Category, Entry, OpEntry, ScalarEntry

# Where the Array API standard lets libraries choose between two results.
PERMITTED: dict[str, Callable[..., Array]] = {
    # For tiny a the oracle subtracts from 1.
    "igammac": lambda a, x: np.abs(a) < 1e-3,
    "floor_divide": lambda x1, x2: np.isinf(x1) | np.isinf(x2),
}
# Two zeros of different sign are equal; which one is the smaller is nobody's promise.
TAKES_FLOATS = [e for e in SCALARS if all(accepts(a.category, "float64") for a in e.args)]
IS_DETERMINED = [e for e in TAKES_FLOATS if e.is_native and len(e.args) == 1 and e.result == "same"]
BROADCAST_SHAPES = [(), (1,), (0,), (4,), (3, 1), (1, 4), (2, 3, 1), (2, 0, 3), (2, 3, 4)]


def tensors(inputs: list[Array]) -> list[tl.Tensor]:
    return [tl.tensor(x) for x in inputs]


def in_compute_dtype(entry: Entry, inputs: list[Array]) -> list[Array]:
    """What a function computes with: conditions as they are, the others converted."""
    dtype = compute_dtype(entry, [x.dtype.name for x in inputs])
    return [
        x if arg.category is Category.BOOLEAN else x.astype(dtype)
        for arg, x in zip(entry.args, inputs, strict=True)
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_ordinary_values_are_those_of_the_oracle(entry: ScalarEntry, dtype: str) -> None:
    if not any(accepts(arg.category, dtype) for arg in entry.args):
        pytest.skip("no argument takes this dtype")
    rng = np.random.default_rng(5)
    inputs = inputs_of(entry, [(1500,)] * len(entry.args), dtype, rng)
    outputs = tuple_of(function_of(entry)(*tensors(inputs)))
    assert_matches(entry, outputs, in_compute_dtype(entry, inputs))
    if outputs[0].dtype.kind == "f" and dtype in FLOATS:
        assert np.isfinite(outputs[0]).mean() > 0.02, "the inputs miss the domain"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("entry", TAKES_FLOATS, ids=name_of)
def test_special_values_are_those_of_the_oracle(entry: ScalarEntry, dtype: str) -> None:
    inputs = all_combinations(entry, special_values(dtype))
    permitted = PERMITTED.get(entry.name)
    outputs = tuple_of(function_of(entry)(*tensors(inputs)))
    if entry.result == "complex":  # part by part
        wanted = EXACT.call(entry.name, *inputs)
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(part(np.asarray(outputs[0])), part(wanted))
        return
    with np.errstate(all="ignore"):
        free = permitted(*inputs) if permitted else None
    assert_matches(entry, outputs, inputs, permitted=free)


def random_bits(dtype: str, count: int, seed: int) -> Array:
    """Floats of every exponent, NaN and denormal ones among them."""
    words = np.random.default_rng(seed).integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8)
    return words.view(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "entry",
    [e for e in TAKES_FLOATS if len(e.args) <= 2 and e.result != "complex"],
    ids=name_of,
)
def test_random_bits_give_the_values_of_the_oracle(entry: ScalarEntry, dtype: str) -> None:
    count = 10_000 if entry.name in INCOMPLETE else 300_000  # of those a sum for each element
    inputs = [random_bits(dtype, count, seed) for seed in range(len(entry.args))]
    if len(entry.args) == 2:  # numbers of one size meet, too
        with np.errstate(all="ignore"):
            inputs[1][::2] = inputs[0][::2] * np.linspace(0.1, 9, count // 2, dtype=dtype)
    permitted = PERMITTED.get(entry.name)
    with np.errstate(all="ignore"):
        outputs = tuple_of(function_of(entry)(*tensors(inputs)))
        free = permitted(*inputs) if permitted else None
        assert_matches(entry, outputs, inputs, permitted=free)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("entry", IS_DETERMINED, ids=name_of)
def test_zeros_come_out_with_the_sign_of_the_oracle(entry: ScalarEntry, dtype: str) -> None:
    inputs = all_combinations(entry, special_values(dtype))
    output = np.asarray(function_of(entry)(*tensors(inputs)))
    with np.errstate(all="ignore"):
        wanted = expected(entry, inputs, {})[0].astype(dtype)
    zeros = (output == 0) & (wanted == 0)
    np.testing.assert_array_equal(np.signbit(output[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.parametrize("dtype", ("bool", "int32", "int64"))
@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_integers_wrap_and_division_by_zero_does_not_crash(entry: ScalarEntry, dtype: str) -> None:
    if not any(accepts(arg.category, dtype) for arg in entry.args):
        pytest.skip("no argument takes this dtype")
    inputs = all_combinations(entry, special_integers(dtype))
    inputs = [
        x.astype("int64") if arg.category is Category.INTEGER and dtype == "bool" else x
        for arg, x in zip(entry.args, inputs, strict=True)
    ]
    if entry.args[0].category is Category.BOOLEAN and len(entry.args) < 3:
        inputs = [x.astype(bool) for x in inputs]
    outputs = tuple_of(function_of(entry)(*tensors(inputs)))
    with np.errstate(all="ignore"):
        assert_matches(entry, outputs, in_compute_dtype(entry, inputs))


@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_shapes_broadcast_in_all_pairs(entry: ScalarEntry) -> None:
    rng = np.random.default_rng(7)
    dtype = "float64" if entry in TAKES_FLOATS else "int64"
    for pair in itertools.product(BROADCAST_SHAPES, repeat=2):
        shapes = [pair[i % 2] for i in range(len(entry.args))]
        inputs = inputs_of(entry, shapes, dtype, rng)
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            with pytest.raises(tl.ShapeError, match=f"^{entry.name}: "):
                function_of(entry)(*tensors(inputs))
            continue
        outputs = tuple_of(function_of(entry)(*tensors(inputs)))
        stretched = [np.broadcast_to(x, shape).copy() for x in inputs]
        whole = tuple_of(function_of(entry)(*tensors(stretched)))
        for output, wanted in zip(outputs, whole, strict=True):
            np.testing.assert_array_equal(output, wanted, strict=True)


@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_strides_do_not_change_values(entry: ScalarEntry) -> None:
    rng = np.random.default_rng(8)
    for dtype in FLOATS if entry in TAKES_FLOATS else ("int32", "bool"):
        if not any(accepts(arg.category, dtype) for arg in entry.args):
            continue
        for shape in [(3, 5), (2, 3, 4), (41, 53), (7,)]:
            inputs = inputs_of(entry, [shape] * len(entry.args), dtype, rng)
            for name, layout in LAYOUTS.items():
                views = [layout(x) if i % 2 == 0 else x for i, x in enumerate(inputs)]
                outputs = tuple_of(function_of(entry)(*(tl.RawTensor(x) for x in views)))
                plain = [np.ascontiguousarray(x) for x in views]
                wanted = tuple_of(function_of(entry)(*tensors(plain)))
                for output, want in zip(outputs, wanted, strict=True):
                    np.testing.assert_array_equal(output, want, err_msg=name, strict=True)


@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_tiles_and_threads_do_not_change_values(entry: ScalarEntry) -> None:
    """Around a tile of 1024 elements and beyond the parallel threshold, scalars on either side."""
    rng = np.random.default_rng(9)
    dtype = "float32" if entry in TAKES_FLOATS else "int64"
    count = len(entry.args)
    whole = inputs_of(entry, [(41000,)] * count, dtype, rng)
    pieces = [
        tuple_of(function_of(entry)(*tensors([x[i : i + 500] for x in whole])))
        for i in range(0, 41000, 500)
    ]
    wanted = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
    for size in (1023, 1024, 1025, 2049, 39999, 40001, 41000):
        outputs = tuple_of(function_of(entry)(*tensors([x[:size] for x in whole])))
        for output, want in zip(outputs, wanted, strict=True):
            np.testing.assert_array_equal(output, want[:size], strict=True)
    for scalar in range(count if count > 1 else 0):
        mixed = [x[3] if i == scalar else x for i, x in enumerate(whole)]
        outputs = tuple_of(function_of(entry)(*tensors(mixed)))
        stretched = [np.broadcast_to(x, (41000,)).copy() for x in mixed]
        found = tuple_of(function_of(entry)(*tensors(stretched)))
        for output, want in zip(outputs, found, strict=True):
            np.testing.assert_array_equal(output, want, strict=True)


OP_CASES = [
    case
    for entry in OPS
    if entry.function not in TESTED_BY_INDEXING
    for floating in FLOATS
    for case in cases_of(entry, floating)
]


@pytest.mark.parametrize("entry", OPS, ids=name_of)
def test_every_op_has_a_case(entry: OpEntry) -> None:
    is_tested = entry.function in TESTED_BY_INDEXING or bool(cases_of(entry))
    assert is_tested, f"{entry.name}: give the declaration an example"


@pytest.mark.parametrize("case", OP_CASES, ids=str)
def test_ops_give_the_values_of_the_oracle(case: Case) -> None:
    attrs = {
        name: getattr(value, "name", value) if name == "dtype" else value
        for name, value in case.attrs.items()
    }
    outputs = case.call()
    if case.entry.function == "matmul":
        _assert_product(outputs[0], *case.inputs)
        return
    assert_matches(case.entry, outputs, case.inputs, attrs)


def _assert_product(output: tl.Tensor, a: Array, b: Array) -> None:
    """Each element within the error bound of a dot product."""
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    size = np.matmul(np.abs(a), np.abs(b)).astype(np.float64)
    unit = np.finfo(output.dtype.name).eps if output.dtype.name in FLOATS else 0.0
    bound = 2 * (a.shape[-1] + 1) * unit * size
    assert np.asarray(output).shape == exact.shape
    assert (np.abs(np.asarray(output) - exact) <= bound).all()


@pytest.mark.parametrize(
    "case", [c for c in OP_CASES if c.inputs and all(x.ndim for x in c.inputs)], ids=str
)
def test_strides_do_not_change_what_ops_give(case: Case) -> None:
    wanted = case.call()
    for name, layout in LAYOUTS.items():
        if name == "one_row_repeated":
            continue
        outputs = case.call(lambda x, layout=layout: tl.RawTensor(layout(x)))
        for output, want in zip(outputs, wanted, strict=True):
            if case.entry.function == "matmul":
                _assert_product(output, *case.inputs)
            np.testing.assert_allclose(
                np.asarray(output), np.asarray(want), rtol=1e-5, err_msg=name, strict=True
            )


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (5, 7, 3), (33, 65, 129), (130, 31, 257), (8, 600, 4)]
)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_products_of_many_sizes_are_within_the_error_bound(
    shape: tuple[int, int, int], dtype: str
) -> None:
    rng = np.random.default_rng(11)
    rows, inner, columns = shape
    a = np.asarray(rng.normal(size=(rows, inner)) * 9, dtype=dtype)
    b = np.asarray(rng.normal(size=(inner, columns)) * 9, dtype=dtype)
    for layout in (np.ascontiguousarray, np.asfortranarray):
        product = tl.functional.matmul(tl.RawTensor(layout(a)), tl.RawTensor(layout(b)))
        _assert_product(product, a, b)

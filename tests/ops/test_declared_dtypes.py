"""Every declared function: the dtype that comes out, and what dtypes are refused."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from support.cases import example_case
from support.declarations import (
    ALL_DTYPES,
    FLOATS,
    OPS,
    REDUCTIONS,
    SCALARS,
    accepts,
    compute_dtype,
    function_of,
    kind_of,
    name_of,
    result_dtype,
)

import tensorlike as tl
from tensorlike.imperative.calls import COMPLEX_FORMS
from tensorlike.opdecl.compiler.model import Category, Entry, OpEntry, ReductionEntry, ScalarEntry

FIX = r"; .*(cast|comparison|convert|parts).*\.$"


def ones(shape: tuple[int, ...], dtype: str) -> tl.Tensor:
    return tl.tensor(np.ones(shape), dtype)


def outputs_of(entry: Entry, *args: object, **attrs: object) -> tuple[tl.Tensor, ...]:
    out = function_of(entry)(*args, **attrs)
    return out if isinstance(out, tuple) else (out,)


def refusal(entry: Entry, position: int, dtype: str) -> str:
    arg = entry.args[position]
    is_one = entry.name.lower() == entry.function.replace("_", "").lower()
    name = entry.name if is_one else entry.function
    return rf"^{name}: {arg.name} must be .*{arg.category.text}.*; got {dtype}{FIX}"


def has_complex_form(entry: Entry, *dtypes: str) -> bool:
    """Whether the call is composed of others where the op refuses complex numbers."""
    return entry.function in COMPLEX_FORMS and any(kind_of(dtype) == 3 for dtype in dtypes)


@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_the_result_has_the_promoted_dtype(entry: ScalarEntry) -> None:
    """All dtypes for the first two arguments; the others have that of the last of them."""
    count = len(entry.args)
    for pair in itertools.product(ALL_DTYPES, repeat=min(count, 2)):
        dtypes = [pair[min(i, len(pair) - 1)] for i in range(count)]
        tensors = [ones((2,), dtype) for dtype in dtypes]
        refused = [i for i in range(count) if not accepts(entry.args[i].category, dtypes[i])]
        if refused and has_complex_form(entry, *dtypes):
            continue
        if refused:
            with pytest.raises(tl.DTypeError, match=refusal(entry, refused[0], dtypes[refused[0]])):
                function_of(entry)(*tensors)
            continue
        compute = compute_dtype(entry, dtypes)
        integers = (Category.INTEGER, Category.INTEGER_OR_BOOLEAN)
        if kind_of(compute) > 1 and entry.args[0].category in integers:
            with pytest.raises(tl.DTypeError, match="joint integer dtype; got uint64"):
                function_of(entry)(*tensors)
            continue
        wanted = result_dtype(entry, compute)
        for output in outputs_of(entry, *tensors):
            assert (output.dtype.name, dtypes) == (wanted, dtypes)


@pytest.mark.parametrize("entry", [e for e in SCALARS if len(e.args) > 1], ids=name_of)
def test_a_zero_dimensional_tensor_counts_as_much_as_any(entry: ScalarEntry) -> None:
    for dtypes in itertools.product(("int32", "float32", "float64"), repeat=2):
        kinds = [dtypes[i % 2] for i in range(len(entry.args))]
        kinds = [
            "bool" if arg.category is Category.BOOLEAN else kind
            for arg, kind in zip(entry.args, kinds, strict=True)
        ]
        if not all(accepts(a.category, k) for a, k in zip(entry.args, kinds, strict=True)):
            continue
        shapes = [(2,) if i % 2 else () for i in range(len(kinds))]
        tensors = [ones(shape, kind) for shape, kind in zip(shapes, kinds, strict=True)]
        wanted = result_dtype(entry, compute_dtype(entry, kinds))
        assert outputs_of(entry, *tensors)[0].dtype.name == wanted


@pytest.mark.parametrize("entry", [e for e in SCALARS if len(e.args) > 1], ids=name_of)
def test_python_scalars_do_not_widen(entry: ScalarEntry) -> None:
    """A Python number takes the dtype of the tensors where that holds numbers of its kind."""
    literals = {"bool": True, "int64": 1, "float32": 1.0, "complex64": 1j}
    for dtype, (kind, literal) in itertools.product(ALL_DTYPES, literals.items()):
        for place in range(len(entry.args)):
            args = [literal if i == place else ones((2,), dtype) for i in range(len(entry.args))]
            meant = dtype if kind_of(kind) <= kind_of(dtype) else kind
            if (kind, dtype) == ("complex64", "float64"):
                meant = "complex128"
            kinds = [meant if i == place else dtype for i in range(len(entry.args))]
            if entry.args[place].category is Category.BOOLEAN and kind == "bool":
                kinds[place] = "bool"
            accepted = [accepts(a.category, k) for a, k in zip(entry.args, kinds, strict=True)]
            if not all(accepted):
                continue
            wanted = result_dtype(entry, compute_dtype(entry, kinds))
            assert outputs_of(entry, *args)[0].dtype.name == wanted, (dtype, literal, place)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("entry", REDUCTIONS, ids=name_of)
def test_reductions_have_the_dtype_of_their_declaration(entry: ReductionEntry, dtype: str) -> None:
    x = ones((2, 3), dtype)
    if not accepts(entry.args[0].category, dtype):
        with pytest.raises(tl.DTypeError, match=refusal(entry, 0, dtype)):
            function_of(entry)(x)
        return
    wanted = result_dtype(entry, compute_dtype(entry, [dtype]))
    for attrs in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}):
        assert function_of(entry)(x, **attrs).dtype.name == wanted


WITH_EXAMPLE = [entry for entry in OPS if entry.example and entry.args]


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("entry", WITH_EXAMPLE, ids=name_of)
def test_ops_refuse_what_their_categories_refuse(entry: OpEntry, dtype: str) -> None:
    inputs = list(example_case(entry).inputs)
    attrs = example_case(entry).attrs
    last = len(entry.args) - 1
    for position in range(len(inputs)):
        arg = entry.args[min(position, last)]
        tensors = [tl.tensor(x, dtype if i == position else None) for i, x in enumerate(inputs)]
        if accepts(arg.category, dtype):
            try:
                function_of(entry)(*tensors, **attrs)
            except (
                tl.DTypeError
            ) as error:  # it takes complex numbers, but not where others are real
                assert kind_of(dtype) == 3 and "real(x)" in str(error)
            except tl.MatrixError:  # it takes the dtype, but not these elements in it
                pass
            continue
        if has_complex_form(entry, dtype):
            continue
        with pytest.raises(tl.DTypeError, match=refusal(entry, min(position, last), dtype)):
            function_of(entry)(*tensors, **attrs)


@pytest.mark.parametrize("entry", WITH_EXAMPLE, ids=name_of)
def test_ops_keep_the_width_of_floats(entry: OpEntry) -> None:
    if entry.result != "same" or any(attr.type == "dtype" for attr in entry.attrs):
        pytest.skip("the declaration or the call chooses the dtype")
    if all(accepts(arg.category, "int64") and arg.category.rank < 2 for arg in entry.args):
        pytest.skip("takes no floats")
    for dtype in FLOATS:
        case = example_case(entry, dtype)
        floats = [
            x.astype(dtype) if entry.args[min(i, len(entry.args) - 1)].category.rank >= 2 else x
            for i, x in enumerate(case.inputs)
        ]
        outputs = outputs_of(entry, *(tl.tensor(x) for x in floats), **case.attrs)
        found = [output.dtype.name for output in outputs]  # positions are integers
        assert {name for name in found if name.startswith("float")} <= {dtype}


@pytest.mark.parametrize(
    ("dtype", "literal"),
    [("int32", 2**31), ("int32", -(2**31) - 1), ("int32", 2**200), ("int64", 2**63)],
    ids=["above_int32", "below_int32", "huge", "above_int64"],
)
def test_a_python_integer_must_fit_the_integers_beside_it(dtype: str, literal: int) -> None:
    x = ones((2,), dtype)
    for call in (lambda: x + literal, lambda: literal + x, lambda: tl.functional.add(x, literal)):
        with pytest.raises(OverflowError, match=r"int32|int64"):
            call()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("literal", [2**53 + 1, 2**63, -(2**63), 2**100])
def test_a_python_integer_of_any_size_meets_floats(dtype: str, literal: int) -> None:
    result = tl.functional.add(tl.tensor(np.zeros(2, dtype)), literal)
    assert result.dtype.name == dtype
    assert np.asarray(result).tolist() == [float(np.dtype(dtype).type(literal))] * 2


def test_messages_name_the_argument_the_category_and_the_fix() -> None:
    with pytest.raises(tl.DTypeError) as caught:
        tl.functional.bitwise_left_shift(tl.tensor([1]), tl.tensor([1.5]))
    text = "bitwise_left_shift: x2 must be integer; got float32; cast it: x.astype(int64)."
    assert re.fullmatch(re.escape(text), str(caught.value))

"""Inference against kernels: ops on ShapeTensors promise what ops on RawTensors give."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.cases import TESTED_BY_INDEXING, Case, cases_of
from support.declarations import DTYPES, OPS, REDUCTIONS, SCALARS, function_of, inputs_of, name_of

import tensorlike as tl
from tensorlike.opdecl.compiler.model import Entry, OpEntry, ReductionEntry, ScalarEntry

SHAPES = [(), (1,), (0,), (3, 1), (1, 4), (2, 0, 3), (2, 3, 4), (3, 4)]


def shape_of(x: Any) -> tl.ShapeTensor:
    raw = tl.RawTensor(x)
    return tl.ShapeTensor(raw.shape, raw.dtype)


def outcome(entry: Entry, tensors: list[Any], attrs: dict[str, Any]) -> Any:
    """Shapes and dtypes, or the class and the words of the refusal."""
    try:
        out = function_of(entry)(*tensors, **attrs)
    except tl.TensorlikeError as error:
        return type(error), str(error)
    outputs = out if isinstance(out, tuple) else (out,)
    return [(y.shape, y.dtype.name) for y in outputs]


def assert_infers(entry: Entry, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    promised = outcome(entry, [shape_of(x) for x in inputs], attrs)
    given = outcome(entry, [tl.RawTensor(x) for x in inputs], attrs)
    if isinstance(given, tuple) and " at position " in given[1]:
        # An index in the data is out of range, which shapes do not show.
        assert given[0] is tl.IndexRangeError
        assert isinstance(promised, list)
        return given
    if isinstance(promised, tuple) and "depends on the elements" in promised[1]:
        # Only the kernel comes to know the shape; there is no promise to hold.
        assert promised[0] is tl.ShapeError
        return given
    if isinstance(given, tuple) and "what the mask selects" in given[1]:
        assert given[0] is tl.ShapeError
        assert isinstance(promised, list)
        return given
    if isinstance(given, tuple) and given[0] is tl.MatrixError:  # elements, which shapes don't show
        assert isinstance(promised, list)
        return given
    assert promised == given, (entry.name, [x.shape for x in inputs], attrs)
    return given


@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_scalar_functions_infer_what_they_give(entry: ScalarEntry) -> None:
    rng = np.random.default_rng(1)
    for dtype, pair in itertools.product(DTYPES, itertools.product(SHAPES, repeat=2)):
        if len(entry.args) == 1 and pair[0] != pair[1]:
            continue
        shapes = [pair[i % 2] for i in range(len(entry.args))]
        outcomes = assert_infers(entry, inputs_of(entry, shapes, dtype, rng), {})
        if isinstance(outcomes, list):
            assert {shape for shape, _ in outcomes} == {np.broadcast_shapes(*shapes)}


@pytest.mark.parametrize("entry", REDUCTIONS, ids=name_of)
def test_reductions_infer_what_they_give(entry: ReductionEntry) -> None:
    rng = np.random.default_rng(2)
    axes = [None, (), 0, -1, 1, 2, (0, 1), (0, -1), (0, 0), 5, -(2**63)]
    for dtype, shape, axis in itertools.product(DTYPES, SHAPES, axes):
        inputs = inputs_of(entry, [shape], dtype, rng)
        for keepdims in (False, True):
            assert_infers(entry, inputs, {"axis": axis, "keepdims": keepdims})


@pytest.mark.parametrize("entry", OPS, ids=name_of)
def test_ops_infer_what_they_give(entry: OpEntry) -> None:
    """In every dtype, and with every shape changed a little, which many ops refuse."""
    if entry.function in TESTED_BY_INDEXING or not entry.args:
        pytest.skip("has no inputs, or is tested through the brackets")
    accepted = 0
    for case in cases_of(entry):
        for inputs in [case.inputs, *variations(case)]:
            accepted += isinstance(assert_infers(entry, list(inputs), case.attrs), list)
    assert accepted > 0


def variations(case: Case) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for i, x in enumerate(case.inputs):
        changed = [x.astype(dtype) for dtype in DTYPES]
        changed += [x[None], x[..., None], x.reshape(-1)]
        if x.ndim:
            changed += [x[:0], x[:-1], *x[:1]]
        found += [(*case.inputs[:i], y, *case.inputs[i + 1 :]) for y in changed]
    return found


@pytest.mark.parametrize("function", ["subtensor", "set_subtensor"])
def test_indexing_infers_what_it_gives(function: str) -> None:
    """Each item is four numbers: its kind (integer, slice, None, ellipsis) and three bounds."""
    rng = np.random.default_rng(3)
    x = np.arange(24.0).reshape(2, 3, 4)
    entry = next(e for e in OPS if e.function == function)
    accepted = 0
    for _ in range(300):
        items = [
            int(n)
            for _ in range(rng.integers(0, 4))
            for n in (rng.integers(0, 3), *rng.integers(-5, 6, 3))
        ]
        inputs = [x] if len(entry.args) == 1 else [x, np.asarray(1.0)]
        accepted += isinstance(assert_infers(entry, inputs, {"items": tuple(items)}), list)
    assert accepted > 20


# Ops made of literals: their dtype follows from a number that must be given.
OF_LITERALS = [
    e for e in OPS if not e.args and any(a.type == "scalar" and a.is_required for a in e.attrs)
]


@pytest.mark.parametrize("entry", OF_LITERALS, ids=name_of)
def test_ops_without_inputs_give_the_dtype_of_their_literals(entry: OpEntry) -> None:
    case = cases_of(entry)[0]
    numbers = {attr.name: case.attrs[attr.name] for attr in entry.attrs if attr.type == "scalar"
               and attr.name in case.attrs}  # fmt: skip
    for kind, dtype in ((int, "int64"), (float, "float32")):
        attrs = case.attrs | {name: kind(value) for name, value in numbers.items()}
        assert function_of(entry)(**attrs).dtype.name == dtype
        for chosen in DTYPES[1:]:
            of_this = {"bool": tl.bool_}.get(chosen) or getattr(tl, chosen)
            assert function_of(entry)(**attrs, dtype=of_this).dtype is of_this


@pytest.mark.parametrize("entry", [*SCALARS, *REDUCTIONS], ids=name_of)
def test_a_listing_shows_what_was_inferred(entry: Entry) -> None:
    """A tensor-like that computes nothing meets every function."""
    rng = np.random.default_rng(4)
    dtype = "int64" if entry.args[0].category.rank < 2 else "float32"
    inputs = inputs_of(entry, [(2, 3)] * len(entry.args), dtype, rng)
    listing = tl.Listing()
    symbols = [listing.input(f"x{i}", x.shape, tl.RawTensor(x).dtype) for i, x in enumerate(inputs)]
    out = function_of(entry)(*symbols)
    given = function_of(entry)(*(tl.RawTensor(x) for x in inputs))
    for symbol, y in zip(*(v if isinstance(v, tuple) else (v,) for v in (out, given)), strict=True):
        assert (symbol.shape, symbol.dtype) == (y.shape, y.dtype)
    assert f"mode='{entry.name}'" in listing.lines[-1]

"""Every declared op on tensors without elements: in every place, layout, dtype and mode.

What an op refuses it refuses with an error of ours. What it takes gives, in any layout and mode,
what the contiguous tensors of float64 give.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from support.cases import TESTED_BY_INDEXING, cases_of
from support.declarations import OPS, REDUCTIONS, SCALARS, Array, function_of, name_of

import tensorlike as tl
from tensorlike.opdecl.compiler.model import Entry, OpEntry, ReductionEntry

F = tl.functional
ERRORS = (tl.ShapeError, tl.DTypeError, tl.ParameterError, tl.IndexRangeError, tl.MatrixError)
DTYPES = ("float32", "float16", "int32")
MODES = ("eager", "async", "lazy")


def _plain(x: tl.Tensor) -> tl.Tensor:
    return x


def _transposed(x: tl.Tensor) -> tl.Tensor:
    axes = tuple(reversed(range(x.ndim)))
    return F.permute_dims(tl.tensor(np.asarray(x).T.copy()), axes)


def _reversed(x: tl.Tensor) -> tl.Tensor:
    back = (slice(None, None, -1),) * x.ndim
    return tl.tensor(np.asarray(x)[back].copy())[back]


def _every_second(x: tl.Tensor) -> tl.Tensor:
    wide = np.zeros([2 * size for size in x.shape], dtype=x.dtype.name)
    wide[(slice(None, None, 2),) * x.ndim] = np.asarray(x)
    return tl.tensor(wide)[(slice(None, None, 2),) * x.ndim]


def _repeated(x: tl.Tensor) -> tl.Tensor:
    """One element seen through the whole shape, where there are no elements."""
    return F.broadcast_to(tl.zeros((1,) * x.ndim, dtype=x.dtype), x.shape) if not x.size else x


LAYOUTS: dict[str, Callable[[tl.Tensor], tl.Tensor]] = {
    "plain": _plain,
    "transposed": _transposed,
    "reversed": _reversed,
    "every_second": _every_second,
    "repeated": _repeated,
}


def _shapes_with_zeros(shapes: Sequence[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """The shapes with every size in turn made 0, wherever it stands, and at each single place."""
    for size in sorted({size for shape in shapes for size in shape} - {0}):
        yield [tuple(0 if own == size else own for own in shape) for shape in shapes]
    for i, shape in enumerate(shapes):
        for place in range(len(shape)):
            yield [
                (*own[:place], 0, *own[place + 1 :]) if k == i else own
                for k, own in enumerate(shapes)
            ]


def _cut(array: Array, shape: tuple[int, ...]) -> Array:
    return array[tuple(slice(0, size) for size in shape)]


def _calls_without_elements(entry: OpEntry) -> list[tuple[list[Array], dict[str, Any]]]:
    found: dict[str, tuple[list[Array], dict[str, Any]]] = {}
    for case in cases_of(entry):
        if sum(x.size for x in case.inputs) > 5000:
            continue
        for shapes in _shapes_with_zeros([x.shape for x in case.inputs]):
            arrays = [_cut(x, shape) for x, shape in zip(case.inputs, shapes, strict=True)]
            found[f"{shapes} {case.attrs}"] = (arrays, case.attrs)
    return list(found.values())


def _arrays_of(outputs: Any) -> list[Array]:
    parts = outputs if isinstance(outputs, tuple) else (outputs,)
    return [np.asarray(part) for part in parts]


@contextlib.contextmanager
def _running(mode: str) -> Iterator[None]:
    if mode == "eager":
        yield
    else:
        with tl.engine.mode(mode, threshold=1):
            yield


def _outcome(entry: Entry, xs: Sequence[tl.Tensor], attrs: dict[str, Any]) -> list[Array] | None:
    try:
        return _arrays_of(function_of(entry)(*xs, **attrs))
    except ERRORS:
        return None


def _as_dtype(array: Array, dtype: str) -> tl.Tensor:
    """Floating-point inputs in the dtype; labels, lengths and masks stay what they are."""
    return tl.tensor(array).astype(dtype) if array.dtype.kind == "f" else tl.tensor(array)


def _assert_same_everywhere(entry: Entry, arrays: Sequence[Array], attrs: dict[str, Any]) -> None:
    is_random = entry.name in ("Dropout", "RandomFrom", "RandomDraw")
    exact = _outcome(entry, [_as_dtype(x, "float64") for x in arrays], attrs)
    for dtype in DTYPES:
        given = [_as_dtype(x, dtype) for x in arrays]
        plain = _outcome(entry, given, attrs)
        for (name, layout), mode in itertools.product(LAYOUTS.items(), MODES):
            with _running(mode):
                found = _outcome(entry, [layout(x) for x in given], attrs)
            text = f"{entry.name} {[x.shape for x in arrays]} {attrs} {dtype} {name} {mode}"
            assert (found is None) == (plain is None), text
            if found is None or plain is None or is_random:
                continue
            for one, want in zip(found, plain, strict=True):
                np.testing.assert_array_equal(one, want, err_msg=text, strict=True)
        if plain is None or exact is None or is_random or dtype == "bool":
            continue
        for one, want in zip(plain, exact, strict=True):
            assert one.shape == want.shape, (entry.name, attrs, dtype)


@pytest.mark.parametrize(
    "entry", [e for e in OPS if e.function not in TESTED_BY_INDEXING], ids=name_of
)
def test_ops_without_elements_give_the_same_in_every_layout_and_mode(entry: OpEntry) -> None:
    for arrays, attrs in _calls_without_elements(entry):
        _assert_same_everywhere(entry, arrays, attrs)


@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_scalar_functions_without_elements_give_none(entry: Entry) -> None:
    for shape in [(0,), (2, 0, 17), (17, 0)]:
        _assert_same_everywhere(entry, [np.ones(shape, np.float32)] * len(entry.args), {})


# From 16 rows on, transposed elements are read in strips.
@pytest.mark.parametrize(
    "shape", [(0,), (0, 17), (17, 0), (2, 0, 8), (0, 3, 0), (20, 0, 20)], ids=str
)
@pytest.mark.parametrize("entry", REDUCTIONS, ids=name_of)
def test_reductions_without_elements_give_what_they_start_from(
    entry: ReductionEntry, shape: tuple[int, ...]
) -> None:
    numpy_call = {"sum": np.sum, "prod": np.prod, "any": np.any, "all": np.all}.get(entry.name)
    axes: list[Any] = [None, *range(len(shape))]
    targets: list[Any] = [{}]
    if entry.result == "sum":
        targets += [{"dtype": name} for name in ("float64", "int8", "complex64", "float16")]
    for axis, target, keepdims in itertools.product(axes, targets, (False, True)):
        attrs = {"axis": axis, "keepdims": keepdims, **target}
        _assert_same_everywhere(entry, [np.ones(shape, np.float32)], attrs)
        found = _outcome(entry, [tl.zeros(shape)], attrs)
        if found is not None and numpy_call is not None:
            want = numpy_call(np.zeros(shape), axis=axis, keepdims=keepdims)
            np.testing.assert_array_equal(found[0], np.asarray(want, dtype=found[0].dtype))

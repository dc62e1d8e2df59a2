"""NumPy's universal functions on tensors are ours, and keep the tape; threads change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.declarations import REDUCTIONS, SCALARS, function_of, inputs_of, name_of
from support.oracle import tuple_of

import tensorlike as tl
from tensorlike.opdecl.compiler.model import ReductionEntry, ScalarEntry, is_differentiable


def ufunc_of(entry: ScalarEntry) -> Any:
    name = entry.numpy or entry.name
    found = getattr(np, name, None) if name.isidentifier() else None
    return found if isinstance(found, np.ufunc) else None


UFUNCS = [entry for entry in SCALARS if ufunc_of(entry) is not None]


@pytest.mark.parametrize("entry", UFUNCS, ids=name_of)
def test_a_universal_function_is_the_functional_call_of_that_name(entry: ScalarEntry) -> None:
    rng = np.random.default_rng(1)
    dtype = "int64" if entry.args[0].category.rank < 2 else "float64"
    inputs = inputs_of(entry, [(2, 3)] * len(entry.args), dtype, rng)
    tensors = [tl.tensor(x) for x in inputs]
    wanted = np.asarray(function_of(entry)(*tensors))
    mixed = [*inputs[:-1], tensors[-1]]
    for args in (tensors, mixed, [tensors[0], *inputs[1:]]):
        found = ufunc_of(entry)(*args)
        assert isinstance(found, tl.Tensor)
        np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)
    if is_differentiable(entry):
        leaf = tl.tensor(np.abs(inputs[0]) * 0.01 + 0.5, requires_grad=True)
        assert ufunc_of(entry)(leaf, *inputs[1:]).requires_grad or entry.args[0].category.rank < 2


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("entry", [*SCALARS, *REDUCTIONS], ids=name_of)
def test_the_number_of_threads_does_not_change_results(
    entry: ScalarEntry | ReductionEntry, threads: int
) -> None:
    rng = np.random.default_rng(2)
    dtype = "int64" if entry.args[0].category.rank < 2 else "float64"
    inputs = inputs_of(entry, [(50_000,)] * len(entry.args), dtype, rng)
    if getattr(entry, "init", "") == "1":
        inputs = [1 + x * 1e-6 for x in inputs]
    tensors = [tl.tensor(x) for x in inputs]
    wanted = tuple_of(function_of(entry)(*tensors))
    before = tl.num_threads()
    try:
        tl.set_num_threads(threads)
        found = tuple_of(function_of(entry)(*tensors))
    finally:
        tl.set_num_threads(before)
    for y, want in zip(found, wanted, strict=True):
        if isinstance(entry, ScalarEntry):
            np.testing.assert_array_equal(y, want, strict=True)
        else:
            np.testing.assert_allclose(y, want, rtol=1e-12, strict=True)

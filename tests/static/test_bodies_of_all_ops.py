"""Every op that has a body is found again in it: the body's ops are listed, and become the op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import cases_of
from support.declarations import DEFINED, SCALARS, function_of, inputs_of

import tensorlike as tl
from tensorlike import _C
from tensorlike.static.compiled import CompiledProgram

# Those that are not, each with the reason. There may be fewer of them, never more.
NOT_FOUND: dict[str, str] = {
    "Linear": "its activation is named: Linear without one is found, and the op after it",
    "QuantizedLinear": "its activation is named, as that of Linear",
    "DynamicQuantizedLinear": "its activation is named, as that of Linear",
    "ConvInteger": "it takes images, and samples are matrices, vectors and numbers",
    "QuantizedConvolution": "the same",
    "DynamicQuantizedConvolution": "the same",
    "RequantizedConvolution": "the same",
    "DynamicQuantizeLinear": "its scale has slopes in the body, and the op has none",
    "LayerNormGrad": "sum_axes shapes further results alone; attributes are read off the first",
    "RMSNormGrad": "sum_axes shapes further results alone; attributes are read off the first",
}
# Scalar functions whose declared slopes are not those of their formulas, at an edge or where a
# formula is bounded: one must not stand for the other. They are run as one chain anyhow.
OTHER_SLOPES = {
    "binary_cross_entropy_error", "fmod", "gaussian_nll_error", "hardtanh", "heaviside",
    "kl_div_log_error", "ldexp", "relu6", "xlog1py", "xlogy",
}  # fmt: skip


def listed(case: Any, function: Any, attrs: dict[str, Any]) -> tuple[Any, list[str], list[str]]:
    """The op of a call, and the ops of its body: as listed, and with patterns found."""
    whole = tl.Listing()
    inputs = [whole.input(f"x{i}", x.shape, x.dtype.name) for i, x in enumerate(case)]
    function(*inputs, **attrs)
    op = whole.ops[-1]
    listing = tl.Listing()
    symbols = [listing.input(f"x{i}", x.shape, x.dtype.name) for i, x in enumerate(case)]
    if len(whole.ops) > 1:  # literals of arguments with defaults
        for literal in whole.ops[:-1]:
            symbols.append(tl.apply(literal, symbols[0])[0])
    results = tl.apply.body(op, *symbols)
    results = results if isinstance(results, tuple | list) else (results,)
    compiled = CompiledProgram(listing, ["dead_code", "cse", "bodies"])
    program, numbers = compiled.optimised(list(results))
    _C.verify_program(program, numbers)
    given = [tl.tensor(x) for x in case]
    for wanted, found in zip(
        listing.run(list(results), *given), compiled.run(list(results), *given), strict=True
    ):
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-5, atol=1e-6)
    return name_of(op), [name_of(one) for one in listing.ops], [name_of(x) for x in program.ops]


def name_of(op: Any) -> str:
    return str(getattr(op, "mode", None) or type(op).__name__)


def without_literals(ops: list[str]) -> list[str]:
    return [op for op in ops if op not in ("Const", "Fill")]


BODIES = [entry for entry in SCALARS if entry.outputs and len(entry.outputs) == 1]


@pytest.mark.parametrize("entry", BODIES, ids=lambda entry: entry.name)
def test_scalar_functions(entry: Any) -> None:
    given = inputs_of(entry, [(3, 4)] * len(entry.args), "float32", np.random.default_rng(0))
    op, before, found = listed(given, function_of(entry), {})
    if len(without_literals(before)) < 2:
        pytest.skip("a single op")
    if entry.name in NOT_FOUND:
        pytest.skip(NOT_FOUND[entry.name])
    assert (without_literals(found) == [op]) == (entry.name not in OTHER_SLOPES)


@pytest.mark.parametrize("entry", DEFINED, ids=lambda entry: entry.name)
def test_defined_ops(entry: Any) -> None:
    case = cases_of(entry, "float32")[-1]
    op, before, found = listed(case.inputs, function_of(entry), case.attrs)
    if len(without_literals(before)) < 2:
        pytest.skip("a single op")
    if entry.name in NOT_FOUND:
        pytest.skip(NOT_FOUND[entry.name])
    assert without_literals(found) == [op]


def test_few_are_not_found() -> None:
    known = {entry.name for entry in (*BODIES, *DEFINED)}
    assert set(NOT_FOUND) <= known
    assert len(NOT_FOUND) <= 10

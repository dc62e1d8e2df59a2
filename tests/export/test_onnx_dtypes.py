"""Models of every dtype: what ONNX's ops do not take is computed in a wider one, or refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.declarations import REDUCTIONS, SCALARS, accepts, function_of, name_of
from support.exported_models import array_of, assert_same, model_of, run_model
from support.unknown_sizes import leaves

import tensorlike as tl
import tensorlike.functional as F

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
# What ONNX Runtime has no kernel of for a dtype, though ONNX has the op, is told so by this.
NO_KERNEL = re.compile("NOT_IMPLEMENTED")
# Complex numbers come out of them, of whatever dtype.
REFUSED = {"complex", "angle"}


def drawn(entry: Any, dtype: str, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [
        rng.integers(0, 2, (3, 4)).astype(bool)
        if arg.category.rank == 0
        else rng.integers(1, 6, (3, 4)).astype(dtype)
        for arg in entry.args
    ]


def run_or_lack(model: Any, arrays: list[Any]) -> list[Any] | None:
    """The results; None where ONNX Runtime has no kernel."""
    try:
        return run_model(model, arrays)
    except tl.ArgumentError as error:
        assert NO_KERNEL.search(str(error)), error
        return None


def cases() -> list[Any]:
    found = []
    for i, (entry, dtype) in enumerate((e, d) for e in [*SCALARS, *REDUCTIONS] for d in DTYPES):
        if entry.name in REFUSED or not all(accepts(a.category, dtype) for a in entry.args):
            continue
        marks = [pytest.mark.slow] if (i * 7) % 29 else []
        found.append(pytest.param(entry, dtype, marks=marks, id=f"{name_of(entry)}-{dtype}"))
    return found


@pytest.mark.parametrize(("entry", "dtype"), cases())
def test_integers_and_booleans_give_what_they_give_here(entry: Any, dtype: str) -> None:
    call: Callable[..., Any] = function_of(entry)
    arrays = drawn(entry, dtype, 3)
    if entry.kind == "reduction":
        call = lambda x: function_of(entry)(x, axis=0)  # noqa: E731
    try:
        wanted = [array_of(y) for y in leaves(call(*map(tl.tensor, arrays)))]
    except (TypeError, ValueError):
        pytest.skip("is not defined there")
    if any(y.dtype.kind == "c" for y in wanted):
        pytest.skip("complex")
    found = run_or_lack(model_of(call, arrays), arrays)
    if found is not None:  # else the model is valid, and that is all that can be known
        for x, y in zip(found, wanted, strict=True):
            assert_same(x, y)


HALVES: dict[str, Callable[..., Any]] = {
    "conv": lambda x: F.conv1d(x, tl.ones((2, 3, 2), dtype=x.dtype)),
    "max_pool": lambda x: F.max_pool1d(x, kernel_size=2),
    "avg_pool": lambda x: F.avg_pool1d(x, kernel_size=2),
    "sort": lambda x: F.sort(x),
    "topk": lambda x: F.topk(x, k=2)[0],
    "softmax": lambda x: F.softmax(x),
    "layer_norm": lambda x: F.layer_norm(x, tl.ones(4, dtype=x.dtype), tl.ones(4, dtype=x.dtype)),
    "lgamma": lambda x: F.lgamma(x),
    "cumulative_max": lambda x: F.cumulative_max(x, axis=0),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("opset", [18, 24])
def test_halves_are_computed_in_float32_where_onnx_has_no_op(
    name: str, dtype: str, opset: int
) -> None:
    """All are valid models; ONNX Runtime runs those of float16 on processors."""
    x = tl.tensor(np.random.default_rng(0).uniform(1, 2, (2, 3, 4)), dtype)
    model = model_of(HALVES[name], [x], opset=opset)
    if dtype == "float16":
        (found,) = run_model(model, [x])
        assert_same(found, array_of(HALVES[name](x)))


def test_a_number_that_an_attribute_cannot_hold_is_computed_with() -> None:
    """Attributes of ONNX are of float32: 0.01 of float64 is none."""
    x = np.linspace(-2, 2, 7)
    model = model_of(lambda x: F.leaky_relu(x, negative_slope=0.01), [x])
    assert "LeakyRelu" not in {node.op_type for node in model.graph.node}
    np.testing.assert_allclose(run_model(model, [x])[0], np.where(x > 0, x, 0.01 * x), 1e-15)
    narrow = model_of(lambda x: F.leaky_relu(x, negative_slope=0.01), [x.astype(np.float32)])
    assert [node.op_type for node in narrow.graph.node] == ["LeakyRelu"]


def test_integers_divided_by_0_are_0_as_they_are_here() -> None:
    x, y = np.array([7, -7, 5, 0]), np.array([0, 2, 0, -3])
    for call in (F.floor_divide, F.remainder):
        (found,) = run_model(model_of(call, [x, y]), [x, y])
        assert_same(found, array_of(call(tl.tensor(x), tl.tensor(y))))


def test_mixed_dtypes_are_promoted_as_they_are_here() -> None:
    arrays = [np.arange(3), np.linspace(0, 1, 3).astype(np.float32), np.array([True, False, True])]

    def call(i: Any, x: Any, flag: Any) -> Any:
        return i * x, i + flag.astype("int32"), F.where(flag, i, x), i / 2, F.exp(i), F.mean(x * i)

    for found, y in zip(run_model(model_of(call, arrays), arrays),
                        call(*map(tl.tensor, arrays)), strict=True):  # fmt: skip
        assert_same(found, array_of(y))

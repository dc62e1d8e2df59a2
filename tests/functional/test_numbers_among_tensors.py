"""Python's numbers among the tensors of a functional call become what a Const makes of them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from support.declarations import SCALARS, accepts, function_of

import tensorlike as tl

DTYPES = [
    *("bool", "int8", "int64", "uint8", "uint64", "float16", "bfloat16", "float32", "float64"),
    "complex64",
]
NUMBERS: list[Any] = [0, 1, -2, 3, 0.5, 2.0, True, False, 300, 70000.0, 1e39, 2**63, 1 + 2j, -1e-50]
SEVERAL = [entry for entry in SCALARS if len(entry.args) > 1]


class Other(tl.Tensor):
    """A class of somebody's own: numbers beside it go the general way."""

    __slots__ = ()


def said(call: Any, args: list[Any]) -> tuple[Any, ...]:
    try:
        with np.errstate(all="ignore"):
            results = call(*args)
    except (tl.TensorlikeError, TypeError, ValueError, OverflowError) as error:
        return (type(error), str(error))
    found: list[Any] = []
    for y in results if isinstance(results, tuple) else (results,):
        wide = y.astype("float32") if y.dtype == tl.bfloat16 else y
        found.append((y.dtype, y.shape, np.asarray(wide).tobytes()))
    return tuple(found)


def of_other(args: list[Any]) -> list[Any]:
    return [Other(x) if isinstance(x, tl.Tensor) else x for x in args]


@pytest.mark.parametrize("entry", SEVERAL, ids=lambda entry: entry.name)
def test_calls_are_those_of_the_general_way(entry: Any) -> None:
    call = function_of(entry)
    rng = random.Random(entry.name)
    for _ in range(60):
        dtype = rng.choice(DTYPES)
        args: list[Any] = []
        for arg in entry.args:
            shape = rng.choice([(), (3,), (2, 3)])
            array = np.random.default_rng(rng.randrange(99)).integers(0, 3, shape)
            of = dtype if accepts(arg.category, dtype) else "bool"
            of = rng.choice(DTYPES) if rng.random() < 0.15 else of
            drawn = rng.random()
            if drawn < 0.45:
                args.append(rng.choice(NUMBERS))
            elif drawn < 0.6:
                numpy_dtype = "float32" if of == "bfloat16" else of
                data = [np.asarray, np.ndarray.tolist, tuple, lambda a: a[..., ::-1]]
                args.append(rng.choice(data[: 4 if shape else 2])(array.astype(numpy_dtype)))
            else:
                args.append(tl.tensor(array).astype(of))
        if not any(isinstance(x, tl.Tensor) for x in args):
            continue
        assert said(call, args) == said(call, of_other(args)), args


def test_recorded_calls_have_the_gradients_of_the_general_way() -> None:
    array = np.linspace(0.25, 2, 6, dtype=np.float32).reshape(2, 3)
    calls: list[Any] = [
        lambda x: x + np.arange(3.0),
        lambda x: np.float64(2) * x - [1.0, 2.0, 3.0],
        lambda x: tl.maximum(x, 0.5),
        lambda x: tl.where(x > 1, x * x, 0.0),
        lambda x: tl.where(x > 1, 2, x),
        lambda x: tl.clip(x, 0.5, 1.5),
        lambda x: tl.atan2(1.0, x),
        lambda x: tl.hypot(x, 3),
    ]
    for call in calls:
        x = tl.tensor(array)
        short = tl.grad(lambda x, call=call: call(x).sum())(x)
        general = tl.grad(lambda x, call=call: call(Other(x)).sum())(x)
        np.testing.assert_array_equal(short.numpy(), general.numpy())
        np.testing.assert_array_equal(tl.vmap(call)(x).numpy(), call(x).numpy())


def test_a_rule_for_constants_is_asked() -> None:
    seen: list[Any] = []

    def apply_const(op: tl.ops.Const, x: tl.RawTensor) -> Any:
        seen.append(op)
        return NotImplemented

    tl.apply.register(apply_const)
    try:
        assert tl.maximum(tl.tensor([1.0, 3.0]), 2.0).tolist() == [2.0, 3.0]
    finally:
        tl.apply.unregister(apply_const)
    assert seen

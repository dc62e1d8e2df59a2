"""Calls that are some ops are remembered by kinds of tensors and numbers: as those that are not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.imperative.naming import creating_op, makes, one_op, one_op_on
from tensorlike.ops import Elemwise, Fill, Reshape

NAN, INF = float("nan"), float("inf")
DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int64", "bool")
BOUNDS: list[Any] = [
    None, 0, 1, 2.5, -1, True, NAN, INF, 300, 2**70, np.float32(0.5), np.int64(3), [0.5, 1.0, 2.0],
    tl.tensor(1.0), tl.tensor(2), tl.tensor([[0.0], [1.0]]), "x", 1j,
]  # fmt: skip
EYES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (sides, {"k": k, "dtype": dtype})
    for sides in [(3,), (0,), (3, 5), (5, 3), (1, 1), (4, None), (300, 2), (-1,), (2.5,)]
    for k in (0, 1, -1, 3, -9, 9)
    for dtype in (None, "int8", tl.float64, np.float32, "bool", "no")
]
LINES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((*ends, count), {"dtype": dtype, "endpoint": endpoint})
    for ends in [(0, 1), (0.0, -3.0), (1, 1), (-INF, 0), (1e308, -1e308), (0, 1j), ("x", 1)]
    for count in (0, 1, 2, 5, 100, -1, 1.5)
    for dtype in (None, "float64", "float16", "int32", "complex64")
    for endpoint in (True, False)
]
LIKES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((x,), {"dtype": dtype})
    for x in [
        tl.tensor([1.0, 2.0]), tl.tensor([1, 2]), tl.ones((2, 3), dtype="float64"), tl.ones(()),
        [1, 2], 3.0, np.ones((2, 2), np.int8), tl.as_raw_tensor([True]), None, "x",
        tl.tensor([1.0], requires_grad=True), tl.ones((2, 3), dtype="bfloat16").T,
    ]
    for dtype in (None, "int8", tl.float64, np.float32)
]  # fmt: skip
CLIPS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((x, low, high), {})
    for x in [tl.tensor([[0.0, 1.0, 2.0]] * 2).astype(dtype) for dtype in DTYPES] + [1.5, [1, 2, 3]]
    for low, high in itertools.product(BOUNDS, BOUNDS[:9] + BOUNDS[13:15])
]
CALLS: dict[str, tuple[Any, Any, Any]] = {
    "clip": (F.clip, one_op_on(1, beside=2), CLIPS),
    "eye": (F.eye, creating_op, EYES),
    "linspace": (F.linspace, creating_op, LINES),
    "zeros_like": (F.zeros_like, one_op, LIKES),
    "ones_like": (F.ones_like, one_op, LIKES),
    "full_like": (
        F.full_like, one_op,
        [((*x, value), kwargs) for x, kwargs in LIKES for value in (7, 2.5, NAN, 1j, True, "x")],
    ),
}  # fmt: skip


def said(call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """What a call gives, bit for bit, or what it raises."""
    try:
        made = call(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    wide = made.detach().astype("complex128")
    return type(made), made.dtype.name, made.shape, made.requires_grad, wide.numpy().tobytes()


@pytest.mark.parametrize("name", list(CALLS))
def test_remembered_calls_are_those_that_are_worked_out_anew(name: str) -> None:
    known, decorate, given = CALLS[name]
    for args, kwargs in given:
        wanted = said(decorate(known.__wrapped__), *args, **kwargs)
        for _ in range(2):  # the second time it is known
            assert said(known, *args, **kwargs) == wanted, (args, kwargs)


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
def test_bounds_of_every_kind_are_numpys(mode: str) -> None:
    data = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    bounds: list[Any] = [None, -0.5, 0, np.linspace(-1, 1, 5, dtype=np.float32)]
    with tl.engine.mode(mode):
        for _, low, high in itertools.product(range(2), bounds, bounds):
            ours = [b if not isinstance(b, np.ndarray) else tl.tensor(b) for b in (low, high)]
            wanted = data if low is None and high is None else np.clip(data, low, high)
            np.testing.assert_array_equal(tl.clip(tl.tensor(data), *ours).numpy(), wanted)
            by_name = tl.clip(tl.tensor(data), max=ours[1], min=ours[0])
            np.testing.assert_array_equal(by_name.numpy(), wanted)


def test_bounds_are_seen_by_transforms_and_traces() -> None:
    x = tl.tensor([-2.0, 0.5, 3.0])
    low = tl.tensor([0.0, 0.0, 4.0])
    for _ in range(2):
        assert tl.grad(lambda y: F.clip(y, 0.0, 1.0).sum())(x).tolist() == [0.0, 1.0, 0.0]
        slope = tl.grad(lambda y: F.clip(x, y, None).sum())(low)
        assert slope.tolist() == [1.0, 0.0, 1.0]
        each = tl.vmap(lambda y: F.clip(y, 0.0, 1.0))(tl.stack([x, x]))
        assert each.tolist() == [[0.0, 0.5, 1.0]] * 2
    traced = tl.jit.to_static(lambda y, b: F.clip(y, b, 1) + F.zeros_like(y))
    for b in (0.0, 0.25, 0.75):
        assert traced(x, tl.tensor(b)).tolist() == [b, max(b, 0.5), 1.0]


def test_what_follows_is_done_to_the_result_of_each_call_anew() -> None:
    first, second = tl.eye(3), tl.eye(3)
    first[0] = 5.0
    assert second.tolist() == tl.eye(3).tolist() == np.eye(3).tolist()
    line = tl.linspace(0, 1, 5)
    line += 1
    assert tl.linspace(0, 1, 5).tolist() == np.linspace(0, 1, 5).tolist()


def test_a_call_may_be_any_number_of_ops() -> None:
    asked = []

    @one_op_on(1, beside=1)
    def doubled_at_least(x: Any, least: Any = None) -> Any:
        asked.append((x.dtype.name, type(least)))
        first = Elemwise(mode="negative" if least is None else "maximum")
        return makes(first, Elemwise(mode="square"), Reshape(shape=(-1,)))

    for _ in range(2):
        for dtype in ("float32", "float64"):
            x = tl.tensor([[1.0, -3.0]], dtype=dtype)
            assert doubled_at_least(x).tolist() == [1.0, 9.0]
            for least in (2.0, 5.0, 2):
                wanted = [max(1.0, least) ** 2, max(-3.0, least) ** 2]
                assert doubled_at_least(x, least=least).tolist() == wanted
    assert asked == [
        (dtype, kind) for dtype in ("float32", "float64") for kind in (type(None), float, int)
    ]

    @creating_op
    def refused() -> Any:
        return makes(Fill(shape=(2,), fill_value=0, dtype="float32"), Reshape(shape=(3,)))

    for _ in range(2):
        with pytest.raises(tl.ShapeError, match="refused: "):
            refused()

"""Ops are values: equal, hashed, printed, copied and serialised by what they hold."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from support.cases import cases_of
from support.declarations import OPS, REDUCTIONS, SCALARS

import tensorlike as tl

SPECIAL: list[tuple[str, dict[str, Any]]] = [
    ("Fill", {"shape": (2,), "fill_value": float("nan")}),
    ("Fill", {"shape": (), "fill_value": float("inf"), "dtype": tl.float64}),
    ("Fill", {"shape": (0, 3), "fill_value": True, "dtype": tl.bool_, "device": "cpu"}),
    ("Fill", {"shape": (2,), "fill_value": -0.0}),
    ("Fill", {"shape": (2,), "fill_value": 1.0}),
    ("Fill", {"shape": (2,), "fill_value": 1e300}),
    ("Fill", {"shape": (2,), "fill_value": 2**63 - 1}),
    ("Fill", {"shape": (2,), "fill_value": 0.1}),
    ("Subtensor", {"items": (0, 1, 0, 0)}),
    ("SetSubtensor", {"items": ()}),
    ("Reduce", {"mode": "sum", "axis": (0, -1), "keepdims": True}),
    ("Reduce", {"mode": "sum", "axis": ()}),
    ("Reduce", {"mode": "sum", "axis": -1}),
]


def every_op() -> list[Any]:
    made = [tl.ops.Elemwise(mode=entry.name) for entry in SCALARS]
    made += [tl.ops.Reduce(mode=entry.name) for entry in REDUCTIONS]
    for entry in OPS:
        op_class, fixed = getattr(tl.ops, entry.name), dict(getattr(entry, "fixed", ()))
        made += [op_class(**fixed, **case.attrs) for case in cases_of(entry)]
    return made + [getattr(tl.ops, name)(**attrs) for name, attrs in SPECIAL]


OPS_MADE = every_op()


def test_every_declared_class_is_among_them() -> None:
    classes = {type(op).__name__ for op in OPS_MADE}
    assert classes == {"Elemwise", "Reduce", *(entry.name for entry in OPS)}


@pytest.mark.parametrize("op", OPS_MADE, ids=str)
def test_an_op_made_again_is_equal(op: Any) -> None:
    again = type(op)(**op.params())
    assert again == op
    assert hash(again) == hash(op)
    assert repr(again) == repr(op)
    assert (again != op) is False
    assert {op: 1}[again] == 1


@pytest.mark.parametrize("op", OPS_MADE, ids=str)
def test_an_op_survives_its_bytes(op: Any) -> None:
    data = tl.ops.serialize(op)
    assert isinstance(data, bytes)
    again = tl.ops.deserialize(data)
    assert type(again) is type(op)
    assert again == op
    assert tl.ops.serialize(again) == data
    assert {k: type(v) for k, v in again.params().items()} == {
        k: type(v) for k, v in op.params().items()
    }


@pytest.mark.parametrize("op", OPS_MADE, ids=str)
def test_an_op_prints_as_the_call_that_makes_it(op: Any) -> None:
    text = repr(op)
    assert text.startswith(f"{type(op).__name__}(")
    names = {name: getattr(tl, name) for name in ("int32", "int64", "float32", "float64")}
    names |= {"bool": tl.bool_, "nan": float("nan"), "inf": float("inf")}
    assert eval(text, names | {type(op).__name__: type(op)}) == op


@pytest.mark.parametrize("op", OPS_MADE[::7], ids=str)
def test_an_op_can_be_copied(op: Any) -> None:
    assert copy.copy(op) == op
    assert copy.deepcopy(op) == op
    assert pickle.loads(pickle.dumps(op)) == op


def test_different_ops_are_different() -> None:
    texts = [repr(op) for op in OPS_MADE]
    for i, op in enumerate(OPS_MADE):
        for j in range(i):
            if texts[i] != texts[j]:
                assert op != OPS_MADE[j], (texts[i], texts[j])
    assert tl.ops.Fill(shape=(2,), fill_value=1) != tl.ops.Fill(shape=(2,), fill_value=1.0)
    assert tl.ops.Fill(shape=(2,), fill_value=1) != tl.ops.Fill(shape=(2,), fill_value=True)
    assert tl.ops.Elemwise(mode="exp") != "Elemwise(mode='exp')"


def hostile() -> list[bytes]:
    good = json.loads(tl.ops.serialize(tl.ops.Reduce(mode="sum", axis=0)))
    changed: list[Any] = [
        {**good, "op": "OpBase"}, {**good, "op": "register"}, {**good, "op": "sys"},
        {**good, "op": "__name__"}, {**good, "op": 3}, {**good, "op": None},
        {**good, "params": None}, {**good, "params": []}, {**good, "params": {"mode": 3}},
        {**good, "params": {"mode": "sum", "axis": "a"}}, {**good, "params": {"zzz": 1}},
        {**good, "params": {"mode": "sum", "axis": {"dtype": "int64"}}},
        {**good, "params": {"mode": "sum", "axis": {"dtype": "os"}}},
        {**good, "params": {"mode": "sum", "axis": {"no": 1}}},
        {**good, "params": {"mode": "sum", "axis": 2**70}},
        {**good, "params": {"mode": "sum", "axis": [[1], [2]]}},
        {**good, "params": {"mode": "sum", "axis": [0.5]}},
        {"op": "Fill", "params": {"shape": [2], "fill_value": [1]}},
        [], None, 3, "Reduce", {},
    ]  # fmt: skip
    whole = tl.ops.serialize(tl.ops.Reduce(mode="sum", axis=0))
    return [
        *(json.dumps(record).encode() for record in changed),
        *(whole[:length] for length in range(0, len(whole), 5)),
        b"\xff\xfe\x00", b"[" * 10_000, b'{"op":' * 5000,
    ]  # fmt: skip


@pytest.mark.parametrize("data", hostile(), ids=lambda data: repr(data[:60]))
def test_bytes_that_are_no_op_are_refused(data: bytes) -> None:
    with pytest.raises((ValueError, tl.TensorlikeError)):
        tl.ops.deserialize(data)

"""serialize and deserialize: every kind of op, and bytes that are none."""

from __future__ import annotations

import copy
import json
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import ops
from tensorlike.ops import builtin


class Shifted(ops.OpBase):
    """An op in Python that a module has under its name."""

    amount: float = 1.0
    parts: tuple[Any, ...] = ()

    def define(self, x: Any) -> Any:
        """Adds."""
        return x + self.amount


class SerializedDef(ops.OpDef):
    """An op wrapped by hand."""

    name = "Serialized"
    param_names = ("param",)

    class Param:
        """A number."""

        def __init__(self, amount: float) -> None:
            self.amount = amount

        def serialize(self) -> bytes:
            """A tag, then the number."""
            return bytes(4) + struct.pack("<d", self.amount)

    def __init__(self, amount: float) -> None:
        self.param = self.Param(amount)

    def define(self, x: Any) -> Any:
        """Multiplies."""
        return x * self.param.amount


DECLARED = """
- scalar: serialized_plus
  args: [x: real floating-point]
  expr: x + 2
  doc: A test.
- op: SerializedRows
  args: [x: real floating-point]
  attrs: {n: {type: int}}
  define: serialized_plus(x) * n
  doc: A test.
"""
tl.declare(DECLARED)

OPS: list[Any] = [
    ops.Reduce(mode="sum", axis=(0, 1)),
    ops.Const(2),
    ops.Const(1 - 2j, dtype=tl.complex64),
    ops.Const(np.arange(6.0).reshape(2, 3)),
    ops.Const(np.zeros((0, 3), np.int8)),
    ops.Const(np.array(True)),
    ops.Const(np.array([2**64 - 1], np.uint64)),
    ops.Const(tl.as_raw_tensor([1.5, float("nan")], dtype="bfloat16")),
    Shifted(amount=0.5, parts=(1, (2.5, "x", None), tl.float32)),
    SerializedDef(3.0),
    ops.Elemwise(mode="serialized_plus"),
    builtin.SerializedRows(n=3),  # type: ignore[attr-defined]
]


@pytest.mark.parametrize("op", OPS, ids=lambda op: type(op).__name__)
def test_an_op_comes_back_equal_from_its_bytes(op: Any) -> None:
    found = ops.deserialize(ops.serialize(op))
    assert type(found) is type(op)
    assert found == op


def test_an_op_that_was_declared_takes_its_declaration_along(tmp_path: Path) -> None:
    path = tmp_path / "op"
    path.write_bytes(ops.serialize(builtin.SerializedRows(n=3)))  # type: ignore[attr-defined]
    program = (
        "import sys, tensorlike as tl\n"
        "op = tl.ops.deserialize(open(sys.argv[1], 'rb').read())\n"
        "print(op(tl.tensor([1.0]))[0].tolist())"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[9.0]\n"


def test_what_nobody_would_find_again_is_refused() -> None:
    class Local(ops.OpBase):
        k: float = 1.0

    class Own(ops.OpBase):
        def __init__(self) -> None:
            self.k = 1

    with pytest.raises(TypeError, match="Local must be found in a module by its name"):
        ops.serialize(Local())
    with pytest.raises(TypeError, match="Own must have its parameters as annotated fields"):
        ops.serialize(Own())
    with pytest.raises(TypeError, match="parts of Shifted must be a number, text, a dtype"):
        ops.serialize(Shifted(parts=(object(),)))


RECORD = json.loads(ops.serialize(SerializedDef(3.0)))
ARRAY = json.loads(ops.serialize(ops.Const(np.arange(3.0))))


def _changed(record: dict[str, Any], path: str, value: Any) -> bytes:
    record = copy.deepcopy(record)
    place: Any = record
    *steps, last = path.split(".")
    for step in steps:
        place = place[step]
    place[last] = value
    return json.dumps(record).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"op": "os:system", "params": {}}',
        b'{"op": "subprocess:Popen", "params": {}}',
        b'{"op": "no.such:Class", "params": {}}',
        b'{"op": "json:JSONDecoder", "params": {}}',
        _changed(RECORD, "bytes", "00"),
        _changed(RECORD, "params.param.class", "define"),
        _changed(RECORD, "params.param.class", "__init__"),
        _changed(RECORD, "params.param.held", {"amount": 4.0}),
        _changed(ARRAY, "params.value.array.shape", [4]),
        _changed(ARRAY, "params.value.array.shape", [-3]),
        _changed(ARRAY, "params.value.array.shape", [1.5, 2]),
        _changed(ARRAY, "params.value.array.dtype", "object"),
        _changed(ARRAY, "params.value.array.data", "?"),
        b'{"op": "Const", "params": {"value": {"dtype": "OpBase"}}}',
        b'{"op": "Const", "params": {"value": 1}, "declarations": [["F", "- op: F"]]}',
        b'{"op": "Const", "params": {"value": 1}, "declarations": 3}',
    ],
)
def test_bytes_that_are_no_op_are_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^deserialize: the bytes are not an op that is known"):
        ops.deserialize(data)


def test_a_generator_pickles_and_copies_as_its_state() -> None:
    generator = tl.random.Generator(7)
    generator.normal((2,))
    copies = [pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator)]
    wanted = generator.normal((3,)).tolist()
    assert [other.normal((3,)).tolist() for other in copies] == [wanted, wanted]
    assert copies[0].state == generator.state

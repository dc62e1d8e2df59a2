"""Row O4: ops that were written down when an older version of their declaration was the newest."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import ops
from tensorlike.opdecl import DeclarationError

FIRST = """
- op: VersionedHalf
  args: [x: real floating-point]
  define: x / 2
  doc: A half.
"""
SECOND = """
- op: VersionedHalf
  version: 2
  args: [x: real floating-point]
  attrs: {times: {type: int, default: 2}}
  define: x / 2 ** times
  doc: A half, so many times.
"""
# What a process writes that knows the first version alone: two forms.
OLD_WRITER = f"""
import pickle, sys
import tensorlike as tl
tl.declare({FIRST!r})
op = tl.ops.builtin.VersionedHalf()
print(tl.ops.serialize(op).hex(), pickle.dumps(op).hex())
"""
READER = """
import pickle, sys
import tensorlike as tl
{declare}
for form in sys.argv[1:]:
    data = bytes.fromhex(form)
    op = tl.ops.deserialize(data) if data[:1] == b"{{" else pickle.loads(data)
    print(op, op(tl.tensor([8.0]))[0].tolist())
"""


@pytest.fixture(scope="module")
def halves() -> Any:
    return tl.declare(FIRST + SECOND)


def run(code: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )
    return done.stdout + "".join(done.stderr.splitlines(keepends=True)[-1:])


@pytest.fixture(scope="module")
def older(halves: Any) -> ops.OpBase:
    """The op of the first version, as it was written down before there was a second one."""
    record = {"op": "VersionedHalf", "params": {}, "declarations": [["VersionedHalf", FIRST[1:]]]}
    return ops.deserialize(json.dumps(record).encode())


def test_row_o4_a_call_is_of_the_newest_version(halves: Any) -> None:
    assert halves.versioned_half(tl.tensor([8.0])).tolist() == [2.0]
    assert list(halves) == ["versioned_half"]
    assert "VersionedHalfV1" not in ops.builtin.__all__


def test_row_o4_an_op_of_an_older_version_is_read_by_the_older_declaration(
    older: ops.OpBase,
) -> None:
    x = tl.tensor([8.0], requires_grad=True)
    (y,) = older(x)
    y.sum().backward()
    assert repr(older) == "VersionedHalfV1()"
    assert (y.tolist(), x.grad.tolist()) == ([4.0], [0.5])


def test_row_o4_ops_of_every_version_round_trip(halves: Any, older: ops.OpBase) -> None:
    newest = ops.builtin.VersionedHalf(times=3)
    for op in (older, newest):
        assert ops.deserialize(ops.serialize(op)) == op
        assert pickle.loads(pickle.dumps(op)) == op
    assert json.loads(ops.serialize(newest))["version"] == 2
    assert json.loads(ops.serialize(older))["op"] == "VersionedHalf"


def test_row_o4_another_process_reads_what_it_needs(halves: Any, older: ops.OpBase) -> None:
    newest = ops.builtin.VersionedHalf()
    forms = [pickle.dumps(older).hex(), ops.serialize(newest).hex(), ops.serialize(older).hex()]
    expected = "VersionedHalfV1() [4.0]\nVersionedHalf(times=2) [2.0]\nVersionedHalfV1() [4.0]\n"
    assert run(READER.format(declare=""), *forms) == expected


def test_row_o4_what_an_older_process_wrote_keeps_its_meaning(halves: Any) -> None:
    forms = run(OLD_WRITER).split()
    declare = f"tl.declare({FIRST + SECOND!r})"
    expected = "VersionedHalfV1() [4.0]\n" * 2
    assert run(READER.format(declare=declare), *forms) == expected


def test_row_o4_a_version_that_nobody_declared_is_refused(halves: Any) -> None:
    for version in (3, 0, "1", None, True):
        record = {"op": "VersionedHalf", "params": {}, "version": version}
        with pytest.raises(ValueError, match="VersionedHalf: its version must be declared here"):
            ops.deserialize(json.dumps(record).encode())
    with pytest.raises(ValueError, match="got version 2, and the newest is 1"):
        ops.deserialize(b'{"op": "MatMul", "params": {}, "version": 2}')


def test_row_o4_an_op_newer_than_the_declaration_here_is_refused(halves: Any) -> None:
    form = ops.serialize(ops.builtin.VersionedHalf()).hex()
    found = run(READER.format(declare=f"tl.declare({FIRST!r})"), form)
    assert "VersionedHalf: must be declared as it was; it is declared otherwise here" in found


def test_an_op_written_by_hand_is_not_declared_at_run_time() -> None:
    with pytest.raises(DeclarationError, match="raw: an op written by hand is its class"):
        tl.declare("- op: OfHand\n  raw: here.py\n  doc: An op.\n")


def test_row_o4_versions_may_have_gaps() -> None:
    third = SECOND.replace("version: 2", "version: 3")
    tl.declare((FIRST + third).replace("VersionedHalf", "GappedHalf"))
    for version, times in ((1, {}), (3, {"times": 3})):
        record = {"op": "GappedHalf", "params": times, "version": version}
        assert isinstance(ops.deserialize(json.dumps(record).encode()), ops.OpBase)
    with pytest.raises(ValueError, match=r"GappedHalf: .*; got version 2, and the newest is 3"):
        ops.deserialize(b'{"op": "GappedHalf", "params": {}, "version": 2}')

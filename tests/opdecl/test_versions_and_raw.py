"""Row O4: several versions of an op, and ops written by hand, among the declarations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorlike.opdecl import DeclarationError, load_builtin, load_text
from tensorlike.opdecl.__main__ import main
from tensorlike.opdecl.compiler.emit_functional import emit_functional
from tensorlike.opdecl.compiler.emit_ops import emit_ops
from tensorlike.opdecl.compiler.emit_tables import emit_tables
from tensorlike.opdecl.compiler.registry import Declarations, declare_text

ROOT = Path(__file__).parents[2]

TEXT = """
- op: Halved
  args: [x: real floating-point]
  define: x / 2
  doc: A half.

- op: Halved
  version: 2
  args: [x: real floating-point]
  attrs: {times: {type: int, default: 1}}
  define: x / 2 ** times
  doc: A half, so many times.
"""
RAW = """
- op: Elsewhere
  raw: ops/elsewhere.py
  doc: An op whose class is written by hand.
"""


def extended(text: str) -> Declarations:
    return load_text(text, "test.yaml", base=load_builtin())


def test_row_o4_the_newest_version_has_the_name_and_the_code() -> None:
    declarations = extended(TEXT)
    (newest,), (older,) = declarations.new, declarations.older
    assert (newest.name, newest.function, newest.doc) == (
        "Halved",
        "halved",
        "A half, so many times.",
    )
    assert (older.name, older.newest, older.version) == ("HalvedV1", "Halved", 1)
    classes, calls = (emit(declarations)["test.py"] for emit in (emit_ops, emit_functional))
    assert 'class Halved(OpBase, native="Halved", version=2):' in classes
    assert "HalvedV1" not in classes
    assert calls.count("def halved(") == 1
    assert "halved_v1" not in calls


def test_row_o4_the_core_has_the_older_version_without_a_call() -> None:
    text = emit_tables(extended(TEXT))
    assert '{"op":{"name":"HalvedV1"' in text
    assert '{"function":{"name":"halved_v1"' not in text
    names = [spec.name for spec in declare_text(TEXT, base=load_builtin())]
    assert names == ["HalvedV1", "Halved", "halved"]


def test_row_o4_the_order_of_versions_does_not_matter() -> None:
    first, second = TEXT.strip().split("\n\n")
    declarations = extended(f"{second}\n\n{first}\n")
    assert [entry.name for entry in declarations.new] == ["Halved"]
    assert [entry.name for entry in declarations.older] == ["HalvedV1"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("two", "Halved: version: a number from 1 to 1000 is expected; got 'two'"),
        ("0", "Halved: version: a number from 1 to 1000 is expected; got '0'"),
        ("true", "Halved: version: a number from 1 to 1000 is expected; got 'true'"),
        ("1", "Halved: 'Halved' is declared already, at test.yaml:2"),
    ],
)
def test_row_o4_what_is_no_version_is_refused(said: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        extended(TEXT.replace("version: 2", f"version: {said}"))
    assert message in str(caught.value)


def test_row_o4_an_older_version_is_checked_as_the_newest_is() -> None:
    with pytest.raises(DeclarationError, match=r"HalvedV1: define: .*nothing_such"):
        extended(TEXT.replace("define: x / 2\n", "define: nothing_such(x)\n"))


def test_row_o4_only_ops_have_versions() -> None:
    text = "- scalar: f\n  version: 2\n  args: [x: numeric]\n  expr: x\n  doc: x.\n"
    with pytest.raises(DeclarationError, match="unknown key 'version'"):
        extended(text)


def test_row_o4_an_op_written_by_hand_is_skipped_by_the_emitters() -> None:
    declarations = extended(RAW)
    (raw,) = declarations.raw[-1:]
    assert (raw.name, raw.written_in) == ("Elsewhere", "ops/elsewhere.py")
    assert declarations.new == ()
    assert emit_ops(declarations).keys() == emit_ops(load_builtin()).keys()
    assert "Elsewhere" not in emit_tables(declarations)


def test_row_o4_an_op_written_by_hand_takes_its_name() -> None:
    with pytest.raises(DeclarationError, match=r"'Elsewhere' is declared already, at test.yaml:2"):
        extended(RAW + "\n- op: Elsewhere\n  args: [x: numeric]\n  define: x\n  doc: x.\n")


def test_row_o4_an_op_written_by_hand_has_no_other_keys() -> None:
    with pytest.raises(DeclarationError, match="Elsewhere: unknown key 'define'"):
        extended(RAW + "  define: x\n")


def test_row_o4_the_command_reports_what_it_skips(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out == "Skipped: Const, which is written by hand in ops/const.py\n"


def test_ops_written_by_hand_are_where_their_entries_say() -> None:
    for raw in load_builtin().raw:
        assert f"\nclass {raw.name}(" in (ROOT / raw.written_in).read_text(encoding="utf-8")

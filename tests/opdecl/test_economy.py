"""What a declaration costs: lines of YAML, and no second place."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

import pytest
from structure.rules import rule_keys

from tensorlike.opdecl import load_builtin
from tensorlike.opdecl.compiler.emit_docs import emit_docs, op_class_count
from tensorlike.opdecl.compiler.model import HANDWRITTEN, Entry
from tensorlike.opdecl.compiler.specs import OpSpec

ROOT = Path(__file__).parents[2]
DECLARED = load_builtin()
KINDS = ("scalar", "reduction", "op")


def lines_of(entry: Entry) -> int:
    """From the entry's first line to the next entry's, without blank lines and comments."""
    lines = (
        (ROOT / "opdecl" / f"{entry.stem}.yaml").read_text().splitlines()[entry.place.line - 1 :]
    )
    ends = [i for i, line in enumerate(lines) if i > 0 and line.startswith("- ")]
    own = lines[: ends[0] if ends else len(lines)]
    return sum(bool(line.strip()) and not line.lstrip().startswith(("#", "onnx:")) for line in own)


def test_declarations_stay_short() -> None:
    """Six lines for the median of all, as asked; ops take more: attributes, shapes, an example.

    A line that names the op of ONNX is not counted here: half of the scalars have one.
    """
    counts = {kind: [lines_of(e) for e in DECLARED.entries if e.kind == kind] for kind in KINDS}
    assert min(counts["scalar"]) >= 3
    assert statistics.median(counts["scalar"]) <= 5
    assert statistics.median(counts["reduction"]) <= 5
    assert statistics.median(counts["op"]) <= 14
    assert statistics.median([n for kind in KINDS for n in counts[kind]]) <= 6


def test_only_native_ops_need_a_second_file() -> None:
    """A rule in C++ belongs to a kernel in C++: whoever has only a body needs no other file."""
    needing = [
        entry.name
        for entry in DECLARED.entries
        if entry.grad is not None
        and entry.grad.kind == HANDWRITTEN
        and not getattr(entry, "kernel", "")
    ]
    assert needing == []


def test_the_number_of_op_classes_is_printed_in_the_documentation() -> None:
    count = op_class_count(DECLARED)
    assert count <= 88
    calls = len(DECLARED.functions)
    assert f"{calls} functional calls over {count} op classes." in emit_docs(DECLARED)["index.md"]


# The tables of rules in the core, by the kind of rule, and what names one in a declaration.
NAMED: dict[str, Callable[[OpSpec], str]] = {
    "InferRule": lambda spec: spec.infer,
    "KernelRule": lambda spec: spec.kernel,
    "ReduceRule": lambda spec: spec.kernel,
    "OrderRule": lambda spec: spec.kernel,
    "ViewRule": lambda spec: spec.kernel,
    "GradRule": lambda spec: spec.grad,
    "ExpandRule": lambda spec: spec.expand,
}


@pytest.mark.parametrize("kind", NAMED)
def test_every_rule_of_the_core_has_a_name_of_its_own_that_a_declaration_says(kind: str) -> None:
    specs = [spec for e in (*DECLARED.entries, *DECLARED.older) for spec in DECLARED.lower(e)]
    named = {NAMED[kind](spec) for spec in specs if isinstance(spec, OpSpec)}
    keys = [key for key, _ in rule_keys(kind)]
    assert keys
    assert set(keys) <= named
    assert len(keys) == len(set(keys))

"""What a declaration costs: lines of YAML, and no second place."""

from __future__ import annotations

import statistics
from pathlib import Path

from tensorlike.opdecl import load_builtin
from tensorlike.opdecl.compiler.emit_docs import emit_docs, op_class_count
from tensorlike.opdecl.compiler.model import HANDWRITTEN, Entry

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
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in own)


def test_declarations_stay_short() -> None:
    """Six lines for the median of all, as asked; ops take more: attributes, shapes, an example."""
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
    assert count <= 80
    calls = len(DECLARED.functions)
    assert f"{calls} functional calls over {count} op classes." in emit_docs(DECLARED)["index.md"]

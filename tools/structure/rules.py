"""What of the ops is declared, and what is written by hand beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from tensorlike.opdecl import load_builtin
from tensorlike.opdecl.compiler.formula_reader import load_formulas
from tensorlike.opdecl.compiler.model import (
    DefinedOp,
    NativeOp,
    OpEntry,
    ReductionEntry,
    ScalarEntry,
)
from tensorlike.opdecl.compiler.registry import Declarations
from tensorlike.opdecl.compiler.scalar_code import without_formula
from tensorlike.opdecl.compiler.specs import OpSpec

from .cpp_source import without_comments
from .sources import ROOT, cpp_files, text_of
from .table import Table

# A table of rules in the core, and its keys: {"attention", infer_attention}.
_TABLE = re.compile(
    r"std::pair<std::string_view,\s*(?:const )?(\w+)\*?>\s*\w+\[\]\s*=\s*\{(.*?)\};", re.DOTALL
)
_KEY = re.compile(r'\{\s*"(\w+)"')

# The lists that grow with every native op or with every family of them. A pattern that is found no
# longer says that the list has gone, and its row with it.
_LISTS = {
    "csrc/kernels/kernel_table.h": r"Kernels?> \w+;",
    "csrc/kernels/kernel_table.cpp": r"TL_PART\(\w+, ISA\)",
    "opdecl/oracle/reference.py": r'^    "\w+": ',
    "transforms/batching_rules.py": r"^RULES: ",
}
# What a native op is besides those: its declaration, and the files of its own.
_OWN = ("opdecl/*.yaml", "op/infer_*.cpp", "cpu/*.cpp", "kernels/*_tu.cpp",
        "rules/*.cpp", "opdecl/oracle/reference_*.py")  # fmt: skip


@lru_cache
def _declarations() -> Declarations:
    return load_builtin()


def rule_keys(kind: str) -> list[tuple[str, Path]]:
    """The rules of a kind that the core has by name, and the files that define them."""
    return [
        (key, path)
        for path in cpp_files()
        for found in _TABLE.finditer(without_comments(text_of(path)))
        if found[1] == kind
        for key in _KEY.findall(found[2])
    ]


def rule_names(kind: str) -> dict[str, Path]:
    """The same, by name."""
    return dict(rule_keys(kind))


def _newest() -> list[OpEntry]:
    return [e for e in _declarations().entries if isinstance(e, OpEntry) and e.is_newest]


def _spec(entry: OpEntry) -> OpSpec:
    return next(spec for spec in _declarations().lower(entry) if isinstance(spec, OpSpec))


def by_hand() -> Table:
    """How many op classes have a rule of a kind that is written in C++, and how long those are."""
    specs = [_spec(entry) for entry in _newest()]
    named: dict[str, Callable[[OpSpec], str]] = {
        "inference": lambda spec: spec.infer,
        "kernel": lambda spec: spec.kernel,
        "gradient": lambda spec: spec.grad,
        "body": lambda spec: spec.expand,
        "view": lambda spec: spec.kernel if spec.memory.view else "",
    }
    kinds = ("InferRule", "KernelRule", "GradRule", "ExpandRule", "ViewRule")
    folders = {"inference": "op/infer*.cpp", "gradient": "rules/*.cpp",
               "kernel": "cpu/*.cpp", "view": "op/views.cpp"}  # fmt: skip
    table = Table(
        "rules written by hand",
        ("op classes", "rules", "lines"),
        note=f"of {len(specs)} declared op classes; rules: keys of the core's tables; lines: "
        "of the files they stand in, whole",
    )
    any_rule = set()
    for (what, name_of), kind in zip(named.items(), kinds, strict=True):
        rules = rule_names(kind)
        if what == "kernel":
            rules |= rule_names("ReduceRule")
        own = {spec.name for spec in specs if name_of(spec) in rules}
        any_rule |= own
        table.rows[what] = (len(own), len(rules), _lines_of(folders.get(what, "")))
    table.rows["any of them"] = (len(any_rule), None, None)
    batch = {spec.batch for spec in specs if spec.batch} - {"each", "aligned", "none"}
    special = [spec for spec in specs if spec.batch in batch]
    path = ROOT / "transforms/batching_rules.py"
    table.rows["batching (Python)"] = (len(special), len(batch), len(text_of(path).splitlines()))
    return table


def _lines_of(pattern: str) -> int | None:
    if not pattern:
        return None
    return sum(len(text_of(path).splitlines()) for path in (ROOT / "csrc").glob(pattern))


def declared() -> Table:
    """How much of it a declaration says alone."""
    entries = _declarations().entries
    table = Table("what is declared", ("all", "by a formula or body", "native"))
    kinds: dict[str, tuple[type, ...]] = {
        "scalar functions": (ScalarEntry,),
        "reductions": (ReductionEntry,),
        "op classes": (DefinedOp, NativeOp),
    }
    for what, types in kinds.items():
        own = [entry for entry in entries if isinstance(entry, types) and entry.is_newest]
        native = sum(entry.is_native for entry in own)
        table.rows[what] = (len(own), len(own) - native, native)
    return table


def formulas() -> Table:
    """What a device needs to have by itself, so that the rest can be printed for it."""
    table = Table("formulas of scalar functions", ("functions",))
    table.rows["primitives"] = (len(load_formulas().primitives),)
    table.rows["without a formula"] = (len(without_formula(_declarations())),)
    return table


def a_native_op() -> Table:
    """The files that somebody edits or makes who adds a native op in a family of its own."""
    table = Table(
        "a native op in a new family",
        ("files", "entries now"),
        note="lists: files that name every op or family; own files: "
        + ", ".join(_OWN)
        + "; generated ones not counted",
    )
    lists = {
        name: len(re.findall(pattern, text_of(ROOT / name), re.MULTILINE))
        for name, pattern in _LISTS.items()
        if (ROOT / name).exists()
    }
    table.rows["lists to edit"] = (sum(map(bool, lists.values())), sum(lists.values()))
    for name, count in lists.items():
        table.rows[f"  {name}"] = (int(count > 0), count)
    own = [pattern for pattern in _OWN if _exists(pattern)]
    table.rows["files of its own"] = (len(own), None)
    table.rows["all"] = (len(own) + sum(map(bool, lists.values())), None)
    return table


def _exists(pattern: str) -> bool:
    root = ROOT if pattern.startswith("opdecl") else ROOT / "csrc"
    return any(True for _ in root.glob(pattern))

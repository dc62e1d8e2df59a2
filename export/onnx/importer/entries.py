"""What an entry of opdecl/onnx means, applied: its body, the fold of a function, or a rule."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cache
from typing import Any

from ....opdecl.compiler.onnx_entries import Entry, Input, entries, entry_for
from .body import function_named, run_body
from .rule_table import RULES

__all__ = ["Entry", "Input", "apply_entry", "entries", "entry_for"]


def apply_entry(entry: Entry, values: dict[str, Any], outputs: int) -> list[Any]:
    """The results for inputs and attributes under their names.

    Args:
        entry: the op.
        values: of all inputs and attributes.
        outputs: how many results the node has.
    """
    if entry.groups:
        return _by_groups(entry, values)
    if entry.meaning == "define":
        return run_body(entry.body[: max(outputs, 1)], values)
    if entry.meaning == "fold":
        return [_folded(entry.text, values[entry.inputs[0].name])]
    from .rules import FAMILIES  # each of them adds its rules to the table

    assert FAMILIES, "there are rules"
    if _takes_outputs(entry.text):
        values = {**values, "outputs": outputs}
    found = RULES[entry.text](**values)
    return list(found) if isinstance(found, tuple) else [found]


def _by_groups(entry: Entry, values: dict[str, Any]) -> list[Any]:
    """The results of each group, one kind after the other."""
    columns = zip(*(values[name] for name in entry.groups), strict=True)
    found = [
        run_body(entry.body, {**values, **dict(zip(entry.groups, group, strict=True))})
        for group in columns
    ]
    return [value for kind in zip(*found, strict=True) for value in kind]


@cache
def _takes_outputs(rule: str) -> bool:
    return "outputs" in inspect.signature(RULES[rule]).parameters


def _folded(name: str, values: Sequence[Any]) -> Any:
    function = function_named(name)
    assert function is not None, f"{name} is a function: the test of all entries says so"
    total = values[0]
    for value in values[1:]:
        total = function(total, value)
    return total

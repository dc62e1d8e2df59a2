"""Identities: what is the same, written in two ways; `identities/*.yaml` to data for the core.

Both sides are bodies, of ops that nobody calls: they are read and checked as declarations are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from .errors import DeclarationError, Problem
from .registry import ROOM, Declarations, declare_text
from .specs import IdentitySpec, OpSpec

FOLDER = ROOM / "identities"
HOLDS = ("exactly", "nearly", "definition", "body")
_KEYS = {"from", "to", "holds", "args", "attrs"}
# Names of arguments that need not be declared.
_USUAL = ("c", "x", "y", "z")
_CONDITION = "c"
_CATEGORIES = ("real numeric", "real floating-point", "boolean", "integer", "numeric")


def load_identities(declarations: Declarations) -> list[IdentitySpec]:
    """What the files hold.

    Raises:
        DeclarationError: a side is no body, a key is unknown.
    """
    specs = []
    for path in sorted(FOLDER.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            specs.append(_spec(entry, declarations, path.name))
    return specs


def _spec(entry: Mapping[str, Any], declarations: Declarations, file: str) -> IdentitySpec:
    if not {"from", "to", "holds"} <= set(entry) <= _KEYS or entry["holds"] not in HOLDS:
        text = f"{entry}: must have from, to, holds, and may have args, attrs"
        raise DeclarationError([Problem(file, 1, "identity", text)])
    text = f"{entry['from']} -> {entry['to']}"
    args = entry.get("args") or [name for name in _USUAL if _mentions(entry["from"], name)]
    sides = [
        _side(name, str(entry[key]), args, entry.get("attrs", {}), declarations)
        for name, key in (("IdentityFrom", "from"), ("IdentityTo", "to"))
    ]
    return IdentitySpec(text.replace("\n", "; "), entry["holds"], *sides)


def _mentions(text: Any, name: str) -> bool:
    return re.search(rf"\b{name}\b(?!\s*=[^=])", str(text)) is not None


def _arg(text: str, category: str) -> str:
    if ":" in text:
        return text
    return f"{text}: {'boolean' if text == _CONDITION else category}"


def _side(
    name: str, body: str, args: Sequence[str], attrs: Mapping[str, str], declarations: Declarations
) -> OpSpec:
    """The body as an op of the widest dtypes that its calls take."""
    failed: DeclarationError | None = None
    for category in _CATEGORIES:
        entry = {
            "op": name,
            "args": [_arg(arg, category) for arg in args],
            "attrs": {key: {"type": kind} for key, kind in attrs.items()},
            "define": body,
            "doc": "A side of an identity.",
        }
        try:
            specs = declare_text(json.dumps([entry]), path="identities", base=declarations)
        except DeclarationError as error:
            failed = failed or error
            continue
        return next(spec for spec in specs if isinstance(spec, OpSpec))
    assert failed is not None
    raise failed

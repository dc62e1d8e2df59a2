"""The ops of ONNX that are known, from onnx/*.yaml: what each takes, and what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from .errors import DeclarationError, Problem
from .expression import Expr, functions_called
from .onnx_bodies import NUMBER, RUN, read_body

FOLDER = Path(__file__).resolve().parent.parent / "onnx"
KEYS = {
    "onnx", "domain", "since", "inputs", "attrs", "among", "define", "fold", "rule", "sees_types",
    "draws",
}  # fmt: skip
MEANINGS = ("define", "fold", "rule")
# What an input becomes whose numbers must be known.
KNOWN_KINDS = ("ints", "int", "floats", "number", "scalar", "array")


@dataclass(frozen=True)
class Input:
    """An input: its name, how it is read, and whether it may be left out or is many.

    Attributes:
        kind: "" for a tensor; else one of `KNOWN_KINDS`.
    """

    name: str
    kind: str
    is_optional: bool
    is_variadic: bool

    @classmethod
    def read(cls, text: str) -> Input:
        """From `x`, `x?`, `*xs`, `axes?: ints`."""
        name, _, kind = (part.strip() for part in text.partition(":"))
        return cls(name.strip("*?"), kind, name.endswith("?"), name.startswith("*"))


@dataclass(frozen=True)
class Entry:
    """An op of ONNX since an opset.

    Attributes:
        meaning: "define", "fold" or "rule".
        text: the body; the function that is folded over the inputs; the rule's name.
        sees_types: whether element types narrower than any dtype are the meaning's own affair.
        draws: whether it draws random numbers.
        among: of attributes that have few values: which.
    """

    name: str
    domain: str
    since: int
    inputs: tuple[Input, ...]
    attrs: Mapping[str, Any]
    meaning: str
    text: str
    sees_types: bool
    draws: bool
    among: Mapping[str, Sequence[Any]]
    file: str = field(default="", compare=False)

    @cached_property
    def body(self) -> Sequence[Expr]:
        """The results of `define`.

        Raises:
            DeclarationError: the text is wrong.
        """
        tensors = [one.name for one in self.inputs if not one.kind]
        known = [one.name for one in self.inputs if one.kind]
        results, mistakes = read_body(self.text, tensors, {*self.attrs, *known})
        if mistakes:
            raise DeclarationError(
                Problem(self.file, line, self.name, text) for line, text in mistakes
            )
        return results

    @property
    def groups(self) -> list[str]:
        """Inputs that are as many each: the body is run for the first of all, and so on."""
        many = [one.name for one in self.inputs if one.is_variadic]
        return many if len(many) > 1 else []

    @property
    def calls(self) -> list[str]:
        """The functional calls that it makes; a rule's are not known."""
        if self.meaning == "fold":
            return [self.text]
        if self.meaning != "define":
            return []
        return [name for name in functions_called(self.body) if name not in (NUMBER, RUN, "size")]


@cache
def entries() -> Mapping[tuple[str, str], Sequence[Entry]]:
    """All entries by domain and name, each op's from the newest to the oldest.

    Raises:
        DeclarationError: a file is wrong.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the files are our own
    nodes = [
        (node, path.name)
        for path in sorted(FOLDER.glob("*.yaml"))
        for node in yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    ]
    everywhere = {k: v for node, _ in nodes if "onnx" not in node for k, v in node["among"].items()}
    found: dict[tuple[str, str], list[Entry]] = {}
    for node, file in nodes:
        if "onnx" in node:
            entry = _read(node, file, everywhere)
            found.setdefault((entry.domain, entry.name), []).append(entry)
    for versions in found.values():
        versions.sort(key=lambda entry: -entry.since)
    return found


def _read(node: dict[str, Any], file: str, everywhere: Mapping[str, Sequence[Any]]) -> Entry:
    name = str(node.get("onnx", ""))
    meanings = [key for key in MEANINGS if key in node]
    wrong = [f"unknown key {key!r}" for key in node if key not in KEYS]
    if len(meanings) != 1:
        wrong.append(f"must have one of {', '.join(MEANINGS)}; it has {len(meanings)}")
    inputs = tuple(Input.read(text) for text in node.get("inputs", ()))
    wrong += [
        f"{one.name}: unknown kind {one.kind!r}"
        for one in inputs
        if one.kind and one.kind not in KNOWN_KINDS
    ]
    attrs, own = node.get("attrs", {}), node.get("among", {})
    wrong += [f"among: there is no attribute {key!r}" for key in own if key not in attrs]
    if wrong:
        raise DeclarationError(Problem(file, 0, name, text) for text in wrong)
    meaning, domain = meanings[0], node.get("domain", "")
    return Entry(
        name, domain, node.get("since", 1), inputs, attrs, meaning, str(node[meaning]),
        bool(node.get("sees_types")), bool(node.get("draws")),
        {key: value for key, value in {**everywhere, **own}.items() if key in attrs}, file,
    )  # fmt: skip


def entry_for(domain: str, name: str, opset: int) -> Entry | None:
    """What an op means in an opset; None: there is no entry."""
    versions = entries().get((domain, name), ())
    return next((entry for entry in versions if entry.since <= opset), None)

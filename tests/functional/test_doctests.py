"""Every example in a docstring runs and prints what it says.

Functional calls are objects of the core, which doctest's own finder passes over: they are
collected by hand, and so are the members of public classes.
"""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from support.declarations import DECLARED

import tensorlike as tl
from tensorlike import export, functional, imperative, memory, nn, ops, optim, transforms
from tensorlike.opdecl.compiler.examples import example_lines
from tensorlike.opdecl.oracle.reference import Reference

MODULES = [
    tl,
    export,
    functional,
    functional.linalg,
    functional.special,
    imperative,
    memory,
    nn,
    ops,
    optim,
    transforms,
]
PARSER = doctest.DocTestParser()


def public_objects() -> Iterator[tuple[str, Any]]:
    for module in MODULES:
        yield module.__name__, module
        names = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
        for name in names:
            yield f"{module.__name__}.{name}", getattr(module, name)


def members(path: str, cls: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(cls).items():
        if not name.startswith("_"):
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            yield f"{path}.{name}", function


def documented() -> dict[str, str]:
    """Docstrings with an example, each once, by the first name that has it."""
    found: dict[str, str] = {}
    for path, value in public_objects():
        group = [(path, value)]
        if inspect.isclass(value):
            group += members(path, value)
        elif (
            type(value).__module__.startswith("tensorlike") and not callable(value)
        ) or isinstance(value, imperative.Apply):
            group += members(path, type(value))
        for name, thing in group:
            text = getattr(thing, "__doc__", None)
            text = inspect.cleandoc(text) if isinstance(text, str) else ""
            if ">>>" in text and text not in found.values():
                found[name] = text
    return found


DOCUMENTED = documented()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_example_prints_what_it_says(name: str) -> None:
    test = PARSER.get_doctest(DOCUMENTED[name], {}, name, None, None)
    report: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.REPORT_UDIFF
    results = doctest.DocTestRunner(optionflags=flags, verbose=False).run(test, out=report.append)
    assert results.attempted > 0
    assert results.failed == 0, "".join(report)


@pytest.mark.parametrize("entry", DECLARED.entries, ids=lambda entry: entry.function)
def test_every_functional_call_is_documented(entry: Any) -> None:
    """With what the declaration says, and with an example where one can be shown."""
    function = getattr(tl.functional, entry.function)
    text = inspect.cleandoc(function.__doc__)
    assert text.startswith(entry.doc.split(".")[0].split("\n")[0][:40])
    for arg in entry.args:
        assert f"\n    {arg.name}: " in text
    lines = example_lines(entry, Reference(DECLARED))
    assert (">>> import tensorlike as tl" in text) == bool(lines)
    assert function.__name__ == entry.function
    assert function.__module__.startswith("tensorlike.functional")


def test_the_examples_were_found() -> None:
    names = set(DOCUMENTED)
    assert {"tensorlike.exp", "tensorlike.functional.gelu", "tensorlike.Tensor"} <= names
    shown = [e for e in DECLARED.entries if example_lines(e, Reference(DECLARED))]
    assert len([n for n in names if n.startswith("tensorlike.")]) >= len(shown)

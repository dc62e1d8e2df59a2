"""What an entry may be made of, by where it is declared.

The built-in declarations have a compiler: kernels, inference and gradients of theirs stand in C++.
What is declared at run time has none. It brings a body; or kernels: of a library that whoever
declares it names, or functions of Python, where it is said that they may be imported. Both are
code, which runs when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from .memory import NO_WISHES
from .model import HANDWRITTEN, Entry, OpEntry, RawOp, ReductionEntry, ScalarEntry
from .read_op import snake_case

# From an entry to what is wrong with it in that place.
CheckPlace: TypeAlias = Callable[[Entry], Iterator[str]]


def python_rules(entry: Entry) -> dict[str, str]:
    """The functions of Python that an entry names, as `module:function`, by their keys."""
    if not isinstance(entry, OpEntry):
        return {}
    named = {"kernel": entry.kernel, "infer": entry.infer}
    return {key: rule for key, rule in named.items() if ":" in rule}


def with_library(entry: Entry, library: str) -> Entry:
    """The entry with the file of the library that has its kernel, if it names one there."""
    if not isinstance(entry, OpEntry) or not entry.kernel or "kernel" in python_rules(entry):
        return entry
    is_usual = entry.infer == snake_case(entry.name)
    return replace(entry, library=library, infer="" if is_usual else entry.infer)


def check_built_in(entry: Entry) -> Iterator[str]:
    """The core finds its rules in C++."""
    for key, rule in python_rules(entry).items():
        yield f"{key}: {rule} is a function of Python; those are for tensorlike.declare"


def check_importing(entry: Entry) -> Iterator[str]:
    """What needs the compiler cannot be declared at run time."""
    if isinstance(entry, ReductionEntry) and entry.is_native:
        yield "a native reduction needs the compiler; write `map`"
    elif isinstance(entry, ScalarEntry) and entry.is_native:
        yield "the key 'expr' is missing: the function has no meaning"
    elif isinstance(entry, RawOp):
        yield "raw: an op written by hand is its class; import that, and leave the entry out"
    elif isinstance(entry, OpEntry):
        yield from _check_op(entry)


def check_run_time(entry: Entry) -> Iterator[str]:
    """The same where nothing may be imported."""
    yield from check_importing(entry)
    for key, rule in python_rules(entry).items():
        yield f"{key}: {rule} is code; declare(..., imports=True) imports it"


def _check_op(entry: OpEntry) -> Iterator[str]:
    if entry.library:
        yield from _check_of_library(entry)
    else:
        yield from _check_without_library(entry)
    if entry.expand:
        yield "expand: a body in C++ needs the compiler; write `define`"
    if entry.grad is not None and entry.grad.kind == HANDWRITTEN:
        yield "has no gradient; write `grad:` with a rule for each input, or `grad: none`"


def _check_of_library(entry: OpEntry) -> Iterator[str]:
    if entry.infer:
        yield "infer: the library lists inference beside the kernel; leave it out"
    if entry.memory.view:
        yield "view: that is for kernels of the core; leave it out"


def _check_without_library(entry: OpEntry) -> Iterator[str]:
    rules = python_rules(entry)
    if entry.kernel and "kernel" not in rules:
        yield (
            "a kernel needs the compiler, or is a function of Python; write `define`, or "
            "`kernel: {cpu: module:function}`, or name its library: declare(..., library=...)"
        )
    elif entry.infer and "infer" not in rules:
        yield "infer: inference needs the compiler, or is a function of Python: module:function"
    elif entry.infer and not entry.kernel:
        yield "infer: the body says it; leave it out, or write `kernel` too"
    elif entry.is_native and not entry.infer and not entry.shapes.cases:
        yield (
            "the key 'shapes' is missing: x(...) -> (...); or 'infer': module:function, which "
            "takes tensors without elements and returns such"
        )
    if entry.memory.view or entry.memory != NO_WISHES:
        key = "view" if entry.memory.view else "memory"
        yield f"{key}: that is for kernels of the core; NumPy's arrays come as they lie"

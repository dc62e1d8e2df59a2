"""Emits functional/generated/: one typed, documented function for each functional call."""

from __future__ import annotations

from collections.abc import Sequence

from .evaluate import Evaluator
from .examples import example_lines
from .model import AttrDecl, Entry, ReductionEntry
from .python_text import (
    annotation,
    describe_args,
    describe_errors,
    describe_result,
    describe_source,
    docstring,
    formula_lines,
    header,
    literal,
    natural_key,
    parameter,
    section,
    signature,
)
from .registry import Declarations


def emit_functional(declarations: Declarations) -> dict[str, str]:
    """The files of functional/generated/ by name."""
    from ..oracle.reference import Reference  # what calls look like is asked for at run time, too

    reference = Reference(declarations)
    files: dict[str, str] = {}
    names: dict[str, list[str]] = {}
    for stem in declarations.stems:
        entries = declarations.calls_of_stem(stem)
        names[stem] = [entry.function for entry in entries]
        files[f"{stem}.py"] = _file(stem, entries, reference)
    files["__init__.py"] = _emit_init(names)
    return files


def _file(stem: str, entries: Sequence[Entry], evaluator: Evaluator) -> str:
    blocks = [_function(entry, evaluator) for entry in entries]
    text = "\n".join(line for block in blocks for line in block)
    source = f"opdecl/{stem}.yaml"
    lines = [*header("emit_functional", source), '# mypy: disable-error-code="empty-body"']
    lines += [f'"""The functional calls that {source} declares."""', ""]
    lines += ["from __future__ import annotations", ""]
    if "Sequence[" in text:
        lines.append("from collections.abc import Sequence")
    if "Literal[" in text:
        lines.append("from typing import Literal")
    if "Sequence[" in text or "Literal[" in text:
        lines.append("")
    tensors = ["Tensor", "TensorLike"] if "TensorLike" in text else ["Tensor"]
    lines.append(f"from ...imperative import {', '.join([*tensors, 'native'])}")
    for block in blocks:
        lines += ["", "", *block]
    return "\n".join([*lines, ""])


def _emit_init(names: dict[str, list[str]]) -> str:
    lines = header("emit_functional", "opdecl/*.yaml")
    lines += ['"""The functional calls that the declarations make."""', ""]
    lines += ["from __future__ import annotations", ""]
    for stem in sorted(names):
        lines += [
            f"from .{stem} import {name} as {name}" for name in sorted(names[stem], key=natural_key)
        ]
    everything = sorted(name for group in names.values() for name in group)
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in everything), "]", ""]
    return "\n".join(lines)


def _function(entry: Entry, evaluator: Evaluator) -> list[str]:
    doc = docstring([*_sections(entry), _example(entry, evaluator)])
    returns = "Tensor" if entry.output_count == 1 else "tuple[Tensor, ...]"
    head = signature(entry.function, parameters_of(entry), returns)
    return [f"# {entry.source}", "@native", *head, *doc, "    ..."]


def _sections(entry: Entry) -> list[Sequence[str]]:
    return [
        [entry.doc],
        formula_lines(entry),
        section("Args", describe_args(entry)),
        section("Returns", describe_result(entry)),
        section("Raises", describe_errors(entry)),
        section("Source", describe_source(entry)),
    ]


def functional_doc(entry: Entry) -> str:
    """The documentation of a call that is declared at run time: no file will hold it."""
    return "\n\n".join("\n".join(lines) for lines in _sections(entry) if lines)


def _example(entry: Entry, evaluator: Evaluator) -> list[str]:
    lines = example_lines(entry, evaluator)
    return ["Example:", *(f"    {line}" for line in lines)] if lines else []


def parameters_of(entry: Entry) -> list[str]:
    """The parameters of the call: tensors, then attributes."""
    parameters: list[str] = []
    for i, arg in enumerate(entry.args):
        if arg.is_optional:
            parameters.append(f"{arg.name}: TensorLike | None = None")
        elif arg.default is not None:
            parameters.append(f"{arg.name}: TensorLike = {literal(arg.default)}")
        elif not arg.is_variadic:
            parameters.append(f"{arg.name}: TensorLike")
        elif i == 0:
            parameters.append(f"{arg.name}: Sequence[TensorLike]")
        else:
            parameters.append(f"*{arg.name}: TensorLike")
    return [*parameters, *(parameter(attr, _accepted(attr, entry)) for attr in entry.attrs)]


def _accepted(attr: AttrDecl, entry: Entry) -> str:
    if attr.type == "axis" and isinstance(entry, ReductionEntry) and entry.is_native:
        return "int | None"
    return annotation(attr, is_held=False)

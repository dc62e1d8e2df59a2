"""Emits ops/generated/: one class for each op, and the classes of scalars and reductions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .lower import ELEMWISE, REDUCE
from .model import AXIS, KEEPDIMS, SUM_DTYPE, AttrDecl, OpEntry
from .python_text import (
    WIDTH,
    annotation,
    describe_args,
    describe_attrs,
    describe_errors,
    describe_result,
    describe_source,
    docstring,
    formula_lines,
    header,
    natural_key,
    parameter,
    section,
    wrapped,
)
from .registry import Declarations

MODE = "mode: the name of the declared"


def emit_ops(declarations: Declarations) -> dict[str, str]:
    """The files of ops/generated/ by name."""
    classes: dict[str, list[str]] = {}
    files: dict[str, str] = {}
    for stem, name, emit in (
        ("elemwise", ELEMWISE.name, _emit_elemwise),
        ("reduce", REDUCE.name, _emit_reduce),
    ):
        classes[stem] = [name]
        files[f"{stem}.py"] = _file("opdecl/*.yaml", f"The class {name}.", [emit(declarations)])
    for stem in declarations.stems:
        ops = [entry for entry in declarations.of_stem(stem) if isinstance(entry, OpEntry)]
        if ops:
            classes[stem] = [entry.name for entry in ops]
            source = f"opdecl/{stem}.yaml"
            title = f"The op classes that {source} declares."
            files[f"{stem}.py"] = _file(source, title, [_emit_op(entry) for entry in ops])
    files["__init__.py"] = _emit_init(classes)
    return files


def _file(source: str, title: str, blocks: Iterable[Sequence[str]]) -> str:
    lines = [*header("emit_ops", source), f'"""{title}"""', ""]
    blocks = list(blocks)
    has_words = any("Literal[" in line for block in blocks for line in block)
    typing = "TYPE_CHECKING, Literal" if has_words else "TYPE_CHECKING"
    lines += ["from __future__ import annotations", "", f"from typing import {typing}", ""]
    lines.append("from ..base import OpBase")
    for block in blocks:
        lines += ["", "", *block]
    return "\n".join([*lines, ""])


def _emit_init(classes: dict[str, list[str]]) -> str:
    lines = header("emit_ops", "opdecl/*.yaml")
    lines += ['"""The op classes that the declarations make."""', ""]
    lines += ["from __future__ import annotations", "", "from typing import TYPE_CHECKING", ""]
    lines += ["from ..late import late", "", "if TYPE_CHECKING:"]
    for stem in sorted(classes):
        imports = [f"{name} as {name}" for name in sorted(classes[stem], key=_as_ruff)]
        lines += [f"    from .{stem} import {name}" for name in imports]
    module_of = {name: stem for stem, group in classes.items() for name in group}
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in sorted(module_of)), "]", ""]
    lines += ["_LATE = {"]
    lines += [f'    "{name}": ".{module_of[name]}",' for name in sorted(module_of)]
    lines += ["}", "__getattr__ = late(__name__, _LATE)", "", "", "def __dir__() -> list[str]:"]
    lines += ['    """What is here, loaded or not."""', "    return sorted(__all__)", ""]
    return "\n".join(lines)


def _as_ruff(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """Where ruff puts a class among imports: LU before Cholesky, Eigh before EigVals."""
    return not name.isupper(), natural_key(name.lower())


def _class(name: str, doc: list[str], attrs: Sequence[AttrDecl], version: int = 1) -> list[str]:
    said = f", version={version}" if version > 1 else ""
    lines = [f'class {name}(OpBase, native="{name}"{said}):', *doc, "", "    __slots__ = ()"]
    typed = [(attr, annotation(attr, is_held=True)) for attr in attrs]
    lines += [line for attr, kind in typed for line in wrapped(f"{attr.name}: {kind}", "    ")]
    lines += ["", "    if TYPE_CHECKING:", ""]
    parameters = [parameter(attr, kind) for attr, kind in typed]
    parameters = ["self", "*", *parameters] if parameters else ["self"]
    one = f"        def __init__({', '.join(parameters)}) -> None: ..."
    if len(one) <= WIDTH:
        return [*lines, one]
    inner = f"            {', '.join(parameters)}"
    indent = " " * 12
    each = [line for item in parameters for line in wrapped(f"{item},", indent)]
    body = [inner] if len(inner) <= WIDTH else each
    return [*lines, "        def __init__(", *body, "        ) -> None: ..."]


def _emit_op(entry: OpEntry) -> list[str]:
    inputs = [line for line in describe_args(entry) if line not in describe_attrs(entry)]
    doc = docstring(
        [
            [entry.doc],
            formula_lines(entry),
            section("Args", describe_attrs(entry)),
            section("Inputs", inputs),
            section("Returns", describe_result(entry)),
            section("Raises", describe_errors(entry)),
            section("Source", describe_source(entry)),
        ]
    )
    return [f"# {entry.source}", *_class(entry.name, doc, entry.own_attrs, entry.version)]


def _emit_elemwise(declarations: Declarations) -> list[str]:
    doc = docstring(
        [
            ["Applies a declared scalar function to each element."],
            section("Args", [f'{MODE} scalar function, such as "exp".']),
            section("Inputs", ["As many tensors as the function has arguments; they broadcast."]),
            section("Returns", ["As many tensors as the function has outputs."]),
            section("Source", ["Declared by the entries `scalar:` of opdecl/*.yaml."]),
        ]
    )
    return _class("Elemwise", doc, [AttrDecl("mode", "str")])


def _emit_reduce(declarations: Declarations) -> list[str]:
    attrs = [AttrDecl("mode", "str"), AXIS, KEEPDIMS, SUM_DTYPE]
    told = [f"{attr.name}: {attr.doc}" for attr in attrs[1:]]
    doc = docstring(
        [
            ["Reduces axes of a tensor by a declared reduction."],
            section("Args", [f'{MODE} reduction, such as "sum".', *told]),
            section("Inputs", ["x: any shape."]),
            section("Returns", ["One tensor, without the reduced axes."]),
            section("Source", ["Declared by the entries `reduction:` of opdecl/*.yaml."]),
        ]
    )
    return _class("Reduce", doc, attrs)

"""Emits imperative/generated/methods.py: the functional calls that are methods of Tensor.

Declared calls are methods where their entry says so; `methods.py` lists composed calls, whose
signatures are read from the files of `functional`, and the names that methods have elsewhere.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .emit_functional import parameters_of
from .methods import COMPOSED, PROPERTIES, SYNONYMS
from .model import Entry
from .python_text import docstring, header, literal, signature
from .registry import Declarations

# What an annotation of a method may name; anything else is Any.
KNOWN_TYPES = frozenset(
    ["TensorLike", "Tensor", "Sequence", "Any", "int", "float", "bool", "str", "object"]
)


@dataclass(frozen=True, slots=True)
class Method:
    """A method: the call that it is, what follows the tensor, what comes out, the first words."""

    call: str
    is_declared: bool
    parameters: tuple[str, ...]
    returns: str
    doc: str
    place: str


def emit_methods(declarations: Declarations, functional: Path | None = None) -> dict[str, str]:
    """The files of imperative/generated/ by name; without `functional`, declared calls alone."""
    calls = {name: declared_method(entry) for name, entry in declarations.functions.items()}
    if functional is not None:
        calls |= dict(composed_methods(functional))
    methods = {
        name: calls[name] for name, entry in declarations.functions.items() if entry.is_method
    }
    others = {**{name: name for name in (*COMPOSED, *PROPERTIES)}, **SYNONYMS}
    methods |= {name: calls[call] for name, call in others.items() if call in calls}
    if functional is not None and (missing := sorted(set(others.values()) - set(calls))):
        raise KeyError(f"methods.py: there are no calls {', '.join(missing)}")
    blocks = [_method(name, methods[name]) for name in sorted(methods)]
    return {"__init__.py": _init(), "methods.py": _file(blocks)}


def declared_method(entry: Entry) -> Method:
    """An entry whose first argument is the tensor."""
    parameters = tuple(parameters_of(entry)[1:])
    returns = "Tensor" if entry.output_count == 1 else "tuple[Tensor, ...]"
    return Method(entry.function, True, parameters, returns, entry.doc, entry.source)


def composed_methods(functional: Path) -> Iterator[tuple[str, Method]]:
    """The public functions of the folder, by the name under which `functional` has them."""
    wanted = {*COMPOSED, *SYNONYMS.values()}
    for path in sorted([*functional.glob("*.py"), *functional.glob("linalg/*.py")]):
        for node in ast.parse(path.read_text("utf-8")).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            name = node.name if path.parent == functional else f"linalg.{node.name}"
            if name in wanted:
                doc = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
                place = path.relative_to(functional.parent).as_posix()
                returns = _annotation(node.returns)
                yield name, Method(name, False, _parameters(node.args), returns, doc, place)


def _parameters(args: ast.arguments) -> tuple[str, ...]:
    """What follows the first parameter."""
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + [*args.defaults]
    found = [_parameter(arg, default) for arg, default in zip(plain, defaults, strict=True)][1:]
    if args.kwonlyargs:
        found.append("*")
    pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return (*found, *(_parameter(arg, default) for arg, default in pairs))


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    text = f"{arg.arg}: {_annotation(arg.annotation)}"
    if default is None:
        return text
    shown = literal(default.value) if isinstance(default, ast.Constant) else ast.unparse(default)
    return f"{text} = {shown}"


def _annotation(node: ast.expr | None) -> str:
    names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)} if node else {""}
    return ast.unparse(node) if node and names <= KNOWN_TYPES | {"tuple"} else "Any"


def _init() -> str:
    lines = header("emit_methods", "opdecl/*.yaml")
    return "\n".join([*lines, '"""What the declarations make of Tensor."""', ""])


def _file(blocks: list[list[str]]) -> str:
    text = "\n".join(line for block in blocks for line in block)
    lines = [*header("emit_methods", "opdecl/*.yaml and opdecl/compiler/methods.py")]
    lines += ['# mypy: disable-error-code="empty-body"']
    lines += ['"""The functional calls that are methods of Tensor."""', ""]
    lines += ["from __future__ import annotations", ""]
    if "Sequence[" in text:
        lines += ["from collections.abc import Sequence"]
    typing = ["TYPE_CHECKING", "Any"] if "Any" in text else ["TYPE_CHECKING"]
    lines += [f"from typing import {', '.join(typing)}", ""]
    lines += ["from ... import _C", "from ..calls import TensorLike, composed, declared", ""]
    lines += ["if TYPE_CHECKING:", "    from ..tensor import Tensor", "", ""]
    lines += ["class TensorMethods(_C.TensorWrapper):"]
    lines += [
        '    """The methods of Tensor that are functional calls with the tensor first."""',
        "",
    ]
    lines += ["    __slots__ = ()"]
    for block in blocks:
        lines += ["", *block]
    return "\n".join([*lines, ""])


def _method(name: str, method: Method) -> list[str]:
    kind = "declared" if method.is_declared else "composed"
    doc = textwrap.wrap(method.doc, 88, break_long_words=False, break_on_hyphens=False)
    said = [doc, [f"As `tensorlike.functional.{method.call}`, with the tensor first."]]
    head = signature(name, ["self", *method.parameters], method.returns, "    ")
    return [
        f"    # {method.place}",
        *(["    @property"] if name in PROPERTIES else []),
        f'    @{kind}("{method.call}")',
        *head,
        *docstring(said, "        "),
        "        ...",
    ]

"""Functions of rewritten trees: of the user's file and lines, closures and globals."""

from __future__ import annotations
import __future__

import ast
import sys
from copy import copy
from functools import partial
from threading import RLock
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple, cast

from . import settings
from .calls import Calls
from .cases import Cases
from .checks import Checks
from .conditions import Conditions
from .control_flow import ControlFlow
from .jumps import Jumps
from .operators import Operators
from .returns import Returns
from .source import Source, source_of
from .syntax import refuse_syntax
from .targets import Targets
from .templates import OPERATORS, Pass

# In their order; `set_code_level(n)` shows the tree after the n-th.
TRANSFORMERS: tuple[type[Pass], ...] = (
    Returns, Jumps, Checks, Targets, Conditions, Calls, ControlFlow,
)  # fmt: skip
_FUTURES = __future__.annotations.compiler_flag  # the one that still changes what is compiled


class Conversion(NamedTuple):
    """What was made of a function's source.

    Attributes:
        code: its code, which runs with the closure of the function and one cell more.
        text: the rewritten source.
        operators: what the code calls.
    """

    code: CodeType
    text: str
    operators: Operators


_made: dict[tuple[str, CodeType], Conversion] = {}  # equal code may stand in two files
_results: set[CodeType] = set()  # the code of converted functions, and of those inside of them
_lock = RLock()


def is_converted(function: FunctionType) -> bool:
    """Whether a function came from rewritten source."""
    return function.__code__ in _results


def is_converted_code(code: CodeType) -> bool:
    """Whether code came from rewritten source: of a function, or of a body inside of one."""
    return code in _results


def conversion_of(function: FunctionType) -> Conversion:
    """Rewrites a function's source, once.

    Raises:
        ConversionError: it cannot be part of a program.
    """
    key = function.__code__.co_filename, function.__code__
    with _lock:
        if key not in _made:
            _made[key] = _convert(function)
        return _made[key]


def converted(function: FunctionType) -> FunctionType:
    """The function after conversion, with the same closure, globals and defaults.

    Raises:
        ConversionError: it cannot be part of a program.
    """
    if is_converted(function):
        return function
    made = conversion_of(function)
    return remade(function, made.code, made.operators)


def remade(function: FunctionType, code: CodeType, operators: Any) -> FunctionType:
    """A function of other code, with the same closure, globals and defaults.

    Args:
        function: whose they are.
        code: of `compiled`.
        operators: what the code knows by the name `OPERATORS`.
    """
    names = function.__code__.co_freevars
    cells = dict(zip(names, function.__closure__ or (), strict=True))
    cells[OPERATORS] = CellType(operators)
    closure = tuple(cells[name] for name in code.co_freevars)
    found = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    found.__kwdefaults__ = function.__kwdefaults__
    found.__qualname__ = function.__qualname__
    found.__doc__ = function.__doc__
    found.__module__ = function.__module__
    found.__dict__.update(function.__dict__)
    return found


def _convert(function: FunctionType) -> Conversion:
    source = source_of(function)
    refuse_syntax(source)
    node = Cases(source.filename).visit(as_definition(source.node))
    settings.tell(1, f"converting {function.__qualname__} of {source.filename}:{node.lineno}")
    for level, transformer in enumerate(TRANSFORMERS, 1):
        made = transformer(source.filename).visit(node)
        if not isinstance(made, ast.FunctionDef):
            raise TypeError(f"{transformer.__name__} made a {type(made).__name__}")
        node = ast.fix_missing_locations(made)
        settings.show(level, transformer.__name__, partial(ast.unparse, node))
    name = function.__code__.co_name
    code = compiled(node, source, function, name)
    operators = Operators(callee, source.filename)
    return Conversion(code, ast.unparse(node), operators)


def as_definition(node: Any) -> ast.FunctionDef:
    """The function without what was evaluated when it was defined."""
    if isinstance(node, ast.Lambda):
        body = [ast.copy_location(ast.Return(value=node.body), node.body)]
        made = ast.parse("def _jit_lambda(): pass").body[0]
        made = cast("ast.FunctionDef", ast.copy_location(made, node))
        made.args, made.body = node.args, cast("list[ast.stmt]", body)
        node = made
    node.decorator_list, node.returns = [], None
    args = node.args
    args.defaults, args.kw_defaults = [], [None] * len(args.kwonlyargs)
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if arg is not None:
            arg.annotation = None
    if not _is_plain(node):
        node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node)]
    return cast("ast.FunctionDef", node)


def _is_plain(node: ast.FunctionDef) -> bool:
    """Whether there is no docstring, which stays with the function."""
    first = node.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return not (is_text and isinstance(first.value.value, str))  # type: ignore[attr-defined]


def compiled(node: ast.FunctionDef, source: Source, function: FunctionType, name: str) -> CodeType:
    """The code of the function: that of one inside of another, which has its free variables."""
    frees = [x for x in function.__code__.co_freevars if x != "__class__"]
    outer = cast("ast.FunctionDef", ast.parse("def _jit_outer(): pass").body[0])
    names = " = ".join([*frees, OPERATORS])
    outer.body = ast.parse(f"{names} = None").body
    # Of another name, so that what a function of a module calls by its own name stays global.
    node = copy(node)
    node.name = "_jit_function"
    inner: ast.stmt = node
    if source.owner is not None:  # in whose body private names are spelt otherwise
        holder = cast("ast.ClassDef", ast.parse(f"class {source.owner}: pass").body[0])
        holder.body = [node]
        inner = holder
    outer.body.append(inner)
    if "__class__" in function.__code__.co_freevars and source.owner is None:
        outer.body[:1] = ast.parse(f"{names} = __class__ = None").body
    module = ast.fix_missing_locations(ast.Module(body=[outer], type_ignores=[]))
    flags = function.__code__.co_flags & _FUTURES
    whole = compile(module, source.filename, "exec", flags=flags, dont_inherit=True)
    found = _inner_code(_inner_code(whole, "_jit_outer"), source.owner, node.name)
    qualified = getattr(function.__code__, "co_qualname", name)
    return _renamed(found, name, qualified)


def _inner_code(code: CodeType, *path: str | None) -> CodeType:
    for name in path:
        if name is not None:
            inner = [x for x in code.co_consts if isinstance(x, CodeType) and x.co_name == name]
            code = inner[-1]
    return code


def _renamed(code: CodeType, name: str, qualified: str) -> CodeType:
    """The same code under the user's name: tracebacks show what was written."""
    constants = []
    for value in code.co_consts:
        if isinstance(value, CodeType):
            is_ours = value.co_name.startswith("_jit_")
            inner = value.co_name
            value = _renamed(
                value,
                name if is_ours else inner,
                qualified if is_ours else f"{qualified}.<locals>.{inner}",
            )
        constants.append(value)
    changes: dict[str, Any] = {"co_name": name, "co_consts": tuple(constants)}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = qualified
    made = code.replace(**changes)
    _results.add(made)
    return made


def callee(function: Any) -> Any:
    """What a call in converted code calls: functions of the user are converted."""
    from .callees import converted_callee  # which asks for conversions in turn

    return converted_callee(function)

"""Names, words and signatures of functional calls that were declared at run time."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from .. import _C

_EITHER = Parameter.POSITIONAL_OR_KEYWORD


def described(entry: Any) -> _C.Function:
    """The functional call of an entry, as a function of this name, with its documentation."""
    from ..opdecl.compiler.emit_functional import functional_doc  # reads no YAML; made on use

    call: Any = _C.Function(entry.function)
    call.__name__ = call.__qualname__ = entry.function
    call.__doc__ = functional_doc(entry)
    call.__signature__ = _signature(entry)
    return call  # type: ignore[no-any-return]


def _signature(entry: Any) -> Signature:
    parameters = []
    is_variadic = False
    for arg in entry.args:
        default: Any = Parameter.empty if arg.default is None else arg.default
        if arg.is_variadic and not arg.is_optional:
            is_variadic = True
            parameters.append(Parameter(arg.name, Parameter.VAR_POSITIONAL))
        else:
            default = None if arg.is_optional else default
            parameters.append(Parameter(arg.name, _EITHER, default=default))
    has_default = any(p.default is not Parameter.empty for p in parameters)
    by_name = is_variadic or (has_default and any(attr.is_required for attr in entry.attrs))
    kind = Parameter.KEYWORD_ONLY if by_name else _EITHER
    for attr in entry.attrs:
        default = Parameter.empty if attr.is_required else attr.default
        parameters.append(Parameter(attr.name, kind, default=default))
    return Signature(parameters)

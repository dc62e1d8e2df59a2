"""Tensors and numbers of Python's that meet where paths join: the dtype and the value they take."""

from __future__ import annotations

import dis
import linecache
from types import CodeType
from typing import Any

from ... import _C
from ...imperative import Size
from ...imperative.blocks import Block
from ...imperative.levels import unwrapped
from .slots import Leaf

_OF_NUMBERS = {bool: _C.bool_, int: _C.int64, float: _C.float32, complex: _C.complex64}
_FITTING = {
    bool: ("bool",),
    int: ("signed integer", "unsigned integer", "integer", "floating", "complex"),
    float: ("floating", "complex"),
    complex: ("complex",),
}
_ORDER = (int, float, complex)


def dtype_of(leaf: Leaf) -> Any:
    """The dtype of a tensor, or the one that a number has by itself."""
    return leaf.value.dtype if leaf.is_tensor else _OF_NUMBERS[type(leaf.original)]


def common_dtype(first: Leaf, second: Leaf) -> Any:
    """The dtype of both; numbers take that of a tensor. None: there is none."""
    if first.is_tensor and second.is_tensor:
        return first.value.dtype if first.value.dtype is second.value.dtype else None
    if first.is_tensor or second.is_tensor:
        tensor, number = (first, second) if first.is_tensor else (second, first)
        fits = tensor.value.dtype.kind in _FITTING[type(number.original)]
        return tensor.value.dtype if fits else None
    kinds = {type(first.original), type(second.original)}
    if len(kinds) == 1:
        return dtype_of(first)
    if bool in kinds:
        return None
    return _OF_NUMBERS[max(kinds, key=_ORDER.index)]


def is_alike(first: Any, second: Any) -> bool:
    """Whether two shapes are the same, as far as they are known."""
    pairs = zip(first, second, strict=False)
    return len(first) == len(second) and all(
        isinstance(a, Size) or isinstance(b, Size) or a == b for a, b in pairs
    )


def shape_of(leaf: Leaf) -> Any:
    """The shape; of a number ()."""
    return leaf.value.shape if leaf.is_tensor else ()


def value_of(leaf: Leaf, dtype: Any) -> Any:
    """A tensor-like: of a number the constant."""
    return leaf.value if leaf.is_tensor else unwrapped(_C.tensor(leaf.original, dtype))


def number_in(block: Block, leaf: Leaf, dtype: Any) -> int:
    """The variable of a block that a leaf is."""
    return block.take(value_of(leaf, dtype)).number


def described(found: Any) -> str:
    """What a snapshot is, for errors."""
    if isinstance(found, Leaf):
        if not found.is_tensor:
            return f"the {type(found.original).__name__} {found.original!r}"
        return f"{found.value.dtype.name}{tuple(found.value.shape)}"
    value = found.original
    if isinstance(value, (list, tuple, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    if value is None or isinstance(value, (str, bytes)):
        return repr(value)
    return f"{value!r}" if repr(value) == "no value" else f"a {type(value).__name__}"


def line_of(function: Any, name: str, default: int) -> int:
    """The last line of a body that assigns to a variable."""
    function = getattr(function, "func", function)  # of a partial
    if function is None:
        return default
    found = [line for line in _stores(function.__code__, name) if line is not None]
    return max(found, default=default)


def _stores(code: CodeType, name: str) -> list[int | None]:
    lines: list[int | None] = []
    line: int | None = code.co_firstlineno
    starts = dict(dis.findlinestarts(code))
    for instruction in dis.get_instructions(code):
        line = starts.get(instruction.offset, line)
        if instruction.opname.startswith("STORE_") and instruction.argval == name:
            lines.append(line)
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and name in inner.co_freevars:
            lines += _stores(inner, name)
    return lines


def quoted(filename: str, line: int) -> str:
    """A line of the user's for an error."""
    return f'line {line}: "{linecache.getline(filename, line).strip()}"'

"""OnnxNode: an op of ONNX that an entry of the declarations is, as the key `onnx` says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .expression import Category

OnnxValue: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class OnnxInput:
    """An input of ONNX's op: an argument of ours, or an attribute as a tensor of int64."""

    name: str
    is_list: bool = False  # of an attribute: it has one dimension, even if it is one number


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """An op of ONNX that an entry is.

    `attrs` and `fixed` are by ONNX's names, `when` by ours: attributes, and arguments that must be
    literals. `of` is the category of dtypes for which it holds, `since` the first opset.
    """

    op: str
    inputs: tuple[OnnxInput, ...]
    attrs: tuple[tuple[str, str], ...] = ()
    fixed: tuple[tuple[str, OnnxValue], ...] = ()
    when: tuple[tuple[str, OnnxValue], ...] = ()
    of: Category | None = None
    since: int = 1

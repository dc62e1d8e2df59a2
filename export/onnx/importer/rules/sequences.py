"""Sequences, which are lists, and optional values, which are None where there is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..... import _C
from ..... import functional as F
from .....imperative import Tensor
from ..rule_table import rule


def _at(position: Any, count: int, op: str, *, is_new: bool = False) -> int:
    least, most = -count, count if is_new else count - 1
    if not least <= position <= most:
        raise _C.IndexRangeError(
            f"must be from {least} to {most}", op=op, argument="position", got=str(position)
        )
    return position + count if position < 0 else int(position)


@rule
def sequence_empty(*, dtype: int | None) -> list[Any]:
    """No tensors."""
    return []


@rule
def sequence_construct(xs: Sequence[Any]) -> list[Any]:
    """These tensors."""
    return list(xs)


@rule
def sequence_insert(values: list[Any], x: Any, position: int | None) -> list[Any]:
    """A sequence with one tensor more."""
    at = len(values) if position is None else position
    at = _at(at, len(values), "SequenceInsert", is_new=True)
    return [*values[:at], x, *values[at:]]


@rule
def sequence_erase(values: list[Any], position: int | None) -> list[Any]:
    """A sequence without one tensor."""
    at = _at(-1 if position is None else position, len(values), "SequenceErase")
    return [*values[:at], *values[at + 1 :]]


@rule
def sequence_at(values: list[Any], position: int) -> Any:
    """A tensor of a sequence."""
    return values[_at(position, len(values), "SequenceAt")]


@rule
def sequence_length(values: list[Any]) -> Any:
    """How many tensors there are."""
    return F.full((), len(values), dtype="int64")


@rule
def concat_from_sequence(values: list[Any], *, axis: int, new_axis: int) -> Any:
    """The tensors of a sequence, joined or stacked."""
    return F.stack(values, axis=axis) if new_axis else F.concat(values, axis=axis)


@rule
def split_to_sequence(x: Any, split: Any, *, axis: int, keepdims: int) -> list[Any]:
    """A tensor cut into a sequence."""
    size = x.shape[axis]
    if split is None:
        parts = list(F.split(x, (1,) * size, axis=axis))
        return parts if keepdims else [F.squeeze(one, axis=axis) for one in parts]
    sizes = split.tolist()
    if isinstance(sizes, int):
        if sizes <= 0:
            raise _C.ArgumentError("must be positive", op="SplitToSequence", got=str(sizes))
        sizes = [min(sizes, size - i) for i in range(0, size, sizes)]
    return list(F.split(x, tuple(sizes), axis=axis))


@rule
def sequence_map(values: list[Any], others: Sequence[Any], *, body: Any, outputs: int) -> Any:
    """A graph applied to each tensor of a sequence."""
    rows = []
    for i, value in enumerate(values):
        more = [one[i] if isinstance(one, list) else one for one in others]
        rows.append(body(value, *more))
    return tuple([row[k] for row in rows] for k in range(outputs))


@rule
def optional(x: Any, *, type: Any) -> Any:
    """A value, or nothing."""
    return x


@rule
def optional_has_element(x: Any) -> Any:
    """Whether there is a value."""
    return F.full((), x is not None, dtype="bool")


@rule
def optional_get_element(x: Any) -> Any:
    """The value.

    Raises:
        ArgumentError: there is none.
    """
    if x is None:
        raise _C.ArgumentError("must have a value", op="OptionalGetElement", got="nothing")
    return x


@rule
def same(x: Any) -> Any:
    """The value, of any kind."""
    return x


def is_sequence(x: Any) -> bool:
    """Whether a value is a sequence of tensors."""
    return isinstance(x, list) and all(isinstance(one, Tensor) for one in x)

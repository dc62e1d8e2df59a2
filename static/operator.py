"""Operator: an op in a block, with the names of what it reads and makes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .. import _C


class Operator:
    """An op in a block, with the names of what it reads and makes.

    Attributes:
        op: the op, with its parameters.
        type: what it is called: the scalar function or the reduction of those, else the op itself.
        line: the user's line that added it, as ``model.py:12``.
    """

    __slots__ = ("_blocks", "_inputs", "_outputs", "line", "op", "type")

    def __init__(
        self,
        op: Any,
        inputs: list[str],
        outputs: list[str],
        line: str,
        blocks: Sequence[int] = (),
    ) -> None:
        """Made by `Block.ops`."""
        self.op = op
        self._blocks = tuple(blocks)
        self.line = line
        self.type = _type_of(op)
        self._inputs = inputs
        self._outputs = outputs

    @property
    def inputs(self) -> dict[str, list[str]]:
        """The names of what it reads, by slot."""
        return _by_slot(_C.slots(self.op), self._inputs)

    @property
    def outputs(self) -> dict[str, list[str]]:
        """The names of what it makes."""
        return {"Out": list(self._outputs)}

    @property
    def attrs(self) -> dict[str, Any]:
        """The parameters, and the numbers of the blocks; the one that is the type is none."""
        fields = getattr(self.op, "__dataclass_fields__", None)  # of one written in Python
        names = self.op.params() if fields is None else fields
        is_mode = _is_mode(self.op)
        params = {n: getattr(self.op, n) for n in names if not (is_mode and n == "mode")}
        if self._blocks:
            params["sub_blocks"] = self._blocks
        return params

    def desc(self) -> dict[str, Any]:
        """The op as plain data: type, inputs and outputs by slot, attributes.

        Source:
            Paddle's OpDesc.

        Example:
            >>> import tensorlike as tl
            >>> from tensorlike import static
            >>> with static.program_guard(static.Program()) as main:
            ...     x = static.data("x", (None, 3))
            ...     y = tl.functional.exp(x)
            >>> main.block.ops[0].desc()
            {'type': 'exp', 'inputs': {'X': ['x']}, 'outputs': {'Out': ['_1']}, 'attrs': {}}
        """
        return {
            "type": self.type,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "attrs": self.attrs,
        }

    def __repr__(self) -> str:
        """``_1 = exp(x)``."""
        return f"{', '.join(self._outputs)} = {self.type}({', '.join(self._inputs)})"


def _is_mode(op: Any) -> bool:
    return type(op).__name__ in ("Elemwise", "Reduce")


def _type_of(op: Any) -> str:
    if _is_mode(op):
        return str(op.mode)
    name = type(op).__name__.replace("_Traced", "") or "Call"
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _by_slot(slots: Sequence[str], names: list[str]) -> dict[str, list[str]]:
    """The names under the slots; the last of these takes what is left."""
    made: dict[str, list[str]] = {}
    for i, slot in enumerate(slots):
        key = slot.strip("*").upper()
        made[key] = names[i:] if i == len(slots) - 1 else names[i : i + 1]
    if not slots and names:
        made["X"] = list(names)
    return made

"""Site: an op at its place in a program, as rules of the exporter see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .... import _C
from .graph import Graph, Value
from .numbers import Number, Unknown

if TYPE_CHECKING:
    from .writer import Writer


class Spec(NamedTuple):
    """The dtype and the shape of a result."""

    dtype: _C.dtype
    shape: tuple[Any, ...]


def plain_attributes(op: Any) -> dict[str, Any]:
    """The attributes of an op by name."""
    return {name: getattr(op, name) for name in op.params()}


class UnsupportedError(Exception):
    """An op that ONNX cannot say; `Writer` collects them all.

    Args:
        reason: why, as the end of a sentence about the op.
        fix: what to write instead, where there is something.
    """

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(reason, fix)
        self.reason = reason
        self.fix = fix


@dataclass(frozen=True)
class Site:
    """An op, what it reads and makes, and the graph that nodes for it are added to.

    Args:
        writer: of the model.
        graph: gets the nodes.
        op: the op.
        inputs: what it reads.
        outputs: what it makes.
        attrs: its attributes, with `Unknown` where they follow from unknown sizes.
        expressions: how these follow, as programs have it.
        size_of: the size, in the program, that a variable's dimension is.
        number_of: the same as a number of the graph.
    """

    writer: Writer
    graph: Graph
    op: Any
    inputs: Sequence[Value]
    outputs: Sequence[Spec]
    attrs: dict[str, Any]
    expressions: dict[str, Any]
    size_of: Callable[[int, int], Any]
    number_of: Callable[[int, int], Number]

    @property
    def x(self) -> Value:
        """The first input."""
        return self.inputs[0]

    @property
    def y(self) -> Spec:
        """The first result."""
        return self.outputs[0]

    @property
    def names(self) -> list[str]:
        """The names of the inputs."""
        return [value.name for value in self.inputs]

    @property
    def entry(self) -> Any:
        """The declaration of the op, or of the function that it applies; None: there is none."""
        name = type(self.op).__name__
        return self.writer.entries.get(self.op.mode if name in ("Elemwise", "Reduce") else name)

    def known(self, name: str) -> Any:
        """An attribute that must not follow from unknown sizes.

        Raises:
            UnsupportedError: it does.
        """
        value = self.attrs[name]
        parts = value if isinstance(value, tuple) else (value,)
        if any(isinstance(part, Unknown) for part in parts):
            raise UnsupportedError(f"{name} follows from an unknown size, and ONNX wants a number")
        return value

    def sizes(self, value: Value, first: int = 0) -> list[int]:
        """Sizes of a value from a dimension on, which must be known.

        Raises:
            UnsupportedError: one is not.
        """
        found = self.graph.shape(value)[first:]
        if any(isinstance(size, Unknown) for size in found):
            raise UnsupportedError("it needs sizes that are not known")
        return [int(size) for size in found if not isinstance(size, Unknown)]

    def numbers(self, name: str) -> tuple[Number, ...]:
        """An attribute that is one integer or several."""
        value = self.attrs[name]
        return value if isinstance(value, tuple) else (value,)


Rule = Callable[[Site], "list[str] | None"]

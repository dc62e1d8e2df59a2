"""SymbolicTensor: a tensor-like that lists the ops applied to it, with shapes and dtypes.

It computes nothing. A model that is called on one writes its own listing.
"""

from __future__ import annotations

from typing import Any

from .. import _C
from ..ops import OpBase
from .dispatch import apply


class Listing:
    """The ops that were applied, in order, one line each.

    Example:
        >>> import tensorlike as tl
        >>> listing = tl.Listing()
        >>> x = listing.input("x", (2, 3))
        >>> y = tl.functional.sum(x * 2, axis=1)
        >>> print(listing)
        x: float32(2, 3)
        _1 = Const(value=2, dtype=None, device=None)(x)  # float32()
        _2 = Elemwise(mode='multiply')(x, _1)  # float32(2, 3)
        _3 = Reduce(mode='sum', axis=1, keepdims=False, dtype=None)(_2)  # float32(2,)
    """

    def __init__(self) -> None:
        """Nothing is listed yet."""
        self.lines: list[str] = []
        self.ops: list[OpBase] = []
        self._names = 0

    def input(self, name: str, shape: tuple[int, ...], dtype: Any = _C.float32) -> SymbolicTensor:
        """A tensor-like that stands for an input of this shape and dtype."""
        made = SymbolicTensor(self, name, _C.ShapeTensor(shape, dtype))
        self.lines.append(f"{name}: {made.describe()}")
        return made

    def _record(
        self, op: OpBase, args: tuple[SymbolicTensor, ...], specs: tuple[Any, ...]
    ) -> tuple[SymbolicTensor, ...]:
        outputs = tuple(SymbolicTensor(self, self._name(), spec) for spec in specs)
        left = ", ".join(output.name for output in outputs)
        right = ", ".join(arg.name for arg in args)
        what = ", ".join(output.describe() for output in outputs)
        self.ops.append(op)
        self.lines.append(f"{left} = {op}({right})  # {what}")
        return outputs

    def _name(self) -> str:
        self._names += 1
        return f"_{self._names}"

    def __str__(self) -> str:
        """The listing."""
        return "\n".join(self.lines)


class SymbolicTensor(_C.TensorBase):
    """A name, a shape and a dtype; applying an op to it adds a line to its listing."""

    def __init__(self, listing: Listing, name: str, spec: _C.ShapeTensor) -> None:
        """Made by `Listing.input` and by applying ops."""
        self.listing = listing
        self.name = name
        self.spec = spec

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        return self.spec.shape

    @property
    def dtype(self) -> _C.dtype:
        """The element type."""
        return self.spec.dtype

    def describe(self) -> str:
        """``float32(2, 3)``."""
        return f"{self.dtype.name}{self.shape}"

    def lift(self, other: Any) -> SymbolicTensor:
        """A value beside a symbolic tensor is a captured constant."""
        name = self.listing._name()
        made = SymbolicTensor(self.listing, name, _C.ShapeTensor(other.shape, other.dtype))
        self.listing.lines.append(f"{name}: {made.describe()}  # captured {type(other).__name__}")
        return made

    def __repr__(self) -> str:
        """The name and what is known."""
        return f"SymbolicTensor({self.name}: {self.describe()})"


@apply.register
def apply_symbolic(op: OpBase, *args: SymbolicTensor) -> tuple[SymbolicTensor, ...]:
    """Infers the outputs and lists the op."""
    specs = op(*(arg.spec for arg in args))
    return args[0].listing._record(op, args, specs)

"""SymbolicTensor: a tensor-like that lists the ops applied to it, with shapes and dtypes.

It computes nothing. A model that is called on one writes its own listing.
"""

from __future__ import annotations

import itertools
from typing import Any

from .. import _C
from ..ops import OpBase
from .dispatch import apply
from .levels import stopped, unwrapped
from .trees import leaves_of, map_tree


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
        >>> listing.run(y, tl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
        tensor([12., 30.])
    """

    def __init__(self) -> None:
        """Nothing is listed yet."""
        self.lines: list[str] = []
        self.ops: list[OpBase] = []
        self._names = 0
        # For `run`, by the numbers of symbolic tensors: names are what people gave them.
        self._numbers = itertools.count()
        self._inputs: list[tuple[int, str, _C.ShapeTensor]] = []
        self._captured: dict[int, Any] = {}
        self._steps: list[tuple[OpBase, tuple[int, ...], tuple[int, ...]]] = []

    def input(self, name: str, shape: tuple[int, ...], dtype: Any = _C.float32) -> SymbolicTensor:
        """A tensor-like that stands for an input of this shape and dtype."""
        made = SymbolicTensor(self, name, _C.ShapeTensor(shape, dtype))
        self.lines.append(f"{name}: {made.describe()}")
        self._inputs.append((made.number, name, made.spec))
        return made

    def run(self, results: Any, /, *inputs: Any) -> Any:
        """What the listed ops give when they are applied to values, in the order of the listing.

        Args:
            results: the symbolic tensors that are asked for, in any arrangement.
            inputs: a tensor-like for each input, in the order of their making. What was captured,
                weights say, is as it was then.

        Returns:
            Values, arranged as `results` is.

        Raises:
            ShapeError: there is not one value for each input, of its shape.
            DTypeError: a value is of another dtype.
        """
        values = {**self._captured, **self._given(inputs)}
        asked = {self._own(x).number for x in leaves_of(results)}
        last = {number: at for at, (_, xs, _) in enumerate(self._steps) for number in xs}
        for at, (op, xs, ys) in enumerate(self._steps):
            found = op(*[values[number] for number in xs])
            values.update(zip(ys, found, strict=True))
            for number in {*xs, *ys} - asked:
                if last.get(number, at) == at:  # nobody reads it any more
                    values.pop(number, None)
        return map_tree(lambda x: values[self._own(x).number], results)

    def _given(self, inputs: tuple[Any, ...]) -> dict[int, Any]:
        if len(inputs) != len(self._inputs):
            raise _C.ShapeError(
                f"one value for each of {len(self._inputs)} inputs is needed",
                op="run",
                got=f"{len(inputs)}",
            )
        values = {}
        for (number, name, spec), given in zip(self._inputs, inputs, strict=True):
            value = given if isinstance(given, _C.TensorBase) else _C.tensor(given)
            if value.shape != spec.shape:
                raise _C.ShapeError(
                    f"must have the shape {spec.shape}",
                    op="run",
                    argument=name,
                    got=f"{value.shape}",
                )
            if value.dtype is not spec.dtype:
                raise _C.DTypeError(
                    f"must be {spec.dtype.name}", op="run", argument=name, got=value.dtype.name
                )
            values[number] = value
        return values

    def _own(self, x: Any) -> SymbolicTensor:
        """The symbolic tensor under wrappers and tracers."""
        symbol = stopped(unwrapped(x))
        if not isinstance(symbol, SymbolicTensor) or symbol.listing is not self:
            raise _C.DispatchError(
                "results must be of this listing", op="run", got=f"a {type(symbol).__name__}"
            )
        return symbol

    def _record(
        self, op: OpBase, args: tuple[SymbolicTensor, ...], specs: tuple[Any, ...]
    ) -> tuple[SymbolicTensor, ...]:
        outputs = tuple(SymbolicTensor(self, self._name(), spec) for spec in specs)
        left = ", ".join(output.name for output in outputs)
        right = ", ".join(arg.name for arg in args)
        what = ", ".join(output.describe() for output in outputs)
        self.ops.append(op)
        numbers = tuple(x.number for x in args), tuple(y.number for y in outputs)
        self._steps.append((op, *numbers))
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
        self.number = next(listing._numbers)
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
        self.listing._captured[made.number] = other
        return made

    def __repr__(self) -> str:
        """The name and what is known."""
        return f"SymbolicTensor({self.name}: {self.describe()})"


@apply.register
def apply_symbolic(op: OpBase, *args: SymbolicTensor) -> tuple[SymbolicTensor, ...]:
    """Infers the outputs and lists the op."""
    specs = op(*(arg.spec for arg in args))
    return args[0].listing._record(op, args, specs)

"""Tape: what was recorded for differentiation in one block of code, to be walked and printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

from .. import _C
from .autodiff import enable_grad, no_grad
from .keeping import keeping
from .symbolic import Listing
from .tensor import Tensor


@dataclass(frozen=True)
class TapeValue:
    """A tensor as a tape knows it: not its elements, which would keep memory alive.

    Attributes:
        name: ``x1``, ``x2``, ... for what came onto the tape from outside; ``_3`` for the result
            of its third op, ``_3.0``, ``_3.1`` for several; empty for a value without a gradient.
        shape: the dimensions.
        dtype: the element type.
    """

    name: str
    shape: tuple[int, ...]
    dtype: _C.dtype

    def __str__(self) -> str:
        """The name, or what kind of constant it is."""
        return self.name or _what(self)


def _what(value: TapeValue) -> str:
    return f"{value.dtype.name}{value.shape}"


@dataclass(frozen=True)
class TapeEntry:
    """One op on a tape.

    Attributes:
        op: the op, with its parameters.
        inputs: what it was applied to.
        outputs: what came out.
        level: 0 for gradients by tensors with `requires_grad`, 1 for those of `grad`, more for
            those of transforms inside of it and of tensors that require gradients there.
        place: the user's file and line, as ``model.py:12``.
    """

    op: _C.OpBase
    inputs: tuple[TapeValue, ...]
    outputs: tuple[TapeValue, ...]
    level: int
    place: str

    def __str__(self) -> str:
        """One line of a listing."""
        left = ", ".join(str(output) for output in self.outputs)
        right = ", ".join(str(value) for value in self.inputs)
        what = ", ".join(_what(output) for output in self.outputs)
        return f"{left} = {self.op}({right})  # {what}, {self.place}"


class Tape(_C.TapeLog):
    """A record of the ops that a block of code applied to tensors which gradients flow to.

    Ops outside the block, ops under `no_grad`, and ops on tensors that need no gradient are not on
    it. A tape only describes: it keeps no tensor alive, and backward works with it and without.
    It may record several blocks, one after another; `reset` makes it empty. Tapes nest, each
    has what its own block applied; one belongs to the thread that entered the block.

    Raises:
        AutodiffError: the block is left in another thread, or without having been entered.

    Source:
        PaddlePaddle's imperative design ("can select a block of code to trace and autodiff") and
        its ``tape``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([1.0, 2.0], requires_grad=True)
        >>> before = x * 3
        >>> with tl.Tape() as tape:
        ...     y = tl.sum(before * x)
        >>> len(tape), [entry.op.mode for entry in tape]
        (2, ['multiply', 'sum'])
        >>> [str(value) for value in tape[1].inputs]
        ['_1']
    """

    def trace(
        self,
        op: _C.OpBase,
        inputs: Mapping[str, Sequence[Tensor]],
        outputs: Mapping[str, Sequence[Tensor]],
        *,
        stop_gradient: bool = False,
    ) -> None:
        """Applies an op to tensors by slot, and puts the results into those given for them.

        Args:
            op: the op.
            inputs: tensors for each argument, the arguments in the op's order.
            outputs: tensors for each result; each becomes the result.
            stop_gradient: whether nothing is recorded, so that no gradient flows back.

        Raises:
            ParameterError: there are not as many output tensors as results.

        Source:
            PaddlePaddle, ``imperative::Tracer::Trace``.

        Example:
            >>> import tensorlike as tl
            >>> x, y = tl.to_variable([1.0, 2.0]), tl.Tensor(0.0)
            >>> with tl.Tape() as tape:
            ...     tape.trace(tl.ops.Elemwise(mode="exp"), {"X": [x]}, {"Out": [y]})
            >>> y.shape, len(tape)
            ((2,), 1)
        """
        given = [tensor for slot in inputs.values() for tensor in slot]
        wanted = [tensor for slot in outputs.values() for tensor in slot]
        with no_grad() if stop_gradient else enable_grad():
            results = op(*given)
        if len(results) != len(wanted):
            raise _C.ParameterError(
                f"trace: a tensor must be given for each of {len(results)} results",
                op=f"{op}",
                got=f"{len(wanted)}",
            )
        for tensor, result in zip(wanted, results, strict=True):
            tensor._reset(result.__wrapped__ if isinstance(result, Tensor) else result)

    def __iter__(self) -> Iterator[TapeEntry]:
        """The entries in the order of recording."""
        return iter(self._entries())

    def __getitem__(self, index: int) -> TapeEntry:
        """One entry; negative indices count from the end.

        Raises:
            IndexError: there is no such entry.
        """
        return self._entries()[index]

    @property
    def inputs(self) -> list[TapeValue]:
        """What came onto the tape from outside and carries gradients, in the order of use."""
        entries = self._entries()
        own = {output.name for entry in entries for output in entry.outputs}
        found = {value.name: value for entry in entries for value in entry.inputs if value.name}
        return [value for name, value in found.items() if name not in own]

    def draw(self, path: str | PathLike[str]) -> None:
        """Draws the tape: its inputs, and a box for each op, joined by what they read.

        Args:
            path: the file, an .svg, a .dot for Graphviz, or a .png, which needs Pillow.

        Raises:
            ValueError: the file's name ends otherwise.
            ModuleNotFoundError: a .png is asked for, and Pillow is not installed.

        Example:
            >>> import tempfile
            >>> import tensorlike as tl
            >>> x = tl.tensor([1.0, 2.0], requires_grad=True)
            >>> with tl.Tape() as tape:
            ...     y = tl.exp(x) * x
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     tape.draw(f"{folder}/tape.svg")
        """
        from ..inspection.drawing import draw  # which few programs need

        draw(self.program.to_dot("tape"), path)

    @property
    def program(self) -> Listing:
        """What the tape wrote down as a program, which can be run again.

        Its inputs are what came onto the tape from outside, `inputs` and values without gradients,
        in the order of their use.

        Example:
            >>> import tensorlike as tl
            >>> x = tl.tensor([1.0, 2.0], requires_grad=True)
            >>> with tl.Tape() as tape:
            ...     y = tl.exp(x) * x
            >>> print(tape.program)
            x1: float32(2,)
            _1 = Elemwise(mode='exp')(x1)  # float32(2,)
            _2 = Elemwise(mode='multiply')(_1, x1)  # float32(2,)
        """
        program = Listing()
        numbers: dict[str, int] = {}
        for entry in self:
            inputs = []
            for value in entry.inputs:
                number = numbers.get(value.name) if value.name else None
                if number is None:
                    number = program.add_input(value.name, value.shape, value.dtype)
                    numbers[value.name] = number
                inputs.append(number)
            specs = [_C.ShapeTensor(value.shape, value.dtype) for value in entry.outputs]
            made = program.append(entry.op, inputs, specs, entry.place)
            for value, number in zip(entry.outputs, made, strict=True):
                program.rename(number, value.name)
                numbers[value.name] = number
        return program

    def _entries(self) -> list[TapeEntry]:
        names: dict[tuple[int, int], str] = {}
        entries = []
        outside = 0
        for number in range(1, len(self) + 1):
            op, node, level, given, made, place = super().__getitem__(number - 1)
            inputs = []
            for source, slot, spec in given:
                if source and (source, slot) not in names:
                    outside += 1
                    names[source, slot] = f"x{outside}"
                inputs.append(TapeValue(names[source, slot] if source else "", *spec))
            outputs = []
            for slot, spec in enumerate(made):
                names[node, slot] = f"_{number}" if len(made) == 1 else f"_{number}.{slot}"
                outputs.append(TapeValue(names[node, slot], *spec))
            entries.append(TapeEntry(op, tuple(inputs), tuple(outputs), level, place))
        return entries

    def __str__(self) -> str:
        """A listing: the inputs, then a line for each op."""
        lines = [f"{value.name}: {_what(value)}" for value in self.inputs]
        return "\n".join([*lines, *(str(entry) for entry in self)])


@contextmanager
def guard() -> Iterator[Tape]:
    """A block in which ops run, and are recorded for differentiation, whatever happens outside.

    Outside, recording may be paused, or a static program be built.

    Yields:
        The `Tape` of the block.

    Source:
        Paddle, ``fluid.imperative.guard``.

    Example:
        >>> import tensorlike as tl
        >>> with tl.no_grad(), tl.guard() as tape:
        ...     y = tl.tensor([2.0], requires_grad=True) ** 2
        >>> y.requires_grad, len(tape)
        (True, 1)
    """
    with _C.Setting(keeping, None), enable_grad(), _C.Recording(None), Tape() as tape:
        yield tape


def to_variable(data: Any, *, stop_gradient: bool = False) -> Any:
    """A tensor of a copy of the data, to which gradients flow where its dtype allows.

    Args:
        data: an array, numbers or a tensor.
        stop_gradient: whether none shall flow.

    Raises:
        ArgumentError: `stop_gradient` is neither true nor false.

    Source:
        Paddle, ``fluid.dygraph.base.to_variable``.

    Example:
        >>> import numpy as np
        >>> import tensorlike as tl
        >>> tl.to_variable(np.ones(2, np.float32)).requires_grad
        True
    """
    try:
        is_stopped = bool(stop_gradient)
    except (TypeError, ValueError) as error:
        raise _C.ArgumentError(
            "must be true or false", op="to_variable", argument="stop_gradient",
            got=type(stop_gradient).__name__,
        ) from error  # fmt: skip
    made = _C.tensor(data, None)
    if not is_stopped and made.dtype.kind in ("floating", "complex"):
        made.requires_grad = True
    return made

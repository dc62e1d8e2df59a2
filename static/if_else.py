"""IfElse: two blocks of `with`, each on the rows for which a condition says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..imperative import blocks
from ..imperative.levels import unwrapped
from ..imperative.naming import named, named_class
from ..imperative.row_branch import RowBranch
from .control_flow import Recorder, SubProgram, results


@named_class
class IfElse(Recorder):
    """Two blocks, each on the rows for which a column of booleans is true, or false.

    A block that gets no rows does not run.

    Args:
        cond: booleans, one for each row: of the shape (n, 1), or (n,).
        name: not used.

    Raises:
        ArgumentError: a block is missing, or both do not give the same number of outputs.
        ShapeError: inputs or outputs have not as many rows as there are booleans, or the outputs
            of the blocks differ in shape.

    Source:
        Paddle, ``fluid.layers.IfElse``.

    Example:
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program()) as main:
        ...     x = static.data("x", (None, 1))
        ...     ie = static.IfElse(x > 0.0)
        ...     with ie.true_block():
        ...         ie.output(ie.input(x) * 10)
        ...     with ie.false_block():
        ...         ie.output(ie.input(x) - 1)
        ...     y = ie()
        >>> fed = {"x": [[1.0], [-1.0], [2.0]]}
        >>> static.Executor().run(main, feed=fed, fetch_list=[y])[0].tolist()
        [[10.0], [-2.0], [20.0]]
    """

    what = "IfElse"

    def __init__(self, cond: Any, name: str | None = None) -> None:
        """Blocks are still to come."""
        super().__init__()
        self._cond = unwrapped(cond)
        self._inputs: dict[Any, Any] = {}  # what rows were asked of
        self._rows: dict[bool, dict[Any, Any]] = {}
        self._outputs: dict[bool, list[Any]] = {}
        self._blocks: dict[bool, SubProgram] = {}
        self._which = True

    @contextmanager
    def true_block(self) -> Iterator[None]:
        """The block of the rows for which the condition is true."""
        with self._part(True):
            yield

    @contextmanager
    def false_block(self) -> Iterator[None]:
        """The block of the others."""
        with self._part(False):
            yield

    @contextmanager
    def _part(self, which: bool) -> Iterator[None]:
        with self._building(draws=True) as block:
            self._which = which
            self._blocks[which] = block
            block.own_sizes.add("rows")
            self._rows[which], self._outputs[which] = {}, []
            yield

    @named
    def input(self, x: Any) -> Any:
        """The rows of a variable that are the block's."""
        value = self._from_before(x)
        key = blocks.key_of(value)
        self._inputs[key] = value
        return self._row(self._which, key)

    def _row(self, which: bool, key: Any) -> Any:
        rows, value = self._rows[which], self._inputs[key]
        if key not in rows:
            block = self._blocks[which]
            name = f"{getattr(value, 'name', 'x')}@{str(which).lower()}"
            dims = [block.size_name(size) for size in value.shape[1:]]
            rows[key] = block.input(_free(block, name), ["rows", *dims], value.dtype)
        return rows[key]

    @named
    def output(self, *outputs: Any) -> None:
        """What the block gives, as many rows as it got."""
        block = self._inside()
        self._outputs[self._which] += [block.number(y) for y in outputs]

    def __call__(self) -> Any:
        """The outputs of both blocks, in the order of the rows: one, or a list of several."""
        for which in (True, False):
            if which not in self._blocks:
                self._refuse("must have both blocks", f"no {str(which).lower()}_block")
        counts = [len(self._outputs[which]) for which in (True, False)]
        if counts[0] != counts[1] or not counts[0]:
            self._refuse("both blocks must give the same number of outputs", f"{counts}")
        parts = []
        for which in (True, False):
            given = [self._row(which, key) for key in self._inputs]
            parts.append((self._blocks[which], given, self._outputs[which]))
        (first, second), outer = blocks.closed(parts)
        op = RowBranch(first, second, len(self._inputs), counts[0])
        return results(op(self._cond, *self._inputs.values(), *outer))


def _free(block: SubProgram, name: str) -> str:
    return name if block.number_of(name) is None else block.unique_name(name)

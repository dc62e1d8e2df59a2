"""SymbolicTensor: a tensor-like that lists the ops applied to it, with shapes and dtypes.

It computes nothing. A model that is called on one writes its own listing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from os import PathLike
from typing import Any, NamedTuple, NoReturn

from .. import _C
from ..ops import Elemwise, OpBase, declare
from . import program_file
from .dispatch import apply
from .levels import stopped, unwrapped
from .trees import leaves_of, map_tree

_STOPPED = """
- scalar: without_history
  args: ["x: all"]
  expr: x
  grad: {x: 0}
  doc: The value, through which no gradient flows.
"""


class Step(NamedTuple):
    """An op of a program: the numbers of the variables that it reads and makes, the user's line."""

    op: OpBase
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    line: str


class Listing(_C.Program):
    """A program: the ops that were applied, in order, one line each.

    Example:
        >>> import tensorlike as tl
        >>> listing = tl.Listing()
        >>> x = listing.input("x", (None, 3))
        >>> y = tl.functional.sum(x * 2, axis=1)
        >>> print(listing)
        x: float32(None, 3)
        _1 = Const(value=2, dtype=None, device=None)(x)  # float32()
        _2 = Elemwise(mode='multiply')(x, _1)  # float32(None, 3)
        _3 = Reduce(mode='sum', axis=1, keepdims=False, dtype=None)(_2)  # float32(None,)
        >>> listing.run(y, tl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
        tensor([12., 30.])
    """

    def __init__(self) -> None:
        """Nothing is listed yet."""
        self.parts: dict[str, Listing] = {}  # programs that attributes of ops name
        # What was made without a tape, by its variable: what stands for it where there is one.
        self._cut: dict[int, int] = {}

    def input(
        self, name: str, shape: Sequence[int | str | None], dtype: Any = _C.float32
    ) -> SymbolicTensor:
        """A tensor-like that stands for an input of this shape and dtype.

        Args:
            name: for people; names need not differ.
            shape: sizes. `None` is one that is not known; names stand for such sizes too, and
                sizes of one name are equal: ``("batch", 3)``.
            dtype: the element type.

        Unknown sizes are sizes like others to the ops; `Size` says what Python may do with one. No
        two are equal but by name, and none is 1 where shapes broadcast, though it may come to be.
        """
        return self.symbol(self.add_input(name, shape, dtype))

    def add_part(self, name: str, listing: Listing) -> None:
        """Adds a program that ops of this one may name in an attribute; it is saved with it.

        Raises:
            ArgumentError: it holds this one.
        """
        self.hold(name, listing)
        self.parts[name] = listing

    def new_part(self, name: str) -> Listing:
        """An empty program that is a part of this one: for what is read from a file."""
        self.add_part(name, part := type(self)())
        return part

    def symbol(self, number: int) -> SymbolicTensor:
        """The tensor-like that stands for a variable of the program."""
        return SymbolicTensor(self, number)

    def take(self, value: Any) -> SymbolicTensor:
        """What a variable of another listing is in this one.

        Raises:
            DispatchError: nothing, in a listing that is no block.
        """
        raise _C.DispatchError(
            "values of one program must not meet those of another", op="apply", got=f"{value!r}",
            fix="give it to the program as an input",
        )  # fmt: skip

    def receiver(self, args: Sequence[SymbolicTensor]) -> Listing:
        """The listing that an op on such variables is added to: this one, or a block in it."""
        return self

    def note_cut(self, made: Sequence[int]) -> None:
        """Says of what an op has made whether gradients end there.

        The program knows of no blocks of `no_grad`: its own gradient would go through.
        """
        if _C.paused_level() >= 0:
            self._cut.update((n, -1) for n in made if is_moving(self.dtype(n)))

    def behind_cut(self, number: int) -> int:
        """The variable, behind a stop where it was made without a tape, and there is one now."""
        if number not in self._cut or _C.paused_level() >= 0:
            return number
        if self._cut[number] < 0:
            (self._cut[number],) = self.append(without_history(), [number])
        return self._cut[number]

    @property
    def lines(self) -> list[str]:
        """The listing, line by line."""
        return list(self.text_lines())

    @property
    def ops(self) -> list[OpBase]:
        """The ops, in order."""
        return [step[0] for step in self.steps()]

    def applied(self) -> list[Step]:
        """The ops with what they read and make, in order."""
        return [Step(*step[:4]) for step in self.steps()]

    def run(self, results: Any, /, *inputs: Any) -> Any:
        """What the listed ops give when they are applied to values, in the order of the listing.

        Args:
            results: the symbolic tensors that are asked for, in any arrangement.
            inputs: a tensor-like for each input, in the order of their making. What was captured,
                weights say, is as it was then.

        Returns:
            Values, arranged as `results` is.

        Raises:
            ShapeError: there is not one value for each input, of its shape; or the ops do not go
                together for these sizes.
            DTypeError: a value is of another dtype.
        """
        given = tuple(x if isinstance(x, _C.TensorBase) else _C.tensor(x) for x in inputs)
        numbers = [self._own(x).number for x in leaves_of(results)]
        found = iter(self.values(numbers, given))
        return map_tree(lambda _: next(found), results)

    def draw(self, path: str | PathLike[str]) -> None:
        """Draws the listing: its inputs, and a box for each op, joined by what they read.

        Args:
            path: the file, an .svg, a .dot for Graphviz, or a .png, which needs Pillow.

        Raises:
            ValueError: the file's name ends otherwise.
            ModuleNotFoundError: a .png is asked for, and Pillow is not installed.
        """
        from ..inspection.drawing import draw  # which few programs need

        draw(self.to_dot("listing"), path)

    def to_bytes(self, results: Any) -> bytes:
        """The program with its captured arrays, and the symbolic tensors that it is to give.

        Args:
            results: one, or a tuple or list of several.

        Raises:
            ParameterError: a captured value is no array, or an op has no form as bytes.

        Example:
            >>> import tensorlike as tl
            >>> listing = tl.Listing()
            >>> data = listing.to_bytes(listing.input("x", (None,)) * 2)
            >>> again, (y,) = tl.Listing.from_bytes(data)
            >>> again.run(y, tl.tensor([1.0, 2.0]))
            tensor([2., 4.])
        """
        return program_file.write(self, [self._own(x).number for x in leaves_of(results)])

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple[Listing, tuple[SymbolicTensor, ...]]:
        """The program that `to_bytes` wrote, and its results.

        Reading runs no code that the reader does not have: ops written in Python are looked up
        among the modules that are imported.

        Raises:
            ArgumentError: the bytes are no program, or one that this process cannot make.
        """
        listing = cls()
        results, _ = program_file.read(data, listing)
        return listing, tuple(map(listing.symbol, results.values()))

    def __reduce__(self) -> NoReturn:
        """A program says in bytes what it gives; what copies and pickles would not know that."""
        raise _C.ParameterError(
            "a program must not be pickled or copied by Python, which cannot tell its results",
            op="pickle", got=f"a {type(self).__name__}", fix=self.how_kept(),
        )  # fmt: skip

    def how_kept(self) -> str:
        """What keeps and copies it instead."""
        return "to_bytes(results) and from_bytes keep it"

    def _own(self, x: Any) -> SymbolicTensor:
        """The symbolic tensor under wrappers and tracers."""
        symbol = stopped(unwrapped(x))
        if not isinstance(symbol, SymbolicTensor) or symbol.listing is not self:
            raise _C.DispatchError(
                "results must be of this listing", op="run", got=f"a {type(symbol).__name__}"
            )
        return symbol

    def __str__(self) -> str:
        """The listing, its parts under their names, and the programs that its ops hold."""
        return self.text()


class SymbolicTensor(_C.TensorBase):
    """A name, a shape and a dtype; applying an op to it adds a line to its listing."""

    priority = 10.0
    knows_history = False  # whether what is cut is told by its value

    def __init__(self, listing: Listing, number: int) -> None:
        """Made by `Listing.input` and by applying ops."""
        self.listing = listing
        self.number = number

    @property
    def name(self) -> str:
        """What it is called in the listing."""
        return self.listing.variable(self.number)[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions: integers, and a `Size` for each that is not known."""
        return self.listing.shape(self.number)

    @property
    def size(self) -> int:
        """The number of elements: a `Size` where a dimension is not known."""
        count = 1
        for size in self.shape:
            count = size * count
        return count

    @property
    def dtype(self) -> _C.dtype:
        """The element type."""
        return self.listing.dtype(self.number)

    @property
    def ending(self) -> OpBase | None:
        """The op behind which its history ends in the program; None: its value tells of it."""
        return None if self.knows_history or not is_moving(self.dtype) else without_history()

    def describe(self) -> str:
        """``float32(2, 3)``."""
        return self.listing.describe(self.number)

    def lift(self, other: Any) -> SymbolicTensor:
        """A value beside a symbolic tensor is a captured constant."""
        return self.listing.symbol(self.listing.capture(other))

    def __reduce__(self) -> NoReturn:
        """It is nothing without its program."""
        self.listing.__reduce__()

    def __repr__(self) -> str:
        """The name and what is known."""
        return f"SymbolicTensor({self.name}: {self.describe()})"


@apply.register
def apply_symbolic(op: OpBase, *args: SymbolicTensor) -> list[SymbolicTensor]:
    """Infers the outputs and lists the op."""
    # Of blocks, one inside of the other, the inner one takes the call.
    inner = args[0] if len(args) == 1 else max(args, key=lambda x: x.priority)
    listing = inner.listing.receiver(args)
    own = [x if x.listing is listing else listing.take(x) for x in args]
    made = listing.append(op, [listing.behind_cut(x.number) for x in own])
    listing.note_cut(made)
    return [listing.symbol(number) for number in made]


def is_moving(dtype: _C.dtype) -> bool:
    """Whether numbers of this dtype have tangents."""
    return dtype.kind in ("floating", "complex")


@cache
def without_history() -> OpBase:
    """The op through which no gradient flows."""
    if "without_history" not in _C.function_names():  # a file that was read may have it
        declare(_STOPPED)
    return Elemwise(mode="without_history")

"""Block: a program that is recorded inside of another, by a function of Python.

What the function reads from outside becomes an input of the block: variables of the program around,
and whatever belongs to a transform. So a block is a closed program, and the op that holds it is
applied to what it reads. Arrays are constants of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .. import _C
from ..ops import Fill
from .levels import Level, layers, unwrapped
from .sizes import Size, free_name, in_one_program, rebuilt, same_size
from .sub_programs import Call
from .symbolic import Listing, SymbolicTensor

_MOST_REST = 16  # beside a multiple of a size, as the core reads it


def _is_near_multiple(number: int, base: int) -> bool:
    return abs(number - round(number / base) * base) <= _MOST_REST


def _as_from(size: Size, root: Size, other: Size) -> Any:
    """A size that is a multiple and a rest of one, as the same of another; None: it is none."""
    if isinstance(size.first, float):
        return None
    factor, left = divmod(size.first - size.second, root.first - root.second)
    rest = size.first - factor * root.first
    return other * factor + rest if left == 0 and factor > 0 and abs(rest) <= _MOST_REST else None


def _numbers(size: Any) -> tuple[float, float]:
    return size.first, size.second


def _rebuilt(size: Size, of_root: Callable[[Size], Any]) -> Any:
    """What a size is calculated from, with other sizes in the place of dimensions of variables.

    None: it is not known how it is made, or what stands for a dimension.
    """
    owner: Any = size.owner

    def of_dimension(variable: int, axis: int) -> Any:
        found = owner.shape(variable)[axis]
        if isinstance(found, Size):
            return None if _numbers(found) == _numbers(size) else of_root(found)
        return found

    expression = owner.expression(_numbers(size))
    return None if expression is None else rebuilt(expression, of_dimension)


def _root_of(size: Size) -> Size:
    """The size of an input that one is a multiple and a rest of; itself where it is of none."""
    owner: Any = size.owner
    roots = [owner.shape(variable)[axis] for _, variable, axis in owner.sizes()]
    return next((root for root in roots if _as_from(size, root, root) is not None), size)


class BlockTensor(SymbolicTensor):
    """A variable of a block. It takes what stands beside it into the block."""

    listing: Block

    def __init__(self, listing: Block, number: int) -> None:
        """Made by the block; above what belongs to the transforms around it."""
        super().__init__(listing, number)
        self.priority = 100.0 + listing.level.number

    def lift(self, other: Any) -> SymbolicTensor:
        """A value from outside, as an input of the block."""
        return self.listing.take(other)


class Block(Listing):
    """A program that is being recorded inside of another.

    Attributes:
        level: where it lies among the transforms that are going on.
        outer: what it reads from outside, in the order of the inputs.
        is_complete: whether nothing is added any more.
        own_sizes: names of sizes that are none of outside.
    """

    def __init__(self) -> None:
        super().__init__()
        self.level = Level()
        self.is_complete = False
        self.own_sizes: set[str] = set()
        self.outer: list[Any] = []
        self._taken: dict[Any, int] = {}
        self._outer_sizes: dict[str, Size] = {}
        self._is_adopting = False

    def __enter__(self) -> Block:
        """Recording begins."""
        self.level.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        """It ends."""
        self.level.__exit__(*exc)

    def symbol(self, number: int) -> BlockTensor:
        """The tensor-like that stands for a variable of the block."""
        return BlockTensor(self, number)

    def receiver(self, args: Sequence[SymbolicTensor]) -> Listing:
        """What an op on such variables is added to.

        Raises:
            ArgumentError: the block is complete.
        """
        if self.is_complete:
            self._refuse_leaving(args)
        return super().receiver(args)

    @staticmethod
    def _refuse_leaving(args: Sequence[Any]) -> NoReturn:
        of_blocks = (x for x in args if isinstance(x, BlockTensor))
        inner = max(of_blocks, key=lambda x: x.priority)
        raise _C.ArgumentError(
            "a variable must not leave the block that made it", op="Block",
            got=f"{inner.name}: {inner.describe()}",
            fix="return it from the block's function, or give it as an output of the block",
        )  # fmt: skip

    def like(self, x: Any, name: str, shape: Sequence[Any] | None = None) -> SymbolicTensor:
        """An input of the shape and dtype of a value outside.

        Args:
            x: the value.
            name: of the input.
            shape: another shape.
        """
        given = x.shape if shape is None else shape
        known = len(self._outer_sizes)
        made = self.input(name, [self.size_name(size) for size in given], x.dtype)
        self._relate(known)
        return made

    def _relate(self, known: int) -> None:
        """Takes sizes that the block has met last for what they are of those that it knew."""
        pairs = self._pairs()
        for i in range(known, len(pairs)):
            own, size = pairs[i]
            others = [*pairs[:i], *pairs[i + 1 :]]
            found = self._from_others(size, others)
            if isinstance(found, Size):
                self.agree(own.first, found.first, "Block")
            for other, outer in others[:i] if found is None else ():
                found = self._from_others(outer, [pairs[i]])
                if isinstance(found, Size):
                    self.agree(other.first, found.first, "Block")

    def _from_others(self, size: Size, pairs: Sequence[tuple[Size, Size]]) -> Any:
        for own, known in pairs:
            pair = in_one_program(size, known)
            found = None if pair is None else _as_from(pair[0], pair[1], own)
            if found is not None:
                return found
        return None

    def size_name(self, size: Any) -> Any:
        """A size of the outside as inputs take it: an unknown one has a name."""
        if not isinstance(size, Size):
            return size
        for name, known in self._outer_sizes.items():
            if same_size(known, size):
                return name
        wanted = self._name_outside(size) or f"size_{len(self._outer_sizes)}"
        name = free_name(wanted, self.own_sizes | self._outer_sizes.keys())
        self._outer_sizes[name] = size
        return name

    @staticmethod
    def _name_outside(size: Size) -> str | None:
        """What a size of an input is called in the program around."""
        owner = size.owner
        sizes = owner.sizes() if isinstance(owner, Listing) else ()
        names = (n for n, at, axis in sizes if _numbers(owner.shape(at)[axis]) == _numbers(size))
        return next(names, None)

    def outer_size(self, size: Any) -> Any:
        """What a size of the block is outside, or an integer."""
        if not isinstance(size, Size) or size.owner is not self:
            return size
        found = self.outside(size)
        if found is None:
            raise _C.ShapeError(
                "must follow from a size of an input of the block", op="Block", got="another"
            )
        return found

    def outside(self, size: Size) -> Any:
        """What a size of the block is outside; None: it follows from none that is known there."""
        for own, known in self._pairs():
            found = _as_from(size, own, known)
            if found is not None:
                return found
        known_sizes = {_numbers(own): known for own, known in self._pairs()}
        return _rebuilt(size, lambda root: known_sizes.get(_numbers(root)))

    def own_size(self, size: Size) -> Any:
        """What a size of the outside is in the block, an input of which gets it where none has.

        None: it is a size of nothing that is around the block, or a number that stands for a size
        of the block itself, which is one of those around it by chance.
        """
        if any(_is_near_multiple(size.first, own.second) for own, _ in self._pairs()):
            return None
        found = self._own_if_known(size)
        if found is None and _root_of(size) is size:
            found = _rebuilt(size, self.own_size)
        if found is None and not self._is_adopting and isinstance(size.owner, Listing):
            self._is_adopting = True  # what is made now belongs to the program around
            try:
                shape: Any = (_root_of(size),)
                self.take(Fill(shape=shape, fill_value=0)()[0])
            finally:
                self._is_adopting = False
            found = self._own_if_known(size)
        return found

    def _own_if_known(self, size: Size) -> Any:
        for own, known in self._pairs():
            pair = in_one_program(size, known)
            found = None if pair is None else _as_from(pair[0], pair[1], own)
            if found is not None:
                return found
        return None

    def _pairs(self) -> list[tuple[Size, Size]]:
        """The sizes of inputs, and what each is outside."""
        found: list[Any] = [(self.shape(v)[axis], name) for name, v, axis in self.sizes()]
        return [(own, self._outer_sizes[name]) for own, name in found if name in self._outer_sizes]

    def take(self, value: Any) -> SymbolicTensor:
        """A value of any kind as a variable of the block: its own, a constant, or an input.

        Raises:
            AutodiffError: it carries gradients that were asked for inside of the block.
            ArgumentError: it is a variable of a block that is complete, or inside of this one.
        """
        if isinstance(value, SymbolicTensor) and value.listing is self:
            return value
        if isinstance(value, _C.RawTensor):
            return self.symbol(self.capture(value))
        *_, bottom = layers(value)
        if isinstance(bottom, SymbolicTensor) and bottom.listing is self:
            raise _C.AutodiffError(
                "gradients inside of a block must be taken by functions", op="Block",
                got="a tensor of it that requires_grad", fix="use grad(function)(x)",
            )  # fmt: skip
        if isinstance(bottom, BlockTensor):
            other = bottom.listing
            if other.is_complete or other.level.number > self.level.number:
                self._refuse_leaving([bottom])
        key = key_of(value)
        if key not in self._taken:
            name = getattr(bottom, "name", None) or f"outer_{len(self.outer)}"
            self._taken[key] = self.like(value, name).number
            self.outer.append(value)  # which holds it, so that no other has its number
        return self.symbol(self._taken[key])

    def taken(self, key: Any) -> int:
        """The variable that stands for a value of the outside by now."""
        return self._taken[key]

    def outside_of(self, number: int) -> Any:
        """The value outside that an input stands for; None: there is none."""
        inputs = list(self._taken.values())
        return self.outer[inputs.index(number)] if number in inputs else None

    def rebind(self, key: Any, number: int) -> None:
        """From here on another variable stands for a value of the outside."""
        self._taken[key] = number

    def forget(self) -> None:
        """It is complete: nothing is taken from outside any more, which it lets go."""
        self.is_complete = True
        self.outer.clear()
        self._taken.clear()
        self._outer_sizes.clear()

    def number(self, x: Any) -> int:
        """The variable of the block that a result is."""
        return self.behind_cut(self.take(unwrapped(x)).number)


def record_block(
    function: Callable[..., Sequence[Any]], inputs: Sequence[tuple[str, Any, Any]], who: str
) -> tuple[Block, list[SymbolicTensor], list[int]]:
    """Runs a function on variables of a new block.

    Args:
        function: from tensors to a sequence of them.
        inputs: for each argument a name, a value like it, and its shape, or None: the value's.
        who: the call, for errors.

    Returns:
        The block, its inputs, and the numbers of the results.

    Raises:
        ArgumentError: a tensor from outside is set in it.
    """
    from .taking import recorded_blocks  # rules about blocks
    from .tensor import Tensor

    block = Block()
    with (
        _C.FinalizersWait(),
        block,
        recorded_blocks.block(block),
        _C.Recording(block),
        _C.Journal() as journal,
    ):
        given = [block.like(x, name, shape) for name, x, shape in inputs]
        numbers = [block.number(y) for y in function(*map(Tensor, given))]
        for tensor in journal.rebound():
            value = unwrapped(tensor)
            if isinstance(value, BlockTensor) and value.listing is block:
                raise _C.ArgumentError(
                    "its functions must not set tensors of the outside", op=who,
                    got=f"one that became {value!r}", fix="return the value, or carry it along",
                )  # fmt: skip
    return block, given, numbers


def closed(
    parts: Sequence[tuple[Block, Sequence[SymbolicTensor], Sequence[int]]],
) -> tuple[list[Call], list[Any]]:
    """Blocks as calls that are all given the same values from outside, after their inputs.

    Returns:
        A call for each block, and the values.
    """
    outer = list({key_of(x): x for block, _, _ in parts for x in block.outer}.values())
    calls = []
    for block, given, numbers in parts:
        taken = [block.take(x) for x in outer]
        calls.append(Call(block, [*(x.number for x in given), *(x.number for x in taken)], numbers))
    for block, _, _ in parts:
        block.forget()
    return calls, outer


def key_of(value: Any) -> Any:
    """What is equal for values that are the same."""
    if isinstance(value, SymbolicTensor):
        return id(value.listing), value.number
    return ("traced", _C.identity(value)) if isinstance(value, _C.Tracer) else id(value)


def is_symbolic(x: Any) -> bool:
    """Whether a value stands for one of a program, or has no elements at all."""
    return any(isinstance(part, (SymbolicTensor, _C.ShapeTensor)) for part in layers(x))

"""`einsum`: what an equation means for operands of some shapes is planned once, and kept.

A plan is a list of calls: diagonals are taken, then operands meet two by two, in the order of
opt_einsum where there are more. What would change nothing is not called.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from ..imperative import ParameterError, ShapeError, Tensor, TensorLike
from .arguments import named
from .arranging import as_tensor, moveaxis
from .generated import (
    arange,
    broadcast_to,
    gather,
    matmul,
    multiply,
    permute_dims,
    reshape,
    sum,
)

__all__ = ["einsum"]

_MOST_PLANS = 512  # that are kept
_SHORT = 512  # elements of a dot product: of more of them the products would leave the cache
_ROUNDED_ONCE = ("float32", "float64")  # whose products and sums have the dtype

_shape_of = attrgetter("shape")

Shape = tuple[Any, ...]


@named
def einsum(equation: str, *operands: TensorLike) -> Tensor:
    """Products summed over named dimensions.

    Args:
        equation: for each operand a letter for each dimension, separated by commas, and after "->"
            those of the result; without "->" it has those that occur once, in alphabetic order.
            "..." stands for leading dimensions, which broadcast; a letter twice in an operand
            takes the diagonal.
        operands: tensors, numeric.

    Raises:
        ShapeError: a letter stands for different sizes.
        ParameterError: the equation has no meaning, or not as many parts as there are operands.

    Source:
        Order of contraction: opt_einsum, https://doi.org/10.21105/joss.00753.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tl.functional.einsum("ij,jk->ik", x, x).tolist()
        [[7.0, 10.0], [15.0, 22.0]]
    """
    if not isinstance(equation, str):
        raise ParameterError(
            "the equation must be a str, such as 'ij,jk->ik'.",
            op="einsum",
            got=type(equation).__name__,
        )
    tensors = list(map(as_tensor, operands))
    key = (equation, *map(_shape_of, tensors))
    plan = _plans.get(key)
    if plan is None:
        plan = _Plan(equation, [tuple(x.shape) for x in tensors])
        # Sizes that are not known belong to a program, which a plan must not keep.
        if all(type(size) is int for x in tensors for size in x.shape):
            if len(_plans) >= _MOST_PLANS:
                _plans.clear()
            _plans[key] = plan
    return plan.run(tensors)


class _Term(NamedTuple):
    """An operand, or what a step gave: which of the values it is, and its dimensions."""

    place: int
    letters: str
    shape: Shape


class _Plan:
    """The steps of an equation, for operands of these shapes."""

    def __init__(self, equation: str, shapes: Sequence[Shape]) -> None:
        parts, result = _letters(equation, shapes)
        sizes = _sizes(equation, parts, shapes)
        self.count = len(shapes)
        self.steps: list[tuple[Callable[..., Any], int, int | None]] = []
        terms = [
            self._single(_Term(place, letters, shape))
            for place, (letters, shape) in enumerate(zip(parts, shapes, strict=True))
        ]
        for chosen in _order([term.letters for term in terms], result, sizes):
            taken = [terms.pop(i) for i in sorted(chosen, reverse=True)]
            rest = [result, *(term.letters for term in terms)]
            term = taken.pop()
            while taken:
                second = taken.pop()
                term = self._joined(term, second, [*rest, *(each.letters for each in taken)])
            terms.append(self._summed(term, set().union(*rest)))
        wanted = tuple(sizes[letter] for letter in result)
        self.result = self._spread(self._permuted(terms[0], result), wanted).place

    def run(self, values: list[Any]) -> Any:
        """The result for operands; what the steps give comes behind them."""
        for function, first, second in self.steps:
            x = values[first]
            values.append(function(x) if second is None else function(x, values[second]))
        return values[self.result]

    def _then(
        self, function: Callable[..., Any], terms: Sequence[_Term], letters: str, shape: Shape
    ) -> _Term:
        second = terms[1].place if len(terms) == 2 else None
        self.steps.append((function, terms[0].place, second))
        return _Term(self.count + len(self.steps) - 1, letters, shape)

    def _permuted(self, term: _Term, letters: str) -> _Term:
        if letters == term.letters:
            return term
        axes = tuple(term.letters.index(letter) for letter in letters)
        shape = tuple(term.shape[axis] for axis in axes)
        return self._then(partial(permute_dims, axes=axes), [term], letters, shape)

    def _spread(self, term: _Term, shape: Shape) -> _Term:
        if _are_known(shape, term.shape) and shape == term.shape:
            return term
        return self._then(partial(broadcast_to, shape=shape), [term], term.letters, shape)

    def _reshaped(self, term: _Term, shape: Shape) -> _Term:
        if len(shape) == len(term.shape) and _are_known(shape) and shape == term.shape:
            return term
        return self._then(partial(reshape, shape=shape), [term], term.letters, shape)

    def _single(self, term: _Term) -> _Term:
        """The operand with each letter once: diagonals taken."""
        for letter in dict.fromkeys(term.letters):
            while term.letters.count(letter) > 1:
                first = term.letters.index(letter)
                second = term.letters.index(letter, first + 1)
                rows, columns = term.shape[first], term.shape[second]
                is_view = second == first + 1 and _are_known((rows, columns)) and rows == columns
                size = _wider(rows, columns)
                shape = list(term.shape)
                shape[first] = size
                del shape[second]
                function: Callable[[Any], Any]
                if is_view:
                    # In rows that lie end to end, the next is one row and one column further.
                    in_order = (*term.shape[:first], size * size, *term.shape[second + 1 :])
                    term = self._reshaped(term, in_order)
                    key = (*[slice(None)] * first, slice(None, None, size + 1))
                    function = itemgetter(key if first else key[0])
                else:
                    function = partial(_far_diagonal, first=first, second=second, size=size)
                letters = term.letters[:second] + term.letters[second + 1 :]
                term = self._then(function, [term], letters, tuple(shape))
        return term

    def _summed(self, term: _Term, kept: set[str]) -> _Term:
        gone = tuple(i for i, letter in enumerate(term.letters) if letter not in kept)
        if not gone:
            return term
        stay = [i for i in range(len(term.letters)) if i not in gone]
        letters = "".join(term.letters[i] for i in stay)
        shape = tuple(term.shape[i] for i in stay)
        return self._then(partial(sum, axis=gone), [term], letters, shape)

    def _joined(self, first: _Term, second: _Term, rest: list[str]) -> _Term:
        """The product of two terms, summed over what the rest, other terms and the result, does
        not name."""
        kept = set().union(*rest)
        x = self._summed(first, kept | set(second.letters))
        y = self._summed(second, kept | set(first.letters))
        pairs = _Pair(x, y, kept), _Pair(y, x, kept)
        pair = min(pairs, key=lambda pair: (pair.turned, pair.differing(rest)))
        if not pair.inner:
            return self._scaled(pair)
        size = math.prod(pair.shape_of(pair.inner))
        if not pair.rows and not pair.columns and type(size) is int and size <= _SHORT:
            return self._dotted(pair)
        return self._multiplied(pair)

    def _scaled(self, pair: _Pair) -> _Term:
        """Nothing is summed over: the factors meet element by element."""
        x = self._permuted(pair.x, pair.batch + pair.rows)
        y = self._permuted(pair.y, pair.batch + pair.columns)
        x = self._reshaped(x, (*x.shape, *(1 for _ in pair.columns)))
        if pair.batch:
            lead = len(pair.batch)
            y = self._reshaped(y, (*y.shape[:lead], *(1 for _ in pair.rows), *y.shape[lead:]))
        letters = pair.batch + pair.rows + pair.columns
        return self._then(multiply, [x, y], letters, pair.shape_of(letters))

    def _dotted(self, pair: _Pair) -> _Term:
        """Short dot products, one for each place of the batch."""
        letters = pair.batch + pair.inner
        lead = pair.shape_of(pair.batch)
        shape = (*lead, math.prod(pair.shape_of(pair.inner)))
        terms = [
            self._reshaped(
                self._spread(self._permuted(term, letters), pair.shape_of(letters)), shape
            )
            for term in (pair.x, pair.y)
        ]
        return self._then(partial(_dots, lead=lead), terms, pair.batch, lead)

    def _multiplied(self, pair: _Pair) -> _Term:
        """Matrix products."""
        batch, rows, inner, columns = pair.batch, pair.rows, pair.inner, pair.columns
        lead = len(batch)
        joined = {group: math.prod(pair.shape_of(group)) for group in (rows, inner, columns)}
        x = self._permuted(pair.x, batch + rows + inner)
        x = self._spread(x, (*x.shape[:lead], *pair.shape_of(rows + inner)))
        y = self._permuted(pair.y, batch + inner + columns)
        y = self._spread(y, (*y.shape[:lead], *pair.shape_of(inner + columns)))
        # Rows that all meet one matrix need not be joined.
        lines = pair.shape_of(rows) if rows and not batch else (joined[rows],)
        x = self._reshaped(x, (*x.shape[:lead], *lines, joined[inner]))
        y = self._reshaped(y, (*y.shape[:lead], joined[inner], joined[columns]))
        letters = batch + rows + columns
        shape = (*pair.shape_of(batch), *lines, joined[columns])
        product = self._then(matmul, [x, y], letters, shape)
        return self._reshaped(product, pair.shape_of(letters))


class _Pair:
    """Two terms, and which of their dimensions are what to their product."""

    def __init__(self, x: _Term, y: _Term, kept: set[str]) -> None:
        self.x, self.y = x, y
        shared = [letter for letter in x.letters if letter in y.letters]
        self.batch = "".join(letter for letter in shared if letter in kept)
        self.inner = "".join(letter for letter in shared if letter not in kept)
        self.rows = "".join(letter for letter in x.letters if letter not in y.letters)
        self.columns = "".join(letter for letter in y.letters if letter not in x.letters)
        self.sizes = dict(zip(x.letters, x.shape, strict=True))
        for letter, size in zip(y.letters, y.shape, strict=True):
            self.sizes[letter] = _wider(self.sizes.get(letter, size), size)

    @property
    def turned(self) -> int:
        """How many of the terms have their dimensions in another order than a product's."""
        by_x = self.x.letters != self.batch + self.rows + self.inner
        return by_x + (self.y.letters != self.batch + self.inner + self.columns)

    def differing(self, rest: list[str]) -> int:
        """How many of the rest have the product's dimensions in another order."""
        letters = self.batch + self.rows + self.columns
        return builtins.sum(
            [letter for letter in letters if letter in other]
            != [letter for letter in other if letter in letters]
            for other in rest
        )

    def shape_of(self, letters: str) -> Shape:
        """Their sizes."""
        return tuple(self.sizes[letter] for letter in letters)


_plans: dict[tuple[Any, ...], _Plan] = {}


def _are_known(*shapes: Shape) -> bool:
    return all(type(size) is int for shape in shapes for size in shape)


def _wider(size: Any, other: Any) -> Any:
    """Of two sizes that may differ where one is 1."""
    return other if size != other and size == 1 else size


def _far_diagonal(x: Any, first: int, second: int, size: Any) -> Any:
    steps = arange(size)
    index = [steps if x.shape[i] == size else steps * 0 for i in (first, second)]
    return moveaxis(gather(x, *index, axes=(first, second)), 0, first)


def _dots(x: Any, y: Any, lead: Shape) -> Any:
    """Short dot products along the last dimension: many products of one row and one column each
    cost more than all their elements' products, where these are rounded to the dtype anyway."""
    if x.dtype == y.dtype and x.dtype.name in _ROUNDED_ONCE:
        return sum(multiply(x, y), axis=-1)
    size = x.shape[-1]
    product = matmul(reshape(x, (*lead, 1, size)), reshape(y, (*lead, size, 1)))
    return reshape(product, lead)


def _sizes(equation: str, parts: Sequence[str], shapes: Sequence[Shape]) -> dict[str, Any]:
    """What each letter stands for."""
    sizes: dict[str, Any] = {}
    for letters, shape in zip(parts, shapes, strict=True):
        for letter, size in zip(letters, shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == size:
                continue
            if 1 not in (known, size):
                raise ShapeError(
                    f"{letter!r} must stand for one size.",
                    op="einsum",
                    got=f"{known} and {size} in {equation!r}",
                )
            sizes[letter] = size if known == 1 else known
    return sizes


def _letters(equation: str, shapes: Sequence[Shape]) -> tuple[list[str], str]:
    """The letters of operands and result, those that "..." stands for included."""
    text = "".join(equation.split())
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(shapes):
        raise ParameterError(
            "the equation must have a part for each operand.",
            op="einsum",
            got=f"{equation!r} for {len(shapes)}",
        )
    for part in (*parts, right):
        plain = part.replace("...", "", 1)
        if plain and not (plain.isascii() and plain.isalpha()):
            raise ParameterError(
                "must be letters.", op="einsum", argument="dimensions", got=repr(equation)
            )
    # Letters that nobody can write, the last for the last dimension.
    extra = 0
    for part, shape in zip(parts, shapes, strict=True):
        named = len(part.replace("...", ""))
        more = len(shape) - named
        if more < 0 or (more > 0 and "..." not in part):
            raise ParameterError(
                "a part must name each dimension.", op="einsum", got=f"{part!r} for shape {shape}"
            )
        extra = max(extra, more)
    dots = "".join(chr(0x3B1 + i) for i in range(extra))
    full = []
    for part, shape in zip(parts, shapes, strict=True):
        more = len(shape) - len(part.replace("...", ""))
        full.append(part.replace("...", dots[extra - more :]))
    if arrow:
        result = right.replace("...", dots)
    else:
        once = sorted(
            letter for letter in set(left) if left.count(letter) == 1 and letter.isalpha()
        )
        result = dots + "".join(once)
    unknown = set(result) - set("".join(full)) - set(dots)
    if unknown or len(set(result)) != len(result):
        raise ParameterError(
            "the result must name dimensions of operands, each once.",
            op="einsum",
            got=repr(equation),
        )
    return full, result


def _order(parts: list[str], result: str, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    """Which operands to contract, step by step."""
    if len(parts) <= 2:
        return [tuple(range(len(parts)))]
    import opt_einsum

    shapes = [tuple(sizes[letter] for letter in part) for part in parts]
    path, _ = opt_einsum.contract_path(
        f"{','.join(parts)}->{result}", *shapes, shapes=True, optimize="auto"
    )
    return [tuple(step) for step in path]

"""Taylor mode: all derivatives of a function along a curve, up to an order, in one pass.

`jet` pushes a Taylor polynomial through a function. It is a transform of its own, made of what
`tensorlike.transforms` offers to everybody: a value, one rule, a way in and a way out. Sums,
products and quotients of polynomials are known here; what any other op does to them follows from
its derivative, one order lower, by y' = J(x) x'. So it takes every op that `jvp` takes.

>>> value, (first, second) = jet(tl.exp, (0.0,), ([2.0, 0.0],))  # of exp(2 t) at 0
>>> value.item(), first.item(), second.item()
(1.0, 2.0, 4.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import factorial
from typing import Any

import tensorlike as tl
from tensorlike import ops
from tensorlike.transforms import Level, TransformValue, enter, leave, map_tree, own

SUMS = ("add", "subtract", "negative", "sum", "mean")
LINEAR = (ops.Reshape, ops.Transpose, ops.Broadcast, ops.Subtensor, ops.Concat, ops.Stack,
          ops.Split)  # fmt: skip
BILINEAR = (ops.MatMul, ops.Convolution)


class Jet(TransformValue):
    """A polynomial in t: `terms[i]` times t**i, as far as it is known."""

    is_differentiated = True  # so that functions with derivatives of their own are asked for them

    def __init__(self, level: Level, terms: Iterable[Any]) -> None:
        super().__init__(level)
        self.terms = tuple(terms)

    shape = property(lambda self: self.terms[0].shape)
    dtype = property(lambda self: self.terms[0].dtype)
    inner = outside = property(lambda self: self.terms[0])

    def with_inner(self, value: Any, other: Callable[[Any], Any]) -> Jet:
        return Jet(self.level, [value, *map(other, self.terms[1:])])


@tl.apply.register
def apply_jet(op: ops.OpBase, *xs: Jet) -> Sequence[Any]:
    level = max((x.level for x in xs if isinstance(x, Jet)), key=lambda level: level.number)
    if not level.is_open:
        level.refuse(op, "Jet")
    is_own = [isinstance(x, Jet) and x.level is level for x in xs]  # all else is constant
    terms = [x.terms if moves else (x,) for x, moves in zip(xs, is_own, strict=True)]
    count = min(len(t) for t, moves in zip(terms, is_own, strict=True) if moves)
    firsts = op(*(t[0] for t in terms))
    if isinstance(op, ops.Const) or not any(map(can_move, firsts)):
        return firsts
    mode = op.mode if isinstance(op, (ops.Elemwise, ops.Reduce)) else ""
    if count == 1:
        rest: Any = [()] * len(firsts)
    elif mode in SUMS or isinstance(op, LINEAR) or (mode == "where" and not is_own[0]):
        fixed = 1 if mode == "where" else 0
        parts = [(*xs[:fixed], *(term(t, i) for t in terms[fixed:])) for i in range(1, count)]
        rest = zip(*(op(*part) for part in parts), strict=True)
    elif len(xs) == 2 and (mode == "multiply" or isinstance(op, BILINEAR)):
        rest = [[product(op, *terms, i) for i in range(1, count)]]
    elif mode == "divide":
        rest = [quotient(op, *terms, firsts[0], count)]
    else:
        rest = derived(op, level, terms, is_own, firsts, count)
    pairs = zip(firsts, rest, strict=True)
    return [Jet(level, [y, *more]) if can_move(y) else y for y, more in pairs]


def can_move(y: Any) -> bool:
    return y.dtype.kind in ("floating", "complex")


def term(terms: Sequence[Any], i: int) -> Any:
    """That of t**i; constants have none but the first."""
    if i < len(terms):
        return terms[i]
    return ops.Fill(shape=terms[0].shape, fill_value=0, dtype=terms[0].dtype)()[0]


def product(op: ops.OpBase, xs: Sequence[Any], ys: Sequence[Any], n: int) -> Any:
    """The term of t**n of a product of polynomials."""
    pairs = [(i, n - i) for i in range(n + 1) if i < len(xs) and n - i < len(ys)]
    parts = [op(xs[i], ys[j])[0] for i, j in pairs]
    return sum(parts[1:], parts[0])


def quotient(
    op: ops.OpBase, xs: Sequence[Any], ys: Sequence[Any], first: Any, count: int
) -> list[Any]:
    """The terms behind the first: a quotient times what it was divided by is what was divided."""
    multiply = ops.Elemwise(mode="multiply")
    found = [first]
    for n in range(1, count):
        others = [multiply(found[n - j], ys[j])[0] for j in range(1, min(n + 1, len(ys)))]
        found.append(op(sum((-y for y in others), term(xs, n)), ys[0])[0])
    return found[1:]


def derived(
    op: ops.OpBase, level: Level, terms: Any, is_own: Sequence[bool], firsts: Any, count: int
) -> list[list[Any]]:
    """The terms behind the first, of any op: y' is its derivative at x along x'."""
    primals = [
        tl.Tensor(Jet(level, t[: count - 1]) if moves else t[0])
        for t, moves in zip(terms, is_own, strict=True)
    ]
    slopes = [
        tl.Tensor(Jet(level, [i * t[i] for i in range(1, count)])) if moves else None
        for t, moves in zip(terms, is_own, strict=True)
    ]
    _, moved = tl.jvp(lambda *xs: op(*xs), primals, slopes)
    return [
        [term(slope_terms(dy, y, level), i) / (i + 1) for i in range(count - 1)]
        for dy, y in zip(moved, firsts, strict=True)
    ]


def slope_terms(dy: Any, y: Any, level: Level) -> Sequence[Any]:
    """Those of a derivative, which may be constant, or nothing at all."""
    found = None if dy is None else own(dy, level)
    if found is not None:
        return found.terms
    return (term((y,), 1) if dy is None else dy.__wrapped__,)


def jet(function: Callable[..., Any], primals: Sequence[Any], series: Sequence[Any]) -> Any:
    """A function along curves: its value at t = 0, and its derivatives by t there.

    Args:
        function: takes tensors, and returns one, or a tree of them.
        primals: the arguments at t = 0.
        series: for each argument its derivatives by t: the first, the second, ...; as many for all.

    Returns:
        The value, and a list of the derivatives, each a tensor or a tree as the value is.

    Raises:
        ValueError: there are not as many derivatives for all arguments, of their shapes; or an
            argument is not of floating-point numbers.

    Source:
        Griewank and Walther, "Evaluating Derivatives", chapter 13.
    """
    xs = [x if isinstance(x, tl.TensorBase) else tl.tensor(x) for x in primals]
    curves = [[tl.tensor(d) for d in derivatives] for derivatives in series]
    order = max(map(len, curves), default=0)
    if len(curves) != len(xs) or any(len(derivatives) < order for derivatives in curves):
        raise ValueError("jet: derivatives must be given for each argument, as many for all")
    for x, derivatives in zip(xs, curves, strict=True):
        if not can_move(x) or any(d.shape != x.shape for d in derivatives):
            raise ValueError(f"jet: derivatives must have the shape of {x!r}, a floating-point one")
    with Level() as level:

        def entered(x: Any, derivatives: Sequence[Any]) -> Any:
            scaled = [d.astype(x.dtype) / factorial(i) for i, d in enumerate(derivatives, 1)]
            terms = [d.__wrapped__ for d in scaled]
            return enter(x, lambda value: Jet(level, [value, *terms]))

        out = function(*map(entered, xs, curves))

        def part(i: int) -> Any:
            return map_tree(lambda y: derivative(y, level, i), out)

        return part(0), [part(i) for i in range(1, order + 1)]


def derivative(y: Any, level: Level, i: int) -> Any:
    """The i-th by t of a result; zeros where that does not depend on t."""
    if own(y, level) is None:
        return y if i == 0 else tl.zeros_like(y)
    return leave(y, level, lambda jet: jet.terms[i] * factorial(i) if i else jet.terms[0])

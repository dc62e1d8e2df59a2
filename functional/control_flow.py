"""Branches and loops on tensors: `cond`, `while_loop`, `scan`.

On values they are what Python's own would be: the functions run at once, and only the branch that
is taken. On variables of a program each is recorded as one op around programs of its functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..imperative import DTypeError, ParameterError, ShapeError, Size, Tensor
from ..imperative.blocks import Block, closed, is_symbolic, record_block
from ..imperative.control_flow import Cond, checked_dtype, has_examples
from ..imperative.levels import innermost_value, unwrapped
from ..imperative.loops import ScanLoop, WhileLoop
from ..imperative.trees import call, flatten, holds_elements, holds_numbers, unflatten
from .alike import paths, refuse_other, refuse_other_tree
from .arguments import integer, named
from .creation import zeros
from .generated import arange, logical_and, stack, where

__all__ = ["cond", "scan", "while_loop"]

AnyCallable = Callable[..., Any]


@named
def cond(predicate: Any, true_fn: AnyCallable, false_fn: AnyCallable, *operands: Any) -> Any:
    """What one of two functions gives, as a boolean says.

    On values only the function that is taken runs. In a program both are recorded, and each run
    takes one of them; what they read from outside is read by the op. Where the boolean differs
    between the examples of a `vmap`, both run on all, and each example takes its result: then
    neither must fail on examples that are not its own.

    Args:
        predicate: a boolean, or a tensor of one.
        true_fn: takes the operands, and returns a tensor or a tree of them.
        false_fn: the same; in a program of the same shapes and dtypes.
        operands: tensors, or trees of them.

    Raises:
        DTypeError: the predicate is no boolean, or the functions' results differ in dtype.
        ShapeError: the predicate has more than one element, or the results differ in shape.
        ParameterError: the results are arranged otherwise.

    Source:
        JAX, ``jax.lax.cond``; PyTorch, ``torch.cond``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([1.0, -4.0])
        >>> tl.functional.cond(tl.sum(x) > 0, tl.sqrt, tl.abs, x).tolist()
        [1.0, 4.0]
    """
    if not isinstance(predicate, bool):
        predicate = _predicate("cond", predicate)
    if isinstance(predicate, bool):
        return (true_fn if predicate else false_fn)(*operands)
    if not is_symbolic(predicate):
        return _selected(predicate, true_fn(*operands), false_fn(*operands))
    leaves, treedef = flatten(operands, holds_elements)
    values = [unwrapped(x) for x in leaves]
    outs: list[Any] = []

    def recorded(function: AnyCallable) -> Any:
        def run(*tensors: Any) -> Sequence[Any]:
            found, out = flatten(call(function, treedef, tensors), holds_numbers, is_result=True)
            outs.append(out)
            return found

        return record_block(run, [(f"x{i}", x, None) for i, x in enumerate(values)], "cond")

    parts = [recorded(true_fn), recorded(false_fn)]
    refuse_other_tree("cond", "false_fn", outs[0], outs[1])
    (first, _, ys), (second, _, zs) = parts
    for name, y, z in zip(paths(outs[0], "result"), ys, zs, strict=True):
        refuse_other("cond", name, _kind(first, y), _kind(second, z), "both functions")
    branches, outer = closed(parts)
    return unflatten(outs[0], map(Tensor, Cond(*branches)(unwrapped(predicate), *values, *outer)))


def _predicate(who: str, x: Any) -> Any:
    """The boolean that a predicate is, or the tensor where it is not one for all."""
    value = unwrapped(x)
    dtype = checked_dtype(value)
    if dtype.kind != "bool":
        raise DTypeError(
            "must be a boolean", op=who, argument="predicate", got=dtype.name,
            fix="compare it: x != 0",
        )  # fmt: skip
    if value.shape != ():
        raise ShapeError(
            "must be one boolean", op=who, argument="predicate", got=f"shape {value.shape}",
            fix="reduce it by all or any, or select elements by where",
        )  # fmt: skip
    if has_examples(value) or innermost_value(value) is None:
        return Tensor(value)
    return bool(Tensor(value))


def _selected(predicate: Any, first: Any, second: Any) -> Any:
    """The one or the other for each example."""
    ys, out = flatten(first, holds_numbers, is_result=True)
    zs, other = flatten(second, holds_numbers, is_result=True)
    refuse_other_tree("cond", "false_fn", out, other)
    ys, zs = [Tensor(unwrapped(y)) for y in ys], [Tensor(unwrapped(z)) for z in zs]
    for name, y, z in zip(paths(out, "result"), ys, zs, strict=True):
        refuse_other("cond", name, (y.dtype, y.shape), (z.dtype, z.shape), "both functions")
    return unflatten(out, [where(predicate, y, z) for y, z in zip(ys, zs, strict=True)])


@named
def while_loop(
    cond_fn: AnyCallable, body_fn: AnyCallable, init: Any, max_steps: int | None = None
) -> Any:
    """A function applied to what it gave, as long as another one says.

    On values this is Python's loop, and gradients go back through all its steps. In a program it is
    one op, of which tangents are always known; its gradient needs `max_steps`, and costs that many
    steps. Where the boolean differs between the examples of a `vmap`, the loop goes on until the
    last one is done, and those that are stay as they were.

    Args:
        cond_fn: from the carry to a boolean.
        body_fn: from the carry to the next one, of the same shapes and dtypes.
        init: the first carry: a tensor, a number, or a tree of them.
        max_steps: after how many steps it ends in any case; None: after any number.

    Returns:
        The last carry.

    Raises:
        DTypeError: `cond_fn` gives no boolean, or a carry changes its dtype.
        ShapeError: a carry changes its shape.
        ParameterError: a carry is arranged otherwise than the first.

    Source:
        JAX, ``jax.lax.while_loop``.

    Example:
        >>> import tensorlike as tl
        >>> double = lambda x: x * 2
        >>> tl.functional.while_loop(lambda x: tl.sum(x) < 100, double, tl.tensor([1.0, 2.0]))
        tensor([ 64., 128.])
    """
    if max_steps is not None:
        max_steps = integer("while_loop", "max_steps", max_steps, least=0)
    leaves, treedef = flatten(init, holds_numbers, is_result=True)
    carries = [Tensor(unwrapped(x)) for x in leaves]
    if any(map(is_symbolic, carries)):
        return _recorded_while(cond_fn, body_fn, carries, treedef, max_steps)
    is_on: Any = True  # for which examples it goes on
    steps = 0
    while max_steps is None or steps < max_steps:
        again = _predicate("while_loop", cond_fn(unflatten(treedef, carries)))
        if not isinstance(again, bool):
            if is_symbolic(again):
                return _recorded_while(cond_fn, body_fn, carries, treedef, max_steps)
            is_on = logical_and(is_on, again) if is_on is not True else again
            again = _any_example(is_on)
        if not again:
            break
        found = _next("while_loop", body_fn(unflatten(treedef, carries)), treedef, carries)
        carries = found if is_on is True else list(map(where, [is_on] * len(found), found, carries))
        steps += 1
    return unflatten(treedef, carries)


def _any_example(flags: Any) -> bool:
    """Whether a boolean is true for any example."""
    elements = innermost_value(flags)
    return elements is not None and bool(Tensor(elements).any())


def _next(who: str, found: Any, treedef: Any, carries: Sequence[Any]) -> list[Any]:
    """The tensors of the next carry, which must be like those of this one."""
    leaves, other = flatten(found, holds_numbers, is_result=True)
    refuse_other_tree(who, "body_fn", treedef, other)
    made = [Tensor(unwrapped(x)) for x in leaves]
    for i, (x, y) in enumerate(zip(carries, made, strict=True)):
        if x.dtype is not y.dtype or x.shape != y.shape:
            name = paths(treedef, "carry")[i]
            refuse_other(who, name, (x.dtype, x.shape), (y.dtype, y.shape), "each step")
    return made


def _recorded_while(
    cond_fn: AnyCallable,
    body_fn: AnyCallable,
    carries: Sequence[Any],
    treedef: Any,
    max_steps: int | None,
) -> Any:
    values = [unwrapped(x) for x in carries]
    inputs = [(name, x, None) for name, x in zip(paths(treedef, "carry"), values, strict=True)]

    def again(*tensors: Any) -> Sequence[Any]:
        found = cond_fn(unflatten(treedef, tensors))
        if not isinstance(found, bool):
            _predicate("while_loop", found)
        return [found]

    def step(*tensors: Any) -> Sequence[Any]:
        leaves, other = flatten(body_fn(unflatten(treedef, tensors)), holds_numbers, is_result=True)
        refuse_other_tree("while_loop", "body_fn", treedef, other)
        return leaves

    parts = [record_block(function, inputs, "while_loop") for function in (again, step)]
    _refuse_other_carries("while_loop", treedef, *parts[1])
    (predicate, body), outer = closed(parts)
    found = WhileLoop(predicate, body, max_steps)(*values, *outer)
    return unflatten(treedef, map(Tensor, found))


@named
def scan(
    body_fn: AnyCallable, init: Any, xs: Any = None, length: int | None = None, *,
    reverse: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """A function applied to what it gave and to one row after the other.

    On values this is Python's loop. In a program it is one op, whose gradient is such an op too: it
    keeps the carries, and runs the steps once more from the last to the first.

    Args:
        body_fn: from the carry and a row to the next carry, of the same shapes and dtypes, and a
            row of results.
        init: the first carry: a tensor, a number, or a tree of them.
        xs: tensors whose first axis is gone along, in a tree; None: the rows are None.
        length: how many steps there are; needed where there are no `xs`.
        reverse: whether it begins with the last row.

    Returns:
        The last carry, and the rows of results, stacked along a first axis in the order of `xs`.

    Raises:
        ShapeError: the `xs` differ in length, or a carry changes its shape.
        DTypeError: a carry changes its dtype.
        ParameterError: the length is not known, or `body_fn` gives something else.

    Source:
        JAX, ``jax.lax.scan``.

    Example:
        >>> import tensorlike as tl
        >>> step = lambda total, x: (total + x, total * x)
        >>> tl.functional.scan(step, 0.0, tl.tensor([1.0, 2.0, 3.0]))
        (tensor(6.), tensor([0., 2., 9.]))
    """
    leaves, treedef = flatten(init, holds_numbers, is_result=True)
    carries = [Tensor(unwrapped(x)) for x in leaves]
    found, rows_def = flatten(xs, holds_numbers, is_result=True)
    rows = [Tensor(unwrapped(x)) for x in found]
    steps = _length(rows, rows_def, length)
    call_of = _Step(body_fn, treedef, rows_def, len(rows))
    if any(map(is_symbolic, (*carries, *rows))) or isinstance(steps, Size):
        along = rows or [arange(steps)]
        return _recorded_scan(call_of, carries, along, reverse=reverse)
    made: list[Any] = []
    for i in range(steps - 1, -1, -1) if reverse else range(steps):
        found = call_of(*carries, *(x[i] for x in rows))
        carries = _next("scan", unflatten(treedef, found[: len(carries)]), treedef, carries)
        made.append(found[len(carries) :])
    if not made:
        return _no_steps(call_of, carries, rows)
    if reverse:
        made.reverse()
    return unflatten(treedef, carries), unflatten(
        call_of.out, [stack(list(ys), axis=0) for ys in zip(*made, strict=True)]
    )


class _Step:
    """A body as a function from the tensors of carry and row to those of the next and the result.

    Attributes:
        out: the treedef of a row of results.
    """

    def __init__(self, function: AnyCallable, carry: Any, row: Any, rows: int) -> None:
        self.function = function
        self.carry = carry
        self.row = row
        self.rows = rows
        self.out: Any = None

    def __call__(self, *tensors: Any) -> list[Any]:
        count = len(paths(self.carry, ""))
        row = unflatten(self.row, tensors[count : count + self.rows])
        found = self.function(unflatten(self.carry, tensors[:count]), row)
        if not isinstance(found, tuple) or len(found) != 2:
            raise ParameterError(
                "must return the next carry and a row of results", op="scan", argument="body_fn",
                got=type(found).__name__, fix="return carry, None where there are no results",
            )  # fmt: skip
        carries, carry = flatten(found[0], holds_numbers, is_result=True)
        refuse_other_tree("scan", "body_fn", self.carry, carry)
        ys, self.out = flatten(found[1], holds_numbers, is_result=True)
        return [Tensor(unwrapped(y)) for y in (*carries, *ys)]


def _length(rows: Sequence[Any], rows_def: Any, length: Any) -> Any:
    names = paths(rows_def, "xs")
    for name, x in zip(names, rows, strict=True):
        if not x.shape:
            raise ShapeError(
                "must have an axis to go along", op="scan", argument=name, got="a scalar"
            )
        if x.shape[0] != rows[0].shape[0] or (length is not None and x.shape[0] != length):
            wanted = rows[0].shape[0] if length is None else length
            raise ShapeError(
                f"must have {wanted} rows", op="scan", argument=name, got=f"shape {x.shape}"
            )
    if rows:
        return rows[0].shape[0]
    if isinstance(length, Size):
        return length
    if length is None:
        raise ParameterError(
            "the number of steps must be known", op="scan", argument="length", got="None",
            fix="pass xs, or length",
        )  # fmt: skip
    return integer("scan", "length", length, least=0)


def _block_of(step: _Step, carries: Sequence[Any], rows: Sequence[Any]) -> Any:
    inputs: list[tuple[str, Any, Any]] = [
        (name, unwrapped(x), None)
        for name, x in zip(paths(step.carry, "carry"), carries, strict=True)
    ]
    inputs += [(f"x{i}", unwrapped(x), x.shape[1:]) for i, x in enumerate(rows)]
    part = record_block(step, inputs, "scan")
    _refuse_other_carries("scan", step.carry, *part)
    return part


def _recorded_scan(
    step: _Step, carries: Sequence[Any], rows: Sequence[Any], *, reverse: bool
) -> tuple[Any, Any]:
    (body,), outer = closed([_block_of(step, carries, rows)])
    n = len(carries)
    op = ScanLoop(body, n, len(rows), reverse=bool(reverse))
    found = [Tensor(y) for y in op(*map(unwrapped, (*carries, *rows)), *outer)]
    return unflatten(step.carry, found[:n]), unflatten(step.out, found[n:])


def _no_steps(step: _Step, carries: Sequence[Any], rows: Sequence[Any]) -> tuple[Any, Any]:
    """What no steps give: the shapes of the rows of results are found without elements."""
    block, _, numbers = _block_of(step, carries, rows)
    kinds = [_kind(block, number) for number in numbers[len(carries) :]]
    made = [zeros((0, *shape), dtype=dtype) for dtype, shape in kinds]
    return unflatten(step.carry, carries), unflatten(step.out, made)


def _kind(block: Block, number: int) -> tuple[Any, Any]:
    return block.dtype(number), block.shape(number)


def _refuse_other_carries(
    who: str, treedef: Any, block: Block, given: Sequence[Any], numbers: Sequence[int]
) -> None:
    for name, x, number in zip(paths(treedef, "carry"), given, numbers, strict=False):
        refuse_other(who, name, (x.dtype, x.shape), _kind(block, number), "each step")

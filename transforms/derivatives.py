"""Whole derivatives, as tensors: Jacobians and Hessians, and products with Hessians.

A Jacobian is what `vjp` or `jvp` gives for every unit vector, all of them at once by `vmap`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _C
from .. import functional as F
from ..imperative.autodiff import grad, vjp
from ..imperative.levels import unwrapped
from ..imperative.naming import named_around
from ..imperative.sizes import Size
from ..imperative.trees import (
    can_move,
    flatten,
    flatten_arguments,
    holds_elements,
    put_in_places,
    unflatten,
)
from .forward import jvp
from .vectorize import run_mapped

AnyCallable = Callable[..., Any]


@named_around
def jacrev(function: AnyCallable, argnums: int | Sequence[int] = 0) -> AnyCallable:
    """The Jacobian of a function, row by row: for functions of many numbers that give few.

    Args:
        function: returns a tensor, or a tree of them.
        argnums: the positional arguments to differentiate by.

    Returns:
        A function of the same arguments. Its result is arranged as the value of `function`; in
        place of each tensor is what is arranged as the argument (a tuple of such for several
        argnums), of tensors of the value's shape followed by the argument's.

    Raises:
        AutodiffError: as `vjp`.

    Example:
        >>> import tensorlike as tl
        >>> tl.jacrev(lambda x: x * x)(tl.tensor([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """

    @functools.wraps(function)
    def jacobian(*args: Any) -> Any:
        of_chosen, chosen, is_single = _only(function, args, argnums, "jacrev")
        value, pull_back = vjp(of_chosen, *chosen)
        results, treedef = flatten(value, can_move, is_result=True)
        pulled = run_mapped(
            lambda *seeds: pull_back(put_in_places(treedef, seeds)),
            _units(results),
            0,
            0,
            None,
            draws=False,
        )
        gradients, pulled_treedef = flatten(pulled, holds_elements)
        rows = [_parts(gradient, results, 0) for gradient in gradients]
        trees = [unflatten(pulled_treedef, [row[i] for row in rows]) for i in range(len(results))]
        return put_in_places(treedef, [tree[0] if is_single else tree for tree in trees])

    return jacobian


@named_around
def jacfwd(function: AnyCallable, argnums: int | Sequence[int] = 0) -> AnyCallable:
    """The Jacobian of a function, column by column: for functions of few numbers that give many.

    Args:
        function: returns a tensor, or a tree of them.
        argnums: the positional arguments to differentiate by.

    Returns:
        As `jacrev`.

    Raises:
        AutodiffError: as `jvp`.

    Example:
        >>> import tensorlike as tl
        >>> tl.jacfwd(lambda x: x * x)(tl.tensor([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """

    @functools.wraps(function)
    def jacobian(*args: Any) -> Any:
        of_chosen, chosen, is_single = _only(function, args, argnums, "jacfwd")
        inputs, treedef = flatten_arguments(chosen)
        inputs = [unwrapped(x) for x in inputs]
        pushed = run_mapped(
            lambda *units: jvp(of_chosen, chosen, put_in_places(treedef, units))[1],
            _units(inputs),
            0,
            -1,
            None,
            draws=False,
        )
        tangents, pushed_treedef = flatten(pushed, holds_elements)
        made = []
        for tangent in tangents:
            tree = put_in_places(treedef, _parts(tangent, inputs, len(tangent.shape) - 1))
            made.append(tree[0] if is_single else tree)
        return unflatten(pushed_treedef, made)

    return jacobian


@named_around
def hessian(function: AnyCallable, argnums: int | Sequence[int] = 0) -> AnyCallable:
    """The second derivatives of a function that returns one number.

    Args:
        function: returns a tensor with one element.
        argnums: the positional arguments to differentiate by.

    Returns:
        A function of the same arguments: the Jacobian of the gradient, arranged as `jacrev` says.

    Raises:
        AutodiffError: as `grad`.

    Example:
        >>> import tensorlike as tl
        >>> tl.hessian(lambda x: x[0] * x[0] * x[1])(tl.tensor([1.0, 3.0])).tolist()
        [[6.0, 2.0], [2.0, 0.0]]
    """
    return jacrev(grad(function, argnums), argnums)


@named_around
def hvp(function: AnyCallable, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of a function that returns one number, times a vector, without the Hessian.

    Args:
        function: returns a tensor with one element.
        primals: the positional arguments.
        tangents: the vector, arranged as the primals are.

    Returns:
        What is arranged as the primals; for one primal, as it alone.

    Raises:
        AutodiffError: as `grad`.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([1.0, 2.0])
        >>> tl.hvp(lambda x: tl.sum(x ** 3), (x,), (tl.tensor([1.0, 10.0]),)).tolist()
        [6.0, 120.0]
    """
    # A Hessian is symmetric, so that it may be pulled back through.
    positions = tuple(range(len(primals)))
    _, pull_back = vjp(grad(function, positions), *primals)
    found = pull_back(tuple(tangents))
    return found[0] if len(primals) == 1 else found


def _only(
    function: AnyCallable, args: tuple[Any, ...], argnums: int | Sequence[int], who: str
) -> tuple[AnyCallable, tuple[Any, ...], bool]:
    """The function of the chosen arguments alone, these, and whether it is one by itself."""
    is_single = isinstance(argnums, int)
    positions = [argnums] if isinstance(argnums, int) else list(argnums)
    for position in positions:
        if not -len(args) <= position < len(args):
            raise _C.AutodiffError(
                "must name positional arguments",
                op=who,
                argument="argnums",
                got=f"{position} for {len(args)}",
            )

    def of_chosen(*chosen: Any) -> Any:
        given = list(args)
        for position, value in zip(positions, chosen, strict=True):
            given[position] = value
        return function(*given)

    return of_chosen, tuple(args[position] for position in positions), is_single


def _units(tensors: Sequence[Any]) -> tuple[Any, ...]:
    """For each tensor a batch: of all unit vectors of the tensors together, its part of each."""
    total: Any = sum(math.prod(x.shape) for x in tensors)
    is_unknown = isinstance(total, Size)
    units = []
    first = 0
    for x in tensors:
        size = math.prod(x.shape)
        if is_unknown:
            at = F.arange(total)[:, None] - first
            rows: Any = F.astype(F.equal(at, F.arange(size)), dtype=x.dtype)
            units.append(F.reshape(rows, (total, *x.shape)))
        else:
            rows = np.zeros((total, size))
            rows[first : first + size] = np.eye(size)
            units.append(_C.tensor(rows.reshape(total, *x.shape), x.dtype))
        first += size
    return tuple(units)


def _parts(x: Any, tensors: Sequence[Any], axis: int) -> list[Any]:
    """The axis of all unit vectors cut into one part per tensor, of its shape."""
    sizes = tuple(math.prod(tensor.shape) for tensor in tensors)
    shape = x.shape
    parts = [x] if len(sizes) == 1 else F.split(x, sizes, axis=axis)
    return [
        F.reshape(part, (*shape[:axis], *tensor.shape, *shape[axis + 1 :]))
        for part, tensor in zip(parts, tensors, strict=True)
    ]

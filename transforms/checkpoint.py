"""checkpoint: a function that keeps nothing for its gradient but its arguments.

It runs once more when gradients are pulled back through it: memory for time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from .. import _C
from ..imperative.dispatch import apply
from ..imperative.levels import is_differentiated, unwrapped
from ..imperative.random import default_stream
from ..imperative.symbolic import SymbolicTensor
from ..imperative.tensor import Tensor
from ..imperative.trees import flatten, holding, holds_elements, is_layer, unflatten
from .custom_rules import Call, CalledOp, pull_through

AnyCallable = Callable[..., Any]


class _Recomputed(CalledOp):
    """A call whose gradient runs the function again, on the same random numbers."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.drawn = default_stream.state()

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        # What Tensors are bound to, running statistics say, stays as it is.
        with _C.FinalizersWait(), default_stream.replay(self.drawn), _C.Journal():
            return tuple(pull_through(self.call.run, inputs, outputs, cotangents))


@apply.register
def apply_recomputed(op: _Recomputed, *xs: SymbolicTensor) -> Any:
    """A listing has the ops of the function: nothing is kept there that could be saved."""
    return op.define(*xs)


def checkpoint(function: AnyCallable) -> AnyCallable:
    """A function that gives the same, and keeps only its arguments for the gradient.

    Args:
        function: takes and returns tensors, or trees of them, layers among its arguments; or a
            layer, or a method of one, whose parameters take part. It must give the same each time
            it runs; random numbers are drawn again as they were.

    Returns:
        A function of the same arguments.

    Raises:
        AutodiffError: the function reads a traced tensor that it was not given.

    Example:
        >>> import tensorlike as tl
        >>> tl.grad(tl.checkpoint(lambda x: tl.sin(tl.sin(x))))(0.0).item()
        1.0
    """

    @functools.wraps(function)
    def recomputed(*args: Any) -> Any:
        parameters = list(_parameters_of(function))
        leaves, treedef = flatten((parameters, *args), holds_elements)
        if not any(map(is_differentiated, leaves)):
            return function(*args)

        def with_parameters(values: list[Any], *args: Any) -> Any:
            held = holding(zip(parameters, values, strict=True))
            try:
                with held:
                    return function(*args)
            finally:
                for parameter, value in held.changed():  # by the function
                    parameter.set_value(value)

        call = Call(with_parameters, treedef)
        outputs = _Recomputed(call)(*map(unwrapped, leaves))
        return unflatten(call.out, [Tensor(y) for y in outputs])

    return recomputed


def _parameters_of(function: Any) -> Iterator[Any]:
    """Those of a layer, of the layer of a method, and of what a function closes over."""
    sources = [function, getattr(function, "__self__", None)]
    sources += [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    seen: set[int] = set()
    for source in sources:
        found = source.parameters() if is_layer(source) else [source]
        for parameter in found:
            if isinstance(parameter, Tensor) and id(parameter) not in seen:
                seen.add(id(parameter))
                yield parameter

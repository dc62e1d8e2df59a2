"""Functions with derivatives of their own: `custom_vjp`, `custom_jvp`; `checkpoint` stands on them.

Each call becomes an op whose body is the function, and which brings the one derivative that was
given. The transforms take it from there as from any op: the other derivative follows by
transposition, and examples go through both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _C
from .. import functional as F
from ..imperative.autodiff import vjp, zeros_like
from ..imperative.carrier import Carrier
from ..imperative.dispatch import apply
from ..imperative.dual import Dual, taken_apart
from ..imperative.levels import is_differentiated, level_of, unwrapped
from ..imperative.tensor import Tensor
from ..imperative.trees import (
    call,
    can_move,
    count_of,
    counterparts,
    flatten,
    holds_elements,
    put_in_places,
    unflatten,
)
from ..ops import OpBase

AnyCallable = Callable[..., Any]


class Call:
    """A call of a function on the tensors of its arguments, as ops take them.

    Args:
        function: what is called.
        treedef: of the tuple of its arguments.
    """

    def __init__(self, function: AnyCallable, treedef: Any) -> None:
        self.function = function
        self.treedef = treedef
        self.out: Any = None  # the treedef of what it returned

    def run(self, values: Any) -> tuple[Any, ...]:
        """The tensors that the function returns, given those of its arguments.

        Raises:
            AutodiffError: it reads a traced tensor that it was not given.
        """
        out = call(self.function, self.treedef, [Tensor(value) for value in values])
        leaves, self.out = flatten(out, holds_elements, is_result=True)
        found = tuple(map(unwrapped, leaves))
        most = max((level_of(value) for value in values), default=-1)
        if any(level_of(y) > most for y in found):
            raise _C.AutodiffError(
                "a function with a derivative of its own must get what is differentiated by as "
                "arguments",
                op=_name(self.function),
                got="a traced tensor from outside",
                fix="pass it as an argument",
            )
        return found


def _name(function: AnyCallable) -> str:
    return getattr(function, "__name__", type(function).__name__)


class CalledOp(OpBase):
    """A call of a function, as an op: its body is the function."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def define(self, *xs: Any) -> tuple[Any, ...]:
        return self.call.run(xs)


@apply.register
def apply_call(op: CalledOp, *xs: Carrier) -> Any:
    """A carrier goes through the function, and sees the ops in it."""
    return op.define(*xs)


class _WithVjp(CalledOp):
    """A call whose gradient is the user's: `forward` gives residuals, which `backward` reads."""

    def __init__(self, call: Call, backward: AnyCallable, *, keeps_none: bool = False) -> None:
        self.call = call  # of `forward`, which returns the value and the residuals
        self.backward = backward
        self.keeps_none = keeps_none

    def define(self, *xs: Any) -> tuple[Any, ...]:
        found = self.call.run(xs)
        out = self.call.out
        if not isinstance(out, tuple) or len(out) != 2:
            wanted = f"{_name(self.call.function)} must return the value and the residuals"
            raise _C.AutodiffError(wanted, op="custom_vjp", got=f"a {type(out).__name__}")
        return found

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        count = count_of(self.call.out[0])
        gradients: tuple[Any, ...] = (None,) * len(inputs)
        if any(given is not None for given in cotangents[:count]):
            gradients = self._through_backward(inputs, outputs, cotangents[:count])
        if all(given is None for given in cotangents[count:]):
            return gradients
        # Where `backward` is differentiated in turn, residuals are what `forward` makes of inputs.
        of_residuals = pull_through(
            lambda xs: self.call.run(xs)[count:], inputs, outputs[count:], cotangents[count:]
        )
        return tuple(map(_sum, gradients, of_residuals))

    def _through_backward(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        """What the user's function makes of the value's cotangents."""
        value, residuals = self.call.out
        count = len(cotangents)
        if self.keeps_none:
            flat = [None if dy is None else Tensor(dy) for dy in cotangents]
        else:
            flat = _filled(outputs[:count], cotangents)
        kept = unflatten(residuals, [Tensor(y) for y in outputs[count:]])
        args = self.call.treedef
        # Layers among the arguments hold what they held in `forward`.
        found = call(
            lambda *_: self.backward(kept, put_in_places(value, flat)),
            args,
            [Tensor(x) for x in inputs],
        )
        if not isinstance(found, tuple) or len(found) != len(args):
            got = len(found) if isinstance(found, tuple) else type(found).__name__
            wanted = f"must return a tuple of one gradient per argument, {len(args)}"
            raise _C.AutodiffError(
                f"{_name(self.backward)} {wanted}", op="custom_vjp", got=str(got)
            )
        return _gradients(args, found, inputs)


def pull_through(
    run: Callable[..., tuple[Any, ...]], inputs: Any, outputs: Any, cotangents: Any
) -> list[Any]:
    """The gradients of what `run` makes of the inputs, which runs once more; None for integers."""
    moving = [i for i, x in enumerate(inputs) if x.dtype.kind in ("floating", "complex")]

    def of_moving(*xs: Any) -> Any:
        values = list(inputs)
        for i, x in zip(moving, xs, strict=True):
            values[i] = unwrapped(x)
        return tuple(Tensor(y) for y in run(values))

    _, pull_back = vjp(of_moving, *(Tensor(inputs[i]) for i in moving))
    found = dict(zip(moving, pull_back(tuple(_filled(outputs, cotangents))), strict=True))
    return [unwrapped(found[i]) if i in found else None for i in range(len(inputs))]


def _sum(x: Any, y: Any) -> Any:
    return x if y is None else y if x is None else F.add(x, y)


def _filled(values: Any, given: Any) -> list[Any]:
    return [
        Tensor(zeros_like(y) if given_one is None else given_one)
        for y, given_one in zip(values, given, strict=True)
    ]


def _gradients(treedef: Any, found: tuple[Any, ...], inputs: Any) -> tuple[Any, ...]:
    """One gradient, or None, for each tensor; None in place of an argument's is none for all."""
    flat = counterparts(treedef, found, "custom_vjp", "gradients", of_static=True)
    made = []
    for x, gradient in zip(inputs, flat, strict=True):
        value = None if gradient is None else unwrapped(gradient)
        if value is not None and value.shape != x.shape:
            wanted = f"a gradient must have the shape {x.shape} of its argument"
            raise _C.ShapeError(wanted, op="custom_vjp", got=f"{value.shape}")
        made.append(value)
    return tuple(made)


class custom_vjp:
    """A function with a gradient of its own, for every transform.

    ``f.defvjp(forward, backward)`` gives it: ``forward(*args)`` returns the value and residuals,
    any tree of tensors; ``backward(residuals, dy)`` returns a tuple of one gradient per argument
    (None: no gradient). Forward mode follows by transposition.

    Args:
        function: takes and returns tensors, or trees of them; layers among its arguments give
            their parameters. What is differentiated by must come as an argument.
        keeps_none: give `backward` None, rather than zeros, for an output that nothing flows into.

    Raises:
        AutodiffError: on a call that is differentiated, if `defvjp` was not called, or if the
            functions return something else.

    Example:
        >>> import tensorlike as tl
        >>> @tl.custom_vjp
        ... def clipped(x):
        ...     return x * 1.0
        >>> clipped.defvjp(lambda x: (x * 1.0, None), lambda _, dy: (tl.clip(dy, -1.0, 1.0),))
        >>> tl.grad(lambda x: 5.0 * clipped(x))(2.0).item()
        1.0
    """

    def __init__(self, function: AnyCallable, *, keeps_none: bool = False) -> None:
        """The derivative is still to be given."""
        functools.update_wrapper(self, function)
        self.function = function
        self.keeps_none = keeps_none
        self.rules: tuple[AnyCallable, AnyCallable] | None = None

    def defvjp(self, forward: AnyCallable, backward: AnyCallable) -> None:
        """Gives the gradient."""
        self.rules = (forward, backward)

    def __call__(self, *args: Any) -> Any:
        """Calls the function; where derivatives are wanted, by way of `forward`."""
        leaves, treedef = flatten(args, holds_elements)
        if not any(map(is_differentiated, leaves)):
            return self.function(*args)
        if self.rules is None:
            name = _name(self.function)
            fix = f"call {name}.defvjp(forward, backward)"
            raise _C.AutodiffError(f"{name} must have a gradient", op="custom_vjp", fix=fix)
        forward, backward = self.rules
        made = Call(forward, treedef)
        outputs = _WithVjp(made, backward, keeps_none=self.keeps_none)(*map(unwrapped, leaves))
        value, _ = made.out
        return unflatten(value, [Tensor(y) for y in outputs[: count_of(value)]])


class _WithJvp(CalledOp):
    """A call whose tangents are the user's."""

    def __init__(self, call: Call, rule: AnyCallable) -> None:
        self.call = call
        self.rule = rule

    def push(self, primals: Any, tangents: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The tensors of the value, and their tangents."""
        treedef = self.call.treedef
        moving = [
            Tensor(zeros_like(x) if dx is None else dx) if can_move(x) else None
            for x, dx in zip(primals, tangents, strict=True)
        ]
        along = put_in_places(treedef, moving)
        found = call(
            lambda *args: self.rule(args, along), treedef, [Tensor(value) for value in primals]
        )
        if not isinstance(found, tuple) or len(found) != 2:
            wanted = f"{_name(self.rule)} must return the value and its tangent"
            raise _C.AutodiffError(wanted, op="custom_jvp", got=f"a {type(found).__name__}")
        value, moved = found
        values, self.call.out = flatten(value, holds_elements, is_result=True)
        given = counterparts(self.call.out, moved, "custom_jvp", "tangents", of_static=True)
        return (
            tuple(map(unwrapped, values)),
            tuple(None if dy is None else unwrapped(dy) for dy in given),
        )

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        """Tangents are linear in tangents: that map is recorded, and gradients pulled through."""
        tape = _C.open_tape()
        try:
            along = [
                tape.leaf(_ones_like(x)) if x.dtype.kind in ("floating", "complex") else None
                for x in inputs
            ]
            _, moved = self.push(inputs, along)
            roots = tuple(
                (y, dy)
                for y, dy in zip(moved, cotangents, strict=True)
                if dy is not None and isinstance(y, _C.Tracer) and y.level == tape.level
            )
            leaves = tuple(leaf for leaf in along if leaf is not None)
            found = iter(
                _C.backward(
                    tuple(y for y, _ in roots),
                    tuple(dy for _, dy in roots),
                    False,
                    False,
                    leaves,
                    None,
                )
                if roots
                else [None] * len(leaves)
            )
        finally:
            tape.close()
        return tuple(None if leaf is None else next(found) for leaf in along)


@apply.register
def apply_custom_jvp(op: _WithJvp, *xs: Dual) -> tuple[Any, ...]:
    """The user's rule."""
    level, primals, tangents = taken_apart(xs)
    values, moved = op.push(primals, tangents)
    return tuple(Dual(y, dy, level) for y, dy in zip(values, moved, strict=True))


class custom_jvp:
    """A function with a forward derivative of its own, for every transform.

    ``f.defjvp(rule)`` gives it: ``rule(primals, tangents)``, the primals arranged as the arguments,
    the tangents as gradients of them are (None for integers), returns the value and its tangent.
    Gradients follow by transposition.

    Args:
        function: takes and returns tensors, or trees of them; layers among its arguments give
            their parameters. What is differentiated by must come as an argument.

    Raises:
        AutodiffError: on a call that is differentiated, if `defjvp` was not called, or if the rule
            returns something else.

    Example:
        >>> import tensorlike as tl
        >>> @tl.custom_jvp
        ... def cube(x):
        ...     return x ** 3
        >>> cube.defjvp(lambda x, dx: (x[0] ** 3, 3 * x[0] ** 2 * dx[0]))
        >>> tl.grad(cube)(2.0).item()
        12.0
    """

    def __init__(self, function: AnyCallable) -> None:
        """The derivative is still to be given."""
        functools.update_wrapper(self, function)
        self.function = function
        self.rule: AnyCallable | None = None

    def defjvp(self, rule: AnyCallable) -> None:
        """Gives the derivative."""
        self.rule = rule

    def __call__(self, *args: Any) -> Any:
        """Calls the function; where derivatives are wanted, by way of the rule."""
        leaves, treedef = flatten(args, holds_elements)
        if not any(map(is_differentiated, leaves)):
            return self.function(*args)
        if self.rule is None:
            name = _name(self.function)
            fix = f"call {name}.defjvp(rule)"
            raise _C.AutodiffError(f"{name} must have a derivative", op="custom_jvp", fix=fix)
        made = Call(self.function, treedef)
        outputs = _WithJvp(made, self.rule)(*map(unwrapped, leaves))
        return unflatten(made.out, [Tensor(y) for y in outputs])


def _ones_like(x: Any) -> Any:
    return F.full(x.shape, 1, dtype=x.dtype).__wrapped__

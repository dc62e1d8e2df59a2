"""Reverse mode: the functions that differentiate functions by pulling gradients back.

Everything here is a few lines over the core's backward pass. A tape of its own (with its level)
belongs to each call of `grad`, so that calls nest; `requires_grad`, `backward()` and `Grad` share
the base tape.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _C, ops
from .backward import cotangents_for
from .carrier import beneath, carried
from .levels import cut, under_leaves, unwrapped
from .naming import named, named_around
from .rebinding import lowered as lowered
from .tensor import Tensor
from .trees import (
    call,
    counterparts,
    flatten,
    flatten_arguments,
    holds_numbers,
    is_layer,
    leaves_of,
    map_tree,
    put_in_places,
    unflatten,
)


def _is_on(value: Any, level: int) -> bool:
    """Whether the tape of this level recorded how the value was computed."""
    value = under_leaves(carried(value), level)
    return isinstance(value, _C.Tracer) and value.level == level


class Recording:
    """The arguments of a function as leaves on a tape of their own.

    Args:
        who: the transform, for errors.
        function: what is called.
        args: its positional arguments.
        argnums: which of them are differentiated by: one position, or several.
    """

    def __init__(
        self, who: str, function: Callable[..., Any], args: tuple[Any, ...], argnums: Any
    ) -> None:
        """Opens the tape, which `with` closes."""
        self.who = who
        self.function = function
        self.args = args
        self.positions = (argnums,) if isinstance(argnums, int | np.integer) else tuple(argnums)
        self.is_single = isinstance(argnums, int | np.integer)
        for position in self.positions:
            if not -len(args) <= position < len(args):
                raise _C.AutodiffError(
                    "must name positional arguments",
                    op=who,
                    argument="argnums",
                    got=f"{position} for {len(args)}",
                )
        chosen = tuple(args[position] for position in self.positions)
        self.leaves, self.treedef = flatten_arguments(chosen)
        if not self.leaves and any(holds_numbers(x) for x in leaves_of(chosen)):
            raise _C.DTypeError(
                "must hold floating-point numbers to differentiate by",
                op=who,
                argument="arguments",
                got="integers alone",
                fix="cast them: x.astype(float32)",
            )
        self.traced: list[Any] = []
        self.tape = _C.open_tape()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *exc: object) -> None:
        self.tape.close()

    def run(self, kwargs: dict[str, Any]) -> Any:
        """Calls the function; keeps the leaves."""

        def of_chosen(*chosen: Any) -> Any:
            args = list(self.args)
            for position, value in zip(self.positions, chosen, strict=True):
                args[position] = value
            return self.function(*args, **kwargs)

        return call(of_chosen, self.treedef, [self._trace(x) for x in self.leaves])

    def _trace(self, x: Any) -> Any:
        value = x if isinstance(x, _C.TensorBase) else _C.tensor(x)
        return Tensor(beneath(value, self._leaf))

    def _leaf(self, value: Any) -> Any:
        leaf = self.tape.leaf(value)
        self.traced.append(leaf)
        return leaf

    def reached(self, outputs: list[Any]) -> list[bool]:
        """Which outputs depend on the leaves; to be asked while the tape is open.

        Raises:
            AutodiffError: none does, because an op that is not differentiable cut the tape.
        """
        depend = [_is_on(output, self.tape.level) for output in outputs]
        if outputs and not any(depend):
            _C.refuse_cut()
        return depend

    def pull(
        self, outputs: list[Any], depend: list[bool], cotangents: list[Any], retain: bool
    ) -> list[Any]:
        """What is pulled back to each leaf; None where nothing is."""
        given = cotangents_for("vjp", tuple(outputs), cotangents)
        roots = tuple(
            under_leaves(carried(output), self.tape.level)
            for output, flows in zip(outputs, depend, strict=True)
            if flows
        )
        seeds = tuple(seed for seed, flows in zip(given, depend, strict=True) if flows)
        found = _C.backward(roots, seeds, retain, False, tuple(self.traced), None)
        # The rules that just ran, whose comparisons cut outer tapes, are not to be blamed there.
        _C.forget_cut()
        return found

    def gradients(
        self,
        outputs: list[Any],
        depend: list[bool],
        cotangents: list[Any],
        retain: bool = False,
    ) -> Any:
        """The gradients by the leaves, arranged as the arguments are; zeros where none flows."""
        found = self.pull(outputs, depend, cotangents, retain)
        filled = [
            Tensor(zeros_like(leaf) if gradient is None else gradient)
            for gradient, leaf in zip(found, self.traced, strict=True)
        ]
        trees = put_in_places(self.treedef, filled)
        return trees[0] if self.is_single else trees


def zeros_like(x: Any) -> Any:
    """Zeros of this shape and dtype: a constant on all levels."""
    return ops.Fill(shape=x.shape, fill_value=0, dtype=x.dtype)()[0]


@named_around
def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns what `function` returns, and its gradient.

    Args:
        function: returns a tensor with one element (and, with `has_aux`, anything beside it).
        argnums: the positional arguments to differentiate by; each may be a tensor, a number, a
            layer, or nested lists, tuples, dicts and dataclasses of them. In place of a layer
            there is a dict of the gradients by its parameters, under their names, each where it
            is met first. Whatever else stands in such a tree, integers too, is handed through;
            None is in its place.
        has_aux: whether `function` returns ``(value, aux)``.

    Returns:
        A function of the same arguments that returns ``(value, gradient)``.

    Raises:
        AutodiffError: the value has more than one element, or an op that is not differentiable
            stands between it and the arguments. The gradient of a value that does not depend on
            them at all is zero.

    Example:
        >>> import tensorlike as tl
        >>> value, slope = tl.value_and_grad(lambda x: x ** 3)(2.0)
        >>> value.item(), slope.item()
        (8.0, 12.0)
    """

    @functools.wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        recording = Recording("grad", function, args, argnums)
        value, aux, gradient = _pulled_back(recording, kwargs, has_aux, True)
        return ((value, aux) if has_aux else value), gradient

    return differentiated


def _pulled_back(
    recording: Recording, kwargs: dict[str, Any], has_aux: bool, wants_value: bool
) -> tuple[Any, Any, Any]:
    """The value (None where nobody wants it, so that it need not be calculated), what is beside
    it, and the gradient."""
    with recording:
        out = _C.passed_on(recording.run(kwargs))
        with _C.OneExpression():
            value, aux = out if has_aux else (out, None)
            if not isinstance(value, _C.TensorBase):
                raise _C.AutodiffError(
                    "the function must return a tensor with one element",
                    op="grad",
                    got=type(value).__name__,
                )
            depend = recording.reached([value])
            if not depend[0] and value.size != 1:
                raise _C.AutodiffError(
                    "the function must return a tensor with one element",
                    op="grad",
                    got=f"{value.shape}",
                )
            gradient = recording.gradients([value], depend, [None])
            level = recording.tape.level
            value = lowered(value, level) if wants_value else None
            aux = map_tree(lambda x: lowered(x, level), aux) if has_aux else None
            del out
    return value, aux, gradient


@named_around
def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """The gradient of a function, as a function; of any order, by nesting.

    Args:
        function: returns a tensor with one element (and, with `has_aux`, anything beside it).
        argnums: the positional arguments to differentiate by.
        has_aux: whether `function` returns ``(value, aux)``; then so does the gradient.

    Raises:
        AutodiffError: as `value_and_grad`.

    Example:
        >>> import tensorlike as tl
        >>> tl.grad(tl.grad(lambda x: x ** 3))(2.0).item()
        12.0
    """

    @functools.wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        recording = Recording("grad", function, args, argnums)
        _, aux, gradient = _pulled_back(recording, kwargs, has_aux, False)
        return (gradient, aux) if has_aux else gradient

    return differentiated


@named_around
def vjp(
    function: Callable[..., Any], *args: Any, retain_graph: bool = False
) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """The value of a function, and the function that pushes cotangents back through it.

    Args:
        function: returns a tensor, or a tree of them.
        args: what it is called with, as in `grad`.
        retain_graph: whether `pull_back` may be called more than once; else it frees what it has
            passed.

    Returns:
        ``(value, pull_back)``: `pull_back` takes cotangents arranged as the value is, and returns
        a gradient for each argument.

    Example:
        >>> import tensorlike as tl
        >>> value, pull_back = tl.vjp(lambda x: x * x, tl.tensor([1.0, 2.0]))
        >>> pull_back(tl.tensor([1.0, 10.0]))[0].tolist()
        [2.0, 40.0]
    """
    recording = Recording("vjp", function, args, tuple(range(len(args))))
    with recording:
        outputs, treedef = flatten(recording.run({}), holds_numbers, is_result=True)
        depend = recording.reached(outputs)

    def pull_back(cotangents: Any) -> tuple[Any, ...]:
        given = counterparts(treedef, cotangents, "vjp", "cotangents")
        flow = [d and dy is not None for d, dy in zip(depend, given, strict=True)]
        return recording.gradients(  # type: ignore[no-any-return]
            outputs, flow, given, retain_graph
        )

    level = recording.tape.level
    return unflatten(treedef, [lowered(y, level) for y in outputs]), pull_back


@named
def stop_gradient(tree: Any) -> Any:
    """The same tensors without history: constants for every transform that is going on.

    Args:
        tree: a tensor, or a tree of them.

    Example:
        >>> import tensorlike as tl
        >>> tl.stop_gradient({"a": tl.tensor(3.0, requires_grad=True)})["a"].requires_grad
        False
        >>> tl.grad(lambda x: x * tl.stop_gradient(x))(3.0).item()
        3.0
    """
    return map_tree(_stopped, tree)


def _stopped(x: Any) -> Any:
    if is_layer(x):
        raise _C.AutodiffError(
            "tensors are needed",
            op="stop_gradient",
            got=f"a {type(x).__name__}, whose parameters would keep their history",
            fix="call it by nn.functional_call with a stopped state",
        )
    if type(x) is Tensor:
        return type(x)(cut(x.__wrapped__))
    return cut(unwrapped(x)) if isinstance(x, _C.TensorBase) else x


class _Switch(_C.Pause):
    """A block as a context manager, or as a decorator."""

    __slots__ = ()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, each call of which is such a block."""

        @functools.wraps(function)
        def switched(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return switched


class enable_grad(_Switch):
    """What is inside is recorded by the tapes that are open, in the middle of `no_grad` too.

    May be used as a decorator, as `no_grad` may.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([1.0], requires_grad=True)
        >>> with tl.no_grad(), tl.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """

    __slots__ = ()

    def __new__(cls) -> enable_grad:
        """To be entered."""
        return super().__new__(cls, True)


class no_grad(_Switch):
    """Nothing inside is recorded by the tapes that are open outside.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([1.0], requires_grad=True)
        >>> with tl.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    __slots__ = ()

    def __new__(cls) -> no_grad:
        """To be entered."""
        return super().__new__(cls)

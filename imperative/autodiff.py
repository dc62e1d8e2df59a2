"""Autodiff: tapes, the functions that differentiate functions, and Grad, which differentiates what
has been computed.

Everything here is a few lines over the core's backward pass. A tape of its own (with its level)
belongs to each call of `grad`, so that calls nest; `requires_grad`, `backward()` and `Grad` share
the base tape.
"""

from __future__ import annotations

import functools
from _thread import _local
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any
from weakref import WeakSet

from .. import _C
from .tensor import Tensor


def _map(function: Callable[[Any], Any], tree: Any) -> Any:
    """`function` at the leaves of nested lists, tuples and dicts."""
    if isinstance(tree, dict):
        return {key: _map(function, value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        values = [_map(function, value) for value in tree]
        is_named = hasattr(tree, "_fields")  # a namedtuple takes its values one by one
        return type(tree)(*values) if is_named else type(tree)(values)
    return function(tree)


def _leaves(tree: Any) -> list[Any]:
    found: list[Any] = []
    _map(found.append, tree)
    return found


def _rebuild(tree: Any, leaves: Sequence[Any]) -> Any:
    remaining = iter(leaves)
    return _map(lambda _: next(remaining), tree)


def _is_on(value: Any, level: int) -> bool:
    """Whether the tape of this level recorded how the value was computed."""
    while isinstance(value, _C.TensorWrapper):
        value = value.__wrapped__
    return isinstance(value, _C.Tracer) and value.level == level


def _lower(value: Any, level: int) -> Any:
    """A result as it is outside the tape of this level."""
    if isinstance(value, _C.TensorWrapper):
        inner = _lower(value.__wrapped__, level)
        return value if inner is None else type(value)(inner)
    if isinstance(value, _C.Tracer) and value.level == level:
        return value.primal
    return value


class _Recording:
    """The arguments of a function as leaves on a tape of their own."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], argnums: Any) -> None:
        self.function = function
        self.args = args
        self.positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        self.is_single = isinstance(argnums, int)
        self.tape = _C.open_tape()

    def __enter__(self) -> _Recording:
        return self

    def __exit__(self, *exc: object) -> None:
        self.tape.close()

    def run(self, kwargs: dict[str, Any]) -> Any:
        """Calls the function; keeps the leaves."""
        for position in self.positions:
            if not -len(self.args) <= position < len(self.args):
                raise _C.AutodiffError(
                    f"grad: argnums must name positional arguments; got {position} for "
                    f"{len(self.args)}"
                )
        args = list(self.args)
        self.traced: list[Any] = []
        for position in self.positions:
            args[position] = _map(self._trace, args[position])
        return self.function(*args, **kwargs)

    def _trace(self, x: Any) -> Any:
        value = x if isinstance(x, _C.TensorBase) else _C.tensor(x)
        leaf = self.tape.leaf(value)
        self.traced.append(leaf)
        return Tensor(leaf)

    def reached(self, outputs: list[Any]) -> list[bool]:
        """Which outputs depend on the leaves; to be asked while the tape is open.

        Raises:
            AutodiffError: none does, because an op that is not differentiable cut the tape.
        """
        depend = [_is_on(output, self.tape.level) for output in outputs]
        if outputs and not any(depend):
            _refuse_cut()
        return depend

    def gradients(self, outputs: list[Any], depend: list[bool], cotangents: list[Any]) -> Any:
        """The gradients by the leaves, arranged as the arguments are; zeros where none flows."""
        if len(cotangents) != len(outputs):
            raise _C.AutodiffError(
                f"vjp: one cotangent per output is needed; got {len(cotangents)} for {len(outputs)}"
            )
        roots = tuple(output for output, flows in zip(outputs, depend, strict=True) if flows)
        seeds = tuple(seed for seed, flows in zip(cotangents, depend, strict=True) if flows)
        found = _C.backward(roots, seeds, False, False, tuple(self.traced), None)
        # Opening a tape forgets which op cut one: the rules that just ran, whose comparisons
        # cut outer tapes, are not to be blamed there.
        _C.open_tape().close()
        filled = [
            Tensor(_zeros_like(leaf.primal) if grad is None else grad)
            for grad, leaf in zip(found, self.traced, strict=True)
        ]
        remaining = iter(filled)
        trees = [_map(lambda _: next(remaining), self.args[p]) for p in self.positions]
        return trees[0] if self.is_single else tuple(trees)


def _zeros_like(x: Any) -> Any:
    """Zeros of the kind that x is below tracers: constants, for outer tapes too."""
    while isinstance(x, (_C.TensorWrapper, _C.Tracer)):
        x = x.__wrapped__ if isinstance(x, _C.TensorWrapper) else x.primal
    if isinstance(x, _C.RawTensor):
        return _full(x.shape, 0, dtype=x.dtype).__wrapped__
    return _subtract(x, x)


def _refuse_cut() -> None:
    """Raises the core's AutodiffError if an op cut the open tape; what it raises names the op."""
    try:
        _C.backward((_untracked,), (None,), False, False, (), None)
    except _C.AutodiffError as error:
        if "cut the tape" in str(error):
            raise


_subtract = _C.Function("subtract")
_full = _C.Function("full")
_untracked = _C.ShapeTensor((), _C.float32)


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns what `function` returns, and its gradient.

    Args:
        function: returns a tensor with one element (and, with `has_aux`, anything beside it).
        argnums: the positional arguments to differentiate by; each may be a tensor, a number, or
            nested lists, tuples and dicts of them.
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
        with _Recording(function, args, argnums) as recording:
            out = recording.run(kwargs)
            value, aux = out if has_aux else (out, None)
            if not isinstance(value, _C.TensorBase):
                raise _C.AutodiffError(
                    "grad: the function must return a tensor with one element; got "
                    f"{type(value).__name__}"
                )
            depend = recording.reached([value])
            if not depend[0] and value.size != 1:
                raise _C.AutodiffError(
                    f"grad: the function must return a tensor with one element; got {value.shape}"
                )
            gradient = recording.gradients([value], depend, [None])
            level = recording.tape.level
            value = _lower(value, level)
            return ((value, _map(lambda x: _lower(x, level), aux)) if has_aux else value), gradient

    return differentiated


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
    both = value_and_grad(function, argnums, has_aux=has_aux)

    @functools.wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated


def vjp(function: Callable[..., Any], *args: Any) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """The value of a function, and the function that pushes cotangents back through it.

    Args:
        function: returns a tensor, or nested tuples and lists of them.
        args: what it is called with.

    Returns:
        ``(value, pull_back)``: `pull_back` takes cotangents arranged as the value is, and returns
        a gradient for each argument. It may be called once.

    Example:
        >>> import tensorlike as tl
        >>> value, pull_back = tl.vjp(lambda x: x * x, tl.tensor([1.0, 2.0]))
        >>> pull_back(tl.tensor([1.0, 10.0]))[0].tolist()
        [2.0, 40.0]
    """
    recording = _Recording(function, args, tuple(range(len(args))))
    with recording:
        outputs = recording.run({})
        flat = _leaves(outputs)
        depend = recording.reached(flat)

    def pull_back(cotangents: Any) -> tuple[Any, ...]:
        return recording.gradients(  # type: ignore[no-any-return]
            flat, depend, _leaves(cotangents)
        )

    level = recording.tape.level
    return _map(lambda x: _lower(x, level), outputs), pull_back


@contextmanager
def no_grad() -> Iterator[None]:
    """Nothing inside is recorded by the tapes that are open outside.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([1.0], requires_grad=True)
        >>> with tl.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """
    previous = _C.pause(None)
    try:
        yield
    finally:
        _C.pause(previous)


class Grad:
    """Gradients by chosen tensors of what is computed from them.

    ``Grad().wrt(x, callback=cb)`` makes x a leaf; ``g(y, dy)`` pushes dy back and calls
    ``cb(x, gradient)`` once for every x that a gradient reaches, as soon as it is complete.
    Several may be attached over one computation. While another one of this thread holds tensors,
    the gradient itself is recorded, so that it can be differentiated again.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([3.0])
        >>> got = []
        >>> with tl.Grad().wrt(x, callback=lambda x, g: got.append(g.item())) as g:
        ...     y = x * x
        ...     g(y)
        >>> got
        [6.0]
    """

    def __init__(self) -> None:
        """Nothing is attached yet."""
        self._attached: list[tuple[Tensor, Any, Callable[..., Any] | None, bool]] = []
        self._is_used = False
        self._has_ended = False

    def wrt(self, *xs: Tensor, callback: Callable[[Tensor, Tensor], Any] | None = None) -> Grad:
        """Attaches tensors; without a callback the gradient goes to ``x.grad``.

        Raises:
            TypeError: one is not a Tensor.
            AutodiffError: the ``with`` block has ended.
        """
        self._refuse_ended()
        for x in xs:
            if not isinstance(x, Tensor):
                raise TypeError(f"Grad: wrt takes Tensors; got {type(x).__name__}")
        for x in xs:
            had = x.requires_grad
            if not x.is_leaf:
                x._reset(_C.Tracer(x.__wrapped__ if not had else x.detach().__wrapped__))
            self._attached.append((x, x.__wrapped__, callback, had))
            _holding_grads().add(self)
        return self

    def __call__(self, ys: Any, dys: Any = None, *, retain: bool = False) -> None:
        """Pushes cotangents (ones by default) back from one output or several.

        Raises:
            AutodiffError: it ran before, without ``retain=True``; its ``with`` block has ended; or
                no output is differentiable.
        """
        self._refuse_ended()
        if self._is_used:
            raise _C.AutodiffError("Grad: it has run already; pass retain=True to run it again")
        outputs = tuple(ys) if isinstance(ys, (list, tuple)) else (ys,)
        given = tuple(dys) if isinstance(dys, (list, tuple)) else (dys,)
        cotangents = given if dys is not None else (None,) * len(outputs)
        if len(cotangents) != len(outputs):
            raise _C.AutodiffError(
                f"Grad: one cotangent per output is needed; got {len(cotangents)} for "
                f"{len(outputs)}"
            )
        others = bool(_holding_grads() - {self})
        leaves = tuple(leaf for _, leaf, _, _ in self._attached)
        _C.backward(outputs, cotangents, retain or others, others, leaves, self._deliver)
        self._is_used = not retain
        if not retain:
            _holding_grads().discard(self)

    def _deliver(self, index: int, gradient: Any) -> None:
        x, _, callback, _ = self._attached[index]
        value = Tensor(gradient)
        if callback is not None:
            callback(x, value)
        elif x.is_leaf:
            x.grad = value

    def _refuse_ended(self) -> None:
        if self._has_ended:
            raise _C.AutodiffError(
                "Grad: the with block must not have ended, which detached the tensors; call it "
                "inside the block"
            )

    def __enter__(self) -> Grad:
        """For ``with``: leaving detaches everything."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Detaches the tensors and drops what was held."""
        for x, leaf, _, had in self._attached:
            if not had and x.is_leaf and x.__wrapped__.primal is not None and leaf is not None:
                gradient = x.grad
                x.requires_grad = False
                del gradient
        self._attached.clear()
        self._has_ended = True
        _holding_grads().discard(self)


class _Holding(_local):
    """The Grads of a thread that hold tensors and have not run; one that is dropped leaves."""

    def __init__(self) -> None:
        self.grads: WeakSet[Grad] = WeakSet()


_holding = _Holding()


def _holding_grads() -> WeakSet[Grad]:
    return _holding.grads

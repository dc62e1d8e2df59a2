"""Grad: gradients of what has been computed, by tensors that were attached before."""

from __future__ import annotations

from _thread import _local
from collections.abc import Callable
from types import TracebackType
from typing import Any
from weakref import WeakSet

from .. import _C
from .tensor import Tensor


def listed(xs: Any) -> tuple[Any, ...]:
    """One tensor, or several, as a tuple."""
    return tuple(xs) if isinstance(xs, (list, tuple)) else (xs,)


def cotangents_for(who: str, outputs: tuple[Any, ...], given: Any) -> tuple[Any, ...]:
    """A cotangent for each output; None, which is ones, where none is given at all.

    Raises:
        AutodiffError: there are more, or fewer, than outputs.
    """
    cotangents = (None,) * len(outputs) if given is None else listed(given)
    if len(cotangents) != len(outputs):
        raise _C.AutodiffError(
            "one cotangent per output is needed",
            op=who,
            got=f"{len(cotangents)} for {len(outputs)}",
        )
    return cotangents


class Grad:
    """Gradients by chosen tensors of what is computed from them.

    ``Grad().wrt(x, callback=cb)`` makes x a leaf, unless it has a history, which it keeps;
    ``g(y, dy)`` pushes dy back and calls ``cb(x, gradient)`` once for every x that a gradient
    reaches, as soon as it is complete.
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
        # Whether somebody else's history goes on behind a tensor, for whom graphs must stay whole.
        self._is_inside = False
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
                raise _C.ParameterError("wrt takes Tensors", op="Grad", got=type(x).__name__)
        for x in xs:
            had = x.requires_grad
            if not had:
                x._reset(_C.Tracer(x.__wrapped__))
            elif not x.is_leaf:
                self._is_inside = True
                if callback is None:  # a node of its own holds the gradient
                    x._reset(x.positive())
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
            raise _C.AutodiffError(
                "it has run already; pass retain=True to run it again", op="Grad"
            )
        outputs = listed(ys)
        cotangents = cotangents_for("Grad", outputs, dys)
        others = self._is_inside or bool(_holding_grads() - {self})
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
        else:
            x._hold_gradient(value)

    def _refuse_ended(self) -> None:
        if self._has_ended:
            raise _C.AutodiffError(
                "the with block must not have ended, which detached the tensors; "
                "call it inside the "
                "block",
                op="Grad",
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

"""GradManager: gradients of a training step, gathered in the `grad` of the tensors attached."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import _C
from .. import functional as F
from ..imperative.backward import Grad, listed
from ..imperative.tensor import Tensor

Callback = Callable[[Tensor, Tensor], Any]


class GradManager:
    """Records steps by tensors that are attached once, and accumulates their gradients.

    A step is ``with gm:`` (or `record` to `release`), in which `backward` is called once. The
    tensors that are attached require gradients from then on.

    A callback is given ``(tensor, gradient)`` as soon as the gradient is complete, while the
    backward pass goes on; it returns None, a gradient instead, or a future (an object with
    ``result()``, or ``get()``) of one: all futures are waited for at the end.

    Source:
        MegEngine, ``megengine.autodiff.GradManager``.

    Example:
        >>> import tensorlike as tl
        >>> w = tl.tensor([1.0, 2.0])
        >>> gm = tl.GradManager().attach([w], callbacks=lambda w, gradient: gradient * 0.5)
        >>> with gm:
        ...     gm.backward(tl.sum(w * w))
        >>> w.grad.tolist()
        [1.0, 2.0]
    """

    def __init__(self) -> None:
        """Nothing is attached yet."""
        self._attached: list[tuple[Tensor, list[Callback]]] = []
        self._grad: Grad | None = None

    def attach(
        self, tensors: Tensor | Iterable[Tensor], callbacks: Callback | Iterable[Callback] = ()
    ) -> GradManager:
        """Attaches tensors; again one that is attached already, and it has more callbacks.

        Args:
            tensors: one or several.
            callbacks: run in turn on each one's gradients.

        Raises:
            TypeError: one is not a Tensor; nothing is attached then.
        """
        chosen = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        added = [callbacks] if callable(callbacks) else list(callbacks)
        for x in chosen:
            if not isinstance(x, Tensor):
                raise _C.ParameterError(
                    "attach takes Tensors", op="GradManager", got=type(x).__name__
                )
        for x in chosen:
            for known, own in self._attached:
                if known is x:
                    own.extend(added)
                    break
            else:
                if not x.requires_grad:
                    x._reset(_C.Tracer(x.__wrapped__))
                elif not x.is_leaf:
                    x._reset(x.positive())  # a node of its own holds the gradient
                self._attached.append((x, list(added)))
        return self

    def attached_tensors(self) -> list[Tensor]:
        """What is attached, in order."""
        return [x for x, _ in self._attached]

    def record(self) -> None:
        """Begins a step.

        Raises:
            AutodiffError: one has begun already.
        """
        if self._grad is not None:
            raise _C.AutodiffError(
                "a step is being recorded already; release() it", op="GradManager"
            )
        self._grad = Grad()
        for x, _ in self._attached:
            self._grad.wrt(x, callback=self._deliver)

    def release(self) -> None:
        """Ends the step, without gradients if there were none; does no harm outside of one."""
        self._grad = None

    def backward(self, y: Any, dy: Any = None) -> None:
        """Pushes cotangents back and accumulates what arrives in the `grad` of each tensor.

        Args:
            y: an output, or several.
            dy: a cotangent for each, of its shape; None: ones.

        Raises:
            AutodiffError: nothing was recorded, or no gradient flows from y.
        """
        if self._grad is None:
            raise _C.AutodiffError(
                "no computation history; did you forget record(), or `with gm:`? "
                "A step has one "
                "backward()",
                op="GradManager",
            )
        outputs = listed(y)
        given = tuple(dy) if isinstance(dy, (list, tuple)) else (dy,) * len(outputs)
        seeds = [
            F.full(shape=out.shape, fill_value=1, dtype=out.dtype) if seed is None else seed
            for out, seed in zip(outputs, given, strict=False)
        ]
        step, self._gradients = self._grad, []
        try:
            step(outputs, seeds)
            gradients = [(x, _result(gradient)) for x, gradient in self._gradients]
        finally:
            self.release()
        for x, gradient in gradients:
            x._hold_gradient(gradient if x.grad is None else x.grad + gradient)

    _gradients: list[tuple[Tensor, Any]]

    def _deliver(self, x: Tensor, gradient: Tensor) -> None:
        for callback in next(own for known, own in self._attached if known is x):
            replaced = callback(x, _result(gradient))
            gradient = gradient if replaced is None else replaced
        self._gradients.append((x, gradient))

    def __enter__(self) -> GradManager:
        """Begins a step."""
        self.record()
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends it."""
        self.release()


def _result(gradient: Any) -> Any:
    for name in ("result", "get"):
        if not isinstance(gradient, _C.TensorBase) and hasattr(gradient, name):
            return getattr(gradient, name)()
    return gradient

"""Anomalies: which op, on which line, made the first NaN of a backward pass."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _C
from .levels import innermost_value
from .naming import named


@named
def set_detect_anomaly(mode: bool) -> None:
    """From now on backward passes stop at the first NaN, in all threads; or no longer.

    What is recorded meanwhile notes the user's line, and every gradient is looked through: this is
    for finding a fault, and slow.

    Args:
        mode: whether to look.

    Raises:
        AutodiffError: not here, but by a backward pass in which the gradient of an op has a NaN;
            it names the op and the line that applied it.

    Example:
        >>> import tensorlike as tl
        >>> tl.autograd.set_detect_anomaly(True)
        >>> try:
        ...     tl.grad(lambda x: tl.sqrt(x * 0))(1.0)  # infinity times zero
        ... except tl.AutodiffError as error:
        ...     print(error.op)
        backward
        >>> tl.autograd.set_detect_anomaly(False)
    """
    _C.watch_gradients(_refuse_nan if mode else None)


class detect_anomaly(_C.GradientWatch):
    """`set_detect_anomaly` for a block, or for a function as a decorator.

    Args:
        mode: whether to look inside.

    Example:
        >>> import tensorlike as tl
        >>> with tl.autograd.detect_anomaly():
        ...     tl.grad(tl.exp)(1.0).item()
        2.7182817459106445
    """

    __slots__ = ()

    def __new__(cls, mode: bool = True) -> detect_anomaly:
        """To be entered."""
        return super().__new__(cls, _refuse_nan if mode else None)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, each call of which is such a block."""

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return watched


def _refuse_nan(op: _C.OpBase, place: str, index: int, gradient: Any) -> None:
    value = innermost_value(gradient)
    if value is None or value.dtype.kind not in ("floating", "complex"):
        return
    array = np.asarray(value)
    if not np.isnan(array).any():
        return
    where = place or "recorded before anomalies were looked for"
    raise _C.AutodiffError(
        f"gradients must be numbers; the gradient of {op} ({where}) by its input {index} is "
        f"the first with a NaN, {int(np.isnan(array).sum())} among {array.size} elements; "
        "keep the input away from where the derivative does not exist",
        op="backward",
    )

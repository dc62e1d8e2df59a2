"""Anomalies: which op, on which line, made the first NaN of a backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
        ...     print(str(error).split(" (")[0])
        backward: gradients must be numbers; the gradient of Elemwise(mode='multiply')
        >>> tl.autograd.set_detect_anomaly(False)
    """
    _C.watch_gradients(_refuse_nan if mode else None)


@contextmanager
def detect_anomaly(mode: bool = True) -> Iterator[None]:
    """`set_detect_anomaly` for a block, or for a function as a decorator.

    Args:
        mode: whether to look inside.

    Example:
        >>> import tensorlike as tl
        >>> with tl.autograd.detect_anomaly():
        ...     tl.grad(tl.exp)(1.0).item()
        2.7182817459106445
    """
    previous = _C.watch_gradients(_refuse_nan if mode else None)
    try:
        yield
    finally:
        _C.watch_gradients(previous)


def _refuse_nan(op: _C.OpBase, place: str, index: int, gradient: Any) -> None:
    value = innermost_value(gradient)
    if value is None or value.dtype.kind not in ("floating", "complex"):
        return
    array = np.asarray(value)
    if not np.isnan(array).any():
        return
    where = place or "recorded before anomalies were looked for"
    raise _C.AutodiffError(
        f"backward: gradients must be numbers; the gradient of {op} ({where}) by its input {index} "
        f"is the first with a NaN, {int(np.isnan(array).sum())} among {array.size} elements; keep "
        "the input away from where the derivative does not exist"
    )

"""Sorting, searching, scans and moments in NumPy: oracles for `reference`, by op."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used


def _sort(x: Array, axis: int, descending: bool, stable: bool) -> Array:
    import numpy as np

    ordered = np.sort(x, axis)
    return np.flip(ordered, axis) if descending else ordered


def _argsort(x: Array, axis: int, descending: bool, stable: bool) -> Array:
    """Equal elements keep their order in both directions."""
    import numpy as np

    if not descending:
        return np.argsort(x, axis, kind="stable")
    backwards = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.shape(x)[axis] - 1 - np.flip(backwards, axis)


def _topk(x: Array, k: int, axis: int, largest: bool, skip: int) -> tuple[Array, Array]:
    import numpy as np

    positions = np.take(_argsort(x, axis, largest, True), np.arange(skip, skip + k), axis)
    return np.take_along_axis(x, positions, axis), positions


def _searchsorted(x1: Array, x2: Array, *sorter: Array, side: Any) -> Array:
    import numpy as np

    return np.searchsorted(x1, x2, side, *sorter)


def _unique(x: Array, indices: bool, inverse: bool, counts: bool) -> Any:
    """The values in order, and those of first positions, inverse and counts that are asked for."""
    import numpy as np

    values, first, places, sizes = np.unique(x, True, True, True, equal_nan=False)
    beside = ((indices, first), (inverse, places.reshape(np.shape(x))), (counts, sizes))
    found = (values, *(part for is_wanted, part in beside if is_wanted))
    return found if len(found) > 1 else values


def _scan(x: Array, mode: str, axis: Any, dtype: Any, include_initial: bool, reverse: bool) -> Any:
    import numpy as np

    ufunc: Any = getattr(np, SCANS[mode])
    x = np.asarray(x)
    axis = 0 if axis is None else axis
    if dtype is None and x.dtype.kind not in "fc":
        if mode == "logcumsumexp":
            dtype = np.float32
        elif mode in ("cumulative_sum", "cumulative_prod"):
            dtype = np.uint64 if x.dtype.kind == "u" else np.int64
    turned = np.flip(x, axis) if reverse else x
    running = ufunc.accumulate(turned if dtype is None else turned.astype(dtype), axis)
    if include_initial:
        first = np.full_like(
            np.take(running, [], axis),
            _identity(ufunc, running.dtype),
            shape=[1 if i == axis % x.ndim else size for i, size in enumerate(x.shape)],
        )
        running = np.concatenate([first, running], axis)
    return np.flip(running, axis) if reverse else running


SCANS = {
    "cumulative_sum": "add",
    "cumulative_prod": "multiply",
    "cumulative_max": "maximum",
    "cumulative_min": "minimum",
    "logcumsumexp": "logaddexp",
}


def _identity(ufunc: Any, dtype: Any) -> Any:
    """What a running combination begins with."""
    import numpy as np

    if ufunc.identity is not None:
        return ufunc.identity
    if dtype.kind == "f":
        return np.inf if ufunc is np.minimum else -np.inf
    if dtype.kind == "b":
        return ufunc is np.minimum
    limits = np.iinfo(dtype)
    return limits.max if ufunc is np.minimum else limits.min


def _variance(x: Array, axis: Any, correction: float, keepdims: bool) -> Array:
    import numpy as np

    x = np.asarray(x)
    return np.var(
        x if x.dtype.kind == "f" else x.astype(np.float32), axis, ddof=correction, keepdims=keepdims
    )


ORDER: Mapping[str, Callable[..., Any]] = {
    "Sort": _sort,
    "ArgSort": _argsort,
    "TopK": _topk,
    "SearchSorted": _searchsorted,
    "Unique": _unique,
    "Scan": _scan,
    "Variance": _variance,
}

"""Arrays with the same elements and every kind of strides.

Each layout takes an array of one dimension or more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .declarations import Array


def _transposed(x: Array) -> Array:
    return np.ascontiguousarray(x.T).T


def _reversed(x: Array) -> Array:
    flip = (slice(None, None, -1),) * x.ndim
    return np.ascontiguousarray(x[flip])[flip]


def _every_second(x: Array) -> Array:
    spread = np.zeros(tuple(2 * size for size in x.shape), dtype=x.dtype)
    view = spread[(slice(None, None, 2),) * x.ndim]
    view[...] = x
    return view


def _fortran(x: Array) -> Array:
    return np.asfortranarray(x)


def _one_row_repeated(x: Array) -> Array:
    return np.broadcast_to(x[:1], x.shape)


def _inside_a_larger_one(x: Array) -> Array:
    padded = np.zeros(tuple(size + 3 for size in x.shape), dtype=x.dtype)
    view = padded[tuple(slice(1, size + 1) for size in x.shape)]
    view[...] = x
    return view


# All but the repeated row keep the elements where they are.
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "transposed": _transposed,
    "reversed": _reversed,
    "every_second": _every_second,
    "fortran": _fortran,
    "one_row_repeated": _one_row_repeated,
    "inside_a_larger_one": _inside_a_larger_one,
}

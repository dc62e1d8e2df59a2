"""A product of one-hot rows and a table, as the rows of the table that they pick.

Exporters write a lookup as the comparison of each index with 0, 1, 2, ..., whose ones and zeros
multiply the table: so many elements for each index as there are rows, all but one of them 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import functional as F
from ....imperative import Tensor
from ....imperative.blocks import is_symbolic
from .place import Place

_FLOAT32 = 1  # as Cast has it


def picked_rows(place: Place) -> Any:
    """The result of a MatMul that picks rows; None: it multiplies something else."""
    node = place.node
    if not node.is_standard("MatMul"):
        return None
    cast = place.maker(node.inputs[0], "Cast")
    if cast is None or cast.attributes.get("to") != _FLOAT32:
        return None
    equal = place.maker(cast.inputs[0], "Equal")
    if equal is None:
        return None
    # Beside an infinity 0 is no zero.
    table = _known(place.find(node.inputs[1]))
    if table is None or table.ndim != 2 or table.dtype != np.float32:
        return None
    if not np.all(np.isfinite(table)):
        return None
    left, right = map(place.find, equal.inputs)
    indices = left if _counts(right, table.shape[0]) else right
    numbers = right if indices is left else left
    if not isinstance(indices, Tensor) or not _counts(numbers, table.shape[0]):
        return None
    shape = indices.shape
    is_column = len(shape) >= len(numbers.shape) and type(shape[-1]) is int and shape[-1] == 1
    return _rows(table, indices[..., 0]) if is_column and _is_whole(indices) else None


def _known(x: Any) -> Any:
    """A constant as an array; None: it is none."""
    return np.asarray(x) if isinstance(x, Tensor) and not is_symbolic(x) else None


def _is_whole(x: Tensor) -> bool:
    return x.dtype.kind == "integer"


def _counts(x: Any, count: int) -> bool:
    """Whether it is 0, 1, 2, ... along the last axis, up to a number of rows."""
    found = _known(x)
    if found is None or not _is_whole(x) or found.size != count or found.shape[-1:] != (count,):
        return False
    return bool(np.array_equal(found.ravel(), np.arange(count)))


def _rows(table: Any, indices: Any) -> Any:
    """Zeros for an index that no row has; a sum with zeros has no negative one."""
    is_row = (indices >= 0) & (indices < table.shape[0])
    rows = F.take(F.asarray(table + np.float32(0)), F.where(is_row, indices, 0), axis=0)
    return F.where(F.expand_dims(is_row, axis=-1), rows, 0)

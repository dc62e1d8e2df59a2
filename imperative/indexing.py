"""Advanced indexing: integer tensors, lists and boolean masks between the brackets, as NumPy's.

The basic part of a key (integers, slices, ...) is applied first and makes a view; then the indexed
axes are gathered. Assignment finds the linear positions by indexing a tensor of positions the same
way, and scatters there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _C

_gather = _C.Function("gather")
_scatter_set = _C.Function("scatter_set")
_permute_dims = _C.Function("permute_dims")
_reshape = _C.Function("reshape")
_broadcast_to = _C.Function("broadcast_to")
_arange = _C.Function("arange")


def _is_basic(item: Any) -> bool:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return True
    return isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_))


def _as_index(item: Any) -> Any:
    """An integer or boolean array of what stands between the brackets."""
    array = np.asarray(item._raw() if isinstance(item, _C.TensorBase) else item)
    if array.size == 0 and not hasattr(item, "dtype"):
        array = array.astype(np.int64)
    if array.dtype.kind not in "bui":
        raise _C.IndexRangeError(
            "index: must be integers, slices, None, Ellipsis, or integer or boolean tensors; "
            f"got {array.dtype}"
        )
    return array if array.dtype.kind == "b" else array.astype(np.int64)


def _expand(key: Any, ndim: int) -> list[Any]:
    """The key as a list that names every dimension: masks as indices, the ellipsis written out."""
    items = list(key) if isinstance(key, tuple) else [key]
    expanded: list[Any] = []
    for item in items:
        if _is_basic(item):
            expanded.append(item)
            continue
        array = _as_index(item)
        if array.dtype.kind == "b":
            expanded.extend(_Mask(part, array.shape, i) for i, part in enumerate(array.nonzero()))
            if array.ndim == 0:
                raise _C.IndexRangeError("index: a zero-dimensional mask is not supported")
        else:
            expanded.append(array)
    used = sum(item is not None and item is not Ellipsis for item in expanded)
    if used > ndim:
        raise _C.IndexRangeError(
            f"index: too many indices: the tensor has {ndim} dimensions; got {used}"
        )
    if not any(item is Ellipsis for item in expanded):
        expanded.append(Ellipsis)
    at = next(i for i, item in enumerate(expanded) if item is Ellipsis)
    expanded[at : at + 1] = [slice(None)] * (ndim - used)
    return expanded


class _Mask:
    """One dimension of a boolean mask: its indices, and the size that the dimension must have."""

    def __init__(self, indices: Any, shape: tuple[int, ...], position: int) -> None:
        self.indices = indices
        self.size = shape[position]


def _split(x: Any, key: Any) -> tuple[Any, list[Any], list[int], bool]:
    """The basic part applied; the index arrays; their axes; whether they stand side by side."""
    expanded = _expand(key, x.ndim)
    has_array = [not _is_basic(item) for item in expanded]
    # Among arrays an integer is an array too, as NumPy has it.
    basic: list[Any] = []
    arrays: list[Any] = []
    axes: list[int] = []
    positions: list[int] = []
    axis = 0
    dimension = 0
    for position, item in enumerate(expanded):
        if item is None:
            basic.append(None)
            axis += 1
            continue
        is_integer = _is_basic(item) and not isinstance(item, slice)
        if is_integer or has_array[position]:
            if isinstance(item, _Mask):
                if item.size != x.shape[dimension]:
                    raise _C.IndexRangeError(
                        f"index: a mask must have the size {x.shape[dimension]} of dimension "
                        f"{dimension}; got {item.size}"
                    )
                item = item.indices
            basic.append(slice(None))
            arrays.append(np.asarray(item, dtype=np.int64))
            axes.append(axis)
            positions.append(position)
        else:
            basic.append(item)
        axis += 1
        dimension += 1
    together = positions == list(range(positions[0], positions[0] + len(positions)))
    return x[tuple(basic)], arrays, axes, together


def getitem(x: Any, key: Any) -> Any:
    """``x[key]`` where the key holds arrays.

    Raises:
        IndexRangeError: an index is out of range, or of a wrong type or shape.
    """
    view, arrays, axes, together = _split(x, key)
    try:
        index_ndim = np.broadcast(*arrays).ndim if len(arrays) > 1 else arrays[0].ndim
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise _C.IndexRangeError(f"index: indices must broadcast; got shapes {shapes}") from None
    out = _gather(view, *arrays, axes=tuple(axes))
    if not together or axes[0] == 0:
        return out
    # The gathered dimensions come first; side by side they belong where they stood.
    first = axes[0]
    order = [*range(index_ndim, index_ndim + first), *range(index_ndim)]
    order += range(index_ndim + first, out.ndim)
    return _permute_dims(out, tuple(order))


def _fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a value of this shape broadcasts to the target."""
    if len(shape) > len(target):
        return False
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return all(size in (1, wanted) for size, wanted in pairs)


def setitem(x: Any, key: Any, value: Any) -> Any:
    """x with ``value`` at ``x[key]``, where the key holds arrays; later duplicates win."""
    size = int(np.prod(x.shape, dtype=np.int64))
    positions = _reshape(_arange(size), x.shape)[key]
    if not isinstance(value, _C.TensorBase):
        value = _C.tensor(value, x.dtype)
    target = tuple(positions.shape)
    if not _fits(tuple(value.shape), target):
        raise _C.ShapeError(
            f"index: value must broadcast to what is assigned to; got value.shape={value.shape} "
            f"into {target}"
        )
    flat_value = _reshape(_broadcast_to(value, target), (-1,))
    flat = _scatter_set(_reshape(x, (-1,)), flat_value, _reshape(positions, (-1,)), axes=(0,))
    return _reshape(flat, x.shape)

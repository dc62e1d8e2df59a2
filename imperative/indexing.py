"""Advanced indexing: integer tensors, lists and boolean masks between the brackets, as NumPy's.

The basic part of a key (slices, None, ...) is applied first and makes a view; then the indexed axes
are gathered. Assignment scatters into that view and puts it back. A mask that stands alone needs
neither: its elements are selected, or replaced, in order.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from .. import _C
from ..ops import Gather, ScatterSet, SetSubtensor
from .arrays import steady
from .broadcasting import broadcast_unknown, has_unknown
from .generated.methods import TensorMethods

index_op = _C.index_op  # the op that x[key] is, of a key that needs no gathering
_ROWS = Gather(axes=(0,))
# How the core reads the items of a Subtensor: a kind and three bounds each.
_SLICE, _NEW_AXIS, _NO_BOUND = 1, 2, -(2**63)


def assignment_op(key: Any) -> SetSubtensor:
    """The op that makes of x and a value what x is after x[key] = value, of such a key."""
    return SetSubtensor(items=index_op(key).items)


class _Call(NamedTuple):
    """A functional call, for the core to make."""

    function: str
    attrs: dict[str, Any]
    args: tuple[Any, ...]


class _Mask(NamedTuple):
    """One dimension of a boolean mask: its indices, and the size that the dimension must have."""

    indices: Any
    size: int


class _Flag(NamedTuple):
    """A mask without dimensions: a new axis, of which it picks one element or none."""

    indices: Any


class _Split(NamedTuple):
    """A key taken apart: the basic part, and for each index array its axis of the view."""

    basic: tuple[Any, ...]
    arrays: list[Any]
    axes: tuple[int, ...]
    is_together: bool  # the arrays stand side by side

    @property
    def first(self) -> int:
        """The axis of the result where the dimensions of the arrays begin."""
        return self.axes[0] if self.is_together else 0


def _is_basic(item: Any) -> bool:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return True
    return isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_))


def _as_index(item: Any) -> tuple[Any, bool]:
    """What stands between the brackets as a tensor or array, and whether it is boolean."""
    if isinstance(item, _C.TensorBase):
        kind = item.dtype.kind
        if kind in ("bool", "integer"):
            return item, kind == "bool"
        name = item.dtype.name
    else:
        array = np.asarray(steady(item))
        if array.size == 0 and not hasattr(item, "dtype"):
            array = array.astype(np.int64)
        name = array.dtype.name
        if array.dtype.kind == "u" and array.size > 0 and array.max() >= 2**63:
            raise _C.IndexRangeError(
                "must be below 2**63", op="index", argument="indices", got=f"{array.max()}"
            )
        if array.dtype.kind in "ui":
            is_ready = array.dtype in (np.int32, np.int64)
            return (array if is_ready else array.astype(np.int64)), False
        if array.dtype.kind == "b":
            return array, True
    raise _C.IndexRangeError(
        "must be integers, slices, None, Ellipsis, or integer or boolean tensors",
        op="index",
        got=f"{name}",
    )


def _mask_indices(mask: Any) -> list[Any]:
    """What a mask among other items stands for."""
    shape = tuple(mask.shape)
    if not shape:
        is_set = bool(mask)
        return [_Flag(np.zeros(int(is_set), np.int64))]
    tensor: Any = mask if isinstance(mask, _C.TensorBase) else _C.RawTensor(mask)
    places = TensorMethods.argwhere(tensor)
    return [_Mask(places[:, i], size) for i, size in enumerate(shape)]


def _expand(key: Any, ndim: int) -> list[Any]:
    """The key as a list that names every dimension: masks as indices, the ellipsis written out.

    An ellipsis is left only where it stands for no dimension.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    expanded: list[Any] = []
    for item in items:
        if _is_basic(item):
            expanded.append(item)
            continue
        index, is_mask = _as_index(item)
        if is_mask:
            expanded.extend(_mask_indices(index))
        else:
            expanded.append(index)
    used = sum(
        item is not None and item is not Ellipsis and not isinstance(item, _Flag)
        for item in expanded
    )
    if used > ndim:
        raise _C.IndexRangeError(
            f"too many indices: the tensor has {ndim} dimensions", op="index", got=f"{used}"
        )
    ellipses = [i for i, item in enumerate(expanded) if item is Ellipsis]
    if len(ellipses) > 1:
        raise _C.IndexRangeError("at most one ellipsis may be given", op="index", got="several")
    at = ellipses[0] if ellipses else len(expanded)
    whole = [slice(None)] * (ndim - used)
    # One that stands for nothing still stands between its neighbours.
    expanded[at : at + 1] = whole or expanded[at : at + 1]
    return expanded


def _split(key: Any, shape: tuple[int, ...]) -> _Split:
    """Takes the key apart. Among arrays an integer is an array too, as NumPy has it."""
    basic: list[Any] = []
    arrays: list[Any] = []
    axes: list[int] = []
    positions: list[int] = []
    dimension = 0
    for position, item in enumerate(_expand(key, len(shape))):
        if item is Ellipsis:
            continue
        is_slice = isinstance(item, slice)
        if item is None or isinstance(item, _Flag):
            basic.append(None)
        else:
            basic.append(item if is_slice else slice(None))
            if isinstance(item, _Mask) and item.size not in (shape[dimension], 0):
                raise _C.IndexRangeError(
                    f"a mask must have the size {shape[dimension]} of dimension {dimension}",
                    op="index",
                    got=f"{item.size}",
                )
            dimension += 1
        if item is None or is_slice:
            continue
        index = item.indices if isinstance(item, (_Mask, _Flag)) else item
        arrays.append(index if hasattr(index, "shape") else _integer(index))
        axes.append(len(basic) - 1)
        positions.append(position)
    is_together = positions == list(range(positions[0], positions[0] + len(positions)))
    return _Split(tuple(basic), arrays, tuple(axes), is_together)


def _integer(index: Any) -> Any:
    if not -(2**63) <= index < 2**63:
        raise _C.IndexRangeError("must fit 64 bits", op="index", argument="indices", got=f"{index}")
    return np.asarray(index, np.int64)


def _joint_shape(arrays: list[Any]) -> tuple[int, ...]:
    shapes = [tuple(array.shape) for array in arrays]
    try:
        return broadcast_unknown(shapes) if has_unknown(shapes) else np.broadcast_shapes(*shapes)
    except (ValueError, _C.ShapeError):
        raise _C.IndexRangeError(
            "must broadcast", op="index", argument="indices",
            got=f"shapes {', '.join(map(str, shapes))}",
        ) from None  # fmt: skip


def _whole_mask(x: Any, key: Any) -> Any:
    """The mask, where the key is one and nothing else; None otherwise."""
    if isinstance(key, tuple):
        key = key[0] if len(key) == 1 else None
    if not isinstance(key, (np.ndarray, _C.TensorBase)):
        return None
    is_mask = key.dtype == np.bool_ if isinstance(key, np.ndarray) else key.dtype.kind == "bool"
    shape = tuple(key.shape)
    if not is_mask or not shape or shape != tuple(x.shape)[: len(shape)]:
        return None
    return key if isinstance(key, _C.TensorBase) else _C.RawTensor(key)


def getitem(x: Any, key: Any) -> Any:
    """``x[key]`` where the key holds arrays.

    Raises:
        IndexRangeError: an index is out of range, or of a wrong type or shape.
    """
    if isinstance(key, _C.TensorBase) and key.dtype.kind == "integer" and len(x.shape) > 0:
        (out,) = _ROWS(x, key)
        return out
    mask = _whole_mask(x, key)
    if mask is not None:
        return TensorMethods.masked_select(x, mask)
    if isinstance(key, (list, np.ndarray)) and len(x.shape) > 0:
        index, is_mask = _as_index(key)
        if not is_mask:
            (out,) = _ROWS(x, _C.RawTensor(index))
            return out
    split = _split(key, tuple(x.shape))
    index_ndim = len(_joint_shape(split.arrays))
    view = x if all(item == slice(None) for item in split.basic) else x[split.basic]
    (out,) = Gather(axes=split.axes)(view, *_tensors(split.arrays))
    first = split.first
    if first == 0:
        return out
    # The gathered dimensions come first; side by side they belong where they stood.
    order = [*range(index_ndim, index_ndim + first), *range(index_ndim)]
    order += range(index_ndim + first, len(out.shape))
    return TensorMethods.permute_dims(out, tuple(order))


def _tensors(arrays: list[Any]) -> list[Any]:
    return [a if isinstance(a, _C.TensorBase) else _C.RawTensor(a) for a in arrays]


def _fitted(value: Any, target: tuple[int, ...]) -> Any:
    """The value without leading dimensions of size 1 that the target has not.

    Raises:
        ShapeError: it does not broadcast to the target.
    """
    shape = tuple(value.shape)
    extra = max(len(shape) - len(target), 0)
    pairs = zip(reversed(shape[extra:]), reversed(target), strict=False)
    if any(size != 1 for size in shape[:extra]) or any(size not in (1, n) for size, n in pairs):
        raise _C.ShapeError(
            "must broadcast to what is assigned to",
            op="index",
            argument="value",
            got=f"value.shape={shape} into {target}",
        )
    return TensorMethods.reshape(value, shape[extra:]) if extra else value


def _items(basic: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Slices and new axes as the core reads them."""
    items: list[int] = []
    sizes = iter(shape)
    for item in basic:
        if item is None:
            items += [_NEW_AXIS, 0, 0, 0]
            continue
        start, stop, step = item.indices(next(sizes))
        if len(range(start, stop, step)) == 0:
            start, stop, step = 0, 0, 1
        items += [_SLICE, start, _NO_BOUND if stop < 0 else stop, step]
    return tuple(items)


def setitem(x: Any, key: Any, value: Any) -> _Call:
    """The call that makes x with ``value`` at ``x[key]``, where the key holds arrays.

    Later duplicates win. The core makes the call, in x's own memory where nobody else holds it.
    """
    if not isinstance(value, _C.TensorBase):
        value = _C.tensor(value, x.dtype)
    mask = _whole_mask(x, key)
    if mask is not None:
        return _set_mask(x, mask, value)
    shape = tuple(x.shape)
    split = _split(key, shape)
    index_shape = _joint_shape(split.arrays)
    is_whole = all(item == slice(None) for item in split.basic)
    view = x if is_whole else x[split.basic]
    rest = [size for axis, size in enumerate(view.shape) if axis not in split.axes]
    first = split.first
    target = (*rest[:first], *index_shape, *rest[first:])
    value = _fitted(value, target)
    if first > 0:
        # ScatterSet has the dimensions of the index first.
        order = [*range(first, first + len(index_shape)), *range(first)]
        order += range(first + len(index_shape), len(target))
        value = TensorMethods.permute_dims(TensorMethods.broadcast_to(value, target), tuple(order))
    arrays = _tensors(split.arrays)
    if is_whole:
        return _Call("scatter_set", {"axes": split.axes}, (x, value, *arrays))
    (out,) = ScatterSet(axes=split.axes)(view, value, *arrays)
    return _Call("set_subtensor", {"items": _items(split.basic, shape)}, (x, out))


def _set_mask(x: Any, mask: Any, value: Any) -> _Call:
    """The call that makes x with the elements where the mask is true replaced."""
    ndim, mask_ndim = len(x.shape), len(mask.shape)
    if all(size == 1 for size in value.shape) and len(value.shape) <= ndim - mask_ndim + 1:
        # One value for all: no need to count them.
        number = TensorMethods.astype(TensorMethods.reshape(value, ()), dtype=x.dtype)
        wide = TensorMethods.reshape(mask, (*mask.shape, *itertools.repeat(1, ndim - mask_ndim)))
        return _Call("where", {}, (wide, number, x))
    extra = len(value.shape) - (ndim - mask_ndim + 1)
    if extra > 0 and all(size == 1 for size in value.shape[:extra]):
        value = TensorMethods.reshape(value, value.shape[extra:])
    return _Call("masked_scatter", {}, (x, mask, value))

"""Sizes: what `Shape` gives where a size is not known, and what graphs calculate from it.

Graphs of exported models put shapes together from sizes: Shape, Gather, Concat, Reshape. Here they
are integers and `Size`s in an array of Python objects, so that NumPy does what those ops say, and
what comes out goes into calls as a shape does: a program is for every size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .... import _C
from .... import functional as F
from ....imperative import Size, Tensor
from .element_types import dtype_of
from .narrow_types import Narrow


class Sizes:
    """Integers and sizes that are not known, in an array.

    Attributes:
        array: of NumPy, of objects.
        dtype: that the graph has given them, as a tensor has it.
    """

    def __init__(self, array: Any, dtype: Any = _C.int64) -> None:
        """Of both."""
        self.array = array
        self.dtype = dtype

    def listed(self) -> Any:
        """As lists, or one of them alone."""
        return self.array.tolist()

    def as_tensor(self) -> Any:
        """As a tensor of a program."""
        numbers = [F.full((), size, dtype=self.dtype) for size in self.array.reshape(-1)]
        return F.reshape(F.stack(numbers), self.array.shape)


def sized(values: Any, dtype: Any = _C.int64) -> Any:
    """A tensor, or `Sizes` where one is not known."""
    array = np.array(values, dtype=object)
    if any(isinstance(item, Size) for item in array.reshape(-1)):
        return Sizes(array, dtype)
    return F.astype(F.asarray(array.astype(np.int64)), dtype)


def sizes_rule(op: str, given: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """What an op gives for sizes; None: nothing is known of it, and they become tensors."""
    found = _RULES.get(op)
    if found is None:
        return None
    arrays = []
    for value in given:
        if isinstance(value, Sizes):
            arrays.append(value.array)
        elif isinstance(value, Narrow) or (value is not None and not _is_known(value)):
            return None
        else:
            arrays.append(None if value is None else _objects(value))
    try:
        result = found(arrays, attributes)
    except _C.ShapeError:  # it would need a number, which a tensor has
        return None
    if result is None or isinstance(result, Tensor):
        return result
    of = dtype_of(attributes["to"]) if op == "Cast" else given[op == "Where"].dtype
    return sized(result, of)


def _is_known(value: Any) -> bool:
    from ....imperative.blocks import is_symbolic

    return isinstance(value, Tensor) and not is_symbolic(value) and value.dtype.kind != "floating"


def _objects(value: Any) -> Any:
    return np.array(value.tolist(), dtype=object)


def gather_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Sizes by their places."""
    return np.take(arrays[0], arrays[1].astype(np.int64), axis=attributes.get("axis", 0))


def concat_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Lists of sizes, joined."""
    return np.concatenate(arrays, axis=attributes.get("axis", 0))


def slice_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """A part of a list of sizes."""
    if arrays[0].ndim != 1:
        return None
    given: list[Any] = [attributes.get("starts"), attributes.get("ends"), None, [1]]
    for i, array in enumerate(arrays[1:]):
        given[i] = given[i] if array is None else array.reshape(-1).tolist()
    (first, *_), (last, *_), _, (step, *_) = given
    if any(isinstance(one, Size) for one in (first, last, step)) or step == 0:
        return None
    if step < 0:
        first = max(first, -len(arrays[0]))  # which Python takes to be before the beginning
        last = None if last < -len(arrays[0]) else last
    return arrays[0][first:last:step]


def squeeze_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Without axes of one element."""
    axes = arrays[1].reshape(-1).tolist() if len(arrays) > 1 else attributes.get("axes")
    return np.squeeze(arrays[0], None if axes is None else tuple(axes))


def unsqueeze_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """With axes of one element."""
    axes: Any = arrays[1].reshape(-1).tolist() if len(arrays) > 1 else attributes.get("axes", ())
    return np.expand_dims(arrays[0], tuple(axes))


def reshape_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """In another shape."""
    return arrays[0].reshape(arrays[1].astype(np.int64).tolist())


def cast_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Integers of another width are the same sizes; what else becomes of them is a tensor's."""
    return arrays[0] if attributes.get("to") in (6, 7) else None


def same_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """The sizes themselves."""
    return arrays[0]


def product_of_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """The product of a list of sizes."""
    if arrays[0].ndim != 1:
        return None
    total = np.multiply.reduce(arrays[0])
    return [total] if attributes.get("keepdims", 1) else total


def quotient_of_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """The quotient, where it leaves no rest."""
    return arrays[0] // arrays[1]


def equal_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Whether sizes are equal, which the program remembers of those that are not known."""
    first, second = np.broadcast_arrays(*arrays)
    pairs = zip(first.reshape(-1), second.reshape(-1), strict=True)
    flags = np.array([bool(a == b) for a, b in pairs], dtype=np.bool_)
    return Tensor(F.asarray(flags.reshape(first.shape)))


def chosen_sizes(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Sizes of the one or the other list, where it is known of which."""
    return np.where(arrays[0].astype(np.bool_), arrays[1], arrays[2])


_RULES: Mapping[str, Callable[[Sequence[Any], Mapping[str, Any]], Any]] = {
    "Gather": gather_sizes,
    "Concat": concat_sizes,
    "Slice": slice_sizes,
    "Squeeze": squeeze_sizes,
    "Unsqueeze": unsqueeze_sizes,
    "Reshape": reshape_sizes,
    "Cast": cast_sizes,
    "Identity": same_sizes,
    "ReduceProd": product_of_sizes,
    "Add": lambda arrays, _: arrays[0] + arrays[1],
    "Sub": lambda arrays, _: arrays[0] - arrays[1],
    "Mul": lambda arrays, _: arrays[0] * arrays[1],
    "Div": quotient_of_sizes,
    "Equal": equal_sizes,
    "Where": chosen_sizes,
}

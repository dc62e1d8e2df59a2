"""BatchedCall: an op, and what it is applied to, as the rules of batching see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _C
from .. import functional as F
from ..ops import OpBase


class Declared(NamedTuple):
    """What a declaration says of an op for batching."""

    batch: str
    moving: tuple[tuple[str, str, tuple[int, ...]], ...]  # attributes, how, what comes before them
    is_scalar: bool
    is_reduction: bool
    has_body: bool


_declared: dict[type, Declared] = {}


def declared_of(op: OpBase) -> Declared:
    """What is declared of an op's class."""
    found = _declared.get(type(op))
    if found is None:
        found = _declared[type(op)] = Declared(*_C.declared(op))
    return found


class UnequalExamplesError(_C.ShapeError):
    """Examples would give results of different shapes."""


class BatchedCall:
    """An op on values; those that are mapped have an axis of examples in front.

    Args:
        op: the op.
        values: tensor-likes of any kind.
        is_mapped: for each, whether it has that axis.
        size: the number of examples.
    """

    __slots__ = ("_ndims", "_shift", "is_mapped", "op", "size", "values")

    def __init__(
        self, op: OpBase, values: Sequence[Any], is_mapped: Sequence[bool], size: int
    ) -> None:
        """Keeps them."""
        self.op = op
        self.values = values
        self.is_mapped = is_mapped
        self.size = size
        self._ndims: list[int] = []
        self._shift = 1  # by which axes counted from the front move

    @property
    def ndims(self) -> list[int]:
        """The number of dimensions of an example of each value."""
        if not self._ndims:
            pairs = zip(self.values, self.is_mapped, strict=True)
            self._ndims = [value.ndim - mapped for value, mapped in pairs]
        return self._ndims

    @property
    def declared(self) -> Declared:
        """What is declared of the op."""
        return declared_of(self.op)

    def inferred(self) -> tuple[Any, ...]:
        """What the op gives for one example, without elements; it raises as it does for one."""
        pairs = zip(self.values, self.is_mapped, strict=True)
        return self.op(*(_C.ShapeTensor(v.shape[1:] if m else v.shape, v.dtype) for v, m in pairs))

    def repeated(self, value: Any) -> Any:
        """One value for all examples, with their axis in front."""
        return F.broadcast_to(value, (self.size, *value.shape))

    def mapped(self, position: int) -> Any:
        """A value with the axis of examples, whether it had one or not."""
        value = self.values[position]
        return value if self.is_mapped[position] else self.repeated(value)

    def padded(self, position: int, ndim: int) -> Any:
        """A value whose examples have `ndim` dimensions, new ones in front of theirs.

        One that is not mapped stays, since it broadcasts as it is.
        """
        value = self.values[position]
        missing = ndim - self.ndims[position]
        if not self.is_mapped[position] or missing <= 0:
            return value
        shape = value.shape
        return F.reshape(value, (shape[0], *[1] * missing, *shape[1:]))

    def with_attrs(self, **attrs: Any) -> Any:
        """The op with other attributes."""
        return type(self.op)(**{**self.op.params(), **attrs})

    def moved(self, ndim: int | None = None) -> Any:
        """The op for one axis more in front: attributes that name axes, or give shapes, follow.

        Args:
            ndim: how many dimensions examples of the first value were padded to, if they were.
        """
        changed: dict[str, Any] = {}
        self._shift = 1 if ndim is None else 1 + ndim - self.ndims[0]
        for name, follows, front in self.declared.moving:
            value = getattr(self.op, name)
            after = _FOLLOWS[follows](self, value)
            if front:
                after = (*front, *after)
            # Of shapes with another number of sizes, no size is compared: it may be unknown.
            both = isinstance(after, tuple) and isinstance(value, tuple)
            if (both and len(after) != len(value)) or after != value:
                changed[name] = after
        return self.with_attrs(**changed) if changed else self.op

    def _axis(self, axis: int) -> int:
        """From the end axes stay what they are; what is out of range for one example is refused."""
        if axis >= 0:
            return axis + self._shift
        if -axis > self.ndims[0]:
            self.inferred()
            return 1  # a new axis before all others
        return axis

    def _axes(self, axes: Any) -> Any:
        if axes is None:
            ndim = self.ndims[0]
            first = self._shift
            return first if ndim == 1 else tuple(range(first, first + ndim))
        return self._axis(axes) if isinstance(axes, int) else tuple(map(self._axis, axes))

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if any(size < 0 for size in shape):
            shape = self.inferred()[0].shape
        return (self.size, *shape)

    def _same(self, value: Any) -> Any:
        return value


# What becomes of an attribute where there is an axis more in front, by the word that the table of
# attribute types has for it.
_FOLLOWS: Mapping[str, Callable[[BatchedCall, Any], Any]] = {
    "axes": BatchedCall._axes,
    "shape": BatchedCall._shape,
    "": BatchedCall._same,
}


def moved_axis(value: Any, source: int, target: int) -> Any:
    """An axis put somewhere else; both are counted from the front."""
    if source == target:
        return value
    order = list(range(len(value.shape)))
    order.insert(target, order.pop(source))
    return F.permute_dims(value, tuple(order))


def fold(value: Any, axis: int) -> Any:
    """The axis of examples in front put before `axis` of an example and merged with it."""
    value = moved_axis(value, 0, axis)
    shape = value.shape
    return F.reshape(value, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def unfold(value: Any, axis: int, size: int) -> Any:
    """Undoes `fold`."""
    shape = value.shape
    split = (*shape[:axis], size, shape[axis] // max(size, 1), *shape[axis + 1 :])
    return moved_axis(F.reshape(value, split), axis, 0)


def transposed(x: Any) -> Any:
    """The last two axes exchanged."""
    return moved_axis(x, len(x.shape) - 1, len(x.shape) - 2)

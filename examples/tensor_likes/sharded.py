"""A sharded tensor: processes (`processes.py`) run the same program, each on a part of the batch.

Ops that treat parts alike stay local, sums over them add up, and other ops gather first:
``network(tl.Tensor(Sharded(group.part(batch, 0), group, axis=-2, length=len(batch))))``.
"""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike import ops


class Sharded(tl.Carrier):
    """What this process has of a tensor: its part along an axis from the end, or all (0)."""

    def __init__(self, part: Any, group: Any, axis: int = 0, length: int = 0) -> None:
        super().__init__(part)
        self.group, self.axis, self.length = group, axis, length

    def lift(self, other: Any) -> Sharded:
        return Sharded(other, self.group)

    @property
    def shape(self) -> tuple[int, ...]:  # of the whole
        own = enumerate(self.value.shape, -self.value.ndim)
        return tuple(self.length if i == self.axis else size for i, size in own)

    elements = property(lambda self: self.along(0))  # every process must ask for them

    def along(self, axis: int) -> Any:
        """The part along an axis; the whole for 0, and where it broadcasts along the axis."""
        if axis == self.axis:
            return self.value
        whole = self.group.whole(self.value, self.axis) if self.axis else self.value
        has_parts = -self.ndim <= axis < 0 and self.shape[axis] > 1
        return tl.as_raw_tensor(self.group.part(whole, axis) if has_parts else whole)


def local_axes(op: ops.OpBase, x: Sharded, axis: int, count: int) -> list[int]:  # to take
    if isinstance(op, (ops.Elemwise, ops.Transpose)) or getattr(op, "mode", "") == "sum":
        return [axis] * count
    if isinstance(op, ops.MatMul) and x.axis:
        return {-1: [-1, -2], -2: [-2, 0]}.get(axis, [axis, axis])
    last = {ops.Linear: -2, ops.Convolution: -x.ndim, ops.MaxPool: -x.ndim}.get(type(op), -99)
    return [axis if x.axis == axis <= last else 0] + [0] * (count - 1)


@tl.apply.register
def apply_sharded(op: ops.OpBase, *xs: Sharded) -> Any:
    group, axis = xs[0].group, next((x.axis for x in xs if x.axis), 0)
    axes = local_axes(op, xs[0], axis, len(xs))
    found = op(*(x.along(axis) for x, axis in zip(xs, axes, strict=True)))
    if not any(axes):
        return [Sharded(y, group) for y in found]
    (y,), (whole,) = found, op(*(tl.ShapeTensor(x.shape, x.dtype) for x in xs))
    cut = [i for i in range(-y.ndim, 0) if y.shape[i] != whole.shape[i]]
    return Sharded(y, group, cut[0], whole.shape[cut[0]]) if cut else xs[0].lift(group.total(y))

"""The methods of Tensor whose arguments are sizes or axes one by one: ``x.reshape(2, 3)``.

As NumPy and PyTorch have them, they take a sequence as well. Each is one functional call.
"""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _C, ops
from .calls import TensorLike, composed_call, spread
from .generated.methods import TensorMethods
from .naming import makes, named, one_op

if TYPE_CHECKING:
    from .tensor import Tensor


class ShapedMethods(TensorMethods):
    """Sizes, axes, and where: what the declared calls spell otherwise."""

    __slots__ = ()

    @spread("reshape")
    def reshape(self, *shape: Any, copy: bool | None = None) -> Tensor:
        """The same elements in another shape; one size may be -1.

        Raises:
            ShapeError: the shape has another number of elements, or copy is False and they move.
        """

    def view(self, *shape: Any) -> Tensor:
        """As `reshape`: tensors are values, and share memory where they can."""
        return self.reshape(*shape)

    def ravel(self) -> Tensor:
        """All elements in one dimension."""
        return self.reshape(-1)

    @one_op
    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """The dimensions from `start_dim` to `end_dim`, both included, as one.

        Raises:
            IndexRangeError: a dimension is out of range.
            ShapeError: `start_dim` comes after `end_dim`.

        Example:
            >>> import tensorlike as tl
            >>> tl.ones((2, 3, 4)).flatten(1).shape
            (2, 12)
        """
        if self.ndim == 0:
            return makes(ops.Reshape(shape=(1,)))
        start, end = (self._axis("flatten", dim) for dim in (start_dim, end_dim))
        if start > end:
            raise _C.ShapeError(
                "must not come after end_dim.",
                op="flatten",
                argument="start_dim",
                got=f"{start_dim} and {end_dim}",
            )
        shape = self.shape
        count = 1
        for size in shape[start : end + 1]:
            count *= size
        return makes(ops.Reshape(shape=(*shape[:start], count, *shape[end + 1 :])))

    @one_op
    def transpose(self, *axes: Any) -> Tensor:
        """The dimensions in the order that is given; reversed when none are."""
        return makes(ops.Transpose(axes=_together(axes) if axes else _reversed(self)))

    @spread("permute_dims")
    def permute(self, *axes: Any) -> Tensor:
        """The dimensions in the order that is given."""

    @one_op
    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """Two dimensions exchanged.

        Raises:
            IndexRangeError: a dimension is out of range.

        Example:
            >>> import tensorlike as tl
            >>> tl.ones((2, 3, 4)).swapaxes(0, -1).shape
            (4, 3, 2)
        """
        first, second = (self._axis("swapaxes", axis) for axis in (axis1, axis2))
        order = list(range(self.ndim))
        order[first], order[second] = second, first
        return makes(ops.Transpose(axes=tuple(order)))

    @one_op
    def t(self) -> Tensor:
        """A matrix transposed; with fewer dimensions the tensor itself.

        Raises:
            ShapeError: there are more than two dimensions.
        """
        if self.ndim > 2:
            raise _C.ShapeError(
                "at most two dimensions are taken.", op="t", got=f"shape {self.shape}"
            )
        return makes(ops.Transpose(axes=_reversed(self)))

    @one_op
    def expand(self, *shape: Any) -> Tensor:
        """Repeated along new dimensions and those of size 1; -1 keeps a size.

        Raises:
            ShapeError: a dimension of another size would change, or -1 stands for a new one.

        Example:
            >>> import tensorlike as tl
            >>> tl.ones((3, 1)).expand(-1, 4).shape
            (3, 4)
        """
        wanted = _together(shape)
        new = len(wanted) - self.ndim
        if any(size == -1 for size in wanted[: max(new, 0)]):
            raise _C.ShapeError(
                "-1 must not stand for a new dimension.", op="expand", got=f"{wanted}"
            )
        sizes = [
            self.shape[i - new] if size == -1 and i >= new else size
            for i, size in enumerate(wanted)
        ]
        return makes(ops.Broadcast(shape=tuple(sizes)))

    @named
    def tile(self, *repetitions: Any) -> Tensor:
        """The tensor several times over along dimensions."""
        found: Tensor = composed_call("tile")(self, _together(repetitions))
        return found

    @named
    def dot(self, other: TensorLike) -> Tensor:
        """The product of NumPy's `dot`: sums over the last dimension, and the last but one of
        `other`, or its only one.

        Raises:
            ShapeError: the sizes of these dimensions differ.

        Example:
            >>> import tensorlike as tl
            >>> tl.tensor([1.0, 2.0]).dot(tl.tensor([3.0, 4.0])).item()
            11.0
        """
        ndim = _ndim(other)
        if self.ndim == 0 or ndim == 0:
            return self.multiply(other)
        if self.ndim <= 2 and ndim <= 2:
            return self.matmul(other)
        return self.tensordot(other, axes=([-1], [max(ndim - 2, 0)]))

    @named
    def masked_fill(self, mask: TensorLike, value: TensorLike) -> Tensor:
        """A value where the mask is true, the tensor elsewhere.

        Example:
            >>> import tensorlike as tl
            >>> tl.tensor([1, 2, 3]).masked_fill(tl.tensor([True, False, True]), 0).tolist()
            [0, 2, 0]
        """
        found: Tensor = composed_call("where")(mask, value, self)
        return found

    @named
    def where(self, condition: TensorLike, other: TensorLike) -> Tensor:
        """The tensor where a condition holds, `other` elsewhere."""
        found: Tensor = composed_call("where")(condition, self, other)
        return found

    def dim(self) -> int:
        """The number of dimensions, which `ndim` is too."""
        return self.ndim

    def numel(self) -> int:
        """The number of elements, which `size` is too."""
        return self.size

    def element_size(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Whether the dtype is real floating-point."""
        return self.dtype.kind == "floating"

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self.dtype.kind == "complex"

    @property
    @one_op
    def T(self) -> Tensor:
        """The dimensions in reverse order."""
        return makes(ops.Transpose(axes=_reversed(self)))

    @property
    @one_op
    def mT(self) -> Tensor:
        """Matrices transposed: the last two dimensions exchanged.

        Raises:
            ShapeError: there are fewer than two dimensions.
        """
        if self.ndim < 2:
            raise _C.ShapeError(
                "two dimensions or more are needed", op="mT", got=f"shape {self.shape}"
            )
        *rest, rows, columns = range(self.ndim)
        return makes(ops.Transpose(axes=(*rest, columns, rows)))

    def _axis(self, call: str, axis: int) -> int:
        if not -self.ndim <= axis < self.ndim:
            raise _C.IndexRangeError(
                f"must be in [{-self.ndim}, {self.ndim - 1}].",
                op=call,
                argument="axis",
                got=f"axis={axis}",
            )
        return axis % self.ndim


def _reversed(x: Any) -> tuple[int, ...]:
    """Its axes, the last first."""
    return tuple(reversed(range(x.ndim)))


def _together(sizes: Sequence[Any]) -> Any:
    """Sizes that are given one by one, or as one sequence."""
    return sizes[0] if len(sizes) == 1 and not hasattr(sizes[0], "__index__") else tuple(sizes)


def _ndim(x: TensorLike) -> int:
    return x.ndim if hasattr(x, "ndim") else len(_C.tensor(x).shape)

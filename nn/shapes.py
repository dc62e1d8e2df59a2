"""Identity and Flatten: what stands between layers in a `Sequential`."""

from __future__ import annotations

from .. import functional as F
from ..imperative import ArgumentError, Tensor, TensorLike
from .layer import Layer


class Identity(Layer):
    """Gives back its input: it takes the place of a layer that is not wanted.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Identity()(tl.tensor([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """

    def forward(self, x: TensorLike) -> TensorLike:
        """The input."""
        return x


class Flatten(Layer):
    """Makes one dimension of several that lie side by side.

    Args:
        start_axis: the first of them.
        end_axis: the last of them.

    Raises:
        ValueError: later, x has no such dimensions in this order.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Flatten()(tl.ones((2, 3, 4))).shape
        (2, 12)
    """

    def __init__(self, start_axis: int = 1, end_axis: int = -1) -> None:
        """Keeps the ends of the range."""
        self.start_axis = start_axis
        self.end_axis = end_axis

    def forward(self, x: TensorLike) -> Tensor:
        """The same elements in the same order."""
        shape = tuple(x.shape)
        first, last = (
            axis + len(shape) if axis < 0 else axis for axis in (self.start_axis, self.end_axis)
        )
        if not 0 <= first <= last < len(shape):
            raise ArgumentError(
                f"must have dimensions from {self.start_axis} to {self.end_axis}",
                op="Flatten",
                argument="x",
                got=f"x.shape={shape}",
            )
        size = 1
        for each in shape[first : last + 1]:
            size *= each
        return F.reshape(x, (*shape[:first], size, *shape[last + 1 :]))

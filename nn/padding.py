"""Paddings as layers: margins around the last one, two or three dimensions."""

from __future__ import annotations

from typing import ClassVar, Literal

from .. import functional as F
from ..imperative import ArgumentError, Tensor, TensorLike
from .functional_layer import Ints, held
from .layer import Layer


class _Pad(Layer):
    """Margins around the last dimensions.

    Args given as one number hold for all sides; else they go from the last dimension to the first,
    each with the size before and the size after it, as PyTorch has them.
    """

    spatial: ClassVar[int]
    mode: ClassVar[Literal["constant", "edge", "reflect", "circular"]]

    def __init__(self, padding: Ints) -> None:
        """Keeps the margins."""
        given = held(padding)
        sides = (given,) * (2 * self.spatial) if isinstance(given, int) else given
        if len(sides) != 2 * self.spatial:
            raise ArgumentError(
                f"must be one number or {2 * self.spatial}",
                op=type(self).__name__,
                argument="padding",
                got=f"padding={padding!r}",
            )
        self.padding = sides
        self.value: float = 0.0

    def forward(self, x: TensorLike) -> Tensor:
        """Pads x (..., *spatial)."""
        lead = len(x.shape) - self.spatial
        if lead < 0:
            raise ArgumentError(
                f"must have {self.spatial} spatial dimensions",
                op=type(self).__name__,
                argument="x",
                got=f"x.shape={tuple(x.shape)}",
            )
        pairs = [self.padding[i : i + 2] for i in range(0, len(self.padding), 2)]
        widths = (0, 0) * lead + tuple(width for pair in reversed(pairs) for width in pair)
        return F.pad(x, widths, mode=self.mode, value=self.value)


class ConstantPad1d(_Pad):
    """Margins of a value around the length.

    Args:
        padding: one size for all sides, or (left, right).
        value: what fills the margins.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ConstantPad1d(1, 5.0)(tl.tensor([1.0, 2.0])).tolist()
        [5.0, 1.0, 2.0, 5.0]
    """

    spatial = 1
    mode = "constant"

    def __init__(self, padding: Ints, value: float) -> None:
        """Keeps the margins and their value."""
        super().__init__(padding)
        self.value = value


class ConstantPad2d(_Pad):
    """Margins of a value around height and width.

    Args:
        padding: one size for all sides, or (left, right, top, bottom).
        value: what fills the margins.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ConstantPad2d(1, 5.0)(tl.ones((1, 2, 2))).shape
        (1, 4, 4)
    """

    spatial = 2
    mode = "constant"

    def __init__(self, padding: Ints, value: float) -> None:
        """Keeps the margins and their value."""
        super().__init__(padding)
        self.value = value


class ConstantPad3d(_Pad):
    """Margins of a value around depth, height and width.

    Args:
        padding: one size for all sides, or (left, right, top, bottom, front, back).
        value: what fills the margins.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ConstantPad3d(1, 5.0)(tl.ones((1, 2, 2, 2))).shape
        (1, 4, 4, 4)
    """

    spatial = 3
    mode = "constant"

    def __init__(self, padding: Ints, value: float) -> None:
        """Keeps the margins and their value."""
        super().__init__(padding)
        self.value = value


class ZeroPad1d(_Pad):
    """Margins of zeros around the length.

    Args:
        padding: one size for all sides, or (left, right).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ZeroPad1d(1)(tl.tensor([1.0, 2.0])).tolist()
        [0.0, 1.0, 2.0, 0.0]
    """

    spatial = 1
    mode = "constant"


class ZeroPad2d(_Pad):
    """Margins of zeros around height and width.

    Args:
        padding: one size for all sides, or (left, right, top, bottom).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ZeroPad2d(1)(tl.ones((1, 2, 2))).shape
        (1, 4, 4)
    """

    spatial = 2
    mode = "constant"


class ZeroPad3d(_Pad):
    """Margins of zeros around depth, height and width.

    Args:
        padding: one size for all sides, or (left, right, top, bottom, front, back).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ZeroPad3d(1)(tl.ones((1, 2, 2, 2))).shape
        (1, 4, 4, 4)
    """

    spatial = 3
    mode = "constant"


class ReplicationPad1d(_Pad):
    """Margins of the nearest element around the length.

    Args:
        padding: one size for all sides, or (left, right).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ReplicationPad1d(1)(tl.tensor([1.0, 2.0])).tolist()
        [1.0, 1.0, 2.0, 2.0]
    """

    spatial = 1
    mode = "edge"


class ReplicationPad2d(_Pad):
    """Margins of the nearest element around height and width.

    Args:
        padding: one size for all sides, or (left, right, top, bottom).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ReplicationPad2d(1)(tl.ones((1, 2, 2))).shape
        (1, 4, 4)
    """

    spatial = 2
    mode = "edge"


class ReplicationPad3d(_Pad):
    """Margins of the nearest element around depth, height and width.

    Args:
        padding: one size for all sides, or (left, right, top, bottom, front, back).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ReplicationPad3d(1)(tl.ones((1, 2, 2, 2))).shape
        (1, 4, 4, 4)
    """

    spatial = 3
    mode = "edge"


class ReflectionPad1d(_Pad):
    """Margins of the elements mirrored at the edge around the length.

    Args:
        padding: one size for all sides, or (left, right).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ReflectionPad1d(1)(tl.tensor([1.0, 2.0])).tolist()
        [2.0, 1.0, 2.0, 1.0]
    """

    spatial = 1
    mode = "reflect"


class ReflectionPad2d(_Pad):
    """Margins of the elements mirrored at the edge around height and width.

    Args:
        padding: one size for all sides, or (left, right, top, bottom).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ReflectionPad2d(1)(tl.ones((1, 2, 2))).shape
        (1, 4, 4)
    """

    spatial = 2
    mode = "reflect"


class ReflectionPad3d(_Pad):
    """Margins of the elements mirrored at the edge around depth, height and width.

    Args:
        padding: one size for all sides, or (left, right, top, bottom, front, back).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ReflectionPad3d(1)(tl.ones((1, 2, 2, 2))).shape
        (1, 4, 4, 4)
    """

    spatial = 3
    mode = "reflect"


class CircularPad1d(_Pad):
    """Margins of the elements of the other side around the length.

    Args:
        padding: one size for all sides, or (left, right).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.CircularPad1d(1)(tl.tensor([1.0, 2.0])).tolist()
        [2.0, 1.0, 2.0, 1.0]
    """

    spatial = 1
    mode = "circular"


class CircularPad2d(_Pad):
    """Margins of the elements of the other side around height and width.

    Args:
        padding: one size for all sides, or (left, right, top, bottom).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.CircularPad2d(1)(tl.ones((1, 2, 2))).shape
        (1, 4, 4)
    """

    spatial = 2
    mode = "circular"


class CircularPad3d(_Pad):
    """Margins of the elements of the other side around depth, height and width.

    Args:
        padding: one size for all sides, or (left, right, top, bottom, front, back).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.CircularPad3d(1)(tl.ones((1, 2, 2, 2))).shape
        (1, 4, 4, 4)
    """

    spatial = 3
    mode = "circular"

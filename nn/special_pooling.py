"""Pooling layers beyond means and maxima: power means, random windows, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .. import functional as F
from ..imperative import ArgumentError, Tensor, TensorLike, next_seed
from .functional_layer import Functional, Ints, held
from .layer import Layer


class _LPPool(Functional):
    """The arguments of power means, in PyTorch's order."""

    def __init__(
        self,
        norm_type: float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(
            norm_type=norm_type,
            kernel_size=held(kernel_size),
            stride=None if stride is None else held(stride),
            ceil_mode=ceil_mode,
        )


class _MaxUnpool(Layer):
    """What the way back from maxima has in all dimensions."""

    call: ClassVar[Callable[..., Tensor]]

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        self.kernel_size = held(kernel_size)
        self.stride = None if stride is None else held(stride)
        self.padding = held(padding)

    def forward(
        self, x: TensorLike, indices: TensorLike, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """The maxima x where they stood: at the places that pooling gave with them."""
        return type(self).call(
            x,
            indices,
            self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            output_size=output_size,
        )


class _FractionalMaxPool(Layer):
    """What pooling over random windows has in all dimensions."""

    call: ClassVar[Callable[..., Tensor]]
    with_indices: ClassVar[Callable[..., tuple[Tensor, Tensor]]]

    def __init__(
        self,
        kernel_size: Ints,
        output_size: Ints | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
    ) -> None:
        if (output_size is None) == (output_ratio is None):
            raise ArgumentError(
                "give either output_size or output_ratio",
                op=type(self).__name__,
                got=f"output_size={output_size}, output_ratio={output_ratio}",
            )
        self.kernel_size = held(kernel_size)
        self.output_size = None if output_size is None else held(output_size)
        self.output_ratio = output_ratio
        self.return_indices = return_indices

    def forward(self, x: TensorLike) -> Any:
        """The maxima of windows that are drawn afresh; with their places if asked for."""
        call = type(self).with_indices if self.return_indices else type(self).call
        return call(
            x,
            self.kernel_size,
            output_size=self.output_size,
            output_ratio=self.output_ratio,
            seed=next_seed(),
        )


class LPPool1d(_LPPool):
    """The p-norms of windows over the length.

    Args:
        norm_type: p, above 0.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        ceil_mode: keep a last window that is partly outside.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.LPPool1d(2.0, 2)(tl.ones((1, 2, 8))).shape
        (1, 2, 4)
    """

    call = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The p-norms of windows over height and width.

    Args:
        norm_type: p, above 0.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        ceil_mode: keep a last window that is partly outside.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.LPPool2d(2.0, 2)(tl.ones((1, 2, 8, 8))).shape
        (1, 2, 4, 4)
    """

    call = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The p-norms of windows over depth, height and width.

    Args:
        norm_type: p, above 0.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        ceil_mode: keep a last window that is partly outside.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.LPPool3d(2.0, 2)(tl.ones((1, 2, 8, 8, 8))).shape
        (1, 2, 4, 4, 4)
    """

    call = staticmethod(F.lp_pool3d)


class MaxUnpool1d(_MaxUnpool):
    """Maxima over the length put back where they stood, among zeros.

    Args:
        kernel_size: the size of the window that was pooled, for each dimension or for all.
        stride: the step of that window; None is kernel_size.
        padding: what was added on either side.

    Example:
        >>> import tensorlike as tl
        >>> y, places = tl.nn.MaxPool1d(2, return_indices=True)(tl.ones((1, 2, 8)))
        >>> tl.nn.MaxUnpool1d(2)(y, places).shape
        (1, 2, 8)
    """

    call = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Maxima over height and width put back where they stood, among zeros.

    Args:
        kernel_size: the size of the window that was pooled, for each dimension or for all.
        stride: the step of that window; None is kernel_size.
        padding: what was added on either side.

    Example:
        >>> import tensorlike as tl
        >>> y, places = tl.nn.MaxPool2d(2, return_indices=True)(tl.ones((1, 2, 8, 8)))
        >>> tl.nn.MaxUnpool2d(2)(y, places).shape
        (1, 2, 8, 8)
    """

    call = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Maxima over depth, height and width put back where they stood, among zeros.

    Args:
        kernel_size: the size of the window that was pooled, for each dimension or for all.
        stride: the step of that window; None is kernel_size.
        padding: what was added on either side.

    Example:
        >>> import tensorlike as tl
        >>> y, places = tl.nn.MaxPool3d(2, return_indices=True)(tl.ones((1, 2, 8, 8, 8)))
        >>> tl.nn.MaxUnpool3d(2)(y, places).shape
        (1, 2, 8, 8, 8)
    """

    call = staticmethod(F.max_unpool3d)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maxima of windows at random over height and width.

    Args:
        kernel_size: the size of the windows, for each dimension or for all.
        output_size: the number of windows, for each dimension or for all.
        output_ratio: the number of windows by that of elements, in place of it.
        return_indices: give the places of the maxima, too.

    Raises:
        ValueError: neither output_size nor output_ratio is given, or both are.

    Source:
        Graham 2014, https://arxiv.org/abs/1412.6071.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.FractionalMaxPool2d(2, output_size=5)(tl.ones((1, 2, 8, 8))).shape
        (1, 2, 5, 5)
    """

    call = staticmethod(F.fractional_max_pool2d)
    with_indices = staticmethod(F.fractional_max_pool2d_with_indices)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maxima of windows at random over depth, height and width.

    Args:
        kernel_size: the size of the windows, for each dimension or for all.
        output_size: the number of windows, for each dimension or for all.
        output_ratio: the number of windows by that of elements, in place of it.
        return_indices: give the places of the maxima, too.

    Raises:
        ValueError: neither output_size nor output_ratio is given, or both are.

    Source:
        Graham 2014, https://arxiv.org/abs/1412.6071.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.FractionalMaxPool3d(2, output_size=5)(tl.ones((1, 2, 8, 8, 8))).shape
        (1, 2, 5, 5, 5)
    """

    call = staticmethod(F.fractional_max_pool3d)
    with_indices = staticmethod(F.fractional_max_pool3d_with_indices)

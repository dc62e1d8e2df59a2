"""Pooling layers: functions of windows, without parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .. import functional as F
from ..imperative import Tensor, TensorLike
from ..imperative.calls import call_with
from .functional_layer import Functional, Ints, held


class _MaxPool(Functional):
    """The arguments of maximum pooling, in PyTorch's order."""

    with_indices: ClassVar[Callable[..., tuple[Tensor, Tensor]]]

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(
            kernel_size=held(kernel_size),
            stride=None if stride is None else held(stride),
            padding=held(padding),
            dilation=held(dilation),
            ceil_mode=ceil_mode,
        )
        self.return_indices = return_indices

    def forward(self, *xs: TensorLike) -> Any:
        """The maxima; with their places where the layer was asked for them."""
        call = self.with_indices if self.return_indices else type(self).call
        return call_with(call, xs, self, self._names)


class _AvgPool(Functional):
    """The arguments of average pooling, in PyTorch's order."""

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(
            kernel_size=held(kernel_size),
            stride=None if stride is None else held(stride),
            padding=held(padding),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )


class _AdaptivePool(Functional):
    """Pooling whose windows follow from the size of the result."""

    def __init__(self, output_size: Ints) -> None:
        """Keeps the size."""
        super().__init__(output_size=held(output_size))


class _AdaptiveMaxPool(_AdaptivePool):
    """Maxima of windows that follow from the size of the result."""

    with_indices: ClassVar[Callable[..., tuple[Tensor, Tensor]]]

    def __init__(self, output_size: Ints, return_indices: bool = False) -> None:
        """Keeps the size."""
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, *xs: TensorLike) -> Any:
        """The maxima; with their places where the layer was asked for them."""
        call = self.with_indices if self.return_indices else type(self).call
        return call_with(call, xs, self, self._names)


class MaxPool1d(_MaxPool):
    """The maxima of windows over the length.

    Args:
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        padding: what is added on either side and never the maximum.
        dilation: the distance between elements of the window.
        return_indices: give the places of the maxima, too.
        ceil_mode: keep a last window that is partly outside.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8), 0.0)
        >>> tl.nn.MaxPool1d(2)(x).shape
        (1, 2, 4)
    """

    call = staticmethod(F.max_pool1d)
    with_indices = staticmethod(F.max_pool1d_with_indices)


class AvgPool1d(_AvgPool):
    """The means of windows over the length.

    Args:
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        padding: zeros on either side.
        ceil_mode: keep a last window that is partly outside.
        count_include_pad: whether padding counts in the number that sums are divided by.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8), 0.0)
        >>> tl.nn.AvgPool1d(2)(x).shape
        (1, 2, 4)
    """

    call = staticmethod(F.avg_pool1d)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The maxima of windows that cut the length into parts of nearly the same size.

    Args:
        output_size: the size of the result, for each dimension or for all.
        return_indices: give the places of the maxima, too.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8), 0.0)
        >>> tl.nn.AdaptiveMaxPool1d(3)(x).shape
        (1, 2, 3)
    """

    call = staticmethod(F.adaptive_max_pool1d)
    with_indices = staticmethod(F.adaptive_max_pool1d_with_indices)


class AdaptiveAvgPool1d(_AdaptivePool):
    """The means of windows that cut the length into parts of nearly the same size.

    Args:
        output_size: the size of the result, for each dimension or for all.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8), 0.0)
        >>> tl.nn.AdaptiveAvgPool1d(3)(x).shape
        (1, 2, 3)
    """

    call = staticmethod(F.adaptive_avg_pool1d)


class MaxPool2d(_MaxPool):
    """The maxima of windows over height and width.

    Args:
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        padding: what is added on either side and never the maximum.
        dilation: the distance between elements of the window.
        return_indices: give the places of the maxima, too.
        ceil_mode: keep a last window that is partly outside.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8, 8), 0.0)
        >>> tl.nn.MaxPool2d(2)(x).shape
        (1, 2, 4, 4)
    """

    call = staticmethod(F.max_pool2d)
    with_indices = staticmethod(F.max_pool2d_with_indices)


class AvgPool2d(_AvgPool):
    """The means of windows over height and width.

    Args:
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        padding: zeros on either side.
        ceil_mode: keep a last window that is partly outside.
        count_include_pad: whether padding counts in the number that sums are divided by.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8, 8), 0.0)
        >>> tl.nn.AvgPool2d(2)(x).shape
        (1, 2, 4, 4)
    """

    call = staticmethod(F.avg_pool2d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The maxima of windows that cut height and width into parts of nearly the same size.

    Args:
        output_size: the size of the result, for each dimension or for all.
        return_indices: give the places of the maxima, too.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8, 8), 0.0)
        >>> tl.nn.AdaptiveMaxPool2d(3)(x).shape
        (1, 2, 3, 3)
    """

    call = staticmethod(F.adaptive_max_pool2d)
    with_indices = staticmethod(F.adaptive_max_pool2d_with_indices)


class AdaptiveAvgPool2d(_AdaptivePool):
    """The means of windows that cut height and width into parts of nearly the same size.

    Args:
        output_size: the size of the result, for each dimension or for all.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8, 8), 0.0)
        >>> tl.nn.AdaptiveAvgPool2d(3)(x).shape
        (1, 2, 3, 3)
    """

    call = staticmethod(F.adaptive_avg_pool2d)


class MaxPool3d(_MaxPool):
    """The maxima of windows over depth, height and width.

    Args:
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        padding: what is added on either side and never the maximum.
        dilation: the distance between elements of the window.
        return_indices: give the places of the maxima, too.
        ceil_mode: keep a last window that is partly outside.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8, 8, 8), 0.0)
        >>> tl.nn.MaxPool3d(2)(x).shape
        (1, 2, 4, 4, 4)
    """

    call = staticmethod(F.max_pool3d)
    with_indices = staticmethod(F.max_pool3d_with_indices)


class AvgPool3d(_AvgPool):
    """The means of windows over depth, height and width.

    Args:
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        padding: zeros on either side.
        ceil_mode: keep a last window that is partly outside.
        count_include_pad: whether padding counts in the number that sums are divided by.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8, 8, 8), 0.0)
        >>> tl.nn.AvgPool3d(2)(x).shape
        (1, 2, 4, 4, 4)
    """

    call = staticmethod(F.avg_pool3d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The maxima of windows that cut depth, height and width into parts of nearly the same size.

    Args:
        output_size: the size of the result, for each dimension or for all.
        return_indices: give the places of the maxima, too.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8, 8, 8), 0.0)
        >>> tl.nn.AdaptiveMaxPool3d(3)(x).shape
        (1, 2, 3, 3, 3)
    """

    call = staticmethod(F.adaptive_max_pool3d)
    with_indices = staticmethod(F.adaptive_max_pool3d_with_indices)


class AdaptiveAvgPool3d(_AdaptivePool):
    """The means of windows that cut depth, height and width into parts of nearly the same size.

    Args:
        output_size: the size of the result, for each dimension or for all.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 2, 8, 8, 8), 0.0)
        >>> tl.nn.AdaptiveAvgPool3d(3)(x).shape
        (1, 2, 3, 3, 3)
    """

    call = staticmethod(F.adaptive_avg_pool3d)

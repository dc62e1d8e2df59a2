"""Convolution layers over one, two or three spatial dimensions, and their transposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from .. import functional as F
from ..imperative import ArgumentError, Parameter, Tensor, TensorLike
from .layer import Layer
from .param_attr import ParamAttr
from .seeds import generator_of


def _each(name: str, value: int | Sequence[int], spatial: int) -> tuple[int, ...]:
    """One number for all spatial dimensions, or one for each."""
    values = (int(value),) * spatial if isinstance(value, int | np.integer) else tuple(value)
    if len(values) != spatial:
        raise ArgumentError(f"{name} must be one number or {spatial}", got=f"{name}={value!r}")
    return values


class _Convolution(Layer):
    """What all convolution layers have: the channels, the window, weight and bias.

    The initial values are PyTorch's: uniform in +-1 / sqrt(fan_in), where fan_in is the number of
    weights that meet in an element of the result (for a transpose: of x).
    """

    spatial: ClassVar[int]
    is_transposed: ClassVar[bool] = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: str | int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        seed: int | None = None,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters."""
        name = type(self).__name__
        kernel = _each("kernel_size", kernel_size, self.spatial)
        if min(in_channels, out_channels, groups, *kernel) < 1:
            raise ArgumentError(
                "must be positive",
                op=name,
                argument="sizes",
                got=(
                    f"in_channels={in_channels}, out_channels={out_channels}, "
                    f"kernel_size={kernel}, "
                    f"groups={groups}"
                ),
            )
        if in_channels % groups or out_channels % groups:
            raise ArgumentError(
                "must divide the channels",
                op=name,
                argument="groups",
                got=f"in_channels={in_channels}, out_channels={out_channels}, groups={groups}",
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel
        self.stride = _each("stride", stride, self.spatial)
        self.padding = (
            padding if isinstance(padding, str) else _each("padding", padding, self.spatial)
        )
        self.dilation = _each("dilation", dilation, self.spatial)
        self.groups = groups
        first, second = in_channels, out_channels
        if not self.is_transposed:
            first, second = second, first
        shape = (first, second // groups, *kernel)
        bound = 1 / np.sqrt(np.prod(shape[1:]))
        generator = generator_of(seed)
        weight = generator.uniform(-bound, bound, shape)
        shift = generator.uniform(-bound, bound, out_channels)
        self.weight = Parameter(weight.astype(np.float32))
        self.bias = Parameter(shift.astype(np.float32)) if bias else None
        self._start_from(weight=weight_attr, bias=bias_attr)

    def _apply(self, call: Callable[..., Tensor], x: TensorLike, **attrs: Any) -> Tensor:
        bias = () if self.bias is None else (self.bias,)
        return call(
            x,
            self.weight,
            *bias,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
            **attrs,
        )


class _ConvolutionTranspose(_Convolution):
    """The transposes: in PyTorch's order of arguments."""

    is_transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        *,
        seed: int | None = None,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters."""
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            seed=seed,
            weight_attr=weight_attr,
            bias_attr=bias_attr,
        )
        self.output_padding = _each("output_padding", output_padding, self.spatial)


class Conv1d(_Convolution):
    """Convolution over length.

    Args:
        in_channels: the channels of x.
        out_channels: the channels of the result.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window.
        padding: zeros on either side, or "same" or "valid".
        dilation: the distance between elements of the kernel.
        groups: parts of the channels that do not see each other.
        bias: whether there is a bias.
        seed: the seed of the initial values; None takes one from `manual_seed`'s stream.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (out_channels, in_channels / groups, *kernel_size).
        bias: (out_channels,); or None.

    Raises:
        ValueError: a size is not positive, or groups does not divide the channels.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 3, 8), 0.0)
        >>> tl.nn.Conv1d(3, 4, kernel_size=3)(x).shape
        (1, 4, 6)
    """

    spatial = 1

    def forward(self, x: TensorLike) -> Tensor:
        """Convolves x (images, in_channels, length)."""
        return self._apply(F.conv1d, x)


class ConvTranspose1d(_ConvolutionTranspose):
    """Transposed convolution over length: it undoes the shape of a Conv1d.

    Args:
        in_channels: the channels of x.
        out_channels: the channels of the result.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the distance between the windows that elements of x fill.
        padding: what is cut off on either side.
        output_padding: rows added at the end; less than the stride.
        groups: parts of the channels that do not see each other.
        bias: whether there is a bias.
        dilation: the distance between elements of the kernel.
        seed: the seed of the initial values; None takes one from `manual_seed`'s stream.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (in_channels, out_channels / groups, *kernel_size).
        bias: (out_channels,); or None.

    Raises:
        ValueError: a size is not positive, or groups does not divide the channels.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 3, 8), 0.0)
        >>> tl.nn.ConvTranspose1d(3, 4, kernel_size=3, stride=2)(x).shape
        (1, 4, 17)
    """

    spatial = 1

    def forward(self, x: TensorLike) -> Tensor:
        """Spreads x (images, in_channels, length)."""
        return self._apply(F.conv_transpose1d, x, output_padding=self.output_padding)


class Conv2d(_Convolution):
    """Convolution over height and width.

    Args:
        in_channels: the channels of x.
        out_channels: the channels of the result.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window.
        padding: zeros on either side, or "same" or "valid".
        dilation: the distance between elements of the kernel.
        groups: parts of the channels that do not see each other.
        bias: whether there is a bias.
        seed: the seed of the initial values; None takes one from `manual_seed`'s stream.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (out_channels, in_channels / groups, *kernel_size).
        bias: (out_channels,); or None.

    Raises:
        ValueError: a size is not positive, or groups does not divide the channels.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 3, 8, 8), 0.0)
        >>> tl.nn.Conv2d(3, 4, kernel_size=3)(x).shape
        (1, 4, 6, 6)
    """

    spatial = 2

    def forward(self, x: TensorLike) -> Tensor:
        """Convolves x (images, in_channels, height, width)."""
        return self._apply(F.conv2d, x)


class ConvTranspose2d(_ConvolutionTranspose):
    """Transposed convolution over height and width: it undoes the shape of a Conv2d.

    Args:
        in_channels: the channels of x.
        out_channels: the channels of the result.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the distance between the windows that elements of x fill.
        padding: what is cut off on either side.
        output_padding: rows added at the end; less than the stride.
        groups: parts of the channels that do not see each other.
        bias: whether there is a bias.
        dilation: the distance between elements of the kernel.
        seed: the seed of the initial values; None takes one from `manual_seed`'s stream.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (in_channels, out_channels / groups, *kernel_size).
        bias: (out_channels,); or None.

    Raises:
        ValueError: a size is not positive, or groups does not divide the channels.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 3, 8, 8), 0.0)
        >>> tl.nn.ConvTranspose2d(3, 4, kernel_size=3, stride=2)(x).shape
        (1, 4, 17, 17)
    """

    spatial = 2

    def forward(self, x: TensorLike) -> Tensor:
        """Spreads x (images, in_channels, height, width)."""
        return self._apply(F.conv_transpose2d, x, output_padding=self.output_padding)


class Conv3d(_Convolution):
    """Convolution over depth, height and width.

    Args:
        in_channels: the channels of x.
        out_channels: the channels of the result.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window.
        padding: zeros on either side, or "same" or "valid".
        dilation: the distance between elements of the kernel.
        groups: parts of the channels that do not see each other.
        bias: whether there is a bias.
        seed: the seed of the initial values; None takes one from `manual_seed`'s stream.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (out_channels, in_channels / groups, *kernel_size).
        bias: (out_channels,); or None.

    Raises:
        ValueError: a size is not positive, or groups does not divide the channels.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 3, 8, 8, 8), 0.0)
        >>> tl.nn.Conv3d(3, 4, kernel_size=3)(x).shape
        (1, 4, 6, 6, 6)
    """

    spatial = 3

    def forward(self, x: TensorLike) -> Tensor:
        """Convolves x (images, in_channels, depth, height, width)."""
        return self._apply(F.conv3d, x)


class ConvTranspose3d(_ConvolutionTranspose):
    """Transposed convolution over depth, height and width: it undoes the shape of a Conv3d.

    Args:
        in_channels: the channels of x.
        out_channels: the channels of the result.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the distance between the windows that elements of x fill.
        padding: what is cut off on either side.
        output_padding: rows added at the end; less than the stride.
        groups: parts of the channels that do not see each other.
        bias: whether there is a bias.
        dilation: the distance between elements of the kernel.
        seed: the seed of the initial values; None takes one from `manual_seed`'s stream.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (in_channels, out_channels / groups, *kernel_size).
        bias: (out_channels,); or None.

    Raises:
        ValueError: a size is not positive, or groups does not divide the channels.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.functional.full((1, 3, 8, 8, 8), 0.0)
        >>> tl.nn.ConvTranspose3d(3, 4, kernel_size=3, stride=2)(x).shape
        (1, 4, 17, 17, 17)
    """

    spatial = 3

    def forward(self, x: TensorLike) -> Tensor:
        """Spreads x (images, in_channels, depth, height, width)."""
        return self._apply(F.conv_transpose3d, x, output_padding=self.output_padding)

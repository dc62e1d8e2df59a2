"""Pooling by p-norms: between the sum of a window and its largest element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..imperative import ParameterError, Tensor, TensorLike
from .arguments import integer, named, number, several
from .arranging import as_tensor
from .generated import avg_pool1d, avg_pool2d, avg_pool3d, pow, where

__all__ = [
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
]

_Size = int | Sequence[int]


def _power_means(
    call: str,
    spatial: int,
    pool: Callable[..., Any],
    x: TensorLike,
    norm_type: float,
    kernel_size: _Size,
    stride: _Size | None,
    ceil_mode: bool,
) -> Any:
    x = as_tensor(x)
    p = number(call, "norm_type", norm_type, above=0.0)
    if p == math.inf:
        raise ParameterError("must be finite.", op=call, argument="norm_type", got="norm_type=inf")
    sizes = several(call, "kernel_size", kernel_size, spatial)
    count = math.prod(integer(call, "kernel_size", n, least=1) for n in sizes)
    means = pool(pow(x, p), kernel_size, stride=stride, ceil_mode=ceil_mode)
    total = means * count
    # The slope of a root at 0 is taken as 0.
    return where(total != 0, pow(where(total != 0, total, 1), 1 / p), total)


@named
def lp_pool1d(
    x: TensorLike,
    norm_type: float,
    kernel_size: _Size,
    *,
    stride: _Size | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norms of windows over the length: ``sum(x ** p) ** (1 / p)``.

    A last window that is partly outside counts as if it were whole, of the same mean.

    Args:
        x: (images, channels, length), real floating-point.
        norm_type: p, above 0; where it is not even, elements should not be negative.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        ceil_mode: keep a last window that is partly outside.

    Raises:
        ShapeError: x has other dimensions, or the window does not fit.
        ParameterError: norm_type is not positive, or infinite: that is max_pool1d.

    Source:
        PyTorch, ``torch.nn.functional.lp_pool1d``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.lp_pool1d(tl.tensor([[[3.0, 4.0]]]), 2.0, 2).tolist()
        [[[5.0]]]
    """
    given = (x, norm_type, kernel_size, stride, ceil_mode)
    return _power_means("lp_pool1d", 1, avg_pool1d, *given)


@named
def lp_pool2d(
    x: TensorLike,
    norm_type: float,
    kernel_size: _Size,
    *,
    stride: _Size | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norms of windows over height and width: ``sum(x ** p) ** (1 / p)``.

    A last window that is partly outside counts as if it were whole, of the same mean.

    Args:
        x: (images, channels, height, width), real floating-point.
        norm_type: p, above 0; where it is not even, elements should not be negative.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        ceil_mode: keep a last window that is partly outside.

    Raises:
        ShapeError: x has other dimensions, or the window does not fit.
        ParameterError: norm_type is not positive, or infinite: that is max_pool2d.

    Source:
        PyTorch, ``torch.nn.functional.lp_pool2d``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.lp_pool2d(tl.tensor([[[[3.0, 4.0]]]]), 2.0, (1, 2)).tolist()
        [[[[5.0]]]]
    """
    given = (x, norm_type, kernel_size, stride, ceil_mode)
    return _power_means("lp_pool2d", 2, avg_pool2d, *given)


@named
def lp_pool3d(
    x: TensorLike,
    norm_type: float,
    kernel_size: _Size,
    *,
    stride: _Size | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norms of windows over depth, height and width: ``sum(x ** p) ** (1 / p)``.

    A last window that is partly outside counts as if it were whole, of the same mean.

    Args:
        x: (images, channels, depth, height, width), real floating-point.
        norm_type: p, above 0; where it is not even, elements should not be negative.
        kernel_size: the size of the window, for each dimension or for all.
        stride: the step of the window; None is kernel_size.
        ceil_mode: keep a last window that is partly outside.

    Raises:
        ShapeError: x has other dimensions, or the window does not fit.
        ParameterError: norm_type is not positive, or infinite: that is max_pool3d.

    Source:
        PyTorch, ``torch.nn.functional.lp_pool3d``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.lp_pool3d(tl.tensor([[[[[3.0, 4.0]]]]]), 2.0, (1, 1, 2)).tolist()
        [[[[[5.0]]]]]
    """
    given = (x, norm_type, kernel_size, stride, ceil_mode)
    return _power_means("lp_pool3d", 3, avg_pool3d, *given)

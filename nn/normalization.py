"""Norms: LayerNorm, RMSNorm, and BatchNorm with its running statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NoReturn

import numpy as np

from .. import functional as F
from ..imperative import ArgumentError, Parameter, Tensor, TensorLike, no_grad, stop_gradient
from ..imperative.sizes import ends_with
from ..transforms import mean_over_examples
from .layer import Buffer, Layer
from .param_attr import ParamAttr


def ones(shape: tuple[int, ...]) -> Parameter:
    return Parameter(np.ones(shape, np.float32))


def zeros(shape: tuple[int, ...]) -> Parameter:
    return Parameter(np.zeros(shape, np.float32))


def _checked_shape(layer: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    sizes = (int(shape),) if isinstance(shape, int | np.integer) else tuple(shape)
    if not sizes or any(size < 1 for size in sizes):
        raise ArgumentError(
            "must be positive", op=layer, argument="sizes", got=f"normalized_shape={shape}"
        )
    return sizes


def _refuse_shape(layer: str, x: TensorLike, sizes: tuple[int, ...]) -> NoReturn:
    raise ArgumentError(f"x.shape must end with {sizes}", op=layer, got=f"x.shape={tuple(x.shape)}")


@cache
def _last_axes(count: int) -> tuple[int, ...]:
    return tuple(range(-count, 0))


class LayerNorm(Layer):
    """Moves and scales the last dimensions to the mean 0 and the variance 1, then learns both anew.

    Args:
        normalized_shape: the sizes of the last dimensions, or of the last one.
        eps: added to the variance.
        elementwise_affine: whether there is a weight.
        bias: whether there is a bias beside the weight.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: of the normalized shape, ones; or None.
        bias: of the normalized shape, zeros; or None.

    Raises:
        ValueError: a size is not positive; later, x does not end with these sizes.

    Source:
        Ba et al. 2016, https://arxiv.org/abs/1607.06450.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.LayerNorm(2, eps=0.0)(tl.tensor([[1.0, 3.0]])).tolist()
        [[-1.0, 1.0]]
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        *,
        elementwise_affine: bool = True,
        bias: bool = True,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters."""
        self.normalized_shape = _checked_shape("LayerNorm", normalized_shape)
        self.eps = eps
        self.weight = ones(self.normalized_shape) if elementwise_affine else None
        self.bias = zeros(self.normalized_shape) if elementwise_affine and bias else None
        self._start_from(weight=weight_attr, bias=bias_attr)

    def forward(self, x: TensorLike) -> Tensor:
        """Normalises x of shape (..., *normalized_shape)."""
        sizes = self.normalized_shape
        axes = (-1,) if len(sizes) == 1 else _last_axes(len(sizes))
        if not ends_with(x, sizes):
            _refuse_shape("LayerNorm", x, sizes)
        weight, bias = self.weight, self.bias
        return F.layer_norm(
            x,
            1.0 if weight is None else weight,
            0.0 if bias is None else bias,
            axes,
            self.eps,
        )


class RMSNorm(Layer):
    """Divides the last dimensions by the root of the mean of their squares, then scales them.

    Args:
        normalized_shape: the sizes of the last dimensions, or of the last one.
        eps: added to the mean of the squares.
        elementwise_affine: whether there is a weight.
        weight_attr: what the weight starts from instead, and whether it is learnt.

    Attributes:
        weight: of the normalized shape, ones; or None.

    Raises:
        ValueError: a size is not positive; later, x does not end with these sizes.

    Source:
        Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.RMSNorm(2, eps=0.0)(tl.tensor([[2.0, 2.0]])).tolist()
        [[1.0, 1.0]]
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        *,
        elementwise_affine: bool = True,
        weight_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameter."""
        self.normalized_shape = _checked_shape("RMSNorm", normalized_shape)
        self.eps = eps
        self.weight = ones(self.normalized_shape) if elementwise_affine else None
        self._start_from(weight=weight_attr)

    def forward(self, x: TensorLike) -> Tensor:
        """Normalises x of shape (..., *normalized_shape)."""
        sizes = self.normalized_shape
        if not ends_with(x, sizes):
            _refuse_shape("RMSNorm", x, sizes)
        weight = self.weight
        return F.rms_norm(x, 1.0 if weight is None else weight, _last_axes(len(sizes)), self.eps)


class RunningStatistics(Layer):
    """A layer that keeps the mean and the variance of what it has seen of each feature."""

    num_features: int
    eps: float
    momentum: float

    def make_statistics(self) -> None:
        """Those of what nobody has seen yet: 0 and 1."""
        self.running_mean = Buffer(np.zeros(self.num_features, np.float32))
        self.running_var = Buffer(np.ones(self.num_features, np.float32))

    def by_statistics(
        self, x: TensorLike, weight: TensorLike, bias: TensorLike, each: tuple[int, ...]
    ) -> Tensor:
        """An affine map of x, whose factors are as small as the features, of shape `each`."""
        variance = F.reshape(self.running_var, each)
        factor = F.multiply(F.rsqrt(F.add(variance, self.eps)), weight)
        shift = F.subtract(bias, F.multiply(F.reshape(self.running_mean, each), factor))
        return F.multiply_add(x, factor, shift)

    def update_statistics(self, mean: Tensor, variance: Tensor, count: int) -> None:
        """Moves them towards those of `count` values; the variance without its bias."""
        with no_grad():
            # By two ops: a count that is not known yet is no number of Python's.
            unbiased = variance * count / (count - 1)
            for running, value in ((self.running_mean, mean), (self.running_var, unbiased)):
                mean_value = mean_over_examples(stop_gradient(value), running)
                new = F.reshape(mean_value, (self.num_features,))
                moved = running * (1.0 - self.momentum) + new * self.momentum
                running.set_value(moved)


class _BatchNorm(RunningStatistics):
    """What batch norms of all dimensions share; subclasses say which shapes they take."""

    _dimensions: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        *,
        affine: bool = True,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters and the running statistics."""
        if num_features < 1:
            raise ArgumentError(
                "must be positive",
                op=type(self).__name__,
                argument="num_features",
                got=f"{num_features}",
            )
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.weight = ones((num_features,)) if affine else None
        self.bias = zeros((num_features,)) if affine else None
        self._start_from(weight=weight_attr, bias=bias_attr)
        self.make_statistics()

    def forward(self, x: TensorLike) -> Tensor:
        """Normalises x of shape (N, num_features, ...)."""
        shape = tuple(x.shape)
        if len(shape) not in self._dimensions or shape[1] != self.num_features:
            dimensions = " or ".join(str(n) for n in self._dimensions)
            raise ArgumentError(
                f"must have {dimensions} dimensions, the second of size {self.num_features}",
                op=type(self).__name__,
                argument="x",
                got=f"x.shape={shape}",
            )
        each = (self.num_features, *(1 for _ in shape[2:]))
        weight = 1.0 if self.weight is None else F.reshape(self.weight, each)
        bias = 0.0 if self.bias is None else F.reshape(self.bias, each)
        if not self.training:
            return self.by_statistics(x, weight, bias, each)
        axes = (0, *range(2, len(shape)))
        count = math.prod(shape[axis] for axis in axes)
        if count < 2:
            raise ArgumentError(
                "training needs more than one value for each feature",
                op=type(self).__name__,
                got=f"x.shape={shape}",
            )
        y, mean, variance = F.batch_norm(x, weight, bias, axes=axes, eps=self.eps)
        self.update_statistics(mean, variance, count)
        return y


class BatchNorm1d(_BatchNorm):
    """Moves and scales each feature to the mean 0 and the variance 1 over a batch.

    In evaluation the running statistics take the batch's place. Under `vmap` those are moved
    towards the mean over the examples of their statistics.

    Args:
        num_features: the size of x's second dimension.
        eps: added to the variance.
        momentum: the weight of a batch in the running statistics.
        affine: whether there are a weight and a bias for each feature.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (num_features,), ones; or None.
        bias: (num_features,), zeros; or None.
        running_mean: (num_features,), of the batches so far; zeros at first.
        running_var: (num_features,), the unbiased variance; ones at first.

    Raises:
        ValueError: a size is not positive; later, x is not (N, C) or (N, C, L), or training meets a
            feature with one value.

    Source:
        Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.BatchNorm1d(1, eps=0.0)(tl.tensor([[1.0], [3.0]])).tolist()
        [[-1.0], [1.0]]
    """

    _dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` for images: x has the shape (N, C, H, W).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.BatchNorm2d(1, eps=0.0)(tl.tensor([[[[1.0, 3.0]]]])).tolist()
        [[[[-1.0, 1.0]]]]
    """

    _dimensions = (4,)


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` for volumes: x has the shape (N, C, D, H, W).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.BatchNorm3d(1, eps=0.0)(tl.tensor([[[[[1.0, 3.0]]]]])).tolist()
        [[[[[-1.0, 1.0]]]]]
    """

    _dimensions = (5,)

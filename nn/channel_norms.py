"""Norms of channels, alone or in groups, and of neighbours: none looks at other images."""

from __future__ import annotations

import math
from typing import ClassVar

from .. import functional as F
from ..imperative import ArgumentError, Tensor, TensorLike
from .functional_layer import Functional
from .layer import Layer
from .normalization import RunningStatistics, ones, zeros
from .param_attr import ParamAttr


class GroupNorm(Layer):
    """Layer norm of groups of channels, each with all its positions.

    Args:
        num_groups: into how many groups the channels fall; as many as channels: instance norm.
        num_channels: the size of x's second dimension.
        eps: added to the variance.
        affine: whether there are a weight and a bias for each channel.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (num_channels,), ones; or None.
        bias: (num_channels,), zeros; or None.

    Raises:
        ValueError: the groups do not divide the channels; later, x has other channels.

    Source:
        Wu and He 2018, https://arxiv.org/abs/1803.08494.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.GroupNorm(1, 2, eps=0.0)(tl.tensor([[1.0, 3.0]])).tolist()
        [[-1.0, 1.0]]
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        *,
        affine: bool = True,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters."""
        if num_groups < 1 or num_channels < 1 or num_channels % num_groups != 0:
            raise ArgumentError(
                "must divide num_channels",
                op="GroupNorm",
                argument="num_groups",
                got=f"num_groups={num_groups}, num_channels={num_channels}",
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = ones((num_channels,)) if affine else None
        self.bias = zeros((num_channels,)) if affine else None
        self._start_from(weight=weight_attr, bias=bias_attr)

    def forward(self, x: TensorLike) -> Tensor:
        """Normalises x of shape (N, num_channels, ...)."""
        shape = tuple(x.shape)
        if len(shape) < 2 or shape[1] != self.num_channels:
            raise ArgumentError(
                f"must have the shape (N, {self.num_channels}, ...)",
                op="GroupNorm",
                argument="x",
                got=f"x.shape={shape}",
            )
        return F.group_norm(x, self.num_groups, self.weight, self.bias, eps=self.eps)


class _InstanceNorm(RunningStatistics):
    """What instance norms of all dimensions share."""

    spatial: ClassVar[int]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        *,
        affine: bool = False,
        track_running_stats: bool = False,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters, and the running statistics where they are asked for."""
        name = type(self).__name__
        if num_features < 1:
            raise ArgumentError(
                "must be positive", op=name, argument="num_features", got=f"{num_features}"
            )
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.track_running_stats = track_running_stats
        self.weight = ones((num_features,)) if affine else None
        self.bias = zeros((num_features,)) if affine else None
        self._start_from(weight=weight_attr, bias=bias_attr)
        if track_running_stats:
            self.make_statistics()

    def forward(self, x: TensorLike) -> Tensor:
        """Normalises x of shape (N, num_features, *spatial)."""
        shape = tuple(x.shape)
        if len(shape) != self.spatial + 2 or shape[1] != self.num_features:
            raise ArgumentError(
                f"must have {self.spatial + 2} dimensions, the second of size {self.num_features}",
                op=type(self).__name__,
                argument="x",
                got=f"x.shape={shape}",
            )
        if not self.track_running_stats:
            return F.instance_norm(x, self.weight, self.bias, eps=self.eps)
        each = (self.num_features, *[1] * self.spatial)
        weight = 1.0 if self.weight is None else F.reshape(self.weight, each)
        bias = 0.0 if self.bias is None else F.reshape(self.bias, each)
        if not self.training:
            return self.by_statistics(x, weight, bias, each)
        count = math.prod(shape[2:])
        if count < 2 or shape[0] == 0:
            raise ArgumentError(
                "running statistics need more than one value for each feature of an image",
                op=type(self).__name__,
                got=f"x.shape={shape}",
            )
        axes = tuple(range(2, len(shape)))
        y, mean, variance = F.batch_norm(x, weight, bias, axes=axes, eps=self.eps)
        self.update_statistics(F.mean(mean, axis=0), F.mean(variance, axis=0), count)
        return y


class InstanceNorm1d(_InstanceNorm):
    """Moves and scales each channel of each sequence to the mean 0 and the variance 1.

    Args:
        num_features: the size of x's second dimension; x has the shape (N, C, L).
        eps: added to the variance.
        momentum: the weight of a batch in the running statistics.
        affine: whether there are a weight and a bias for each channel.
        track_running_stats: keep the mean over images (and the examples of a `vmap`) of their means
            and variances, which take their place in evaluation.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (num_features,), ones; or None.
        bias: (num_features,), zeros; or None.
        running_mean: (num_features,), zeros at first; with track_running_stats.
        running_var: (num_features,), the unbiased variance, ones at first; with it, too.

    Raises:
        ValueError: num_features is not positive; later, x has another shape, or statistics are to
            be kept of one value.

    Source:
        Ulyanov et al. 2016, https://arxiv.org/abs/1607.08022.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.InstanceNorm1d(1, eps=0.0)(tl.tensor([[[1.0, 3.0]]])).tolist()
        [[[-1.0, 1.0]]]
    """

    spatial = 1


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` for images: x has the shape (N, C, H, W).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.InstanceNorm2d(1, eps=0.0)(tl.tensor([[[[1.0, 3.0]]]])).tolist()
        [[[[-1.0, 1.0]]]]
    """

    spatial = 2


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` for volumes: x has the shape (N, C, D, H, W).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.InstanceNorm3d(1, eps=0.0)(tl.tensor([[[[[1.0, 3.0]]]]])).tolist()
        [[[[[-1.0, 1.0]]]]]
    """

    spatial = 3


class LocalResponseNorm(Functional):
    """`functional.local_response_norm`: x / (k + alpha mean(x^2 of neighbours))^beta.

    Args:
        size: how many channels are neighbours.
        alpha: what the mean is multiplied by.
        beta: the power.
        k: what is added to the mean.

    Source:
        Krizhevsky et al. 2012, section 3.3,
        https://papers.nips.cc/paper/4824-imagenet-classification-with-deep-convolutional-neural.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.LocalResponseNorm(1, alpha=3.75, beta=0.5)(tl.tensor([[[2.0]]])).item()
        0.5
    """

    call = staticmethod(F.local_response_norm)

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)

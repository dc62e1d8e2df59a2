"""Norms over groups of channels and over neighbours; those over axes are declared ops."""

from __future__ import annotations

from typing import Any

from ..imperative import ShapeError, Tensor, TensorLike
from .arguments import integer, named, number
from .arranging import as_tensor, expand_dims
from .generated import avg_pool2d, layer_norm, multiply_add, pad, pow, reshape, rsqrt, square

__all__ = ["group_norm", "instance_norm", "local_response_norm"]


def _per_channel(
    call: str,
    name: str,
    given: TensorLike | None,
    x: Any,
    default: float,
    channels: tuple[int, ...] = (-1,),
) -> Any:
    """A weight or bias that broadcasts along the channels of x, which have these dimensions."""
    if given is None:
        return default
    value = as_tensor(given)
    if tuple(value.shape) != (x.shape[1],):
        raise ShapeError(
            "must have one element for each channel of x, its second dimension.",
            op=call,
            argument=name,
            got=f"{name}.shape={value.shape} and x.shape={x.shape}",
        )
    return reshape(value, (*channels, *([1] * (len(x.shape) - 2))))


@named
def group_norm(
    x: TensorLike,
    num_groups: int,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    eps: float = 1e-5,
) -> Tensor:
    """Groups of channels, each with all its positions, moved and scaled to mean 0 and variance 1.

    ``(x - mean) / sqrt(var + eps) * weight + bias``, with mean and var of each group.

    Args:
        x: (images, channels, ...), real floating-point.
        num_groups: into how many groups the channels fall.
        weight: (channels,), what the result is multiplied by; None is 1.
        bias: (channels,), what is added then; None is 0.
        eps: added to the variance.

    Raises:
        ShapeError: the groups do not divide the channels, or weight or bias has another shape.
        ParameterError: num_groups is not positive.

    Source:
        Wu and He 2018, https://arxiv.org/abs/1803.08494.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.group_norm(tl.tensor([[1.0, 3.0, 5.0, 9.0]]), 2, eps=0.0).tolist()
        [[-1.0, 1.0, -1.0, 1.0]]
    """
    x, groups = as_tensor(x), integer("group_norm", "num_groups", num_groups, least=1)
    if len(x.shape) < 2 or x.shape[1] % groups:
        raise ShapeError(
            f"must be (images, channels, ...) of channels that {groups} divides.",
            op="group_norm",
            argument="x",
            got=f"x.shape={x.shape}",
        )
    images, channels, *rest = x.shape
    group = (groups, channels // groups)
    scale = _per_channel("group_norm", "weight", weight, x, 1.0, group)
    shift = _per_channel("group_norm", "bias", bias, x, 0.0, group)
    apart = reshape(x, (images, *group, *rest))
    y = layer_norm(apart, scale, shift, axes=tuple(range(2, len(apart.shape))), eps=eps)
    return reshape(y, tuple(x.shape))


@named
def instance_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    running_mean: TensorLike | None = None,
    running_var: TensorLike | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each image moved and scaled to the mean 0 and the variance 1.

    ``(x - mean) / sqrt(var + eps) * weight + bias``, with mean and var of each channel.

    Args:
        x: (images, channels, *spatial), real floating-point.
        weight: (channels,), what the result is multiplied by; None is 1.
        bias: (channels,), what is added then; None is 0.
        running_mean: (channels,), to be used in place of the means of x; with running_var.
        running_var: (channels,), to be used in place of the variances of x.
        eps: added to the variance.

    Raises:
        ShapeError: x has no spatial dimensions, weight, bias, running_mean or
            running_var has another shape, or only one of the latter is given.

    Source:
        Ulyanov et al. 2016, https://arxiv.org/abs/1607.08022.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.instance_norm(tl.tensor([[[1.0, 3.0], [5.0, 9.0]]]), eps=0.0).tolist()
        [[[-1.0, 1.0], [-1.0, 1.0]]]
    """
    x = as_tensor(x)
    if len(x.shape) < 3:
        raise ShapeError(
            "must be (images, channels, *spatial).",
            op="instance_norm",
            argument="x",
            got=f"x.shape={x.shape}",
        )
    scale = _per_channel("instance_norm", "weight", weight, x, 1.0)
    shift = _per_channel("instance_norm", "bias", bias, x, 0.0)
    if running_mean is None and running_var is None:
        return layer_norm(x, scale, shift, axes=tuple(range(2, len(x.shape))), eps=eps)
    if running_mean is None or running_var is None:
        raise ShapeError(
            "running_mean and running_var must both be given, or none.", op="instance_norm"
        )
    mean = _per_channel("instance_norm", "running_mean", running_mean, x, 0.0)
    variance = _per_channel("instance_norm", "running_var", running_var, x, 1.0)
    return multiply_add((x - mean) * rsqrt(variance + eps), scale, shift)


@named
def local_response_norm(
    x: TensorLike, size: int, *, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Elements divided by a power of the mean of the squares in neighbouring channels.

    ``x / (k + alpha * mean(x ** 2)) ** beta``.

    Args:
        x: (images, channels, *spatial), real floating-point.
        size: how many channels are neighbours; beyond the first and the last one there are zeros.
        alpha: what the mean is multiplied by.
        beta: the power.
        k: what is added to the mean.

    Raises:
        ShapeError: x has no spatial dimensions.
        ParameterError: size is not positive.

    Source:
        Krizhevsky et al. 2012, section 3.3,
        https://papers.nips.cc/paper/4824-imagenet-classification-with-deep-convolutional-neural.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.local_response_norm(tl.tensor([[[2.0]]]), 1, alpha=3.75, beta=0.5).item()
        0.5
    """
    x, count = as_tensor(x), integer("local_response_norm", "size", size, least=1)
    factors = {"alpha": alpha, "beta": beta, "k": k}
    alpha, beta, k = (number("local_response_norm", *given) for given in factors.items())
    if len(x.shape) < 3:
        raise ShapeError(
            "must be (images, channels, *spatial).",
            op="local_response_norm",
            argument="x",
            got=f"x.shape={x.shape}",
        )
    if not x.size:
        return +x
    flat = reshape(square(x), (x.shape[0], x.shape[1], -1))
    wide = pad(flat, (0, 0, count // 2, (count - 1) // 2, 0, 0))
    means = avg_pool2d(expand_dims(wide, 1), kernel_size=(count, 1), stride=(1, 1))
    return x / pow(reshape(means, tuple(x.shape)) * alpha + k, beta)

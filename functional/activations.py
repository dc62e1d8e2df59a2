"""Activations that look at more than one element or at random numbers, and dropout of channels.

Those of one element are declared, in `elementwise_nn.yaml`.
"""

from __future__ import annotations

import math
from typing import Any

from ..imperative import ParameterError, ShapeError, Tensor, TensorLike
from .arguments import named, number
from .arranging import as_tensor, axis_of, moveaxis
from .batched_draws import drawn
from .creation import ones
from .generated import (
    argmax,
    astype,
    dropout,
    leaky_relu,
    one_hot,
    random_draw,
    reshape,
    sigmoid,
    softmax,
    where,
)
from .random.discrete import gumbel_noise

__all__ = [
    "alpha_dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "glu",
    "gumbel_softmax",
    "prelu",
    "rrelu",
    "softmin",
]

# What selu gives far below 0: the value that alpha dropout sets elements to.
_SELU_LIMIT = -1.0507009873554805 * 1.6732632423543772


@named
def glu(x: TensorLike, *, axis: int = -1) -> Tensor:
    """The first half of the channels, times the logistic function of the second.

    ``a * sigmoid(b)``, where a and b are the halves.

    Args:
        x: any shape, real floating-point.
        axis: the dimension to halve.

    Raises:
        ShapeError: the size of the dimension is odd.
        IndexRangeError: the axis is out of range.

    Source:
        Dauphin et al. 2016, https://arxiv.org/abs/1612.08083.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.glu(tl.tensor([1.0, 2.0, 0.0, 0.0])).tolist()
        [0.5, 1.0]
    """
    x = as_tensor(x)
    at = axis_of("glu", axis, len(x.shape))
    size = x.shape[at]
    if size % 2:
        raise ShapeError(
            f"the size of dimension {at} must be even.", op="glu", got=f"x.shape={x.shape}"
        )
    before = (slice(None),) * at
    first, second = (*before, slice(size // 2)), (*before, slice(size // 2, None))
    return x[first] * sigmoid(x[second])


@named
def prelu(x: TensorLike, weight: TensorLike) -> Tensor:
    """The number where it is positive, else a weight, which is learnt, times it.

    ``where(x > 0, x, weight * x)``.

    Args:
        x: (images, channels, ...), or any shape where there is one weight; floating-point.
        weight: one, or one for each channel.

    Raises:
        ShapeError: there is neither one weight nor one for each channel.

    Source:
        He et al. 2015, https://arxiv.org/abs/1502.01852.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.prelu(tl.tensor([[-1.0, -1.0]]), tl.tensor([0.5, 0.25])).tolist()
        [[-0.5, -0.25]]
    """
    x, weight = as_tensor(x), as_tensor(weight)
    if weight.size == 1:
        return leaky_relu(x, reshape(weight, ()))
    if len(weight.shape) != 1 or len(x.shape) < 2 or x.shape[1] != weight.shape[0]:
        raise ShapeError(
            "must have one element, or one for each channel of x, its second dimension.",
            op="prelu",
            argument="weight",
            got=f"weight.shape={weight.shape} and x.shape={x.shape}",
        )
    return leaky_relu(x, reshape(weight, (-1, *([1] * (len(x.shape) - 2)))))


@named
def rrelu(
    x: TensorLike,
    *,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    seed: int = 0,
) -> Tensor:
    """The number where it is positive, else a random slope times it.

    ``where(x > 0, x, slope * x)``.

    Args:
        x: any shape, real floating-point.
        lower: the least slope.
        upper: the greatest slope.
        training: draw a slope for each element; else all are (lower + upper) / 2.
        seed: decides, with an element's number, what its slope is.

    Raises:
        ParameterError: lower is greater than upper.

    Source:
        Xu et al. 2015, https://arxiv.org/abs/1505.00853.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.rrelu(tl.tensor([-1.0, 2.0]), lower=0.25, upper=0.75).tolist()
        [-0.5, 2.0]
    """
    x = as_tensor(x)
    lower, upper = number("rrelu", "lower", lower), number("rrelu", "upper", upper)
    if not lower <= upper:
        raise ParameterError(
            "must not be greater than upper.",
            op="rrelu",
            argument="lower",
            got=f"lower={lower}, upper={upper}",
        )
    if not training:
        return leaky_relu(x, (lower + upper) / 2)
    share = drawn(random_draw, tuple(x.shape), dtype="float64", key=seed)
    return leaky_relu(x, astype(share * (upper - lower) + lower, dtype=x.dtype))


@named
def gumbel_softmax(
    logits: TensorLike, *, tau: float = 1.0, hard: bool = False, seed: int = 0, axis: int = -1
) -> Tensor:
    """A random choice among categories that gradients flow through: softmax((logits + g) / tau).

    g is Gumbel noise, whose greatest sum with the logits is a choice by their softmax.

    Args:
        logits: any shape, real floating-point.
        tau: the temperature; the lower it is, the nearer to a choice.
        hard: give the choice itself, 0 or 1, with the gradient of the softmax.
        seed: decides the noise.
        axis: the axis that runs through the categories.

    Raises:
        ParameterError: tau is not positive.
        IndexRangeError: the axis is out of range.
        ShapeError: there is no category.

    Source:
        Jang et al. 2016, https://arxiv.org/abs/1611.01144; Maddison et al. 2016,
        https://arxiv.org/abs/1611.00712.

    Example:
        >>> import tensorlike as tl
        >>> logits = tl.tensor([-float("inf"), 0.0])
        >>> tl.functional.gumbel_softmax(logits, hard=True).tolist()
        [0.0, 1.0]
    """
    logits = as_tensor(logits)
    at = axis_of("gumbel_softmax", axis, len(logits.shape))
    tau = number("gumbel_softmax", "tau", tau, above=0.0)
    if not logits.shape[at]:
        raise ShapeError(
            "there must be a category.", op="gumbel_softmax", got=f"logits.shape={logits.shape}"
        )
    noise = gumbel_noise(tuple(logits.shape), key=seed)
    soft = softmax((logits + astype(noise, dtype=logits.dtype)) / tau, axis=at)
    if not hard:
        return soft
    chosen = moveaxis(one_hot(argmax(soft, axis=at), soft.shape[at]), -1, at)
    # The difference is 0, and has the gradient of soft.
    return astype(chosen, dtype=soft.dtype) + (soft - soft.detach())


@named
def softmin(x: TensorLike, *, axis: int = -1) -> Tensor:
    """The softmax of the negative.

    ``exp(-x) / sum(exp(-x))``.

    Args:
        x: any shape, real floating-point.
        axis: the axis that sums to 1.

    Raises:
        IndexRangeError: the axis is out of range.

    Source:
        PyTorch, ``torch.nn.functional.softmin``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.softmin(tl.tensor([1.0, 1.0])).tolist()
        [0.5, 0.5]
    """
    return softmax(-as_tensor(x), axis=axis)


def _dropped(call: str, x: Any, kept_dims: int, p: float, seed: int) -> Any:
    """x times a mask whose last `kept_dims` dimensions are alike."""
    if len(x.shape) < kept_dims + 1:
        raise ShapeError(
            f"must be (..., channels) and {kept_dims} spatial dimensions.",
            op=call,
            argument="x",
            got=f"x.shape={x.shape}",
        )
    lead = tuple(x.shape[: len(x.shape) - kept_dims])
    mask = dropout(ones((*lead, *([1] * kept_dims)), dtype=x.dtype), p=p, seed=seed)
    # Not a product where an element is dropped: it may be infinite.
    return where(mask == 0, 0, x * mask)


@named
def dropout1d(x: TensorLike, *, p: float = 0.5, seed: int = 0) -> Tensor:
    """Whole channels set to 0 with probability p, the others divided by 1 - p.

    ``x * mask / (1 - p)``, with one element of the mask for each channel.

    Args:
        x: (..., channels, length), real floating-point.
        p: the share of channels that become 0, in [0, 1].
        seed: decides, with a channel's number, what becomes of it.

    Raises:
        ShapeError: x has fewer than two dimensions.
        ParameterError: p is not in [0, 1].

    Source:
        Tompson et al. 2014, https://arxiv.org/abs/1411.4280.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.dropout1d(tl.ones((2, 3)), p=0.0).tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    return _dropped("dropout1d", as_tensor(x), 1, p, seed)


@named
def dropout2d(x: TensorLike, *, p: float = 0.5, seed: int = 0) -> Tensor:
    """Whole channels set to 0 with probability p, the others divided by 1 - p.

    ``x * mask / (1 - p)``, with one element of the mask for each channel.

    Args:
        x: (..., channels, height, width), real floating-point.
        p: the share of channels that become 0, in [0, 1].
        seed: decides, with a channel's number, what becomes of it.

    Raises:
        ShapeError: x has fewer than three dimensions.
        ParameterError: p is not in [0, 1].

    Source:
        Tompson et al. 2014, https://arxiv.org/abs/1411.4280.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.dropout2d(tl.ones((1, 2, 2)), p=1.0).tolist()
        [[[0.0, 0.0], [0.0, 0.0]]]
    """
    return _dropped("dropout2d", as_tensor(x), 2, p, seed)


@named
def dropout3d(x: TensorLike, *, p: float = 0.5, seed: int = 0) -> Tensor:
    """Whole channels set to 0 with probability p, the others divided by 1 - p.

    ``x * mask / (1 - p)``, with one element of the mask for each channel.

    Args:
        x: (..., channels, depth, height, width), real floating-point.
        p: the share of channels that become 0, in [0, 1].
        seed: decides, with a channel's number, what becomes of it.

    Raises:
        ShapeError: x has fewer than four dimensions.
        ParameterError: p is not in [0, 1].

    Source:
        Tompson et al. 2014, https://arxiv.org/abs/1411.4280.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.dropout3d(tl.ones((1, 1, 1, 2)), p=1.0).tolist()
        [[[[0.0, 0.0]]]]
    """
    return _dropped("dropout3d", as_tensor(x), 3, p, seed)


def _alpha_dropped(call: str, x: Any, lead: int, p: float, seed: int) -> Any:
    p = number(call, "p", p, least=0.0, most=1.0)
    if p == 1.0:  # nothing is left whose variance could be given back
        return where(x == x, 0, 0 * x)
    shape = (*x.shape[:lead], *([1] * (len(x.shape) - lead)))
    is_kept = dropout(ones(shape, dtype=x.dtype), p=p, seed=seed) != 0
    # An affine map then gives the mean 0 and the variance 1 back.
    scale = 1 / math.sqrt((1 - p) * (1 + p * _SELU_LIMIT**2))
    return where(is_kept, x, _SELU_LIMIT) * scale - scale * p * _SELU_LIMIT


@named
def alpha_dropout(x: TensorLike, *, p: float = 0.5, seed: int = 0) -> Tensor:
    """Elements set to selu's limit with probability p, then moved to the same mean and variance.

    ``scale * where(kept, x, a) + shift`` with a = -1.7581, selu's limit.

    Args:
        x: any shape, real floating-point.
        p: the share of elements that are dropped, in [0, 1].
        seed: decides, with an element's number, what becomes of it.

    Raises:
        ParameterError: p is not in [0, 1].

    Source:
        Klambauer et al. 2017, https://arxiv.org/abs/1706.02515.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.alpha_dropout(tl.tensor([1.0, 2.0]), p=0.0).tolist()
        [1.0, 2.0]
    """
    x = as_tensor(x)
    return _alpha_dropped("alpha_dropout", x, len(x.shape), p, seed)


@named
def feature_alpha_dropout(x: TensorLike, *, p: float = 0.5, seed: int = 0) -> Tensor:
    """Alpha dropout of whole channels.

    Args:
        x: (images, channels, ...), real floating-point.
        p: the share of channels that are dropped, in [0, 1].
        seed: decides, with a channel's number, what becomes of it.

    Raises:
        ShapeError: x has fewer than two dimensions.
        ParameterError: p is not in [0, 1].

    Source:
        Klambauer et al. 2017, https://arxiv.org/abs/1706.02515.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.feature_alpha_dropout(tl.tensor([[1.0, 2.0]]), p=0.0).tolist()
        [[1.0, 2.0]]
    """
    x = as_tensor(x)
    if len(x.shape) < 2:
        raise ShapeError(
            "must be (images, channels, ...).",
            op="feature_alpha_dropout",
            argument="x",
            got=f"x.shape={x.shape}",
        )
    return _alpha_dropped("feature_alpha_dropout", x, 2, p, seed)

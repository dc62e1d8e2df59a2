"""Losses whose terms stand for one element each, and what reduces them.

The terms are declared scalar functions (`elementwise_loss.yaml`), so that each is one pass over
memory; the losses here add weights, and the reduction.
"""

from __future__ import annotations

import math
from typing import Any

from ..imperative import ParameterError, Tensor, TensorLike
from .arguments import named, number
from .arranging import as_tensor, expand_dims
from .generated import (
    absolute_error,
    binary_cross_entropy_error,
    broadcast_to,
    gaussian_nll_error,
    huber_error,
    kl_div_error,
    kl_div_log_error,
    logistic_error,
    mean,
    poisson_nll_error,
    poisson_nll_rate_error,
    smooth_l1_error,
    squared_error,
    stirling,
    sum,
)

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "gaussian_nll_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
]


def reduced(call: str, terms: Any, reduction: str) -> Tensor:
    """The terms of a loss as they are, their mean or their sum."""
    if reduction == "mean":
        return mean(terms)
    if reduction == "sum":
        return sum(terms)
    if reduction == "none":
        return terms
    raise ParameterError(
        "must be 'mean', 'sum' or 'none'.", op=call, argument="reduction", got=repr(reduction)
    )


def weighed(call: str, terms: Any, weight: TensorLike | None, reduction: str) -> Tensor:
    """The terms of a loss times a weight; their mean is divided by the sum of the weights."""
    if weight is None:
        return reduced(call, terms, reduction)
    factors = as_tensor(weight)
    y = reduced(call, terms * factors, "sum" if reduction == "mean" else reduction)
    return y / sum(broadcast_to(factors, terms.shape)) if reduction == "mean" else y


def weighted(terms: Any, weight: TensorLike | None) -> Any:
    """The terms times a weight; None is 1."""
    return terms if weight is None else terms * as_tensor(weight)


@named
def mse_loss(
    x: TensorLike, target: TensorLike, *, reduction: str = "mean", weight: TensorLike | None = None
) -> Tensor:
    """The mean of the squared differences.

    ``mean((x - target) ** 2)``.

    Args:
        x: any shape, real floating-point.
        target: a shape that broadcasts with x.
        reduction: "mean", "sum", or "none" for a loss of each element.
        weight: what each term is multiplied by, a shape that broadcasts with the terms; the mean is
            divided by the sum of the weights. None is 1.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.mse_loss``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.mse_loss(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0])).item()
        2.0
    """
    return weighed("mse_loss", squared_error(x, target), weight, reduction)


@named
def l1_loss(
    x: TensorLike, target: TensorLike, *, reduction: str = "mean", weight: TensorLike | None = None
) -> Tensor:
    """The mean of the sizes of the differences.

    ``mean(abs(x - target))``.

    Args:
        x: any shape, real floating-point.
        target: a shape that broadcasts with x.
        reduction: "mean", "sum", or "none" for a loss of each element.
        weight: what each term is multiplied by, a shape that broadcasts with the terms; the mean is
            divided by the sum of the weights. None is 1.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.l1_loss``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.l1_loss(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0])).item()
        1.0
    """
    return weighed("l1_loss", absolute_error(x, target), weight, reduction)


@named
def smooth_l1_loss(
    x: TensorLike, target: TensorLike, *, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """The mean of the sizes of the differences, with a parabola below beta.

    ``mean(where(d < beta, d ** 2 / (2 * beta), d - beta / 2))`` with d = abs(x - target).

    Args:
        x: any shape, real floating-point.
        target: a shape that broadcasts with x.
        reduction: "mean", "sum", or "none" for a loss of each element.
        beta: where the parabola becomes a straight line of slope 1; 0 gives `l1_loss`.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: beta is negative, or reduction is another word.

    Source:
        Girshick 2015, https://arxiv.org/abs/1504.08083.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.smooth_l1_loss(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0])).item()
        0.75
    """
    beta = number("smooth_l1_loss", "beta", beta, least=0.0)
    return reduced("smooth_l1_loss", smooth_l1_error(x, target, beta), reduction)


@named
def huber_loss(
    x: TensorLike,
    target: TensorLike,
    *,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: TensorLike | None = None,
) -> Tensor:
    """The mean of half the squared differences, which go on as straight lines beyond delta.

    ``mean(where(d <= delta, d ** 2 / 2, delta * (d - delta / 2)))`` with d = abs(x - target).

    Args:
        x: any shape, real floating-point.
        target: a shape that broadcasts with x.
        reduction: "mean", "sum", or "none" for a loss of each element.
        delta: where the parabola becomes a straight line.
        weight: what each term is multiplied by, a shape that broadcasts with the terms; None is 1.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: delta is not positive, or reduction is another word.

    Source:
        Huber 1964, https://doi.org/10.1214/aoms/1177703732.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.huber_loss(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0])).item()
        0.75
    """
    delta = number("huber_loss", "delta", delta, above=0.0)
    return reduced("huber_loss", weighted(huber_error(x, target, delta), weight), reduction)


@named
def binary_cross_entropy(
    x: TensorLike,
    target: TensorLike,
    weight: TensorLike | None = None,
    *,
    reduction: str = "mean",
) -> Tensor:
    """The mean of minus the logarithms of the probabilities of targets of 0 or 1.

    ``-mean(target * log(x) + (1 - target) * log(1 - x))``.

    Args:
        x: probabilities, any shape; logarithms end at -100.
        target: the probability that is wished, a shape that broadcasts with x.
        weight: of each element; None is 1.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.binary_cross_entropy``.

    Example:
        >>> import tensorlike as tl
        >>> F = tl.functional
        >>> round(F.binary_cross_entropy(tl.tensor([0.5, 1.0]), tl.tensor([1.0, 1.0])).item(), 4)
        0.3466
    """
    terms = binary_cross_entropy_error(x, target)
    terms = weighted(terms, weight)
    return reduced("binary_cross_entropy", terms, reduction)


@named
def binary_cross_entropy_with_logits(
    x: TensorLike,
    target: TensorLike,
    weight: TensorLike | None = None,
    pos_weight: TensorLike | None = None,
    *,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy of sigmoid(x), which neither overflows nor underflows.

    ``-mean(pos_weight * target * log(sigmoid(x)) + (1 - target) * log(sigmoid(-x)))``.

    Args:
        x: any shape, real floating-point.
        target: the probability that is wished, a shape that broadcasts with x.
        weight: of each element; None is 1.
        pos_weight: how much a target of 1 counts, where a target of 0 counts 1.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.binary_cross_entropy_with_logits``.

    Example:
        >>> import tensorlike as tl
        >>> F = tl.functional
        >>> round(F.binary_cross_entropy_with_logits(tl.tensor([0.0]), tl.tensor([1.0])).item(), 4)
        0.6931
    """
    call = "binary_cross_entropy_with_logits"
    more = () if pos_weight is None else (pos_weight,)
    terms = logistic_error(x, target, *more)
    return reduced(call, weighted(terms, weight), reduction)


@named
def kl_div(
    x: TensorLike, target: TensorLike, *, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """The Kullback-Leibler divergence of probabilities from those whose logarithms are given.

    ``sum(target * (log(target) - x))``.

    Args:
        x: logarithms of probabilities, any shape.
        target: probabilities, a shape that broadcasts with x.
        reduction: "batchmean" divides the sum by the size of the first dimension, and is the
            divergence; "mean" divides by the number of elements; "sum"; or "none".
        log_target: whether the target is given as logarithms too.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        Kullback and Leibler 1951, https://doi.org/10.1214/aoms/1177729694.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([[0.5, 0.5]]), tl.tensor([[0.25, 0.75]])
        >>> round(tl.functional.kl_div(tl.log(x), target, reduction="batchmean").item(), 4)
        0.1308
    """
    terms = kl_div_log_error(x, target) if log_target else kl_div_error(x, target)
    if reduction == "batchmean":
        return sum(terms) / (terms.shape[0] if terms.shape else 1)
    if reduction not in ("mean", "sum", "none"):
        raise ParameterError(
            "must be 'batchmean', 'mean', 'sum' or 'none'.",
            op="kl_div",
            argument="reduction",
            got=repr(reduction),
        )
    return reduced("kl_div", terms, reduction)


@named
def poisson_nll_loss(
    x: TensorLike,
    target: TensorLike,
    *,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Minus the logarithms of the probabilities of counts.

    ``mean(exp(x) - target * x)``.

    Args:
        x: the logarithms of the counts' means, any shape.
        target: counts, a shape that broadcasts with x.
        log_input: whether x holds logarithms; else it holds the means.
        full: add what does not depend on x, by Stirling's approximation.
        eps: added to means before their logarithm is taken.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.poisson_nll_loss``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.poisson_nll_loss(tl.tensor([0.0, 0.0]), tl.tensor([1.0, 2.0])).item()
        1.0
    """
    terms = poisson_nll_error(x, target) if log_input else poisson_nll_rate_error(x, target, eps)
    return reduced("poisson_nll_loss", terms + stirling(target) if full else terms, reduction)


@named
def gaussian_nll_loss(
    x: TensorLike,
    target: TensorLike,
    var: TensorLike,
    *,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the logarithms of normal densities.

    ``mean(log(var) + (x - target) ** 2 / var) / 2``.

    Args:
        x: the means, any shape.
        target: a shape that broadcasts with x.
        var: the variances, a shape that broadcasts with x; or one for each row, of the shape of x
            without its last dimension, which comes first where it is both.
        full: add the constant, half the logarithm of 2 pi.
        eps: the least variance.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: eps is not positive, or reduction is another word.

    Source:
        Nix and Weigend 1994, https://doi.org/10.1109/ICNN.1994.374138.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.gaussian_nll_loss(tl.tensor([1.0]), tl.tensor([3.0]), 1.0).item()
        2.0
    """
    eps = number("gaussian_nll_loss", "eps", eps, above=0.0)
    x, var = as_tensor(x), as_tensor(var)
    if len(var.shape) and tuple(var.shape) == tuple(x.shape[:-1]):
        var = expand_dims(var, -1)
    terms = gaussian_nll_error(x, target, var, eps)
    constant = 0.5 * math.log(2 * math.pi)
    return reduced("gaussian_nll_loss", terms + constant if full else terms, reduction)

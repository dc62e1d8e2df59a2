"""Losses of class numbers and class probabilities.

The plain case of cross entropy is one fused op; weights, smoothing and soft targets go through
`log_softmax`.
"""

from __future__ import annotations

from typing import Any

from ..imperative import DTypeError, ParameterError, ShapeError, Tensor, TensorLike, isdtype
from ..ops import CrossEntropy
from .arguments import integer, makes, named, number, one_op_on
from .arranging import as_tensor, axis_of, expand_dims, moveaxis
from .generated import (
    cross_entropy_mean,
    cross_entropy_rows,
    full,
    log_softmax,
    not_equal,
    sum,
    take_along_axis,
    where,
)
from .losses import reduced, weighted
from .picking import take

__all__ = ["cross_entropy", "nll_loss"]


def check_integers(call: str, labels: Any) -> None:
    """That class numbers are integers."""
    if not isdtype(labels.dtype, "integral"):
        raise DTypeError(
            "must be integer class numbers.",
            op=call,
            argument="labels",
            got=labels.dtype.name,
            fix="cast them: labels.astype(int64)",
        )


def check_labels(call: str, x: Any, labels: Any) -> None:
    """That there is an integer label for each row of x along its last dimension."""
    if not x.shape or tuple(labels.shape) != tuple(x.shape[:-1]):
        raise ShapeError(
            "must have the shape of x without the classes.",
            op=call,
            argument="labels",
            got=f"labels.shape={labels.shape} and x.shape={x.shape}",
        )
    check_integers(call, labels)


def checked_weight(call: str, weight: TensorLike | None, x: Any) -> Any:
    """The weights of the classes of x, or None."""
    if weight is None:
        return None
    weight, classes = as_tensor(weight), x.shape[-1]
    if tuple(weight.shape) != (classes,):
        raise ShapeError(
            f"must have one element for each of {classes} classes.",
            op=call,
            argument="weight",
            got=f"weight.shape={weight.shape}",
        )
    return weight


@one_op_on(2)
def cross_entropy(
    logits: TensorLike,
    labels: TensorLike,
    weight: TensorLike | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """Minus the logarithm of the softmax at the label.

    ``-log(exp(logits[label]) / sum(exp(logits)))``.

    Args:
        logits: (..., classes), real floating-point.
        labels: class numbers of shape (...), or probabilities of the shape of logits.
        weight: (classes,), how much each class counts; None is 1.
        ignore_index: the label of rows that do not count.
        reduction: "mean" divides the sum by the weights of the labels (by the number of rows where
            labels are probabilities); "sum"; or "none" for a loss of each row.
        label_smoothing: the share of each label that is spread over all classes, in [0, 1].
        axis: the dimension of the classes; 1 for images (images, classes, height, width).

    Raises:
        ShapeError: labels do not have the shape of logits without the classes.
        IndexRangeError: a label is no class.
        DTypeError: labels are boolean.
        ParameterError: label_smoothing is not in [0, 1], reduction is another word, or a class is
            ignored where labels are probabilities.

    Source:
        Smoothing: Szegedy et al. 2015, https://arxiv.org/abs/1512.00567.

    Example:
        >>> import tensorlike as tl
        >>> F = tl.functional
        >>> logits = tl.tensor([[0.0, 0.0], [0.0, 2.0]])
        >>> round(F.cross_entropy(logits, tl.tensor([0, 1])).item(), 4)
        0.41
        >>> round(F.cross_entropy(logits, tl.tensor([0, -100])).item(), 4)
        0.6931
    """
    logits, labels = as_tensor(logits), as_tensor(labels)
    smoothing = number("cross_entropy", "label_smoothing", label_smoothing, least=0.0, most=1.0)
    # Numbers of one dimension less are class numbers in a wrong dtype, and refused as such.
    are_soft = isdtype(labels.dtype, "real floating") and len(labels.shape) >= len(logits.shape)
    if are_soft and integer("cross_entropy", "ignore_index", ignore_index) >= 0:
        raise ParameterError(
            "must be left out where labels are probabilities, none of which is a class.",
            op="cross_entropy",
            argument="ignore_index",
            got=str(ignore_index),
        )
    if axis != -1:
        at = axis_of("cross_entropy", axis, len(logits.shape))
        logits = moveaxis(logits, at, -1)
        labels = moveaxis(labels, at, -1) if are_soft else labels
    if not are_soft and weight is None and smoothing == 0.0:
        if reduction == "mean":
            if axis == -1 and len(labels.shape) < len(logits.shape):  # whatever dtype they have
                return makes(CrossEntropy(ignore_index=ignore_index))
            return cross_entropy_mean(logits, labels, ignore_index=ignore_index)
        rows = cross_entropy_rows(logits, labels, ignore_index=ignore_index)
        return reduced("cross_entropy", rows, reduction)
    logp = log_softmax(logits, axis=-1)
    if are_soft:
        return _soft(logp, labels, weight, reduction, smoothing)
    return _hard("cross_entropy", logp, labels, weight, ignore_index, reduction, smoothing)


def _soft(logp: Any, labels: Any, weight: Any, reduction: str, smoothing: float) -> Tensor:
    if tuple(labels.shape) != tuple(logp.shape):
        raise ShapeError(
            "must have the shape of logits.",
            op="cross_entropy",
            argument="probabilities",
            got=f"labels.shape={labels.shape} and logits.shape={logp.shape}",
        )
    classes = logp.shape[-1]
    if smoothing:
        labels = labels * (1 - smoothing) + smoothing / classes
    weight = checked_weight("cross_entropy", weight, logp)
    terms = sum(weighted(logp * labels, weight), axis=-1)
    return reduced("cross_entropy", -terms, reduction)


def _hard(
    call: str,
    logp: Any,
    labels: Any,
    weight: Any,
    ignore_index: int,
    reduction: str,
    smoothing: float = 0.0,
) -> Tensor:
    check_labels(call, logp, labels)
    weight = checked_weight(call, weight, logp)
    ignore_index = integer(call, "ignore_index", ignore_index)
    is_counted = not_equal(labels, full((), ignore_index))
    place = where(is_counted, labels, 0)
    each = 1 if weight is None else take(weight, place)
    each = where(is_counted, each, full((), 0, dtype=logp.dtype))
    found = take_along_axis(logp, expand_dims(place, -1), axis=-1)[..., 0]
    # What isn't counted may be infinite, and is not to become NaN by a product with 0.
    rows = -where(is_counted, found, 0) * each
    if smoothing:
        spread = sum(weighted(logp, weight), axis=-1)
        spread = -where(is_counted, spread, 0)
        rows = rows * (1 - smoothing) + spread * (smoothing / logp.shape[-1])
    if reduction == "mean":
        return sum(rows) / sum(each)
    return reduced(call, rows, reduction)


@named
def nll_loss(
    x: TensorLike,
    labels: TensorLike,
    weight: TensorLike | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    axis: int = -1,
) -> Tensor:
    """Minus the logarithms of probabilities at labels.

    ``-x[label] * weight[label]``.

    Args:
        x: (..., classes), logarithms of probabilities, as log_softmax gives them.
        labels: class numbers of shape (...).
        weight: (classes,), how much each class counts; None is 1.
        ignore_index: the label of rows that do not count.
        reduction: "mean" divides the sum by the weights of the labels; "sum"; or "none" for a loss
            of each row.
        axis: the dimension of the classes; 1 for images (images, classes, height, width).

    Raises:
        ShapeError: labels do not have the shape of x without the classes.
        IndexRangeError: a label is no class.
        DTypeError: labels are not integer.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.nll_loss``.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[-0.5, -1.0], [-2.0, -0.25]])
        >>> tl.functional.nll_loss(x, tl.tensor([0, 1])).item()
        0.375
    """
    x, labels = as_tensor(x), as_tensor(labels)
    if axis != -1:
        x = moveaxis(x, axis_of("nll_loss", axis, len(x.shape)), -1)
    return _hard("nll_loss", x, labels, weight, ignore_index, reduction)

"""Connectionist temporal classification: the loss of label sequences without an alignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..imperative import DTypeError, IndexRangeError, ShapeError, Tensor, TensorLike
from ..imperative.arrays import steady
from .arguments import integer, named
from .arranging import as_tensor
from .generated import ctc, isinf, mean, where
from .losses import reduced

__all__ = ["ctc_loss"]


@named
def ctc_loss(
    log_probs: TensorLike,
    targets: TensorLike,
    input_lengths: TensorLike,
    target_lengths: TensorLike,
    *,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithms of the probabilities of label sequences, summed over all alignments.

    ``-log(sum(prod(p[t, path[t]])))`` over all paths that become the labels when equal neighbours
    are merged and then blanks left out.

    Args:
        log_probs: (steps, sequences, classes), logarithms of probabilities, as log_softmax gives
            them.
        targets: labels, (sequences, longest), or those of all sequences one after the other.
        input_lengths: (sequences,), how many steps of each sequence count.
        target_lengths: (sequences,), how many labels each sequence has.
        blank: the class that stands for no label.
        reduction: "mean" divides each loss by its number of labels first; "sum"; or "none" for a
            loss of each sequence.
        zero_infinity: count labels that have no alignment, and their gradients, as 0.

    Raises:
        ShapeError: shapes or lengths do not fit each other.
        IndexRangeError: a label or the blank is no class.
        DTypeError: labels or lengths are not integer.
        ParameterError: reduction is another word.

    Source:
        Graves et al. 2006, https://doi.org/10.1145/1143844.1143891.

    Example:
        >>> import tensorlike as tl
        >>> F = tl.functional
        >>> even = F.log_softmax(tl.zeros((2, 1, 2)))
        >>> round(F.ctc_loss(even, [[1]], [2], [1]).item(), 4)
        0.2877
    """
    log_probs = as_tensor(log_probs)
    if len(log_probs.shape) != 3:
        raise ShapeError(
            "ctc_loss: log_probs must be (steps, sequences, classes); "
            f"got log_probs.shape={log_probs.shape}."
        )
    steps, count, classes = log_probs.shape
    blank = integer("ctc_loss", "blank", blank)
    if not 0 <= blank < classes:
        raise IndexRangeError(f"ctc_loss: blank must be in [0, {classes - 1}]; got {blank}.")
    inputs = _lengths("input_lengths", input_lengths, count, steps)
    labels, lengths = _labels(targets, target_lengths, count, classes)
    given = as_tensor(labels), as_tensor(inputs), as_tensor(lengths)
    losses = ctc(log_probs, *given, blank=blank)
    if zero_infinity:
        losses = where(isinf(losses), 0, losses)
    if reduction == "mean":
        return mean(losses / np.maximum(lengths, 1))
    return reduced("ctc_loss", losses, reduction)


def _integers(name: str, given: TensorLike) -> Any:
    values = np.asarray(steady(given))
    if values.dtype.kind not in "iu" and values.size > 0:
        raise DTypeError(f"ctc_loss: {name} must be integer; got {values.dtype}.")
    return values.astype(np.int64)


def _lengths(name: str, given: TensorLike, count: int, most: int) -> Any:
    values = _integers(name, given)
    if values.shape != (count,):
        raise ShapeError(
            f"ctc_loss: {name} must have one element for each of {count} sequences; "
            f"got {name}.shape={values.shape}."
        )
    if ((values < 0) | (values > most)).any():
        raise ShapeError(f"ctc_loss: {name} must be in [0, {most}]; got {values.tolist()}.")
    return values


def _labels(targets: TensorLike, lengths: TensorLike, count: int, classes: int) -> tuple[Any, Any]:
    """The labels as rows, and how many of each row count; the rest of a row is class 0."""
    labels = _integers("targets", targets)
    if labels.ndim == 1 and not (count == 1 and labels.size == 0):
        sizes = _lengths("target_lengths", lengths, count, labels.size)
        if sizes.sum() != labels.size:
            raise ShapeError(
                "ctc_loss: target_lengths must add up to the number of targets; "
                f"got {sizes.sum()} and {labels.size}."
            )
        ends = np.cumsum(sizes)
        rows = np.zeros((count, int(sizes.max(initial=0))), np.int64)
        for row, size, end in zip(rows, sizes, ends, strict=True):
            row[:size] = labels[end - size : end]
        labels = rows
    if labels.ndim != 2 or labels.shape[0] != count:
        raise ShapeError(
            f"ctc_loss: targets must be ({count}, longest) or of one dimension; "
            f"got targets.shape={labels.shape}."
        )
    sizes = _lengths("target_lengths", lengths, count, labels.shape[1])
    counted = np.arange(labels.shape[1]) < sizes[:, None]
    wrong = counted & ((labels < 0) | (labels >= classes))
    if wrong.any():
        raise IndexRangeError(
            f"ctc_loss: targets must be in [0, {classes - 1}]; got {labels[wrong][0]}."
        )
    return np.where(counted, labels, 0), sizes

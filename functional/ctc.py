"""Connectionist temporal classification: the loss of label sequences without an alignment."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..imperative import DTypeError, IndexRangeError, ShapeError, Tensor, TensorLike, isdtype
from .arguments import elements, integer, named
from .arranging import as_tensor
from .generated import astype, ctc, isinf, maximum, mean, where
from .losses import reduced
from .picking import take

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
            "must be (steps, sequences, classes).",
            op="ctc_loss",
            argument="log_probs",
            got=f"log_probs.shape={log_probs.shape}",
        )
    steps, count, classes = log_probs.shape
    blank = integer("ctc_loss", "blank", blank)
    if not 0 <= blank < classes:
        raise IndexRangeError(
            f"must be in [0, {classes - 1}].", op="ctc_loss", argument="blank", got=f"{blank}"
        )
    inputs = _lengths("input_lengths", input_lengths, count, steps)
    labels, lengths = _labels(targets, target_lengths, count, classes)
    losses = ctc(log_probs, labels, inputs, lengths, blank=blank)
    if zero_infinity:
        losses = where(isinf(losses), 0, losses)
    if reduction == "mean":
        return mean(losses / maximum(lengths, 1))
    return reduced("ctc_loss", losses, reduction)


def _integers(name: str, given: TensorLike) -> Any:
    """A tensor of int64."""
    x = as_tensor(given)
    if not isdtype(x.dtype, "integral") and math.prod(x.shape) > 0:
        raise DTypeError("must be integer.", op="ctc_loss", argument=name, got=x.dtype.name)
    return astype(x, dtype="int64")


def _lengths(name: str, given: TensorLike, count: int, most: int) -> Any:
    x = _integers(name, given)
    if tuple(x.shape) != (count,):
        raise ShapeError(
            f"must have one element for each of {count} sequences.",
            op="ctc_loss",
            argument=name,
            got=f"{name}.shape={tuple(x.shape)}",
        )
    values = elements(x)
    if values is not None and ((values < 0) | (values > most)).any():
        raise ShapeError(
            f"must be in [0, {most}].", op="ctc_loss", argument=name, got=f"{values.tolist()}"
        )
    return x


def _labels(targets: TensorLike, lengths: TensorLike, count: int, classes: int) -> tuple[Any, Any]:
    """The labels as rows, and how many of each row count."""
    labels = _integers("targets", targets)
    if len(labels.shape) == 1 and not (count == 1 and labels.shape[0] == 0):
        labels = _as_rows(labels, lengths, count)
    if len(labels.shape) != 2 or labels.shape[0] != count:
        raise ShapeError(
            f"must be ({count}, longest) or of one dimension.",
            op="ctc_loss",
            argument="targets",
            got=f"targets.shape={tuple(labels.shape)}",
        )
    sizes = _lengths("target_lengths", lengths, count, labels.shape[1])
    known, counts = elements(labels), elements(sizes)
    if known is not None and counts is not None:
        counted = np.arange(known.shape[1]) < counts[:, None]
        wrong = counted & ((known < 0) | (known >= classes))
        if wrong.any():
            raise IndexRangeError(
                f"must be in [0, {classes - 1}].",
                op="ctc_loss",
                argument="targets",
                got=f"{known[wrong][0]}",
            )
    return labels, sizes


def _as_rows(labels: Any, lengths: TensorLike, count: int) -> Any:
    """Labels one after the other as a row for each sequence; how long these are must be known."""
    sizes = np.asarray(_lengths("target_lengths", lengths, count, labels.shape[0]))
    if sizes.sum() != labels.shape[0]:
        raise ShapeError(
            "must add up to the number of targets.",
            op="ctc_loss",
            argument="target_lengths",
            got=f"{sizes.sum()} and {labels.shape[0]}",
        )
    places = np.zeros((count, int(sizes.max(initial=0))), np.int64)
    first = 0
    for row, size in zip(places, sizes, strict=True):
        row[:size] = np.arange(first, first + size)
        first += size
    return take(labels, places, axis=0) if labels.shape[0] else as_tensor(places)

"""NumPy's words for alignments of labels with steps: part of the oracle in `reference`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used


def _reached(log_probs: Array, labels: Array, blank: int) -> Array:
    """The logarithms of the probabilities of the states after each step, for one sequence."""
    import numpy as np

    path = np.full(2 * len(labels) + 1, blank)
    path[1::2] = labels
    reached = np.full((len(log_probs), len(path)), -np.inf)
    reached[0, :2] = log_probs[0, path[:2]]
    for t in range(1, len(log_probs)):
        for s, label in enumerate(path):
            ways = [reached[t - 1, s]]
            ways += [reached[t - 1, s - 1]] if s > 0 else []
            if s > 1 and label not in (blank, path[s - 2]):
                ways.append(reached[t - 1, s - 2])
            reached[t, s] = np.logaddexp.reduce(ways) + log_probs[t, label]
    return reached


def _ctc(
    log_probs: Array, labels: Array, input_lengths: Array, target_lengths: Array, *, blank: int = 0
) -> Array:
    import numpy as np

    losses = np.empty(log_probs.shape[1], log_probs.dtype)
    for n, (steps, count) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        if steps == 0:
            losses[n] = 0 if count == 0 else np.inf
            continue
        reached = _reached(log_probs[:steps, n].astype(float), labels[n, :count], blank)
        losses[n] = -np.logaddexp.reduce(reached[-1, max(2 * count - 1, 0) :])
    return losses


def _ctc_grad(
    log_probs: Array,
    labels: Array,
    input_lengths: Array,
    target_lengths: Array,
    cotangent: Array,
    *,
    blank: int = 0,
) -> Array:
    """A class at a step by the paths through it: those up to there, and those from the end."""
    import numpy as np

    gradient = np.zeros_like(log_probs)
    losses = _ctc(log_probs, labels, input_lengths, target_lengths, blank=blank)
    for n, (steps, count) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        if steps == 0 or np.isinf(losses[n]):
            continue
        x, row = log_probs[:steps, n].astype(float), labels[n, :count]
        there = _reached(x, row, blank)
        back = _reached(x[::-1], row[::-1], blank)[::-1, ::-1]
        for s in range(2 * count + 1):
            label = blank if s % 2 == 0 else row[s // 2]
            share = np.exp(there[:, s] + back[:, s] - x[:, label] + losses[n])
            gradient[:steps, n, label] -= cotangent[n] * share
    return gradient


ALIGNMENT: Mapping[str, Callable[..., Any]] = {"CTC": _ctc, "CTCGrad": _ctc_grad}

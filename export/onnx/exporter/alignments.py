"""CTC in functional calls: a scan over the steps, of the probabilities of all beginnings."""

from __future__ import annotations

from typing import Any

from .... import functional as F
from ....imperative import Tensor, autograd
from ....imperative.levels import unwrapped

_NOTHING = -float("inf")


def ctc(op: Any, log_probs: Any, labels: Any, input_lengths: Any, target_lengths: Any) -> Any:
    """Minus the logarithm of the sum over alignments; blanks stand around all labels."""
    steps, sequences, classes = log_probs.shape
    labels = F.clip(
        F.astype(labels, "int64"), 0, classes - 1
    )  # what is behind the last does not count
    longest = labels.shape[1]
    blanks = F.full_like(labels, op.blank)
    pairs = F.reshape(F.stack([blanks, labels], axis=2), (sequences, 2 * longest))
    states = F.concat([pairs, F.full((sequences, 1), op.blank, dtype="int64")], axis=1)
    skips = (states != op.blank) & (states != _later(states, 2, -1))
    numbers = F.arange(2 * longest + 1)
    start = F.where(numbers == 0, 0.0, _NOTHING)
    alpha = F.broadcast_to(F.astype(start, log_probs.dtype), (sequences, 2 * longest + 1))
    lengths = F.astype(input_lengths, "int64")[:, None]

    def step(alpha: Any, place: Any) -> Any:
        number, row = place
        own = F.take_along_axis(row, states, axis=1)
        before = F.logaddexp(alpha, _later(alpha, 1, _NOTHING))
        skipped = F.where(skips, _later(alpha, 2, _NOTHING), _NOTHING)
        found = F.logaddexp(before, skipped) + own
        return F.where(number < lengths, found, alpha), number

    alpha = F.scan(step, alpha, (F.arange(steps), log_probs))[0]
    last = 2 * F.astype(target_lengths, "int64")[:, None]
    ends = [F.where(numbers == place, alpha, _NOTHING) for place in (last, last - 1)]
    return -F.logaddexp(*(F.max(end, axis=1) for end in ends))


def ctc_grad(op: Any, log_probs: Any, *others: Any) -> Any:
    """The gradient of that, by log_probs: a scan, as the gradient of one is."""
    *given, cotangent = others
    x = Tensor(unwrapped(log_probs))
    x.requires_grad = True
    (found,) = autograd.grad(ctc(op, x, *given), x, cotangent)
    return found


def _later(x: Any, count: int, value: Any) -> Any:
    """Rows moved to the right."""
    margin = F.full_like(x[:, :1], value)
    for _ in range(count):
        x = F.concat([margin, x[:, :-1]], axis=1)
    return x

"""Steps of optimisers, as the preview of the standard's training has them.

Each takes a rate, the number of the step, and then, of all tensors it moves, these, their gradients
and what it keeps, one kind after the other; it gives them in that order, without the gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..... import _C
from ..... import functional as F
from ..rule_table import rule


def _groups(op: str, xs: Sequence[Any], kinds: int) -> list[Any]:
    """For each tensor itself, its gradient and what is kept of it."""
    if not xs or len(xs) % kinds:
        raise _C.ArgumentError(
            f"must be {kinds} for each tensor that moves", op=op, argument="inputs",
            got=str(len(xs)),
        )  # fmt: skip
    count = len(xs) // kinds
    return [xs[i::count] for i in range(count)]


def _in_order(found: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    return tuple(value for kind in zip(*found, strict=True) for value in kind)


@rule
def adagrad(
    rate: Any, step: Any, xs: Sequence[Any], *, decay_factor: float, epsilon: float,
    norm_coefficient: float,
) -> Any:  # fmt: skip
    """Divided by the root of the sum of all squares so far."""
    rate = rate / (1 + F.astype(step, dtype=rate.dtype) * decay_factor)
    found = []
    for x, gradient, squares in _groups("Adagrad", xs, 3):
        own = gradient + x * norm_coefficient
        squares = squares + own * own
        found.append((x - rate * own / (F.sqrt(squares) + epsilon), squares))
    return _in_order(found)


@rule
def adam(
    rate: Any, step: Any, xs: Sequence[Any], *, alpha: float, beta: float, epsilon: float,
    norm_coefficient: float, norm_coefficient_post: float,
) -> Any:  # fmt: skip
    """Running means of gradients, divided by the root of those of their squares."""
    number = F.astype(step, dtype=rate.dtype)
    adjusted = rate * F.sqrt(1 - F.pow(beta, number)) / (1 - F.pow(alpha, number))
    rate = F.where(number > 0, adjusted, rate)
    found = []
    for x, gradient, means, squares in _groups("Adam", xs, 4):
        own = gradient + x * norm_coefficient
        means = means * alpha + own * (1 - alpha)
        squares = squares * beta + own * own * (1 - beta)
        moved = x - rate * means / (F.sqrt(squares) + epsilon)
        found.append((moved * (1 - norm_coefficient_post), means, squares))
    return _in_order(found)


@rule
def momentum(
    rate: Any, step: Any, xs: Sequence[Any], *, alpha: float, beta: float, mode: str,
    norm_coefficient: float,
) -> Any:  # fmt: skip
    """A running sum of gradients; of Nesterov's kind, one step ahead."""
    if mode not in ("standard", "nesterov"):
        raise _C.ArgumentError(
            "must be standard or nesterov", op="Momentum", argument="mode", got=repr(mode)
        )
    share = F.where(step > 0, beta, F.ones_like(rate))
    found = []
    for x, gradient, sums in _groups("Momentum", xs, 3):
        own = gradient + x * norm_coefficient
        sums = sums * alpha + own * share
        found.append((x - rate * (own + sums * alpha if mode == "nesterov" else sums), sums))
    return _in_order(found)

"""Interval arithmetic: bounds on all inputs between two others; unknown ops go by their body.
>>> network = tl.nn.Sequential(tl.nn.Linear(4, 8, seed=0), tl.functional.gelu)
>>> y = network(tl.Tensor(Interval(tl.zeros(4), tl.ones(4)))).detach().__wrapped__
>>> assert tl.all((y.low < network(tl.full(4, 0.5))) & (network(tl.full(4, 0.5)) < y.high))
>>> tl.nn.BatchNorm1d(2)(tl.Tensor(Interval(-tl.eye(2), tl.eye(2))))  # doctest: +ELLIPSIS
Traceback (most recent call last):
ArithmeticError: interval: low must be at most high; ...
"""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike import ops

RISING = "add maximum minimum positive exp expm1 log sqrt tanh sigmoid erf where sum mean max min"
MOVING = (ops.Reshape, ops.Transpose, ops.Broadcast, ops.Subtensor, ops.SetSubtensor, ops.Concat,
          ops.Stack, ops.Split, ops.Gather, ops.Pad, ops.Cast, ops.MaxPool, ops.Const)  # fmt: skip


class Interval(tl.TensorBase):
    """Everything between two tensors of the same shape; with slack, a little more."""

    def __init__(self, low: Any, high: Any, slack: Any = None) -> None:
        if slack is not None and low.dtype.kind == "floating":
            slack = slack * 8 * tl.finfo(low.dtype).eps + tl.finfo(low.dtype).smallest_normal
            low, high = low - slack, high + slack
        self.low, self.high = tl.Tensor(low), tl.Tensor(high)
        self.shape, self.dtype = self.low.shape, self.low.dtype
        if not tl.all(self.low <= self.high).item():
            raise ArithmeticError(f"interval: low must be at most high; got {low} and {high}")

    def lift(self, other: Any) -> Interval:
        return Interval(other, other)


@tl.apply.register
def apply_interval(op: ops.OpBase, *xs: Interval) -> Any:
    mode, lows, highs = getattr(op, "mode", ""), [x.low for x in xs], [x.high for x in xs]
    if isinstance(op, MOVING) or all(bool(tl.all(x.low == x.high)) for x in xs):
        return [Interval(*ends) for ends in zip(op(*lows), op(*highs), strict=True)]
    sizes = [tl.maximum(abs(x.low), abs(x.high)) for x in xs if x.dtype.kind != "bool"]
    if mode in ("negative", "reciprocal", "rsqrt", "erfc", "subtract"):  # fall with their last
        lows[-1], highs[-1] = highs[-1], lows[-1]
    elif mode in ("abs", "square") or (mode == "multiply" and xs[0] is xs[1]):
        lows, highs = [tl.maximum(tl.maximum(x.low, -x.high), 0.0) for x in xs], sizes
    elif mode in ("divide", "multiply_add"):
        factor = xs[1] if xs[2:] else ops.Elemwise(mode="reciprocal")(xs[1])[0]
        return sum(xs[2:], xs[0] * factor)
    elif mode == "multiply" or isinstance(op, (ops.MatMul, ops.Convolution)):  # middle and reach
        a, *others = [(x.low / 2 + x.high / 2, x.high / 2 - x.low / 2) for x in xs]
        mid = op(a[0], *(x for x, _ in others))[0]
        reach = op(abs(a[0]), *(dx for _, dx in others))[0] + op(a[1], sizes[1])[0]
        return Interval(mid - reach, mid + reach, op(*sizes)[0] * xs[1].size)
    elif mode not in RISING.split():
        return tl.apply.body(op, *xs)
    (low,), (high,), is_sum = op(*lows), op(*highs), mode in ("sum", "mean")
    return Interval(low, high, op(*sizes)[0] * 64 if is_sum else abs(low) + abs(high))

"""A FLOP and byte counter: what each op of a model costs, by kind of op and by the user's line.

A function of one element counts as one operation; what has a body costs what that costs. Of
attention and recurrences the products alone are counted. A whole training step is:

>>> network = tl.nn.Sequential(tl.nn.Linear(2, 3), tl.nn.BatchNorm1d(3))
>>> tl.sum(network(tl.Tensor(Counted(tl.ones((2, 2)), costs := {})))).backward()
>>> tl.optim.SGD(network.parameters(), lr=0.1).step()
>>> {"MatMul", "BatchNorm"} <= {op for op, _ in costs}
True
"""

from __future__ import annotations

from math import prod
from typing import Any

import tensorlike as tl
from tensorlike import ops

Costs = dict[tuple[str, str], list[int]]  # (op, line): how often, operations, bytes moved
FORMULAS = {  # of ops without a body, by the shapes of inputs and outputs; the others move elements
    ops.Elemwise: lambda op, *shapes: prod(shapes[-1]) * (op.mode != "positive"),
    ops.Reduce: lambda op, x, y: prod(x) - prod(y) * (op.mode != "mean"),
    ops.MatMul: lambda op, x, w, y: 2 * prod(y) * x[-1],
    ops.Convolution: lambda op, x, w, *by: prod(by[-1]) * (2 * prod(w[1:]) + len(by[:-1])),
    ops.ConvolutionTranspose: lambda op, x, w, *_: 2 * prod(x) * prod(w[1:]),
    ops.ConvolutionWeight: lambda op, x, dy, w: 2 * prod(dy) * prod(w[1:]),
    ops.Attention: lambda op, q, k, v, *_: 2 * prod(q[:-1]) * k[-2] * (q[-1] + v[-1]),
    ops.Recurrence: lambda op, x, w, *_: 2 * prod(x) * w[-1],
}


class Counted(tl.Carrier):
    """A value whose ops are priced; `costs` goes along with everything computed from it."""

    def __init__(self, value: Any, costs: Costs) -> None:
        super().__init__(value)
        self.costs = costs


@tl.apply.register
def apply_counted(op: ops.OpBase, *xs: Counted) -> tuple[Any, ...]:
    ys = tl.apply.super(op, *xs)
    entry = xs[0].costs.setdefault((type(op).__name__, tl.apply.line()), [0, 0, 0])
    moved = sum(x.size * x.dtype.itemsize for x in (*xs, *ys))
    for i, amount in enumerate((1, flops(op, xs, ys), moved)):
        entry[i] += amount
    return ys


def flops(op: ops.OpBase, xs: Any, ys: Any) -> int:
    of_body: Costs = {}
    try:  # the same tensor-like, on shapes alone
        tl.apply.body(op, *(Counted(tl.ShapeTensor(x.shape, x.dtype), of_body) for x in xs))
    except tl.DispatchError:
        formula = FORMULAS.get(type(op))
        return formula(op, *(x.shape for x in (*xs, *ys))) if formula else 0
    return sum(counted for _, counted, _ in of_body.values())

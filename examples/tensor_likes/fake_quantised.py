"""Fake quantisation: a network trains as if its matrix products were of 8-bit integers.

What goes into a product is rounded to one of 255 steps; gradients pass that as if it were not there
(straight through). The steps of a tensor reach to its largest element.

>>> network = tl.nn.Sequential(tl.nn.Linear(4, 8, seed=0), tl.tanh, tl.nn.Linear(8, 1, seed=1))
>>> rounded = network(tl.Tensor(Quantised(tl.ones((2, 4)))))
>>> 0 < tl.max(abs(rounded - network(tl.ones((2, 4))))).item() < 0.05
True
>>> tl.sum(rounded).backward()  # gradients of the network as it is, through the rounding
>>> norm = tl.nn.BatchNorm1d(4)
>>> tl.sum(network(norm(tl.Tensor(Quantised([[1.0, 2, 3, 4], [2.0, 0, 1, 5]]))))).backward()
>>> tl.optim.SGD([*norm.parameters(), *network.parameters()], lr=0.1).step()
"""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike import ops

PRODUCTS = (ops.MatMul, ops.Linear, ops.Convolution, ops.ConvolutionTranspose)
STEPS = 127


@tl.custom_vjp
def to_steps(x: Any) -> Any:
    """The nearest of the steps between the largest element and its negative."""
    step = tl.maximum(tl.max(abs(x)) / STEPS, tl.finfo(x.dtype).smallest_normal)
    return tl.round(x / step) * step


to_steps.defvjp(lambda x: (to_steps(x), None), lambda _, dy: (dy,))


class Quantised(tl.Carrier, above=tl.Tracer):
    """A value whose products are rounded; above what records, so that gradients are not."""


@tl.apply.register
def apply_quantised(op: ops.OpBase, *xs: Quantised) -> Any:
    factors = 3 if isinstance(op, ops.Attention) else 2 * isinstance(op, PRODUCTS)
    rounded = [x.around(to_steps(tl.Tensor(x.value)).__wrapped__) for x in xs[:factors]]
    return tl.apply.super(op, *rounded, *xs[factors:])

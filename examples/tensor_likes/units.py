"""Units of measure: adding metres to seconds is an error, which names the line that does it.
Products add the powers of base units; what has no rule here (`exp`, say) demands none.
>>> length, time = tl.Tensor(Measured([3.0, 8.0], m=1)), tl.Tensor(Measured([2.0, 4.0], s=1))
>>> (length / time).__wrapped__
Measured(RawTensor([1.5, 2. ], device='cpu'), m=1, s=-1)
>>> tl.sum((scale := tl.Parameter([1.0, 2.0])) * length).backward()
>>> tl.optim.SGD([scale], lr=0.1).step()  # a number minus metres  # doctest: +ELLIPSIS
Traceback (most recent call last):
TypeError: Elemwise(mode='subtract'): units must be equal; ...
"""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike import ops

EQUAL = "add subtract maximum minimum hypot where sum mean max min negative abs positive"
COMPARED = "equal not_equal less less_equal greater greater_equal argmax argmin isfinite"
POWERS = {"square": 2, "sumsq": 2, "sqrt": 0.5, "rsqrt": -0.5, "reciprocal": -1}
MOVING = (ops.Reshape, ops.Transpose, ops.Broadcast, ops.Subtensor, ops.SetSubtensor, ops.Concat,
          ops.Stack, ops.Split, ops.Gather, ops.Cast, ops.Copy, ops.MaxPool)  # fmt: skip
PRODUCTS = (ops.MatMul, ops.Convolution, ops.ConvolutionWeight, ops.ConvolutionTranspose)


class Measured(tl.Carrier):
    """A value and the powers of its base units; those of power 0 are left out."""

    def __init__(self, value: Any, **unit: float) -> None:
        super().__init__(value)
        self.unit = {name: power for name, power in sorted(unit.items()) if power}

    def lift(self, other: Any) -> Measured:
        return Measured(other)  # a plain number has no unit

    def __repr__(self) -> str:
        powers = [f"{name}={power:g}" for name, power in self.unit.items()]
        return f"Measured({', '.join([repr(self.value), *powers])})"


@tl.apply.register
def apply_measured(op: ops.OpBase, *xs: Measured) -> Any:
    mode, unit = getattr(op, "mode", ""), {}
    units = [x.unit for x in xs if x.dtype.kind not in ("bool", "integer")]  # not of indices
    if not any(units) or isinstance(op, ops.Const):
        pass
    elif mode in f"{EQUAL} {COMPARED}".split() or isinstance(op, MOVING):
        if any(other != units[0] for other in units):
            raise TypeError(f"{op}: units must be equal; got {list(xs)}; at {tl.apply.line()}")
        unit = {} if mode in COMPARED.split() else units[0]
    elif mode in ("multiply", "divide") or isinstance(op, PRODUCTS):
        sign, (a, b) = -1 if mode == "divide" else 1, units[:2]
        unit = {name: a.get(name, 0) + sign * b.get(name, 0) for name in {**a, **b}}
    elif mode in POWERS:
        unit = {name: power * POWERS[mode] for name, power in units[0].items()}
    else:
        return tl.apply.body(op, *xs)
    return [Measured(y.value, **unit) for y in tl.apply.super(op, *xs)]

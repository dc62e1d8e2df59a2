"""A finder of NaNs and infinities: stops at the op that makes the first one, with the user's line.

Gradients are computed by ops too, so it finds what a backward pass makes, and says where the
values were computed that it was made of. A whole training step goes through:

>>> network = tl.nn.Sequential(tl.nn.Linear(2, 3), tl.nn.BatchNorm1d(3))
>>> tl.sum(network(tl.Tensor(Checked([[1.0, 2.0], [3.0, 5.0]])))).backward()
>>> tl.optim.SGD(network.parameters(), lr=0.1).step()
>>> isinstance(network[0].weight.detach().__wrapped__, Checked)
True
"""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike import ops


class Checked(tl.Carrier):
    """A value that is finite; `line` is where it was computed, "" if it was given."""

    line = ""

    def lift(self, other: Any) -> Checked:
        return Checked(other)  # given, not computed


def is_finite(x: Checked) -> bool:
    """Whether there is no NaN and no infinity."""
    return bool(tl.all(tl.isfinite(tl.Tensor(tl.stop_gradient(x.value)))))


@tl.apply.register
def apply_checked(op: ops.OpBase, *xs: Checked) -> tuple[Any, ...]:
    outputs = tl.apply.super(op, *xs)
    line = tl.apply.line()
    for y in outputs:  # an infinity that the program writes down is meant
        if not isinstance(op, ops.Const) and not is_finite(y) and all(map(is_finite, xs)):
            found = "NaN" if bool(tl.any(tl.isnan(tl.Tensor(y.value)))) else "infinity"
            made = sorted({x.line for x in xs} - {"", line})
            inputs = f", of values computed at {', '.join(made)}" if made else ""
            raise FloatingPointError(f"{op}: the first {found}, at {line}{inputs}")
        y.line = line
    return outputs


if __name__ == "__main__":
    x = tl.Tensor(Checked([0.0, 4.0]))
    try:
        tl.log(x)
    except FloatingPointError as error:
        print(error)

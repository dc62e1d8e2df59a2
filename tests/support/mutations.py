"""Functions that mutate, each beside the same function without mutation."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import tensorlike as tl

Function = Callable[[Any], Any]

# W2 and W3: each operator in place, beside itself out of place. The right operand is a number, a
# tensor that does not vary, and what is varied itself.
IN_PLACE = {
    "iadd": (operator.iadd, operator.add),
    "isub": (operator.isub, operator.sub),
    "imul": (operator.imul, operator.mul),
    "itruediv": (operator.itruediv, operator.truediv),
    "ifloordiv": (operator.ifloordiv, operator.floordiv),
    "imod": (operator.imod, operator.mod),
    "ipow": (operator.ipow, operator.pow),
}
OPERANDS: dict[str, Function] = {
    "number": lambda x: 1.25,
    "constant": lambda x: tl.tensor(np.array([1.25, 0.75, 2.5, 0.5])),
    "varied": lambda x: x * 0.5 + 0.75,
}


def in_place(name: str, operand: str) -> tuple[Function, Function]:
    mutating, plain = IN_PLACE[name]

    def mutated(x: Any) -> Any:
        y = tl.sin(x) + 2
        kept = y.alias()
        before = y
        y = mutating(y, OPERANDS[operand](x))
        assert y is before  # the same object
        return y + kept  # W3: what shared the old value keeps it

    def pure(x: Any) -> Any:
        y = tl.sin(x) + 2
        return plain(y, OPERANDS[operand](x)) + y

    return mutated, pure


def filled(x: Any) -> Any:
    """A buffer made from nothing that varies is filled with what does (pytorch#103329, #97248)."""
    m = tl.zeros(5, dtype=x.dtype)
    m[0] = x[1]
    m[1:3] = x[2:] * x[:2]
    m[-1] = m[0] + m[1]
    return m


def filled_pure(x: Any) -> Any:
    middle = x[2:] * x[:2]
    return tl.stack([x[1], middle[0], middle[1], x[0] * 0, x[1] + middle[0]])


def accumulated(x: Any) -> Any:
    """A loop adds into a buffer that is not batched (theseus#650, functorch#1025)."""
    out = tl.zeros((2, 4), dtype=x.dtype)
    for i in range(4):
        out[i % 2, :] += x[i] * x
        out[0, i] *= 2
    return tl.reshape(out, (8,))


def accumulated_pure(x: Any) -> Any:
    rows = [tl.zeros(4, dtype=x.dtype), tl.zeros(4, dtype=x.dtype)]
    eye = tl.eye(4, dtype=x.dtype)
    for i in range(4):
        rows[i % 2] = rows[i % 2] + x[i] * x
        rows[0] = rows[0] * (1 + eye[i])
    return tl.concat(rows)


def saved(x: Any) -> Any:
    """What a gradient needs is changed afterwards: "modified by an inplace operation" elsewhere."""
    y = tl.exp(x)
    z = y * y
    y += 1
    y[0] = 5.0
    return z * tl.sum(y)


def saved_pure(x: Any) -> Any:
    y = tl.exp(x)
    return y * y * (5 + tl.sum((y + 1)[1:]))


def by_indices(x: Any) -> Any:
    """Assignment by integers, lists, slices, masks, and in place through them."""
    y = x * 1.0
    y[[0, 2]] = x[[1, 3]]
    y[tl.tensor([1, 1])] += 3.0
    y[::2] *= x[:2]
    y[tl.tensor([False, False, False, True])] = 7.0
    return y


def by_indices_pure(x: Any) -> Any:
    return tl.stack([x[1] * x[0], x[1] + 3.0, x[3] * x[1], x[3] * 0 + 7.0])


def clamped(x: Any) -> Any:
    """Through a mask that is made in place (functorch#247)."""
    mask = x > 1.0
    mask |= x < 0.6
    y = tl.exp(x)
    y[...] = tl.where(mask, y, x)
    return y


def clamped_pure(x: Any) -> Any:
    return tl.where((x > 1.0) | (x < 0.6), tl.exp(x), x)


def of_a_function(x: Any) -> Any:
    """A function of one's own, changed in place afterwards (pytorch#91280)."""

    class Cube(tl.Function):
        def forward(self, x: Any) -> Any:
            self.x = x
            return x * x * x

        def backward(self, dy: Any) -> Any:
            return 3 * dy * self.x * self.x

    y = Cube()(x)
    y *= x
    y[0] += 1
    return y


def replaced(x: Any) -> Any:
    """`x[...] = v`, `_reset`, and the argument itself changed within."""
    y = tl.zeros_like(x)
    y[...] = x
    y._reset((y * x).__wrapped__)
    z = y.alias()
    y -= z
    return y + z


def assigned_matrix(x: Any) -> Any:
    m = tl.eye(4, dtype=x.dtype)
    m[1, :] = x
    m[:, 2] = x * x
    v = m @ x
    v @= m if False else tl.eye(4, dtype=x.dtype)
    return v


def assigned_matrix_pure(x: Any) -> Any:
    square = x * x
    rows = [x[0] + square[0] * x[2], x[0] * x[0] + x[1] * x[1] + square[1] * x[2] + x[3] * x[3],
            square[2] * x[2], square[3] * x[2] + x[3]]  # fmt: skip
    return tl.stack(rows)


BODIES: dict[str, tuple[Function, Function]] = {
    "W2 a buffer is filled": (filled, filled_pure),
    "W2 a loop accumulates": (accumulated, accumulated_pure),
    "W3 saved values stay": (saved, saved_pure),
    "W2 by indices and masks": (by_indices, by_indices_pure),
    "W6 a mask in place": (clamped, clamped_pure),
    "W2 after a Function": (of_a_function, lambda x: x**4 + tl.eye(4, dtype=x.dtype)[0]),
    "W2 all is replaced": (replaced, lambda x: x * x),
    "W2 a matrix row and column": (assigned_matrix, assigned_matrix_pure),
    **{
        f"W2 {name} {operand}": in_place(name, operand)
        for name in IN_PLACE
        for operand in OPERANDS
        if (name, operand) not in {("ifloordiv", "varied"), ("imod", "varied")}
    },
}

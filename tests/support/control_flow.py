"""Branches and loops, each in our calls and in Python's own, and what may be done to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

RANDOM = np.random.default_rng(7)
X, W = RANDOM.random((4, 3)), RANDOM.random((3, 3))
Function = Callable[..., Any]


def cond_of(x: Any, w: Any, branch: Function) -> Any:
    """A branch whose functions read `w` from outside."""
    return branch(
        F.sum(x) > 6.0, lambda x: F.sum(F.matmul(x, w) ** 2), lambda x: F.sum(F.sin(x)) + w[0, 0], x
    )


def python_cond(predicate: Any, first: Function, second: Function, *xs: Any) -> Any:
    return (first if bool(predicate) else second)(*xs)


def rnn_of(x: Any, w: Any, scan: Function, **options: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        count, h = carry
        h = F.tanh(F.matmul(h, w) + row) * (1 + 0.1 * F.astype(count, dtype=tl.float64))
        return (count + 1, h), {"h": h * row}

    (_, last), ys = scan(step, (0, F.sum(x, axis=0)), x, **options)
    return F.sum(last**2) + F.sum(ys["h"][0]) * 2 + F.sum(ys["h"])


def python_scan(step: Function, init: Any, xs: Any, *, reverse: bool = False) -> Any:
    count, h = init
    carry, rows = (tl.tensor(count), h), []
    for i in reversed(range(xs.shape[0])) if reverse else range(xs.shape[0]):
        carry, row = step(carry, xs[i])
        rows.append(row["h"])
    return carry, {"h": F.stack(rows[::-1] if reverse else rows, axis=0)}


def while_of(x: Any, w: Any, loop: Function) -> Any:
    carry = loop(
        lambda c: F.sum(c["x"] ** 2) < 60.0,
        lambda c: {"x": F.matmul(c["x"], w) + c["x"] + 0.1, "n": c["n"] + 1},
        {"x": x, "n": tl.tensor(0)},
    )
    return F.sum(carry["x"] ** 2) * F.astype(carry["n"], dtype=tl.float64)


def python_while(condition: Function, body: Function, carry: Any) -> Any:
    while bool(condition(carry)):
        carry = body(carry)
    return carry


def nested_of(x: Any, w: Any, cond: Function, scan: Function, loop: Function) -> Any:
    def body(c: Any) -> Any:
        value = cond(
            F.sum(c["x"]) > 9.0, lambda x: x * rnn_of(x, w, scan) / 100, lambda x: x * 1.5 + w[0],
            c["x"],
        )  # fmt: skip
        return {"x": value, "n": c["n"] + 1}

    found = loop(lambda c: c["n"] < 3, body, {"x": x, "n": tl.tensor(0)})
    return F.sum(found["x"])


def bounded(condition: Function, body: Function, carry: Any) -> Any:
    return F.while_loop(condition, body, carry, max_steps=6)


CASES: dict[str, tuple[Function, Function]] = {
    "cond": (lambda x, w: cond_of(x, w, F.cond), lambda x, w: cond_of(x, w, python_cond)),
    "scan": (lambda x, w: rnn_of(x, w, F.scan), lambda x, w: rnn_of(x, w, python_scan)),
    "scan backwards": (
        lambda x, w: rnn_of(x, w, F.scan, reverse=True),
        lambda x, w: rnn_of(x, w, python_scan, reverse=True),
    ),
    "while": (lambda x, w: while_of(x, w, bounded), lambda x, w: while_of(x, w, python_while)),
    "scan in cond in while": (
        lambda x, w: nested_of(x, w, F.cond, F.scan, bounded),
        lambda x, w: nested_of(x, w, python_cond, python_scan, python_while),
    ),
}
POINTS = {"small": (X / 4, W / 3), "large": (X * 2, W)}


def in_program(function: Function, *shapes: Sequence[Any]) -> Any:
    """The function as an op around the program that it records."""
    listing = tl.Listing()
    inputs = [listing.input(f"x{i}", shape, tl.float64) for i, shape in enumerate(shapes)]
    return static.program_op(listing, function(*map(tl.Tensor, inputs)))


def both(function: Function) -> dict[str, Function]:
    return {
        "eager": function,
        "known sizes": in_program(function, (4, 3), (3, 3)),
        "unknown sizes": in_program(function, (None, 3), (3, 3)),
    }


def same(found: Any, wanted: Any) -> None:
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-9, atol=1e-10)


def second_order(function: Function) -> Function:
    def of_gradient(*xs: Any) -> Any:
        return sum(F.sum(dx * dx) for dx in tl.grad(function, argnums=(0, 1))(*xs))

    return tl.grad(of_gradient, argnums=(0, 1))


TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "value": lambda f: lambda *xs: (f(*xs),),
    "gradient": lambda f: tl.grad(f, argnums=(0, 1)),
    "second gradient": second_order,
    "tangent": lambda f: lambda x, w: tl.jvp(f, (x, w), (F.cos(x), F.sin(w))),
    "tangent of gradient": lambda f: lambda x, w: tl.jvp(tl.grad(f), (x, w), (w[0] + x, w)),
}

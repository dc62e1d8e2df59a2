"""How many ops a gradient is, by the kind of value that it is computed or recorded on.

Rules that do not ask what kind of value they get give the same number in every column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import ops

from .table import Table

# They make a constant, or let one number be seen as many: nothing is computed.
_NOTHING = frozenset({"Const", "Arange", "Fill", "Broadcast"})


class Watched(tl.Carrier):
    """Around a value; a rule counts what is applied to it."""


@contextmanager
def _watching() -> Iterator[list[ops.OpBase]]:
    """What is applied to watched values, without what that is made of."""
    seen: list[ops.OpBase] = []
    depth = 0

    def apply_watched(op: ops.OpBase, *xs: Watched) -> Any:
        nonlocal depth
        if depth == 0:
            seen.append(op)
        depth += 1
        try:
            return tl.apply.super(op, *xs)
        finally:
            depth -= 1

    apply_watched.__annotations__["xs"] = Watched
    with tl.apply.registered(apply_watched):
        yield seen


def _name(op: ops.OpBase) -> str:
    return str(op.mode) if isinstance(op, (ops.Elemwise, ops.Reduce)) else type(op).__name__


def _counted(names: Iterator[str]) -> int:
    return sum(name not in _NOTHING for name in names)


def _raw(function: Callable[..., Any], xs: list[Any]) -> int:
    value, pull = tl.vjp(function, *xs)
    with tl.profile() as profile:
        pull(value)
    return _counted(event.name for event in profile.events)


def _listed(function: Callable[..., Any], xs: list[Any]) -> int:
    listing = tl.Listing()
    given = [tl.Tensor(listing.input(f"x{i}", x.shape, x.dtype)) for i, x in enumerate(xs)]
    value, pull = tl.vjp(function, *given)
    before = len(listing.ops)
    pull(value)
    return _counted(map(_name, listing.ops[before:]))


def _carried(function: Callable[..., Any], xs: list[Any]) -> int:
    value, pull = tl.vjp(function, *(tl.Tensor(Watched(x)) for x in xs))
    with _watching() as seen:
        pull(value)
    return _counted(map(_name, seen))


def _functions() -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    random = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return tl.tensor(random.normal(size=shape).astype(np.float32))

    network = tl.nn.LSTM(3, 5, seed=0)
    heads = [normal(2, 4, 6, 8) for _ in range(3)]
    return {
        "gelu": (F.gelu, [normal(4)]),
        "attention": (F.attention, heads),
        "LSTM, 2 steps": (lambda x: network(x)[0], [normal(2, 2, 3)]),
        "LSTM, 32 steps": (lambda x: network(x)[0], [normal(32, 2, 3)]),
    }


def gradients() -> Table:
    """The ops of a pull-back."""
    table = Table(
        "ops of a gradient",
        ("plain", "on a Listing", "on a Carrier"),
        note="of the pull-back alone; constants and broadcasts are not counted; a Listing and a "
        "Carrier do not see what is done to weights alone",
    )
    for what, (function, xs) in _functions().items():
        table.rows[what] = (_raw(function, xs), _listed(function, xs), _carried(function, xs))
    return table

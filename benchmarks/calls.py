"""Calls of compiled functions on eight elements: guards, arguments and results, and a few ops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from compare import Contender, Result, Settings, time_in_turns
from peers import COMPILED, JAX, OURS, TORCH, jax, jnp

import tensorlike as tl
import tensorlike.functional as F

EAGER = "at once"
US = 1e-6


def plain(exp: Callable[..., Any], x: Any) -> Any:
    """Three ops, which a compiler makes one."""
    return exp(x) * 2 + 1


def branching(exp: Callable[..., Any], x: Any) -> Any:
    """The same in a branch on a tensor."""
    if x.sum() > 0:  # noqa: SIM108
        y = exp(x) * 2 + 1
    else:
        y = x - 1
    return y


def ten_ops(tanh: Callable[..., Any], exp: Callable[..., Any], x: Any) -> Any:
    """Ten ops that follow from each other."""
    y = tanh(x * 2 + 1) * 0.5 - x
    y = exp(-y) + y
    return (y * y).sum()


def step(function: Callable[..., Any], x: Any) -> Any:
    """Forward and backward; the gradient."""
    x.grad = None
    function(x).backward()
    return x.grad


def training(settings: Settings) -> list[Result]:
    """Functions in training: forward alone, and with the backward pass, beside themselves at once.

    The bar is that a program is not slower.
    """
    x = np.linspace(0.5, 1.5, 8).astype(np.float32)
    traced = tl.jit.trace(lambda x: ten_ops(F.tanh, F.exp, x))
    found = []
    for title, statement in (("forward", "f(x)"), ("forward and backward", "step(f, x)")):
        ours = tl.tensor(x, requires_grad=True)
        theirs = torch.tensor(x, requires_grad=True)
        contenders = {
            name: Contender(statement, {"f": function, "x": x, "step": step})
            for name, function, x in (
                (OURS, traced, ours),
                (EAGER, partial(ten_ops, F.tanh, F.exp), ours),
                (TORCH, partial(ten_ops, torch.tanh, torch.exp), theirs),
            )
        }
        timings = time_in_turns(contenders, settings)
        name = f"ten ops in training, 8 elements, {title}, trace"
        found += timings.results(name, {EAGER: 1.0, TORCH: None})
    return found


def calls(settings: Settings) -> list[Result]:
    """Each beside its peers, our bar in microseconds, and beside itself at once."""
    x = np.linspace(0.5, 1.5, 8).astype(np.float32)
    ours, theirs = tl.tensor(x), torch.tensor(x)
    found = []
    for title, compiled, eager, other, of_jax in (
        ("trace", tl.jit.trace(lambda x: plain(F.exp, x)), plain, plain, _jax_plain),
        ("to_static", tl.jit.to_static(lambda x: plain(F.exp, x)), plain, plain, _jax_plain),
        ("to_static, a branch", _branch(), branching, branching, _jax_branching),
    ):
        contenders = {
            OURS: Contender("f(x)", {"f": compiled, "x": ours}),
            EAGER: Contender("f(exp, x)", {"f": eager, "exp": F.exp, "x": ours}),
            TORCH: Contender("f(exp, x)", {"f": other, "exp": torch.exp, "x": theirs}),
        }
        if settings.compiles:
            made = torch.compile(lambda x, other=other: other(torch.exp, x), dynamic=False)
            contenders[COMPILED] = Contender("f(x)", {"f": made, "x": theirs})
        if jax is not None:
            names = {"f": jax.jit(of_jax), "x": jnp.asarray(x), "wait": jax.block_until_ready}
            contenders[JAX] = Contender("wait(f(x))", names)
        timings = time_in_turns(contenders, settings)
        name = f"a call of exp(x) * 2 + 1, 8 elements, {title}"
        rows = timings.results(name, dict.fromkeys(list(contenders)[1:]))
        bar = Result(name, timings.median(OURS), "s", bar=3 * US, bar_is_absolute=True)
        found += [bar, *rows]
    return found


def _branch() -> Any:
    @tl.jit.to_static
    def branch(x: Any) -> Any:
        if x.sum() > 0:  # noqa: SIM108
            y = F.exp(x) * 2 + 1
        else:
            y = x - 1
        return y

    return branch


def _jax_plain(x: Any) -> Any:
    return plain(jnp.exp, x)


def _jax_branching(x: Any) -> Any:
    return jax.lax.cond(x.sum() > 0, lambda x: jnp.exp(x) * 2 + 1, lambda x: x - 1, x)

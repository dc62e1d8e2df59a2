"""Autodiff and transforms: what they cost beside the arithmetic."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from compare import Contender, Result, Settings, time_in_turns
from models import mlp
from peers import jax
from tiny import CHAIN, arrays

import tensorlike as tl
import tensorlike.functional as F


def recorded_chain(x: Any, w: Any, b: Any) -> Any:
    """Twenty ops and a sum, recorded."""
    y = x
    for _ in range(CHAIN // 2):
        y = y * w + b
    return y.sum()


def run_backward(y: Any, x: Any) -> Any:
    """Backward alone."""
    x.grad = None
    y.backward(retain_graph=True)
    return x.grad


def backward(settings: Settings) -> list[Result]:
    """``backward()``, per op."""
    a, b = arrays(8)
    x, y = tl.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    ours = {"run": run_backward, "x": x, "y": recorded_chain(x, tl.tensor(a), tl.tensor(b))}
    theirs = {"run": run_backward, "x": y, "y": recorded_chain(y, torch.tensor(a), torch.tensor(b))}
    timings = time_in_turns(
        {"tensorlike": Contender("run(y, x)", ours), "PyTorch": Contender("run(y, x)", theirs)},
        settings,
    )
    name = f"backward() of {CHAIN} ops, 8 elements, per op"
    return timings.results(name, {"PyTorch": 0.05}, per=CHAIN)


def grad(settings: Settings) -> list[Result]:
    """``grad`` of a small function."""
    if jax is None:
        return []
    a, b = arrays(8)
    w = tl.tensor(b)
    ours = tl.grad(lambda x: F.sum(F.tanh(x * w) * x))
    theirs = jax.grad(lambda x: jax.numpy.sum(jax.numpy.tanh(x * b) * x))
    timings = time_in_turns(
        {
            "tensorlike": Contender("f(x)", {"f": ours, "x": tl.tensor(a)}),
            "jax.grad": Contender(
                "f(x).block_until_ready()", {"f": theirs, "x": jax.numpy.asarray(a)}
            ),
        },
        settings,
    )
    return timings.results("grad of sum(tanh(x w) x), 8 elements", {"jax.grad": 0.1})


def vmap(settings: Settings) -> list[Result]:
    """``vmap`` of a perceptron of one example, beside the batch as it is."""
    found = []
    for batch in (32, mlp.BATCH):
        network = mlp.Ours()
        x = tl.tensor(mlp.data()[0][:batch])
        with tl.no_grad():
            timings = time_in_turns(
                {
                    "tensorlike": Contender("f(x)", {"f": tl.vmap(network), "x": x}),
                    "by hand": Contender("f(x)", {"f": network, "x": x}),
                },
                settings,
            )
        sizes = "-".join(map(str, mlp.SIZES))
        found += timings.results(f"vmap of an MLP {sizes}, batch {batch}", {"by hand": 1.3})
    return found


def hessian(settings: Settings) -> list[Result]:
    """``hessian`` by a hundred parameters, forward over reverse."""
    if jax is None:
        return []
    sizes = (6, 8, 5, 1)  # 93 weights; the other 7 parameters stand alone
    shapes = list(itertools.pairwise(sizes))
    counts = [m * n for m, n in shapes]
    generator = np.random.default_rng(0)
    w = generator.standard_normal(100).astype(np.float32)
    x = generator.standard_normal((16, sizes[0])).astype(np.float32)

    def loss(xp: Any, w: Any, x: Any) -> Any:
        at = 0
        for shape, count in zip(shapes, counts, strict=True):
            x = xp.tanh(x @ w[at : at + count].reshape(shape))
            at += count
        return xp.sum(x * x) + xp.sum(w[at:] ** 2)

    data = tl.tensor(x)
    ours = tl.hessian(lambda w: loss(tl, w, data))
    theirs = jax.hessian(lambda w: loss(jax.numpy, w, jax.numpy.asarray(x)))
    timings = time_in_turns(
        {
            "tensorlike": Contender("f(w)", {"f": ours, "w": tl.tensor(w)}),
            "jax.hessian": Contender(
                "f(w).block_until_ready()", {"f": theirs, "w": jax.numpy.asarray(w)}
            ),
        },
        settings,
    )
    return timings.results("hessian by 100 parameters, 3 layers", {"jax.hessian": 0.2})

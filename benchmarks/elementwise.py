"""Elementwise work: single functions, a chain of lines, an optimiser's step, memory bandwidth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import stream
import torch
from cases import Case
from compare import Timings
from peers import (
    COMPILED,
    JAX,
    MLX,
    NUMPY,
    OURS,
    TORCH,
    Array,
    Build,
    Call,
    Function,
    finish,
    forward,
    given,
    jax,
    jnp,
    mx,
)

import tensorlike as tl
import tensorlike.functional as F

LARGE, MEDIUM = 10_000_000, 100_000


def arrays(count: int, *shape: int) -> list[Array]:
    """Standard normal numbers, the same in every run."""
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape, dtype=np.float32) for _ in range(count)]


def single_functions() -> Iterator[tuple[str, int, dict[str, Function], Function]]:
    """Name, number of inputs, a function for each library, and PyTorch's into given memory."""
    yield "add", 2, each(lambda x, y: x + y), lambda x, y, out: torch.add(x, y, out=out)
    yield "mul", 2, each(lambda x, y: x * y), lambda x, y, out: torch.mul(x, y, out=out)
    names = {TORCH: torch, JAX: jnp, MLX: mx}
    for name in ("exp", "tanh"):
        functions = {key: getattr(library, name) for key, library in names.items() if library}
        into = getattr(torch, name)
        yield name, 1, {OURS: getattr(F, name), **functions}, lambda x, out, f=into: f(x, out=out)
    gelu = {OURS: F.gelu, TORCH: torch.nn.functional.gelu}
    sigmoid = {OURS: F.sigmoid, TORCH: torch.sigmoid}
    if jax is not None:
        gelu[JAX] = lambda x: jax.nn.gelu(x, approximate=False)
        sigmoid[JAX] = jax.nn.sigmoid
    if mx is not None:
        gelu[MLX] = lambda x: x * (1 + mx.erf(x * 0.5**0.5)) * 0.5
        sigmoid[MLX] = mx.sigmoid
    yield "gelu", 1, gelu, lambda x, out: torch.ops.aten.gelu.out(x, out=out)
    yield "sigmoid", 1, sigmoid, lambda x, out: torch.sigmoid(x, out=out)
    functions = {**each(lambda x, y, z: x * y + z), COMPILED: lambda x, y, z: x * y + z}
    into = lambda x, y, z, out: torch.addcmul(z, x, y, out=out)  # noqa: E731
    yield "x * y + z", 3, functions, into


def each(function: Function) -> dict[str, Function]:
    """The same operators for all libraries."""
    return dict.fromkeys((OURS, TORCH, JAX, MLX, NUMPY), function)


def functions() -> Iterator[Case]:
    """Single functions, out of cache and in it."""
    for size, bar in ((LARGE, 0.7), (MEDIUM, 1.0)):
        for name, count, by_library, into in single_functions():
            xs = arrays(count, size)
            chosen = {k: f for k, f in by_library.items() if k != COMPILED or size == LARGE}
            yield Case(
                name=f"{name}, {size:.0e}",
                bar=bar,
                builds=lambda xs=xs, chosen=chosen: forward(xs, chosen),
                given=lambda xs=xs, into=into: {"PyTorch, out=": given(xs, xs[0], into)},
            )


def six(tanh: Function) -> Function:
    """Six ops, as plain lines."""

    def lines(x: Any, y: Any, z: Any) -> Any:
        a = x * y
        a = a + z
        a = tanh(a)
        a = a * x
        a = a - y
        return a * a

    return lines


def chain() -> Iterator[Case]:
    """Six eager lines; in the lazy mode, which is made for them, a bar: a part of jax.jit's."""
    xs = arrays(3, LARGE)
    fused = {} if jax is None else {JAX: six(jnp.tanh)}
    others = {TORCH: six(torch.tanh), COMPILED: six(torch.tanh), NUMPY: six(np.tanh)}
    if mx is not None:
        others[MLX] = six(mx.tanh)
    for mode in ("lazy", "async", "sync"):
        peers = {**others, **fused} if mode == "lazy" else fused
        yield Case(
            name=f"six elementwise lines, 1e+07, {mode}",
            bar=0.6 if mode == "lazy" else None,
            against=(JAX,),
            builds=lambda mode=mode, peers=peers: {OURS: in_mode(mode, xs), **forward(xs, peers)},
        )


def in_mode(mode: str, inputs: list[Array]) -> Build:
    """Our lines in a mode of the engine."""

    def build() -> Call:
        xs = [tl.tensor(x) for x in inputs]
        lines = six(F.tanh)

        def call() -> Any:
            with tl.engine.mode(mode):
                return finish(lines(*xs))

        return call

    return build


def adam() -> Iterator[Case]:
    """A step over ten million parameters; the bar is that of PyTorch's fused one."""
    builds = {OURS: our_adam, "PyTorch, fused": lambda: torch_adam(fused=True)}
    builds |= {TORCH: lambda: torch_adam(fused=False)}
    donated: Mapping[str, Build] = {}
    if jax is not None:
        builds[JAX] = lambda: jax_adam(donate=False)
        donated = {f"{JAX}, donated": lambda: jax_adam(donate=True)}
    yield Case(
        name="Adam step, 1e+07 parameters",
        bar=1.0,
        against=("PyTorch, fused",),
        builds=lambda: builds,
        given=lambda: donated,
    )


def our_adam() -> Call:
    """One parameter, always the same gradient."""
    start, gradient = arrays(2, LARGE)
    parameter = tl.Parameter(start)
    optimizer = tl.optim.Adam([parameter], lr=1e-3)
    parameter.grad = tl.tensor(gradient)

    def step() -> Any:
        optimizer.step()
        return finish(parameter)

    return step


def torch_adam(fused: bool) -> Call:
    """The same."""
    start, gradient = arrays(2, LARGE)
    parameter = torch.nn.Parameter(torch.from_numpy(start))
    optimizer = torch.optim.Adam([parameter], lr=1e-3, fused=fused)
    parameter.grad = torch.from_numpy(gradient)

    def step() -> Any:
        optimizer.step()
        return parameter

    return step


def jax_adam(donate: bool) -> Call:
    """The same as a function of the state, whose memory may be given away."""
    start, gradient = (jnp.asarray(x) for x in arrays(2, LARGE))
    state = [start, jnp.zeros(LARGE), jnp.zeros(LARGE), jnp.float32(0)]

    def update(p: Any, m: Any, v: Any, t: Any, g: Any) -> Any:
        t, m, v = t + 1, 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        mean, variance = m / (1 - 0.9**t), v / (1 - 0.999**t)
        return p - 1e-3 * mean / (jnp.sqrt(variance) + 1e-8), m, v, t

    compiled = jax.jit(update, donate_argnums=(0, 1, 2, 3) if donate else ())

    def step() -> Any:
        state[:] = jax.block_until_ready(compiled(*state, gradient))
        return state[0]

    return step


def bandwidth() -> Iterator[Case]:
    """Two arrays read and one written into memory that is there already: ours reuses its own."""
    xs = arrays(2, LARGE)
    builds = {**stream.contenders(LARGE, xs)}

    def fraction(timings: Timings) -> str:
        best = min((name for name in builds if name in timings.rounds), key=timings.median)
        share = timings.median(best) / timings.median(OURS)
        speed = 12 * LARGE / timings.median(OURS) / 1e9
        return f": {share:.0%} of {best}'s bandwidth, {speed:.1f} GB/s"

    yield Case(
        name="add, 1e+07, beside STREAM",
        bar=1 / 0.85,
        against=tuple(builds),
        builds=lambda: {OURS: forward(xs, {OURS: lambda x, y: x + y})[OURS], **builds},
        given=lambda: {
            "PyTorch, out=": given(xs, xs[0], lambda x, y, out: torch.add(x, y, out=out)),
        },
        describe=fraction,
    )

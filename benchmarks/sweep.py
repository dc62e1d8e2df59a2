"""From ten elements to a hundred million: a plot of the time per element.

It shows where overhead ends, where threads begin and where memory is the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from compare import Settings, time_calls
from elementwise import arrays
from peers import JAX, MLX, NUMPY, OURS, TORCH, Array, Function, forward, jax, jnp, mx

import tensorlike.functional as F

SIZES = [10**k for k in range(1, 9)]
SECONDS = 0.4  # of a point
SLOW = 1.0  # seconds of a call: a library is left out from the size on where it would take longer
ROW = 1000
COLOURS = {OURS: "C3", TORCH: "C0", JAX: "C2", MLX: "C4", NUMPY: "C7"}


def flat(count: int) -> Callable[[int], list[Array]]:
    """Inputs of one axis."""
    return lambda size: arrays(count, size)


def rows(size: int) -> list[Array]:
    """Rows of a thousand."""
    return arrays(1, max(size // ROW, 1), min(size, ROW))


def squares(size: int) -> list[Array]:
    """Two matrices of about that many elements, 4096 x 4096 at most."""
    side = min(max(round(math.sqrt(size)), 2), 4096)
    return arrays(2, side, side)


def curves() -> dict[str, tuple[Callable[[int], list[Array]], dict[str, Function | None]]]:
    """What is measured: inputs by size, and each library's function."""
    softmax = None if jax is None else lambda x: jax.nn.softmax(x, -1)
    libraries = {OURS: F, TORCH: torch, JAX: jnp, MLX: mx}

    def all_have(name: str) -> dict[str, Function | None]:
        return {key: library and getattr(library, name) for key, library in libraries.items()}

    return {
        "add": (flat(2), all_have("add")),
        "exp": (flat(1), all_have("exp")),
        "sum": (flat(1), all_have("sum")),
        f"softmax, rows of {ROW}": (
            rows,
            {
                OURS: lambda x: F.softmax(x, axis=-1),
                TORCH: lambda x: torch.softmax(x, -1),
                JAX: softmax,
                MLX: None if mx is None else lambda x: mx.softmax(x, -1),
            },
        ),
        "matmul, square": (squares, all_have("matmul")),
    }


def points(
    make: Callable[[int], list[Array]], functions: dict[str, Function | None], quick: bool
) -> dict[str, list[tuple[int, float]]]:
    """Elements of the first input, and the seconds of a call, by library."""
    found: dict[str, list[tuple[int, float]]] = {}
    settings = Settings(is_quick=True)
    last = 0
    for size in SIZES[: 6 if quick else None]:
        inputs = make(size)
        if inputs[0].size == last:
            break
        grown = inputs[0].size / last if last else 1.0
        last = inputs[0].size
        # Time grows as the size does, or faster: a call that would be slow is not made at all.
        slow = {name for name, line in found.items() if line[-1][1] * grown > SLOW}
        functions = {name: f for name, f in functions.items() if name not in slow}
        here = {name: f for name, f in functions.items() if f is not None}
        if not here:
            break
        calls = {name: build() for name, build in forward(inputs, here).items()}
        timings = time_calls(calls, rounds=settings.rounds, turn=settings.turn, seconds=SECONDS)
        for name in calls:
            found.setdefault(name, []).append((last, timings.median(name)))
    return found


def draw(path: Path, machine: str, *, quick: bool = False) -> None:
    """Measures all curves and writes the plot."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    wanted = curves()
    figure, axes = pyplot.subplots(1, len(wanted), figsize=(4 * len(wanted), 4), sharey=False)
    for plot, (title, (make, functions)) in zip(axes, wanted.items(), strict=True):
        for name, found in points(make, functions, quick).items():
            draw_curve(plot, name, found)
        plot.set(title=title, xscale="log", yscale="log", xlabel="elements")
        plot.grid(alpha=0.3)
    axes[0].set_ylabel("ns per element")
    axes[0].legend()
    left_out = f"A library is left out from the size on where a call would take over {SLOW:g} s."
    figure.suptitle(f"{machine}\n{left_out}", fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def draw_curve(plot: Any, name: str, found: Sequence[tuple[int, float]]) -> None:
    """A library's line."""
    sizes = [size for size, _ in found]
    times = [seconds / size * 1e9 for size, seconds in found]
    width = 2.0 if name == OURS else 1.2
    plot.plot(sizes, times, label=name, color=COLOURS[name], linewidth=width, marker=".")

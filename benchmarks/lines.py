"""Written-out code: chains of plain lines, and their gradients, by mode and beside jax.jit.

    python benchmarks/lines.py [--size 1000000] [--rounds 9] [--threads 1] [--jax] [name ...]

Each cell is the processor's time in ms, the best of all rounds, in which contenders take turns:
forward, back by `backward()`, and back by `grad`. What they give is compared before.
"""

from __future__ import annotations

import argparse
import inspect
import textwrap
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike import functional as F

Lines = Callable[[Any, Any], Any]


def six(x: Any, y: Any) -> Any:
    a = x * y
    b = F.exp(a * 0.1)
    c = b - y
    d = c * 0.5
    e = F.tanh(d)
    return e + x


def operators(x: Any, y: Any) -> Any:
    a = x * y + 1.0
    b = a * a - x
    c = b / (1.0 + a * a)
    d = c * y + a
    return d * 0.5


def products(x: Any, y: Any) -> Any:
    h = x * 1.1
    h = h * 1.2
    h = h * 0.9
    h = h * 1.1
    h = h * 0.8
    h = h * 1.1
    h = h * 1.2
    h = h * 0.9
    h = h * 1.1
    return h * 0.8


def gelu(x: Any, y: Any) -> Any:
    inner = 0.79788456 * (x + 0.044715 * x * x * x)
    t = F.tanh(inner)
    return 0.5 * x * (1 + t)


def swish(x: Any, y: Any) -> Any:
    return x / (1 + F.exp(-x))


def square_error(x: Any, y: Any) -> Any:
    d = x - y
    return d * d


def softmax(x: Any, y: Any) -> Any:
    e = F.exp(x - F.max(x, axis=1, keepdims=True))
    return e / F.sum(e, axis=1, keepdims=True) * y


def layer_norm(x: Any, y: Any) -> Any:
    d = x - F.mean(x, axis=1, keepdims=True)
    v = F.mean(d * d, axis=1, keepdims=True)
    return d / F.sqrt(v + 1e-5) * y


ALL: tuple[Lines, ...] = (
    six, operators, products, gelu, swish, square_error, softmax, layer_norm
)  # fmt: skip
MODES: dict[str, dict[str, Any]] = {
    "sync": {"name": "sync"},
    "lazy": {"name": "lazy", "threshold": 1 << 14},
}


def first_of(x: Any) -> float:
    return float(x[0, 0].item())


def forward(lines: Lines, x: Any, y: Any) -> float:
    z = lines(x, y)
    return first_of(z)


def backward(lines: Lines, x: Any, y: Any) -> float:
    x = x.detach()
    x.requires_grad = True
    z = lines(x, y)
    z.sum().backward()
    return first_of(x.grad)


def by_grad(lines: Lines, x: Any, y: Any) -> float:
    return first_of(tl.grad(lambda x: F.sum(lines(x, y)))(x))


WAYS: dict[str, Callable[[Lines, Any, Any], float]] = {
    "forward": forward,
    "backward()": backward,
    "grad": by_grad,
}


def in_jax(lines: Lines, way: str, x: Any, y: Any) -> Callable[[], float]:
    """The same lines under `jax.jit`."""
    import jax
    from jax import numpy as jnp

    scope: dict[str, Any] = {"F": jnp, "Any": Any}
    exec(textwrap.dedent(inspect.getsource(lines)), scope)
    f = scope[lines.__name__]
    run = jax.jit(f if way == "forward" else jax.grad(lambda x, y: jnp.sum(f(x, y))))
    given = [jnp.asarray(np.asarray(v)) for v in (x, y)]
    return lambda: float(run(*given).block_until_ready()[0, 0])


def contenders(lines: Lines, way: str, with_jax: bool, size: int) -> dict[str, Callable[[], float]]:
    random = np.random.default_rng(0)
    x, y = (
        tl.tensor(random.standard_normal((max(size // 1000, 1), 1000)).astype(np.float32))
        for _ in range(2)
    )

    def in_mode(mode: str) -> Callable[[], float]:
        def run() -> float:
            with tl.engine.mode(**MODES[mode]):
                return WAYS[way](lines, x, y)

        return run

    runs = {mode: in_mode(mode) for mode in MODES}
    return {**runs, "jax.jit": in_jax(lines, way, x, y)} if with_jax else runs


def row(lines: Lines, way: str, arguments: argparse.Namespace) -> str:
    runs = contenders(lines, way, arguments.jax, arguments.size)
    values = [run() for run in runs.values()]
    np.testing.assert_allclose(values, values[0], rtol=1e-3, atol=1e-5)
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(arguments.rounds):
        for name, run in runs.items():
            run()
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    cells = "".join(f"{took * 1e3:10.3f}" for took in best.values())
    return f"{lines.__name__:14}{way:12}{cells}{best['sync'] / best['lazy']:10.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--jax", action="store_true", help="beside jax.jit, on all its threads")
    arguments = parser.parse_args()
    tl.set_num_threads(arguments.threads)
    head = "".join(f"{name:>10}" for name in (*MODES, *(["jax.jit"] if arguments.jax else [])))
    print(f"{'':26}{head}{'sync/lazy':>10}")
    for lines in ALL:
        if arguments.names and lines.__name__ not in arguments.names:
            continue
        for way in WAYS:
            print(row(lines, way, arguments), flush=True)


if __name__ == "__main__":
    main()

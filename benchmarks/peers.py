"""The libraries that take part: how each makes tensors, calls a function on them, and waits.

PyTorch is needed; JAX and MLX take part where they are installed. A contender is built by a
function without arguments, which returns the call that is timed; what building and the first call
take is told as the time to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

import tensorlike as tl

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)  # else it makes float32 of float64, half the bytes
except ImportError:
    jax = jnp = None
try:
    import mlx.core as mx
except ImportError:
    mx = None

OURS, TORCH, COMPILED, JAX, MLX, NUMPY = (
    "tensorlike",
    "PyTorch",
    "torch.compile",
    "jax.jit",
    "MLX",
    "NumPy",
)

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
Call = Callable[[], Any]
Build = Callable[[], Call]


def versions() -> list[str]:
    """Of all libraries that are here."""
    found = [f"tensorlike {tl.__version__}", f"PyTorch {torch.__version__}"]
    if jax is not None:
        found.append(f"JAX {jax.__version__}")
    if mx is not None:
        found.append(f"MLX {mx.__version__}")
    return [*found, f"NumPy {np.__version__}"]


def finish(value: Any) -> Any:
    """Our result, computed: an engine that defers work does it now."""
    tl.engine.sync()
    return value


def is_floating(array: Array) -> bool:
    """Whether it can have a gradient."""
    return bool(array.dtype.kind == "f")


def forward(inputs: Sequence[Array], functions: Mapping[str, Function]) -> dict[str, Build]:
    """Contenders that call a function each on the same inputs."""
    makers: dict[str, Callable[[Function], Call]] = {
        OURS: lambda f: _ours(f, inputs),
        TORCH: lambda f: _torch(f, inputs),
        COMPILED: lambda f: _torch(torch.compile(f, dynamic=False), inputs),
        NUMPY: lambda f: lambda: f(*inputs),
    }
    if jax is not None:
        makers[JAX] = lambda f: _jax(f, inputs)
    if mx is not None:
        makers[MLX] = lambda f: _mlx(f, inputs)
    return _builds(makers, functions)


def _ours(function: Function, inputs: Sequence[Array]) -> Call:
    xs = [tl.tensor(x) for x in inputs]
    if tl.engine.options()["mode"] == "sync":  # what has returned has run
        return lambda: function(*xs)
    return lambda: finish(function(*xs))


def _torch(function: Function, inputs: Sequence[Array]) -> Call:
    xs = [torch.from_numpy(x) for x in inputs]
    return lambda: function(*xs)


def _jax(function: Function, inputs: Sequence[Array]) -> Call:
    xs = [jnp.asarray(x) for x in inputs]
    compiled = jax.jit(function)
    return lambda: jax.block_until_ready(compiled(*xs))


def _mlx(function: Function, inputs: Sequence[Array]) -> Call:
    xs = [mx.array(x) for x in inputs]

    def call() -> Any:
        y = function(*xs)
        mx.eval(y)
        return y

    return call


def _builds(
    makers: Mapping[str, Callable[[Function], Call]], functions: Mapping[str, Function]
) -> dict[str, Build]:
    def build(make: Callable[[Function], Call], function: Function) -> Build:
        return lambda: make(function)

    return {name: build(makers[name], f) for name, f in functions.items() if name in makers}


def given(inputs: Sequence[Array], out: Array, function: Function) -> Build:
    """PyTorch writing into memory that is given to it: `function(*inputs, out)`."""

    def build() -> Call:
        xs = [torch.from_numpy(x) for x in inputs]
        into = torch.empty(out.shape, dtype=torch.from_numpy(out[:0]).dtype)
        return lambda: function(*xs, into)

    return build


def both_ways(
    inputs: Sequence[Array],
    cotangent: Array | None,
    functions: Mapping[str, Function],
    *,
    only_backward: bool = False,
) -> dict[str, Build]:
    """Contenders that give the gradients of all floating-point inputs, and the result unless only
    the way back is timed; no cotangent means a single number's 1."""
    made = (inputs, cotangent, only_backward)
    makers: dict[str, Callable[[Function], Call]] = {
        OURS: lambda f: _eager_gradients(f, *made, _our_leaf),
        TORCH: lambda f: _eager_gradients(f, *made, _torch_leaf),
        COMPILED: lambda f: _eager_gradients(torch.compile(f, dynamic=False), *made, _torch_leaf),
    }
    if jax is not None:
        makers[JAX] = lambda f: _jax_gradients(f, *made)
    return _builds(makers, functions)


def _our_leaf(x: Array, requires_grad: bool) -> Any:
    return tl.tensor(x, requires_grad=requires_grad)


def _torch_leaf(x: Array, requires_grad: bool) -> Any:
    return torch.from_numpy(x).requires_grad_(requires_grad)


def _eager_gradients(
    function: Function,
    inputs: Sequence[Array],
    cotangent: Array | None,
    only_backward: bool,
    leaf: Callable[[Array, bool], Any],
) -> Call:
    xs = [leaf(x, is_floating(x)) for x in inputs]
    wanted = [x for x in xs if x.requires_grad]
    dy = [] if cotangent is None else [leaf(cotangent, False)]
    once = function(*xs) if only_backward else None

    def call() -> Any:
        for x in wanted:
            x.grad = None
        y = function(*xs) if once is None else once
        y.backward(*dy, retain_graph=once is not None)
        found = [x.grad for x in wanted]
        return found if only_backward else [y, *found]

    if leaf is _our_leaf:
        return lambda: finish(call())
    return call


def _jax_gradients(
    function: Function, inputs: Sequence[Array], cotangent: Array | None, only_backward: bool
) -> Call:
    xs = [jnp.asarray(x) for x in inputs]
    places = [i for i, x in enumerate(inputs) if is_floating(x)]

    def of_floating(*wanted: Any) -> Any:
        full = list(xs)
        for place, x in zip(places, wanted, strict=True):
            full[place] = x
        return function(*full)

    wanted = [xs[i] for i in places]
    dy = jnp.asarray(np.float32(1) if cotangent is None else cotangent)
    if only_backward:
        _, pull = jax.vjp(of_floating, *wanted)
        back = jax.jit(lambda pull, dy: pull(dy))
        return lambda: jax.block_until_ready(back(pull, dy))

    def whole(dy: Any, *wanted: Any) -> Any:
        y, pull = jax.vjp(of_floating, *wanted)
        return [y, *pull(dy)]

    compiled = jax.jit(whole)
    return lambda: jax.block_until_ready(compiled(dy, *wanted))

"""The sweep's cases of single ops: shapes, axes, layouts, dtypes and distributions are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import torch
from cases import Case
from peers import JAX, NUMPY, OURS, TORCH, Array, Function, both_ways, forward, jax, jnp
from zoo_layers import numbers

import tensorlike as tl
import tensorlike.functional as F

WITH_NUMPY = (TORCH, JAX, NUMPY)
WHOLE = ("int8", "uint8", "int16", "int32", "int64")


def case(name: str, inputs: list[Array], functions: dict[str, Function], **more: Any) -> Case:
    """Forward; NumPy counts."""
    return Case(
        name=name,
        builds=lambda: forward(inputs, functions),
        against=WITH_NUMPY,
        **{"tolerance": 1e-3, **more},
    )


def shape_of(random: Random, count: float, ndim: int) -> tuple[int, ...]:
    """So many dimensions, of about so many elements, none alike."""
    shares = [random.uniform(0.3, 1) for _ in range(ndim)]
    return tuple(max(1, round(count ** (share / sum(shares)))) for share in shares)


def elements(random: Random, low: float = 3, high: float = 7) -> float:
    """Evenly by their logarithm."""
    return 10 ** random.uniform(low, high)


UNARY = ("exp", "tanh", "sigmoid", "sqrt", "abs", "log1p", "sin", "erf", "square", "floor")
BINARY = ("add", "multiply", "subtract", "divide", "maximum", "less", "atan2", "where")


def laid_out(random: Random, shape: tuple[int, ...], how: str) -> tuple[tuple[int, ...], str]:
    """The shape of what is stored so that the view by `how` has `shape`."""
    if how == "transposed":
        return shape[::-1], how
    if how == "strided":
        return (*shape[:-1], 2 * shape[-1]), how
    if how == "row":
        return (1,) * (len(shape) - 1) + shape[-1:], how
    if how == "column":
        return (*shape[:-1], 1), how
    return shape, how


def viewed(x: Any, how: str, library: Any) -> Any:
    """The view, in the library's way."""
    match how:
        case "transposed":
            return x.T if x.ndim == 2 else library.permute(x, tuple(range(x.ndim))[::-1])
        case "strided":
            return x[..., ::2]
        case "reversed":
            return library.flip(x, (x.ndim - 1,)) if library is torch else x[..., ::-1]
    return x


LAYOUTS = ("plain", "plain", "plain", "transposed", "strided", "row", "column", "reversed")


def elementwise(random: Random, count: int) -> Iterator[Case]:
    """One or two operands of any layout, views being part of the call; numbers of channels."""
    names = {"where": ("where", "where"), "divide": ("divide", "divide")}
    for _ in range(count):
        if random.random() < 0.1:
            yield _of_channels(random)
            continue
        shape = shape_of(random, elements(random), random.choice((1, 2, 2)))
        binary = random.random() < 0.6
        name = random.choice(BINARY[:-1] if binary else UNARY)
        ways = [random.choice(LAYOUTS) for _ in range(2 if binary else 1)]
        ways = [w if len(shape) > 1 or w in ("strided", "reversed") else "plain" for w in ways]
        if binary and set(ways) <= {"row", "column"}:
            ways[0] = "plain"
        stored = [laid_out(random, shape, way)[0] for way in ways]
        inputs = [np.abs(numbers(*s, seed=i)) + np.float32(0.1) for i, s in enumerate(stored)]
        libraries = {OURS: F, TORCH: torch, JAX: jnp, NUMPY: np}
        functions: dict[str, Function] = {}
        for key, library in libraries.items():
            f = getattr(library, names.get(name, (name,))[0], None)
            if library is jnp and name in ("erf", "sigmoid"):
                f = jax.nn.sigmoid if name == "sigmoid" else jax.scipy.special.erf
            if f is None:
                continue
            functions[key] = _on_views(f, ways, library)
        title = f"{name} of {shape} {' and '.join(ways)}"
        yield case(title, inputs, functions)


def _of_channels(random: Random) -> Case:
    """What a batch norm does that only infers."""
    side, channels = random.choice((1, 7, 14, 28, 56, 112)), random.choice((3, 32, 64, 96, 256))
    batch = max(1, round(elements(random) / (side * side * channels)))
    shape = (batch, channels, side, side)
    inputs = [numbers(*shape), *(numbers(channels, 1, 1, seed=i) for i in (1, 2))]
    call: Function = lambda x, scale, shift: x * scale + shift  # noqa: E731
    return case(f"channels of {shape}", inputs, dict.fromkeys((OURS, TORCH, JAX, NUMPY), call))


def _on_views(function: Function, ways: list[str], library: Any) -> Function:
    def call(*xs: Any) -> Any:
        return function(*(viewed(x, way, library) for x, way in zip(xs, ways, strict=True)))

    return call


def reductions(random: Random, count: int) -> Iterator[Case]:
    """Sums and their like over some axes, of any layout."""
    both = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "prod": "prod",
            "argmax": "argmax", "argmin": "argmin", "var": "var", "any": "any",
            "logsumexp": "logsumexp", "std": "std", "cumulative_sum": "cumsum"}  # fmt: skip
    for _ in range(count):
        name = random.choice(list(both))
        ndim = random.choice((1, 2, 2, 3))
        shape = shape_of(random, elements(random, 2, 7.5), ndim)
        one = name in ("argmax", "argmin", "prod", "cumulative_sum")
        axes: Any = random.randrange(ndim)
        if not one and random.random() < 0.4:
            axes = tuple(sorted(random.sample(range(ndim), random.randint(1, ndim))))
        turned = ndim == 2 and random.random() < 0.25
        x = numbers(*shape)
        if name == "prod":
            x = 1 + x / 1000
        if name == "any":
            x = x > 5
        stored = np.ascontiguousarray(x.T) if turned else x
        functions = _reductions(name, both[name], axes)
        functions = {k: _turning(f) if turned else f for k, f in functions.items()}
        yield case(f"{name} over {axes} of {shape}{' transposed' * turned}", [stored], functions)


def _turning(function: Function) -> Function:
    return lambda x: function(x.T)


def _reductions(ours: str, theirs: str, axes: Any) -> dict[str, Function]:
    options: dict[str, Any] = {"correction": 0} if ours in ("var", "std") else {}
    by_numpy = getattr(np, theirs, None)
    found: dict[str, Function] = {
        OURS: lambda x: getattr(F, ours)(x, axis=axes),
        TORCH: lambda x: getattr(torch, theirs)(x, dim=axes, **options),
    }
    if jnp is not None:
        f = jax.nn.logsumexp if ours == "logsumexp" else getattr(jnp, theirs)
        found[JAX] = lambda x: f(x, axis=axes)
    if by_numpy is not None:
        found[NUMPY] = lambda x: by_numpy(x, axis=axes)
    return found


def order(random: Random, count: int) -> Iterator[Case]:
    """Sorting, the largest few, medians, different elements; lengths and distributions."""
    for _ in range(count):
        rows = random.choice((1, 1, 16, 1000))
        n = max(2, round(elements(random, 2, 6.3) / (1 if rows == 1 else rows / 4)))
        how = random.choice(("normal", "few values", "sorted", "integers"))
        x = numbers(rows, n)
        if how == "few values":
            x = np.round(x)
        if how == "sorted":
            x = np.sort(x, -1)
        if how == "integers":
            x = (x * 1e6).astype(np.int32)
        kind = random.choice(
            ("sort", "argsort", "topk", "topk", "median", "unique", "searchsorted")
        )
        k = min(n, random.choice((1, 5, 10, 100, 1000)))
        name = f"{kind}{f' {k}' if kind == 'topk' else ''}, {rows} rows of {n}, {how}"
        yield case(name, [x], _orders(kind, k))


def _orders(kind: str, k: int) -> dict[str, Function]:
    match kind:
        case "sort":
            return {OURS: lambda x: F.sort(x, axis=-1), TORCH: lambda x: torch.sort(x, -1)[0],
                    JAX: lambda x: jnp.sort(x, -1), NUMPY: lambda x: np.sort(x, -1)}  # fmt: skip
        case "argsort":
            return {OURS: lambda x: F.argsort(x, axis=-1, stable=True),
                    TORCH: lambda x: torch.argsort(x, dim=-1, stable=True),
                    NUMPY: lambda x: np.argsort(x, -1, kind="stable")}  # fmt: skip
        case "topk":
            return {OURS: lambda x: F.topk(x, k)[0], TORCH: lambda x: torch.topk(x, k)[0],
                    JAX: lambda x: jax.lax.top_k(x, k)[0]}  # fmt: skip
        case "median":
            middle = lambda n: (n - 1) // 2  # noqa: E731
            return {OURS: lambda x: F.kthvalue(x, middle(x.shape[-1]) + 1)[0],
                    TORCH: lambda x: torch.median(x, -1)[0],
                    NUMPY: lambda x: np.partition(x, middle(x.shape[-1]), -1)[
                        ..., middle(x.shape[-1])]}  # fmt: skip
        case "unique":
            return {OURS: F.unique_values, TORCH: lambda x: torch.unique(x), NUMPY: np.unique}
    return {OURS: lambda x: F.searchsorted(F.sort(x[0]), x[-1]),
            TORCH: lambda x: torch.searchsorted(torch.sort(x[0])[0], x[-1]),
            NUMPY: lambda x: np.searchsorted(np.sort(x[0]), x[-1])}  # fmt: skip


def gathers(random: Random, count: int) -> Iterator[Case]:
    """Rows, columns and elements that indices pick, and sums into them."""
    for _ in range(count):
        width = round(4096 ** random.random())
        rows = max(4, round(elements(random, 4, 7) / width))
        picks = max(1, round(elements(random, 3, 6.5) / width))
        generator = np.random.default_rng(random.randrange(1000))
        how = random.choice(("any", "few", "in order"))
        index = generator.integers(0, rows if how != "few" else max(rows // 50, 1), picks)
        index = np.sort(index) if how == "in order" else index
        table, values = numbers(rows, width), numbers(picks, width, seed=1)
        kind = random.choice(
            ("rows", "columns", "scatter-add", "embedding, backward", "mask", "segments")
        )
        name = f"{kind}, {picks} of {rows} x {width}, {how}"
        if kind == "embedding, backward":
            functions = {OURS: lambda t, i: F.take(t, i, axis=0), TORCH: lambda t, i: t[i],
                         JAX: lambda t, i: t[i]}  # fmt: skip
            yield Case(
                name=name,
                builds=lambda a=[table, index], d=values, f=functions: both_ways(a, d, f),
                tolerance=1e-3,
            )
            continue
        inputs, functions = _gathers(kind, table, index, values)
        yield case(name, inputs, functions)


def _gathers(
    kind: str, table: Array, index: Array, values: Array
) -> tuple[list[Array], dict[str, Function]]:
    rows = len(table)
    match kind:
        case "rows":
            return [table, index], {
                OURS: lambda t, i: F.take(t, i, axis=0), TORCH: lambda t, i: t[i],
                JAX: lambda t, i: jnp.take(t, i, axis=0), NUMPY: lambda t, i: np.take(t, i, axis=0),
            }  # fmt: skip
        case "columns":
            turned = np.ascontiguousarray(table.T)
            return [turned, index], {
                OURS: lambda t, i: F.take(t, i, axis=1),
                TORCH: lambda t, i: torch.index_select(t, 1, i),
                JAX: lambda t, i: jnp.take(t, i, axis=1), NUMPY: lambda t, i: np.take(t, i, axis=1),
            }  # fmt: skip
        case "scatter-add":
            return [table, index, values], {
                OURS: lambda t, i, v: F.index_add(t, i, v, axis=0),
                TORCH: lambda t, i, v: torch.index_add(t, 0, i, v),
                JAX: lambda t, i, v: t.at[i].add(v),
            }  # fmt: skip
        case "segments":
            return [values, np.sort(index)], {
                OURS: lambda v, i: F.segment_sum(v, i, rows),
                TORCH: lambda v, i: torch.zeros(rows, v.shape[1]).index_add_(0, i, v),
                JAX: lambda v, i: jax.ops.segment_sum(v, i, rows, indices_are_sorted=True),
            }  # fmt: skip
    mask = table > 0.5
    return [table, mask], {
        OURS: lambda t, m: t[m],
        TORCH: lambda t, m: t[m],
        NUMPY: lambda t, m: t[m],
    }


def permutations(random: Random, count: int) -> Iterator[Case]:
    """Axes in another order, written out; joints; repeats; padding; rolls."""
    for _ in range(count):
        ndim = random.choice((2, 3, 3, 4))
        shape = shape_of(random, elements(random, 3, 7), ndim)
        axes = list(range(ndim))
        while axes == sorted(axes):
            random.shuffle(axes)
        dtype = random.choice(("float32", "float32", "float16", "uint8", "float64"))
        x = numbers(*shape).astype(dtype)
        kind = random.choice(
            ("permute", "permute", "permute", "concat", "tile", "flip", "roll", "pad")
        )
        axis = random.randrange(ndim)
        name = f"{kind} {axes if kind == 'permute' else axis} of {shape}, {dtype}"
        yield case(name, [x], _permutations(kind, tuple(axes), axis))


def _permutations(kind: str, axes: tuple[int, ...], axis: int) -> dict[str, Function]:
    ndim = len(axes)
    match kind:
        case "permute":
            return {OURS: lambda x: F.reshape(F.permute_dims(x, axes), (-1,)),
                    TORCH: lambda x: x.permute(axes).reshape(-1),
                    JAX: lambda x: jnp.transpose(x, axes).reshape(-1),
                    NUMPY: lambda x: np.transpose(x, axes).reshape(-1)}  # fmt: skip
        case "concat":
            return {OURS: lambda x: F.concat([x, x, x], axis=axis),
                    TORCH: lambda x: torch.cat([x, x, x], axis),
                    JAX: lambda x: jnp.concatenate([x, x, x], axis),
                    NUMPY: lambda x: np.concatenate([x, x, x], axis)}  # fmt: skip
        case "tile":
            times = tuple(2 if i == axis else 1 for i in range(ndim))
            return {OURS: lambda x: F.tile(x, times), TORCH: lambda x: torch.tile(x, times),
                    JAX: lambda x: jnp.tile(x, times),
                    NUMPY: lambda x: np.tile(x, times)}  # fmt: skip
        case "flip":
            return {OURS: lambda x: F.flip(x, axis=axis).copy(),
                    TORCH: lambda x: torch.flip(x, (axis,)),
                    JAX: lambda x: jnp.flip(x, axis),
                    NUMPY: lambda x: np.flip(x, axis).copy()}  # fmt: skip
        case "roll":
            return {OURS: lambda x: F.roll(x, 3, axis=axis),
                    TORCH: lambda x: torch.roll(x, 3, axis),
                    JAX: lambda x: jnp.roll(x, 3, axis),
                    NUMPY: lambda x: np.roll(x, 3, axis)}  # fmt: skip
    widths = [(1, 2) if i == axis else (0, 0) for i in range(ndim)]
    flat = [n for pair in reversed(widths) for n in pair]
    return {OURS: lambda x: F.pad(x, widths), TORCH: lambda x: torch.nn.functional.pad(x, flat),
            JAX: lambda x: jnp.pad(x, widths), NUMPY: lambda x: np.pad(x, widths)}  # fmt: skip


def dtypes(random: Random, count: int) -> Iterator[Case]:
    """Halves, float64 and integers: operators, sums, products, conversions."""
    for _ in range(count):
        dtype = random.choice(("float16", "bfloat16", "float64", *WHOLE))
        kind = random.choice(
            ("add", "multiply", "maximum", "abs", "exp", "sum", "sum over 0", "sum over 1",
             "matmul", "convert", "convert", "max")
        )  # fmt: skip
        if kind == "exp" and dtype in WHOLE:
            kind = "add"
        if kind == "matmul":
            side = round(2 ** random.uniform(5, 10))
            shape: tuple[int, ...] = (side, side)
        elif "over" in kind:
            shape = shape_of(random, elements(random, 3, 7), 2)
        else:
            shape = (round(elements(random, 3, 7)),)
        goal = random.choice(("float32", "float64", "int32", "int64", "int8", "bool", "float16"))
        title = f"{kind}{f' to {goal}' if kind == 'convert' else ''}, {dtype}, {shape}"
        yield Case(
            name=title,
            builds=lambda s=shape, d=dtype, k=kind, g=goal: _dtype_builds(s, d, k, g),
            tolerance=0.03 if "float" in dtype else 1e-4,
        )


def _dtype_builds(shape: tuple[int, ...], dtype: str, kind: str, goal: str) -> dict[str, Any]:
    x, y = (
        np.clip(numbers(*shape, seed=s) * (1 if "float" in dtype else 9), -99, 99) for s in (0, 1)
    )
    if dtype in WHOLE:
        x, y = (np.abs(z).astype(dtype) for z in (x, y))
    ours = [tl.tensor(z).astype(dtype) for z in (x, y)]
    theirs = [torch.from_numpy(z).to(getattr(torch, dtype)) for z in (x, y)]
    by_us: dict[str, Any] = {
        "add": lambda x, y: x + y, "multiply": lambda x, y: x * y, "exp": lambda x, y: F.exp(x),
        "sum": lambda x, y: F.sum(x), "matmul": lambda x, y: x @ y, "max": lambda x, y: F.max(x),
        "convert": lambda x, y: x.astype(goal), "maximum": F.maximum, "abs": lambda x, y: F.abs(x),
        "sum over 0": lambda x, y: F.sum(x, axis=0), "sum over 1": lambda x, y: F.sum(x, axis=1),
    }  # fmt: skip
    by_torch = {
        **by_us, "exp": lambda x, y: torch.exp(x), "sum": lambda x, y: torch.sum(x),
        "max": lambda x, y: torch.max(x), "convert": lambda x, y: x.to(getattr(torch, goal)),
        "maximum": torch.maximum, "abs": lambda x, y: torch.abs(x),
        "sum over 0": lambda x, y: torch.sum(x, 0), "sum over 1": lambda x, y: torch.sum(x, 1),
    }  # fmt: skip

    def wide(z: Any) -> Any:
        return z.float() if z.dtype in (torch.bfloat16,) else z

    def our_call() -> Any:
        z = by_us[kind](*ours)
        tl.engine.sync()
        return z

    return {OURS: lambda: our_call, TORCH: lambda: lambda: by_torch[kind](*theirs)}

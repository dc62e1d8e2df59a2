"""The sweep's cases of dtypes that are not float32: narrow ones, halves, float64, wide integers."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import torch
from cases import Case
from peers import JAX, NUMPY, OURS, TORCH, Build, finish, jax, jnp
from zoo_layers import numbers
from zoo_ops import elements, shape_of

import tensorlike as tl
import tensorlike.functional as F

NARROW = ("bool", "int8", "uint8", "int16")
HALVES = ("float16", "bfloat16")
WHOLE = (*NARROW[1:], "int32", "int64")
REAL = (*HALVES, "float32", "float64")
ALL = ("bool", *WHOLE, *REAL)
WIDE = ("int64", "float64")  # what JAX computes in half as many bits

Calls = Mapping[str, Any]


def values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Small numbers of the dtype, of both signs where it has them, as NumPy's."""
    x = numbers(*shape, seed=seed)
    if dtype == "bool":
        return x > 0
    if dtype in WHOLE:
        return (np.abs(9 * x) if dtype == "uint8" else np.clip(9 * x, -99, 99)).astype(dtype)
    return x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def _torch(x: Any) -> Any:
    is_bfloat16 = x.dtype == ml_dtypes.bfloat16
    return torch.from_numpy(x.astype(np.float32)).bfloat16() if is_bfloat16 else torch.from_numpy(x)


def case(name: str, inputs: list[Any], calls: Calls, tolerance: float = 0.02) -> Case:
    """The same call of each library on the same numbers."""

    def builds() -> dict[str, Build]:
        ours, theirs = [tl.tensor(x) for x in inputs], [_torch(x) for x in inputs]
        made: dict[str, Build] = {
            OURS: lambda: lambda: finish(calls[OURS](*ours)),
            TORCH: lambda: lambda: calls[TORCH](*theirs),
        }
        if NUMPY in calls and not any(x.dtype == ml_dtypes.bfloat16 for x in inputs):
            made[NUMPY] = lambda: lambda: calls[NUMPY](*inputs)
        if jax is not None and JAX in calls and not any(x.dtype.name in WIDE for x in inputs):
            call, theirs_too = jax.jit(calls[JAX]), [jnp.asarray(x) for x in inputs]
            made[JAX] = lambda: lambda: jax.block_until_ready(call(*theirs_too))
        return made

    return Case(name=name, builds=builds, against=(TORCH, JAX, NUMPY), tolerance=tolerance)


REDUCTIONS = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "any": "any",
              "all": "all", "argmax": "argmax", "argmin": "argmin",
              "cumulative_sum": "cumsum"}  # fmt: skip


def reductions(random: Random, count: int) -> Iterator[Case]:
    """Along an axis or over all, of long, short and many rows, and of few and many columns."""
    for _ in range(count):
        name, dtype = random.choice(list(REDUCTIONS)), random.choice(ALL)
        if name == "mean" and dtype not in REAL:
            name = "sum"
        if name in ("any", "all"):
            dtype = "bool"
        if dtype == "bool" and name not in ("any", "all", "sum"):
            name = "any"
        how = random.choice(("all", "rows", "columns", "short rows", "few columns", "middle"))
        size = elements(random, 3, 7.3)
        few = random.choice((2, 3, 4, 7, 10, 16, 32, 33, 64))
        many = max(1, round(size / few))
        shape = {"all": (round(size),), "short rows": (many, few), "few columns": (many, few)}.get(
            how, shape_of(random, size, 3 if how == "middle" else 2)
        )
        axis = {"all": 0, "rows": 1, "short rows": 1, "middle": 1}.get(how, 0)
        yield reduction(name, dtype, shape, axis)


def reduction(name: str, dtype: str, shape: tuple[int, ...], axis: int) -> Case:
    """One along an axis."""
    x = values(shape, dtype)
    if name == "any":
        x = np.zeros(shape, dtype)
    if name == "all":
        x = np.ones(shape, dtype)
    theirs = REDUCTIONS[name]
    calls: dict[str, Any] = {
        OURS: lambda x: getattr(F, name)(x, axis=axis),
        TORCH: lambda x: getattr(torch, theirs)(x, dim=axis),
        JAX: lambda x: getattr(jnp, theirs)(x, axis=axis),
        NUMPY: lambda x: getattr(np, theirs)(x, axis=axis),
    }
    return case(f"{name} over {axis} of {shape}, {dtype}", [x], calls, 0.05)


# By what the operator takes: functions of all libraries under one name, or by an operator.
OPERATORS = {"add": operator.add, "multiply": operator.mul, "subtract": operator.sub,
             "floor_divide": operator.floordiv, "remainder": operator.mod, "less": operator.lt,
             "equal": operator.eq, "bitwise_and": operator.and_, "negative": operator.neg,
             "abs": abs}  # fmt: skip
CALLED = ("maximum", "exp", "tanh", "sqrt", "sign", "where", "clip")


def elementwise(random: Random, count: int) -> Iterator[Case]:
    """Operators and functions, of two operands of one size or of one and a number."""
    for _ in range(count):
        dtype = random.choice([d for d in ALL if d != "float32"])
        name = random.choice([*OPERATORS, *CALLED])
        if dtype not in REAL and name in ("exp", "tanh", "sqrt"):
            name = "floor_divide" if name == "exp" else "remainder"
        if dtype in REAL and name == "bitwise_and":
            name = "less"
        if dtype == "bool":
            name = random.choice(("bitwise_and", "equal", "where"))
        by = random.choice(("two", "two", "number"))
        yield elementwise_of(name, dtype, round(elements(random, 3, 7)), by)


def elementwise_of(name: str, dtype: str, size: int, by: str) -> Case:
    """One operator or function of so many elements."""
    inputs = [values((size,), dtype, seed=s) for s in (0, 1)]
    if name in ("floor_divide", "remainder"):
        inputs[1] = np.where(inputs[1] == 0, inputs[0].dtype.type(3), inputs[1])
    if name == "sqrt":
        inputs[0] = np.abs(inputs[0])
    calls = {key: _function(name, library) for key, library in
             {OURS: F, TORCH: torch, JAX: jnp, NUMPY: np}.items()}  # fmt: skip
    if name == "where":
        inputs.insert(0, values((size,), "bool", seed=2))
    elif name in ("exp", "tanh", "sqrt", "sign", "clip", "negative", "abs"):
        inputs = inputs[:1]
    elif by == "number" and dtype != "bool" and name != "maximum":
        inputs = inputs[:1]
        calls = {key: lambda x, f=f: f(x, 3) for key, f in calls.items()}
    else:
        by = "two"
    return case(f"{name}{' 3' if by == 'number' else ''} of {size}, {dtype}", inputs, calls, 0.05)


def _function(name: str, library: Any) -> Any:
    if name in OPERATORS:
        return OPERATORS[name]
    if name == "clip":
        return lambda x: library.clip(x, 1, 5)
    return getattr(library, name)


def conversions(random: Random, count: int) -> Iterator[Case]:
    """From each dtype to each other."""
    for _ in range(count):
        source, goal = random.sample(ALL, 2)
        yield conversion(source, goal, round(elements(random, 3, 7)))


def conversion(source: str, goal: str, size: int) -> Case:
    """One from a dtype to another."""
    x = values((size,), source)
    calls: dict[str, Any] = {
        OURS: lambda x: x.astype(goal),
        TORCH: lambda x: x.to(getattr(torch, goal)),
    }
    if goal not in WIDE:
        calls[JAX] = lambda x: x.astype(goal)
    if goal != "bfloat16":
        calls[NUMPY] = lambda x: x.astype(goal)
    # What a negative number is without a sign differs between libraries.
    if goal == "uint8" and source in REAL:
        x = np.abs(x)
    return case(f"{source} to {goal}, {size}", [x], calls)


def products(random: Random, count: int) -> Iterator[Case]:
    """Of matrices of integers, of halves and of float64, square and narrow ones, and vectors."""
    for _ in range(count):
        dtype = random.choice(("int8", "uint8", "int32", "int64", *HALVES, "float64"))
        m, k, n = (round(2 ** random.uniform(3, 8.5)) for _ in range(3))
        if random.random() < 0.2:
            m = 1
        inputs = [values((m, k), dtype), values((k, n), dtype, seed=1)]
        calls = dict.fromkeys((OURS, TORCH, JAX, NUMPY), operator.matmul)
        yield case(f"{m} x {k} x {n}, {dtype}", inputs, calls, 0.05)

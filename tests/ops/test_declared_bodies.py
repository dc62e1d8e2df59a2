"""A kernel beside a body is held against the body; so is the same declaration made at run time."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from support.cases import cases_of
from support.declarations import (
    DEFINED,
    REDUCTIONS,
    SCALARS,
    Array,
    accepts,
    function_of,
    inputs_of,
    name_of,
)
from support.oracle import tuple_of

import tensorlike as tl
from tensorlike import opdecl
from tensorlike.opdecl.compiler.evaluate import attribute_value
from tensorlike.opdecl.compiler.expression import (
    CHOICE,
    ELEMWISE,
    SIZE,
    Call,
    Name,
    Num,
    topological,
)
from tensorlike.opdecl.compiler.model import (
    DefinedOp,
    Entry,
    ReductionEntry,
    ScalarEntry,
    is_differentiable,
)

FOLDER = Path(opdecl.__file__).parent
SUFFIX = "_again"


def body_of(entry: DefinedOp, tensors: list[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
    """The body, step by step, by functional calls."""
    attrs = {attr.name: attr.default for attr in entry.attrs} | attrs
    names = {arg.name: tensor for arg, tensor in zip(entry.args, tensors, strict=True)}
    values: dict[Any, Any] = {}

    for node in topological(entry.define.results):
        if isinstance(node, Name):
            values[node] = names[node.id]
        elif isinstance(node, Num):
            values[node] = node.value
        elif isinstance(node, Call) and node.function == SIZE:
            values[node] = values[node.args[0]].size
        elif isinstance(node, Call):
            given = {name: attribute_value(attr, values, attrs) for name, attr in node.attrs}
            if node.function == CHOICE:
                values[node] = values[node.args[0 if given["when"] else 1]]
                continue
            name = given.pop("mode") if node.function == ELEMWISE else node.function
            function = getattr(tl.functional, name)
            values[node] = function(*(values[arg] for arg in node.args), **given)
    return tuple(values[result] for result in entry.define.results)


BODY_CASES = [case for entry in DEFINED for case in cases_of(entry, "float64")]


@pytest.mark.parametrize("case", BODY_CASES, ids=str)
def test_a_kernel_gives_what_the_body_gives(case: Any) -> None:
    for dtype, rtol, atol in (("float64", 1e-12, 1e-13), ("float32", 1e-5, 1e-6)):
        inputs = [x.astype(dtype) if x.dtype.kind == "f" else x for x in case.inputs]
        found = function_of(case.entry)(*(tl.tensor(x) for x in inputs), **case.attrs)
        wanted = body_of(case.entry, [tl.tensor(x) for x in inputs], case.attrs)
        for y, want in zip(tuple_of(found), wanted, strict=True):
            np.testing.assert_allclose(y, np.asarray(want), rtol, atol, strict=True)


SLOPED = [c for c in BODY_CASES if 0 < c.inputs[0].size < 3000 and is_differentiable(c.entry)]


@pytest.mark.parametrize("case", SLOPED, ids=str)
def test_a_rule_gives_the_gradient_of_the_body(case: Any) -> None:
    """Gradients by the rule against those through the body, to second order."""
    entry = case.entry
    tensors = [tl.tensor(x) for x in case.inputs]
    rng = np.random.default_rng(2)

    def slope(run: Any, i: int) -> Any:
        weights = [tl.tensor(np.asarray(w)) for w in outputs]

        def loss(*xs: Any) -> Any:
            terms = zip(run(xs), weights, strict=True)
            return functools.reduce(tl.functional.add, [tl.functional.sum(y * w) for y, w in terms])

        return tl.grad(loss, argnums=i)

    def derivative(run: Any, i: int, direction: Any, order: int) -> Any:
        first = slope(run, i)
        if order == 1:
            return first
        return tl.grad(lambda *xs: tl.functional.sum(first(*xs) * direction), argnums=i)

    def by_rule(xs: Any) -> tuple[Any, ...]:
        out = function_of(entry)(*xs, **case.attrs)
        return out if isinstance(out, tuple) else (out,)

    def by_body(xs: Any) -> tuple[Any, ...]:
        return body_of(entry, list(xs), case.attrs)

    outputs = [rng.normal(size=y.shape) for y in case.call()]
    for i, arg in enumerate(entry.args):
        if arg.category.rank < 2:
            continue
        direction = tl.tensor(rng.normal(size=case.inputs[i].shape))
        for order in (1, 2):
            found, wanted = (derivative(run, i, direction, order) for run in (by_rule, by_body))
            np.testing.assert_allclose(
                np.asarray(found(*tensors)), np.asarray(wanted(*tensors)), 1e-9, 1e-11
            )


@functools.cache
def texts() -> dict[str, dict[str, Any]]:
    """The entries of the YAML files, by name."""
    found = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            found[entry.get("scalar") or entry.get("reduction") or entry.get("op")] = entry
    return found


def text_again(entry: Entry) -> str:
    """The declaration under another name, with no kernel: a native one as a call of itself."""
    wanted = dict(texts()[entry.name])
    if isinstance(entry, ScalarEntry):
        wanted["scalar"] = entry.name + SUFFIX
        if entry.is_native:
            args = ", ".join(arg.name for arg in entry.args)
            wanted["expr"] = f"{entry.name}({args})"
            wanted.pop("grad", None)
            wanted.pop("formula", None)
            if entry.unknown_slopes:
                wanted["grad"] = dict.fromkeys(entry.unknown_slopes, "unknown")
    else:
        wanted["op"] = entry.name + "Again"
        for key in ("kernel", "infer", "onnx", "grad", "view", "memory"):
            wanted.pop(key, None)
    wanted.pop("method", None)
    wanted.pop("numpy", None)
    wanted.pop("function", None)
    return yaml.safe_dump([wanted], sort_keys=False)


@functools.cache
def declared_again(name: str) -> Any:
    entry = next(e for e in [*SCALARS, *DEFINED] if e.name == name)
    (function,) = tl.declare(text_again(entry)).values()
    return function


def gradients(function: Any, inputs: list[Array], attrs: dict[str, Any]) -> list[Array]:
    def loss(*xs: Any) -> Any:
        out = function(*xs, **attrs)
        outputs = out if isinstance(out, tuple) else (out,)
        squares = [tl.functional.sum(tl.functional.real(y * y)) for y in outputs]
        return functools.reduce(tl.functional.add, squares)

    tensors = [tl.tensor(x) for x in inputs]
    places = [i for i, x in enumerate(inputs) if x.dtype.kind == "f"]
    return [np.asarray(g) for g in tl.grad(loss, argnums=places)(*tensors)]


@pytest.mark.parametrize("entry", SCALARS, ids=name_of)
def test_a_scalar_function_declared_at_run_time_is_the_built_in_one(entry: ScalarEntry) -> None:
    rng = np.random.default_rng(6)
    again = declared_again(entry.name)
    for dtype in ("bool", "int32", "int64", "float32", "float64"):
        if not all(accepts(arg.category, dtype) for arg in entry.args):
            continue
        for shapes in ([(3, 1), (4,), (2, 3, 4)], [(2100,)] * 3):
            inputs = inputs_of(entry, [shapes[i % 3] for i in range(len(entry.args))], dtype, rng)
            found = tuple_of(again(*(tl.tensor(x) for x in inputs)))
            wanted = tuple_of(function_of(entry)(*(tl.tensor(x) for x in inputs)))
            for y, want in zip(found, wanted, strict=True):
                rtol, atol = (2e-5, 2e-6) if y.dtype == np.float32 else (1e-12, 1e-14)
                np.testing.assert_allclose(y, want, rtol, atol, strict=True)
    if is_differentiable(entry) and not entry.unknown_slopes:
        inputs = [np.asarray(rng.uniform(0.2, 0.9, (3, 4))) for _ in entry.args]
        inputs = [
            x > 0.5 if arg.category.rank == 0 else x
            for arg, x in zip(entry.args, inputs, strict=True)
        ]
        by_hand = gradients(function_of(entry), inputs, {})
        for g, want in zip(gradients(again, inputs, {}), by_hand, strict=True):
            np.testing.assert_allclose(g, want, 1e-9, 1e-12, strict=True)


@pytest.mark.parametrize("entry", DEFINED, ids=name_of)
def test_a_defined_op_declared_at_run_time_is_the_built_in_one(entry: DefinedOp) -> None:
    again = declared_again(entry.name)
    for case in cases_of(entry, "float64"):
        tensors = [tl.tensor(x) for x in case.inputs]
        found = tuple_of(again(*tensors, **case.attrs))
        for y, want in zip(found, case.call(), strict=True):
            np.testing.assert_allclose(y, np.asarray(want), 1e-12, 1e-13, strict=True)
        if 0 < case.inputs[0].size < 3000 and is_differentiable(entry):
            by_hand = gradients(function_of(entry), list(case.inputs), case.attrs)
            found = gradients(again, list(case.inputs), case.attrs)
            for g, want in zip(found, by_hand, strict=True):
                np.testing.assert_allclose(g, want, 1e-9, 1e-12, strict=True)


@pytest.mark.parametrize("entry", REDUCTIONS, ids=name_of)
def test_a_reduction_declared_at_run_time_is_the_built_in_one(entry: ReductionEntry) -> None:
    wanted = dict(texts()[entry.name]) | {"reduction": entry.name + SUFFIX}
    wanted.pop("method", None)
    text = yaml.safe_dump([wanted], sort_keys=False)
    if entry.is_native:
        message = f"<string>:1: {entry.name}{SUFFIX}: a native reduction needs the compiler"
        with pytest.raises(opdecl.DeclarationError, match=re.escape(message)):
            tl.declare(text)
        assert entry.name + SUFFIX not in tl.ops.__all__
        return
    again = tl.declare(text)[entry.name + SUFFIX]
    x = np.random.default_rng(8).normal(size=(5, 6, 700))
    for dtype in ("bool", "int8", "int64", "uint64", "float16", "float64", "complex64"):
        drawn = 1 + x / 60 if dtype in ("float16", "float64", "complex64") else np.abs(x * 3)
        if not accepts(entry.args[0].category, dtype):
            continue
        given = tl.tensor(drawn.astype(dtype))
        for attrs in ({"axis": 0}, {"axis": -1}, {"axis": (0, 1), "keepdims": True}):
            found, want = again(given, **attrs), function_of(entry)(given, **attrs)
            assert (found.dtype, found.shape) == (want.dtype, want.shape)
            rough = 1e-3 if dtype in ("float16", "complex64") else 1e-12
            np.testing.assert_allclose(np.asarray(found), np.asarray(want), rough, rough)
    if is_differentiable(entry):
        by_hand = gradients(function_of(entry), [x[..., :4]], {"axis": 1})
        found = gradients(again, [x[..., :4]], {"axis": 1})
        np.testing.assert_allclose(found[0], by_hand[0], 1e-9, 1e-12, strict=True)

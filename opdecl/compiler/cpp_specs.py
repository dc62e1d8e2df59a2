"""Specs as C++ expressions: designated initialisers in the order of csrc/op/spec.h.

What has its default value is left out, so that the tables show what an entry says.
"""

from __future__ import annotations

from collections.abc import Iterable

from .cpp import attr_literal, number_literal, text_literal
from .model import CATEGORIES
from .specs import (
    ArgSpec,
    AttrExpr,
    AttrSpec,
    Body,
    Condition,
    FunctionSpec,
    Grad,
    MemorySpec,
    OpSpec,
    ReductionSpec,
    ScalarSpec,
    Spec,
    Step,
)

RESULTS = {
    "bool": "Result::kBool",
    "int64": "Result::kInt64",
    "sum": "Result::kSum",
    "real": "Result::kReal",
    "complex": "Result::kComplex",
}


COMPUTES_IN = {"result": "ComputesIn::kResult", "promoted": "ComputesIn::kPromoted"}


def _braces(items: Iterable[str]) -> str:
    return "{" + ", ".join(items) + "}"


def _fields(name: str, fields: Iterable[tuple[str, str]]) -> str:
    """A designated initialiser; what is empty keeps its default."""
    return name + _braces(f".{field} = {text}" for field, text in fields if text)


def _list(items: Iterable[str]) -> str:
    """A list, or "" for its default."""
    text = _braces(items)
    return "" if text == "{}" else text


def _text(text: str) -> str:
    return text_literal(text) if text else ""


def spec_text(spec: Spec) -> str:
    """A spec as an expression of C++."""
    if isinstance(spec, ScalarSpec):
        return _scalar(spec)
    if isinstance(spec, ReductionSpec):
        return _reduction(spec)
    if isinstance(spec, OpSpec):
        return _op(spec)
    return _function(spec)


def _scalar(spec: ScalarSpec) -> str:
    return _fields(
        "ScalarSpec",
        [
            ("name", text_literal(spec.name)),
            ("args", _braces(map(_arg, spec.args))),
            ("result", RESULTS.get(spec.result, "")),
            ("outputs", str(spec.outputs) if spec.outputs != 1 else ""),
            ("grads", _list(map(_grad, spec.grads))),
            ("complex_grads", _list(map(_grad, spec.complex_grads))),
            ("differentiable", "" if spec.differentiable else "false"),
            ("expansion", _body(spec.expansion)),
            ("derived", "true" if spec.derived else ""),
            ("unchanged", f"Category::{CATEGORIES[spec.unchanged].cpp}" if spec.unchanged else ""),
            ("conditions", _list(map(_condition, spec.conditions))),
            ("source", _text(spec.source)),
        ],
    )


def _reduction(spec: ReductionSpec) -> str:
    return _fields(
        "ReductionSpec",
        [
            ("name", text_literal(spec.name)),
            ("arg", _arg(spec.arg)),
            ("result", RESULTS.get(spec.result, "")),
            ("grads", _list(map(_grad, spec.grads))),
            ("complex_grads", _list(map(_grad, spec.complex_grads))),
            ("differentiable", "" if spec.differentiable else "false"),
            ("has_identity", "" if spec.has_identity else "false"),
            ("single_axis", "true" if spec.single_axis else ""),
            ("linear", "true" if spec.linear else ""),
            ("source", _text(spec.source)),
        ],
    )


def _op(spec: OpSpec) -> str:
    return _fields(
        "OpSpec",
        [
            ("name", text_literal(spec.name)),
            ("args", _braces(map(_arg, spec.args))),
            ("attrs", _list(map(_attr_spec, spec.attrs))),
            ("outputs", str(spec.outputs) if spec.outputs != 1 else ""),
            ("infer", _text(spec.infer)),
            ("kernel", _text(spec.kernel)),
            ("grad", _text(spec.grad)),
            ("grads", _list(map(_grad, spec.grads))),
            ("complex_grads", _list(map(_grad, spec.complex_grads))),
            ("differentiable", "" if spec.differentiable else "false"),
            ("define", _body(spec.define)),
            ("expand", _text(spec.expand)),
            ("linear", _list(_braces(map(str, group)) for group in spec.linear)),
            ("batch", _text(spec.batch)),
            ("memory", _memory(spec.memory)),
            ("conditions", _list(map(_condition, spec.conditions))),
            ("source", _text(spec.source)),
        ],
    )


def _memory(spec: MemorySpec) -> str:
    if spec == MemorySpec():
        return ""
    return _fields(
        "MemorySpec",
        [
            ("view", "true" if spec.view else ""),
            ("contiguous", str(spec.contiguous) if spec.contiguous else ""),
            ("computes_in", COMPUTES_IN.get(spec.computes_in, "")),
            ("reuses", str(spec.reuses) if spec.reuses >= 0 else ""),
        ],
    )


def _function(spec: FunctionSpec) -> str:
    fixed = [_braces([text_literal(name), attr_literal(value)]) for name, value in spec.fixed]
    return _fields(
        "FunctionSpec",
        [
            ("name", text_literal(spec.name)),
            ("op", text_literal(spec.op)),
            ("fixed", _list(fixed)),
            ("args", _list(map(_arg, spec.args))),
            ("attrs", _list(map(_attr_spec, spec.attrs))),
        ],
    )


def _arg(arg: ArgSpec) -> str:
    fields = [text_literal(arg.name), f"Category::{CATEGORIES[arg.category].cpp}"]
    flags = ["true", "true"] if arg.optional else ["true"] * arg.variadic
    if arg.fallback is not None:
        flags = ["false", "false", attr_literal(arg.fallback)]
    return "ArgSpec" + _braces([*fields, *flags])


def _attr_spec(attr: AttrSpec) -> str:
    fields = [text_literal(attr.name), text_literal(attr.type)]
    if not attr.required:
        fields.append("false")
        if attr.fallback is not None:
            fields.append(attr_literal(attr.fallback))
    return "AttrSpec" + _braces(fields)


def _grad(grad: Grad) -> str:
    return f"Grad{{{grad.input}, {_body(grad.body) or 'Body{}'}}}"


def _condition(condition: Condition) -> str:
    return f"Condition{{{text_literal(condition.text)}, {_body(condition.body)}}}"


def _body(body: Body) -> str:
    if not body.results:
        return ""
    constants = (
        f"int64_t{{{value}}}" if type(value) is int else number_literal(value)
        for value in body.constants
    )
    return _fields(
        "Body",
        [
            ("inputs", str(body.inputs) if body.inputs else ""),
            ("constants", _list(constants)),
            ("steps", _list(map(_step, body.steps))),
            ("results", _braces(map(str, body.results))),
        ],
    )


def _step(step: Step) -> str:
    fields = [text_literal(step.call), _braces(map(str, step.args))]
    if step.attrs:
        pairs = (_braces([text_literal(name), _attr(attr)]) for name, attr in step.attrs)
        fields.append(_braces(pairs))
    return "Step" + _braces(fields)


def _attr(attr: AttrExpr) -> str:
    match attr.kind:
        case "attr":
            return f"attr({text_literal(attr.attr)})"
        case "shape":
            return f"shape_of({attr.slot})"
        case "dim":
            return f"dim_of({attr.slot}, {attr.dim})"
        case "dtype":
            return f"dtype_of_slot({attr.slot})"
        case "arithmetic":
            return f"arithmetic({text_literal(attr.attr)}, {_braces(map(_attr, attr.parts))})"
        case "tuple":
            return f"tuple_of({_braces(map(_attr, attr.parts))})"
    return f"literal({attr_literal(attr.literal)})"

"""Specs as C++ expressions: designated initialisers in the order of csrc/op/spec.h.

What has its default value is left out, so that the tables show what an entry says.
"""

from __future__ import annotations

from .cpp import attr_literal, number_literal, text_literal
from .cpp_shapes import attr_text, braces, fields_text, list_text, shapes_text
from .model import CATEGORIES
from .specs import (
    ArgSpec,
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
    return fields_text(
        "ScalarSpec",
        [
            ("name", text_literal(spec.name)),
            ("args", braces(map(_arg, spec.args))),
            ("result", RESULTS.get(spec.result, "")),
            ("outputs", str(spec.outputs) if spec.outputs != 1 else ""),
            ("grads", list_text(map(_grad, spec.grads))),
            ("complex_grads", list_text(map(_grad, spec.complex_grads))),
            ("differentiable", "" if spec.differentiable else "false"),
            ("expansion", _body(spec.expansion)),
            ("derived", "true" if spec.derived else ""),
            ("unchanged", f"Category::{CATEGORIES[spec.unchanged].cpp}" if spec.unchanged else ""),
            ("conditions", list_text(map(_condition, spec.conditions))),
            ("linear", _groups(spec.linear)),
            ("source", _text(spec.source)),
        ],
    )


def _groups(groups: tuple[tuple[int, ...], ...]) -> str:
    return list_text(braces(map(str, group)) for group in groups)


def _reduction(spec: ReductionSpec) -> str:
    return fields_text(
        "ReductionSpec",
        [
            ("name", text_literal(spec.name)),
            ("arg", _arg(spec.arg)),
            ("result", RESULTS.get(spec.result, "")),
            ("grads", list_text(map(_grad, spec.grads))),
            ("complex_grads", list_text(map(_grad, spec.complex_grads))),
            ("differentiable", "" if spec.differentiable else "false"),
            ("has_identity", "" if spec.has_identity else "false"),
            ("single_axis", "true" if spec.single_axis else ""),
            ("linear", "true" if spec.linear else ""),
            ("source", _text(spec.source)),
        ],
    )


def _op(spec: OpSpec) -> str:
    return fields_text(
        "OpSpec",
        [
            ("name", text_literal(spec.name)),
            ("args", braces(map(_arg, spec.args))),
            ("attrs", list_text(map(_attr_spec, spec.attrs))),
            ("outputs", str(spec.outputs) if spec.outputs != 1 else ""),
            ("infer", _text(spec.infer)),
            ("kernel", _text(spec.kernel)),
            ("grad", _text(spec.grad)),
            ("grads", list_text(map(_grad, spec.grads))),
            ("complex_grads", list_text(map(_grad, spec.complex_grads))),
            ("differentiable", "" if spec.differentiable else "false"),
            ("define", _body(spec.define)),
            ("expand", _text(spec.expand)),
            ("linear", _groups(spec.linear)),
            ("batch", _text(spec.batch)),
            ("memory", _memory(spec.memory)),
            ("conditions", list_text(map(_condition, spec.conditions))),
            ("shapes", shapes_text(spec.shapes)),
            ("effects", _text(spec.effects)),
            ("channels", _groups(spec.channels)),
            ("source", _text(spec.source)),
            ("version", str(spec.version) if spec.version != 1 else ""),
        ],
    )


def _memory(spec: MemorySpec) -> str:
    if spec == MemorySpec():
        return ""
    return fields_text(
        "MemorySpec",
        [
            ("view", "true" if spec.view else ""),
            ("contiguous", str(spec.contiguous) if spec.contiguous else ""),
            ("computes_in", COMPUTES_IN.get(spec.computes_in, "")),
            ("reuses", str(spec.reuses) if spec.reuses >= 0 else ""),
        ],
    )


def _function(spec: FunctionSpec) -> str:
    fixed = [braces([text_literal(name), attr_literal(value)]) for name, value in spec.fixed]
    return fields_text(
        "FunctionSpec",
        [
            ("name", text_literal(spec.name)),
            ("op", text_literal(spec.op)),
            ("fixed", list_text(fixed)),
            ("args", list_text(map(_arg, spec.args))),
            ("attrs", list_text(map(_attr_spec, spec.attrs))),
        ],
    )


def _arg(arg: ArgSpec) -> str:
    fields = [text_literal(arg.name), f"Category::{CATEGORIES[arg.category].cpp}"]
    flags = ["true", "true"] if arg.optional else ["true"] * arg.variadic
    if arg.fallback is not None:
        flags = ["false", "false", attr_literal(arg.fallback)]
    return "ArgSpec" + braces([*fields, *flags])


def _attr_spec(attr: AttrSpec) -> str:
    fields = [text_literal(attr.name), f"attr_type({text_literal(attr.type)})"]
    if not attr.required:
        fields.append("false")
        if attr.fallback is not None or attr.choices:
            fields.append(attr_literal(attr.fallback))
    elif attr.choices:
        fields += ["true", "{}"]
    if attr.choices:
        fields.append(braces(map(text_literal, attr.choices)))
    return "AttrSpec" + braces(fields)


def _grad(grad: Grad) -> str:
    fields = [str(grad.input), _body(grad.body) or "Body{}"]
    if grad.adds_up or grad.match or grad.beside:
        fields += [
            number_literal(grad.adds_up),
            text_literal(grad.match),
            text_literal(grad.choice),
        ]
    if grad.beside:
        fields.append(braces(map(str, grad.beside)))
    return f"Grad{braces(fields)}"


def _condition(condition: Condition) -> str:
    return f"Condition{{{text_literal(condition.text)}, {_body(condition.body)}}}"


def _body(body: Body) -> str:
    if not body.results:
        return ""
    constants = (
        f"int64_t{{{value}}}" if type(value) is int else number_literal(value)
        for value in body.constants
    )
    return fields_text(
        "Body",
        [
            ("inputs", str(body.inputs) if body.inputs else ""),
            ("constants", list_text(constants)),
            ("steps", list_text(map(_step, body.steps))),
            ("results", braces(map(str, body.results))),
        ],
    )


def _step(step: Step) -> str:
    fields = [text_literal(step.call), braces(map(str, step.args))]
    if step.attrs or step.outputs != 1:
        pairs = (braces([text_literal(name), attr_text(attr)]) for name, attr in step.attrs)
        fields.append(braces(pairs))
    if step.outputs != 1:
        fields.append(str(step.outputs))
    return "Step" + braces(fields)

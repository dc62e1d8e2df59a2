"""Declared shapes, and what attributes of steps are, as C++ expressions: see cpp_specs."""

from __future__ import annotations

from collections.abc import Iterable

from .cpp import attr_literal, text_literal
from .specs import ArgShape, AttrExpr, ResultShape, ShapeCase, ShapePart, ShapeSpec

_PARTS = {"group": "kGroup", "resized": "kResized", "reduced": "kReduced",
          "reducedsome": "kReducedSome", "held": "kHeld", "permuted": "kPermuted"}  # fmt: skip
_RESULTS = {"real": "kReal", "complex": "kComplex", "arg": "kArg", "given": "kGiven",
            "attr": "kAttr", "scalar": "kScalar"}  # fmt: skip
_ALWAYS = AttrExpr("literal", literal=True)
_NOTHING = AttrExpr("literal")


def braces(items: Iterable[str]) -> str:
    return "{" + ", ".join(items) + "}"


def fields_text(name: str, fields: Iterable[tuple[str, str]]) -> str:
    """A designated initialiser; what is empty keeps its default."""
    return name + braces(f".{field} = {text}" for field, text in fields if text)


def list_text(items: Iterable[str]) -> str:
    """A list, or "" for its default."""
    text = braces(items)
    return "" if text == "{}" else text


def shapes_text(spec: ShapeSpec) -> str:
    """Declared inference, or "" where there is none."""
    if not spec.cases:
        return ""
    conditions = (
        f"SizeCondition{{{text_literal(each.text)}, {attr_text(each.holds)}}}"
        for each in spec.conditions
    )
    return fields_text(
        "ShapeSpec",
        [
            ("sizes", str(spec.sizes) if spec.sizes else ""),
            ("groups", str(spec.groups)),
            ("broadcast", str(spec.broadcast) if spec.broadcast >= 0 else ""),
            ("cases", list_text(map(_case, spec.cases))),
            ("conditions", list_text(conditions)),
        ],
    )


def _case(case: ShapeCase) -> str:
    return fields_text(
        "ShapeCase",
        [
            ("when", attr_text(case.when) if case.when != _ALWAYS else ""),
            ("args", list_text(map(_arg, case.args))),
            ("results", list_text(map(_result, case.results))),
        ],
    )


def _arg(arg: ArgShape) -> str:
    return fields_text(
        "ArgShape",
        [
            ("arg", str(arg.arg)),
            ("broadcasts", "true" if arg.broadcasts else ""),
            ("parts", list_text(map(_part, arg.parts))),
            ("text", text_literal(arg.text) if arg.text else ""),
        ],
    )


def _result(result: ResultShape) -> str:
    return fields_text(
        "ResultShape",
        [
            ("of", f"ResultShape::Of::{_RESULTS[result.of]}" if result.of in _RESULTS else ""),
            ("from", str(result.start) if result.start else ""),
            ("dtype", f"DType::k{_dtype(result.dtype)}" if result.dtype else ""),
            ("parts", list_text(map(_part, result.parts))),
            ("when", attr_text(result.when) if result.when != _ALWAYS else ""),
        ],
    )


def _dtype(name: str) -> str:
    """`uint8` is kUInt8 there."""
    return name.capitalize().replace("Uint", "UInt").replace("Bfloat", "BFloat")


def _part(part: ShapePart) -> str:
    return fields_text(
        "ShapePart",
        [
            ("kind", f"ShapePart::Kind::{_PARTS[part.kind]}" if part.kind in _PARTS else ""),
            ("group", str(part.group) if part.group else ""),
            ("size", attr_text(part.size) if part.size != _NOTHING else ""),
            ("axis", attr_text(part.axis) if part.axis != _NOTHING else ""),
        ],
    )


def attr_text(attr: AttrExpr) -> str:
    match attr.kind:
        case "attr":
            return f"attr({text_literal(attr.attr)})"
        case "shape":
            return f"shape_of({attr.slot})"
        case "dim" if attr.parts:
            along = attr_text(attr.parts[0])
            return f"dim_along({attr.slot}, {text_literal(attr.attr)}, {along})"
        case "dim":
            return f"dim_of({attr.slot}, {attr.dim})"
        case "dtype":
            return f"dtype_of_slot({attr.slot})"
        case "flows":
            return f"flows_into({attr.slot})"
        case "arithmetic":
            return f"arithmetic({text_literal(attr.attr)}, {braces(map(attr_text, attr.parts))})"
        case "tuple":
            return f"tuple_of({braces(map(attr_text, attr.parts))})"
        case "size" | "rank":
            maker = {"size": "size_of_slot", "rank": "rank_of"}[attr.kind]
            return f"{maker}({attr.slot}, {text_literal(attr.attr)})"
    return f"literal({attr_literal(attr.literal)})"

"""Trees become straight-line bodies.

Equal subexpressions are equal nodes, so numbering the nodes is common-subexpression elimination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from .expression import ATTRIBUTE, RESULT, Attr, Call, Expr, Name, Num, Value, topological
from .specs import AttrExpr, Body, Step


def lower_body(results: Sequence[Expr], inputs: Sequence[str]) -> Body:
    """Numbers the nodes below `results`; names that are no inputs are attributes of the op."""
    order = topological(results)
    slots: dict[Expr, int] = {Name(name): i for i, name in enumerate(inputs)}
    constants: list[Value] = []
    for node in order:
        if isinstance(node, Num):
            slots[node] = len(inputs) + len(constants)
            constants.append(node.value)
    counts = {node.args[0]: _literal_of(node, 1) for node in order if _is_result(node)}
    steps: list[Step] = []
    next_slot = len(inputs) + len(constants)
    for node in order:
        if _is_result(node):
            slots[node] = slots[node.args[0]] + _literal_of(node, 0)
            continue
        if isinstance(node, Name) and node not in slots:
            steps.append(Step(ATTRIBUTE, (), ((node.id, AttrExpr("attr", attr=node.id)),)))
        elif isinstance(node, Call):
            attrs = tuple((name, _lower_attr(attr, slots)) for name, attr in node.attrs)
            args = tuple(slots[arg] for arg in node.args)
            steps.append(Step(node.function, args, attrs, counts.get(node, 1)))
        else:
            continue
        slots[node] = next_slot
        next_slot += steps[-1].outputs
    return Body(
        len(inputs), tuple(constants), tuple(steps), tuple(slots[result] for result in results)
    )


def _is_result(node: Expr) -> TypeGuard[Call]:
    return isinstance(node, Call) and node.function == RESULT


def _literal_of(node: Call, attr: int) -> int:
    value = node.attrs[attr][1].literal
    assert isinstance(value, int), "the parser writes numbers here"
    return value


def _lower_attr(attr: Attr, slots: dict[Expr, int]) -> AttrExpr:
    if attr.kind == "literal":
        return AttrExpr("literal", literal=attr.literal)
    parts = tuple(_lower_attr(part, slots) for part in attr.parts)
    if attr.kind in ("arithmetic", "tuple", "list"):
        kind = attr.kind if attr.kind == "tuple" else "arithmetic"
        return AttrExpr(kind, attr=attr.name, parts=parts)
    if attr.kind == "size" and attr.of is not None:
        shape = AttrExpr("shape", slot=slots[attr.of])
        return AttrExpr("arithmetic", attr="size", parts=(shape,))
    if attr.kind == "attr" or attr.of is None:
        return AttrExpr("attr", attr=attr.name)
    return AttrExpr(attr.kind, slot=slots[attr.of], dim=attr.dim, parts=parts)


def sharing(rules: Mapping[int, Expr]) -> list[list[int]]:
    """The numbers of rules, those together that share a call: it is made once for all of them."""
    groups: list[tuple[list[int], set[Expr]]] = []
    for i, rule in rules.items():
        members = [i]
        calls: set[Expr] = {node for node in topological([rule]) if isinstance(node, Call)}
        for group in [group for group in groups if group[1] & calls]:
            groups.remove(group)
            members = [*group[0], *members]
            calls |= group[1]
        groups.append((members, calls))
    return [members for members, _ in groups]

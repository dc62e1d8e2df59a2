"""The key `flops`: what is refused, and that declared costs are what products take."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
from tensorlike.opdecl.compiler.costs import flops_in
from tensorlike.ops.entries import entry_named, entry_of, flops_of

ENTRY = """
- op: Flopped
  args: [x: real floating-point, "w: real floating-point"]
  attrs: {{axis: {{type: int, default: 0}}, name: {{type: str, default: a}}}}
  define: x * w
  flops: {flops}
  doc: A product.
"""


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("2 * size(x)", 12),
        ("shape(x)[0] * shape(w)[-1] - ndim(x)", 2 * 3 - 2),
        ("(size(x) + size(y)) // 3 * axis", 4 * 7),
    ],
)
def test_an_expression_is_calculated_from_shapes_and_attributes(text: str, count: int) -> None:
    shapes = {"x": (2, 3), "w": (2, 3), "y": (2, 3)}
    assert flops_in(text, shapes, {"axis": 7}) == count


@pytest.mark.parametrize(
    "text",
    [
        "size(z)", "shape(x)", "shape(x)[axis]", "size(x) / 2", "size(x) ** 2", "name", "1.5",
        "'__import__(\"os\")'", "size(x).real", "size(x, w)", "max(2, 3)", "True", "x", "2 *", "((",
    ],
)  # fmt: skip
def test_what_cannot_be_calculated_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="flops: "):
        tl.declare(ENTRY.format(flops=f'"{text}"' if '"' not in text else text))


def test_an_expression_that_reads_what_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be calculated"):
        flops_in("size(bias)", {"x": (2,)}, {})
    with pytest.raises(ValueError, match="cannot be calculated"):
        flops_in("shape(x)[3]", {"x": (2,)}, {})


SHAPES: dict[str, Any] = {
    "MatMul": ({}, [(5, 2, 3), (3, 4)], [(5, 2, 4)], 2 * 5 * 2 * 3 * 4),
    "Linear": ({}, [(2, 3), (3, 4), (4,)], [(2, 4)], 2 * 2 * 3 * 4),
    "QuantizedLinear": ({}, [(2, 3), (3, 4), (), (4,), (4,)], [(2, 4)], 2 * 2 * 3 * 4),
    "DynamicQuantizedLinear": ({}, [(2, 3), (3, 4), (4,), (4,)], [(2, 4)], 2 * 2 * 3 * 4),
    "MatmulInteger": ({}, [(5, 2, 3), (3, 4), (), ()], [(5, 2, 4)], 2 * 5 * 2 * 3 * 4),
    "ConvInteger": ({}, [(2, 3, 8, 8), (4, 3, 3, 3), (), ()], [(2, 4, 6, 6)], 2 * 2 * 4 * 36 * 27),
    "RequantizedConvolution": (
        {}, [(2, 3, 8, 8), (4, 3, 3, 3), (), (), (4,), (4,), ()], [(2, 4, 6, 6)],
        2 * 2 * 4 * 36 * 27,
    ),
    "QuantizedConvolution": (
        {}, [(2, 3, 8, 8), (4, 3, 3, 3), (), (4,), (4,)], [(2, 4, 6, 6)], 2 * 2 * 4 * 36 * 27,
    ),
    "DynamicQuantizedConvolution": (
        {}, [(2, 3, 8, 8), (4, 3, 3, 3), (4,), (4,)], [(2, 4, 6, 6)], 2 * 2 * 4 * 36 * 27,
    ),
    "Convolution": ({}, [(2, 3, 8, 8), (4, 3, 3, 3)], [(2, 4, 6, 6)], 2 * 2 * 4 * 36 * 27),
    "ConvolutionTranspose": ({}, [(2, 4, 6, 6), (4, 3, 3, 3)], [(2, 3, 8, 8)], 2 * 2 * 144 * 27),
    "ConvolutionWeight": (
        {"kernel": (3, 3)}, [(2, 3, 8, 8), (2, 4, 6, 6)], [(4, 3, 3, 3)], 2 * 2 * 4 * 36 * 27,
    ),
    "Attention": ({}, [(2, 5, 8), (2, 7, 8), (2, 7, 6)], [(2, 5, 6)], 2 * 2 * 5 * 7 * (8 + 6)),
    "AttentionGrad": (
        {}, [(2, 5, 8), (2, 7, 8), (2, 7, 8), (2, 5, 8)], [(2, 5, 8), (2, 7, 8), (2, 7, 8)],
        5 * 2 * 2 * 5 * 7 * 8,
    ),
    "Recurrence": ({"cell": "lstm"}, [(7, 2, 12), (12, 3), (2, 3)], [(7, 2, 3)], 2 * 14 * 12 * 3),
    "DynamicQuantizedLSTM": (
        {}, [(7, 2, 12), (12, 3), (), (), (2, 3), (2, 3), ()], [(7, 2, 3), (2, 3), (2, 3)],
        2 * 14 * 12 * 3,
    ),
    "RecurrenceGrad": (
        {"cell": "lstm"}, [(12, 3), (2, 3), (7, 2, 3), (7, 2, 3)], [(7, 2, 12), (12, 3)],
        2 * 2 * 14 * 12 * 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_declared_costs_are_two_for_each_product(name: str) -> None:
    attrs, inputs, outputs, count = SHAPES[name]
    op = getattr(tl.ops, name)(**attrs)
    assert flops_of(op, inputs, outputs) == count


def test_every_op_with_costs_is_held_here() -> None:
    declared = {x for x in tl.ops.__all__ if entry_named(x).is_product}
    assert declared == set(SHAPES)
    assert flops_of(tl.ops.Reshape(shape=(2,)), [(2, 1)], [(2,)]) is None


def test_entries_are_found_by_op_scalar_function_and_reduction() -> None:
    assert entry_of(tl.ops.Elemwise(mode="gelu")).text.startswith("- scalar: gelu\n")
    assert entry_of(tl.ops.Elemwise(mode="gelu_dx")).name == "gelu"
    assert entry_of(tl.ops.Reduce(mode="mean")).text.startswith("- reduction: mean\n")
    assert entry_of(tl.ops.Transpose(axes=(1, 0))).is_view
    assert entry_named("nothing of the kind").text == ""
    for name in ("Attention", "MatMul", "gelu", "mean"):
        assert "\n- " not in entry_named(name).text.replace('\n    - "', "")


def test_the_entry_of_an_op_declared_at_run_time_is_its_own() -> None:
    ops = tl.declare(ENTRY.format(flops="3 * size(y)"))
    x = tl.ones((2, 3))
    assert ops.flopped(x, x).shape == (2, 3)
    assert entry_named("Flopped").key("flops") == "3 * size(y)"
    assert entry_named("Flopped").args == ("x", "w")

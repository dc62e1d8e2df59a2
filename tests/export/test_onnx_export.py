"""Every functional call, and its gradient, exported to ONNX and run in ONNX Runtime.

Sizes are known in one model of each, and the leading one is not in another, which is run at two.
A third of the calls always goes through, all of them with the slow tests. What ONNX cannot say is
listed with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.exported_models import check_known, check_unknown, model_of, narrowed
from support.network_calls import CALLS, NetworkCall
from support.unknown_sizes import gradients

import tensorlike as tl
from tensorlike.opdecl import load_builtin
from tensorlike.testing.corpus import Example, examples

COMPLEX = "ONNX has no ops for complex64"
RANDOM = "it draws random numbers, which ONNX cannot draw the same"
NOTHING = "neither ONNX nor its declaration says what it is made of"
# Matrices are factored, and alignments summed, by no op of ONNX, and by no body of ours.
REFUSED = {
    **dict.fromkeys(["complex", "eig", "eigvals"], COMPLEX),
    **dict.fromkeys(["dropout", "random_from"], RANDOM),
    **dict.fromkeys(
        [
            "eigh", "eigvalsh", "lstsq", "lu_factors", "matrix_exp", "qr", "svd",
            "svdvals",
        ],
        NOTHING,
    ),
}  # fmt: skip
# Gradients whose rules call one of these.
REFUSED_GRADIENTS = {"cofactor": NOTHING}
# What is sorted is so no more when its rows are repeated.
KNOWN_ALONE = {"searchsorted"}
# Recorded with sizes that follow from elements, to which it cannot broadcast.
NOT_RECORDED = {"masked_scatter"}


def floating_point_of_32_bits(example: Example) -> Example:
    names = {name: "float32" for name, value in example.attrs.items() if value == "float64"}
    example.attrs |= names
    return example


EXAMPLES = [floating_point_of_32_bits(e) for e in examples(tuple(load_builtin().functions))]


def a_third(cases: Sequence[Any]) -> list[Any]:
    """All of them, of which two thirds are slow."""
    marks = [pytest.mark.slow]
    return [
        pytest.param(case, marks=marks if i % 3 else [], id=name_of(case))
        for i, case in enumerate(cases)
    ]


def name_of(case: Any) -> str:
    return case.entry.function if isinstance(case, Example) else str(case)


def arrays_of(example: Example) -> list[Any]:
    return [narrowed(x) for _, x in example.arrays]


@pytest.mark.parametrize("example", a_third([e for e in EXAMPLES if name_of(e) not in REFUSED]))
def test_a_function_is_in_onnx_runtime_what_it_is_here(example: Example) -> None:
    arrays = arrays_of(example)
    check_known(example, arrays)
    if name_of(example) not in KNOWN_ALONE and name_of(example) != "ctc_grad":
        check_unknown(example, arrays)


HAVE_GRADIENTS = [
    e
    for e in EXAMPLES
    if e.has_gradient and name_of(e) not in {**REFUSED, **REFUSED_GRADIENTS}
    and name_of(e) not in NOT_RECORDED
]  # fmt: skip


@pytest.mark.parametrize("example", a_third(HAVE_GRADIENTS))
def test_a_gradient_is_in_onnx_runtime_what_it_is_here(example: Example) -> None:
    check_known(gradients(example, example.moving()), arrays_of(example))


@pytest.mark.parametrize("name", REFUSED)
def test_what_onnx_cannot_say_is_refused_by_name(name: str) -> None:
    example = next(e for e in EXAMPLES if name_of(e) == name)
    with pytest.raises(tl.ArgumentError) as caught:
        model_of(example, arrays_of(example))
    assert REFUSED[name] in str(caught.value)


@pytest.mark.parametrize("name", REFUSED_GRADIENTS)
def test_a_gradient_that_onnx_cannot_say_is_refused(name: str) -> None:
    example = next(e for e in EXAMPLES if name_of(e) == name)
    with pytest.raises(tl.ArgumentError) as caught:
        model_of(gradients(example, example.moving()), arrays_of(example))
    assert REFUSED_GRADIENTS[name] in str(caught.value)


def is_refused(call: NetworkCall) -> bool:
    return call.name.startswith("gumbel_softmax")


NETWORK_CALLS = [call for call in CALLS if not is_refused(call)]


@pytest.mark.parametrize("call", a_third(NETWORK_CALLS))
def test_a_call_of_networks_is_in_onnx_runtime_what_it_is_here(call: NetworkCall) -> None:
    arrays = [narrowed(x) for x in call.arrays()]
    check_known(call.ours, arrays)
    check_unknown(call.ours, arrays)


@pytest.mark.slow
@pytest.mark.parametrize("call", NETWORK_CALLS, ids=str)
def test_a_gradient_of_networks_is_in_onnx_runtime_what_it_is_here(call: NetworkCall) -> None:
    arrays = [narrowed(x) for x in call.arrays()]
    moving = [i for i, x in enumerate(arrays) if x.dtype.kind == "f"]
    check_known(gradients(call.ours, moving), arrays)


@pytest.mark.parametrize("call", [call for call in CALLS if is_refused(call)], ids=str)
def test_a_call_of_networks_that_onnx_cannot_say_is_refused(call: NetworkCall) -> None:
    with pytest.raises(tl.ArgumentError, match="must be ops that ONNX can say"):
        model_of(call.ours, [narrowed(x) for x in call.arrays()])


@pytest.mark.slow
@pytest.mark.parametrize("opset", [18, 26])
@pytest.mark.parametrize("example", [e for e in EXAMPLES if name_of(e) not in REFUSED], ids=name_of)
def test_a_function_is_exported_in_the_first_and_the_last_opset(
    example: Example, opset: int
) -> None:
    check_known(example, arrays_of(example), opset)


def test_the_documentation_counts_right() -> None:
    entries = load_builtin().entries
    counts = [
        f"{sum(bool(e.onnx) for e in entries)} of {len(entries)} entries",
        f"Of {len(EXAMPLES)} declared functions that take tensors "
        f"{len(EXAMPLES) - len(REFUSED)} are",
        f"of {len(CALLS)} calls of networks",
        f"{len(NETWORK_CALLS)}, with as many gradients",
    ]
    text = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text()
    for count in counts:
        assert count in text, count

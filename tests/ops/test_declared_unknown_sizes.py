"""Every declared function, and its gradient, recorded with an unknown size and run at several."""

from __future__ import annotations

import pytest
from support.unknown_sizes import gradients, refusals

import tensorlike as tl
from tensorlike.opdecl import load_builtin
from tensorlike.testing.corpus import Example, examples

EXAMPLES = examples(tuple(load_builtin().functions))
# The smaller of two sizes is known of large ones alone: they refuse fewer rows than columns.
BY_ORDER = {"qr", "svd", "svdvals", "lu_factors", "lstsq"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.entry.function)
def test_a_function_of_an_unknown_size_is_that_of_each_size(example: Example) -> None:
    arrays = [x for _, x in example.arrays]
    assert bool(refusals(example, arrays)) == (example.entry.function in BY_ORDER)


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.has_gradient],
    ids=lambda example: example.entry.function,
)
def test_a_gradient_of_an_unknown_size_is_that_of_each_size(example: Example) -> None:
    arrays = [x for _, x in example.arrays]
    call = gradients(example, example.moving())
    name = example.entry.function
    if name == "ctc_grad":  # a part for each of unknown many steps
        with pytest.raises(tl.ShapeError):
            refusals(call, arrays)
        return
    refused = refusals(call, arrays)
    assert refused is None or bool(refused) == (name in BY_ORDER), refused

"""P12: every declared function, and its gradient, once at once and once as a program.

No function is exempt; results are the same bits. One gradient is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.unknown_sizes import array, gradients, leaves

import tensorlike as tl
from tensorlike import static
from tensorlike.opdecl import load_builtin
from tensorlike.testing.corpus import Example, examples

EXAMPLES = examples(tuple(load_builtin().functions))
# Whether the value was broadcast depends on how many elements the mask picks.
REFUSED = {"masked_scatter"}


def run_both(call: Any, arrays: list[Any]) -> None:
    tl.manual_seed(5)
    wanted = leaves(call(*map(tl.tensor, arrays)))
    with static.program_guard(static.Program(), static.Program()) as main:
        given = [
            tl.Tensor(static.data(f"x{i}", x.shape, tl.tensor(x).dtype))
            for i, x in enumerate(arrays)
        ]
        results = leaves(call(*given))
    feed = {f"x{i}": x for i, x in enumerate(arrays)}
    tl.manual_seed(5)
    found = static.Executor().run(main, feed, results, static.Scope())
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(x, array(y), strict=True)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.entry.function)
def test_P12_a_function_in_a_program_is_the_function(example: Example) -> None:
    run_both(example, [x for _, x in example.arrays])


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.has_gradient],
    ids=lambda example: example.entry.function,
)
def test_P12_a_gradient_in_a_program_is_the_gradient(example: Example) -> None:
    call, arrays = gradients(example, example.moving()), [x for _, x in example.arrays]
    if example.entry.function in REFUSED:
        with pytest.raises(tl.ShapeError, match="must broadcast"):
            run_both(call, arrays)
        return
    run_both(call, arrays)

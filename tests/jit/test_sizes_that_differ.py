"""Sizes that a program with unknown sizes does not take: calls give what eager code gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit

# Each asks of the first size what large sizes answer in another way than small ones.
QUESTIONS = {
    "if": lambda x: x * 2 if x.shape[0] > 3 else -x,
    "elif": lambda x: x * 2 if x.shape[0] > 4 else -x if x.shape[0] == 1 else x + 1,
    "last": lambda x: x[-3:],
    "first": lambda x: x[:4] * 2,
    "back": lambda x: x[5:0:-2],
    "within": lambda x: F.cond(F.sum(x) > -100.0, lambda: F.tanh(x[-2:]), lambda: x[-2:] * 0.5),
    "both": lambda x: x[:2].sum() + (x[1:].sum() if len(x) > 2 else x.sum()),
    "least": lambda x: F.sum(x[: min(x.shape[0], 3)]),
}


@pytest.mark.parametrize("name", sorted(QUESTIONS))
@pytest.mark.parametrize("way", ["trace", "to_static", "input_spec"])
@pytest.mark.parametrize("seed", range(3))
def test_sizes_in_any_order_give_what_eager_code_gives(name: str, way: str, seed: int) -> None:
    function = QUESTIONS[name]
    spec = [jit.InputSpec((None,))] if way == "input_spec" else None
    made: Any = jit.to_static if way == "to_static" else jit.trace
    traced = made(input_spec=spec)(function)
    rng = np.random.default_rng(seed)
    for count in [*rng.permutation(9), *rng.permutation(9)]:
        x = tl.tensor(rng.standard_normal(count).astype(np.float32))
        np.testing.assert_array_equal(traced(x).numpy(), function(x).numpy(), err_msg=str(count))


def test_sizes_of_one_name_in_input_specs_are_equal() -> None:
    traced = jit.trace(input_spec=[jit.InputSpec(("n", 2)), jit.InputSpec(("n",))])(
        lambda x, y: F.sum(x, axis=1) + y
    )
    assert traced(tl.ones((3, 2)), tl.ones(3)).tolist() == [3.0] * 3
    with pytest.raises(tl.ShapeError, match="of its InputSpec, with n=3"):
        traced(tl.ones((3, 2)), tl.ones(1))

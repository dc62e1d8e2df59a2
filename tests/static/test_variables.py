"""A variable has the methods of tensors that are calls, and none that set something."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import static

METHODS: dict[str, Any] = {
    "sum": lambda x: x.sum(), "mean": lambda x: x.mean(axis=0), "T": lambda x: x.T,
    "reshape": lambda x: x.reshape(-1, 2), "flatten": lambda x: x.flatten(), "abs": abs,
    "astype": lambda x: x.astype("int64"), "any": lambda x: (x > 0).any(),
    "view": lambda x: x.view(-1),
    "clip": lambda x: x.clip(-1, 1), "where": lambda x: x.where(x > 0, 0), "t": lambda x: x.t(),
    "matmul": lambda x: x.matmul(x.T), "permute": lambda x: x.permute(1, 0),
    "relu": lambda x: x.relu(),
    "chained": lambda x: x.exp().sum(axis=1, keepdims=True).log().squeeze(1),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods_are_those_of_tensors(name: str) -> None:
    method = METHODS[name]
    with static.program_guard(static.Program(), static.Program()) as main:
        y = method(static.data("x", (None, 2)))
    for rows in (1, 3):
        x = np.random.default_rng(rows).standard_normal((rows, 2)).astype(np.float32)
        found = static.Executor().run(main, {"x": x}, [y])[0]
        np.testing.assert_array_equal(found, method(tl.tensor(x)).numpy())


@pytest.mark.parametrize("name", ["set_value", "backward", "numpy", "grad", "register_hook", "x"])
def test_what_is_no_call_is_no_attribute(name: str) -> None:
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", (None, 2))
        with pytest.raises(AttributeError, match=f"'Variable' object has no attribute '{name}'"):
            getattr(x, name)

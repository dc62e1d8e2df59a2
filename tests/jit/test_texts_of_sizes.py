"""What a traced function makes of sizes beside arithmetic: texts, tables and sets by numbers."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
from tensorlike import jit


@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
@pytest.mark.parametrize(
    "says",
    [
        lambda x: f"{x.shape[0]}", lambda x: f"{x.shape[0]:4d}", lambda x: str(x.shape),
        lambda x: repr(x.shape[0] * 2), lambda x: f"{x.shape[0] / 4:.2f}",
        lambda x: x.shape[0] in {4, 5}, lambda x: {5: "five"}.get(x.shape[0]),
        lambda x: hash(x.shape) == hash((4,)), lambda x: "{}".format(*x.shape),
    ],
)  # fmt: skip
def test_texts_of_sizes_and_tables_by_sizes_are_those_of_each_call(kind: Any, says: Any) -> None:
    def function(x: Any) -> Any:
        return x * x.shape[0], says(x)

    found = kind(function)
    for n in (3, 4, 5, 4, 3, 6, 5):
        assert found(tl.ones(n))[1] == says(tl.ones(n))
        assert found(tl.ones(n))[0].tolist() == [float(n)] * n

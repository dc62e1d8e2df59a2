"""Containers that a traced function reads: what is in them counts, however many and how deep."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
from tensorlike import jit


@pytest.mark.parametrize("kind", ["long list", "long dict", "deep list", "itself"])
def test_what_is_in_containers_of_any_size_is_compared(kind: str) -> None:
    inner = [1.0]
    itself: list[Any] = [1.0]
    itself.append(itself)
    table: Any = {
        "long list": [1.0] * 5000, "long dict": dict.fromkeys(range(5000), 1.0),
        "deep list": [[[[[[inner]]]]]], "itself": itself,
    }[kind]  # fmt: skip

    def read(found: Any) -> Any:
        while isinstance(found, list | dict):
            found = found[0]
        return found

    traced = jit.trace(lambda x: x * read(table))
    x = tl.tensor([3.0])
    assert traced(x).item() == traced(x).item() == 3.0
    (inner if kind == "deep list" else table)[0] = 2.0
    assert traced(x).item() == 6.0
    assert "changed from a" in traced.why() or "[1.0" in traced.why()


def test_a_change_is_told_as_it_was() -> None:
    count = [0]
    traced = jit.trace(lambda x: x + count[0])
    traced(tl.tensor([1.0]))
    count[0] = 7
    assert traced(tl.tensor([1.0])).item() == 8.0
    assert "changed from [0] to [7]" in traced.why()

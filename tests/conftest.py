"""What all tests share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes a minute begins first: else one process would do it when all others are done."""
    items.sort(key=lambda item: "test_isa_levels" not in item.nodeid)


def pytest_collection_finish() -> None:
    """The collector needs not look at 50,000 tests again and again: tests ask for it a lot."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def collector_is_on() -> Iterator[None]:
    """No test leaves it off: all that follow would meet what those before have left."""
    yield
    assert gc.isenabled()

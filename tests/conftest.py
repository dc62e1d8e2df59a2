"""What all tests share."""

from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    """The collector needs not look at 50,000 tests again and again: tests ask for it a lot."""
    gc.collect()
    gc.freeze()

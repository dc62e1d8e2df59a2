"""What tests of the engine share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C


def normal(*shape: int, seed: int = 0, dtype: str = "float32") -> tl.Tensor:
    return tl.tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def programs_of(run: Callable[[], Any]) -> list[dict[str, Any]]:
    """What ran as one program while `run` ran lazily."""
    with tl.engine.mode("lazy", threshold=1):
        run()
        programs: list[dict[str, Any]] = _C.fused_programs()
    return programs


@pytest.fixture(autouse=True)
def nothing_was_fused() -> Iterator[None]:
    """What was told before is forgotten, and nothing is left behind."""
    with tl.engine.mode("lazy"):
        pass
    yield
    assert _C.waiting_ops() == []

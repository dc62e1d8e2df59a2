"""Random arguments of composed calls: each gives a value or our error in the call's own name."""

from __future__ import annotations

import importlib
import inspect
import random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

ROOMS = [
    "activations", "bags", "classification", "ctc", "distances", "draws", "fractional_pooling",
    "indexed_pooling", "losses", "margin_losses", "normalizing", "patches", "power_pooling",
    "recurrent", "resizing", "sampling", "segments", "unpooling",
]  # fmt: skip
NAMES = [
    name
    for room in ROOMS
    for name in importlib.import_module(f"tensorlike.functional.{room}").__all__
]
NUMBERS: list[Any] = [
    0, 1, 2, 3, -1, -2, 0.5, -1.0, float("nan"), float("inf"), 1e30, 2**70, "mean", "sum", "none",
    "nearest", "x", None, True, (1, 2), (2,), (0, 0), [1, -1], (1, 2, 3), {}, object(),
]  # fmt: skip
CALLS = 60


def array(rng: random.Random) -> Any:
    """Any dtype and up to four dimensions; special values and no elements among them."""
    shape = tuple(rng.choice([0, 1, 1, 2, 3, 4]) for _ in range(rng.randint(0, 4)))
    values = np.random.default_rng(rng.randint(0, 99)).normal(size=shape) * 2
    dtype = rng.choice(["f8", "f4", "f2", "i8", "u1", "?", "c16", "special"])
    if dtype == "special":
        return np.full(shape, rng.choice([np.nan, np.inf, -np.inf]))
    return np.asarray(values if dtype[0] in "fc" else np.abs(np.trunc(values))).astype(dtype)


def arguments(call: Any, rng: random.Random) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for parameter in inspect.signature(call).parameters.values():
        is_tensor = "TensorLike" in str(parameter.annotation)
        value = array(rng) if is_tensor and rng.random() < 0.93 else rng.choice(NUMBERS)
        if parameter.default is inspect.Parameter.empty:
            if parameter.kind is parameter.KEYWORD_ONLY:
                keywords[parameter.name] = value
            else:
                positional.append(value)
        elif rng.random() < 0.3:
            keywords[parameter.name] = value
    return positional, keywords


@pytest.mark.parametrize("name", NAMES)
def test_nonsense_is_refused_by_name(name: str) -> None:
    rng, call = random.Random(name), getattr(F, name)
    for _ in range(CALLS):
        positional, keywords = arguments(call, rng)
        tensors = [tl.tensor(x) if isinstance(x, np.ndarray) else x for x in positional]
        try:
            call(*tensors, **keywords)
        except tl.LiteralRangeError:
            pass  # says what is too large itself
        except tl.TensorlikeError as error:
            assert str(error).startswith(f"{name}: "), (positional, keywords)
        except MemoryError:
            pass  # what is asked for is too large, not wrong

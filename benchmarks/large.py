"""Ops on ten million elements, each beside all forms that PyTorch has of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from compare import Contender, Result, Settings, time_in_turns

import tensorlike as tl
import tensorlike.functional as F

SIZE = 10_000_000


def arrays(count: int) -> list[np.ndarray[Any, Any]]:
    """The same in every run."""
    generator = np.random.default_rng(0)
    return [generator.standard_normal(SIZE, dtype=np.float32) for _ in range(count)]


def named(names: str, values: list[Any]) -> dict[str, Any]:
    """For a statement."""
    return dict(zip(names, values, strict=True))


def multiply_add(settings: Settings) -> list[Result]:
    """Two lines' worth of elementwise work, with fresh results and with reused ones."""
    data = arrays(3)
    torches = [torch.from_numpy(x) for x in data]
    out = {"torch": torch, "out": torch.empty(SIZE)}
    timings = time_in_turns(
        {
            "tensorlike": Contender("x * y + z", named("xyz", [tl.tensor(x) for x in data])),
            "PyTorch": Contender("x * y + z", named("xyz", torches)),
            "PyTorch, out=": Contender(
                "torch.add(torch.mul(x, y, out=out), z, out=out)", {**named("xyz", torches), **out}
            ),
            "PyTorch, addcmul(out=)": Contender(
                "torch.addcmul(z, x, y, out=out)", {**named("xyz", torches), **out}
            ),
            "NumPy": Contender("x * y + z", named("xyz", data)),
        },
        settings,
    )
    bars = {"PyTorch": 0.5, "PyTorch, out=": None, "PyTorch, addcmul(out=)": None, "NumPy": None}
    return timings.results("x * y + z, 1e7 elements", bars)


def gelu(settings: Settings) -> list[Result]:
    """A heavy scalar function."""
    (x,) = arrays(1)
    theirs = torch.from_numpy(x)
    into = {"f": torch.ops.aten.gelu.out, "x": theirs, "out": torch.empty(SIZE)}
    timings = time_in_turns(
        {
            "tensorlike": Contender("f(x)", {"f": F.gelu, "x": tl.tensor(x)}),
            "PyTorch": Contender("f(x)", {"f": torch.nn.functional.gelu, "x": theirs}),
            "PyTorch, out=": Contender("f(x, out=out)", into),
        },
        settings,
        tolerance=1e-4,
    )
    return timings.results("gelu(x), 1e7 elements", {"PyTorch": 0.5, "PyTorch, out=": None})

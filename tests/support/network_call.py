"""A call of a neural network, written for us and for PyTorch, with inputs to draw.

Tests hold values and gradients against PyTorch where it is installed, and gradients against finite
differences everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class NetworkCall:
    """`ours` takes tensors; `theirs` takes torch.nn.functional and PyTorch's tensors."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any] | None
    inputs: tuple[Any, ...]  # shapes of normal numbers, or arrays
    positive: bool = False  # draw from (0.1, 0.9)

    def arrays(self) -> list[Array]:
        rng = np.random.default_rng(len(self.name))
        found = []
        for given in self.inputs:
            if not isinstance(given, tuple):
                found.append(np.asarray(given))
            elif self.positive:
                found.append(np.asarray(rng.uniform(0.1, 0.9, given)))
            else:
                found.append(np.asarray(rng.normal(size=given)))
        return found

    def __str__(self) -> str:
        return self.name


def integers(low: int, high: int, shape: Any, seed: int = 0) -> Array:
    return np.asarray(np.random.default_rng(seed).integers(low, high, shape))


def signs(shape: Any) -> Array:
    return 2 * integers(0, 2, shape) - 1

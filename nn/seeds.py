"""Where the initial weights of layers come from: a seed, or the process's own stream."""

from __future__ import annotations

import operator

import numpy as np

from ..imperative import next_seed


def generator_of(seed: int | None) -> np.random.Generator:
    """Draws for one layer: by its seed; where that is None, as `manual_seed` decides."""
    key = next_seed() if seed is None else operator.index(seed)
    return np.random.default_rng(key % 2**64)

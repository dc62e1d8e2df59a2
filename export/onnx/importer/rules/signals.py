"""Windows of cosines, and the weights of mel scales."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..... import functional as F
from ..element_types import converted, dtype_of
from ..rule_table import bounded, rule


@rule
def mel_weights(
    bins: int, length: int, rate: int, low: float, high: float, *, output_datatype: int
) -> Any:
    """The matrix from frequencies to a mel scale, as the standard's reference has it."""
    spectrum = length // 2 + 1
    bounded("MelWeightMatrix", spectrum, bins + 2)
    edges = np.arange(0, bins + 2, dtype=np.float64)
    first, last = (2595 * math.log10(1 + f / 700) for f in (low, high))
    edges = edges * ((last - first) / edges.shape[0]) + first
    hertz = 700 * (10 ** (edges / 2595) - 1)
    places = ((length + 1) * hertz // rate).astype(np.int64)
    found = np.zeros((spectrum, bins))
    for i in range(bins):
        lower, centre, upper = places[i : i + 3]
        if centre - lower == 0:
            found[centre, i] = 1
        else:
            for j in range(lower, centre + 1):
                found[j, i] = (j - lower) / (centre - lower)
        if upper - centre > 0:
            for j in range(centre, upper):
                found[j, i] = (upper - j) / (upper - centre)
    return converted(F.asarray(found), dtype_of(output_datatype))

"""What attention is, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def reference(
    q: Array, k: Array, v: Array, mask: Array | None, scale: float | None, is_causal: bool
) -> Array:
    """In double precision."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    if k.ndim > 2 and q.ndim > 2 and 1 < k.shape[-3] < q.shape[-3]:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores + (np.where(mask, 0, -np.inf) if mask.dtype == bool else mask)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(largest), 0, largest))
    total = weights.sum(axis=-1, keepdims=True)
    return np.where(total == 0, 0, weights / np.where(total == 0, 1, total)) @ v

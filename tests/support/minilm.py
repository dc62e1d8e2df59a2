"""all-MiniLM-L6-v2 in float64 with NumPy, from the paper and the names in its file alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
HEADS, LAYERS = 12, 6
_erf = np.vectorize(math.erf)


def vectors(weights: Mapping[str, Array], tokens: Array, mask: Array) -> Array:
    """A vector of length 1 for each sentence.

    Args:
        weights: arrays by their names in the file.
        tokens: numbers of words, (sentences, tokens).
        mask: whether each is there.
    """
    w = {name: array.astype(np.float64) for name, array in weights.items()}

    def affine(x: Array, name: str) -> Array:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x: Array, name: str) -> Array:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def heads(x: Array) -> Array:
        return x.reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)

    table = "embeddings.{}_embeddings.weight"
    x = w[table.format("word")][tokens] + w[table.format("token_type")][0]
    x = norm(x + w[table.format("position")][: tokens.shape[1]], "embeddings.LayerNorm")
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}"
        q, k, v = (
            heads(affine(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1])
        scores = np.where(mask[:, None, None, :], scores, -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = (scores / scores.sum(-1, keepdims=True)) @ v
        y = y.transpose(0, 2, 1, 3).reshape(x.shape)
        y = affine(y, f"{layer}.attention.output.dense")
        x = norm(x + y, f"{layer}.attention.output.LayerNorm")
        y = affine(x, f"{layer}.intermediate.dense")
        y = affine(y * 0.5 * (1 + _erf(y / math.sqrt(2))), f"{layer}.output.dense")
        x = norm(x + y, f"{layer}.output.LayerNorm")
    there = mask[:, :, None].astype(np.float64)
    mean = (x * there).sum(1) / there.sum(1)
    found: Array = mean / np.sqrt((mean * mean).sum(-1, keepdims=True))
    return found

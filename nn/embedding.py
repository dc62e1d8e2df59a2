"""Embedding: a table of vectors, looked up by number."""

from __future__ import annotations

import numpy as np

from .. import functional as F
from ..imperative import Parameter, Tensor, TensorLike
from .layer import Layer


class Embedding(Layer):
    """``weight[indices]``.

    Args:
        num_embeddings: how many vectors there are.
        embedding_dim: the size of each.
        seed: the seed of the initial weights; None takes a fresh one.

    Attributes:
        weight: (num_embeddings, embedding_dim), normal with mean 0 and variance 1.

    Raises:
        ValueError: a size is not positive.

    Source:
        PyTorch, ``torch.nn.Embedding``.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Embedding(10, 3)(tl.tensor([[1, 2, 4, 5]])).shape
        (1, 4, 3)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, *, seed: int | None = None) -> None:
        """Makes the table."""
        if num_embeddings < 1 or embedding_dim < 1:
            raise ValueError(
                f"Embedding: sizes must be positive; got num_embeddings={num_embeddings}, "
                f"embedding_dim={embedding_dim}"
            )
        generator = np.random.default_rng(seed)
        weight = generator.standard_normal((num_embeddings, embedding_dim), np.float32)
        self.weight = Parameter(weight)

    def forward(self, indices: TensorLike) -> Tensor:
        """The vectors of integer indices of any shape, along a new last dimension."""
        return F.embedding(indices, self.weight)

"""Embedding and EmbeddingBag: a table of vectors, looked up by number."""

from __future__ import annotations

import numpy as np

from .. import functional as F
from ..imperative import ArgumentError, Parameter, Tensor, TensorLike
from .layer import Layer
from .param_attr import ParamAttr
from .seeds import generator_of


class _Table(Layer):
    """What both have: the table."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        seed: int | None,
        weight_attr: ParamAttr | None,
    ) -> None:
        """Makes the table."""
        if num_embeddings < 1 or embedding_dim < 1:
            raise ArgumentError(
                "must be positive",
                op=type(self).__name__,
                argument="sizes",
                got=f"num_embeddings={num_embeddings}, embedding_dim={embedding_dim}",
            )
        generator = generator_of(seed)
        weight = generator.standard_normal((num_embeddings, embedding_dim), np.float32)
        self.weight = Parameter(weight)
        self._start_from(weight=weight_attr)


class Embedding(_Table):
    """``weight[indices]``.

    Args:
        num_embeddings: how many vectors there are.
        embedding_dim: the size of each.
        seed: the seed of the initial weights; None takes one from `manual_seed`'s stream.
        weight_attr: what the weight starts from instead, and whether it is learnt.

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

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        seed: int | None = None,
        weight_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the table."""
        super().__init__(num_embeddings, embedding_dim, seed, weight_attr)

    def forward(self, indices: TensorLike) -> Tensor:
        """The vectors of integer indices of any shape, along a new last dimension."""
        return F.embedding(indices, self.weight)


class EmbeddingBag(_Table):
    """The means, sums or maxima of the vectors of bags of indices.

    Args:
        num_embeddings: how many vectors there are.
        embedding_dim: the size of each.
        mode: "mean", "sum" or "max".
        padding_idx: an index that does not count.
        seed: the seed of the initial weights; None takes one from `manual_seed`'s stream.
        weight_attr: what the weight starts from instead, and whether it is learnt.

    Attributes:
        weight: (num_embeddings, embedding_dim), normal with mean 0 and variance 1.

    Raises:
        ValueError: a size is not positive.

    Source:
        PyTorch, ``torch.nn.EmbeddingBag``.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.EmbeddingBag(10, 3)(tl.tensor([[1, 2], [4, 5]])).shape
        (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        mode: str = "mean",
        padding_idx: int | None = None,
        seed: int | None = None,
        weight_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the table."""
        super().__init__(num_embeddings, embedding_dim, seed, weight_attr)
        self.mode = mode
        self.padding_idx = padding_idx

    def forward(
        self,
        indices: TensorLike,
        offsets: TensorLike | None = None,
        per_sample_weights: TensorLike | None = None,
    ) -> Tensor:
        """One vector for each bag; the arguments are those of `functional.embedding_bag`."""
        return F.embedding_bag(
            indices,
            self.weight,
            offsets,
            per_sample_weights,
            mode=self.mode,
            padding_idx=self.padding_idx,
        )

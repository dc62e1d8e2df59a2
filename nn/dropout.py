"""Dropout: a share of the elements set to 0 while training."""

from __future__ import annotations

from .. import functional as F
from ..imperative import Tensor, TensorLike, next_seed
from .layer import Layer


class Dropout(Layer):
    """Sets elements to 0 with probability p and divides the others by 1 - p, while training.

    Args:
        p: the probability, in [0, 1].

    Raises:
        ValueError: p is not in [0, 1].

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Dropout(0.5).eval()(tl.tensor([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """

    def __init__(self, p: float = 0.5) -> None:
        """Keeps p."""
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"Dropout: p must be in [0, 1]; got p={p}")
        self.p = float(p)

    def forward(self, x: TensorLike) -> TensorLike:
        """Draws a fresh mask; in evaluation, x itself."""
        if not self.training or self.p == 0.0:
            return x
        dropped: Tensor = F.dropout(x, p=self.p, seed=next_seed())
        return dropped

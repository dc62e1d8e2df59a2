"""Dropout layers: what is dropped while training, by fresh masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from .. import functional as F
from ..imperative import ArgumentError, Tensor, TensorLike, next_seed
from .layer import Layer


class _Dropout(Layer):
    """What all kinds share: the probability, and that nothing happens in evaluation."""

    call: ClassVar[Callable[..., Tensor]]

    def __init__(self, p: float = 0.5) -> None:
        """Keeps p."""
        if not 0.0 <= p <= 1.0:
            raise ArgumentError(
                "must be in [0, 1]", op=type(self).__name__, argument="p", got=f"p={p}"
            )
        self.p = float(p)

    def forward(self, x: TensorLike) -> TensorLike:
        """Draws a fresh mask; in evaluation, x itself."""
        if not self.training or self.p == 0.0:
            return x
        return type(self).call(x, p=self.p, seed=next_seed())


class Dropout(_Dropout):
    """Sets elements to 0 with probability p and divides the others by 1 - p, while training.

    Args:
        p: the probability, in [0, 1].

    Raises:
        ValueError: p is not in [0, 1].

    Source:
        Srivastava et al. 2014, https://jmlr.org/papers/v15/srivastava14a.html.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Dropout(0.5).eval()(tl.tensor([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """

    call = staticmethod(F.dropout)


class Dropout1d(_Dropout):
    """`Dropout` of whole channels of (..., channels, length).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Dropout1d(1.0)(tl.ones((2, 3))).tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """

    call = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """`Dropout` of whole channels of (..., channels, height, width).

    Source:
        Tompson et al. 2014, https://arxiv.org/abs/1411.4280.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Dropout2d(1.0)(tl.ones((1, 2, 2))).tolist()
        [[[0.0, 0.0], [0.0, 0.0]]]
    """

    call = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """`Dropout` of whole channels of (..., channels, depth, height, width).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Dropout3d(1.0)(tl.ones((1, 1, 1, 2))).tolist()
        [[[[0.0, 0.0]]]]
    """

    call = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """Sets elements to selu's limit with probability p, and keeps mean and variance by a map.

    Args:
        p: the probability, in [0, 1].

    Raises:
        ValueError: p is not in [0, 1].

    Source:
        Klambauer et al. 2017, https://arxiv.org/abs/1706.02515.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.AlphaDropout(0.5).eval()(tl.tensor([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """

    call = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels of (images, channels, ...).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.FeatureAlphaDropout(0.5).eval()(tl.tensor([[1.0, 2.0]])).tolist()
        [[1.0, 2.0]]
    """

    call = staticmethod(F.feature_alpha_dropout)

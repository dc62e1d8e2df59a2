"""Initialisers: what parameters start from, as functions of their shapes.

``layer.initialize(weight=XavierUniform(), bias=Constant(0))`` sets those of a model. Random ones
draw from `tensorlike.random`'s stream, which `manual_seed` fixes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .. import functional as F
from ..functional import linalg, random
from ..functional.arranging import dims_of
from ..imperative import ShapeError, Tensor
from ..imperative.naming import named_class

__all__ = [
    "Constant",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Orthogonal",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
]


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """How many inputs an output of a layer with such a weight sums over, and the reverse.

    Two dimensions are those of a `Linear`, (in, out); more those of a convolution,
    (out, in, *window).

    Raises:
        ShapeError: there are fewer than two dimensions.
    """
    shape = dims_of(shape)
    if len(shape) < 2:
        raise ShapeError("two dimensions or more are needed", op="initialize", got=f"shape {shape}")
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


@named_class
@dataclass(frozen=True)
class Constant:
    """The same number everywhere.

    Example:
        >>> from tensorlike.nn.initializers import Constant
        >>> Constant(2.0)((2,)).tolist()
        [2.0, 2.0]
    """

    value: float

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Float32 of this shape."""
        return F.full(shape, float(self.value))


@named_class
@dataclass(frozen=True)
class Uniform:
    """Uniform between two bounds."""

    low: float = -1.0
    high: float = 1.0

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Float32 of this shape."""
        return random.uniform(shape, low=self.low, high=self.high)


@named_class
@dataclass(frozen=True)
class Normal:
    """Normal, of this mean and standard deviation."""

    mean: float = 0.0
    std: float = 1.0

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Float32 of this shape."""
        return random.normal(shape, self.mean, self.std)


@named_class
@dataclass(frozen=True)
class TruncatedNormal:
    """Normal, of this mean and standard deviation, nothing beyond two of them."""

    mean: float = 0.0
    std: float = 1.0

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Float32 of this shape."""
        return random.truncated_normal(shape, mean=self.mean, std=self.std)


@named_class
@dataclass(frozen=True)
class XavierUniform:
    """Uniform in ``+-gain * sqrt(6 / (fan_in + fan_out))``.

    Source:
        Glorot and Bengio 2010, http://proceedings.mlr.press/v9/glorot10a.html.
    """

    gain: float = 1.0

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Float32 of this shape."""
        bound = self.gain * math.sqrt(6 / max(sum(fans(shape)), 1))
        return Uniform(-bound, bound)(shape)


@named_class
@dataclass(frozen=True)
class XavierNormal:
    """Normal, of the standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``.

    Source:
        Glorot and Bengio 2010, http://proceedings.mlr.press/v9/glorot10a.html.
    """

    gain: float = 1.0

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Float32 of this shape."""
        return Normal(0.0, self.gain * math.sqrt(2 / max(sum(fans(shape)), 1)))(shape)


@named_class
@dataclass(frozen=True)
class KaimingUniform:
    """Uniform in ``+-gain * sqrt(3 / fan_in)``; the default gain is that of a relu.

    Source:
        He et al. 2015, https://arxiv.org/abs/1502.01852.
    """

    gain: float = math.sqrt(2)

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Float32 of this shape."""
        bound = self.gain * math.sqrt(3 / max(fans(shape)[0], 1))
        return Uniform(-bound, bound)(shape)


@named_class
@dataclass(frozen=True)
class KaimingNormal:
    """Normal, of the standard deviation ``gain / sqrt(fan_in)``; the default gain is a relu's.

    Source:
        He et al. 2015, https://arxiv.org/abs/1502.01852.
    """

    gain: float = math.sqrt(2)

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Float32 of this shape."""
        return Normal(0.0, self.gain / math.sqrt(max(fans(shape)[0], 1)))(shape)


@named_class
@dataclass(frozen=True)
class Orthogonal:
    """Rows, or columns where they are the fewer, orthogonal and of length `gain`.

    Dimensions after the first count as one.

    Source:
        Saxe et al. 2013, https://arxiv.org/abs/1312.6120.

    Example:
        >>> import tensorlike as tl
        >>> w = tl.nn.initializers.Orthogonal()((2, 3))
        >>> tl.round(w @ w.T + 0.0).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    gain: float = 1.0

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Float32 of this shape."""
        shape = dims_of(shape)
        fans(shape)
        rows, columns = shape[0], math.prod(shape[1:])
        flat = random.normal((max(rows, columns), min(rows, columns)))
        q, r = linalg.qr(flat)
        signs: Any = F.sign(linalg.diagonal(r))
        q = q * signs  # uniform among all: without it, the signs are the algorithm's
        return F.reshape(q if rows >= columns else q.T, shape) * self.gain


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)

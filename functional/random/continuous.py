"""Draws of real numbers: what generators and keys have in common.

Gradients flow to the parameters that scale and shift (`mean`, `std`, `low`, `high`, `scale`); what
was drawn is a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...imperative import Tensor, TensorLike
from ...imperative.naming import draws_by
from ...ops import Random
from ..arguments import makes, number
from ..arranging import as_tensor, dims_of
from ..batched_draws import drawn, drawn_from
from ..generated import (
    astype,
    broadcast_to,
    log1p,
    random_draw,
    random_from,
    sigmoid,
)

Shape = int | Sequence[int]


def make_draw(source: Any, op: Any) -> Any:
    """The next draw of a source, as an op draws that says nothing of it."""
    attrs = {name: getattr(op, name) for name in ("mode", "dtype", "low", "high")}
    return drawn(random_draw, op.shape, **attrs, **source._take())


draw = draws_by(make_draw)  # a distribution


def one_draw(shape: Shape, **attrs: Any) -> Tensor:
    """The op of a draw, whichever it is."""
    return makes(Random(shape=dims_of(shape), **attrs))


def parameter(value: TensorLike, shape: Shape | None, dtype: Any) -> Any:
    """A parameter as a floating-point tensor, stretched to the shape where one is given."""
    given = as_tensor(value)
    if dtype is not None:
        given = astype(given, dtype=dtype)
    return given if shape is None else broadcast_to(given, dims_of(shape))


class Continuous:
    """Draws of real numbers, over whatever names the next draw."""

    def _take(self) -> dict[str, Any]:
        """Key and counter of the next draw, as the ops' attributes."""
        raise NotImplementedError

    def _pair(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The same for a number that is made of two."""
        return self._take(), self._take()

    @draw
    def uniform(
        self,
        shape: Shape = (),
        low: TensorLike = 0.0,
        high: TensorLike = 1.0,
        *,
        dtype: Any = None,
    ) -> Tensor:
        """Numbers that are equally likely everywhere in [low, high).

        Args:
            shape: the shape of the result.
            low: the lower bound, a number or a tensor.
            high: the upper bound; it can be reached where low + (high - low) u is rounded.
            dtype: a real floating-point dtype, float32 by default.

        Raises:
            ParameterError: the bounds are numbers, and high is below low.

        Example:
            >>> import tensorlike as tl
            >>> tl.random.Generator(0).uniform((2, 3)).shape
            (2, 3)
        """
        are_numbers = isinstance(low, int | float) and isinstance(high, int | float)
        if are_numbers and not high >= low:
            number("uniform", "high", high, least=low)
        if _is(low, 0) and _is(high, 1):
            return one_draw(shape, dtype=dtype)
        u: Tensor = drawn(random_draw, dims_of(shape), dtype=dtype, **self._take())
        low, high = (_floating(_given(bound), u.dtype) for bound in (low, high))
        moved: Tensor = u * (high - low) + low
        return moved

    @draw
    def normal(
        self,
        shape: Shape = (),
        mean: TensorLike = 0.0,
        std: TensorLike = 1.0,
        *,
        dtype: Any = None,
    ) -> Tensor:
        """Numbers of a normal distribution.

        Args:
            shape: the shape of the result.
            mean: the mean, a number or a tensor.
            std: the standard deviation.
            dtype: a real floating-point dtype, float32 by default.

        Raises:
            ParameterError: std is a number below 0.

        Example:
            >>> import tensorlike as tl
            >>> tl.random.Generator(0).normal(3, mean=tl.tensor([1.0, 2.0, 3.0]), std=0.0).tolist()
            [1.0, 2.0, 3.0]
        """
        check_spread("normal", "std", std)
        if _is(mean, 0) and _is(std, 1):
            return one_draw(shape, mode="normal", dtype=dtype)
        z = drawn(random_draw, dims_of(shape), mode="normal", dtype=dtype, **self._take())
        return _moved(z, mean, std)

    @draw
    def truncated_normal(
        self,
        shape: Shape = (),
        low: float = -2.0,
        high: float = 2.0,
        mean: TensorLike = 0.0,
        std: TensorLike = 1.0,
        *,
        dtype: Any = None,
    ) -> Tensor:
        """Numbers of a normal distribution, of those between two bounds.

        Args:
            shape: the shape of the result.
            low: the lower bound, in standard deviations from the mean.
            high: the upper bound; either may be infinite.
            mean: the mean before bounds are drawn, a number or a tensor.
            std: the standard deviation.
            dtype: a real floating-point dtype, float32 by default.

        Raises:
            ParameterError: low is not less than high, or std is a number below 0.

        Example:
            >>> import tensorlike as tl
            >>> x = tl.random.Generator(0).truncated_normal(100, low=3.0, high=float("inf"))
            >>> bool(tl.min(x) >= 3.0)
            True
        """
        mode = "truncated_normal"
        check_spread(mode, "std", std)
        z = drawn(
            random_draw, dims_of(shape), mode=mode, dtype=dtype, low=low, high=high, **self._take()
        )
        return _moved(z, mean, std)

    @draw
    def exponential(
        self, shape: Shape = (), scale: TensorLike = 1.0, *, dtype: Any = None
    ) -> Tensor:
        """Numbers of an exponential distribution.

        Args:
            shape: the shape of the result.
            scale: the mean, a number or a tensor.
            dtype: a real floating-point dtype, float32 by default.

        Raises:
            ParameterError: scale is a number below 0.

        Example:
            >>> import tensorlike as tl
            >>> bool(tl.min(tl.random.Generator(0).exponential(100)) >= 0.0)
            True
        """
        check_spread("exponential", "scale", scale)
        waited = -log1p(-drawn(random_draw, dims_of(shape), dtype=dtype, **self._take()))
        return waited if _is(scale, 1) else waited * _given(scale)

    @draw
    def gamma(
        self,
        alpha: TensorLike,
        scale: TensorLike = 1.0,
        *,
        shape: Shape | None = None,
        dtype: Any = None,
    ) -> Tensor:
        """Numbers of gamma distributions. No gradient flows to alpha.

        Args:
            alpha: the shape parameter, not negative, a number or a tensor.
            scale: what the numbers are multiplied by.
            shape: the shape of the result; None is that of alpha.
            dtype: a real floating-point dtype; None is that of alpha.

        Raises:
            ParameterError: an element of alpha is negative or NaN, or scale is a number below 0.

        Source:
            Marsaglia and Tsang 2000, "A simple method for generating gamma variables".

        Example:
            >>> import tensorlike as tl
            >>> tl.random.Generator(0).gamma(tl.tensor([0.5, 2.0])).shape
            (2,)
        """
        check_spread("gamma", "scale", scale)
        made: Tensor = drawn_from(
            random_from, parameter(alpha, shape, dtype), mode="gamma", **self._take()
        )
        return made if _is(scale, 1) else made * _given(scale)

    @draw
    def beta(
        self, a: TensorLike, b: TensorLike, *, shape: Shape | None = None, dtype: Any = None
    ) -> Tensor:
        """Numbers of beta distributions, in [0, 1]. No gradient flows to the parameters.

        Args:
            a: the first parameter, positive, a number or a tensor.
            b: the second one.
            shape: the shape of the result; None is what a and b broadcast to.
            dtype: a real floating-point dtype; None is that of a and b.

        Raises:
            ParameterError: an element of a parameter is negative or NaN.

        Example:
            >>> import tensorlike as tl
            >>> tl.random.Generator(0).beta(2.0, 3.0, shape=4).shape
            (4,)
        """
        first, second = parameter(a, None, dtype), parameter(b, None, dtype)
        if shape is None:
            shape = tuple((first + second).shape)
        first, second = broadcast_to(first, dims_of(shape)), broadcast_to(second, dims_of(shape))
        # g1 / (g1 + g2), from logarithms: small parameters give gammas that vanish.
        streams = self._pair()
        logs = [
            drawn_from(random_from, each, mode="log_gamma", **stream)
            for each, stream in zip((first, second), streams, strict=True)
        ]
        return sigmoid(logs[0] - logs[1])


def _given(value: Any) -> Any:
    """Numbers stay numbers, which take the dtype of what was drawn."""
    return value if isinstance(value, int | float) else as_tensor(value)


def _floating(bound: Any, dtype: Any) -> Any:
    """A bound whose distance from another one is no integer, which may overflow."""
    is_tensor = not isinstance(bound, int | float)
    return astype(bound, dtype=dtype) if is_tensor and "integer" in bound.dtype.kind else bound


def check_spread(call: str, name: str, value: Any) -> None:
    """A number that stretches what is drawn must not be negative; elements are not looked at."""
    if isinstance(value, int | float) and not value >= 0:
        number(call, name, value, least=0)


def _is(value: Any, wanted: float) -> bool:
    """Whether it is this very number, so that nothing has to be done."""
    return type(value) in (int, float) and bool(value == wanted)


def _moved(z: Any, mean: TensorLike, std: TensorLike) -> Tensor:
    scaled = z if _is(std, 1) else z * _given(std)
    moved: Tensor = scaled if _is(mean, 0) else scaled + _given(mean)
    return moved

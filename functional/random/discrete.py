"""Draws of integers, of choices and of orders: what generators and keys have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...imperative import ParameterError, ShapeError, Tensor, TensorLike
from ..arguments import integer, number
from ..arranging import as_tensor, axis_of, dims_of, moveaxis
from ..batched_draws import drawn, drawn_from
from ..generated import (
    argmax,
    astype,
    broadcast_to,
    cumulative_sum,
    less,
    log,
    minimum,
    random_draw,
    random_from,
    searchsorted,
)
from ..generated import topk as _topk
from ..picking import take
from .continuous import Continuous, Shape, draw, one_draw, parameter


def gumbel_noise(shape: tuple[int, ...], **draw: Any) -> Any:
    """What makes the greatest of perturbed logits a choice by their softmax; in float64."""
    # In (0, 1): the half of a step is added.
    return -log(-log(drawn(random_draw, shape, dtype="float64", **draw) + 2.0**-54))


class Draws(Continuous):
    """All distributions, over whatever names the next draw."""

    @draw
    def randint(self, low: int, high: int, shape: Shape = (), *, dtype: Any = None) -> Tensor:
        """Integers that are equally likely in [low, high).

        Args:
            low: the least integer.
            high: the integer above the greatest; both are int64.
            shape: the shape of the result.
            dtype: an integer dtype, int64 by default.

        Raises:
            ParameterError: low is not less than high.

        Source:
            Lemire 2019, "Fast random integer generation in an interval".

        Example:
            >>> import tensorlike as tl
            >>> tl.random.Generator(0).randint(7, 8, 3).tolist()
            [7, 7, 7]
        """
        bounds: dict[str, Any] = {
            "low": integer("randint", "low", low),
            "high": integer("randint", "high", high),
        }
        return one_draw(shape, mode="integers", dtype=dtype, **bounds)

    @draw
    def bits(self, shape: Shape = (), *, dtype: Any = None) -> Tensor:
        """Integers of random bits.

        Args:
            shape: the shape of the result.
            dtype: an integer dtype, uint64 by default.

        Example:
            >>> import tensorlike as tl
            >>> tl.random.Generator(0).bits(2, dtype=tl.uint8).dtype
            tensorlike.uint8
        """
        return one_draw(shape, mode="bits", dtype=dtype)

    @draw
    def bernoulli(self, p: TensorLike = 0.5, *, shape: Shape | None = None) -> Tensor:
        """Booleans that are true with a probability.

        Args:
            p: the probability, a number or a tensor.
            shape: the shape of the result; None is that of p.

        Raises:
            ParameterError: p is a number outside [0, 1].

        Example:
            >>> import tensorlike as tl
            >>> tl.random.Generator(0).bernoulli(tl.tensor([0.0, 1.0])).tolist()
            [False, True]
        """
        if isinstance(p, int | float):
            number("bernoulli", "p", p, least=0, most=1)
        chance = parameter(p, shape, None)
        dtype = chance.dtype if chance.dtype.name in ("float32", "float64") else None
        return less(drawn(random_draw, tuple(chance.shape), dtype=dtype, **self._take()), chance)

    @draw
    def poisson(self, rate: TensorLike, *, shape: Shape | None = None, dtype: Any = None) -> Tensor:
        """How often something happens that happens independently at a rate.

        Args:
            rate: the mean, not negative, a number or a tensor.
            shape: the shape of the result; None is that of rate.
            dtype: a numeric dtype, int64 by default.

        Raises:
            ParameterError: an element of rate is negative, NaN, or above 2^62.

        Source:
            Hormann 1993, "The transformed rejection method for generating Poisson random
            variables".

        Example:
            >>> import tensorlike as tl
            >>> tl.random.Generator(0).poisson(0.0, shape=3).tolist()
            [0, 0, 0]
        """
        drawn = drawn_from(
            random_from, parameter(rate, shape, "float64"), mode="poisson", **self._take()
        )
        return astype(drawn, dtype="int64" if dtype is None else dtype)

    @draw
    def categorical(
        self, logits: TensorLike, *, axis: int = -1, shape: Shape | None = None
    ) -> Tensor:
        """Choices among categories, given the logarithms of weights that need not sum to 1.

        Args:
            logits: real floating-point; minus infinity is never chosen.
            axis: the axis that runs through the categories.
            shape: how many independent choices to make, as dimensions in front; None makes one.

        Raises:
            IndexRangeError: the axis is out of range.
            ShapeError: there is no category.

        Example:
            >>> import tensorlike as tl
            >>> logits = tl.log(tl.tensor([0.0, 0.0, 1.0]))
            >>> tl.random.Generator(0).categorical(logits, shape=4).tolist()
            [2, 2, 2, 2]
        """
        scores = self._perturbed(
            "categorical", logits, axis, () if shape is None else dims_of(shape)
        )
        return argmax(scores, axis=-1)

    @draw
    def multinomial(self, weights: TensorLike, count: int, *, replacement: bool = False) -> Tensor:
        """Several choices among categories, each row of weights by itself.

        Args:
            weights: not negative, real floating-point; the last axis runs through the categories.
            count: how many to choose.
            replacement: whether one category may be chosen again.

        Raises:
            ParameterError: count is no integer, or is negative.
            ShapeError: there are fewer categories than are to be chosen, or none.

        Source:
            Efraimidis and Spirakis 2006, "Weighted random sampling with a reservoir"; with
            replacement by the inverse of the cumulative distribution.

        Example:
            >>> import tensorlike as tl
            >>> sorted(tl.random.Generator(0).multinomial(tl.tensor([1.0, 0.0, 3.0]), 2).tolist())
            [0, 2]
        """
        count = integer("multinomial", "count", count, least=0)
        if replacement:
            return self._placed(_categories("multinomial", as_tensor(weights)), count)
        scores = self._perturbed("multinomial", log(weights), -1, ())
        if not 0 <= count <= scores.shape[-1]:
            raise ShapeError(
                f"must be at most {scores.shape[-1]}, the number of categories, "
                "without replacement.",
                op="multinomial",
                argument="count",
                got=f"{count}",
                fix="pass replacement=True",
            )
        return _topk(scores, k=count)[1]

    def _placed(self, weights: Any, count: int) -> Any:
        """Where numbers from [0, 1) fall among the sums of weights."""
        sums = cumulative_sum(astype(weights, dtype="float64"), axis=-1)
        places = self.uniform((*weights.shape[:-1], count), dtype="float64")
        found = searchsorted(sums / sums[..., -1:], places, side="right")
        return minimum(found, weights.shape[-1] - 1)  # of weights that sum to 0 or NaN

    def _perturbed(self, call: str, logits: TensorLike, axis: int, lead: tuple[int, ...]) -> Any:
        """Logits plus independent Gumbel noise: the greatest one is the choice."""
        last = _categories(call, as_tensor(logits), axis)
        shape = (*lead, *last.shape)
        return broadcast_to(last, shape) + gumbel_noise(shape, **self._take())

    @draw
    def permutation(self, x: int | TensorLike, *, axis: int = 0) -> Tensor:
        """The integers below a number, or the slices of a tensor, in random order.

        Args:
            x: a number, or a tensor of any dtype.
            axis: the axis along which slices change their places.

        Raises:
            IndexRangeError: the axis is out of range.
            ParameterError: the number is negative.

        Example:
            >>> import tensorlike as tl
            >>> sorted(tl.random.Generator(0).permutation(4).tolist())
            [0, 1, 2, 3]
        """
        if isinstance(x, int | np.integer):
            if x < 0:
                raise ParameterError(
                    "must not be negative.", op="permutation", argument="x", got=f"{x}"
                )
            return one_draw((int(x),), mode="orders")
        given = as_tensor(x)
        at = axis_of("permutation", axis, len(given.shape))
        size = given.shape[at]
        order = drawn(random_draw, (size,), mode="orders", **self._take())
        return take(given, order, axis=at)

    @draw
    def shuffle(self, x: Tensor, *, axis: int = 0) -> None:
        """Puts the slices of a tensor into random order, in place.

        Args:
            x: a tensor of any dtype.
            axis: the axis along which slices change their places.

        Raises:
            IndexRangeError: the axis is out of range.
            ParameterError: x is no Tensor, so it can't change.

        Example:
            >>> import tensorlike as tl
            >>> x = tl.arange(4)
            >>> tl.random.Generator(0).shuffle(x)
            >>> sorted(x.tolist())
            [0, 1, 2, 3]
        """
        if not isinstance(x, Tensor):
            raise ParameterError(
                "must be a Tensor.",
                op="shuffle",
                argument="x",
                got=type(x).__name__,
                fix="use permutation(x)",
            )
        x[...] = self.permutation(x, axis=axis)


def _categories(call: str, given: Any, axis: int = -1) -> Any:
    """With the axis of the categories last.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: there is no category.
    """
    at = axis_of(call, axis, len(given.shape))
    if not given.shape[at]:
        raise ShapeError("there must be a category.", op=call, got=f"shape {tuple(given.shape)}")
    return moveaxis(given, at, -1)

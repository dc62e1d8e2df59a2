"""Random choices by a seed, as dropout makes them; those of a generator are `tl.random`'s."""

from __future__ import annotations

from ..imperative import Tensor, TensorLike
from .arguments import integer, named
from .random import Generator

__all__ = ["multinomial"]


@named
def multinomial(
    weights: TensorLike, count: int, *, replacement: bool = False, seed: int = 0
) -> Tensor:
    """Several choices among categories, each row of weights by itself; the same for one seed.

    Args:
        weights: not negative, real floating-point; the last axis runs through the categories.
        count: how many to choose.
        replacement: whether one category may be chosen again.
        seed: decides the choices.

    Returns:
        The categories, int64, (..., count).

    Raises:
        ShapeError: there are fewer categories than are to be chosen, or none.
        ParameterError: count or seed is no integer.

    Source:
        Efraimidis and Spirakis 2006, "Weighted random sampling with a reservoir".

    Example:
        >>> import tensorlike as tl
        >>> sorted(tl.functional.multinomial(tl.tensor([1.0, 0.0, 3.0]), 2).tolist())
        [0, 2]
    """
    generator = Generator(integer("multinomial", "seed", seed))
    chosen = integer("multinomial", "count", count)
    return generator.multinomial(weights, chosen, replacement=replacement)

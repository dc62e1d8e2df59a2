"""Losses of triplets: what is like an anchor shall be nearer to it than what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..imperative import Tensor, TensorLike
from .arguments import named, number
from .distances import pairwise_distance
from .generated import maximum, minimum
from .losses import reduced

__all__ = ["triplet_margin_loss", "triplet_margin_with_distance_loss"]


@named
def triplet_margin_loss(
    anchor: TensorLike,
    positive: TensorLike,
    negative: TensorLike,
    *,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """What anchors lack of being nearer to the like than to the unlike by a margin.

    ``max(|anchor - positive| - |anchor - negative| + margin, 0)``.

    Args:
        anchor: (..., features), real floating-point.
        positive: what is like the anchor, a shape that broadcasts with it.
        negative: what is unlike the anchor, a shape that broadcasts with it.
        margin: by how much.
        p: the order of the norm.
        eps: added to differences, so that none is 0.
        swap: take the distance of positive and negative where that is less.
        reduction: "mean", "sum", or "none" for a loss of each triplet.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: the margin is not positive, or reduction is another word.

    Source:
        Balntas et al. 2016, https://doi.org/10.5244/C.30.119.

    Example:
        >>> import tensorlike as tl
        >>> near, far = tl.tensor([[1.0, 0.0]]), tl.tensor([[0.0, 1.0]])
        >>> round(tl.functional.triplet_margin_loss(near, far, near).item(), 4)
        2.4142
    """
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda x, y: pairwise_distance(x, y, p=p, eps=eps),
        margin=margin,
        swap=swap,
        reduction=reduction,
    )


@named
def triplet_margin_with_distance_loss(
    anchor: TensorLike,
    positive: TensorLike,
    negative: TensorLike,
    *,
    distance_function: Callable[[Any, Any], Any] = pairwise_distance,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """What anchors lack of being nearer to the like than to the unlike, by any distance.

    Args:
        anchor: what `distance_function` takes, as positive and negative are.
        positive: what is like the anchor.
        negative: what is unlike the anchor.
        distance_function: gives the distances of two tensors.
        margin: by how much.
        swap: take the distance of positive and negative where that is less.
        reduction: "mean", "sum", or "none" for a loss of each triplet.

    Raises:
        ParameterError: the margin is not positive, or reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.triplet_margin_with_distance_loss``.

    Example:
        >>> import tensorlike as tl
        >>> near, far = tl.tensor([1.0, 0.0]), tl.tensor([0.0, 1.0])
        >>> tl.functional.triplet_margin_with_distance_loss(
        ...     near, far, near, distance_function=lambda x, y: abs(x - y)).tolist()
        2.0
    """
    call = "triplet_margin_with_distance_loss"
    margin = number(call, "margin", margin, above=0.0)
    near, far = distance_function(anchor, positive), distance_function(anchor, negative)
    if swap:
        far = minimum(far, distance_function(positive, negative))
    return reduced(call, maximum(margin + near - far, 0), reduction)

"""Losses that ask for a margin: between right and wrong, near and far, in order and not."""

from __future__ import annotations

from ..imperative import IndexRangeError, ParameterError, ShapeError, Tensor, TensorLike
from .arguments import named, number
from .arranging import as_tensor, expand_dims
from .classification import check_integers, check_labels, checked_weight
from .distances import cosine_similarity
from .generated import any as any_
from .generated import (
    arange,
    astype,
    cumulative_min,
    hinge_embedding_error,
    logistic_error,
    margin_ranking_error,
    masked_select,
    maximum,
    mean,
    one_hot,
    softplus,
    sum,
    take_along_axis,
    where,
)
from .losses import reduced, weighted
from .picking import take

__all__ = [
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
]


@named
def soft_margin_loss(x: TensorLike, target: TensorLike, *, reduction: str = "mean") -> Tensor:
    """The mean of log(1 + exp(-target * x)).

    Args:
        x: any shape, real floating-point.
        target: 1 or -1, a shape that broadcasts with x.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.soft_margin_loss``.

    Example:
        >>> import tensorlike as tl
        >>> round(tl.functional.soft_margin_loss(tl.tensor([0.0]), tl.tensor([1.0])).item(), 4)
        0.6931
    """
    return reduced("soft_margin_loss", softplus(-(as_tensor(x) * as_tensor(target))), reduction)


@named
def multilabel_soft_margin_loss(
    x: TensorLike,
    target: TensorLike,
    weight: TensorLike | None = None,
    *,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy of sigmoid(x), averaged over the classes.

    ``-mean(target * log(sigmoid(x)) + (1 - target) * log(sigmoid(-x)))`` over the classes.

    Args:
        x: (..., classes), real floating-point.
        target: 0 or 1, a shape that broadcasts with x.
        weight: of each class; None is 1.
        reduction: "mean", "sum", or "none" for a loss of each row.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.multilabel_soft_margin_loss``.

    Example:
        >>> import tensorlike as tl
        >>> F = tl.functional
        >>> x, target = tl.tensor([[0.0, 0.0]]), tl.tensor([[1.0, 0.0]])
        >>> round(F.multilabel_soft_margin_loss(x, target).item(), 4)
        0.6931
    """
    terms = logistic_error(x, target)
    terms = mean(weighted(terms, weight), axis=-1)
    return reduced("multilabel_soft_margin_loss", terms, reduction)


@named
def hinge_embedding_loss(
    x: TensorLike, target: TensorLike, *, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """The mean of distances of what is alike, and of what others lack of a margin.

    ``mean(where(target == 1, x, max(margin - x, 0)))``.

    Args:
        x: distances, any shape.
        target: 1 where they should be small, -1 where large; a shape that broadcasts with x.
        margin: the distance that is large enough.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.hinge_embedding_loss``.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([0.5, 0.25]), tl.tensor([1.0, -1.0])
        >>> tl.functional.hinge_embedding_loss(x, target).item()
        0.625
    """
    return reduced("hinge_embedding_loss", hinge_embedding_error(x, target, margin), reduction)


@named
def margin_ranking_loss(
    x1: TensorLike,
    x2: TensorLike,
    target: TensorLike,
    *,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """The mean of what pairs lack of being in the right order.

    ``mean(max(margin - target * (x1 - x2), 0))``.

    Args:
        x1: any shape, real floating-point.
        x2: a shape that broadcasts with x1.
        target: 1 where x1 should be larger, -1 where x2 should.
        margin: by how much.
        reduction: "mean", "sum", or "none" for a loss of each pair.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.margin_ranking_loss``.

    Example:
        >>> import tensorlike as tl
        >>> x1, x2, target = tl.tensor([1.0, 2.0]), tl.tensor([3.0, 0.0]), tl.tensor([1.0, 1.0])
        >>> tl.functional.margin_ranking_loss(x1, x2, target).item()
        1.0
    """
    return reduced("margin_ranking_loss", margin_ranking_error(x1, x2, target, margin), reduction)


@named
def multi_margin_loss(
    x: TensorLike,
    labels: TensorLike,
    weight: TensorLike | None = None,
    *,
    p: int = 1,
    margin: float = 1.0,
    reduction: str = "mean",
) -> Tensor:
    """What the scores of labels lack of being larger than all others by a margin.

    ``sum(max(margin - x[label] + x[i], 0) ** p) / classes`` over all other classes i.

    Args:
        x: (..., classes), real floating-point.
        labels: class numbers, one for each row.
        weight: of each class; None is 1.
        p: 1, or 2 for squares.
        margin: by how much.
        reduction: "mean", "sum", or "none" for a loss of each row.

    Raises:
        ShapeError: labels do not have the shape of x without its last dimension.
        IndexRangeError: a label is no class.
        ParameterError: p is neither 1 nor 2, or reduction is another word.

    Source:
        Crammer and Singer 2001, https://www.jmlr.org/papers/v2/crammer01a.html.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.multi_margin_loss(tl.tensor([[1.0, 0.5]]), tl.tensor([0])).item()
        0.25
    """
    x, labels = as_tensor(x), as_tensor(labels)
    if p not in (1, 2):
        raise ParameterError("must be 1 or 2.", op="multi_margin_loss", argument="p", got=f"p={p}")
    check_labels("multi_margin_loss", x, labels)
    margin = number("multi_margin_loss", "margin", margin)
    own = expand_dims(labels, -1)
    lack = maximum(margin - take_along_axis(x, own, axis=-1) + x, 0)
    lack = lack if p == 1 else lack * lack
    if weight is not None:
        lack = lack * expand_dims(take(checked_weight("multi_margin_loss", weight, x), labels), -1)
    is_own = own == arange(x.shape[-1])
    return reduced("multi_margin_loss", mean(where(is_own, 0, lack), axis=-1), reduction)


@named
def multilabel_margin_loss(x: TensorLike, labels: TensorLike, *, reduction: str = "mean") -> Tensor:
    """What the scores of labels lack of being larger than those of all other classes by 1.

    For each row, the sum over labels j and other classes i of max(0, 1 - (x_j - x_i)), divided by
    the number of classes.

    Args:
        x: (..., classes), real floating-point.
        labels: class numbers in the shape of x; those of a row end before its first -1.
        reduction: "mean", "sum", or "none" for a loss of each row.

    Raises:
        ShapeError: labels do not have the shape of x, or there is no class.
        IndexRangeError: a label is no class.
        DTypeError: labels are not integer.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.multilabel_margin_loss``.

    Example:
        >>> import tensorlike as tl
        >>> x, labels = tl.tensor([[0.0, 0.5, 0.75, 1.0]]), tl.tensor([[3, 0, -1, 1]])
        >>> tl.functional.multilabel_margin_loss(x, labels).item()
        1.125
    """
    x, labels = as_tensor(x), as_tensor(labels)
    if not x.shape or not x.shape[-1] or tuple(labels.shape) != tuple(x.shape):
        raise ShapeError(
            "must have the shape of x, (..., classes).",
            op="multilabel_margin_loss",
            argument="labels",
            got=f"labels.shape={labels.shape} and x.shape={x.shape}",
        )
    check_integers("multilabel_margin_loss", labels)
    classes = x.shape[-1]
    wrong = (labels < -1) | (labels >= classes)
    if any_(wrong):
        raise IndexRangeError(
            f"must be in [-1, {classes - 1}].",
            op="multilabel_margin_loss",
            argument="labels",
            got=f"{masked_select(labels, wrong)[0].item()}",
        )
    is_label = cumulative_min(astype(labels, dtype="int64"), axis=-1) >= 0
    place = where(is_label, labels, 0)
    own = expand_dims(take_along_axis(x, place, axis=-1), -1)
    is_given = expand_dims(is_label, -1)
    is_other = ~any_(one_hot(place, classes) & is_given, axis=-2)
    is_pair = is_given & expand_dims(is_other, -2)
    lack = where(is_pair, maximum(1 - own + expand_dims(x, -2), 0), 0)
    return reduced("multilabel_margin_loss", sum(lack, axis=(-2, -1)) / classes, reduction)


@named
def cosine_embedding_loss(
    x1: TensorLike,
    x2: TensorLike,
    target: TensorLike,
    *,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """What the directions of pairs lack of being the same, or of being different.

    ``where(target == 1, 1 - cosine, max(cosine - margin, 0))``.

    Args:
        x1: (..., features), real floating-point.
        x2: a shape that broadcasts with x1.
        target: 1 where directions should be the same, -1 where not.
        margin: the cosine that is small enough.
        reduction: "mean", "sum", or "none" for a loss of each pair.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: reduction is another word.

    Source:
        PyTorch, ``torch.nn.functional.cosine_embedding_loss``.

    Example:
        >>> import tensorlike as tl
        >>> x1, x2 = tl.tensor([[1.0, 0.0], [1.0, 0.0]]), tl.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> tl.functional.cosine_embedding_loss(x1, x2, tl.tensor([1, -1])).item()
        1.0
    """
    cosine, target = cosine_similarity(x1, x2, axis=-1, eps=1e-8), as_tensor(target)
    if target.shape != cosine.shape:
        raise ShapeError(
            "must have one element for each pair.",
            op="cosine_embedding_loss",
            argument="target",
            got=f"target.shape={target.shape} for {cosine.shape}",
        )
    margin = number("cosine_embedding_loss", "margin", margin)
    like = where(target == 1, 1 - cosine, 0)
    unlike = where(target == -1, maximum(cosine - margin, 0), 0)
    return reduced("cosine_embedding_loss", like + unlike, reduction)

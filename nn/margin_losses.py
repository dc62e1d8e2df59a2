"""Losses that ask for a margin, as layers: each is the function of its name."""

from __future__ import annotations

from .. import functional as F
from ..imperative import TensorLike
from .functional_layer import Functional, kept


class CosineEmbeddingLoss(Functional):
    """`functional.cosine_embedding_loss` of x1, x2 and targets of 1 or -1.

    Args:
        margin: the cosine that is small enough.
        reduction: "mean", "sum", or "none" for a loss of each pair.

    Example:
        >>> import tensorlike as tl
        >>> x1, x2 = tl.tensor([[1.0, 0.0]]), tl.tensor([[0.0, 1.0]])
        >>> tl.nn.CosineEmbeddingLoss()(x1, x2, tl.tensor([1])).item()
        1.0
    """

    call = staticmethod(F.cosine_embedding_loss)

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class HingeEmbeddingLoss(Functional):
    """`functional.hinge_embedding_loss` of distances and targets of 1 or -1.

    Args:
        margin: the distance that is large enough.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([0.5, 0.25]), tl.tensor([1.0, -1.0])
        >>> tl.nn.HingeEmbeddingLoss()(x, target).item()
        0.625
    """

    call = staticmethod(F.hinge_embedding_loss)

    def __init__(self, margin: float = 1.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class MarginRankingLoss(Functional):
    """`functional.margin_ranking_loss` of x1, x2 and targets of 1 or -1.

    Args:
        margin: by how much one should be larger.
        reduction: "mean", "sum", or "none" for a loss of each pair.

    Example:
        >>> import tensorlike as tl
        >>> x1, x2, target = tl.tensor([1.0]), tl.tensor([3.0]), tl.tensor([1.0])
        >>> tl.nn.MarginRankingLoss()(x1, x2, target).item()
        2.0
    """

    call = staticmethod(F.margin_ranking_loss)

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class MultiLabelMarginLoss(Functional):
    """`functional.multilabel_margin_loss` of scores and labels that end before -1.

    Args:
        reduction: "mean", "sum", or "none" for a loss of each row.

    Example:
        >>> import tensorlike as tl
        >>> x, labels = tl.tensor([[0.0, 0.5, 0.75, 1.0]]), tl.tensor([[3, 0, -1, 1]])
        >>> tl.nn.MultiLabelMarginLoss()(x, labels).item()
        1.125
    """

    call = staticmethod(F.multilabel_margin_loss)

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class MultiLabelSoftMarginLoss(Functional):
    """`functional.multilabel_soft_margin_loss` of logits and targets of 0 or 1.

    Args:
        weight: of each class; None is 1.
        reduction: "mean", "sum", or "none" for a loss of each row.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([[0.0, 0.0]]), tl.tensor([[1.0, 0.0]])
        >>> round(tl.nn.MultiLabelSoftMarginLoss()(x, target).item(), 4)
        0.6931
    """

    call = staticmethod(F.multilabel_soft_margin_loss)

    def __init__(self, weight: TensorLike | None = None, *, reduction: str = "mean") -> None:
        super().__init__(weight=kept(weight), reduction=reduction)


class MultiMarginLoss(Functional):
    """`functional.multi_margin_loss` of scores and labels.

    Args:
        p: 1, or 2 for squares.
        margin: by how much the label's score should be larger.
        weight: of each class; None is 1.
        reduction: "mean", "sum", or "none" for a loss of each row.

    Source:
        Crammer and Singer 2001, https://www.jmlr.org/papers/v2/crammer01a.html.

    Example:
        >>> import tensorlike as tl
        >>> x, labels = tl.tensor([[1.0, 0.5]]), tl.tensor([0])
        >>> tl.nn.MultiMarginLoss()(x, labels).item()
        0.25
    """

    call = staticmethod(F.multi_margin_loss)

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: TensorLike | None = None,
        *,
        reduction: str = "mean",
    ) -> None:
        super().__init__(p=p, margin=margin, weight=kept(weight), reduction=reduction)


class SoftMarginLoss(Functional):
    """`functional.soft_margin_loss` of values and targets of 1 or -1.

    Args:
        reduction: "mean", "sum", or "none" for a loss of each element.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([0.0]), tl.tensor([1.0])
        >>> round(tl.nn.SoftMarginLoss()(x, target).item(), 4)
        0.6931
    """

    call = staticmethod(F.soft_margin_loss)

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class TripletMarginLoss(Functional):
    """`functional.triplet_margin_loss` of anchors, what is like them, and what is not.

    Args:
        margin: by how much the like should be nearer.
        p: the order of the norm.
        eps: added to differences.
        swap: take the distance of positive and negative where that is less.
        reduction: "mean", "sum", or "none" for a loss of each triplet.

    Source:
        Balntas et al. 2016, https://doi.org/10.5244/C.30.119.

    Example:
        >>> import tensorlike as tl
        >>> near, far = tl.tensor([[1.0, 0.0]]), tl.tensor([[0.0, 1.0]])
        >>> round(tl.nn.TripletMarginLoss()(near, far, near).item(), 4)
        2.4142
    """

    call = staticmethod(F.triplet_margin_loss)

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        *,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)

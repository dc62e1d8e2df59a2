"""Losses as layers: each is the function of its name, with the arguments that it keeps."""

from __future__ import annotations

from .. import functional as F
from ..imperative import TensorLike
from .functional_layer import Functional, kept


class BCELoss(Functional):
    """`functional.binary_cross_entropy` of probabilities and targets.

    Args:
        weight: of each element; None is 1.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([0.5, 1.0]), tl.tensor([1.0, 1.0])
        >>> round(tl.nn.BCELoss()(x, target).item(), 4)
        0.3466
    """

    call = staticmethod(F.binary_cross_entropy)

    def __init__(self, weight: TensorLike | None = None, *, reduction: str = "mean") -> None:
        super().__init__(weight=kept(weight), reduction=reduction)


class BCEWithLogitsLoss(Functional):
    """`functional.binary_cross_entropy_with_logits` of logits and targets.

    Args:
        weight: of each element; None is 1.
        pos_weight: how much a target of 1 counts; None is 1.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([0.0]), tl.tensor([1.0])
        >>> round(tl.nn.BCEWithLogitsLoss()(x, target).item(), 4)
        0.6931
    """

    call = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(
        self,
        weight: TensorLike | None = None,
        pos_weight: TensorLike | None = None,
        *,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight=kept(weight), pos_weight=kept(pos_weight), reduction=reduction)


class CTCLoss(Functional):
    """`functional.ctc_loss` of log_probs, targets, input_lengths and target_lengths.

    Args:
        blank: the class that stands for no label.
        reduction: "mean", "sum", or "none" for a loss of each sequence.
        zero_infinity: count labels that have no alignment as 0.

    Source:
        Graves et al. 2006, https://doi.org/10.1145/1143844.1143891.

    Example:
        >>> import tensorlike as tl
        >>> even = tl.functional.log_softmax(tl.zeros((2, 1, 2)))
        >>> round(tl.nn.CTCLoss()(even, [[1]], [2], [1]).item(), 4)
        0.2877
    """

    call = staticmethod(F.ctc_loss)

    def __init__(
        self, blank: int = 0, *, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(blank=blank, reduction=reduction, zero_infinity=zero_infinity)


class CrossEntropyLoss(Functional):
    """`functional.cross_entropy` of logits and labels.

    Args:
        weight: (classes,), how much each class counts; None is 1.
        ignore_index: the label of rows that do not count.
        reduction: "mean", "sum", or "none" for a loss of each row.
        label_smoothing: the share of each label that is spread over all classes.
        axis: the dimension of the classes; 1 for images.

    Source:
        Smoothing: Szegedy et al. 2015, https://arxiv.org/abs/1512.00567.

    Example:
        >>> import tensorlike as tl
        >>> logits = tl.tensor([[0.0, 0.0], [0.0, 2.0]])
        >>> round(tl.nn.CrossEntropyLoss()(logits, tl.tensor([0, 1])).item(), 4)
        0.41
    """

    call = staticmethod(F.cross_entropy)

    def __init__(
        self,
        weight: TensorLike | None = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        axis: int = -1,
    ) -> None:
        super().__init__(
            weight=kept(weight),
            ignore_index=ignore_index,
            reduction=reduction,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class GaussianNLLLoss(Functional):
    """`functional.gaussian_nll_loss` of means, targets and variances.

    Args:
        full: add the constant.
        eps: the least variance.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Source:
        Nix and Weigend 1994, https://doi.org/10.1109/ICNN.1994.374138.

    Example:
        >>> import tensorlike as tl
        >>> x, target, var = tl.tensor([1.0]), tl.tensor([3.0]), tl.tensor([1.0])
        >>> tl.nn.GaussianNLLLoss()(x, target, var).item()
        2.0
    """

    call = staticmethod(F.gaussian_nll_loss)

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(full=full, eps=eps, reduction=reduction)


class HuberLoss(Functional):
    """`functional.huber_loss` of values and targets.

    Args:
        reduction: "mean", "sum", or "none" for a loss of each element.
        delta: where the parabola becomes a straight line.

    Source:
        Huber 1964, https://doi.org/10.1214/aoms/1177703732.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0])
        >>> tl.nn.HuberLoss()(x, target).item()
        0.75
    """

    call = staticmethod(F.huber_loss)

    def __init__(self, *, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction, delta=delta)


class KLDivLoss(Functional):
    """`functional.kl_div` of logarithms of probabilities and target probabilities.

    Args:
        reduction: "batchmean", "mean", "sum" or "none".
        log_target: whether the target is given as logarithms too.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.log(tl.tensor([[0.5, 0.5]])), tl.tensor([[0.25, 0.75]])
        >>> round(tl.nn.KLDivLoss(reduction="batchmean")(x, target).item(), 4)
        0.1308
    """

    call = staticmethod(F.kl_div)

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction=reduction, log_target=log_target)


class L1Loss(Functional):
    """`functional.l1_loss` of values and targets.

    Args:
        reduction: "mean", "sum", or "none" for a loss of each element.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0])
        >>> tl.nn.L1Loss()(x, target).item()
        1.0
    """

    call = staticmethod(F.l1_loss)

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class MSELoss(Functional):
    """`functional.mse_loss` of values and targets.

    Args:
        reduction: "mean", "sum", or "none" for a loss of each element.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0])
        >>> tl.nn.MSELoss()(x, target).item()
        2.0
    """

    call = staticmethod(F.mse_loss)

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class NLLLoss(Functional):
    """`functional.nll_loss` of logarithms of probabilities and labels.

    Args:
        weight: (classes,), how much each class counts; None is 1.
        ignore_index: the label of rows that do not count.
        reduction: "mean", "sum", or "none" for a loss of each row.
        axis: the dimension of the classes; 1 for images.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[-0.5, -1.0], [-2.0, -0.25]])
        >>> tl.nn.NLLLoss()(x, tl.tensor([0, 1])).item()
        0.375
    """

    call = staticmethod(F.nll_loss)

    def __init__(
        self,
        weight: TensorLike | None = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        axis: int = -1,
    ) -> None:
        super().__init__(
            weight=kept(weight), ignore_index=ignore_index, reduction=reduction, axis=axis
        )


class PoissonNLLLoss(Functional):
    """`functional.poisson_nll_loss` of means, or their logarithms, and counts.

    Args:
        log_input: whether the means are given as logarithms.
        full: add what does not depend on the means, by Stirling's approximation.
        eps: added to means before their logarithm is taken.
        reduction: "mean", "sum", or "none" for a loss of each element.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([0.0, 0.0]), tl.tensor([1.0, 2.0])
        >>> tl.nn.PoissonNLLLoss()(x, target).item()
        1.0
    """

    call = staticmethod(F.poisson_nll_loss)

    def __init__(
        self,
        *,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> None:
        super().__init__(log_input=log_input, full=full, eps=eps, reduction=reduction)


class SmoothL1Loss(Functional):
    """`functional.smooth_l1_loss` of values and targets.

    Args:
        reduction: "mean", "sum", or "none" for a loss of each element.
        beta: where the parabola becomes a straight line.

    Source:
        Girshick 2015, https://arxiv.org/abs/1504.08083.

    Example:
        >>> import tensorlike as tl
        >>> x, target = tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0])
        >>> tl.nn.SmoothL1Loss()(x, target).item()
        0.75
    """

    call = staticmethod(F.smooth_l1_loss)

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction=reduction, beta=beta)

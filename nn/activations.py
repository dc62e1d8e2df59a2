"""Activations that squash, shrink or choose, as layers: each is the function of its name."""

from __future__ import annotations

from .. import functional as F
from .functional_layer import Functional


class GLU(Functional):
    """`functional.glu`: half of the channels, times the sigmoid of the other half.

    Args:
        axis: the dimension that is halved.

    Source:
        Dauphin et al. 2016, https://arxiv.org/abs/1612.08083.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.GLU()(tl.tensor([1.0, 2.0, 0.0, 0.0])).tolist()
        [0.5, 1.0]
    """

    call = staticmethod(F.glu)

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis=axis)


class Hardshrink(Functional):
    """`functional.hardshrink`: x, or 0 where it is no further than lambd from 0.

    Args:
        lambd: the distance.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Hardshrink(1.5)(tl.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    call = staticmethod(F.hardshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)


class Hardsigmoid(Functional):
    """`functional.hardsigmoid`: min(max(x / 6 + 1 / 2, 0), 1).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Hardsigmoid()(tl.tensor([-1.5, 4.0])).tolist()
        [0.25, 1.0]
    """

    call = staticmethod(F.hardsigmoid)


class Hardtanh(Functional):
    """`functional.hardtanh`: x, moved into a range.

    Args:
        min_val: the lower end.
        max_val: the upper end.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Hardtanh(-0.5, 3.0)(tl.tensor([-1.0, 2.0])).tolist()
        [-0.5, 2.0]
    """

    call = staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__(min_val=min_val, max_val=max_val)


class LogSigmoid(Functional):
    """`functional.log_sigmoid`: the logarithm of the logistic function.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.LogSigmoid()(tl.tensor([-1000.0, 1000.0])).tolist()
        [-1000.0, 0.0]
    """

    call = staticmethod(F.log_sigmoid)


class LogSoftmax(Functional):
    """`functional.log_softmax`: the logarithm of the softmax.

    Args:
        axis: the axis whose exponentials sum to 1.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.LogSoftmax()(tl.tensor([1000.0, 0.0])).tolist()
        [0.0, -1000.0]
    """

    call = staticmethod(F.log_softmax)

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis=axis)


class Sigmoid(Functional):
    """`functional.sigmoid`: 1 / (1 + exp(-x)).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Sigmoid()(tl.tensor([0.0, 100.0])).tolist()
        [0.5, 1.0]
    """

    call = staticmethod(F.sigmoid)


class Softmax(Functional):
    """`functional.softmax`: exponentials divided by their sum.

    Args:
        axis: the axis that sums to 1.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Softmax()(tl.tensor([2.0, 2.0])).tolist()
        [0.5, 0.5]
    """

    call = staticmethod(F.softmax)

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis=axis)


class Softmin(Functional):
    """`functional.softmin`: the softmax of -x.

    Args:
        axis: the axis that sums to 1.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Softmin()(tl.tensor([2.0, 2.0])).tolist()
        [0.5, 0.5]
    """

    call = staticmethod(F.softmin)

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis=axis)


class Softshrink(Functional):
    """`functional.softshrink`: x, moved towards 0 by lambd.

    Args:
        lambd: by how much.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Softshrink()(tl.tensor([-1.0, 2.0])).tolist()
        [-0.5, 1.5]
    """

    call = staticmethod(F.softshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)


class Softsign(Functional):
    """`functional.softsign`: x / (1 + abs(x)).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Softsign()(tl.tensor([-1.0, 3.0])).tolist()
        [-0.5, 0.75]
    """

    call = staticmethod(F.softsign)


class Tanh(Functional):
    """`functional.tanh`: the hyperbolic tangent.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Tanh()(tl.tensor([0.0, 100.0])).tolist()
        [0.0, 1.0]
    """

    call = staticmethod(F.tanh)


class Tanhshrink(Functional):
    """`functional.tanhshrink`: x - tanh(x).

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Tanhshrink()(tl.tensor([0.0, 100.0])).tolist()
        [0.0, 99.0]
    """

    call = staticmethod(F.tanhshrink)

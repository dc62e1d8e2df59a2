"""Activations that go on rising, as layers: each is the function of its name."""

from __future__ import annotations

import numpy as np

from .. import functional as F
from ..imperative import ArgumentError, Parameter, Tensor, TensorLike, next_seed
from .functional_layer import Functional
from .layer import Layer
from .param_attr import ParamAttr


class CELU(Functional):
    """`functional.celu`: x above 0, else alpha (exp(x / alpha) - 1).

    Args:
        alpha: how far below 0 the result goes.

    Source:
        Barron 2017, https://arxiv.org/abs/1704.07483.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.CELU(0.5)(tl.tensor([-1000.0, 2.0])).tolist()
        [-0.5, 2.0]
    """

    call = staticmethod(F.celu)

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__(alpha=alpha)


class ELU(Functional):
    """`functional.elu`: x above 0, else alpha (exp(x) - 1).

    Args:
        alpha: how far below 0 the result goes.

    Source:
        Clevert et al. 2015, https://arxiv.org/abs/1511.07289.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ELU(0.5)(tl.tensor([-1000.0, 2.0])).tolist()
        [-0.5, 2.0]
    """

    call = staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__(alpha=alpha)


class GELU(Layer):
    """`functional.gelu`: x times the normal distribution's probability of less than x.

    Args:
        approximate: "none", or "tanh" for `functional.gelu_tanh`.

    Raises:
        ValueError: approximate is another word.

    Source:
        Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.GELU()(tl.tensor([0.0, 100.0])).tolist()
        [0.0, 100.0]
    """

    def __init__(self, approximate: str = "none") -> None:
        """Chooses the form."""
        if approximate not in ("none", "tanh"):
            raise ArgumentError(
                "must be 'none' or 'tanh'", op="GELU", argument="approximate", got=repr(approximate)
            )
        self.approximate = approximate

    def forward(self, x: TensorLike) -> Tensor:
        """The function of each element."""
        return F.gelu_tanh(x) if self.approximate == "tanh" else F.gelu(x)


class Hardswish(Functional):
    """`functional.hardswish`: x min(max(x + 3, 0), 6) / 6.

    Source:
        Howard et al. 2019, https://arxiv.org/abs/1905.02244.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Hardswish()(tl.tensor([-1.5, 4.0])).tolist()
        [-0.375, 4.0]
    """

    call = staticmethod(F.hardswish)


class LeakyReLU(Functional):
    """`functional.leaky_relu`: x above 0, else negative_slope x.

    Args:
        negative_slope: the slope below 0.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.LeakyReLU(0.25)(tl.tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]
    """

    call = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__(negative_slope=negative_slope)


class Mish(Functional):
    """`functional.mish`: x tanh(log(1 + exp(x))).

    Source:
        Misra 2019, https://arxiv.org/abs/1908.08681.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Mish()(tl.tensor([0.0, 100.0])).tolist()
        [0.0, 100.0]
    """

    call = staticmethod(F.mish)


class PReLU(Layer):
    """`functional.prelu`: x above 0, else a learnt slope times x.

    Args:
        num_parameters: 1, or a slope for each channel, the second dimension.
        init: the slope at first.
        weight_attr: what the weight starts from instead, and whether it is learnt.

    Attributes:
        weight: (num_parameters,), the slopes.

    Raises:
        ValueError: num_parameters is not positive.

    Source:
        He et al. 2015, https://arxiv.org/abs/1502.01852.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.PReLU()(tl.tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, *, weight_attr: ParamAttr | None = None
    ) -> None:
        """Makes the slopes."""
        if num_parameters < 1:
            raise ArgumentError(
                "must be positive", op="PReLU", argument="num_parameters", got=f"{num_parameters}"
            )
        self.weight = Parameter(np.full(num_parameters, init, np.float32))
        self._start_from(weight=weight_attr)

    def forward(self, x: TensorLike) -> Tensor:
        """The function of each element."""
        return F.prelu(x, self.weight)


class ReLU(Functional):
    """`functional.relu`: x above 0, else 0.

    Source:
        Nair and Hinton 2010, https://www.cs.toronto.edu/~hinton/absps/reluICML.pdf.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ReLU()(tl.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    call = staticmethod(F.relu)


class ReLU6(Functional):
    """`functional.relu6`: x, moved into the range from 0 to 6.

    Source:
        Howard et al. 2017, https://arxiv.org/abs/1704.04861.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ReLU6()(tl.tensor([-1.0, 8.0])).tolist()
        [0.0, 6.0]
    """

    call = staticmethod(F.relu6)


class RReLU(Layer):
    """`functional.rrelu`: x above 0, else a slope times x, which is random while training.

    Args:
        lower: the least slope.
        upper: the greatest slope; in evaluation, the slope is the mean of both.

    Raises:
        ValueError: lower is greater than upper.

    Source:
        Xu et al. 2015, https://arxiv.org/abs/1505.00853.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.RReLU(0.25, 0.75).eval()(tl.tensor([-1.0, 2.0])).tolist()
        [-0.5, 2.0]
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        """Keeps the ends of the range."""
        if not lower <= upper:
            raise ArgumentError(
                "must not be greater than upper",
                op="RReLU",
                argument="lower",
                got=f"lower={lower}, upper={upper}",
            )
        self.lower = lower
        self.upper = upper

    def forward(self, x: TensorLike) -> Tensor:
        """Draws fresh slopes while training."""
        seed = next_seed() if self.training else 0
        return F.rrelu(x, lower=self.lower, upper=self.upper, training=self.training, seed=seed)


class SELU(Functional):
    """`functional.selu`: an ELU that keeps the mean 0 and the variance 1.

    Source:
        Klambauer et al. 2017, https://arxiv.org/abs/1706.02515.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.SELU()(tl.tensor([0.0, 1.0])).shape
        (2,)
    """

    call = staticmethod(F.selu)


class SiLU(Functional):
    """`functional.silu`: x times the logistic function of x.

    Source:
        Elfwing et al. 2017, https://arxiv.org/abs/1702.03118.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.SiLU()(tl.tensor([0.0, 100.0])).tolist()
        [0.0, 100.0]
    """

    call = staticmethod(F.silu)


class Softplus(Functional):
    """`functional.softplus`: log(1 + exp(beta x)) / beta.

    Args:
        beta: how near to a relu it is.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Softplus()(tl.tensor([-1000.0, 100.0])).tolist()
        [0.0, 100.0]
    """

    call = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0) -> None:
        super().__init__(beta=beta)


class Threshold(Functional):
    """`functional.threshold`: x above a limit, else a value.

    Args:
        limit: the limit.
        value: what stands for all that is not above it.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Threshold(0.5, 20.0)(tl.tensor([-1.0, 2.0])).tolist()
        [20.0, 2.0]
    """

    call = staticmethod(F.threshold)

    def __init__(self, limit: float, value: float) -> None:
        super().__init__(limit=limit, value=value)

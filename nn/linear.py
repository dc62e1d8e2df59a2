"""Linear: an affine map of the last dimension, and a scalar function of it; Bilinear: of two."""

from __future__ import annotations

import numpy as np

from .. import functional as F
from ..imperative import ArgumentError, Parameter, Tensor, TensorLike
from .layer import Layer
from .param_attr import ParamAttr
from .seeds import generator_of


class Linear(Layer):
    """``activation(x @ weight + bias)``.

    Args:
        in_features: the size of x's last dimension.
        out_features: the size of the result's last dimension.
        bias: whether there is a bias.
        activation: the name of a scalar function of one argument, or whose others have defaults,
            such as "relu" or "leaky_relu", that is applied while the result is still in the
            cache; None applies none.
        seed: the seed of the initial weights; None takes one from `manual_seed`'s stream.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (in_features, out_features), uniform in +-sqrt(6 / in_features), which keeps the
            variance through a relu.
        bias: (out_features,), zeros; or None.

    Raises:
        ValueError: a size is not positive.

    Source:
        He et al. 2015, https://arxiv.org/abs/1502.01852.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Linear(3, 2)(tl.tensor([[1.0, 2.0, 3.0]])).shape
        (1, 2)
    """

    swapped = ("weight",)

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = True,
        activation: str | None = None,
        seed: int | None = None,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters."""
        if in_features < 1 or out_features < 1:
            raise ArgumentError(
                "must be positive",
                op="Linear",
                argument="sizes",
                got=f"in_features={in_features}, out_features={out_features}",
            )
        bound = float(np.sqrt(6.0 / in_features))
        generator = generator_of(seed)
        weight = generator.uniform(-bound, bound, (in_features, out_features))
        self.weight = Parameter(weight.astype(np.float32))
        self.bias = Parameter(np.zeros(out_features, np.float32)) if bias else None
        self.activation = activation
        self._start_from(weight=weight_attr, bias=bias_attr)

    def forward(self, x: TensorLike) -> Tensor:
        """Applies the map to x of shape (..., in_features)."""
        bias, name = self.bias, self.activation
        if bias is None and name is None:
            return F.matmul(x, self.weight)
        return F.linear(
            x,
            self.weight,
            0.0 if bias is None else bias,
            "positive" if name is None else name,
        )


class Bilinear(Layer):
    """``x1 @ weight[o] @ x2 + bias[o]``, for each feature o of the result.

    Args:
        in1_features: the size of x1's last dimension.
        in2_features: the size of x2's last dimension.
        out_features: the size of the result's last dimension.
        bias: whether there is a bias.
        seed: the seed of the initial weights; None takes one from `manual_seed`'s stream.
        weight_attr: what the weight starts from instead, and whether it is learnt.
        bias_attr: the same of the bias.

    Attributes:
        weight: (out_features, in1_features, in2_features), uniform in +-1 / sqrt(in1_features).
        bias: (out_features,), of the same range; or None.

    Raises:
        ValueError: a size is not positive.

    Source:
        PyTorch, ``torch.nn.Bilinear``.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Bilinear(3, 2, 4)(tl.ones((5, 3)), tl.ones((5, 2))).shape
        (5, 4)
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        seed: int | None = None,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters."""
        if min(in1_features, in2_features, out_features) < 1:
            raise ArgumentError(
                "must be positive",
                op="Bilinear",
                argument="sizes",
                got=(
                    f"in1_features={in1_features}, in2_features={in2_features}, "
                    f"out_features={out_features}"
                ),
            )
        bound = float(np.sqrt(1.0 / in1_features))
        generator = generator_of(seed)

        def parameter(*shape: int) -> Parameter:
            return Parameter(generator.uniform(-bound, bound, shape).astype(np.float32))

        self.weight = parameter(out_features, in1_features, in2_features)
        self.bias = parameter(out_features) if bias else None
        self._start_from(weight=weight_attr, bias=bias_attr)

    def forward(self, x1: TensorLike, x2: TensorLike) -> Tensor:
        """Applies it to x1 (..., in1_features) and x2 (..., in2_features)."""
        return F.bilinear(x1, x2, self.weight, self.bias)

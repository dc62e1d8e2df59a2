"""ParamAttr: what a layer's constructor is told about one of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..imperative import Parameter


@dataclass(frozen=True)
class ParamAttr:
    """What a parameter starts from, and whether it is learnt.

    Args:
        initializer: a function of the shape, such as those of `tensorlike.nn.initializers`; None
            leaves the layer's own start.
        trainable: whether gradients are asked for it.

    Source:
        PaddlePaddle, ``fluid.ParamAttr``.

    Example:
        >>> from tensorlike import nn
        >>> half = nn.ParamAttr(initializer=nn.initializers.Constant(0.5), trainable=False)
        >>> layer = nn.Linear(1, 2, weight_attr=half)
        >>> layer.weight.tolist(), layer.weight.requires_grad
        ([[0.5, 0.5]], False)
    """

    initializer: Callable[[tuple[int, ...]], Any] | None = None
    trainable: bool = True

    def apply(self, parameter: Parameter) -> None:
        """Sets the parameter's elements, and whether it is learnt."""
        if self.initializer is not None:
            parameter.set_value(self.initializer(parameter.shape))
        parameter.requires_grad = self.trainable

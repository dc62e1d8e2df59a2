"""Layers as calls that make their parameters: for programs that are written as a list of calls.

Each makes a layer of `tensorlike.nn` for the sizes of its argument, and applies it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functional as F
from .. import nn
from ..imperative import ArgumentError


def _size(x: Any, axis: int, who: str) -> int:
    size = x.shape[axis]
    if not isinstance(size, int):
        raise ArgumentError(
            f"the size of dimension {axis} must be known, since parameters depend on it", op=who,
            argument="x", got=f"shape {tuple(x.shape)}",
        )  # fmt: skip
    return size


def _activated(x: Any, act: str | None) -> Any:
    return x if act is None else getattr(F, act)(x)


def fc(x: Any, size: int, *, act: str | None = None, bias: bool = True, **attrs: Any) -> Any:
    """``act(x @ weight + bias)``, over the last dimension.

    Args:
        x: (..., features).
        size: how many features come out.
        act: the name of a function of one argument, such as "relu".
        bias: whether there is a bias.
        attrs: `weight_attr`, `bias_attr`, `seed`, as `nn.Linear` has them.

    Raises:
        ArgumentError: the last size is not known.

    Source:
        Paddle, ``fluid.layers.fc``.

    Example:
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program(), static.Program()) as main:
        ...     y = static.fc(static.data("x", (None, 3)), 2, act="relu")
        >>> y.shape[1], len(main.all_parameters())
        (2, 2)
    """
    return _activated(nn.Linear(_size(x, -1, "fc"), size, bias=bias, **attrs)(x), act)


def conv2d(
    x: Any,
    num_filters: int,
    filter_size: int | Sequence[int],
    *,
    act: str | None = None,
    **attrs: Any,
) -> Any:
    """A convolution of images with learnt filters, plus a bias.

    Args:
        x: (N, channels, height, width).
        num_filters: how many channels come out.
        filter_size: of the window.
        act: the name of a function of one argument.
        attrs: what else `nn.Conv2d` takes: `stride`, `padding`, `groups`, `bias`, ...

    Raises:
        ArgumentError: the number of channels is not known.

    Source:
        Paddle, ``fluid.layers.conv2d``.
    """
    channels = _size(x, 1, "conv2d")
    return _activated(nn.Conv2d(channels, num_filters, filter_size, **attrs)(x), act)


def batch_norm(x: Any, *, act: str | None = None, **attrs: Any) -> Any:
    """Batch norm of (N, channels, ...), with running statistics.

    Raises:
        ArgumentError: the number of channels is not known, or x has other dimensions.

    Source:
        Paddle, ``fluid.layers.batch_norm``.
    """
    kinds = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}
    if len(x.shape) not in kinds:
        raise ArgumentError(
            "must have 2 to 5 dimensions", op="batch_norm", argument="x", got=f"{len(x.shape)}"
        )
    return _activated(kinds[len(x.shape)](_size(x, 1, "batch_norm"), **attrs)(x), act)


def embedding(x: Any, size: Sequence[int], **attrs: Any) -> Any:
    """The rows of a learnt table, one for each index.

    Args:
        x: indices, of any shape.
        size: (rows, features) of the table.
        attrs: what else `nn.Embedding` takes.

    Source:
        Paddle, ``fluid.layers.embedding``.
    """
    rows, features = size
    return nn.Embedding(rows, features, **attrs)(x)

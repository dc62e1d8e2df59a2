"""Layers as calls that make their parameters: for programs that are written as a list of calls.

Each makes a layer of `tensorlike.nn` for the sizes of its argument, and applies it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import functional as F
from .. import nn
from ..imperative import ArgumentError, DTypeError, ParameterError, Size, Tensor, TensorBase
from ..imperative.blocks import is_symbolic
from ..imperative.naming import named
from ..imperative.random import default_stream
from .guard import program_guard
from .program import Program


def _shape(x: Any, least: int, most: int, who: str) -> Any:
    shape = x.shape if isinstance(x, TensorBase) else None
    if shape is None or not least <= len(shape) <= most:
        got = f"a {type(x).__name__}" if shape is None else f"{len(shape)}"
        raise ArgumentError(
            f"must have {least} to {most} dimensions", op=who, argument="x", got=got
        )  # fmt: skip
    return shape


def _size(x: Any, axis: int, who: str, least: int, most: int = 64) -> int:
    size = _shape(x, least, most, who)[axis]
    if not isinstance(size, int):
        raise ArgumentError(
            f"the size of dimension {axis} must be known, since parameters depend on it", op=who,
            argument="x", got=f"shape {tuple(x.shape)}",
        )  # fmt: skip
    return size


def _activation(act: str | None, who: str) -> Any:
    """The function of this name: found before parameters are made, which would stay."""
    if act is None:
        return lambda x: x
    found = getattr(F, act, None) if isinstance(act, str) and not act.startswith("_") else None
    if not callable(found):
        raise ParameterError(
            "must be the name of a function of functional", op=who, argument="act",
            got=repr(act)[:60], fix="'relu', say",
        )  # fmt: skip
    return found


def _applied(make: Callable[[], Any], x: Any, after: Callable[[Any], Any]) -> Any:
    """A layer for a variable, which is made for one like it first.

    So one that refuses has left nothing behind: its parameters would stay in the program.
    """
    if is_symbolic(x):
        scratch = Program()
        shape = [f"size_{n.first}" if isinstance(n, Size) else n for n in x.shape]
        is_ours = default_stream.replay(default_stream.state())
        with is_ours, program_guard(scratch, Program()):
            after(make()(Tensor(scratch.input("x", shape, x.dtype))))
    return after(make()(x))


@named
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
    after = _activation(act, "fc")
    features = _size(x, -1, "fc", 1)
    return _applied(lambda: nn.Linear(features, size, bias=bias, **attrs), x, after)


@named
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
    after, channels = _activation(act, "conv2d"), _size(x, 1, "conv2d", 4, 4)
    return _applied(lambda: nn.Conv2d(channels, num_filters, filter_size, **attrs), x, after)


@named
def batch_norm(x: Any, *, act: str | None = None, **attrs: Any) -> Any:
    """Batch norm of (N, channels, ...), with running statistics.

    Raises:
        ArgumentError: the number of channels is not known, or x has other dimensions.

    Source:
        Paddle, ``fluid.layers.batch_norm``.
    """
    after, channels = _activation(act, "batch_norm"), _size(x, 1, "batch_norm", 2, 5)
    kinds = (nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
    return _applied(lambda: kinds[len(x.shape) - 2](channels, **attrs), x, after)


@named
def embedding(x: Any, size: Sequence[int], **attrs: Any) -> Any:
    """The rows of a learnt table, one for each index.

    Args:
        x: indices, of any shape.
        size: (rows, features) of the table.
        attrs: what else `nn.Embedding` takes.

    Source:
        Paddle, ``fluid.layers.embedding``.
    """
    rows, features = tuple(size)  # lists may change while they are read
    x = x if isinstance(x, TensorBase) else F.asarray(x)
    if "integer" not in x.dtype.kind:
        raise DTypeError("must be of integers", op="embedding", argument="x", got=f"{x.dtype}")
    return _applied(lambda: nn.Embedding(rows, features, **attrs), x, lambda y: y)

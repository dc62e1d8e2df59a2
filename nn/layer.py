"""Layer: a function with parameters; Buffer: what a layer keeps beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from ..imperative import Parameter, Tensor
from .param_attr import ParamAttr

Part = TypeVar("Part")
Self = TypeVar("Self", bound="Layer")


class Buffer(Tensor):
    """A tensor that belongs to a layer's state but is not learnt: a running mean, say.

    Example:
        >>> from tensorlike import nn
        >>> nn.Buffer([1.0]).requires_grad
        False
    """

    __slots__ = ()


class Layer:
    """A function with parameters: subclass it, make parameters in ``__init__``, write ``forward``.

    Parameters, buffers and sublayers are found among the attributes, in the order of their making,
    also in lists, tuples and dicts.

    Attributes:
        training: whether the layer learns; dropout and batch norm behave differently then.

    Example:
        >>> from tensorlike import nn, Parameter
        >>> class Scale(nn.Layer):
        ...     def __init__(self):
        ...         self.factor = Parameter([2.0])
        ...     def forward(self, x):
        ...         return x * self.factor
        >>> [name for name, _ in Scale().named_parameters()]
        ['factor']
    """

    training: bool = True
    _is_built: bool = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Notes whether the class makes parameters at its first call."""
        super().__init_subclass__(**kwargs)
        cls._is_built = cls.build is Layer.build

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Makes what depends on the first inputs; called once, with them, before `forward` is.

        A layer has no parameters of `build` before that, and none if it raises.

        Example:
            >>> import tensorlike as tl
            >>> class Scale(tl.nn.Layer):
            ...     def build(self, x):
            ...         self.factor = tl.Parameter(tl.full(x.shape[-1], 2.0))
            ...     def forward(self, x):
            ...         return x * self.factor
            >>> Scale()(tl.tensor([1.0, 2.0])).tolist()
            [2.0, 4.0]
        """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the layer computes; subclasses define it."""
        raise TypeError(f"{type(self).__name__}: a layer must define forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls `forward`; the first time, `build` before it."""
        if not self._is_built:
            self.build(*args, **kwargs)
            self._is_built = True
        return self.forward(*args, **kwargs)

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Parameters with their dotted names; each, and each layer, once, under its first name."""
        yield from _walk("", vars(self), {id(self)}, Parameter)

    def named_buffers(self) -> Iterator[tuple[str, Buffer]]:
        """Buffers with their dotted names, each once."""
        yield from _walk("", vars(self), {id(self)}, Buffer)

    def parameters(self) -> list[Parameter]:
        """All parameters."""
        return [parameter for _, parameter in self.named_parameters()]

    def train(self: Self, mode: bool = True) -> Self:
        """Sets `training` here and in all layers below; returns the layer.

        Args:
            mode: whether to learn.
        """
        self.training = mode
        for _, layer in _walk("", vars(self), {id(self)}, Layer):
            layer.training = mode
        return self

    def eval(self: Self) -> Self:
        """Sets `training` to False here and in all layers below; returns the layer."""
        return self.train(False)

    def initialize(
        self: Self, **initializers: Callable[[tuple[int, ...]], Any] | ParamAttr
    ) -> Self:
        """Sets parameters, here and in all layers below, by functions of their shapes.

        Args:
            initializers: a function of a shape for each last part of a name: `weight`, `bias`;
                those of `tensorlike.nn.initializers`, or any other that returns elements; or a
                `ParamAttr`.

        Returns:
            The layer.

        Raises:
            KeyError: no parameter has such a name; nothing is set then.
            ShapeError: a function returned another shape.

        Example:
            >>> from tensorlike import nn
            >>> layer = nn.Linear(2, 3).initialize(weight=nn.initializers.Constant(0.1))
            >>> layer.weight.shape, round(layer.weight[0, 0].item(), 6)
            ((2, 3), 0.1)
        """
        found = [
            (name.rpartition(".")[2], parameter) for name, parameter in self.named_parameters()
        ]
        unknown = sorted(set(initializers) - {name for name, _ in found})
        if unknown:
            raise KeyError(f"initialize: there must be parameters of these names; got {unknown}")
        for name, parameter in found:
            if name in initializers:
                given = initializers[name]
                if isinstance(given, ParamAttr):
                    given.apply(parameter)
                else:
                    parameter.set_value(given(parameter.shape))
        return self

    def state_dict(self) -> dict[str, np.ndarray[Any, Any]]:
        """Copies of the elements of parameters and buffers, as `safetensors.numpy` saves them."""
        return {name: np.array(value.detach().numpy()) for name, value in self._state()}

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.named_parameters()
        yield from self.named_buffers()

    def load_state_dict(self, state: Mapping[str, Any], *, strict: bool = True) -> None:
        """Sets the parameters and buffers.

        Args:
            state: elements by name, of the shapes that they have.
            strict: whether the names must be exactly those of parameters and buffers.

        Raises:
            KeyError: names are missing or unknown (when strict); nothing is set then.
            ShapeError: a shape differs; nothing is set then.
        """
        own = dict(self._state())
        missing = [name for name in own if name not in state]
        unknown = [name for name in state if name not in own]
        if strict and (missing or unknown):
            raise KeyError(
                f"load_state_dict: names must match; missing {missing}, unknown {unknown}"
            )
        chosen = [(own[name], Tensor(np.array(state[name]))) for name in own if name in state]
        for parameter, value in chosen:
            parameter.check_value(value)
        for parameter, value in chosen:
            parameter.set_value(value)

    def __repr__(self) -> str:
        """The class and its direct parts."""
        parts = [
            f"{name}={value!r}" if isinstance(value, Layer) else f"{name}: {tuple(value.shape)}"
            for name, value in vars(self).items()
            if isinstance(value, (Layer, Parameter))
        ]
        return f"{type(self).__name__}({', '.join(parts)})"


def _walk(
    prefix: str, parts: Mapping[Any, Any], seen: set[int], kind: type[Part]
) -> Iterator[tuple[str, Part]]:
    """What is of a kind among the parts and below; what was seen before is passed over."""
    for key, value in parts.items():
        if isinstance(value, dict):
            inner: Mapping[Any, Any] = value
        elif isinstance(value, (list, tuple)):
            inner = dict(enumerate(value))
        elif isinstance(value, Layer):
            inner = vars(value)
        elif isinstance(value, kind):
            inner = {}
        else:
            continue
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, kind):
            yield f"{prefix}{key}", value
        yield from _walk(f"{prefix}{key}.", inner, seen, kind)

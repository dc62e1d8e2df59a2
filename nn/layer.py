"""Layer: a function with parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..imperative import Parameter, Tensor


class Layer:
    """A function with parameters: subclass it, make parameters in ``__init__``, write ``forward``.

    Parameters and sublayers are found among the attributes, in the order of their making, also in
    lists, tuples and dicts.

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

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the layer computes; subclasses define it."""
        raise TypeError(f"{type(self).__name__}: a layer must define forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls `forward`."""
        return self.forward(*args, **kwargs)

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Parameters with their dotted names; each, and each layer, once, under its first name."""
        yield from _walk("", vars(self), {id(self)})

    def parameters(self) -> list[Parameter]:
        """All parameters."""
        return [parameter for _, parameter in self.named_parameters()]

    def state_dict(self) -> dict[str, np.ndarray[Any, Any]]:
        """Copies of the parameters' elements by name, as `safetensors.numpy` saves them."""
        return {name: np.array(p.detach().numpy()) for name, p in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, Any], *, strict: bool = True) -> None:
        """Sets the parameters.

        Args:
            state: elements by name, of the parameters' shapes.
            strict: whether the names must be exactly the parameters'.

        Raises:
            KeyError: names are missing or unknown (when strict); nothing is set then.
            ShapeError: a shape differs; nothing is set then.
        """
        own = dict(self.named_parameters())
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


def _walk(prefix: str, parts: Mapping[Any, Any], seen: set[int]) -> Iterator[tuple[str, Parameter]]:
    """The parameters among the parts and below; what was seen before is passed over."""
    for key, value in parts.items():
        if isinstance(value, dict):
            inner: Mapping[Any, Any] = value
        elif isinstance(value, (list, tuple)):
            inner = dict(enumerate(value))
        elif isinstance(value, Layer):
            inner = vars(value)
        elif not isinstance(value, Parameter):
            continue
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Parameter):
            yield f"{prefix}{key}", value
        else:
            yield from _walk(f"{prefix}{key}.", inner, seen)

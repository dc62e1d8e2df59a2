"""Layer: a function with parameters; Buffer: what a layer keeps beside them."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..imperative import Parameter, ParameterError, Tensor, TensorLike, no_grad
from ..imperative.keeping import keep
from ..imperative.naming import (
    ARGUMENT_ERRORS,
    in_the_name_of,
    named,
    named_class,
    shortcut,
)
from .arguments import check_arguments, described, is_ours, refuse_other
from .param_attr import ParamAttr
from .state import load, saved

# What is told in a layer's name, or looked into.
_TOLD: tuple[type[Exception], ...] = (AttributeError, *ARGUMENT_ERRORS)
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

    def __new__(cls, data: TensorLike, dtype: Any = None) -> Buffer:
        """Wraps a copy of the data."""
        self = super().__new__(cls, data) if dtype is None else super().__new__(cls, data, dtype)
        keep(self, "buffer")
        return self


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
    swapped: ClassVar[tuple[str, ...]] = ()  # parameters that PyTorch holds the other way round
    _is_built: bool = True
    _records: bool = True
    _is_plain: bool = True  # built, and recording: a call is one of `forward`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Notes whether the class makes parameters at its first call; names errors of ours."""
        super().__init_subclass__(**kwargs)
        cls._is_built = cls._is_plain = cls.build is Layer.build
        if is_ours(cls):
            named_class(cls)

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
        raise ParameterError("a layer must define forward()", op=type(self).__name__)

    def _failed(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises what a call raised, of errors of arguments in the layer's name."""
        if isinstance(error, AttributeError):
            refuse_other(type(self).__name__, error, (*args, *kwargs.values()))
        elif isinstance(error, ARGUMENT_ERRORS):
            name = type(self).__name__
            raise in_the_name_of(name, error, keeps_subject=True) from error.__cause__
        raise error

    @shortcut("_is_plain", "forward", _failed)
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls `forward`; the first time, `build` before it."""
        try:
            if not self._is_built:
                self.build(*args, **kwargs)
                self._is_built = True
                self._is_plain = self._records
            if self._records:
                return self.forward(*args, **kwargs)
            with no_grad():
                return self.forward(*args, **kwargs)
        except _TOLD as error:
            self._failed(error, args, kwargs)

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Parameters with their dotted names; each, and each layer, once, under its first name."""
        yield from _walk("", vars(self), {id(self)}, Parameter)

    def named_buffers(self) -> Iterator[tuple[str, Buffer]]:
        """Buffers with their dotted names, each once."""
        yield from _walk("", vars(self), {id(self)}, Buffer)

    def named_layers(self) -> Iterator[tuple[str, Layer]]:
        """The layers below with their dotted names, each once."""
        yield from _walk("", vars(self), {id(self)}, Layer)

    def parameters(self) -> list[Parameter]:
        """All parameters."""
        return [parameter for _, parameter in self.named_parameters()]

    @named
    def train(self: Self, mode: bool = True) -> Self:
        """Sets `training` here and in all layers below; returns the layer. Calls are recorded.

        Args:
            mode: whether to learn.
        """
        return self._set(mode, True)

    @named
    def eval(self: Self, *, record: bool = True) -> Self:
        """Sets `training` to False here and in all layers below; returns the layer.

        Args:
            record: whether calls are recorded for gradients, which those of evaluation may be, too.
                False: as under `no_grad`, what is computed on the way is freed at once.

        Example:
            >>> import tensorlike as tl
            >>> layer = tl.nn.Linear(2, 1).eval(record=False)
            >>> layer(tl.ones(2)).requires_grad, layer.train()(tl.ones(2)).requires_grad
            (False, True)
        """
        return self._set(False, record)

    def _set(self: Self, training: bool, records: bool) -> Self:
        layers: list[Layer] = [self, *(layer for _, layer in self.named_layers())]
        for layer in layers:
            layer.training = training
            layer._records = records
            layer._is_plain = records and layer._is_built
        return self

    @named
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

    def _start_from(self, **attrs: ParamAttr | None) -> None:
        """What a constructor was told of its parameters: those whose names begin so."""
        given = {kind: attr for kind, attr in attrs.items() if attr is not None}
        found = [
            (name.rpartition(".")[2].partition("_")[0], parameter)
            for name, parameter in self.named_parameters()
        ]
        unknown = sorted(set(given) - {kind for kind, _ in found})
        if unknown:
            name = type(self).__name__
            raise KeyError(f"{name}: there must be parameters of these names; got {unknown}")
        for kind, parameter in found:
            if kind in given:
                given[kind].apply(parameter)

    @named
    def state_dict(self, *, layout: str = "tensorlike") -> dict[str, np.ndarray[Any, Any]]:
        """Copies of the elements of parameters and buffers, as `safetensors.numpy` saves them.

        Beside a square weight of a `Linear` stands which way round it is, under its name with
        ``.layout`` at the end.

        Args:
            layout: "tensorlike", or "pytorch": weights of `Linear` are (out, in).

        Raises:
            ParameterError: the layout is another word.
        """
        return saved(self, layout)

    @named
    def load_state_dict(
        self, state: Mapping[str, Any], *, strict: bool = True, layout: str = "tensorlike"
    ) -> None:
        """Sets the parameters and buffers: all of them, or, where one cannot be, none.

        PyTorch keeps the weight of a `Linear` the other way round, as (out, in). Square ones do
        not show it by their shapes, and are refused if they do not say which way round they are.

        Args:
            state: elements by name, of the shapes that they have.
            strict: whether the names must be exactly those of parameters and buffers.
            layout: "tensorlike", or "pytorch" for what PyTorch saved.

        Raises:
            KeyError: names are missing or unknown (when strict).
            ShapeError: a shape differs.
            DTypeError: what is no number, or numbers of a kind that cannot be held.
            ValueError: a number is beyond what can be held, or a square weight does not say which
                way round it is.
            ParameterError: the layout is another word.

        Example:
            >>> from tensorlike import nn
            >>> import numpy as np
            >>> layer = nn.Linear(2, 3, bias=False)
            >>> layer.load_state_dict({"weight": np.ones((3, 2))}, layout="pytorch")
            >>> layer.weight.shape
            (2, 3)
        """
        load(self, state, strict, layout)

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        """The class, what it was made with, and its parts."""
        return described(self)

    def __new__(cls: type[Self], *args: Any, **kwargs: Any) -> Self:
        """Refuses arguments of wrong types, where `__init__` is annotated in this package."""
        check_arguments(cls, args, kwargs)
        self = super().__new__(cls)
        # A dict of its own. By default an object shares its names with others of its class, until
        # `vars` is asked for: from then on each attribute that Python reads takes five times as
        # long. Parameters are found by `vars`.
        object.__setattr__(self, "__dict__", {})
        return self


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

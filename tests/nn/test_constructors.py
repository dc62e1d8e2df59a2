"""What layers are made with: wrong types are refused with the layer and the argument named."""

from __future__ import annotations

import inspect
import typing
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import nn

LAYERS = [
    value
    for value in (getattr(nn, name) for name in nn.__all__)
    if isinstance(value, type) and issubclass(value, nn.Layer)
]
ARGUMENTS = [
    pytest.param(layer, name, id=f"{layer.__name__}-{name}")
    for layer in LAYERS
    for name, parameter in inspect.signature(layer.__init__).parameters.items()
    if name not in ("self", "arguments", "options", "args", "kwargs")
    and typing.get_type_hints(layer.__init__).get(name, Any) is not Any
]


class Nonsense:
    """Of no type that any argument has."""

    def __repr__(self) -> str:
        return "nonsense"


@pytest.mark.parametrize(("layer", "name"), ARGUMENTS)
def test_an_argument_of_a_wrong_type_is_named(layer: type[nn.Layer], name: str) -> None:
    parameters = inspect.signature(layer.__init__).parameters
    is_rest = parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
    with pytest.raises(tl.ParameterError) as caught:
        layer(Nonsense()) if is_rest else layer(**{name: Nonsense()})
    assert str(caught.value).startswith(f"{layer.__name__}: {name}")
    assert str(caught.value).endswith("; got nonsense")


def test_arguments_that_are_handed_on_are_checked_too() -> None:
    with pytest.raises(tl.ParameterError, match=r"^RNN: bias must be True or False; got .no.$"):
        nn.RNN(2, 3, bias="no")
    with pytest.raises(
        tl.ParameterError, match=r"^Linear: in_features must be an integer; got 2\.0"
    ):
        nn.Linear(2.0, 3)  # type: ignore[arg-type]


def test_a_layer_shows_what_it_was_made_with_and_its_parts() -> None:
    net = nn.Sequential(nn.Linear(1, 1), F.relu, nn.Dropout())
    assert repr(net) == "Sequential(Linear(weight: (1, 1), bias: (1,)), relu, Dropout(p=0.5))"
    assert repr(nn.GELU()) == "GELU(approximate='none')"
    text = repr(nn.RNN(2, 3, bias=False))
    assert text.startswith("RNN(input_size=2, hidden_size=3, num_layers=1, nonlinearity='tanh', ")

    class Own(nn.Layer):
        def __init__(self, size: int) -> None:
            self.size = size
            self.many = [nn.Linear(size, 1, bias=False)]

    assert repr(Own(2)) == "Own(size=2, many=[Linear(weight: (2, 1))])"


def test_a_layer_that_holds_itself_is_shown_and_walked() -> None:
    layer = nn.Linear(2, 1, bias=False)
    parts: list[Any] = [layer]
    parts.append(parts)
    layer.parts = parts  # type: ignore[attr-defined]
    assert repr(layer) == "Linear(weight: (2, 1), parts=[..., [...]])"
    assert [name for name, _ in layer.named_parameters()] == ["weight"]

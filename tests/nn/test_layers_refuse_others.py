"""Layers, optimisers and states refuse what is no tensor, no mapping, no layer, by name."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
from tensorlike import nn

LAYERS: dict[str, Any] = {
    "LayerNorm": lambda: nn.LayerNorm(2),
    "BatchNorm1d": lambda: nn.BatchNorm1d(2),
    "GroupNorm": lambda: nn.GroupNorm(1, 2),
    "ZeroPad1d": lambda: nn.ZeroPad1d(1),
    "GRUCell": lambda: nn.GRUCell(2, 3),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("x", [7, "text", None, object()], ids=["int", "str", "None", "object"])
def test_a_layer_that_is_given_no_tensor_says_so(name: str, x: Any) -> None:
    with pytest.raises(TypeError) as caught:
        LAYERS[name]()(x)
    got = type(x).__name__
    assert str(caught.value) == f"{name}: must be called with tensors; got {got}; see tl.tensor"


def test_errors_of_other_attributes_are_those_of_the_layer() -> None:
    class Wrong(nn.Layer):
        def forward(self, x: Any, other: Any) -> Any:
            return x.no_such_thing if other is None else other.cache.shape

    class Held:
        cache = 7

    with pytest.raises(AttributeError, match="no_such_thing"):
        Wrong()(7, None)
    with pytest.raises(AttributeError, match="'int' object has no attribute 'shape'"):
        Wrong()(1, Held())


@pytest.mark.parametrize("state", [7, None, "text", ["weight"], {1: 2}], ids=repr)
def test_a_state_that_is_no_mapping_from_names_is_refused(state: Any) -> None:
    layer = nn.Linear(1, 1)
    for holder in (layer, tl.optim.SGD(layer.parameters(), lr=0.1)):
        with pytest.raises(TypeError, match=r"^load_state_dict: state must be a mapping"):
            holder.load_state_dict(state)


def test_optimisers_and_functional_call_refuse_other_things_by_name() -> None:
    for parameters in (7, None, tl.Parameter([1.0]), ["a"]):
        with pytest.raises(TypeError, match=r"^Adam: parameters must be "):
            tl.optim.Adam(parameters)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^functional_call: a layer and a mapping"):
        nn.functional_call(nn.Linear(1, 1), (), tl.ones((1, 1)))  # type: ignore[arg-type]

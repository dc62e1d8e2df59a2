"""ParamAttr: what every layer's constructor may be told of its parameters."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from support.hostile import Good
from support.hostile_objects import classes, of_class

from tensorlike import nn

ATTR = nn.ParamAttr(initializer=nn.initializers.Constant(0.25), trainable=False)


def makers() -> list[Good]:
    """The documented call of each layer that makes parameters."""
    found = []
    for label, cls in classes():
        if issubclass(cls, nn.Layer) and cls not in (nn.Layer, nn.Sequential):
            good = next((good for good in of_class(label, cls) if good.name == label), None)
            if good is not None and good().parameters():
                found.append(good)
    return found


MAKERS = makers()


def test_the_layers_that_make_parameters_are_found() -> None:
    assert len(MAKERS) >= 24


@pytest.mark.parametrize("good", MAKERS, ids=lambda good: good.name)
@pytest.mark.parametrize("kind", ["weight", "bias"])
def test_every_layer_takes_what_its_parameters_start_from(good: Good, kind: str) -> None:
    def made(**attrs: Any) -> Any:
        return good.function(*good.args, **good.kwargs, **attrs)

    has_kind = f"{kind}_attr" in inspect.signature(good.function).parameters or good.name in RNNS
    names = {name.rpartition(".")[2].partition("_")[0] for name, _ in made().named_parameters()}
    assert has_kind or kind not in names
    if kind not in names:
        if has_kind:
            with pytest.raises(KeyError, match=f"got \\['{kind}'\\]"):
                made(**{f"{kind}_attr": ATTR})
        return
    for name, parameter in made(**{f"{kind}_attr": ATTR}).named_parameters():
        is_told = name.rpartition(".")[2].startswith(kind)
        assert parameter.requires_grad is not is_told
        if is_told:
            assert np.all(parameter.detach().numpy() == 0.25)


RNNS = {"nn.RNN"}  # which hands further arguments on


def test_a_layer_that_is_told_nothing_starts_as_before() -> None:
    told = nn.ParamAttr()
    for maker in (nn.Conv2d, nn.ConvTranspose1d):
        plain, same = maker(2, 3, 3, seed=1), maker(2, 3, 3, seed=1, weight_attr=told)
        assert plain.weight.tolist() == same.weight.tolist()
        assert same.weight.requires_grad


def test_an_instance_norm_that_learns_takes_them_too() -> None:
    layer = nn.InstanceNorm2d(2, affine=True, bias_attr=ATTR)
    assert layer.bias is not None and layer.weight is not None
    assert layer.bias.detach().tolist() == [0.25, 0.25]
    assert layer.weight.requires_grad and not layer.bias.requires_grad

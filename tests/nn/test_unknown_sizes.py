"""Layers, losses and calls of networks, recorded with an unknown batch and run with several."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from support.layer_twins import TWINS, Twin
from support.network_call import NetworkCall
from support.network_calls import CALLS
from support.unknown_sizes import SIZES, gradients, refusals

import tensorlike as tl
from tensorlike import nn

# What asks for the number of elements, or makes tables by it, is not recorded for an unknown one.
REFUSED = {"MultiLabelMarginLoss"}
COUNTED = {"einsum-ij,jk,kl,l->i", "einsum-ij,ij,ij->j", "einsum-abc,cd,a->bd"}
# What is another program for no row, or for one: it says so when it is run with these.
OTHERWISE = {
    "normalize": {0}, "normalize-3": {0}, "cosine_similarity": {0}, "trapezoid-0": {0},
    "local_response_norm": {0}, "local_response_norm-even": {0}, "LocalResponseNorm(3,)-3": {0},
    "LocalResponseNorm(3,)-4": {0}, "LocalResponseNorm(3,)-5": {0},
    "CosineEmbeddingLoss(0.1,)-2": {0},
}  # fmt: skip


def arrays_of(twin: Twin) -> list[Any]:
    rng = np.random.default_rng(3)
    drawn = [
        rng.uniform(0.2, 0.8, s) if twin.is_positive else rng.normal(size=s) for s in twin.shapes
    ]
    return [*drawn, *map(np.asarray, twin.constants)]


def first(call: Any) -> Any:
    def of(*xs: Any) -> Any:
        y = call(*xs)
        return y[0] if isinstance(y, tuple) else y

    return of


def check(name: str, call: Any, arrays: list[Any]) -> None:
    moving = [i for i, x in enumerate(arrays) if x.dtype.kind == "f"]
    for tried in (first(call), gradients(first(call), moving)):
        if name in COUNTED or name.split("(")[0].split("-")[0] in REFUSED:
            with pytest.raises((tl.ShapeError, tl.DispatchError)):
                refusals(tried, arrays)
            continue
        refused = refusals(tried, arrays)
        assert set(refused or ()) <= OTHERWISE.get(name, set()), refused


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_a_layer_takes_a_batch_of_unknown_size(twin: Twin) -> None:
    layer = getattr(nn, twin.name)(*twin.args, **twin.ours)
    # A copy for each call: running statistics of one program are no values of another.
    check(str(twin), lambda *xs: copy.deepcopy(layer)(*xs), arrays_of(twin))


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_call_takes_a_batch_of_unknown_size(call: NetworkCall) -> None:
    check(str(call), call.ours, call.arrays())


@pytest.mark.parametrize("name", ["BatchNorm1d", "LSTM", "MultiHeadAttention"])
def test_layers_in_evaluation_take_several_unknown_sizes(name: str) -> None:
    layer: Any = {
        "BatchNorm1d": lambda: nn.BatchNorm1d(4),
        "LSTM": lambda: nn.LSTM(4, 3, batch_first=True, seed=0),
        "MultiHeadAttention": lambda: nn.MultiHeadAttention(4, 2, seed=0),
    }[name]().eval()
    shape = ("batch", 4, "length") if name == "BatchNorm1d" else ("batch", "length", 4)

    def call(x: Any) -> Any:
        return first(layer)(x)

    listing = tl.Listing()
    y = call(tl.Tensor(listing.input("x", shape)))
    for batch in SIZES:
        x = (
            np.random.default_rng(batch)
            .normal(size=[{"batch": batch, "length": batch + 2}.get(str(n), 4) for n in shape])
            .astype(np.float32)
        )
        np.testing.assert_allclose(listing.run(y, x).detach(), call(tl.tensor(x)).detach(), 1e-5)

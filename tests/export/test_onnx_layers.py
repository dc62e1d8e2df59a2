"""Every kind of layer as an ONNX model, in ONNX Runtime, with its parameters under their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.exported_models import array_of, assert_same, narrowed, run_model
from support.layer_twins import TWINS, Twin
from support.unknown_sizes import leaves, resized

import tensorlike as tl
from tensorlike import nn
from tensorlike.export import onnx

SIZES = (2, 5)
# Built-in layers that the twins do not have.
OTHERS = [
    ("Embedding", lambda: nn.Embedding(6, 3, seed=0), [np.array([[1, 2], [0, 5]])]),
    ("MultiHeadAttention", lambda: nn.MultiHeadAttention(4, 2, seed=0), ["ones"]),
    ("LSTM", lambda: nn.LSTM(4, 3, num_layers=2, bidirectional=True, seed=0), ["ones"]),
    ("GRU", lambda: nn.GRU(4, 3, seed=0), ["ones"]),
    ("RNN", lambda: nn.RNN(4, 3, seed=0), ["ones"]),
    ("LSTMCell", lambda: nn.LSTMCell(4, 3, seed=0), [np.ones((2, 4), np.float32)]),
    ("GRUCell", lambda: nn.GRUCell(4, 3, seed=0), [np.ones((2, 4), np.float32)]),
]


def arrays_of(twin: Twin) -> list[Any]:
    rng = np.random.default_rng(3)
    drawn = [
        rng.uniform(0.2, 0.8, s) if twin.is_positive else rng.normal(size=s) for s in twin.shapes
    ]
    return [narrowed(x) for x in (*drawn, *map(np.asarray, twin.constants))]


def check(layer: tl.nn.Layer, arrays: list[Any], chosen: set[int]) -> None:
    """Holds the model of a layer against the layer, some arguments with an unknown first size."""
    inputs = {
        f"x{i}": (("n", *x.shape[1:]) if i in chosen else x.shape, tl.tensor(x).dtype)
        for i, x in enumerate(arrays)
    }
    call = onnx.to_model(layer, inputs=inputs)
    names = {tensor.name for tensor in call.graph.initializer}
    assert {name for name, x in layer.named_parameters() if x.size} <= names
    layer.eval()
    for size in SIZES if chosen else (0,):
        given = [resized(x, size) if i in chosen else x for i, x in enumerate(arrays)]
        wanted = leaves(layer(*map(tl.tensor, given)))
        for found, want in zip(run_model(call, given), wanted, strict=True):
            assert_same(found, array_of(want))


def batch_of(twin: Twin, arrays: list[Any]) -> set[int]:
    size = len(arrays[0])
    return {i for i, x in enumerate(arrays) if x.ndim and len(x) == size}


@pytest.mark.parametrize(
    "twin",
    [
        pytest.param(twin, marks=[pytest.mark.slow] if i % 3 else [], id=str(twin))
        for i, twin in enumerate(TWINS)
        if twin.name != "MultiLabelMarginLoss"  # looks at the elements of its labels
    ],
)
def test_a_layer_is_in_onnx_runtime_what_it_is_here(twin: Twin) -> None:
    layer = getattr(nn, twin.name)(*twin.args, **twin.ours)
    arrays = arrays_of(twin)
    check(layer, arrays, set())
    check(layer, arrays, batch_of(twin, arrays))


@pytest.mark.parametrize(("name", "make", "given"), OTHERS, ids=[name for name, _, _ in OTHERS])
def test_other_layers_are_what_they_are_here(name: str, make: Any, given: Any) -> None:
    rng = np.random.default_rng(1)
    arrays = [
        rng.normal(size=(3, 2, 4)).astype(np.float32) if isinstance(x, str) else x for x in given
    ]
    check(make(), arrays, set())
    check(make(), arrays, {0})

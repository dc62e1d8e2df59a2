"""Gradients of recurrences of any length and batch are scans of ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.exported_models import array_of, assert_same
from support.onnx_models import by_onnxruntime

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.export import onnx

SIZES = ((4, 2), (1, 3), (6, 1))


def slopes(layer: Any, x: Any) -> list[Any]:
    """Of all that a layer gives, states and steps, by its parameters and by what it is given."""
    y, last = layer(x)
    states = last if isinstance(last, tuple) else (last,)
    loss = F.sum(F.sin(y)) + sum(F.sum(F.cos(state * 2)) for state in states)
    return list(tl.autograd.grad(loss, [*layer.parameters(), x]))


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize(
    "more", [{}, {"bidirectional": True}, {"num_layers": 2, "bias": False}], ids=str
)
def test_gradients_of_recurrences_of_any_length(kind: str, more: dict[str, Any]) -> None:
    layer = getattr(tl.nn, kind)(3, 4, seed=1, **more)
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", ("length", "n", 3)))
    x.requires_grad = True
    model = onnx.to_model(listing, results={f"y{i}": dx for i, dx in enumerate(slopes(layer, x))})
    again = onnx.load(model)
    for length, n in SIZES:
        given = np.random.default_rng(length).standard_normal((length, n, 3)).astype(np.float32)
        wanted = slopes(layer, tl.tensor(given, requires_grad=True))
        found = zip(by_onnxruntime(model, {"x": given}), again(given), wanted, strict=True)
        for runtime, ours, want in found:
            assert_same(runtime, array_of(want))
            assert_same(array_of(ours), array_of(want))

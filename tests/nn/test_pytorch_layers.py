"""Layers against PyTorch's of the same names: values, gradients, and the names of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.layer_twins import TWINS, Twin

import tensorlike as tl
from tensorlike import nn


def _first(y: Any) -> Any:
    return y[0] if isinstance(y, tuple) else y


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's: of what will change there
@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_a_layer_is_that_of_pytorch(twin: Twin) -> None:
    torch = pytest.importorskip("torch")
    kinds = {
        key: torch.tensor(v) if isinstance(v, np.ndarray) else v for key, v in twin.theirs.items()
    }
    theirs = getattr(torch.nn, twin.name)(*twin.args, **kinds).double()
    ours = getattr(nn, twin.name)(*twin.args, **twin.ours)
    state = {name: value.numpy() for name, value in theirs.state_dict().items()}
    state.pop("num_batches_tracked", None)
    if twin.name in ("LSTM", "GRU", "RNN") or state:
        assert sorted(ours.state_dict()) == sorted(state)
    for name, value in state.items():  # in float64, as PyTorch has them now
        *path, last = name.split(".")
        assert not path
        old = getattr(ours, last)
        setattr(ours, last, type(old)(value.copy()))
    rng = np.random.default_rng(11)
    arrays = [
        rng.uniform(0.2, 0.8, s) if twin.is_positive else rng.normal(size=s) for s in twin.shapes
    ]
    mine = [tl.tensor(x, requires_grad=True) for x in arrays]
    other = [torch.tensor(x, requires_grad=True) for x in arrays]
    y = _first(ours(*mine, *(tl.tensor(x) for x in twin.constants)))
    wanted = _first(theirs(*other, *(torch.tensor(x) for x in twin.constants)))
    np.testing.assert_allclose(y.detach().numpy(), wanted.detach().numpy(), 1e-6, 1e-7)
    weights = rng.normal(size=y.shape)
    tl.sum(y * tl.tensor(weights)).backward()
    (wanted * torch.tensor(weights)).sum().backward()
    for x, reference in zip(mine, other, strict=True):
        np.testing.assert_allclose(x.grad.numpy(), reference.grad.numpy(), 1e-5, 1e-6)
    for name, parameter in ours.named_parameters():
        reference = dict(theirs.named_parameters())[name]
        np.testing.assert_allclose(parameter.grad.numpy(), reference.grad.numpy(), 1e-5, 1e-6)
    for name, buffer in ours.named_buffers():  # as a step of training leaves them
        np.testing.assert_allclose(buffer.numpy(), dict(theirs.named_buffers())[name], 1e-6, 1e-7)


def test_every_layer_is_compared_or_said_not_to_be() -> None:
    """What has no twin here is compared in a file of its own, or draws at random.

    PyTorch's gradient of CTCLoss is right only behind a log_softmax; its call is compared so.
    """
    others = {
        "AlphaDropout", "Buffer", "CTCLoss", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d",
        "Embedding", "EmbeddingBag", "FeatureAlphaDropout", "Layer", "Linear",
        "MultiHeadAttention", "Packed", "ParamAttr", "RReLU", "Sequential", "functional_call",
        "initializers", "pack", "unpack",
    }  # fmt: skip
    of_windows = {name for name in nn.__all__ if "pool" in name.lower() or "Conv" in name}
    assert {twin.name for twin in TWINS} | others | of_windows == set(nn.__all__)

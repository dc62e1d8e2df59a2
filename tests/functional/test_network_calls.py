"""Calls of neural networks: gradients against finite differences, and all against PyTorch."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from support.network_call import NetworkCall
from support.network_calls import CALLS

import tensorlike as tl


def weighted(call: NetworkCall, weights: Any) -> Any:
    """The call's result, summed with weights."""
    return lambda *xs: tl.functional.sum(call.ours(*xs) * tl.tensor(weights))


@functools.cache
def _computed(call: NetworkCall) -> tuple[Any, Any, Any]:
    """The value, weights for it, and the gradients of the weighted sum by all float inputs."""
    arrays = call.arrays()
    tensors = [tl.tensor(x) for x in arrays]
    value = np.asarray(call.ours(*tensors))
    weights = np.asarray(np.random.default_rng(1).normal(size=value.shape))
    gradients = tl.grad(weighted(call, weights), argnums=tuple(range(len(arrays))))(*tensors)
    return value, weights, [np.asarray(g) for g in gradients]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_gradients_are_finite_differences(call: NetworkCall) -> None:
    arrays = call.arrays()
    _, weights, gradients = _computed(call)
    rng = np.random.default_rng(3)
    step = 1e-6
    for i, gradient in enumerate(gradients):
        direction = rng.normal(size=arrays[i].shape)
        ends = []
        for sign in (1, -1):
            moved = [x + sign * step * direction if j == i else x for j, x in enumerate(arrays)]
            ends.append(weighted(call, weights)(*(tl.tensor(x) for x in moved)).item())
        found = (ends[0] - ends[1]) / (2 * step)
        assert np.sum(gradient * direction) == pytest.approx(found, rel=2e-5, abs=2e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's: of what will change there
@pytest.mark.parametrize("call", [c for c in CALLS if c.theirs is not None], ids=str)
def test_values_and_gradients_are_those_of_pytorch(call: NetworkCall) -> None:
    torch = pytest.importorskip("torch")
    value, weights, gradients = _computed(call)
    theirs = [torch.tensor(x, requires_grad=True) for x in call.arrays()]
    assert call.theirs is not None
    wanted = call.theirs(torch.nn.functional, *theirs)
    np.testing.assert_allclose(value, wanted.detach().numpy(), 1e-9, 1e-10, strict=True)
    (wanted * torch.tensor(weights)).sum().backward()
    for gradient, x in zip(gradients, theirs, strict=True):
        if x.grad is not None:
            np.testing.assert_allclose(gradient, x.grad.numpy(), 1e-8, 1e-9)

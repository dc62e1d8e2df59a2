"""Gradients of composed calls against finite differences, and of padding of every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import nn

INDEX = tl.tensor([[2, 0], [2, 2]])
CALLS: dict[str, Callable[[Any], Any]] = {
    "flip": lambda x: F.flip(x, 1),
    "roll": lambda x: F.roll(x, (1, -2), (0, 1)),
    "tile": lambda x: F.tile(x, (2, 1, 3)),
    "repeat": lambda x: F.repeat(x, 3, 1),
    "repeat each": lambda x: F.repeat(x, [0, 2, 1], 0),
    "take": lambda x: F.take(x, INDEX, 1),
    "take first": lambda x: F.take(x, INDEX, 0),
    "moveaxis": lambda x: F.moveaxis(x, 0, 1),
    "squeeze": lambda x: F.squeeze(F.expand_dims(x, (0, 2))),
    "unstack": lambda x: F.concat(F.unstack(x, 1)),
    "tril": lambda x: F.tril(x, k=1),
    "triu": lambda x: F.triu(x),
    "embedding": lambda x: F.embedding(INDEX, x),
    "mask": lambda x: x[tl.tensor([True, False, True])],
    "broadcast": lambda x: F.broadcast_arrays(x, tl.tensor(np.ones((2, 3, 4))))[0],
    "pad": lambda x: F.pad(x, widths=(1, 2, 0, 3)),
    "pad edge": lambda x: F.pad(x, widths=(1, 2, 0, 3), mode="edge"),
    "pad reflect": lambda x: F.pad(x, widths=(2, 1, 3, 1), mode="reflect"),
    "pad circular": lambda x: F.pad(x, widths=(7, 2, 0, 9), mode="circular"),
    "add along": lambda x: F.put_along_axis(x, tl.tensor([[1, 1]] * 3), x[:, :2], mode="add"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_gradients_agree_with_differences(name: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4))
    weights = tl.tensor(rng.normal(size=CALLS[name](tl.tensor(x)).shape))

    def loss(values: Any) -> Any:
        y = CALLS[name](values)
        return F.sum(y * y * weights)

    leaf = tl.tensor(x, requires_grad=True)
    loss(leaf).backward()
    step = 1e-6
    for place in np.ndindex(3, 4):
        moved = np.zeros_like(x)
        moved[place] = step
        slope = loss(tl.tensor(x + moved)).item() - loss(tl.tensor(x - moved)).item()
        assert abs(np.asarray(leaf.grad)[place] - slope / (2 * step)) < 1e-6


def test_an_embedding_learns_the_rows_that_it_read() -> None:
    layer = nn.Embedding(5, 3, seed=0)
    out = layer(tl.tensor(np.array([[1, 1], [4, 1]], np.int32)))
    assert out.shape == (2, 2, 3)
    F.sum(out).backward()
    assert np.asarray(layer.weight.grad)[:, 0].tolist() == [0, 3, 0, 0, 1]
    with pytest.raises(tl.IndexRangeError, match=r"got 5 at position 1"):
        layer(tl.tensor([0, 5]))
    with pytest.raises(ValueError, match="positive"):
        nn.Embedding(0, 3)


def test_the_gradient_of_a_transposed_weight_lies_in_order() -> None:
    rng = np.random.default_rng(0)
    for dtype in ("float32", "complex64"):
        x, values = (
            rng.normal(size=size) + 1j * rng.normal(size=size) for size in ((5, 3), (4, 3))
        )
        x, values = (v.astype(dtype) if "c" in dtype else v.real.astype(dtype) for v in (x, values))
        w = tl.tensor(values, requires_grad=True)
        seed = tl.tensor(rng.normal(size=(5, 4)).astype(dtype))
        for product in (tl.matmul(tl.tensor(x), w.T), F.linear(tl.tensor(x), w.mT, 0.0)):
            w.grad = None
            product.backward(seed)
            wanted = (x.conj().T @ np.asarray(seed)).T
            np.testing.assert_allclose(np.asarray(w.grad), wanted, rtol=1e-5, atol=1e-6)
            assert np.asarray(w.grad).flags.c_contiguous
    many = tl.tensor(rng.normal(size=(2, 4, 3)), requires_grad=True)
    tl.sum(tl.matmul(tl.tensor(rng.normal(size=(2, 5, 3))), many.mT) ** 2).backward()
    assert many.grad.shape == (2, 4, 3) and np.asarray(many.grad).flags.c_contiguous
    weights = tl.tensor(rng.normal(size=(2, 4, 3)), requires_grad=True)
    x, seed = rng.normal(size=(5, 3)), rng.normal(size=(2, 5, 4))
    tl.matmul(tl.tensor(x), weights.mT).backward(tl.tensor(seed))  # of fewer axes than the weights
    np.testing.assert_allclose(np.asarray(weights.grad), np.swapaxes(seed, 1, 2) @ x, rtol=1e-12)
    weights.grad = None
    tl.matmul(tl.tensor(x[0]), weights.mT).backward(tl.tensor(seed[:, 0]))
    wanted = seed[:, 0, :, None] * x[0]
    np.testing.assert_allclose(np.asarray(weights.grad), wanted, rtol=1e-12)

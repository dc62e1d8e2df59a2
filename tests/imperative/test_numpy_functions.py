"""NumPy's functions on tensors give tensors, and never drop a gradient in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.imperative.apply_numpy import _FUNCTIONS

X = np.array([[3.0, 1.0, 2.0], [0.5, -1.0, 4.0]])
SQUARE = np.array([[2.0, 1.0], [1.0, 3.0]])
CALLS: list[Callable[[Any], Any]] = [
    lambda x: np.sum(x),
    lambda x: np.sum(x, axis=0),
    lambda x: np.sum(x, 1, None, None, True),
    lambda x: np.sum(x, axis=-1, keepdims=True, out=None, dtype=None),
    lambda x: np.mean(x, axis=(0, 1)),
    lambda x: np.max(x, axis=1),
    lambda x: np.min(x),
    lambda x: np.std(x, axis=0, ddof=1),
    lambda x: np.var(x),
    lambda x: np.prod(x, axis=0),
    lambda x: np.any(x > 0, axis=0),
    lambda x: np.all(x > 0),
    lambda x: np.concatenate([x, x], axis=1),
    lambda x: np.concatenate((x, X)),
    lambda x: np.sort(x, axis=None),
    lambda x: np.stack([x, x], axis=-1),
    lambda x: np.where(x > 1, x, 0.0),
    lambda x: np.sort(x),
    lambda x: np.sort(x, axis=0),
    lambda x: np.argsort(x, axis=1),
    lambda x: np.argmax(x, axis=1),
    lambda x: np.cumsum(x),
    lambda x: np.cumsum(x, axis=1),
    lambda x: np.cumprod(x, 0),
    lambda x: np.clip(x, 0, 2),
    lambda x: np.clip(x, None, 2),
    lambda x: np.reshape(x, (3, 2)),
    lambda x: np.reshape(x, -1),
    lambda x: np.transpose(x),
    lambda x: np.transpose(x, (1, 0)),
    lambda x: np.swapaxes(x, 0, 1),
    lambda x: np.ravel(x),
    lambda x: np.squeeze(x[None], axis=0),
    lambda x: np.expand_dims(x, 1),
    lambda x: np.moveaxis(x, 0, 1),
    lambda x: np.flip(x, axis=1),
    lambda x: np.roll(x, 1),
    lambda x: np.repeat(x, 2, axis=0),
    lambda x: np.tile(x, (1, 2)),
    lambda x: np.take(x, [1, 0], axis=1),
    lambda x: np.diff(x, axis=1),
    lambda x: np.tril(x),
    lambda x: np.dot(x, x.T),
    lambda x: np.tensordot(x, X, axes=([1], [1])),
    lambda x: np.einsum("ij,kj->ik", x, X),
    lambda x: np.round(x, 0),
    lambda x: np.round(x * 1.2345, 2),
    lambda x: np.nan_to_num(x),
    lambda x: np.isclose(x, X),
    lambda x: np.zeros_like(x),
    lambda x: np.add.reduce(x),
    lambda x: np.add.reduce(x, axis=1, keepdims=True),
    lambda x: np.maximum.reduce(x, axis=None),
    lambda x: np.add.accumulate(x, axis=1),
    lambda x: np.multiply.accumulate(x),
    lambda x: np.modf(x)[0],
    lambda x: np.modf(x)[1],
    lambda x: np.divmod(x, 2.0)[0],
    lambda x: np.divmod(x, 2.0)[1],
    lambda x: np.float_power(x, 2),
    lambda x: np.linalg.norm(x),
    lambda x: np.linalg.norm(x, axis=1),
    lambda x: np.linalg.inv(x[:, :2]),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_a_function_of_numpy_gives_a_tensor_of_its_values(number: int) -> None:
    call = CALLS[number]
    found, wanted = call(tl.tensor(X)), call(X)
    assert isinstance(found, tl.Tensor)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)
    assert found.shape == np.shape(wanted)


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_a_function_of_numpy_keeps_the_gradient(number: int) -> None:
    x = tl.tensor(X, requires_grad=True)
    found = CALLS[number](x)
    wanted = CALLS[number](X)
    is_still = np.asarray(wanted).dtype.kind != "f" or number in (49, 58) or not found.requires_grad
    assert found.requires_grad or is_still


def test_tables_name_calls_that_exist() -> None:
    for name in _FUNCTIONS.values():
        found: Any = tl.Tensor if name.startswith("Tensor.") else tl.functional
        for part in name.removeprefix("Tensor.").split("."):
            found = getattr(found, part)
        assert callable(found)


def test_what_is_not_ours_works_on_elements_and_refuses_gradients() -> None:
    x = tl.tensor(X)
    np.testing.assert_array_equal(np.histogram(x, bins=2)[0], np.histogram(X, bins=2)[0])
    np.testing.assert_array_equal(np.sum(x, initial=2.0), np.sum(X, initial=2.0))
    leaf = tl.tensor(X, requires_grad=True)
    for call in (
        lambda: np.histogram(leaf),
        lambda: np.sum(leaf, initial=2.0),
        lambda: np.copy(leaf),
        lambda: np.vstack([leaf, leaf]),
    ):
        with pytest.raises(tl.AutodiffError, match="carries gradients"):
            call()


def test_shapes_are_no_elements() -> None:
    leaf = tl.tensor(X, requires_grad=True)
    assert (np.shape(leaf), np.ndim(leaf), np.size(leaf)) == ((2, 3), 2, 6)
    assert [part.tolist() for part in np.where(leaf > 2)] == [[0, 1], [0, 2]]


def test_gradients_flow_through_numpy() -> None:
    gradient = tl.grad(lambda x: np.sum(np.where(x > 1, x * x, 0.0)))(tl.tensor(X))
    np.testing.assert_allclose(gradient, np.where(X > 1, 2 * X, 0))


def test_a_memoryview_reads_the_elements() -> None:
    x = tl.tensor([[1, 2], [3, 4]])
    view = memoryview(x)
    assert view.tolist() == [[1, 2], [3, 4]]
    assert view.readonly
    assert bytes(tl.tensor([1, 2], tl.uint8)) == b"\x01\x02"
    with pytest.raises(tl.AutodiffError, match="numpy: the tensor carries gradients"):
        memoryview(tl.tensor([1.0], requires_grad=True))

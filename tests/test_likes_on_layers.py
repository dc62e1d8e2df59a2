"""A tensor-like of twenty lines goes through layers; one that lacks a part is told which."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.tensor_likes import worked

import tensorlike as tl
import tensorlike.functional as F

LOG: list[str] = []


class Logged(tl.Carrier):
    """README's."""


@tl.apply.register
def apply_logged(op: tl.ops.OpBase, *xs: Logged) -> Any:
    LOG.append(str(op))
    return tl.apply.super(op, *xs)


class Bare(tl.TensorBase):
    """As README's once was: it says what an op means, but not how to take others in."""

    def __init__(self, value: Any) -> None:
        self.value = tl.tensor(value)
        self.shape, self.dtype = self.value.shape, self.value.dtype


@tl.apply.register
def apply_bare(op: tl.ops.OpBase, *xs: Bare) -> Any:
    return [Bare(y) for y in op(*(x.value for x in xs))]


CALLS: dict[str, Any] = {
    "Linear": lambda x: tl.nn.Linear(2, 3, seed=0)(x),
    "softmax": F.softmax,
    "element": lambda x: x[0],
    "slice": lambda x: x[:, ::-1],
    "BatchNorm in training": lambda x: tl.nn.BatchNorm1d(2)(x),
    "BatchNorm in eval": lambda x: tl.nn.BatchNorm1d(2).eval()(x),
    "attention": lambda x: F.attention(x, x, x),
    "addition": lambda x: x + tl.tensor([1.0, 2.0]),
}
VALUES = np.array([[1.0, 2.0], [3.0, 5.0]], np.float32)


@pytest.mark.parametrize("name", CALLS)
def test_readmes_logged_goes_through_layers_and_sees_their_ops(name: str) -> None:
    LOG.clear()
    y = CALLS[name](tl.Tensor(Logged(VALUES)))
    assert isinstance(tl.stop_gradient(y).__wrapped__, Logged)
    np.testing.assert_array_equal(np.asarray(y.detach()), CALLS[name](tl.tensor(VALUES)).detach())
    assert LOG


@pytest.mark.parametrize("name", ["Linear", "BatchNorm in eval", "addition"])
def test_one_that_lifts_nothing_is_told_to_define_lift(name: str) -> None:
    with pytest.raises(tl.DispatchError) as caught:
        CALLS[name](tl.Tensor(Bare(VALUES)))
    text = str(caught.value)
    assert "Bare" in text
    assert "lift" in text
    assert "Carrier" in text


@pytest.mark.parametrize("name", ["softmax", "element"])
def test_what_needs_no_other_value_needs_no_lift(name: str) -> None:
    y = CALLS[name](tl.Tensor(Bare(VALUES)))
    assert isinstance(y.__wrapped__, Bare)
    np.testing.assert_array_equal(y.__wrapped__.value, CALLS[name](tl.tensor(VALUES)))


def test_intervals_go_through_batch_norm_in_eval() -> None:
    """Through the bodies of its ops: bounds hold at every point between."""
    norm = tl.nn.BatchNorm1d(2)
    norm(tl.tensor(VALUES))  # running statistics that are not 0 and 1
    norm.eval()
    interval = worked("intervals").Interval
    y = norm(tl.Tensor(interval(VALUES - 0.5, VALUES + 0.5))).detach().__wrapped__
    for share in np.linspace(-0.5, 0.5, 9, dtype=np.float32):
        value = np.asarray(norm(tl.tensor(VALUES + share)).detach())
        assert (np.asarray(y.low) <= value).all()
        assert (value <= np.asarray(y.high)).all()
    assert (np.asarray(y.high) - np.asarray(y.low) < 2.0).all()


@pytest.mark.parametrize("dtype", [7, "junk", None, "raises"])
@pytest.mark.parametrize(
    "call",
    [F.group_norm, F.gumbel_softmax, F.normalize, F.smooth_l1_loss, F.flip, F.roll, F.squeeze],
)
def test_a_bare_tensor_like_of_a_wrong_dtype_is_refused_in_composed_calls(
    call: Any, dtype: Any
) -> None:
    class Liar(tl.TensorBase):
        shape = (2, 2)

        @property
        def dtype(self) -> Any:
            if dtype == "raises":
                raise LookupError("its own")
            return dtype

    second = {F.group_norm: (1,), F.smooth_l1_loss: (1.0,), F.roll: (1,)}.get(call, ())
    wanted = LookupError if dtype == "raises" else tl.TensorlikeError
    with pytest.raises(wanted) as caught:
        call(Liar(), *second)
    assert dtype == "raises" or "dtype" in str(caught.value)

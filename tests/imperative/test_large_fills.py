"""Large tensors of one number: their memory is written when somebody reads it, if ever."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C

SHAPE = (1100, 1000)  # 4.4 MB of float32
MADE: dict[str, Callable[[], Any]] = {
    "zeros": lambda: tl.zeros(SHAPE),
    "ones": lambda: tl.ones(SHAPE, dtype="float64"),
    "full": lambda: tl.full(SHAPE, -2.5),
    "integers": lambda: tl.full(SHAPE, 7, dtype="int64"),
    "halves": lambda: tl.full((3, *SHAPE), 1.5, dtype="float16"),
    "truths": lambda: tl.ones((4, *SHAPE), dtype="bool"),
    "complex": lambda: tl.full(SHAPE, 2 - 1j, dtype="complex64"),
    "like": lambda: tl.zeros_like(tl.ones(SHAPE).T),
}


def dense(x: Any) -> np.ndarray[Any, Any]:
    """The same array, as NumPy makes it."""
    return np.full(x.shape, np.asarray(x.flatten()[:1])[0])


def assigned(x: Any) -> Any:
    x[1] = x[2] + x[2]
    x[0, 2:7] = 1
    return x


def added_to(x: Any) -> Any:
    x += x
    return x


def first_bound_anew(x: Any) -> Any:
    x[0, 0] = 1
    return x


USES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "elementwise": lambda x: x * x + x,
    "beside a row": lambda x: x + tl.arange(x.shape[-1]).astype(x.dtype),
    "comparison": lambda x: x == x[..., :1],
    "transposed": lambda x: x.T + x.T,
    "part": lambda x: x[..., 3:5],
    "assigned": assigned,
    "first element": first_bound_anew,
    "in place": added_to,
    "copied": copy.deepcopy,
}


@pytest.mark.parametrize("mode", ["sync", "lazy"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made", MADE)
def test_a_large_fill_is_what_it_would_be_if_it_were_written(
    made: str, use: str, mode: str
) -> None:
    if made == "truths" and use in ("beside a row", "in place", "assigned"):
        pytest.skip("truths are not added to each other")
    with tl.engine.mode(mode):
        x = MADE[made]()
        other = x.detach()
        found = np.asarray(USES[use](x))
        before = np.asarray(other)
    wanted = dense(other)
    np.testing.assert_array_equal(before, wanted)
    np.testing.assert_array_equal(found, np.asarray(USES[use](tl.tensor(wanted))))


def test_what_asks_for_memory_gets_it_written() -> None:
    zeros = np.zeros(SHAPE, np.float32)
    np.testing.assert_array_equal(np.from_dlpack(tl.zeros(SHAPE)), zeros)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tl.zeros(SHAPE))).numpy(), zeros)
    array = tl.zeros(SHAPE).numpy()
    assert array.strides == zeros.strides
    assert tl.zeros(SHAPE).tolist() == zeros.tolist()
    assert tl.zeros(SHAPE)[7, 9].item() == 0
    assert tl.full(SHAPE, 0.5).sum().item() == 550_000
    np.testing.assert_array_equal(
        tl.ones(SHAPE) @ tl.ones(SHAPE[::-1]), np.full((1100, 1100), 1000)
    )


def test_elementwise_ops_read_the_number_alone() -> None:
    x = tl.zeros(SHAPE)
    y = x + 1
    (waiting,) = _C.waiting_ops()
    assert waiting.startswith("Fill")
    np.testing.assert_array_equal(y, np.ones(SHAPE))
    del x
    assert _C.waiting_ops() == []


def test_gradients_go_through_large_fills() -> None:
    x = tl.ones(SHAPE)
    x.requires_grad = True
    (x * tl.full(SHAPE, 3.0)).sum().backward()
    np.testing.assert_array_equal(np.asarray(x.grad), np.full(SHAPE, 3))
    assert np.asarray(x.detach())[5, 5] == 1


def test_memory_that_is_not_there_is_missed_at_once() -> None:
    with pytest.raises(tl.OutOfMemoryError, match="Fill"):
        tl.zeros(10**14)
    assert tl.zeros((0, 10**14)).shape == (0, 10**14)
    with pytest.raises(tl.TensorlikeError):
        tl.zeros((2**62, 2**62))

"""What hours of random wrong calls found: numbers without bounds, values that are no tensors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F = tl.functional
HUGE = (-(2**63), -(2**63) - 1, -(10**30), -1000)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("places", HUGE)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float32", "complex64"])
def test_rounding_to_tens_beyond_all_numbers_ends_in_zeros(places: int, dtype: str) -> None:
    assert not np.any(np.asarray(tl.round(tl.ones((2,), dtype=dtype), decimals=places)))


@pytest.mark.timeout(20)
@pytest.mark.parametrize("places", [-n for n in HUGE])
def test_rounding_to_decimals_beyond_all_numbers_keeps_them(places: int) -> None:
    for x in (7, 2.5):
        assert tl.round(tl.tensor(x), decimals=places).item() == x


@pytest.mark.timeout(20)
def test_tile_takes_no_more_counts_than_there_are_dimensions() -> None:
    with pytest.raises(tl.ShapeError, match=r"^tile: repetitions must be at most 64 numbers; got"):
        tl.tile(tl.ones((2, 3)), memoryview(bytes(1 << 20)))


@pytest.mark.timeout(20)
@pytest.mark.parametrize("make", [tl.nn.LSTM, tl.nn.GRU, tl.nn.RNN, tl.nn.LSTMCell, tl.nn.GRUCell])
@pytest.mark.parametrize(
    "state", [range(3), [1, 2], itertools.count(), 5, "ab", [tl.ones(2)] * 2, iter([0])]
)
def test_a_state_of_a_recurrence_that_is_none_is_refused_by_its_name(make: Any, state: Any) -> None:
    layer = make(3, 2)
    x = tl.ones((4, 1, 3) if "Cell" not in make.__name__ else (1, 3))
    with pytest.raises(tl.ArgumentError, match=rf"^{make.__name__}: states must"):
        layer(x, state)


def test_a_dtype_that_is_a_complex_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^logcumsumexp: "):
        F.logcumsumexp((-1,), dtype=tl.ones((2,), dtype="complex128"))


@pytest.mark.parametrize("flag", [np.ones(3), tl.ones((2,))])
def test_requires_grad_that_is_neither_true_nor_false_is_refused(flag: Any) -> None:
    x = tl.tensor([1.0])
    for call in (
        lambda: tl.Tensor([1.0], requires_grad=flag),
        lambda: tl.tensor([1.0], requires_grad=flag),
        lambda: setattr(x, "requires_grad", flag),
    ):
        with pytest.raises(TypeError, match=r"^Tensor: requires_grad must be True or False; got"):
            call()
    assert not x.requires_grad


@pytest.mark.parametrize("places", [-2, -1, 1, 2])
@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", "float32", "complex64"])
def test_rounding_to_decimals_takes_bare_values_and_variables(places: int, dtype: str) -> None:
    x = np.asarray([0, 1, 250]).astype(dtype)
    wanted = tl.round(tl.tensor(x), decimals=places)
    bare: Any = tl.round(tl.RawTensor(x), decimals=places)
    assert np.asarray(bare).tolist() == wanted.tolist()
    shape: Any = tl.round(tl.ShapeTensor((2, 3), tl.tensor(x).dtype), decimals=places)
    assert (shape.shape, shape.dtype) == ((2, 3), wanted.dtype)
    listing = tl.Listing()
    y = tl.round(listing.input("x", (3,), wanted.dtype), decimals=places)
    assert listing.run(y, wanted).tolist() == tl.round(wanted, decimals=places).tolist()


def test_reductions_by_index_take_bare_values_and_variables() -> None:
    x, indices, value = (tl.tensor(values) for values in ([1, 2], [0, 0], [3, 4]))
    bare: Any = F.index_reduce(x, tl.RawTensor([0, 0]), value, axis=0, mode="prod")
    listing = tl.Listing()
    given = listing.input("i", (2,), tl.int64)
    y = F.index_reduce(x, given, value, axis=0, mode="prod")
    assert np.asarray(bare).tolist() == [12, 2] == listing.run(y, indices).tolist()

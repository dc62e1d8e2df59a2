"""Listing.run: what was recorded is applied to values."""

from __future__ import annotations

import numpy as np
import pytest
from support.models import models

import tensorlike as tl
from tensorlike import DispatchError, DTypeError, Listing, ShapeError


def test_a_listing_runs_on_values_of_any_kind() -> None:
    listing = Listing()
    x = listing.input("x", (2,))
    y = x * 3 + 1
    z = tl.sum(y)
    raw = tl.RawTensor([1.0, 2.0])
    assert type(listing.run(y, raw)) is tl.RawTensor
    found = listing.run({"y": y, "z": z}, tl.tensor([1.0, 2.0]))
    assert (found["y"].tolist(), found["z"].item()) == ([4.0, 7.0], 11.0)
    assert tl.grad(lambda v: listing.run(z, v))(tl.tensor([1.0, 2.0])).tolist() == [3.0, 3.0]
    assert tl.vmap(lambda v: listing.run(z, v))(tl.tensor([[1.0, 2.0]])).tolist() == [11.0]
    again = Listing()
    listing.run(z, again.input("v", (2,)))
    assert [str(op) for op in again.ops] == [str(op) for op in listing.ops]


@pytest.mark.parametrize("name", models())
def test_models_are_recorded_and_run_with_the_weights_that_they_had(name: str) -> None:
    model = models()[name]
    listing = Listing()
    x = listing.input("x", model.inputs.shape, model.inputs.dtype.name)
    y = model.network(tl.Tensor(x))
    values = tl.tensor(model.inputs)
    found = listing.run(y, values)
    assert not found.requires_grad
    assert np.array_equal(np.asarray(found), np.asarray(model.network(values).detach()))


def test_inputs_that_do_not_fit_are_refused() -> None:
    listing = Listing()
    y = listing.input("x", (2,)) * 2
    with pytest.raises(ShapeError) as caught:
        listing.run(y)
    assert str(caught.value) == "run: one value for each of 1 inputs is needed; got 0."
    with pytest.raises(ShapeError) as caught:
        listing.run(y, tl.zeros(3))
    assert str(caught.value) == "run: x must have the shape (2,); got (3,)."
    with pytest.raises(DTypeError) as caught_dtype:
        listing.run(y, tl.tensor([1, 2]))
    assert str(caught_dtype.value) == "run: x must be float32; got int64."
    with pytest.raises(DispatchError) as caught_kind:
        listing.run(tl.zeros(2), tl.zeros(2))
    assert str(caught_kind.value) == "run: results must be of this listing; got a RawTensor"


def test_names_of_inputs_need_not_differ() -> None:
    listing = Listing()
    first, second = (tl.Tensor(listing.input("_1", (2,))) for _ in range(2))
    y = first * 10 + second
    assert listing.run((y, first), tl.ones(2), tl.zeros(2))[0].tolist() == [10.0, 10.0]
    with pytest.raises(DispatchError, match="of this listing"):
        Listing().run(y)

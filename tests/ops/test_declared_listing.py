"""P12: every op runs once eagerly and once through the symbolic tensor-like, to the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.examples_of_batches import CASES, depends_on_elements

import tensorlike as tl


@pytest.mark.parametrize("case", CASES, ids=str)
def test_P12_what_a_listing_recorded_gives_the_same_bits_on_values(case: Case) -> None:
    values = [tl.RawTensor(x) for x in case.inputs]
    listing = tl.Listing()
    inputs = [listing.input(f"x{i}", x.shape, x.dtype) for i, x in enumerate(values)]
    pending = iter(inputs)
    symbols = case.call(lambda _: next(pending))
    raws = iter(values)
    eager = case.call(lambda _: next(raws))
    replayed = listing.run(symbols, *values)
    assert len(eager) == len(replayed) == len(symbols)
    for symbol, wanted, found in zip(symbols, eager, replayed, strict=True):
        assert symbol.dtype == wanted.dtype
        sizes = list(zip(symbol.shape, wanted.shape, strict=True))
        known = [(size, of_values) for size, of_values in sizes if isinstance(size, int)]
        assert known == sizes or depends_on_elements(case)
        assert all(size == of_values for size, of_values in known)
        assert same_bits(found, wanted)


def same_bits(x: Any, y: Any) -> bool:
    a, b = np.asarray(x), np.asarray(y)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()

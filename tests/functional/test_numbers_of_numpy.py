"""NumPy's numbers are numbers: what takes one of Python's takes those, and gives the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.hostile import Good, good_calls, value_of
from support.hostile_objects import classes, of_class

import tensorlike as tl
import tensorlike.functional as F


def swapped(x: Any) -> Any:
    """An integer as one of NumPy's; what is none as it is."""
    return np.int64(x) if type(x) is int else x


LAYERS = [
    good for label, cls in classes() if label.startswith("nn.") for good in of_class(label, cls)
]
GOODS = [
    good
    for good in (*good_calls(), *LAYERS)
    if good.name != "result_type"  # which tells them apart
    and any(type(x) is int for x in (*good.args, *good.kwargs.values()))
]


@pytest.mark.parametrize("good", GOODS, ids=lambda good: good.name)
def test_whole_numbers_are_whatever_has_an_index(good: Good) -> None:
    wanted = value_of(good)
    args = [swapped(x) for x in good.args]
    kwargs = {name: swapped(x) for name, x in good.kwargs.items()}
    found = value_of(Good(good.name, good.function, args, kwargs, good.keywords))
    assert re.sub(r"np\.int64\((-?\d+)\)", r"\1", found) == wanted  # layers show what they keep


def test_the_distance_of_two_ends_does_not_overflow() -> None:
    low, high = np.int8(-100), np.int8(100)
    assert tl.linspace(low, high, 5).tolist() == [-100, -50, 0, 50, 100]
    assert tl.linspace(np.uint8(200), np.uint8(100), 3).tolist() == [200, 150, 100]
    assert tl.linspace(np.complex64(1j), 0, 2).tolist() == [1j, 0]
    np.testing.assert_allclose(F.logspace(np.int8(-100), np.int8(100), 3, base=1.5).tolist()[1], 1)
    drawn = tl.random.Generator(0).uniform(1000, low=low, high=high)
    assert drawn.dtype is tl.float32
    assert -100 <= F.min(drawn).item() < -90 and 90 < F.max(drawn).item() <= 100
    tensors = tl.tensor([-100], dtype="int8"), tl.tensor([100], dtype="int8")
    again = tl.random.Generator(0).uniform(1000, low=tensors[0], high=tensors[1])
    assert again.tolist() == drawn.tolist()


def test_numbers_of_numpy_have_dtypes() -> None:
    assert tl.result_type(tl.int8, np.int64(3)) is tl.int64
    assert tl.result_type(tl.float32, np.float64(3)) is tl.float64
    assert tl.result_type(tl.int8, np.ones(2, np.uint8)) is tl.int16
    assert tl.clip(tl.tensor([1, 5]), 0, np.int64(3)).tolist() == [1, 3]


@pytest.mark.parametrize("end", ([1, 2], (1,), "1", b"1", None, np.zeros(2), np.datetime64(1, "s")))
def test_what_is_no_number_is_no_end(end: Any) -> None:
    """A list that NumPy reads while it changes is read beyond its end."""
    for ends in ((end, np.int8(1)), (np.int8(1), end)):
        with pytest.raises(tl.ParameterError, match=r"linspace: (start|stop) must be a number"):
            tl.linspace(*ends, 3)

"""Functions with a fast form and a right one give an element the same bits in any company."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F

EXTREME = [1e30, -1e30, np.inf, -np.inf, np.nan, 88.0, 88.8, -87.5, -100.0, -104.5, -750.0, 709.9]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["exp", "sigmoid", "silu", "sin", "tan"])
def test_an_element_does_not_depend_on_its_neighbours(name: str, dtype: type) -> None:
    function = getattr(F, name)
    random = np.random.default_rng(0)
    moderate = random.uniform(-80, 80, 3000).astype(dtype)
    mixed = moderate.copy()
    places = random.choice(mixed.size, len(EXTREME), replace=False)
    mixed[places] = EXTREME
    alone = [function(tl.tensor(mixed[i : i + 1])).item() for i in range(mixed.size)]
    expected = np.array(alone, dtype)
    np.testing.assert_array_equal(function(tl.tensor(mixed)).numpy(), expected)
    kept = np.delete(np.arange(mixed.size), places)
    np.testing.assert_array_equal(function(tl.tensor(moderate)).numpy()[kept], expected[kept])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_survive_writing_over_the_operand(dtype: type) -> None:
    values = np.resize(np.array([0.5, *EXTREME, -1.5], dtype), 2500)
    with np.errstate(over="ignore"):
        expected = np.exp(values)
    result = F.exp(tl.tensor(values) + 0)  # the operand dies, its memory is the result's
    np.testing.assert_allclose(result.numpy(), expected, rtol=3e-7, atol=1e-44)

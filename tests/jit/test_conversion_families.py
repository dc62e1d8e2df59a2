"""Every nesting of Python's control flow gives, converted, what it gives at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.jit import to_static

from ..support.control_programs import families, module_of, random_function

FAMILIES = families()
INPUTS = [(0.5, [0.5, -1.0, 2.0]), (3.0, [1.0, 1.5, 0.25]), (-2.0, [-1.0, 0.5, 0.0])]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A module that holds all functions."""
    path: Path = tmp_path_factory.mktemp("families") / "families_of_control_flow.py"
    return module_of(path, FAMILIES)


def outcome(function: Any, x: float, v: list[float], n: int) -> list[Any]:
    """Values and gradients."""
    leaves = tl.tensor(x, requires_grad=True), tl.tensor(v, requires_grad=True)
    total, count = function(*leaves, n)
    total.backward()
    grads = [np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]
    return [total.value(), np.asarray(count.value() if hasattr(count, "value") else count), *grads]


def check(function: Any, numbers: Sequence[int] = (1, 2)) -> None:
    """Holds values and gradients against those of Python's own control flow."""
    converted = to_static(function, opt_level=0)
    for n in numbers:
        for x, v in INPUTS:
            expected = outcome(function, x, v, n)
            for got, wanted in zip(outcome(converted, x, v, n), expected, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-6)
    assert len(converted.programs()) == len(numbers)  # whatever the values of tensors are


def test_there_are_at_least_300_programs() -> None:
    assert len(FAMILIES) >= 300


@pytest.mark.parametrize("name", list(FAMILIES))
def test_a_nesting_gives_what_python_gives(programs: ModuleType, name: str) -> None:
    check(getattr(programs, name), [1 + list(FAMILIES).index(name) % 2])


@pytest.mark.slow
def test_a_nesting_gives_what_python_gives_for_each_number(programs: ModuleType) -> None:
    for name in FAMILIES:
        check(getattr(programs, name))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_a_random_function_gives_what_python_gives(tmp_path: Path, seed: int) -> None:
    name = f"random_control_flow_{seed}"
    check(getattr(module_of(tmp_path / f"{name}.py", {name: random_function(name, seed)}), name))

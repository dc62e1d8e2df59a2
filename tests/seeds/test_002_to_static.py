"""Seed 002: dygraph to static. Its examples of ProgramTranslator, with their typing errors mended.

A colon is missing behind ``def func(input_var)``, `SimpleFCLayer` is called `SimpleFcLayer`, and
the second example forgets to return.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike.jit import load, save, to_static


@to_static
def func(input_var: Any) -> Any:
    """The seed's function, whose branch depends on a shape."""
    # if condition depends on the shape of input_var
    if input_var.shape[0] > 1:  # noqa: SIM108 - as the seed has it
        out = input_var.astype("float64")
    else:
        out = input_var.astype("int64")
    return out


@to_static
def by_value(input_var: Any) -> Any:
    """The same where the branch depends on a value."""
    if input_var.sum() > 0:
        out = input_var.astype("float64") * 2
    else:
        out = input_var.astype("float64") - 1
    return out


class SimpleFcLayer(tl.nn.Layer):
    """The seed's layer."""

    def __init__(self, feature_size: int, batch_size: int, fc_size: int) -> None:
        super().__init__()
        self._linear = tl.nn.Linear(feature_size, fc_size)
        self._offset = tl.tensor(np.random.random((batch_size, fc_size)).astype("float32"))

    @to_static
    def forward(self, x: Any) -> Any:
        """The seed's computation."""
        fc = self._linear(x)
        return fc + self._offset


def test_y4_a_branch_on_the_shape_takes_both_ways() -> None:
    assert func(tl.tensor(np.array([-2]).astype("int"))).dtype == tl.int64
    assert func(tl.tensor(np.array([-2, 3]).astype("int"))).dtype == tl.float64


def test_y4_a_branch_on_a_value_takes_both_ways_in_one_program() -> None:
    for value in (-2, 3, -1):
        wanted = value * 2.0 if value > 0 else value - 1.0
        assert by_value(tl.tensor(np.array([value]))).tolist() == [wanted]
    assert len(by_value.programs()) == 1


def test_y4_y7_the_layer_runs_is_saved_and_loaded_without_its_class(tmp_path: Path) -> None:
    layer = SimpleFcLayer(3, 4, 2)
    input_var = tl.tensor(np.random.random([3, 4]).astype("float32").reshape(4, 3))
    out = layer(input_var)
    eager = layer._linear(input_var) + layer._offset
    np.testing.assert_allclose(out.value(), eager.value(), rtol=1e-6)
    save(layer, tmp_path / "fc_layer_dy2stat", input_spec=[input_var])
    np.testing.assert_allclose(
        load(tmp_path / "fc_layer_dy2stat")(input_var).value(), out.value(), rtol=1e-6
    )

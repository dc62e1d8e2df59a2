"""Random draws in ONNX models: the same distributions, asked for by `draws=True`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.network_calls import CALLS

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.export import onnx
from tensorlike.export.onnx.exporter.verifying import session_of
from tensorlike.functional import random
from tensorlike.opdecl import load_builtin

SHAPE = (100, 200)
Draw = Callable[..., Any]
MODES = next(
    attr.choices for entry in load_builtin().entries if entry.name == "Random"
    for attr in entry.attrs if attr.name == "mode"
)  # fmt: skip
BOUNDS: dict[str, dict[str, Any]] = {
    "truncated_normal": {"low": -1.0, "high": 2.0}, "integers": {"low": -3, "high": 5}
}  # fmt: skip
DRAWS: dict[str, Draw] = {
    "uniform between": lambda: random.uniform(SHAPE, -2.0, 3.0),
    "normal of float64": lambda: random.normal(SHAPE, 1.0, 2.0, dtype="float64"),
    "uniform of halves": lambda: random.uniform(SHAPE, dtype="float16"),
    "bernoulli": lambda: F.astype(random.bernoulli(0.3, shape=SHAPE), "float32"),
    "randint": lambda: random.randint(2, 9, SHAPE),
    "exponential": lambda: random.exponential(SHAPE, 2.0),
    "truncated normal": lambda: random.truncated_normal(SHAPE),
    "categorical": lambda: random.categorical(tl.tensor([0.0, 1.0, 2.0]), shape=SHAPE),
    **{
        mode: lambda mode=mode: F.random_draw(SHAPE, mode=mode, key=1, **BOUNDS.get(mode, {}))
        for mode in MODES
    },
}


def runs(call: Draw, arrays: dict[str, Any], inputs: Any = None) -> list[list[Any]]:
    """Two runs of the model of a call."""
    given = {name: x.shape for name, x in arrays.items()} if inputs is None else inputs
    session = session_of(onnx.to_model(call, inputs=given, draws=True))
    return [session.run(None, arrays) for _ in range(2)]


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_is_of_the_same_distribution_and_new_in_each_run(name: str) -> None:
    tl.manual_seed(0)
    ours = np.asarray(DRAWS[name]())
    wanted = np.sort(ours.reshape(-1).astype(np.float64))
    used = np.zeros((2,), np.float32)
    (found, _), (again, _) = runs(lambda x: (DRAWS[name](), x), {"x": used})
    assert (found.shape, found.dtype) == (ours.shape, ours.dtype)
    assert not np.array_equal(found, again)
    # What Kolmogorov and Smirnov measure: 20,000 of each agree to 0.02, but once in a thousand.
    values = np.unique(np.concatenate([wanted, found.reshape(-1)]))
    mine, theirs = np.sort(found.reshape(-1).astype(np.float64)), wanted
    shares = [np.searchsorted(x, values, "right") / x.size for x in (mine, theirs)]
    assert np.abs(shares[0] - shares[1]).max() < 0.03


@pytest.mark.parametrize("inputs", [{"x": SHAPE}, {"x": ("n", 200)}])
def test_dropout_in_training_keeps_its_share(inputs: Any) -> None:
    x = np.full(SHAPE, 3.0, np.float32)
    (found,), (again,) = runs(lambda x: F.dropout(x, p=0.25, seed=1), {"x": x}, inputs)
    assert set(np.unique(found)) == {0.0, 4.0}
    assert abs(np.mean(found == 0) - 0.25) < 0.02
    assert not np.array_equal(found, again)


def test_dropout_and_its_gradient_leave_the_same_out() -> None:
    def both(x: Any) -> Any:
        loss = lambda v: F.sum(F.dropout(v, p=0.5, seed=7) * 3)  # noqa: E731
        return F.dropout(x, p=0.5, seed=7), tl.grad(loss)(x)

    for found, slope in runs(both, {"x": np.ones(SHAPE, np.float32)}):
        np.testing.assert_array_equal(found * 3, slope)


def test_layers_in_training_are_exported_where_it_is_asked_for() -> None:
    network = tl.nn.Sequential(tl.nn.Linear(4, 64, seed=0), tl.nn.Dropout(0.5))
    x = np.ones((8, 4), np.float32)
    (found,), (again,) = runs(lambda x: network(x), {"x": x})
    assert found.shape == (8, 64)
    assert not np.array_equal(found, again)


@pytest.mark.parametrize("call", [c for c in CALLS if c.name.startswith("gumbel")], ids=str)
def test_calls_of_networks_that_draw_give_shares(call: Any) -> None:
    arrays = {f"x{i}": np.asarray(x, np.float32) for i, x in enumerate(call.arrays())}
    for (found,) in runs(call.ours, arrays):
        assert any(np.allclose(found.sum(axis), 1, rtol=1e-5) for axis in range(found.ndim))


def test_draws_are_refused_where_nobody_asks_for_others() -> None:
    with pytest.raises(tl.ArgumentError, match="draws=True"):
        onnx.to_model(lambda x: F.dropout(x, p=0.5, seed=1), inputs={"x": (2, 3)})


def test_a_distribution_that_onnx_has_not_is_refused() -> None:
    with pytest.raises(tl.ArgumentError, match="of a distribution that ONNX has not"):
        onnx.to_model(lambda x: F.random_from(x, key=1), inputs={"x": (2, 3)}, draws=True)


def test_what_draws_cannot_be_verified(tmp_path: Any) -> None:
    with pytest.raises(tl.ArgumentError, match="verify"):
        onnx.save(
            lambda x: F.dropout(x, p=0.5, seed=1), tmp_path / "m.onnx", inputs={"x": (2, 3)},
            draws=True, verify=True,
        )  # fmt: skip

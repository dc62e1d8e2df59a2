"""States of layers and optimisers: which way round weights are, and that nothing is half set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import nn

RNG = np.random.default_rng(3)
WEIGHT = RNG.normal(size=(2, 2)).astype(np.float32)


def test_a_square_weight_says_which_way_round_it_is_or_is_refused() -> None:
    layer = nn.Sequential(nn.Linear(2, 2, seed=0), nn.Linear(2, 3, seed=1))
    state = layer.state_dict()
    other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
    other.load_state_dict(state)
    assert other[0].weight.tolist() == layer[0].weight.tolist()
    silent = {name: value for name, value in state.items() if not name.endswith(".layout")}
    with pytest.raises(ValueError, match=r"parts\.0\.weight must say which way .*'pytorch'"):
        other.load_state_dict(silent)
    theirs = layer.state_dict(layout="pytorch")
    assert theirs.keys() == silent.keys()
    assert theirs["parts.1.weight"].shape == (3, 2)
    np.testing.assert_array_equal(theirs["parts.0.weight"], silent["parts.0.weight"].T)
    other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
    other.load_state_dict(theirs, layout="pytorch")
    x = tl.tensor([[1.0, -2.0]])
    assert other(x).tolist() == layer(x).tolist()
    with pytest.raises(tl.ShapeError, match=r"parts\.1\.weight must have shape \(2, 3\)"):
        other.load_state_dict({**theirs, "parts.0.weight.layout": [1, 0]})
    with pytest.raises(tl.ParameterError, match="layout must be 'tensorlike' or 'pytorch'"):
        layer.state_dict(layout="jax")
    nn.Linear(2, 2, bias=False).load_state_dict({"weight": np.eye(2)})  # either way the same


# Names and shapes as PyTorch's documentation has them, of what both have.
SHAPES: dict[str, tuple[Callable[[], nn.Layer], dict[str, tuple[int, ...]]]] = {
    "Linear": (lambda: nn.Linear(3, 2), {"weight": (2, 3), "bias": (2,)}),
    "Bilinear": (lambda: nn.Bilinear(3, 2, 4), {"weight": (4, 3, 2), "bias": (4,)}),
    "Embedding": (lambda: nn.Embedding(5, 3), {"weight": (5, 3)}),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, groups=2), {"weight": (6, 2, 3, 3), "bias": (6,)}),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 6, 3), {"weight": (4, 6, 3), "bias": (6,)}),
    "LayerNorm": (lambda: nn.LayerNorm(3), {"weight": (3,), "bias": (3,)}),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), {"weight": (4,), "bias": (4,)}),
    "PReLU": (lambda: nn.PReLU(3), {"weight": (3,)}),
    "LSTM": (
        lambda: nn.LSTM(3, 2, bidirectional=True),
        {
            f"{kind}_l0{way}": shape
            for way in ("", "_reverse")
            for kind, shape in {
                "weight_ih": (8, 3), "weight_hh": (8, 2), "bias_ih": (8,), "bias_hh": (8,),
            }.items()
        },
    ),
    "GRUCell": (
        lambda: nn.GRUCell(3, 2),
        {"weight_ih": (6, 3), "weight_hh": (6, 2), "bias_ih": (6,), "bias_hh": (6,)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_states_for_pytorch_have_its_names_and_shapes(name: str) -> None:
    make, wanted = SHAPES[name]
    state = make().state_dict(layout="pytorch")
    assert {key: value.shape for key, value in state.items()} == wanted


BAD: dict[str, tuple[Any, type[Exception]]] = {
    "a word": ("word", tl.DTypeError),
    "an object": (object(), tl.DTypeError),
    "another shape": (np.zeros(3), tl.ShapeError),
    "complex": (np.zeros(2, np.complex64), tl.DTypeError),
    "beyond": (np.array([1e300, 0.0]), ValueError),
}


@pytest.mark.parametrize("name", BAD)
def test_a_state_with_an_error_sets_nothing(name: str) -> None:
    value, kind = BAD[name]
    layer = nn.Linear(3, 2, seed=0)
    before = layer.state_dict()
    with pytest.raises(kind, match=r"load_state_dict: bias must "):
        layer.load_state_dict({"weight": np.ones((3, 2)), "bias": value})
    assert all(np.array_equal(layer.state_dict()[key], old) for key, old in before.items())


WRONG: dict[str, Any] = {
    "a word": "word", "nothing": None, "a fraction": np.array(1.5), "complex": np.array(1j),
    "another shape": np.zeros(7), "beyond": np.array(1e300), "an object": object(),
    "a list of words": ["a"], "not finite": np.array(np.inf),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_state_of_an_optimiser_with_an_error_sets_nothing(name: str) -> None:
    parameters = [tl.Parameter([1.0, 2.0]), tl.Parameter([3.0])]
    optimizer = tl.optim.Adam(parameters, lr=0.5)
    for parameter in parameters:
        parameter.grad = parameter.detach()
    optimizer.step()
    before = optimizer.state_dict()
    for key in before:
        new = {k: v + 1 for k, v in before.items()}
        new[key] = WRONG[name]
        try:
            optimizer.load_state_dict(new)
        except (ValueError, TypeError, KeyError):
            for k, old in before.items():
                assert np.array_equal(optimizer.state_dict()[k], old), (key, k)
        else:  # it can be held: a fraction as a learning rate
            assert key == "lr"
            assert np.isfinite(optimizer.lr)
            optimizer.load_state_dict(before)


def test_counts_of_an_optimiser_are_counts() -> None:
    optimizer = tl.optim.Adam([tl.Parameter([1.0])])
    for value in (-1, 1.5):
        with pytest.raises((ValueError, TypeError), match=r"load_state_dict: steps\.0 must"):
            optimizer.load_state_dict({**optimizer.state_dict(), "steps.0": np.array(value)})


def test_evaluation_without_records_has_no_nodes_and_frees_on_the_way() -> None:
    x = tl.ones((256, 256))
    net = nn.Sequential(*[nn.Sequential(nn.Linear(256, 256, seed=0), F.tanh) for _ in range(8)])

    def run() -> tuple[int, int]:
        with tl.Tape() as tape:
            tl.memory.reset_peak()
            start = tl.memory.stats()["allocated"]
            y = net(x)
            return len(list(tape)), tl.memory.stats()["peak"] - start + 0 * y.size

    recorded, kept = run()
    net.eval(record=False)
    nodes, most = run()
    assert recorded > 0
    assert nodes == 0
    assert most < kept / 2
    assert run() == (nodes, most)
    net.train()
    assert net(x).requires_grad
    assert net.eval()(x).requires_grad

"""Layers that are functional calls: what they keep and show, what they draw, what they refuse."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import nn

X = tl.tensor(np.linspace(-2.0, 2.0, 24).reshape(2, 3, 4))


@pytest.fixture(autouse=True)
def _seeded() -> None:
    tl.manual_seed(5)


def test_a_function_shows_its_arguments_and_survives_pickling() -> None:
    layer = nn.Hardtanh(-0.5, 0.25)
    assert repr(layer) == "Hardtanh(min_val=-0.5, max_val=0.25)"
    assert repr(nn.ReLU()) == "ReLU()"
    again = pickle.loads(pickle.dumps(layer))
    assert (again.min_val, again.max_val) == (-0.5, 0.25)
    assert again(X).tolist() == layer(X).tolist()


def test_an_argument_may_change_later() -> None:
    layer = nn.LeakyReLU(0.5)
    layer.negative_slope = 0.25
    assert layer(tl.tensor([-1.0])).tolist() == [-0.25]


def test_weights_of_a_loss_are_buffers() -> None:
    loss = nn.CrossEntropyLoss(tl.tensor([1.0, 3.0]))
    assert list(loss.state_dict()) == ["weight"]
    logits, labels = tl.tensor([[0.0, 1.0], [0.5, 0.0]]), tl.tensor([0, 1])
    assert loss(logits, labels).item() == F.cross_entropy(logits, labels, loss.weight).item()
    assert list(nn.CrossEntropyLoss().state_dict()) == []


def test_random_slopes_are_fresh_while_training_and_their_mean_in_evaluation() -> None:
    layer, x = nn.RReLU(0.25, 0.75), -tl.ones((1000,))
    first, second = np.asarray(layer(x)), np.asarray(layer(x))
    assert (first != second).any()
    assert -0.75 <= first.min() < -0.7 < -0.3 < first.max() <= -0.25
    assert set(layer.eval()(x).tolist()) == {-0.5}


@pytest.mark.parametrize(
    ("layer", "lead"), [(nn.Dropout, 4), (nn.Dropout1d, 3), (nn.Dropout2d, 2), (nn.Dropout3d, 1)]
)
def test_dropout_of_channels_drops_whole_ones(layer: Callable[..., Any], lead: int) -> None:
    y = np.asarray(layer(0.5)(tl.ones((256, 4, 4, 4))))
    assert set(np.unique(y)) == {0.0, 2.0}
    channels = y.reshape(*y.shape[:lead], -1)
    assert (channels == channels[..., :1]).all()
    assert 0.7 < y.mean() < 1.3


@pytest.mark.parametrize("layer", [nn.AlphaDropout, nn.FeatureAlphaDropout])
def test_alpha_dropout_keeps_mean_and_variance(layer: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).normal(size=(400, 300))
    y = np.asarray(layer(0.3)(tl.tensor(x)))
    assert y.mean() == pytest.approx(0.0, abs=0.02)
    assert y.var() == pytest.approx(1.0, abs=0.02)
    assert layer(0.3).eval()(X) is X


def test_a_hard_choice_is_one_of_the_categories_by_their_softmax() -> None:
    logits = np.log([0.1, 0.2, 0.7])
    y = F.gumbel_softmax(tl.tensor(np.tile(logits, (20000, 1))), hard=True, seed=4)
    assert set(np.unique(np.asarray(y))) == {0.0, 1.0}
    np.testing.assert_allclose(np.asarray(y).mean(axis=0), [0.1, 0.2, 0.7], atol=0.01)
    soft, hard = (
        tl.grad(lambda x, h=h: F.sum(F.gumbel_softmax(x, seed=1, hard=h) * X[0, 0, :3]))(
            tl.tensor(logits)
        )
        for h in (False, True)
    )
    np.testing.assert_allclose(np.asarray(hard), np.asarray(soft), 1e-12)


def test_an_embedding_bag_looks_up_and_sums_up() -> None:
    layer = nn.EmbeddingBag(5, 3, mode="sum", seed=0)
    weight = np.asarray(layer.weight.detach())
    y = layer([0, 4, 1], [0, 2], [1.0, 2.0, 3.0])
    wanted = [weight[0] + 2 * weight[4], 3 * weight[1]]
    np.testing.assert_allclose(np.asarray(y.detach()), wanted, 1e-6)


def test_cells_make_the_steps_of_their_layers() -> None:
    x = tl.tensor(np.random.default_rng(1).normal(size=(4, 2, 3)).astype(np.float32))
    for kind, cell in ((nn.LSTM, nn.LSTMCell), (nn.GRU, nn.GRUCell), (nn.RNN, nn.RNNCell)):
        layer, step = kind(3, 5, seed=0), cell(3, 5, seed=0)
        state = None
        for part in x:
            state = step(part, state)
        last = layer(x)[1]
        pairs = zip(state, last, strict=True) if isinstance(last, tuple) else [(state, last)]
        for found, wanted in pairs:
            np.testing.assert_allclose(found.tolist(), wanted[0].tolist(), 1e-5, 1e-6)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: nn.Dropout2d(1.5), "Dropout2d: p must be in"),
    (lambda: nn.GELU("erf"), "GELU: approximate must be"),
    (lambda: nn.PReLU(0), "PReLU: num_parameters"),
    (lambda: nn.RReLU(0.5, 0.25), "RReLU: lower must not"),
    (lambda: nn.ZeroPad2d((1, 2)), "ZeroPad2d: padding must be one number or 4"),
    (lambda: nn.ZeroPad3d(1)(X[0]), "ZeroPad3d: x must have 3 spatial"),
    (lambda: nn.InstanceNorm1d(0), "InstanceNorm1d: num_features"),
    (lambda: nn.InstanceNorm2d(3)(X), "InstanceNorm2d: x must have 4 dimensions"),
    (lambda: nn.BatchNorm3d(3)(X), "BatchNorm3d: x must have 5 dimensions"),
    (lambda: nn.EmbeddingBag(0, 3), "EmbeddingBag: sizes must be positive"),
    (lambda: nn.EmbeddingBag(3, 3, mode="all")([[0]]), "embedding_bag: mode must be"),
    (lambda: nn.Flatten(2, 1)(X), "Flatten: x must have dimensions from 2 to 1"),
    (lambda: nn.Flatten()(X[0, 0]), "Flatten: x must"),
    (lambda: nn.RNN(3, 2, nonlinearity="sin"), "RNN: nonlinearity must be"),
    (lambda: nn.RNNCell(0, 2), "RNNCell: sizes must be positive"),
    (lambda: nn.GRUCell(4, 2)(X), r"GRUCell: x must be \(batch, 4\)"),
    (lambda: nn.LSTMCell(4, 2)(X[0], (X[0], X[0])), "LSTMCell: states must have the shape"),
    (lambda: nn.L1Loss(reduction="x")(X, X), "l1_loss: reduction must be"),
]


@pytest.mark.parametrize("row", range(len(WRONG)))
def test_a_wrong_layer_or_input_is_refused(row: int) -> None:
    call, text = WRONG[row]
    with pytest.raises((ValueError, tl.TensorlikeError), match=text):
        call()

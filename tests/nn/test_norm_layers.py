"""Norms, dropout and attention as layers: modes, running statistics, state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import Tensor, nn
from tensorlike import functional as F

RNG = np.random.default_rng(3)


def values(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(x.detach())


def normed(x: np.ndarray[Any, Any], axes: tuple[int, ...], eps: float = 1e-5) -> Any:
    moved = x - x.mean(axis=axes, keepdims=True)
    return moved / np.sqrt(x.var(axis=axes, keepdims=True) + eps)


def test_layer_norm_goes_over_the_last_dimensions() -> None:
    x = RNG.normal(size=(2, 3, 4, 5)).astype(np.float32)
    for shape in (5, (4, 5), (3, 4, 5)):
        layer = nn.LayerNorm(shape)
        sizes = layer.normalized_shape
        layer.weight.set_value(RNG.normal(size=sizes).astype(np.float32))
        layer.bias.set_value(RNG.normal(size=sizes).astype(np.float32))
        axes = tuple(range(-len(sizes), 0))
        wanted = normed(x.astype(float), axes) * values(layer.weight) + values(layer.bias)
        np.testing.assert_allclose(values(layer(Tensor(x))), wanted, 1e-4, 1e-5)
    plain = nn.LayerNorm(5, elementwise_affine=False)
    assert plain.parameters() == []
    np.testing.assert_allclose(values(plain(Tensor(x))), normed(x, (-1,)), 1e-4, 1e-5)
    assert nn.LayerNorm(5, bias=False).bias is None


def test_rms_norm_and_group_norm() -> None:
    x = RNG.normal(size=(2, 6, 4, 5)).astype(np.float32)
    rms = nn.RMSNorm((4, 5))
    wanted = x / np.sqrt((x * x).mean(axis=(-1, -2), keepdims=True) + 1e-5)
    np.testing.assert_allclose(values(rms(Tensor(x))), wanted, 1e-5, 1e-6)
    for groups in (1, 2, 6):
        layer = nn.GroupNorm(groups, 6)
        layer.weight.set_value(RNG.normal(size=6).astype(np.float32))
        parts = normed(x.reshape(2, groups, -1).astype(float), (2,)).reshape(x.shape)
        wanted = parts * values(layer.weight)[:, None, None]
        np.testing.assert_allclose(values(layer(Tensor(x))), wanted, 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [(nn.BatchNorm1d, (8, 3)), (nn.BatchNorm1d, (4, 3, 5)), (nn.BatchNorm2d, (4, 3, 5, 2))],
)
def test_batch_norm_learns_statistics_and_evaluates_by_them(
    layer: Callable[[int], Any], shape: tuple[int, ...]
) -> None:
    norm = layer(3)
    axes = (0, *range(2, len(shape)))
    mean, variance = np.zeros(3), np.ones(3)
    for _ in range(3):
        x = (RNG.normal(size=shape) * 3 + 1).astype(np.float32)
        y = norm(Tensor(x))
        np.testing.assert_allclose(values(y), normed(x.astype(float), axes), 1e-4, 1e-5)
        mean = 0.9 * mean + 0.1 * x.mean(axis=axes)
        variance = 0.9 * variance + 0.1 * x.var(axis=axes, ddof=1)
    np.testing.assert_allclose(values(norm.running_mean), mean, 1e-5)
    np.testing.assert_allclose(values(norm.running_var), variance, 1e-5)
    norm.eval()
    each = (3, *(1 for _ in shape[2:]))
    wanted = (x - mean.reshape(each)) / np.sqrt(variance.reshape(each) + 1e-5)
    np.testing.assert_allclose(values(norm(Tensor(x))), wanted, 1e-4, 1e-5)
    np.testing.assert_allclose(values(norm.running_mean), mean, 1e-5)


def test_batch_norm_has_gradients_and_its_statistics_none() -> None:
    norm = nn.BatchNorm1d(3)
    x = tl.tensor(RNG.normal(size=(6, 3)), requires_grad=True)
    F.sum(norm(x) ** 3).backward()
    assert all(t.grad is not None for t in (x, norm.weight, norm.bias))
    assert not norm.running_mean.requires_grad
    gradient = tl.grad(lambda v: F.sum(norm(v) ** 3))(x.detach())
    np.testing.assert_allclose(values(gradient), values(x.grad), 1e-12)
    assert isinstance(norm.running_mean, nn.Buffer)
    assert np.isfinite(values(norm.running_mean)).all()


def test_train_and_eval_reach_every_layer() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(2)))
    assert net.training
    assert net.eval() is net
    assert not any(p.training for p in (net, net.parts[0], net.parts[1], *net.parts[1].parts))
    net.train()
    assert net.parts[1].parts[0].training


def test_buffers_are_state_and_not_parameters() -> None:
    net = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1))
    net(Tensor([[1.0, 2.0], [3.0, 5.0]]))
    state = net.state_dict()
    assert sorted(state) == [
        "parts.0.bias",
        "parts.0.running_mean",
        "parts.0.running_var",
        "parts.0.weight",
        "parts.1.bias",
        "parts.1.weight",
    ]
    assert [name for name, _ in net.named_buffers()] == [
        "parts.0.running_mean",
        "parts.0.running_var",
    ]
    other = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1))
    other.load_state_dict(state)
    assert other.state_dict()["parts.0.running_mean"].tolist() == pytest.approx([0.2, 0.35])
    assert len(net.parameters()) == 4


def test_dropout_draws_anew_and_can_be_repeated() -> None:
    layer = nn.Dropout(0.5)
    x = Tensor(np.ones(64, np.float32))
    tl.manual_seed(4)
    first, second = layer(x).tolist(), layer(x).tolist()
    assert first != second
    tl.manual_seed(4)
    assert layer(x).tolist() == first
    assert layer.eval()(x) is x
    assert nn.Dropout(0.0)(x) is x


def test_multi_head_attention_is_its_heads() -> None:
    layer = nn.MultiHeadAttention(6, 2, seed=1)
    x = RNG.normal(size=(3, 5, 6)).astype(np.float32)
    context = RNG.normal(size=(3, 4, 6)).astype(np.float32)
    found = values(layer(Tensor(x), Tensor(context)))
    q, k, v = (
        values(part(Tensor(of)))
        for part, of in ((layer.query, x), (layer.key, context), (layer.value, context))
    )
    heads = []
    for part in (slice(0, 3), slice(3, 6)):
        scores = q[..., part] @ np.swapaxes(k[..., part], -1, -2) / np.sqrt(3.0)
        weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
        heads.append(weights @ v[..., part])
    wanted = values(layer.out(Tensor(np.concatenate(heads, axis=-1).astype(np.float32))))
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)
    later = x.copy()
    later[:, 3:] = 0
    a, b = (values(layer(Tensor(v), is_causal=True)) for v in (x, later))
    np.testing.assert_allclose(a[:, :3], b[:, :3], 1e-5, 1e-6)
    mask = Tensor(np.tri(5, dtype=bool))
    np.testing.assert_allclose(values(layer(Tensor(x), mask=mask)), a, 1e-5, 1e-6)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: nn.LayerNorm(0), "sizes must be positive"),
    (lambda: nn.LayerNorm(()), "sizes must be positive"),
    (lambda: nn.LayerNorm(3)(Tensor([[1.0]])), r"x\.shape must end with \(3,\)"),
    (lambda: nn.RMSNorm((2, -1)), "sizes must be positive"),
    (lambda: nn.GroupNorm(2, 3), "num_groups must divide"),
    (lambda: nn.GroupNorm(1, 3)(Tensor([[1.0]])), "must have the shape"),
    (lambda: nn.BatchNorm1d(0), "num_features must be positive"),
    (lambda: nn.BatchNorm1d(1)(Tensor([[1.0]])), "more than one value"),
    (lambda: nn.BatchNorm2d(2)(Tensor([[1.0, 2.0]])), "x must have 4 dimensions"),
    (lambda: nn.BatchNorm1d(2)(Tensor([[1.0]])), "the second of size 2"),
    (lambda: nn.Dropout(1.5), r"p must be in \[0, 1\]"),
    (lambda: nn.Dropout(float("nan")), r"p must be in \[0, 1\]"),
    (lambda: nn.MultiHeadAttention(5, 2), "heads must divide width"),
]


@pytest.mark.parametrize(("call", "pattern"), REFUSED)
def test_bad_arguments_of_layers_are_refused_in_words(
    call: Callable[[], Any], pattern: str
) -> None:
    with pytest.raises(ValueError, match=pattern):
        call()

"""Ops over rows: what tables cannot say of norms, losses, dropout and attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

RNG = np.random.default_rng(0)
INF = np.inf


def values(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(x.detach() if isinstance(x, tl.Tensor) else x)


def softmax_of(x: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 5, 7), (40, 33, 65), (1, 700, 18), (17, 1, 40)])
def test_any_axis_of_any_layout_is_a_row(shape: tuple[int, ...], axis: int) -> None:
    x = RNG.normal(size=shape)
    layouts: list[Callable[[Any], Any]] = [
        lambda a: a,
        np.asfortranarray,
        lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
        lambda a: a[::-1].copy()[::-1],
    ]
    for layout in layouts:
        found = np.asarray(F.softmax(tl.RawTensor(layout(x)), axis=axis))
        np.testing.assert_allclose(found, softmax_of(x, axis), 1e-13, 1e-15)
        lse = np.asarray(F.logsumexp(tl.RawTensor(layout(x)), axis=axis))
        np.testing.assert_allclose(lse, np.log(np.exp(x).sum(axis=axis)), 1e-13, 1e-14)


def run_of_everything() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(5)
    x = tl.tensor(rng.normal(size=(700, 130)).astype(np.float32), requires_grad=True)
    weight = tl.tensor(rng.normal(size=130).astype(np.float32), requires_grad=True)
    bias = tl.tensor(np.zeros(130, np.float32), requires_grad=True)
    q = F.reshape(x, (2, 350, 130))
    y = F.layer_norm(x, weight, bias) + F.rms_norm(x, weight) + F.softmax(x, axis=0)
    y = y + F.batch_norm(x, weight, bias)[0] + F.dropout(x, p=0.3, seed=1)
    y = y + F.reshape(F.attention(q, q, q, is_causal=True), (700, 130))
    labels = tl.tensor(rng.integers(0, 130, 700))
    (F.cross_entropy(y, labels) + F.sum(y)).backward()
    return [values(t) for t in (y, x.grad, weight.grad, bias.grad)]


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    before = tl.num_threads()
    try:
        runs = []
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            runs.append(run_of_everything())
    finally:
        tl.set_num_threads(before)
    for other in runs[1:]:
        for a, b in zip(runs[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_of_nan_and_of_infinities() -> None:
    x = np.array([[1.0, np.nan, 2.0], [-INF, -INF, -INF], [INF, 1.0, 2.0], [-INF, 1.0, 1.0]])
    found = values(F.logsumexp(tl.tensor(x), axis=1))
    assert np.isnan(found[0])
    assert found[1:].tolist() == [-INF, INF, 1.0 + np.log(2.0)]
    soft = values(F.softmax(tl.tensor(x)))
    assert np.isnan(soft[:3]).any(axis=1).all()
    assert soft[3].tolist() == [0.0, 0.5, 0.5]
    assert values(F.log_softmax(tl.tensor(x)))[3, 0] == -INF
    loss = values(F.cross_entropy_rows(tl.tensor(x), tl.tensor([0, 0, 1, 1])))
    assert np.isnan(loss[:3]).all()
    assert loss[3] == pytest.approx(np.log(2.0))
    normed = values(F.layer_norm(tl.tensor(x), 1.0, 0.0))
    assert np.isnan(normed).all()


def test_a_class_that_cannot_be_gives_no_gradient_and_no_nan() -> None:
    logits = tl.tensor([[-INF, 1.0, 1.0]], requires_grad=True)
    F.cross_entropy(logits, tl.tensor([1])).backward()
    assert values(logits.grad).tolist() == [[0.0, -0.5, 0.5]]


@pytest.mark.parametrize("label_smoothing", [0.0, 0.25])
def test_a_mean_of_ignored_rows_alone_is_nan_and_gives_no_gradient(label_smoothing: float) -> None:
    logits = tl.tensor([[1.0, 2.0]], requires_grad=True)
    loss = F.cross_entropy(logits, tl.tensor([-100]), label_smoothing=label_smoothing)
    loss.backward()
    assert np.isnan(loss.item())
    assert values(logits.grad).tolist() == [[0.0, 0.0]]


def test_rows_far_from_zero_keep_their_variance() -> None:
    row = np.array([[1.0, 2.0, 3.0, 4.0]], np.float32) + np.float32(2**20)
    found = values(F.layer_norm(tl.tensor(row), 1.0, 0.0, eps=0.0))
    wanted = (row - row.mean(dtype=float)) / row.std(dtype=float)
    np.testing.assert_allclose(found, wanted, 1e-6)
    huge = values(F.softmax(tl.tensor([[1e38, -1e38, 1e38]])))
    assert huge.tolist() == [[0.5, 0.0, 0.5]]


EMPTY: list[tuple[Callable[[], Any], tuple[int, ...]]] = [
    (lambda: F.softmax(tl.tensor(np.zeros((0, 3)))), (0, 3)),
    (lambda: F.softmax(tl.tensor(np.zeros((3, 0)))), (3, 0)),
    (lambda: F.layer_norm(tl.tensor(np.zeros((3, 0))), 1.0, 0.0), (3, 0)),
    (lambda: F.layer_norm(tl.tensor(np.zeros((0, 3))), tl.tensor(np.ones(3)), 0.0), (0, 3)),
    (lambda: F.rms_norm(tl.tensor(np.zeros((2, 0, 3))), 1.0), (2, 0, 3)),
    (lambda: F.batch_norm(tl.tensor(np.zeros((0, 3))), 1.0, 0.0)[0], (0, 3)),
    (lambda: F.dropout(tl.tensor(np.zeros((0, 3)))), (0, 3)),
    (lambda: F.cross_entropy_rows(tl.tensor(np.zeros((0, 3))), tl.tensor(np.zeros(0, int))), (0,)),
    (lambda: F.cross_entropy_rows(tl.tensor(np.zeros((0, 0))), tl.tensor(np.zeros(0, int))), (0,)),
]


@pytest.mark.parametrize(("call", "shape"), EMPTY)
def test_nothing_in_gives_nothing_out(call: Callable[[], Any], shape: tuple[int, ...]) -> None:
    assert call().shape == shape


def ones(*shape: int) -> tl.Tensor:
    return tl.tensor(np.ones(shape))


REFUSED: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("softmax axis", lambda: F.softmax(ones(2, 3), axis=2), tl.IndexRangeError, "axis"),
    ("softmax of a number", lambda: F.softmax(ones()), tl.IndexRangeError, "axis"),
    ("axis twice", lambda: F.logsumexp(ones(2, 3), axis=(1, -1)), tl.ShapeError, "once"),
    ("axes twice", lambda: F.layer_norm(ones(2, 3), 1.0, 0.0, axes=(0, 0)), tl.ShapeError, "once"),
    ("empty axis", lambda: F.logsumexp(ones(2, 0), axis=1), tl.ShapeError, "empty axis"),
    ("weight", lambda: F.layer_norm(ones(2, 3), ones(4), 0.0), tl.ShapeError, "broadcast"),
    ("bias", lambda: F.layer_norm(ones(2, 3), 1.0, ones(2)), tl.ShapeError, "broadcast"),
    ("weight grows x", lambda: F.rms_norm(ones(2, 1), ones(5)), tl.ShapeError,
     r"weight must broadcast to x; got x\.shape=\(2, 1\), weight\.shape=\(5,\)"),
    ("eps", lambda: F.layer_norm(ones(2, 3), 1.0, 0.0, eps=-1.0), tl.ParameterError, "eps"),
    ("eps is NaN", lambda: F.rms_norm(ones(2), 1.0, eps=np.nan), tl.ParameterError, "eps"),
    ("sum_axes", lambda: F.layer_norm_grad(ones(2, 3, 4), 1.0, ones(2, 3, 4), sum_axes=(0,)),
     tl.ShapeError, "sum_axes must be axes, or all others"),
    ("weight varies", lambda: F.rms_norm_grad(ones(2, 3), ones(2, 1), ones(2, 3), sum_axes=(0,)),
     tl.ShapeError, "weight of size 1"),
    ("label -1", lambda: F.cross_entropy(ones(2, 3), tl.tensor([0, -1])), tl.IndexRangeError,
     r"labels must be in \[0, 2\] or ignore_index=-100; got -1 at position 1"),
    ("label C", lambda: F.cross_entropy_rows(ones(2, 3), tl.tensor([3, 0])), tl.IndexRangeError,
     "got 3 at position 0"),
    ("labels", lambda: F.cross_entropy(ones(2, 3), tl.tensor([0])), tl.ShapeError, "labels.shape"),
    ("float labels", lambda: F.cross_entropy(ones(2, 3), ones(2)), tl.DTypeError, "integer"),
    ("no classes", lambda: F.cross_entropy(ones(2, 0), tl.tensor([0, 0])), tl.ShapeError, "class"),
    ("cotangent", lambda: F.softmax_grad(ones(2, 3), ones(3)), tl.ShapeError, "cotangent.shape"),
    ("p above", lambda: F.dropout(ones(2), p=1.5), tl.ParameterError, "must hold; got p=1.5"),
    ("p below", lambda: F.dropout(ones(2), p=-0.1), tl.ParameterError, "got p=-0.1"),
    ("p is NaN", lambda: F.dropout(ones(2), p=np.nan), tl.ParameterError, "must hold; got p=nan"),
    ("vectors", lambda: F.attention(ones(3), ones(2, 3), ones(2, 3)), tl.ShapeError, "length"),
    ("widths", lambda: F.attention(ones(2, 3), ones(2, 4), ones(2, 4)), tl.ShapeError,
     r"query\.shape\[-1\]"),
    ("lengths", lambda: F.attention(ones(2, 3), ones(4, 3), ones(5, 3)), tl.ShapeError,
     r"key\.shape\[-2\]"),
    ("batches", lambda: F.attention(ones(2, 2, 3), ones(3, 4, 3), ones(4, 3)), tl.ShapeError,
     "broadcast"),
    ("mask", lambda: F.attention(ones(2, 3), ones(4, 3), ones(4, 3), ones(3, 4)), tl.ShapeError,
     "broadcast"),
    ("mask grows", lambda: F.attention(ones(2, 3), ones(4, 3), ones(4, 3), ones(5, 2, 4)),
     tl.ShapeError, r"mask must broadcast to the scores \(2, 4\)"),
    ("mask dtype", lambda: F.attention(ones(2, 3), ones(4, 3), ones(4, 3), tl.tensor([1, 0, 1, 1])),
     tl.DTypeError, "mask must be boolean"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "pattern"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_bad_arguments_are_refused_in_words(
    call: Callable[[], Any], error: type[Exception], pattern: str
) -> None:
    with pytest.raises(error, match=pattern):
        call()


def test_weights_that_vary_within_rows_and_between_them_have_gradients() -> None:
    x, weight, bias = (tl.tensor(RNG.normal(size=shape)) for shape in ((3, 4, 5), (4, 5), (4, 1)))
    cotangent = tl.tensor(RNG.normal(size=(3, 4, 5)))

    def fused(*xs: Any) -> Any:
        return F.sum(F.layer_norm(*xs, axes=(0, 2)) * cotangent)

    def formula(x: Any, weight: Any, bias: Any) -> Any:
        moved = x - F.mean(x, axis=(0, 2), keepdims=True)
        variance = F.mean(moved * moved, axis=(0, 2), keepdims=True)
        return F.sum((moved / F.sqrt(variance + 1e-5) * weight + bias) * cotangent)

    found = tl.grad(fused, argnums=(0, 1, 2))(x, weight, bias)
    wanted = tl.grad(formula, argnums=(0, 1, 2))(x, weight, bias)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-9, 1e-11)


# ---- dropout ------------------------------------------------------------------------------------


def test_dropout_keeps_the_mean_and_drops_its_share() -> None:
    x = np.ones(400_000, np.float32)
    for p in (0.0, 0.1, 0.5, 0.9):
        found = values(F.dropout(tl.tensor(x), p=p, seed=11))
        assert set(np.unique(found)) <= {np.float32(0), np.float32(1 / (1 - p))}
        assert (found == 0).mean() == pytest.approx(p, abs=0.004)
    assert not values(F.dropout(tl.tensor(x), p=1.0)).any()


def test_dropout_is_decided_by_the_seed_and_the_place_alone() -> None:
    x = np.ones(50_000, np.float32)
    whole = values(F.dropout(tl.tensor(x), seed=7))
    assert (whole == values(F.dropout(tl.tensor(x), seed=7))).all()
    assert (whole != values(F.dropout(tl.tensor(x), seed=8))).any()
    part = values(F.dropout(tl.tensor(x[:1003]), seed=7))
    assert (part == whole[:1003]).all()
    strided = values(F.dropout(tl.RawTensor(np.ones(100_000, np.float32)[::2]), seed=7))
    assert (strided == whole).all()


def test_dropout_drops_the_same_gradients() -> None:
    x = tl.tensor(np.ones(1000), requires_grad=True)
    y = F.dropout(x, p=0.25, seed=-5)
    F.sum(y).backward()
    np.testing.assert_array_equal(values(x.grad), values(y))


# ---- attention ----------------------------------------------------------------------------------


def attention_of(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -INF)
    if mask is not None:
        scores = np.where(mask, scores, -INF) if mask.dtype == bool else scores + mask
    return softmax_of(scores, -1) @ v


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [(1, 1), (5, 3), (113, 112), (300, 257), (20, 4000)])
def test_attention_of_many_lengths(lengths: tuple[int, int], causal: bool) -> None:
    q, k, v = (RNG.normal(size=(2, 2, n, 9)) for n in (lengths[0], lengths[1], lengths[1]))
    found = values(F.attention(tl.tensor(q), tl.tensor(k), tl.tensor(v), is_causal=causal))
    np.testing.assert_allclose(found, attention_of(q, k, v, causal=causal), 1e-11, 1e-13)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("lengths", [(1, 1), (5, 3), (40, 31), (33, 130), (20, 1030)])
@pytest.mark.parametrize("causal", [False, True])
def test_a_mask_that_hides_nothing_changes_no_bit(
    lengths: tuple[int, int], kind: str, causal: bool
) -> None:
    q, k, v = (
        tl.tensor(RNG.normal(size=(2, 2, n, 9)).astype(kind))
        for n in (lengths[0], lengths[1], lengths[1])
    )
    wanted = values(F.attention(q, k, v, is_causal=causal))
    seen = np.ones((2, 1, *lengths), bool)
    whole = F.attention(q, k, v, tl.tensor(seen), is_causal=causal)
    np.testing.assert_array_equal(values(whole), wanted)
    seen[1, :, -1, -1] = False  # of one query alone
    seen[1, :, 0, 0] = False
    found = values(F.attention(q, k, v, tl.tensor(seen), is_causal=causal))
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1, :, 1:-1], wanted[1, :, 1:-1])
    arrays = (values(x).astype(np.float64) for x in (q, k, v))
    with np.errstate(invalid="ignore"):  # of a row that sees nothing
        formula = attention_of(*arrays, mask=seen & (np.tri(*lengths, dtype=bool) | (not causal)))
    sees = np.isfinite(formula)
    tolerance = 1e-5 if kind == "float32" else 1e-12
    np.testing.assert_allclose(found[sees], formula[sees], rtol=tolerance, atol=tolerance)
    assert (found[~sees] == 0).all()


def gradients(loss: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    return [np.asarray(g) for g in tl.grad(loss, argnums=tuple(range(len(arrays))))(*arrays)]


@pytest.mark.parametrize("kind", ["plain", "causal", "boolean", "added"])
def test_the_gradient_of_attention_is_that_of_the_formula(kind: str) -> None:
    shapes = [(2, 3, 150, 8), (1, 3, 130, 8), (3, 130, 5)]
    arrays = [tl.tensor(RNG.normal(size=shape)) for shape in shapes]
    weights = tl.tensor(RNG.normal(size=(2, 3, 150, 5)))
    is_seen = np.tri(150, 130, dtype=bool)
    masks = {"boolean": [is_seen], "added": [np.where(is_seen, 0.0, -INF)]}.get(kind, [])
    added = tl.tensor(np.where(is_seen, 0.0, -INF) if kind != "plain" else np.zeros((150, 130)))

    def fused(q: Any, k: Any, v: Any) -> Any:
        tensors = [tl.tensor(mask) for mask in masks]
        return F.sum(F.attention(q, k, v, *tensors, is_causal=kind == "causal") * weights)

    def formula(q: Any, k: Any, v: Any) -> Any:
        scores = F.matmul(q, F.permute_dims(k, axes=(0, 1, 3, 2))) / np.sqrt(8.0)
        return F.sum(F.matmul(F.softmax(scores + added), v) * weights)

    for found, wanted in zip(gradients(fused, arrays), gradients(formula, arrays), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-9, 1e-11)


def test_heads_of_queries_may_share_keys() -> None:
    q = tl.tensor(RNG.normal(size=(2, 6, 7, 4)), requires_grad=True)
    k = tl.tensor(RNG.normal(size=(2, 2, 5, 4)), requires_grad=True)
    grouped = F.reshape(q, (2, 2, 3, 7, 4))
    shared = F.reshape(k, (2, 2, 1, 5, 4))
    found = F.reshape(F.attention(grouped, shared, shared), (2, 6, 7, 4))
    wanted = attention_of(values(q), *(np.repeat(values(k), 3, axis=1),) * 2)
    np.testing.assert_allclose(values(found), wanted, 1e-12)
    F.sum(found).backward()
    assert k.grad.shape == (2, 2, 5, 4)


def test_a_query_that_sees_nothing_gives_zeros_and_no_gradient() -> None:
    q, k, v = (tl.tensor(RNG.normal(size=(3, 4)), requires_grad=True) for _ in range(3))
    mask = tl.tensor([[True, False, True], [False, False, False], [True, True, True]])
    y = F.attention(q, k, v, mask)
    F.sum(y).backward()
    assert values(y)[1].tolist() == [0.0] * 4
    assert values(q.grad)[1].tolist() == [0.0] * 4
    assert all(np.isfinite(values(t.grad)).all() for t in (q, k, v))


def test_a_mask_of_numbers_has_a_gradient() -> None:
    q, k, v, mask = (
        tl.tensor(RNG.normal(size=shape)) for shape in ((5, 3), (4, 3), (4, 2), (5, 1))
    )

    def loss(*xs: Any) -> Any:
        return F.sum(F.square(F.attention(*xs)))

    step = 1e-6
    # The same number added to all scores of a row changes nothing.
    found = np.asarray(tl.grad(loss, argnums=3)(q, k, v, mask))
    np.testing.assert_allclose(found, np.zeros((5, 1)), atol=1e-12)
    mask = tl.tensor(RNG.normal(size=(5, 4)))
    found = np.asarray(tl.grad(loss, argnums=3)(q, k, v, mask))
    along = RNG.normal(size=(5, 4))
    ends = [loss(q, k, v, tl.tensor(np.asarray(mask) + s * along)).item() for s in (step, -step)]
    np.testing.assert_allclose((found * along).sum(), (ends[0] - ends[1]) / (2 * step), 1e-6)

"""Options that composed and declared calls take beside their first meaning."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

RNG = np.random.default_rng(1)


def random(*shape: int) -> Any:
    return tl.tensor(RNG.normal(size=shape))


def close(found: Any, wanted: Any) -> None:
    assert tuple(found.shape) == np.shape(wanted)
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), 1e-9, 1e-11)


# ---- attention ----------------------------------------------------------------------------------

GROUPED = [(2, 6, 5, 4), (2, 2, 7, 4), (2, 2, 7, 3)]
MASKS: dict[str, Any] = {
    "none": None,
    "of all": RNG.normal(size=(5, 7)),
    "of heads": RNG.normal(size=(2, 6, 5, 7)) > -0.5,
    "of one head": RNG.normal(size=(2, 1, 5, 7)),
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", MASKS)
def test_neighbouring_heads_of_queries_share_a_head_of_keys(kind: str, causal: bool) -> None:
    q, k, v = (random(*shape) for shape in GROUPED)
    mask = None if MASKS[kind] is None else tl.tensor(MASKS[kind])

    def shared(q: Any, k: Any, v: Any) -> Any:
        return F.attention(q, k, v, mask, is_causal=causal)

    def repeated(q: Any, k: Any, v: Any) -> Any:
        return F.attention(q, F.repeat(k, 3, 1), F.repeat(v, 3, 1), mask, is_causal=causal)

    close(shared(q, k, v), repeated(q, k, v))
    weights = random(2, 6, 5, 3)
    for i in range(3):
        slopes = [
            tl.grad(lambda *xs, f=f: F.sum(f(*xs) * weights), argnums=i)(q, k, v)
            for f in (shared, repeated)
        ]
        close(slopes[0], slopes[1])


def test_grouped_queries_go_through_vmap() -> None:
    q, k, v = random(3, 4, 5, 2), random(3, 2, 6, 2), random(3, 2, 6, 3)
    close(tl.vmap(F.attention)(q, k, v), F.attention(q, k, v))
    found = tl.vmap(F.attention, in_axes=(0, None, None))(q, k[0], v[0])
    close(found, np.stack([F.attention(q[i], k[0], v[0]) for i in range(3)]))


def test_heads_that_do_not_divide_are_refused() -> None:
    with pytest.raises(tl.ShapeError, match=r"attention: "):
        F.attention(random(5, 2, 3), random(2, 4, 3), random(2, 4, 3))


def test_dropped_weights_are_those_of_dropout() -> None:
    q, k, v = random(2, 5, 4), random(2, 6, 4), random(2, 6, 3)
    mask = tl.tensor(RNG.normal(size=(5, 6)) > 0)
    scores = F.where(mask, F.matmul(q, k.mT) / 2, -np.inf)
    blind = F.all(~mask, axis=-1, keepdims=True)
    weights = F.where(blind, 0.0, F.softmax(F.where(blind, 0.0, scores), axis=-1))
    wanted = F.matmul(F.dropout(weights, p=0.25, seed=3), v)
    close(F.attention(q, k, v, mask, dropout_p=0.25, seed=3), wanted)
    close(F.attention(q, k, v, mask, dropout_p=1e-9), F.attention(q, k, v, mask))
    with pytest.raises(tl.ShapeError, match="attention: "):
        F.attention(q, k, v, random(3, 2, 5, 6), dropout_p=0.5)
    with pytest.raises(tl.DTypeError, match="attention: mask"):
        F.attention(q, k, v, tl.tensor([1, 0, 1, 1, 1, 1]), dropout_p=0.5)
    with pytest.raises(tl.ParameterError, match="dropout_p"):
        F.attention(q, k, v, dropout_p=1.5)


# ---- widths of padding --------------------------------------------------------------------------


@pytest.mark.parametrize("widths", [((0, 0), (1, 2)), [[0, 0], [1, 2]], ((0, 0), 1, 2)])
def test_widths_come_in_pairs_too(widths: Any) -> None:
    x = random(2, 3)
    close(F.pad(x, widths), np.pad(np.asarray(x), ((0, 0), (1, 2))))


@pytest.mark.parametrize("widths", ["a", ((0, 0, 1), (1, 1)), (1.5, 2), {}, ((0,), (1,))])
def test_wrong_widths_are_told_what_widths_are(widths: Any) -> None:
    words = r"pad: widths must be two integers for each dimension, in pairs or in one sequence"
    with pytest.raises(tl.ParameterError, match=words):
        F.pad(random(2, 3), widths)


@pytest.mark.parametrize(("call", "words"), [
    (lambda x: F.reshape(x, "a"), "shape must be an integer, or a sequence of integers; got str"),
    (lambda x: F.permute_dims(x, {}), "axes must be a sequence of integers; got dict"),
    (lambda x: F.avg_pool(x, kernel_size=(1.5,)), "kernel_size must be an integer, or a sequence"),
])  # fmt: skip
def test_wrong_lists_of_integers_are_told_what_they_are(call: Any, words: str) -> None:
    with pytest.raises(tl.ParameterError, match=words):
        call(random(2, 3, 4))


# ---- searches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("shapes", [((3, 5), (3, 40)), ((2, 3, 1), (2, 3, 2)), ((3, 0), (3, 2)),
                                    ((0, 4), (0, 3)), ((3, 4), (3, 0))])  # fmt: skip
def test_rows_are_searched_in_rows(shapes: Any, side: str) -> None:
    table = np.sort(RNG.integers(0, 9, shapes[0]).astype(float), -1)
    wanted = RNG.integers(0, 9, shapes[1]).astype(float)
    found = F.searchsorted(tl.tensor(table), tl.tensor(wanted), side=side)
    expected = np.zeros(shapes[1], np.int64)
    for at in np.ndindex(*shapes[0][:-1]):
        expected[at] = np.searchsorted(table[at], wanted[at], side)
    close(found, expected)


def test_rows_are_searched_in_their_own_order() -> None:
    table, wanted = RNG.normal(size=(3, 5)), RNG.normal(size=(3, 4))
    order = np.argsort(table, -1)
    found = F.searchsorted(tl.tensor(table), tl.tensor(wanted), tl.tensor(order))
    close(
        found,
        [np.searchsorted(t, w, sorter=o) for t, w, o in zip(table, wanted, order, strict=True)],
    )
    with pytest.raises(tl.IndexRangeError, match="sorter"):
        F.searchsorted(tl.tensor(table), tl.tensor(wanted), tl.tensor(order + 1))


def test_searches_in_rows_go_through_vmap() -> None:
    table, wanted = np.sort(RNG.normal(size=(2, 3, 5)), -1), RNG.normal(size=(2, 3, 4))
    found = tl.vmap(F.searchsorted)(tl.tensor(table), tl.tensor(wanted))
    close(found, F.searchsorted(tl.tensor(table), tl.tensor(wanted)))
    one = tl.vmap(F.searchsorted, in_axes=(None, 0))(tl.tensor(table[0]), tl.tensor(wanted))
    close(one, [F.searchsorted(tl.tensor(table[0]), tl.tensor(w)) for w in wanted])


def test_rows_that_do_not_match_are_refused() -> None:
    with pytest.raises(tl.ShapeError, match=r"x2\.shape must be"):
        F.searchsorted(random(2, 3), random(3, 3))


# ---- different elements -------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(6, 3, 2), (5, 1, 1), (0, 3, 2), (4, 0, 2), (7, 2, 5)])
def test_different_slices_are_numpys(shape: Any, axis: int) -> None:
    x = RNG.integers(-1, 2, shape)
    wanted = np.unique(x, True, True, True, axis=axis)
    found = F.unique(tl.tensor(x), axis=axis)
    for ours, theirs in zip(found, wanted, strict=True):
        close(ours, np.asarray(theirs).reshape(ours.shape))
    alone = F.unique(tl.tensor(x), axis=axis, indices=False, inverse=False, counts=False)
    close(alone, wanted[0])


def test_different_elements_alone_are_one_tensor() -> None:
    given = {"indices": False, "inverse": False, "counts": False}
    assert F.unique(tl.tensor([3, 1, 3]), **given).tolist() == [1, 3]
    assert F.unique(tl.tensor(3), **given).tolist() == [3]


@pytest.mark.parametrize("size", [0, 1, 2, 9])
def test_runs_are_those_of_itertools(size: int) -> None:
    x = RNG.integers(0, 2, size)
    runs = [(key, len(list(group))) for key, group in itertools.groupby(x.tolist())]
    values, inverse, counts = F.unique_consecutive(tl.tensor(x), inverse=True, counts=True)
    assert values.tolist() == [key for key, _ in runs]
    assert counts.tolist() == [length for _, length in runs]
    assert [values.tolist()[i] for i in inverse.tolist()] == x.tolist()
    rows = np.repeat(RNG.integers(0, 2, (size, 2)), 2, axis=0)
    found, numbers = F.unique_consecutive(tl.tensor(rows), axis=0, inverse=True)
    close(F.take(found, numbers, 0), rows)


# ---- means, weights, statistics -----------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_divisor_takes_the_place_of_the_size_of_windows(n: int) -> None:
    x = random(2, 3, *([5] * n))
    pool = getattr(F, f"avg_pool{n}d")
    options = {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}
    found = pool(x, **options, divisor_override=7)
    counts = pool(F.ones_like(x), **options, divisor_override=1)
    means = pool(x, **options, count_include_pad=False)
    close(found, means * counts / 7)
    slope = tl.grad(lambda x: F.sum(pool(x, **options, divisor_override=7)))(x)
    close(slope, tl.grad(lambda x: F.sum(pool(x, **options, divisor_override=1)))(x) / 7)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_terms_of_losses_are_weighed(name: str) -> None:
    loss = getattr(F, name)
    x, target, weight = random(3, 4), random(3, 4), F.abs(random(3, 1))
    terms = loss(x, target, reduction="none") * weight
    close(loss(x, target, reduction="none", weight=weight), terms)
    close(loss(x, target, reduction="sum", weight=weight), F.sum(terms))
    total = terms.size if name == "huber_loss" else F.sum(F.broadcast_to(weight, (3, 4)))
    close(loss(x, target, weight=weight), F.sum(terms) / total)


def test_a_row_of_padding_does_not_learn() -> None:
    table, indices = random(4, 2), tl.tensor([[0, 3], [1, -1]])
    for row in (3, -1):
        found = F.embedding(indices, table, padding_idx=row)
        close(found, F.embedding(indices, table))
        slope = tl.grad(lambda t, row=row: F.sum(F.embedding(indices, t, padding_idx=row)))(table)
        assert slope.tolist() == [[1, 1], [1, 1], [0, 0], [0, 0]]
    with pytest.raises(tl.IndexRangeError, match="padding_idx"):
        F.embedding(indices, table, padding_idx=4)


def test_given_statistics_take_the_place_of_an_images_own() -> None:
    x, weight, bias = random(2, 3, 4), random(3), random(3)
    mean, variance = np.array([1.0, 2, 3]), np.array([0.5, 1, 2])
    found = F.instance_norm(x, weight, bias, running_mean=mean, running_var=variance, eps=0.1)
    column = (slice(None), None)
    wanted = (np.asarray(x) - mean[column]) / np.sqrt(variance + 0.1)[column]
    close(found, wanted * np.asarray(weight)[column] + np.asarray(bias)[column])
    with pytest.raises(tl.ShapeError, match="both"):
        F.instance_norm(x, running_mean=mean)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_images_that_shrink_smoothly_keep_their_mean(mode: str) -> None:
    x = random(1, 2, 12, 9)
    found = F.interpolate(x, size=(4, 3), mode=mode, antialias=True)
    constant = F.interpolate(F.ones_like(x), size=(4, 3), mode=mode, antialias=True)
    close(constant, np.ones((1, 2, 4, 3)))
    slope = tl.grad(lambda x: F.sum(F.interpolate(x, size=(4, 3), mode=mode, antialias=True)))(x)
    assert np.count_nonzero(np.asarray(slope)) == slope.size  # every element counts
    assert found.shape == (1, 2, 4, 3)
    with pytest.raises(tl.ParameterError, match="antialias"):
        F.interpolate(x, size=(4, 3), antialias=True)


# ---- matrices -----------------------------------------------------------------------------------


def test_a_rank_counts_from_a_bound_of_its_own() -> None:
    x = F.diag(tl.tensor([4.0, 1.0, 0.1, 0.0]))
    ranks = {None: 3, 0.5: 2, 2.0: 1}
    assert {atol: tl.linalg.matrix_rank(x, atol=atol).item() for atol in ranks} == ranks
    assert tl.linalg.matrix_rank(x, atol=0.05, rtol=0.5).item() == 1
    both = tl.linalg.matrix_rank(F.stack([x, x]), atol=tl.tensor([0.5, 2.0]))
    assert both.tolist() == [2, 1]


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 4, 3), (3, 6), (0, 0)])
def test_factors_without_pivots_are_triangles(shape: tuple[int, ...]) -> None:
    size = min(shape[-2:])
    x = random(*shape) + 4 * F.eye(shape[-2], shape[-1], dtype="float64")
    p, lower, upper = tl.linalg.lu(x, pivot=False)
    close(F.matmul(lower, upper), x)
    close(p, np.broadcast_to(np.eye(shape[-2]), p.shape))
    close(lower, np.tril(np.asarray(lower)))
    close(upper, np.triu(np.asarray(upper)))
    close(F.diagonal(lower), np.ones((*shape[:-2], size)))


def test_reflections_make_an_orthonormal_factor() -> None:
    x, v = RNG.normal(size=(2, 5, 3)), np.tril(RNG.normal(size=(2, 5, 3)), -1)
    tau = 2 / (1 + np.sum(v * v, axis=-2))
    q = np.asarray(tl.linalg.householder_product(tl.tensor(v + np.triu(x)), tl.tensor(tau)))
    close(tl.tensor(q.swapaxes(1, 2) @ q), np.broadcast_to(np.eye(3), (2, 3, 3)))
    with pytest.raises(tl.ShapeError, match="m >= n >= k"):
        tl.linalg.householder_product(random(2, 3), random(2))


# ---- written by index ---------------------------------------------------------------------------

COMBINE: dict[str, Any] = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min,
}  # fmt: skip


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("mode", COMBINE)
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_elements_that_meet_are_combined(mode: str, include_self: bool, dtype: str) -> None:
    x = RNG.integers(-3, 4, (3, 4)).astype(dtype)
    index, value = RNG.integers(0, 4, (3, 6)), RNG.integers(-3, 4, (3, 6)).astype(dtype)
    wanted = x.copy()
    for row, column in np.ndindex(3, 4):
        met = value[row][index[row] == column]
        if met.size:
            met = np.append(met, x[row, column]) if include_self else met
            found = COMBINE[mode](met)
            wanted[row, column] = np.floor(found) if dtype == "int64" else found
    options = {"axis": 1, "mode": mode, "include_self": include_self}
    close(F.scatter_reduce(tl.tensor(x), tl.tensor(index), tl.tensor(value), **options), wanted)
    across = F.scatter_reduce(
        tl.tensor(x.T), tl.tensor(index.T), tl.tensor(value.T), **options | {"axis": 0}
    )
    close(across, wanted.T)


@pytest.mark.parametrize("mode", ["prod", "amax", "amin"])
def test_gradients_of_combined_elements_agree_with_differences(mode: str) -> None:
    index = tl.tensor([[0, 2, 0, 0, 1]])
    weights = random(1, 4)
    x, value = RNG.normal(size=(1, 4)), RNG.normal(size=(1, 5))

    def loss(x: Any, value: Any) -> Any:
        return F.sum(F.scatter_reduce(x, index, value, mode=mode) * weights)

    slopes = tl.grad(loss, argnums=1)(tl.tensor(x), tl.tensor(value))
    for i in range(5):
        moved = np.zeros((1, 5))
        moved[0, i] = 1e-6
        change = loss(tl.tensor(x), tl.tensor(value + moved)) - loss(
            tl.tensor(x), tl.tensor(value - moved)
        )
        assert abs(change.item() / 2e-6 - slopes[0, i].item()) < 1e-6


def test_equal_extremes_share_the_gradient_and_infinite_ones_have_it() -> None:
    x, index = tl.tensor([1.0, 5.0]), tl.tensor([0, 0, 0])
    for value, wanted in (([3.0, 3.0, 2.0], [0.5, 0.5, 0]), ([np.inf, 1, 0], [1, 0, 0])):
        slope = tl.grad(lambda v: F.scatter_reduce(x, index, v, mode="amax")[0])(tl.tensor(value))
        assert slope.tolist() == wanted
    nan = F.scatter_reduce(x, index, tl.tensor([1.0, np.nan, 9.0]), mode="amin")
    assert np.isnan(nan[0].item())


def test_a_product_with_zeros_has_the_gradient_of_the_others() -> None:
    value = tl.tensor([2.0, 0.0, 3.0])
    x, index = tl.tensor([5.0]), tl.tensor([0, 0, 0])
    slope = tl.grad(lambda v: F.scatter_reduce(x, index, v, mode="prod")[0])(value)
    assert slope.tolist() == [0, 30, 0]
    twice = tl.hessian(lambda v: F.scatter_reduce(x, index, v, mode="prod")[0])(value)
    assert twice.tolist() == [[0, 15, 0], [15, 0, 10], [0, 10, 0]]


# ---- pieces of signals --------------------------------------------------------------------------


@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("hop", [1, 3, 4])
def test_a_signal_comes_back_from_its_pieces(hop: int, onesided: bool) -> None:
    x, window = random(2, 40), F.hann_window(8, dtype="float64")
    options = {"hop_length": hop, "window": window, "normalized": True, "onesided": onesided}
    spectrum = F.stft(x, 8, **options)
    assert spectrum.shape == (2, 5 if onesided else 8, 40 // hop + 1)
    close(F.istft(spectrum, 8, length=40, **options)[:, :36], np.asarray(x)[:, :36])


def test_pieces_are_transformed_like_numpys() -> None:
    x, window = RNG.normal(size=20), RNG.normal(size=6)
    found = F.stft(tl.tensor(x), 8, hop_length=5, win_length=6, window=window, center=False)
    wide = np.pad(window, 1)
    close(found, np.stack([np.fft.rfft(x[i : i + 8] * wide) for i in (0, 5, 10)], 1))

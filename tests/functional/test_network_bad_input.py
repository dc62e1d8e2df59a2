"""Wrong calls of composed functions: each is refused by name, with what was got."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

X = tl.tensor(np.ones((2, 3)))
IMAGE = tl.tensor(np.ones((1, 4, 2, 3)))
LABELS = tl.tensor([0, 1])

WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: F.glu(X), tl.ShapeError, "glu: the size of dimension 1 must be even"),
    (lambda: F.glu(X, axis=2), tl.IndexRangeError, "glu: axis"),
    (lambda: F.prelu(X, tl.tensor([1.0, 2.0])), tl.ShapeError, "prelu: weight"),
    (lambda: F.dropout2d(X), tl.ShapeError, "dropout2d: x must be"),
    (lambda: F.alpha_dropout(X, p=2.0), tl.ParameterError, "alpha_dropout: p must be"),
    (lambda: F.feature_alpha_dropout(X[0]), tl.ShapeError, "feature_alpha_dropout: x must"),
    (lambda: F.mse_loss(X, X, reduction="average"), tl.ParameterError, "mse_loss: reduction"),
    (lambda: F.mse_loss(X, tl.tensor([1.0, 2.0])), tl.ShapeError, "squared_error"),
    (lambda: F.smooth_l1_loss(X, X, beta=-1.0), tl.ParameterError, "smooth_l1_loss: beta"),
    (lambda: F.huber_loss(X, X, delta=0.0), tl.ParameterError, "huber_loss: delta"),
    (lambda: F.kl_div(X, X, reduction="x"), tl.ParameterError, "kl_div: reduction"),
    (lambda: F.gaussian_nll_loss(X, X, X, eps=0.0), tl.ParameterError, "gaussian_nll_loss: eps"),
    (lambda: F.triplet_margin_loss(X, X, X, margin=-1.0), tl.ParameterError,
     "triplet_margin_loss: margin"),
    (lambda: F.cosine_embedding_loss(X, X, tl.tensor([1])), tl.ShapeError,
     "cosine_embedding_loss: target"),
    (lambda: F.multi_margin_loss(X, LABELS, p=3), tl.ParameterError, "multi_margin_loss: p"),
    (lambda: F.multi_margin_loss(X, tl.tensor([0, 3])), tl.IndexRangeError, "out of range|must"),
    (lambda: F.cross_entropy(X, tl.tensor([0, 3])), tl.IndexRangeError, "labels must be in"),
    (lambda: F.cross_entropy(X, tl.tensor([0, -1])), tl.IndexRangeError, "labels must be in"),
    (lambda: F.cross_entropy(X, tl.tensor([0])), tl.ShapeError, "labels.shape"),
    (lambda: F.cross_entropy(X, LABELS, label_smoothing=2.0), tl.ParameterError,
     "cross_entropy: label_smoothing"),
    (lambda: F.cross_entropy(X, LABELS, tl.tensor([1.0])), tl.ShapeError, "cross_entropy: weight"),
    (lambda: F.cross_entropy(X, LABELS, reduction="x"), tl.ParameterError, "reduction"),
    (lambda: F.cross_entropy(X, tl.tensor([True, False])), tl.DTypeError, "labels must be"),
    (lambda: F.cross_entropy(X, X[:1]), tl.ShapeError, "cross_entropy: probabilities"),
    (lambda: F.cross_entropy(X, LABELS, axis=2), tl.IndexRangeError, "cross_entropy: axis"),
    (lambda: F.nll_loss(X, tl.tensor([0, 5])), tl.IndexRangeError, ": "),
    (lambda: F.nll_loss(X, X), tl.ShapeError, "nll_loss: labels must have the shape"),
    (lambda: F.ctc_loss(X, [[1]], [2], [1]), tl.ShapeError, "ctc_loss: log_probs"),
    (lambda: F.ctc_loss(X[:, None], [[1]], [3], [1]), tl.ShapeError, "ctc_loss: input_lengths"),
    (lambda: F.ctc_loss(X[:, None], [[1]], [2], [2]), tl.ShapeError, "ctc_loss: target_lengths"),
    (lambda: F.ctc_loss(X[:, None], [[3]], [2], [1]), tl.IndexRangeError, "ctc_loss: targets"),
    (lambda: F.ctc_loss(X[:, None], [[1.5]], [2], [1]), tl.DTypeError, "ctc_loss: targets"),
    (lambda: F.ctc_loss(X[:, None], [[1]], [2], [1], blank=3), tl.IndexRangeError, "blank"),
    (lambda: F.ctc_loss(X[:, None], [1, 2], [2], [1]), tl.ShapeError, "add up"),
    (lambda: F.cdist(X, tl.tensor([[1.0]])), tl.ShapeError, "cdist: x1 and x2"),
    (lambda: F.cdist(X, X, p=-1.0), tl.ParameterError, "cdist: p"),
    (lambda: F.cdist(X, X, p=float("nan")), tl.ParameterError, "cdist: p"),
    (lambda: F.group_norm(X, 2), tl.ShapeError, "group_norm: x must be"),
    (lambda: F.group_norm(X, 0), tl.ParameterError, "group_norm: num_groups"),
    (lambda: F.instance_norm(X), tl.ShapeError, "instance_norm: x must be"),
    (lambda: F.instance_norm(IMAGE, tl.tensor([1.0])), tl.ShapeError, "instance_norm: weight"),
    (lambda: F.local_response_norm(IMAGE, 0), tl.ParameterError, "local_response_norm: size"),
    (lambda: F.unfold(X, 2), tl.ShapeError, "unfold: x must be"),
    (lambda: F.unfold(IMAGE, 4), tl.ShapeError, "unfold: the window must fit"),
    (lambda: F.unfold(IMAGE, 0), tl.ShapeError, "unfold: kernel_size"),
    (lambda: F.unfold(IMAGE, (1, 1, 1)), tl.ShapeError, "unfold: kernel_size"),
    (lambda: F.unfold(IMAGE, 1, stride=0), tl.ShapeError, "unfold: stride"),
    (lambda: F.unfold(IMAGE, 1, padding=-1), tl.ShapeError, "unfold: padding"),
    (lambda: F.fold(X[None], (2, 2), 2), tl.ShapeError, "fold: x must be"),
    (lambda: F.pixel_shuffle(X, 2), tl.ShapeError, "pixel_shuffle: x must be"),
    (lambda: F.pixel_shuffle(IMAGE, 0), tl.ParameterError, "pixel_shuffle: upscale_factor"),
    (lambda: F.pixel_unshuffle(IMAGE, 2), tl.ShapeError, "pixel_unshuffle: x must be"),
    (lambda: F.channel_shuffle(IMAGE, 3), tl.ShapeError, "channel_shuffle: x must be"),
    (lambda: F.interpolate(IMAGE, 4, mode="linear"), tl.ShapeError, "interpolate: 'linear' needs"),
    (lambda: F.interpolate(IMAGE, 4, mode="x"), tl.ParameterError, "interpolate: mode"),
    (lambda: F.interpolate(IMAGE), tl.ParameterError, "interpolate: one of size"),
    (lambda: F.interpolate(IMAGE, 0), tl.ShapeError, "interpolate: sizes"),
    (lambda: F.interpolate(IMAGE, (1, 2, 3)), tl.ShapeError, "interpolate: size"),
    (lambda: F.interpolate(IMAGE, scale_factor=-1.0), tl.ParameterError, "scale_factor"),
    (lambda: F.interpolate(IMAGE, 2**40), tl.ShapeError, "interpolate: the result"),
    (lambda: F.interpolate(IMAGE, 2, align_corners=True), tl.ParameterError, "align corners"),
    (lambda: F.grid_sample(IMAGE, X), tl.ShapeError, "grid_sample: x must be"),
    (lambda: F.grid_sample(IMAGE, IMAGE, mode="x"), tl.ParameterError, "grid_sample: mode"),
    (lambda: F.grid_sample(IMAGE, IMAGE, padding_mode="x"), tl.ParameterError, "padding_mode"),
    (lambda: F.affine_grid(X, (1, 1, 2, 2)), tl.ShapeError, "affine_grid: theta"),
    (lambda: F.embedding_bag([0], X), tl.ShapeError, "embedding_bag: indices"),
    (lambda: F.embedding_bag([[2]], X), tl.IndexRangeError, ": "),
    (lambda: F.embedding_bag([[0]], X, mode="x"), tl.ParameterError, "embedding_bag: mode"),
    (lambda: F.embedding_bag([0], X, [1]), tl.ShapeError, "embedding_bag: offsets"),
    (lambda: F.embedding_bag([[0.5]], X), tl.DTypeError, "embedding_bag: indices"),
    (lambda: F.segment_sum(X, tl.tensor([0])), tl.ShapeError, "segment_sum: segment_ids"),
    (lambda: F.segment_sum(X, tl.tensor([0, -1])), tl.IndexRangeError, "segment_sum"),
    (lambda: F.segment_sum(X, tl.tensor([0, 2]), 2), tl.IndexRangeError, ": "),
    (lambda: F.segment_max(X, tl.tensor([0, 2]), 2), tl.IndexRangeError, "segment_max"),
    (lambda: F.segment_mean(X, X[:, 0]), tl.DTypeError, "segment_mean: segment_ids"),
    (lambda: F.segment_sum(X, LABELS, 2**60), tl.ShapeError, "segment_sum: the result"),
    (lambda: F.bincount(X), tl.ShapeError, "bincount: x"),
    (lambda: F.bincount(tl.tensor([-1])), tl.IndexRangeError, "bincount"),
    (lambda: F.histogram(X, 0), tl.ParameterError, "histogram: there must"),
    (lambda: F.histogram(X, range=(1.0, 0.0)), tl.ParameterError, "histogram: the range"),
    (lambda: F.histogram(X, tl.tensor([1.0])), tl.ShapeError, "histogram: edges"),
    (lambda: F.histogram(tl.tensor([float("nan")])), tl.ParameterError, "histogram: the range"),
    (lambda: F.einsum("ij,jk->ik", X), tl.ParameterError, "einsum: the equation"),
    (lambda: F.einsum("ij,jk->ik", X, X), tl.ShapeError, "einsum: 'j' must stand"),
    (lambda: F.einsum("i->i", X), tl.ParameterError, "einsum: a part must name"),
    (lambda: F.einsum("ij->k", X), tl.ParameterError, "einsum: the result"),
    (lambda: F.einsum("ij->ii", X), tl.ParameterError, "einsum: the result"),
    (lambda: F.einsum("i1->i", X), tl.ParameterError, "einsum: dimensions"),
    (lambda: F.trapezoid(X, tl.tensor([1.0])), tl.ShapeError, "trapezoid: x"),
    (lambda: F.interp(1.0, [1.0, 2.0], [1.0]), tl.ShapeError, "interp: xp and fp"),
    (lambda: F.interp(1.0, [], []), tl.ShapeError, "interp: xp and fp"),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(WRONG)))
def test_a_wrong_call_is_refused(row: int) -> None:
    call, kind, text = WRONG[row]
    with pytest.raises(kind, match=text):
        call()

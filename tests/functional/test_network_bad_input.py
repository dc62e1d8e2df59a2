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
    (lambda: F.gumbel_softmax(X, tau=0.0), tl.ParameterError, "gumbel_softmax: tau must be pos"),
    (lambda: F.gumbel_softmax(X, axis=2), tl.IndexRangeError, "gumbel_softmax: axis"),
    (lambda: F.gumbel_softmax(X[:, :0]), tl.ShapeError, "gumbel_softmax: there must be"),
    (lambda: F.rrelu(X, lower=1.0, upper=0.5), tl.ParameterError, "rrelu: lower must not"),
    (lambda: F.rrelu(X, lower="a"), tl.ParameterError,
     "rrelu: lower must be a number; got lower='a'"),
    (lambda: F.rnn(X, X, X), tl.ShapeError, r"rnn: sums must have the shape \(length, batch, hid"),
    (lambda: F.rnn_cell(X, X, X), tl.ShapeError, r"rnn_cell: sums must be \(batch, size\)"),
    (lambda: F.rnn_cell(X, X, X, activation="sin"), tl.ParameterError, "rnn_cell: activation"),
    (lambda: F.rnn(X[None, :, :1], X[:1, :1], X[:, :1], activation=None), tl.ParameterError,
     "rnn: activation must be 'tanh' or 'relu'; got activation=None"),
    (lambda: F.gru(X[None], X, X), tl.ShapeError,
     r"gru: sums.shape must be \(1, 2, 9\), \(length, batch, 3 \* hidden size\)"),
    (lambda: F.gru(X[None], X[:1].T, X[:, :1], X[0, :2]), tl.ShapeError,
     r"gru: bias.shape must be \(3,\)"),
    (lambda: F.lstm(X[None], X, X, X), tl.ShapeError, r"lstm: sums.shape must be \(1, 2, 12\)"),
    (lambda: F.recurrence(X[None], X, X, cell="x"), tl.ParameterError,
     "Recurrence: cell must be 'lstm', 'gru', 'tanh' or 'relu'; got 'x'"),
    (lambda: F.recurrence(X[None], X, X, cell="gru"), tl.DispatchError,
     "Recurrence: a cell 'gru' takes sums, weight, hidden and bias; got 3 tensors"),
    (lambda: F.multilabel_margin_loss(X, LABELS), tl.ShapeError, "multilabel_margin_loss: labels"),
    (lambda: F.multilabel_margin_loss(X, X), tl.DTypeError, "multilabel_margin_loss: labels must"),
    (lambda: F.multilabel_margin_loss(X[:1], tl.tensor([[0, -1, 3]])), tl.IndexRangeError,
     r"multilabel_margin_loss: labels must be in \[-1, 2\]; got 3"),
    (lambda: F.multilabel_margin_loss(X[:1], tl.tensor([[0, -2, 1]])), tl.IndexRangeError,
     "got -2"),
    (lambda: F.feature_alpha_dropout(X[0]), tl.ShapeError, "feature_alpha_dropout: x must"),
    (lambda: F.mse_loss(X, X, reduction="average"), tl.ParameterError, "mse_loss: reduction"),
    (lambda: F.mse_loss(X, tl.tensor([1.0, 2.0])), tl.ShapeError, "^mse_loss: shapes must"),
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
    (lambda: F.bilinear(X, X, X), tl.ShapeError, "bilinear: weight must be"),
    (lambda: F.bilinear(X, X, X[None]), tl.ShapeError, "bilinear: weight must be"),
    (lambda: F.bilinear(X[:, :2], X, X[None], X), tl.ShapeError, "bilinear: bias.shape must be"),
    (lambda: F.pdist(X[0]), tl.ShapeError, "pdist: x must be"),
    (lambda: F.pdist(X, p=-1.0), tl.ParameterError, "pdist: p must"),
    (lambda: F.multinomial(X, 4), tl.ShapeError, "multinomial: count must be at most 3"),
    (lambda: F.multinomial(X, 1.5), tl.ParameterError, "multinomial: count must be an integer"),
    (lambda: F.multinomial(X, 1, seed="a"), tl.ParameterError, "multinomial: seed must be"),
    (lambda: F.lp_pool2d(X, 2.0, 1), tl.ShapeError, "lp_pool2d: x must have"),
    (lambda: F.lp_pool2d(IMAGE, 0.0, 1), tl.ParameterError, "lp_pool2d: norm_type must be pos"),
    (lambda: F.lp_pool2d(IMAGE, float("inf"), 1), tl.ParameterError, "norm_type must be finite"),
    (lambda: F.lp_pool2d(IMAGE, 2.0, (1, 2, 3)), tl.ShapeError, "lp_pool2d: kernel_size"),
    (lambda: F.lp_pool2d(IMAGE, 2.0, 9), tl.ShapeError, "lp_pool2d: the window must fit"),
    (lambda: F.max_pool2d_with_indices(X, 1), tl.ShapeError, "max_pool2d_with_indices: x must"),
    (lambda: F.max_pool2d_with_indices(IMAGE, 0), tl.ShapeError, "kernel_size"),
    (lambda: F.adaptive_max_pool1d_with_indices(IMAGE, 1), tl.ShapeError, "x must have 3 dim"),
    (lambda: F.max_unpool2d(X, X, 2), tl.ShapeError, "max_unpool2d: x and indices must be"),
    (lambda: F.max_unpool2d(IMAGE, IMAGE, 2), tl.DTypeError, "max_unpool2d: indices must be int"),
    (lambda: F.max_unpool2d(IMAGE, tl.full(IMAGE.shape, 24), 2), tl.IndexRangeError,
     "max_unpool2d: indices must be in"),
    (lambda: F.max_unpool2d(IMAGE, tl.zeros(IMAGE.shape, dtype="int64"), 2, output_size=(9, 9)),
     tl.ShapeError, "max_unpool2d: output_size must be less than a stride away from"),
    (lambda: F.fractional_max_pool2d(X, 2, output_size=1), tl.ShapeError, "x must be"),
    (lambda: F.fractional_max_pool2d(IMAGE, 2), tl.ParameterError, "output_size must be given"),
    (lambda: F.fractional_max_pool2d(IMAGE, 2, output_size=2), tl.ShapeError, "from 1 to 1 win"),
    (lambda: F.fractional_max_pool2d(IMAGE, 1, output_ratio=2.0), tl.ParameterError, "ratio"),
    (lambda: F.fractional_max_pool2d(IMAGE, 1, output_size=2, samples=X), tl.ShapeError,
     "fractional_max_pool2d: samples.shape must be"),
    (lambda: F.fractional_max_pool2d(IMAGE, 1, output_size=2, seed=1.5), tl.ParameterError,
     "fractional_max_pool2d: seed must be an integer"),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(WRONG)))
def test_a_wrong_call_is_refused(row: int) -> None:
    call, kind, text = WRONG[row]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("padding", [0, 1, "valid"])
def test_a_transposed_convolution_has_the_size_that_it_is_told(padding: Any) -> None:
    x, w = tl.ones((1, 2, 3, 4)), tl.arange(36, dtype="float32").reshape(2, 2, 3, 3)
    options = {"stride": 2, "padding": padding}
    for added in (0, 1):
        y = F.conv_transpose2d(x, w, output_padding=added, **options)
        told = F.conv_transpose2d(x, w, output_size=y.shape[2:], **options)
        np.testing.assert_array_equal(told.numpy(), y.numpy())
    for size in ((y.shape[2] + 1, y.shape[3]), (y.shape[2], y.shape[3] - 2), (0, 8)):
        with pytest.raises(tl.TensorlikeError, match="conv_transpose2d: output_size must be"):
            F.conv_transpose2d(x, w, output_size=size, **options)
    with pytest.raises(tl.TensorlikeError, match="output_padding must be left out"):
        F.conv_transpose2d(x, w, output_padding=1, output_size=y.shape[2:], **options)

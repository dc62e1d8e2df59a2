"""Attention in several heads by given weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

RANDOM = np.random.default_rng(0)
WIDTH, HEADS = 4, 2


def values(*shape: int) -> Any:
    return tl.tensor(RANDOM.normal(size=shape))


IN, IN_BIAS = values(3 * WIDTH, WIDTH), values(3 * WIDTH)
OUT, OUT_BIAS = values(WIDTH, WIDTH), values(WIDTH)


def attended(query: Any, key: Any, value: Any, **options: Any) -> Any:
    given = {"bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0} | options
    return F.multi_head_attention_forward(
        query, key, value, WIDTH, HEADS, in_proj_weight=IN, in_proj_bias=IN_BIAS,
        out_proj_weight=OUT, out_proj_bias=OUT_BIAS, **given,
    )  # fmt: skip


def by_hand(query: Any, key: Any, value: Any, hidden: Any = None) -> tuple[Any, Any]:
    """Of one example, head by head."""
    weights, biases = np.split(np.asarray(IN), 3), np.split(np.asarray(IN_BIAS), 3)
    q, k, v = (
        np.asarray(x) @ w.T + b
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    parts, shares = [], []
    size = WIDTH // HEADS
    for h in range(HEADS):
        part = slice(h * size, (h + 1) * size)
        scores = q[:, part] @ k[:, part].T / np.sqrt(size)
        scores = scores if hidden is None else np.where(hidden, -np.inf, scores)
        share = np.exp(scores - scores.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        parts.append(share @ v[:, part])
        shares.append(share)
    return np.concatenate(parts, -1) @ np.asarray(OUT).T + np.asarray(OUT_BIAS), np.array(shares)


def test_heads_are_those_that_attend_one_by_one() -> None:
    q, k, v = values(3, WIDTH), values(5, WIDTH), values(5, WIDTH)
    hidden = np.triu(np.ones((3, 5), bool), 1)
    for options, mask in (({}, None), ({"attn_mask": tl.tensor(hidden)}, hidden)):
        wanted, shares = by_hand(q, k, v, mask)
        y, weights = attended(q, k, v, **options)
        np.testing.assert_allclose(y, wanted, rtol=1e-11)
        np.testing.assert_allclose(weights, shares.mean(0), rtol=1e-11)
        y, weights = attended(q, k, v, average_attn_weights=False, **options)
        np.testing.assert_allclose(weights, shares, rtol=1e-11)
        y, weights = attended(q, k, v, need_weights=False, **options)
        assert weights is None
        np.testing.assert_allclose(y, wanted, rtol=1e-11)


def test_a_batch_is_its_examples() -> None:
    q, k = values(3, 2, WIDTH), values(5, 2, WIDTH)
    hidden = np.array([[False, False, True, True, True], [False] * 5])
    y, weights = attended(q, k, k, key_padding_mask=tl.tensor(hidden))
    for i in range(2):
        wanted, shares = by_hand(q[:, i], k[:, i], k[:, i], hidden[i])
        np.testing.assert_allclose(y[:, i], wanted, rtol=1e-11)
        np.testing.assert_allclose(weights[i], shares.mean(0), rtol=1e-11)
    y, _ = attended(q, k, k, is_causal=True, need_weights=False)
    again, _ = attended(q, k, k, is_causal=True)
    np.testing.assert_allclose(y, again, rtol=1e-11)


def test_keys_that_are_added_take_part() -> None:
    x = values(3, WIDTH)
    _, weights = attended(x, x, x, add_zero_attn=True, bias_k=values(1, 1, WIDTH),
                          bias_v=values(1, 1, WIDTH))  # fmt: skip
    assert weights.shape == (3, 5)
    np.testing.assert_allclose(np.asarray(weights).sum(-1), 1)


def test_heads_have_gradients_and_drop_the_same_weights_by_seed() -> None:
    x = values(3, WIDTH)
    assert tl.opcheck(lambda x: attended(x, x, x)[0], x).is_right
    first, _ = attended(x, x, x, dropout_p=0.5, seed=3)
    again, _ = attended(x, x, x, dropout_p=0.5, seed=3)
    np.testing.assert_array_equal(first, again)
    plain, _ = attended(x, x, x, dropout_p=0.5, training=False)
    np.testing.assert_allclose(plain, attended(x, x, x)[0])


@pytest.mark.parametrize(("options", "kind", "words"), [
    ({"bias_k": tl.ones((1, 1, 4))}, tl.ParameterError, "bias_k and bias_v must come together"),
    ({"use_separate_proj_weight": True}, tl.ParameterError, "q_proj_weight"),
    ({"dropout_p": 2.0}, tl.ParameterError, "dropout_p"),
    ({"static_k": tl.ones((1, 1, 1))}, tl.ShapeError, "static_k"),
])  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(options: Any, kind: Any, words: str) -> None:
    x = values(3, WIDTH)
    with pytest.raises(kind, match=f"^multi_head_attention_forward: .*{words}"):
        attended(x, x, x, **options)

"""Bodies as people and exporters write them: with new axes, numbers from arrays, transposes in one,
without a scale or a bias; and what is not one is left alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C
from tensorlike.static.compiled import CompiledProgram

RNG = np.random.default_rng(0)
MATRIX = (3, 8)
HEADS = (2, 3, 5, 8)


def found_in(
    written: Callable[..., Any], *shapes: tuple[Any, ...], dtypes: Any = "float64"
) -> list[str]:
    """The ops that are left but for literals, after values were compared with those as written."""
    listing, given = tl.Listing(), []
    kinds = [dtypes] * len(shapes) if isinstance(dtypes, str) else dtypes
    inputs = [listing.input(f"x{i}", s, kinds[i]) for i, s in enumerate(shapes)]
    for shape, dtype in zip(shapes, kinds, strict=True):
        x = RNG.standard_normal([n if isinstance(n, int) else 5 for n in shape])
        given.append(tl.tensor(x > 0 if dtype in ("bool", "int64") else x, dtype))
    result = written(*inputs)
    compiled = CompiledProgram(listing)
    program, numbers = compiled.optimised([result])
    _C.verify_program(program, numbers)
    wanted = np.asarray(listing.run(result, *given)).astype("float64")
    found = np.asarray(compiled.run(result, *given)).astype("float64")
    close = 1e-12 if "float64" in kinds else 2e-3
    rows = np.isfinite(wanted)  # a query that sees no key has no softmax, and attention 0
    np.testing.assert_allclose(found[rows], wanted[rows], rtol=close, atol=close)
    return [name for name in map(name_of, program.ops) if name not in ("Const", "Fill")]


def name_of(op: Any) -> str:
    return str(getattr(op, "mode", None) or type(op).__name__)


def softmax(x: Any) -> Any:
    e = F.exp(x - F.max(x, axis=-1, keepdims=True))
    return e / F.sum(e, axis=-1, keepdims=True)


def normed(x: Any, eps: float = 1e-5) -> Any:
    d = x - F.mean(x, axis=-1, keepdims=True)
    return d / F.sqrt(F.mean(d * d, axis=-1, keepdims=True) + eps)


def test_new_axes_and_axes_that_go_are_reshapes() -> None:
    def with_new_axes(x: Any) -> Any:
        e = F.exp(x - F.expand_dims(F.max(x, axis=-1), axis=-1))
        return e / F.sum(e, axis=-1)[:, None]

    def without_axes(x: Any) -> Any:
        largest = F.max(x, axis=-1, keepdims=True)
        total = F.log(F.sum(F.exp(x - largest), axis=-1))
        return F.squeeze(largest, axis=-1) + total

    def layer_norm(x: Any, w: Any, b: Any) -> Any:
        d = x - F.reshape(F.mean(x, axis=-1), (-1, 1))
        return d / F.sqrt(F.mean(d * d, axis=-1) + 1e-5)[..., None] * w + b

    for rows in (3, "n"):
        assert found_in(with_new_axes, (rows, 8)) == ["Softmax"]
        assert found_in(without_axes, (rows, 8)) == ["LogSumExp"]
    assert found_in(layer_norm, MATRIX, (8,), (8,)) == ["LayerNorm"]
    assert "Softmax" not in found_in(lambda x: F.exp(x) / F.sum(F.exp(x), axis=0), (8, 8))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_from_arrays(shape: tuple[int, ...], dtype: str) -> None:
    def number(value: float) -> Any:
        return np.full(shape, value, dtype)

    def gelu(x: Any) -> Any:
        return x * number(0.5) * (number(1) + F.erf(x / number(math.sqrt(2))))

    def layer_norm(x: Any, w: Any, b: Any) -> Any:
        d = x - F.mean(x, axis=-1, keepdims=True)
        variance = F.mean(F.pow(d, number(2)), axis=-1, keepdims=True)
        return d / F.sqrt(variance + number(1e-5)) * w + b

    assert found_in(gelu, MATRIX, dtypes=dtype) == ["gelu"]
    assert found_in(layer_norm, MATRIX, (8,), (8,), dtypes=dtype) == ["LayerNorm"]


def test_norms_without_weight_or_bias() -> None:
    assert found_in(normed, MATRIX) == ["LayerNorm"]
    assert found_in(lambda x, w: normed(x) * w, MATRIX, (8,)) == ["LayerNorm"]
    assert found_in(lambda x, b: normed(x) + b, MATRIX, (8,)) == ["LayerNorm"]
    assert found_in(lambda x: normed(x, 0.0), MATRIX) == ["LayerNorm"]


GELU = 0.7978845608028654


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (lambda x: x / 2 + x / 2 * F.erf(x / math.sqrt(2)), "gelu"),
        (lambda x: x - 0.5 * x * F.erfc(x / math.sqrt(2)), "gelu"),
        (lambda x: 0.5 * x * (1 + F.tanh(GELU * x * (1 + 0.044715 * x * x))), "gelu_tanh"),
        (lambda x: F.maximum(x, 0) + F.log1p(F.exp(-F.abs(x))), "softplus"),
        (lambda x: F.where(F.logical_not(x > 0), 0.1 * x, x), "leaky_relu"),
    ],
)
def test_activations(written: Any, name: str) -> None:
    assert found_in(written, MATRIX) == [name]


@pytest.mark.parametrize(
    "before",
    [
        lambda x, w: x * w + w,
        lambda x, w: 2 * x + 1,
        lambda x, w: 2 * (x + w),
        lambda x, w: x * w,
        lambda x, w: F.sum(x * 2, axis=-1),
    ],
)
def test_activations_of_sums_and_products(before: Any) -> None:
    def silu(x: Any, w: Any) -> Any:
        y = before(x, w)
        return y / (1 + F.exp(-y))

    assert found_in(silu, MATRIX, (8,))[-1] == "silu"
    assert found_in(silu, ("n", 8), (8,))[-1] == "silu"


@pytest.mark.parametrize("before", [lambda x, w: x * w + w, lambda x, w: x * w])
def test_powers_of_sums_and_products(before: Any) -> None:
    def gelu_tanh(x: Any, w: Any) -> Any:
        y = before(x, w)
        return 0.5 * y * (1 + F.tanh(GELU * (y + 0.044715 * y**3)))

    def rms_norm(x: Any, w: Any) -> Any:
        y = before(x, w)
        return y / F.sqrt(F.mean(y * y, axis=-1, keepdims=True) + 1e-5)

    assert found_in(gelu_tanh, MATRIX, (8,))[-1] == "gelu_tanh"
    assert found_in(rms_norm, MATRIX, (8,))[-1] == "RMSNorm"


def attended(q: Any, k: Any, v: Any, turn: Any = F.matrix_transpose, scale: float = 0.3) -> Any:
    return F.matmul(softmax(F.matmul(q, turn(k)) * scale), v)


def test_attention_of_heads() -> None:
    """Transposes meet those before; what is transposed once is as good."""

    def in_heads(axes: tuple[int, ...], turn: Any) -> Any:
        def written(x: Any, wq: Any, wk: Any, wv: Any) -> Any:
            def heads(w: Any, order: tuple[int, ...]) -> Any:
                return F.permute_dims(F.reshape(F.matmul(x, w), (2, 5, 2, 4)), order)

            plain = (0, 2, 1, 3)
            y = attended(heads(wq, plain), heads(wk, axes), heads(wv, plain), turn)
            return F.reshape(F.permute_dims(y, plain), (2, 5, 8))

        return written

    for axes, turn in (((0, 2, 1, 3), F.matrix_transpose), ((0, 2, 3, 1), lambda k: k)):
        found = found_in(in_heads(axes, turn), (2, 5, 8), (8, 8), (8, 8), (8, 8))
        assert "Attention" in found
        assert "Softmax" not in found
    assert found_in(attended, (5, "t", 8), (5, "t", 8), (5, "t", 8)) == ["Attention"]


def test_attention_without_a_scale() -> None:
    def written(q: Any, k: Any, v: Any) -> Any:
        return F.matmul(softmax(F.matmul(q, F.matrix_transpose(k))), v)

    assert found_in(written, HEADS, HEADS, HEADS) == ["Attention"]


def test_attention_with_a_mask_of_booleans() -> None:
    def keeps(q: Any, k: Any, v: Any, mask: Any) -> Any:
        scores = F.matmul(q, F.matrix_transpose(k)) * 0.3
        return F.matmul(softmax(F.where(mask, scores, -math.inf)), v)

    def drops(q: Any, k: Any, v: Any, mask: Any) -> Any:
        scores = F.matmul(q, F.matrix_transpose(k)) * 0.3
        return F.matmul(softmax(F.where(mask, -math.inf, scores)), v)

    def is_bounded(q: Any, k: Any, v: Any, mask: Any) -> Any:
        scores = F.matmul(q, F.matrix_transpose(k)) * 0.3
        return F.matmul(softmax(F.where(mask, scores, -1e9)), v)

    shapes, dtypes = (HEADS, HEADS, HEADS, (5, 5)), ["float64"] * 3 + ["bool"]
    assert found_in(keeps, *shapes, dtypes=dtypes) == ["Attention"]
    assert found_in(drops, *shapes, dtypes=dtypes) == ["logical_not", "Attention"]
    assert "Attention" not in found_in(is_bounded, *shapes, dtypes=dtypes)


def test_cross_entropy_by_a_product() -> None:
    def written(x: Any, labels: Any) -> Any:
        logp = x - F.log(F.sum(F.exp(x), axis=-1, keepdims=True))
        return -F.sum(F.astype(F.one_hot(labels, 8), "float64") * logp, axis=-1)

    assert found_in(written, MATRIX, (3,), dtypes=["float64", "int64"]) == ["CrossEntropyRows"]


def test_a_product_with_a_condition_does_not_stand_for_a_choice() -> None:
    """Infinity times 0 is NaN: what was 0 as written stays that."""
    tl.declare(
        """
- op: ProductWithCondition
  args: [x: real floating-point]
  define: sum(astype(x > 0, dtype=dtype(x)) * log(x), axis=-1) * 0.3125
  doc: Of a test.
"""
    )
    listing = tl.Listing()
    x = listing.input("x", (2, 3))
    result = F.sum(F.where(x > 0, F.log(x), 0.0), axis=-1) * 0.3125
    given = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, -1.0]], "float32")
    wanted = np.asarray(listing.run(result, given))
    assert np.all(np.isfinite(wanted))
    np.testing.assert_allclose(CompiledProgram(listing).run(result, given), wanted, rtol=1e-6)


def test_an_elementwise_function_does_not_take_the_end_of_an_op() -> None:
    assert "LogSumExp" in found_in(lambda x: 2.0 * F.log(F.sum(F.exp(x / 2), axis=-1)), MATRIX)


@pytest.mark.parametrize(("dtype", "large"), [("float32", 1.5 * 2**23), ("float64", 1.5 * 2**52)])
def test_rounding_by_a_large_number_is_kept(dtype: str, large: float) -> None:
    """(x + large) - large is x to whole numbers."""

    def written(x: Any) -> Any:
        whole = (x + large) - large
        return whole * F.sigmoid(whole)

    listing = tl.Listing()
    result = written(listing.input("x", (4,), dtype))
    given = np.array([0.3, 0.7, 1.4, 2.6], dtype)
    found = np.asarray(CompiledProgram(listing).run(result, given))
    whole = np.round(given)
    np.testing.assert_allclose(found, whole / (1 + np.exp(-whole)), rtol=1e-6)


@pytest.mark.parametrize(
    "written",
    [
        lambda q, k, v: F.matmul(F.softmax(F.matmul(q, F.matrix_transpose(k)), axis=-2), v),
        lambda q, k, v: F.matmul(softmax(F.matmul(q, F.matrix_transpose(k))) + 0.1, v),
        lambda q, k, v: F.matmul(F.matrix_transpose(softmax(F.matmul(q, k))), v),
    ],
)
def test_what_is_nearly_attention_is_left(written: Any) -> None:
    assert "Attention" not in found_in(written, (2, 8, 8), (2, 8, 8), (2, 8, 8))


def test_what_is_nearly_a_norm_is_left() -> None:
    def other_axis(x: Any) -> Any:
        d = x - F.mean(x, axis=0, keepdims=True)
        return d / F.sqrt(F.mean(d * d, axis=-1, keepdims=True) + 1e-5)

    def other_count(x: Any) -> Any:
        d = x - F.mean(x, axis=-1, keepdims=True)
        return d / F.sqrt(F.sum(d * d, axis=-1, keepdims=True) / 7 + 1e-5)

    for written in (other_axis, other_count):
        assert "LayerNorm" not in found_in(written, (8, 8))

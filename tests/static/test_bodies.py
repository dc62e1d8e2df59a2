"""What is written out in small ops becomes the op whose body it is, from declarations alone."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.apart import LIMITS_MEMORY, run_apart

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C
from tensorlike.static.compiled import CompiledProgram

RNG = np.random.default_rng(0)


def optimised(
    function: Callable[..., Any], *shapes: tuple[Any, ...], level: int = 1, close: float = 1e-5
) -> list[str]:
    """The ops that are left, after their values were compared with those of the ops as written."""
    listing = tl.Listing()
    inputs = [listing.input(f"x{i}", shape) for i, shape in enumerate(shapes)]
    result = function(*inputs)
    compiled = CompiledProgram(listing, opt_level=level)
    program, numbers = compiled.optimised([result])
    _C.verify_program(program, numbers)
    given = [
        tl.tensor(RNG.standard_normal([n if isinstance(n, int) else 5 for n in shape]), "float32")
        for shape in shapes
    ]
    expected = np.asarray(listing.run(result, *given))
    found = np.asarray(compiled.run(result, *given))
    np.testing.assert_allclose(found, expected, rtol=close, atol=close)
    return [name_of(op) for op in program.ops]


def name_of(op: Any) -> str:
    return str(getattr(op, "mode", None) or type(op).__name__)


X = (3, 8)
ROWS = ("n", 8)


@pytest.mark.parametrize(
    "written",
    [
        lambda x: 0.5 * x * (1 + F.erf(x / math.sqrt(2))),
        lambda x: x * 0.5 * (F.erf(x * 0.7071067811865476) + 1.0),
        lambda x: x * ((1 + F.erf(x / 1.41421356)) * 0.5),
        lambda x: (
            F.erf(x / math.sqrt(2)) * (x / 2) + x / 2
            if False
            else x / 2 * (1 + F.erf(x / math.sqrt(2)))
        ),
    ],
)
def test_gelu(written: Any) -> None:
    assert optimised(written, X) == ["gelu"]
    assert optimised(written, ROWS) == ["gelu"]


@pytest.mark.parametrize(
    "written",
    [
        lambda x: 0.5 * x * (1 + F.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        lambda x: x * 0.5 * (1 + F.tanh((x + 0.044715 * x * x * x) * 0.7978845608)),
    ],
)
def test_gelu_tanh(written: Any) -> None:
    assert optimised(written, X) == ["gelu_tanh"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (lambda x: x * F.sigmoid(x), "silu"),
        (lambda x: x / (1 + F.exp(-x)), "silu"),
        (lambda x: 1 / (1 + F.exp(-x)), "sigmoid"),
        (lambda x: F.reciprocal(F.exp(-x) + 1), "sigmoid"),
        (lambda x: F.log(1 + F.exp(x)), "softplus"),
        (lambda x: F.log1p(F.exp(x)), "softplus"),
        (lambda x: x * F.tanh(F.softplus(x)), "mish"),
        (lambda x: x * F.tanh(F.log1p(F.exp(x))), "mish"),
        (lambda x: x - F.tanh(x), "tanhshrink"),
        (lambda x: F.where(x > 0, x, 0.2 * x), "leaky_relu"),
    ],
)
def test_activations(written: Any, name: str) -> None:
    assert [one for one in optimised(written, X) if one != "Const"] == [name]


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(axis: int) -> None:
    def naive(x: Any) -> Any:
        e = F.exp(x)
        return e / F.sum(e, axis=axis, keepdims=True)

    def stable(x: Any) -> Any:
        e = F.exp(x - F.max(x, axis=axis, keepdims=True))
        return e / F.sum(e, axis=axis, keepdims=True)

    assert optimised(naive, X) == ["Softmax"]
    assert optimised(stable, X) == ["Softmax"]
    assert optimised(stable, ROWS) == ["Softmax"]


def test_log_softmax() -> None:
    def stable(x: Any) -> Any:
        d = x - F.max(x, axis=-1, keepdims=True)
        return d - F.log(F.sum(F.exp(d), axis=-1, keepdims=True))

    def naive(x: Any) -> Any:
        return x - F.log(F.sum(F.exp(x), axis=-1, keepdims=True))

    assert optimised(stable, X) == ["LogSoftmax"]
    assert optimised(naive, X) == ["LogSoftmax"]


@pytest.mark.parametrize("keepdims", [True, False])
def test_logsumexp(keepdims: bool) -> None:
    def naive(x: Any) -> Any:
        return F.log(F.sum(F.exp(x), axis=1, keepdims=keepdims))

    assert optimised(naive, X) == ["LogSumExp"]


@pytest.mark.parametrize(
    "normed",
    [
        lambda d, v: d / F.sqrt(v + 1e-5),
        lambda d, v: d * F.rsqrt(v + 1e-5),
        lambda d, v: d * (1 / F.sqrt(1e-5 + v)),
        lambda d, v: d / (v + 1e-5) ** 0.5,
    ],
)
@pytest.mark.parametrize(
    "variance",
    [
        lambda x, d: F.mean(d * d, axis=-1, keepdims=True),
        lambda x, d: F.mean(F.square(d), axis=-1, keepdims=True),
        lambda x, d: F.mean(d**2, axis=-1, keepdims=True),
        lambda x, d: F.sum(d * d, axis=-1, keepdims=True) / 8,
        lambda x, d: F.var(x, axis=-1, keepdims=True),
    ],
)
def test_layer_norm(normed: Any, variance: Any) -> None:
    def written(x: Any, w: Any, b: Any) -> Any:
        d = x - F.mean(x, axis=-1, keepdims=True)
        return normed(d, variance(x, d)) * w + b

    assert optimised(written, X, (8,), (8,)) == ["LayerNorm"]


def test_rms_norm() -> None:
    def written(x: Any, w: Any) -> Any:
        return w * (x * F.rsqrt(F.mean(x**2, axis=-1, keepdims=True) + 1e-6))

    assert optimised(written, X, (8,)) == ["RMSNorm"]
    assert optimised(written, ROWS, (8,)) == ["RMSNorm"]


def test_a_norm_and_an_activation_after_each_other() -> None:
    """What stands before one is a product, or a sum, whose factors are part of it."""

    def written(x: Any, w: Any) -> Any:
        for _ in range(2):
            d = x - F.mean(x, axis=-1, keepdims=True)
            x = d / F.sqrt(F.mean(d * d, axis=-1, keepdims=True) + 1e-5) * w + w
            x = 0.5 * x * (1 + F.erf(x / 2**0.5))
        return x

    assert optimised(written, X, (8,)) == ["LayerNorm", "gelu"] * 2


def test_attention() -> None:
    def written(q: Any, k: Any, v: Any) -> Any:
        scores = F.matmul(q, F.permute_dims(k, (0, 2, 1))) / math.sqrt(8)
        e = F.exp(scores - F.max(scores, axis=-1, keepdims=True))
        return F.matmul(e / F.sum(e, axis=-1, keepdims=True), v)

    shape = (2, 5, 8)
    assert optimised(written, shape, shape, shape) == ["Attention"]

    def masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
        return F.matmul(F.softmax(F.matmul(q * 0.25, F.matrix_transpose(k)) + mask, axis=-1), v)

    assert optimised(masked, shape, shape, shape, (5, 5)) == ["Attention"]


def test_linear() -> None:
    assert optimised(lambda x, w, b: F.matmul(x, w) + b, X, (8, 4), (4,)) == ["Linear"]


def test_cross_entropy() -> None:
    listing = tl.Listing()
    x, labels = listing.input("x", ("n", 8)), listing.input("labels", ("n",), "int64")
    d = x - F.max(x, axis=-1, keepdims=True)
    logp = d - F.log(F.sum(F.exp(d), axis=-1, keepdims=True))
    loss = -F.sum(F.where(F.one_hot(labels, 8), logp, 0), axis=-1)
    compiled = CompiledProgram(listing)
    program, _ = compiled.optimised([loss])
    assert [name_of(op) for op in program.ops] == ["CrossEntropyRows"]
    given = tl.tensor(RNG.standard_normal((3, 8)), "float32"), tl.tensor([1, 0, 7])
    np.testing.assert_allclose(
        compiled.run(loss, *given), listing.run(loss, *given), rtol=1e-5, atol=1e-5
    )


def test_an_op_declared_at_run_time_is_found() -> None:
    tl.declare(
        """
- op: CenteredScale
  args: [x: real floating-point]
  attrs: {axis: {type: int, default: -1}, k: {type: float, default: 2.0}}
  define: |
    d = x - max(x, axis=axis, keepdims=True)
    k * d / (1 + sum(abs(d), axis=axis, keepdims=True))
  doc: Of a test.
"""
    )

    def written(x: Any) -> Any:
        d = x - F.max(x, axis=0, keepdims=True)
        return d * 3.0 / (F.sum(F.abs(d), axis=0, keepdims=True) + 1)

    listing = tl.Listing()
    y = written(listing.input("x", X))
    assert "CenteredScale(axis=0, k=3.0)" in CompiledProgram(listing).text(y)
    assert optimised(written, X) == ["CenteredScale"]


def test_a_number_that_an_unknown_size_makes_is_no_attribute() -> None:
    tl.declare(
        """
- op: ScaledSum
  args: [x: real floating-point]
  attrs: {axis: {type: int, default: -1}, k: {type: float, default: 2.0}}
  define: maximum(sum(x * k, axis=axis), 0.28125)
  doc: Of a test.
"""
    )

    def over(axis: int) -> Callable[..., Any]:
        return lambda x: F.maximum(F.mean(x + x, axis=axis), 0.28125)

    assert optimised(over(0), X) == ["ScaledSum"]
    assert optimised(over(1), ROWS) == ["ScaledSum"]
    assert "ScaledSum" not in optimised(over(0), ROWS)


def test_what_is_read_elsewhere_is_computed() -> None:
    def written(x: Any) -> Any:
        e = F.exp(x)
        return e / F.sum(e, axis=-1, keepdims=True) + e

    assert "Softmax" not in optimised(written, X)


def test_what_is_nearly_a_body_is_left() -> None:
    assert "gelu" not in optimised(lambda x: 0.5 * x * (1 + F.erf(x / 1.5)), X)
    assert "gelu" not in optimised(lambda x: 0.5 * x * (2 + F.erf(x / math.sqrt(2))), X)

    def wrong_axis(x: Any) -> Any:
        e = F.exp(x)
        return e / F.sum(e, axis=0, keepdims=True) * F.sum(e, axis=1, keepdims=True)

    assert "Softmax" not in optimised(wrong_axis, X)

    def broadcast(x: Any, y: Any) -> Any:  # as many rows as y has, all of them counted
        return F.sum(F.exp(x) + 0 * y, axis=0, keepdims=True)

    assert "LogSumExp" not in optimised(broadcast, (1, 8), (3, 8))


def test_a_body_that_only_looks_plain_stays_what_it_is() -> None:
    """Choices are tried on numbers of all magnitudes: beyond 100 this is no identity."""
    ops = tl.declare(
        """
- scalar: cut_at_hundred
  args: [x: real floating-point]
  expr: where(x > 100, 0, x)
  doc: Of a test.
"""
    )
    listing = tl.Listing()
    x = listing.input("x", (2,))
    y = F.exp(-ops.cut_at_hundred(x)) + 1
    z = 1 / y
    compiled = CompiledProgram(listing)
    given = tl.tensor([200.0, 1.0])
    np.testing.assert_allclose(compiled.run(z, given), listing.run(z, given), rtol=1e-6)


def test_log_of_exp_is_simplified_at_level_2() -> None:
    assert optimised(lambda x: F.log(F.exp(x)), X) == ["exp", "log"]
    assert optimised(lambda x: F.log(F.exp(x)) + 1, X, level=2) == ["Const", "add"]
    assert optimised(lambda x: F.log(F.sum(F.exp(x), axis=-1)), X, level=2) == ["LogSumExp"]


@pytest.mark.parametrize(
    ("written", "left"),
    [
        (lambda x: x * 1, []),
        (lambda x: 1 * x / 1 - 0, []),
        (lambda x: x + 0, ["Const", "add"]),
        (lambda x: F.negative(F.negative(x)), []),
        (lambda x: F.permute_dims(F.permute_dims(x, (1, 0)), (1, 0)), []),
        (lambda x: F.reshape(F.reshape(x, (8, 3)), (4, 6)), ["Reshape"]),
        (lambda x: F.reshape(F.reshape(x, (8, 3)), (3, 8)), []),
        (lambda x: F.relu(F.relu(F.relu(x))), ["relu"]),
        (lambda x: F.sin(x) - (-F.cos(x)), ["sin", "cos", "add"]),
    ],
)
def test_exact_identities(written: Any, left: list[str]) -> None:
    found = optimised(written, X, close=0)
    assert [one for one in found if one != "Const"] == [one for one in left if one != "Const"]


def test_identities_keep_shapes_and_dtypes() -> None:
    ones = tl.as_raw_tensor(np.ones((4, 3, 1), np.float32))
    assert "multiply" in optimised(lambda x: x * ones, X)
    whole = tl.Listing()
    x = whole.input("x", (2,), "int64")
    y = x * 1.0
    assert "multiply" in CompiledProgram(whole).text(y)


@LIMITS_MEMORY
def test_bodies_of_as_many_steps_as_an_unknown_size_are_not_written_out() -> None:
    """A size that is not known is a large number, and gradients of recurrences take steps."""
    program = """
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    for make in (tl.nn.RNN, tl.nn.GRU, tl.nn.LSTM):
        layer, listing = make(3, 4, seed=0), tl.Listing()
        x = tl.Tensor(listing.input("x", ("length", "n", 3)))
        results = tl.autograd.grad(F.sum(layer(x)[0] ** 2), list(layer.parameters()))
        compiled = tl.static.CompiledProgram(listing)
        for length in (1, 5, 3):
            x = np.random.default_rng(length).standard_normal((length, 2, 3)).astype("float32")
            for found, want in zip(compiled.run(results, x), listing.run(results, x)):
                np.testing.assert_allclose(np.asarray(found), np.asarray(want), 1e-5, 1e-5)
    print("same")
    """
    assert run_apart(textwrap.dedent(program)).strip() == "same"

"""Calls that are declared for real numbers, on complex ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)


CALLS: dict[str, tuple[Any, Any]] = {
    "sigmoid": (F.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "silu": (F.silu, lambda x: x / (1 + np.exp(-x))),
    "softsign": (F.softsign, lambda x: x / (1 + abs(x))),
    "tanhshrink": (F.tanhshrink, lambda x: x - np.tanh(x)),
    "sinc": (F.sinc, np.sinc),
    "var": (F.var, np.var),
    "std": (lambda x: F.std(x, axis=0, keepdims=True), lambda x: np.std(x, 0, keepdims=True)),
    "method": (lambda x: x.var(axis=-1, correction=1), lambda x: np.var(x, -1, ddof=1)),
    "logsumexp": (lambda x: F.logsumexp(x, axis=1), lambda x: np.log(np.exp(x).sum(1))),
    "logaddexp": (lambda x: F.exp(F.logaddexp(x, 2 * x)), lambda x: np.exp(x) + np.exp(2 * x)),
    "lerp": (lambda x: F.lerp(x, x * x, 0.25), lambda x: 0.75 * x + 0.25 * x * x),
    "ldexp": (lambda x: F.ldexp(x, 3.0), lambda x: 8 * x),
    "ldexp of two": (lambda x: F.ldexp(x, x), lambda x: x * 2**x),
    "ldexp by complex": (lambda x: F.ldexp(3.0, x), lambda x: 3 * 2**x),
    "l1_loss": (lambda x: F.l1_loss(x, x * x), lambda x: abs(x - x * x).mean()),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_have_the_values_of_the_formula(name: str, dtype: str) -> None:
    call, wanted = CALLS[name]
    x = numbers(3, 4).astype(dtype)
    bound = 1e-5 if dtype == "complex64" else 1e-12
    np.testing.assert_allclose(call(tl.tensor(x)), wanted(x), bound, bound)
    if name not in ("var", "std"):
        rows = tl.vmap(call)(tl.tensor(np.stack([x, 2 * x])))
        np.testing.assert_allclose(rows[1], call(tl.tensor(2 * x)), bound, bound)


def test_complex_exponentials_do_not_overflow() -> None:
    x = tl.tensor([-2000.0 + 1j, 2000.0 + 1j])
    np.testing.assert_allclose(F.sigmoid(x), [0, 1])
    np.testing.assert_allclose(F.logsumexp(x).item(), 2000 + 1j, rtol=1e-6)
    assert F.sinc(tl.tensor([0j])).tolist() == [1]


def test_complex_variances_have_gradients() -> None:
    x = numbers(5)
    slope = np.asarray(tl.grad(F.var)(tl.tensor(x)))
    np.testing.assert_allclose(slope, 2 * (x - x.mean()) / 5, rtol=1e-12)


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"])
def test_complex_convolutions_are_those_of_the_parts(name: str) -> None:
    call = getattr(F, name)
    spatial = int(name[-2])
    x, weight = numbers(2, 4, *[5] * spatial), numbers(4, 2, *[3] * spatial)
    groups = 1 if "transpose" in name else 2
    bias = numbers(2 if "transpose" in name else 4)

    def real(a: Any, b: Any) -> Any:
        return np.asarray(call(tl.tensor(a), tl.tensor(b), stride=2, padding=1, groups=groups))

    wanted = real(x.real, weight.real) - real(x.imag, weight.imag)
    wanted = wanted + 1j * (real(x.real, weight.imag) + real(x.imag, weight.real))
    wanted = wanted + bias.reshape(-1, *[1] * spatial)
    given = tl.tensor(x), tl.tensor(weight), tl.tensor(bias)
    found = call(*given, stride=2, padding=1, groups=groups)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    with_real_weights = call(tl.tensor(x), tl.tensor(weight.real), groups=groups)
    assert with_real_weights.dtype.name == "complex128"


def test_complex_sums_of_exponentials_keep_the_angle_of_the_larger_term() -> None:
    x, y = 3 * numbers(40), 3 * numbers(40)
    found = np.asarray(F.logaddexp(tl.tensor(x), tl.tensor(y)))
    np.testing.assert_allclose(np.exp(found), np.exp(x) + np.exp(y), rtol=1e-12)
    larger = np.where(x.real >= y.real, x, y)
    assert (np.abs(found.imag - larger.imag) <= np.pi / 2 + 1e-12).all()
    inf, nan = np.inf, np.nan
    for a, b, wanted in (
        (-inf, -inf, -inf),
        (-inf, 1 + 2j, 1 + 2j),
        (inf, inf, inf),
        (inf, -inf, inf),
    ):
        assert F.logaddexp(tl.tensor(complex(a)), tl.tensor(complex(b))).item() == wanted
    assert np.isnan(F.logaddexp(tl.tensor(complex(nan)), tl.tensor(1 + 0j)).item().real)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_complex_running_sums_of_exponentials_are_those_one_by_one(
    reverse: bool, axis: int
) -> None:
    x = 3 * numbers(9, 13)
    lines = np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0)
    wanted = [lines[0]]
    for line in lines[1:]:
        wanted.append(np.asarray(F.logaddexp(tl.tensor(wanted[-1]), tl.tensor(line))))
    whole = np.moveaxis(np.array(wanted), 0, axis)
    whole = np.flip(whole, axis) if reverse else whole
    found = F.logcumsumexp(tl.tensor(x), axis=axis, reverse=reverse)
    np.testing.assert_allclose(found, whole, rtol=1e-11)
    more = F.logcumsumexp(tl.tensor(x), axis=axis, reverse=reverse, include_initial=True)
    assert more.shape[axis] == x.shape[axis] + 1
    edge = np.take(np.asarray(more), -1 if reverse else 0, axis)
    assert (edge.real == -np.inf).all()


def test_complex_running_sums_of_exponentials_have_gradients() -> None:
    x, step = numbers(6), 1e-6

    def total(x: Any) -> Any:
        y = F.logcumsumexp(x)
        return F.sum(F.real(y) + 0.7 * F.imag(y))

    slope = np.asarray(tl.grad(total)(tl.tensor(x)))
    for i, unit in np.ndindex(6, 2):
        moved = np.zeros(6, complex)
        moved[i] = step * (1, 1j)[unit]
        difference = total(tl.tensor(x + moved)) - total(tl.tensor(x - moved))
        part = slope[i].imag if unit else slope[i].real
        np.testing.assert_allclose(difference.item() / (2 * step), part, rtol=1e-6, atol=1e-8)
    with pytest.raises(tl.ShapeError, match="axis must be one integer, or None for one dimension"):
        F.logcumsumexp(tl.tensor(numbers(2, 2)))


def test_complex_vectors_are_normalised_by_their_sizes_and_by_their_squares() -> None:
    x, weight = numbers(3, 5), numbers(5)
    wanted = x / np.sqrt((np.abs(x) ** 2).sum(1, keepdims=True))
    np.testing.assert_allclose(F.normalize(tl.tensor(x)), wanted, rtol=1e-12)
    wanted = x / np.sqrt((x * x).mean(1, keepdims=True) + 0.5) * weight
    found = F.rms_norm(tl.tensor(x), tl.tensor(weight), eps=0.5)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_other_calls_go_on_refusing_complex_numbers() -> None:
    x: Any = tl.tensor([1j])
    for call in (F.erf, F.relu, F.median):
        with pytest.raises(tl.DTypeError, match="must be real"):
            call(x)
    mixed: Any = F.sigmoid
    with pytest.raises(tl.ParameterError, match="sigmoid: x must be a tensor or data"):
        mixed("1j")

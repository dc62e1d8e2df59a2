"""Every declared function that takes complex numbers: gradients against finite differences.

The gradient g of a real loss is the conjugate Wirtinger derivative: moving x by v changes the loss
by the real part of sum(conj(g) * v). All in complex128, to second order; inputs that may be real
are that too, among complex ones. A new declaration is covered by being declared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.complex_cases import COMPLEX_FLOWING, flows
from support.declarations import SCALARS, Array, function_of

import tensorlike as tl
from tensorlike.opdecl import DeclarationError
from tensorlike.opdecl.compiler.model import takes_complex

FIRST_STEP = 1e-6
SECOND_STEP = 1e-5


def loss_of(case: Case) -> Callable[..., Any]:
    """The real part of the sum of the outputs, each multiplied by a random constant."""
    rng = np.random.default_rng(3)
    weights = [tl.tensor(rng.normal(size=y.shape) + 1j * rng.normal(size=y.shape))
               for y in case.call()]  # fmt: skip

    def loss(*xs: Any) -> Any:
        out = function_of(case.entry)(*xs, **case.attrs)
        outputs = out if isinstance(out, tuple) else (out,)
        total: Any = 0.0
        for y, weight in zip(outputs, weights, strict=True):
            total = total + tl.functional.sum(tl.functional.real(y * weight))
        return total

    return loss


def direction(x: Array, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    along = rng.normal(size=x.shape)
    return np.asarray(along + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else along)


def along_of(gradient: Any, along: Array) -> float:
    return float(np.sum(np.conj(np.asarray(gradient)) * along).real)


def difference(function: Callable[..., Any], case: Case, at: int, along: Array, h: float) -> float:
    def moved(shift: float) -> float:
        xs = [x + shift * along if i == at else x for i, x in enumerate(case.inputs)]
        return float(function(*(tl.tensor(np.asarray(x)) for x in xs)).item())

    return (moved(h) - moved(-h)) / (2 * h)


@pytest.mark.parametrize(("case", "position"), COMPLEX_FLOWING, ids=str)
def test_gradients_are_those_of_finite_differences(case: Case, position: int) -> None:
    loss = loss_of(case)
    x = case.inputs[position]
    tensors = [tl.tensor(x) for x in case.inputs]
    gradient = tl.grad(loss, argnums=position)(*tensors)
    assert (gradient.shape, gradient.dtype.name) == (x.shape, x.dtype.name)
    for seed in range(2):
        along = direction(x, seed)
        wanted = difference(loss, case, position, along, FIRST_STEP)
        np.testing.assert_allclose(along_of(gradient, along), wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("case", "position"), COMPLEX_FLOWING, ids=str)
def test_gradients_of_gradients_are_those_of_differences(case: Case, position: int) -> None:
    loss = loss_of(case)
    u = tl.tensor(np.conj(direction(case.inputs[position], 23)))
    tensors = [tl.tensor(x) for x in case.inputs]

    def slope(*xs: Any) -> Any:
        return tl.functional.sum(tl.functional.real(tl.grad(loss, argnums=position)(*xs) * u))

    for j, x in enumerate(case.inputs):
        if not flows(case, j):
            continue
        along = direction(x, 17)
        wanted = difference(slope, case, j, along, SECOND_STEP)
        try:
            found = along_of(tl.grad(slope, argnums=j)(*tensors), along)
        except tl.AutodiffError as error:
            # The documented answer to a gradient that does not depend on the argument.
            assert "carries no gradient" in str(error)
            found = 0.0
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_every_function_of_complex_numbers_is_among_these() -> None:
    covered = {case.entry.name for case, _ in COMPLEX_FLOWING}
    flowing = [
        e for e in SCALARS if e.result != "bool" and (e.grad is None or e.grad.kind != "none")
    ]
    wanted = {e.name for e in flowing if takes_complex(e)}
    assert wanted <= covered


def test_the_gradient_of_a_size_points_outwards() -> None:
    z = tl.tensor([3 + 4j, 1j, 0j])
    size = tl.grad(lambda z: tl.functional.sum(abs(z)))(z)
    np.testing.assert_allclose(np.asarray(size), [0.6 + 0.8j, 1j, 0], rtol=1e-6)
    energy = tl.grad(lambda z: tl.functional.sum(tl.functional.real(z * tl.functional.conj(z))))(z)
    np.testing.assert_allclose(np.asarray(energy), 2 * np.asarray(z), rtol=1e-6)


def test_steps_down_a_complex_gradient_reach_the_minimum() -> None:
    z = tl.tensor([0j, 0j], requires_grad=True)
    target = tl.tensor([1 - 2j, 3 + 0.5j])
    for _ in range(60):
        loss = tl.functional.sum(tl.functional.square(abs(z - target)))
        loss.backward()
        with tl.no_grad():
            z -= 0.25 * z.grad
        z.grad = None
    np.testing.assert_allclose(np.asarray(z.detach()), np.asarray(target), atol=1e-5)


def test_a_real_operand_gets_the_real_part() -> None:
    x, z = tl.tensor([2.0, 3.0]), tl.tensor([1 + 2j, 3 - 1j])
    gradient = tl.grad(lambda x: tl.functional.sum(tl.functional.real(x * z)))(x)
    assert (gradient.dtype, gradient.tolist()) == (tl.float32, [1.0, 3.0])
    one = tl.grad(lambda x: tl.functional.sum(tl.functional.imag(x * z)))(tl.tensor(2.0))
    assert one.item() == 1.0


def test_a_complex_loss_needs_a_cotangent() -> None:
    z = tl.tensor(1j, requires_grad=True)
    with pytest.raises(tl.AutodiffError) as error:
        (z * z).backward()
    assert str(error.value) == (
        "backward: an output must be real where no cotangent is given; got complex64; take "
        "real(y) or abs(y), or pass a cotangent."
    )
    (z * z).backward(tl.tensor(1 + 0j))
    assert z.grad.item() == -2j
    x = tl.tensor(1.0, requires_grad=True)
    with pytest.raises(tl.DTypeError, match="the cotangent of a real output must be real"):
        (x * x).backward(tl.tensor(1j))


DECLARED = """
- scalar: squared_size
  args: ["z: floating-point"]
  expr: real(z) * real(z) + imag(z) * imag(z)
  result: real
  doc: The square of the size.
- scalar: moebius
  args: ["z: floating-point"]
  expr: (z - 1) / (z + 1)
  doc: It maps the right half-plane to the disc.
- scalar: twisted
  args: ["z: floating-point"]
  expr: abs(z) * conj(z) * exp(z)
  doc: Neither holomorphic nor antiholomorphic.
"""


def test_gradients_of_declared_functions_are_derived_for_complex_numbers() -> None:
    declared = tl.declare(DECLARED)
    z = np.array([0.4 + 0.7j, -0.8 + 0.3j])
    for name in ("squared_size", "moebius", "twisted"):
        f = getattr(declared, name)

        def loss(z: Any, f: Any = f) -> Any:
            return tl.functional.sum(tl.functional.real(f(z) * (0.3 - 1.7j)))

        gradient = np.asarray(tl.grad(loss)(tl.tensor(z)))
        for along in ([1, 0], [1j, 0], [0, 1j]):
            v = 1e-6 * np.array(along)
            wanted = (loss(tl.tensor(z + v)).item() - loss(tl.tensor(z - v)).item()) / 2e-6
            assert np.sum(np.conj(gradient) * along).real == pytest.approx(wanted, rel=1e-6)


def test_a_rule_that_no_complex_number_fits_is_refused() -> None:
    with pytest.raises(DeclarationError) as error:
        tl.declare("""
- scalar: lopsided
  args: ["x: floating-point"]
  expr: x * x
  grad: {x: "dy * maximum(x, 0)"}
  doc: Its rule compares.
""")
    assert str(error.value) == (
        "<string>:5: lopsided: grad x: where complex numbers flow, maximum: x1 must be real "
        "numeric; got complex; write `complex_grad:`"
    )
    with pytest.raises(DeclarationError, match="no argument takes complex numbers"):
        tl.declare("""
- scalar: upright
  args: ["x: real floating-point"]
  expr: x * x
  complex_grad: {x: conj(dy)}
  doc: It is never complex.
""")

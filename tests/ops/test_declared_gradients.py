"""Every declared function: gradients against finite differences, to second order.

All in float64, along random directions, at inputs that broadcast; through `tl.grad`, `tl.vjp` and
`Tensor.backward`. A new declaration is covered by being declared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.declarations import REDUCTIONS, SCALARS, Array, function_of, inputs_of, name_of
from support.gradient_cases import (
    FLOWING,
    STOPPED,
    as_real,
    category_of,
    directions,
    has_gradient,
    loss_of,
)

import tensorlike as tl
from tensorlike.opdecl.compiler.model import Entry, is_differentiable

FIRST_STEP = 1e-6
SECOND_STEP = 1e-5


def label(value: Any) -> str:
    return str(value)


def central_difference(
    function: Callable[..., float], inputs: list[Array], position: int, along: Array, step: float
) -> float:
    def at(shift: float) -> float:
        moved = [x + shift * along if i == position else x for i, x in enumerate(inputs)]
        return function(*(tl.tensor(np.asarray(x)) for x in moved))

    return (at(step) - at(-step)) / (2 * step)


@pytest.mark.parametrize(("case", "position"), FLOWING, ids=label)
def test_gradients_are_those_of_finite_differences(case: Case, position: int) -> None:
    loss = loss_of(case)
    tensors = [tl.tensor(x) for x in case.inputs]
    along = directions(case)[position]
    gradient = np.asarray(tl.grad(loss, argnums=position)(*tensors))
    assert (gradient.shape, gradient.dtype.name) == (along.shape, "float64")
    wanted = central_difference(
        lambda *xs: loss(*xs).item(), list(case.inputs), position, along, FIRST_STEP
    )
    np.testing.assert_allclose(np.sum(gradient * along), wanted, rtol=1e-6, atol=1e-7)


def test_no_gradient_is_zero_in_all_cases() -> None:
    """Else the comparisons would hold nothing."""
    largest: dict[tuple[str, str], float] = {}
    for case, position in FLOWING:
        arg = case.entry.args[min(position, len(case.entry.args) - 1)].name
        gradient = tl.grad(loss_of(case), argnums=position)(*(tl.tensor(x) for x in case.inputs))
        size = float(np.abs(np.asarray(gradient)).max(initial=0.0))
        key = (case.entry.name, arg)
        largest[key] = max(largest.get(key, 0.0), size)
    assert [key for key, size in largest.items() if size < 1e-3] == []


@pytest.mark.parametrize(("case", "position"), FLOWING, ids=label)
def test_gradients_of_gradients_are_those_of_differences(case: Case, position: int) -> None:
    """Along random directions: d/dx_j of the gradient by x_i, for every j; zeros included."""
    loss = loss_of(case)
    along = directions(case)
    tensors = [tl.tensor(x) for x in case.inputs]
    u = tl.tensor(np.random.default_rng(23).normal(size=case.inputs[position].shape))

    def slope(*xs: Any) -> Any:
        return tl.functional.sum(tl.grad(loss, argnums=position)(*xs) * u)

    for j in range(len(case.inputs)):
        if not has_gradient(case, j):
            continue
        wanted = central_difference(
            lambda *xs: slope(*xs).item(), list(case.inputs), j, along[j], SECOND_STEP
        )
        try:
            found = float(np.sum(np.asarray(tl.grad(slope, argnums=j)(*tensors)) * along[j]))
        except tl.AutodiffError as error:
            # The documented answer to a gradient that does not depend on the argument.
            assert "carries no gradient" in str(error)
            found = 0.0
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("case", "position"), FLOWING, ids=label)
def test_grad_vjp_and_backward_agree(case: Case, position: int) -> None:
    loss = loss_of(case)
    arrays = case.inputs
    wanted = np.asarray(tl.grad(loss, argnums=position)(*(tl.tensor(x) for x in arrays)))
    leaves = [
        tl.tensor(x, requires_grad=category_of(case.entry, i).rank >= 2)
        for i, x in enumerate(arrays)
    ]
    loss(*leaves).backward()
    np.testing.assert_array_equal(np.asarray(leaves[position].grad), wanted, strict=True)
    fixed = [tl.tensor(x) for x in arrays]

    def of_one(x: Any) -> Any:
        return loss(*(x if i == position else other for i, other in enumerate(fixed)))

    value, pull_back = tl.vjp(of_one, fixed[position])
    (gradient,) = pull_back(tl.tensor(np.ones(())))
    np.testing.assert_array_equal(np.asarray(gradient), wanted, strict=True)
    # An op that differentiates through its body is run by the body here, else by its kernel.
    np.testing.assert_allclose(value.item(), loss(*fixed).item(), rtol=1e-12)


@pytest.mark.parametrize(("case", "position"), FLOWING, ids=label)
def test_gradients_have_the_dtype_of_their_inputs(case: Case, position: int) -> None:
    """One input in float32 among those in float64, and the other way round."""
    for own, others in (("float32", "float64"), ("float64", "float32")):
        tensors = [
            tl.tensor(x.astype(own if i == position else others))
            if x.dtype.kind == "f"
            else tl.tensor(x)
            for i, x in enumerate(case.inputs)
        ]
        gradient = tl.grad(loss_of(case), argnums=position)(*tensors)
        assert (gradient.dtype.name, gradient.shape) == (own, case.inputs[position].shape)


@pytest.mark.parametrize(
    "entry",
    [
        entry
        for entry in SCALARS
        if is_differentiable(entry) and all(arg.category.rank >= 2 for arg in entry.args)
    ],
    ids=name_of,
)
def test_tiles_do_not_change_gradients(entry: Entry) -> None:
    """The tails of loops are compiled apart, and may contract other products than their middles."""
    inputs = inputs_of(entry, [(2100,)] * len(entry.args), "float32", np.random.default_rng(9))
    places = [i for i in range(len(inputs)) if has_gradient(Case(entry, tuple(inputs)), i)]

    def gradients(part: slice) -> list[Array]:
        def total(*xs: Any) -> Any:
            out = function_of(entry)(*xs)
            outputs = out if isinstance(out, tuple) else (out,)
            return functools.reduce(
                lambda a, b: a + b, (tl.functional.sum(as_real(y)) for y in outputs)
            )

        found = tl.grad(total, argnums=tuple(places))(*(tl.tensor(x[part]) for x in inputs))
        return [np.asarray(gradient) for gradient in found]

    whole = gradients(slice(None))
    pieces = [gradients(slice(i, i + 37)) for i in range(0, 2100, 37)]
    for own, parts in zip(whole, zip(*pieces, strict=True), strict=True):
        np.testing.assert_array_equal(np.concatenate(parts), own)


@pytest.mark.parametrize(("case", "position"), STOPPED, ids=label)
def test_what_is_not_differentiable_gives_no_gradient(case: Case, position: int) -> None:
    if case.inputs[position].dtype.kind != "f":
        pytest.skip("the example gives it integers")
    tensors = [tl.tensor(x, requires_grad=i == position) for i, x in enumerate(case.inputs)]
    out = function_of(case.entry)(*tensors, **case.attrs)
    for output in out if isinstance(out, tuple) else (out,):
        if output.requires_grad:  # for the sake of other arguments, which may have one
            assert is_differentiable(case.entry)
            tl.functional.sum(output).backward()
            assert tensors[position].grad is None
            continue
        with pytest.raises(tl.AutodiffError, match="carries no gradient"):
            tl.functional.sum(output).backward()


def test_an_argument_that_no_gradient_reaches_gets_zeros() -> None:
    a, b = tl.tensor([1.0, 2.0]), tl.tensor([[3.0]])
    gradients = tl.grad(lambda a, b: tl.functional.sum(a), argnums=(0, 1))(a, b)
    assert [g.tolist() for g in gradients] == [[1.0, 1.0], [[0.0]]]
    _, pull_back = tl.vjp(lambda a, b: a, a, b)
    assert [g.tolist() for g in pull_back(a)] == [[1.0, 2.0], [[0.0]]]


def test_only_ops_of_this_tape_are_blamed_for_cutting_it() -> None:
    with pytest.raises(tl.AutodiffError, match=r"floor .*cut the tape"):
        tl.grad(lambda x: tl.functional.sum(tl.functional.floor(x)))(tl.tensor([1.5]))
    assert tl.grad(lambda x: tl.tensor(1.0))(tl.tensor([1.5])).tolist() == [0.0]


def test_where_takes_no_gradient_from_the_branch_not_chosen() -> None:
    def root_or_self(x: Any) -> Any:
        return tl.functional.where(x > 0, tl.functional.sqrt(x), x)

    assert tl.grad(root_or_self)(0.0).item() == 1.0
    assert tl.grad(root_or_self)(4.0).item() == 0.25


SINGULAR: dict[str, tuple[Callable[[Any], Any], float]] = {
    "log": (tl.functional.log, 0.0),
    "log of a negative number": (tl.functional.log, -1.0),
    "log1p": (tl.functional.log1p, -1.0),
    "log2": (tl.functional.log2, 0.0),
    "log10": (tl.functional.log10, 0.0),
    "sqrt": (tl.functional.sqrt, 0.0),
    "sqrt of a negative number": (tl.functional.sqrt, -1.0),
    "rsqrt": (tl.functional.rsqrt, 0.0),
    "reciprocal": (tl.functional.reciprocal, 0.0),
    "asin": (tl.functional.asin, 1.0),
    "acos": (tl.functional.acos, -1.0),
    "acosh": (tl.functional.acosh, 1.0),
    "atanh": (tl.functional.atanh, 1.0),
    "quotient": (lambda x: 1.0 / x, 0.0),
    "quotient of zeros": (lambda x: x / x, 0.0),
    "power": (lambda x: x**0.5, 0.0),
    "atan2": (lambda x: tl.functional.atan2(x, 0.0), 0.0),
    "hypot": (lambda x: tl.functional.hypot(x, 0.0), 0.0),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_cotangent_of_zero_gives_zero_where_the_slope_is_singular(name: str) -> None:
    function, at = SINGULAR[name]

    def line(x: Any) -> Any:
        return tl.functional.where(x == at, 3 * x, function(x))

    assert tl.grad(line)(at).item() == 3.0
    assert tl.grad(tl.grad(line))(at).item() == 0.0


def test_where_the_cotangent_is_zero_the_second_derivative_is_not() -> None:
    # (sqrt(x) - 2) ** 2 has its minimum at 4; its second derivative there is x ** -1.5.
    def bowl(x: Any) -> Any:
        return tl.functional.square(tl.functional.sqrt(x) - 2)

    assert tl.grad(bowl)(4.0).item() == 0.0
    assert tl.grad(tl.grad(bowl))(4.0).item() == 0.125


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_products_have_gradients_beside_zeros(zeros: int, axis: int | None) -> None:
    x = np.random.default_rng(1).uniform(0.5, 1.5, (3, 4))
    x.ravel()[[5, 6, 9][:zeros]] = 0.0
    prod = next(e for e in REDUCTIONS if e.name == "prod")
    case = Case(prod, (x,), {"axis": axis})
    test_gradients_are_those_of_finite_differences(case, 0)


@pytest.mark.parametrize("name", ["max", "min", "maximum", "minimum"])
def test_equal_ones_share_the_gradient(name: str) -> None:
    function = getattr(tl.functional, name)
    if name in ("max", "min"):
        gradient = tl.grad(function)(tl.tensor([2.0, 2.0, 2.0, 2.0]))
        assert gradient.tolist() == [0.25] * 4
        return
    gradients = tl.grad(lambda a, b: tl.functional.sum(function(a, b)), argnums=(0, 1))(
        tl.tensor([1.0]), tl.tensor([1.0])
    )
    assert [g.item() for g in gradients] == [0.5, 0.5]

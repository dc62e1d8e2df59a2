"""Numbers with a fraction that are calculated from sizes, and what is rounded of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.forms_of_sizes import FORMS

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import Listing, jit

USES: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: F.sum(x) / x.shape[0],
    "reciprocal": lambda x: x * (1.0 / x.shape[0]),
    "root": lambda x: x / x.shape[0] ** 0.5,
    "half": lambda x: x * (x.shape[0] / 2),
    "half minus": lambda x: (x.shape[0] / 2 - 0.25) - x,
    "power of a tensor": lambda x: F.abs(x) ** (x.shape[0] / 4),
    "linspace": lambda x: x + F.linspace(0, 1, x.shape[0]),
    "linspace without its end": lambda x: x + F.linspace(0.0, 2.5, x.shape[0], endpoint=False),
    "end of linspace": lambda x: F.linspace(0, x.shape[0] / 2, 5),
    "full": lambda x: F.full((3,), x.shape[0] / 2),
    "arange": lambda x: F.arange(0.0, x.shape[0] / 2, 0.25),
    "bounds": lambda x: F.clip(x, -1.0 / x.shape[0], x.shape[0] / 4),
    "part": lambda x: x[: math.floor(x.shape[0] * 0.75)],
    "rounded": lambda x: tl.zeros((round(x.shape[0] / 3) + 1,)),
    "above": lambda x: x[math.ceil(x.shape[0] / 3) - 1 :],
    "mask": lambda x: F.where(F.arange(x.shape[0]) < 0.5 * x.shape[0], x, 0.0),
    "decay": lambda x: x * 0.9 ** (x.shape[0] * 1.0),
    "saturated": lambda x: x * (1e300 ** (1.0 / x.shape[0])) ** 0.01,
    "vanishing": lambda x: x + 0.5 ** (x.shape[0] * 1.0),
    "slope": lambda x: tl.grad(lambda z: F.sum(z * z) / (z.shape[0] / 3))(x),
    "slope of a power": lambda x: tl.grad(lambda z: F.sum(F.abs(z) ** (z.shape[0] / 2)))(x),
    "jacobian": lambda x: tl.jacrev(lambda z: z * F.sum(z) / z.shape[0])(x),
    "jacobian by columns": lambda x: tl.jacfwd(lambda z: z * F.sum(z))(x),
    "jacobians of several": lambda x: F.concat(
        [F.reshape(j, (-1,)) for j in tl.jacrev(lambda z: (z * z, F.sum(z)))(x)]
    ),
    "hessian": lambda x: tl.hessian(lambda z: F.sum(z**3))(x),
    "examples": lambda x: tl.vmap(lambda row: row * (x.shape[0] / 2))(x),
    "twice": lambda x: x * (x.shape[0] / 2) * 3.0 * (x.shape[0] / 2),
    "division of divisions": lambda x: x * ((x.shape[0] // 2) / (x.shape[0] + 1.5)),
    "padding": lambda x: F.pad(x, (1, 2), value=x.shape[0] / 8),
    "loop": lambda x: F.while_loop(
        lambda c: c[1] < 3, lambda c: (c[0] * (x.shape[0] / 2), c[1] + 1), (x, tl.tensor(0))
    )[0],
    "branch": lambda x: F.cond(
        F.sum(x) > -1e9, lambda: x * (x.shape[0] ** 0.5), lambda: x / x.shape[0] ** 2.0
    ),
}  # fmt: skip
SIZES = (3, 4, 7, 16)


def drawn(size: int) -> Any:
    return tl.tensor(np.random.default_rng(size).uniform(0.1, 1.0, size).astype(np.float32))


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("name", sorted(USES))
def test_what_is_calculated_from_a_size_is_that_of_each_size(name: str, form: str) -> None:
    use = USES[name]
    call = FORMS[form](use, (None,))
    for size in (*SIZES, *SIZES):
        x = drawn(size)
        found, wanted = np.asarray(call(x)), np.asarray(use(x))
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, 2e-5, 1e-6, strict=True, err_msg=f"{size}")


def converted(x: Any) -> Any:
    n = x.shape[0]
    return (
        x * math.sqrt(n) + math.log(n + 1) + float(n) + int(n / 2) + min(n, 5) + max(4, n),
        x[: int(n * 0.5)],
        x[min(n, 4) - 1 :],
    )


def test_functions_of_python_are_ours_in_code_that_is_converted() -> None:
    call = jit.to_static(input_spec=[jit.InputSpec((None,))])(converted)
    for size in SIZES:
        for found, wanted in zip(call(drawn(size)), converted(drawn(size)), strict=True):
            np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), 1e-5, strict=True)
    assert len(call.programs()) == 1


@pytest.mark.parametrize(
    "use",
    [
        lambda x: F.dropout(x, p=1.0 / x.shape[0], seed=1),
        lambda x: F.layer_norm(x, tl.ones(x.shape), tl.zeros(x.shape), eps=1.0 / x.shape[0]),
        lambda x: F.var(x, correction=x.shape[0] / 4),
    ],
)
def test_a_rule_that_calculates_with_such_a_number_is_refused_or_right(use: Any) -> None:
    def slope(x: Any) -> Any:
        tl.manual_seed(1)
        return tl.grad(lambda z: F.sum(use(z) ** 2))(x)

    listing = Listing()
    try:
        y = slope(tl.Tensor(listing.input("x", (None,))))
        found = {size: np.asarray(listing.run(y, drawn(size))) for size in SIZES}
    except tl.TensorlikeError as error:
        assert "fraction that follows from a size" in str(error) or "drawn" in str(error)
        return
    for size in SIZES:
        np.testing.assert_allclose(found[size] != 0, np.asarray(slope(drawn(size))) != 0)


def test_python_has_no_float_of_a_size() -> None:
    n = Listing().input("x", (None,)).shape[0]
    for wrong in (lambda: math.sqrt(n), lambda: float(n), lambda: math.log(n / 2)):
        with pytest.raises(tl.ShapeError, match=r"n \*\* 0.5 for math.sqrt"):
            wrong()
    assert repr(n / 2) == "x.shape[0] / 2"


def test_such_numbers_are_compared_and_the_answers_are_held() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", ("n",)))
    y = x * 2 if x.shape[0] / 2 > 2.5 else x
    assert "assumes 2.5 < n / 2" in str(listing)
    assert listing.run(y, drawn(6)).shape == (6,)
    with pytest.raises(tl.ShapeError, match=r"2.5 < n / 2 is true"):
        listing.run(y, drawn(5))


def test_programs_show_what_such_attributes_are() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", ("n",)))
    _ = F.full((2,), x.shape[0] / 2 + 0.5), x[: math.floor(x.shape[0] ** 0.5)]
    text = str(listing)
    assert "fill_value=n / 2 + 0.5" in text and "floor(n ** 0.5)" in text


def test_nan_stands_for_no_size() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", ("n",)))
    y = x * (1.5 / x.shape[0])
    assert np.isnan(F.full((2,), math.nan).numpy()).all()
    assert np.isnan((drawn(3) * math.nan).numpy()).all()
    assert listing.run(y, drawn(6)).shape == (6,)

"""What ops that sort, search and go along axes say about input that they cannot take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional
ALONG = ["sort", "argsort", "cumulative_sum", "cumulative_prod", "var", "std", "argmax", "argmin"]


@pytest.mark.parametrize("name", ALONG)
def test_an_axis_out_of_range_is_refused(name: str) -> None:
    x = tl.tensor(np.ones((2, 3)))
    for axis in (2, -3, 2**62, -(2**63)):
        with pytest.raises(tl.IndexRangeError, match=r"axis must be in \[-2, 1\]; got axis="):
            getattr(F, name)(x, axis=axis)
    with pytest.raises(tl.IndexRangeError, match="a zero-dimensional tensor has no axis"):
        getattr(F, name)(tl.tensor(1.0), axis=0)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_a_scan_goes_along_one_axis(name: str) -> None:
    call = getattr(F, name)
    for axis in (None, (0,), (0, 1)):
        with pytest.raises(tl.ShapeError, match=f"^{name}: axis must be one integer, or None"):
            call(tl.tensor(np.ones((2, 3))), axis=axis)
    with pytest.raises(tl.ShapeError, match=f"^{name}: axis must be one integer, or None"):
        call(tl.tensor(1.0))
    with pytest.raises(tl.DTypeError, match=f"^{name}: dtype must be numeric; got bool"):
        call(tl.tensor([1.0]), dtype=tl.bool_)


@pytest.mark.parametrize("name", ["var", "std"])
def test_moments_refuse_an_axis_named_twice_and_odd_corrections(name: str) -> None:
    call = getattr(F, name)
    x = tl.tensor(np.ones((2, 3)))
    with pytest.raises(tl.ShapeError, match="an axis may be named once"):
        call(x, axis=(0, -2))
    for correction in (np.nan, np.inf):
        with pytest.raises(tl.ParameterError, match=r"isfinite\(correction\) must hold"):
            call(x, correction=correction)
    assert np.isnan(call(tl.tensor(np.ones((0,)))).item())
    assert call(x, axis=1, correction=7).tolist() == pytest.approx([np.nan] * 2, nan_ok=True)
    assert call(tl.tensor(np.ones((0, 3))), axis=1).shape == (0,)
    assert call(x, axis=()).tolist() == np.zeros((2, 3)).tolist()


@pytest.mark.parametrize("k", [-1, 4, 2**62, -(2**63)])
def test_topk_takes_no_more_than_there_is(k: int) -> None:
    with pytest.raises(
        tl.ShapeError,
        match=r"^TopK: min\(k, skip\) >= 0 and k \+ skip <= shape\(x\)\[axis\] must hold",
    ):
        F.topk(tl.tensor([1.0, 2.0, 3.0]), k=k)


def test_searchsorted_refuses_what_has_no_meaning() -> None:
    x = tl.tensor([1.0, 2.0, 3.0])
    cases: list[tuple[Any, str, tuple[Any, ...], dict[str, Any]]] = [
        (
            tl.ShapeError,
            r"x2.shape must be \(\*S, m\) beside x1 \(\*S, n\)",
            (tl.tensor(np.ones((2, 2))), x),
            {},
        ),
        (tl.ShapeError, r"x1.shape\[0\] must equal sorter.shape\[0\]", (x, x, tl.tensor([0])), {}),
        (tl.ParameterError, "side must be 'left' or 'right'; got 'up'", (x, x), {"side": "up"}),
        (tl.DTypeError, "sorter must be integer", (x, x, x), {}),
    ]
    for error, text, args, attrs in cases:
        with pytest.raises(error, match=f"^SearchSorted: {text}"):
            F.searchsorted(*args, **attrs)
    for wrong in (3, -1, 2**62):
        with pytest.raises(tl.IndexRangeError, match="sorter must hold positions of x1"):
            F.searchsorted(x, x, tl.tensor([0, 1, wrong]))
    empty = tl.tensor(np.ones(0))
    assert F.searchsorted(empty, x).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["unique_values", "unique_counts", "unique_inverse", "unique_all"])
def test_unique_needs_the_elements(name: str) -> None:
    with pytest.raises(tl.ShapeError, match=f"^{name}: the shape of the result depends on the"):
        getattr(F, name)(tl.ShapeTensor((3,), tl.float32))
    first = getattr(F, name)(tl.tensor(np.ones((2, 0))))
    assert (first[0] if isinstance(first, tuple) else first).shape == (0,)
    zero_dimensional = getattr(F, name)(tl.tensor(5.0))
    values = zero_dimensional[0] if isinstance(zero_dimensional, tuple) else zero_dimensional
    assert values.tolist() == [5.0]


def test_nan_differs_from_itself_and_zeros_are_equal() -> None:
    x = tl.tensor([np.nan, 0.0, -0.0, np.nan])
    values, counts = F.unique_counts(x)
    np.testing.assert_array_equal(np.asarray(values), np.array([0, np.nan, np.nan], np.float32))
    assert counts.tolist() == [2, 1, 1]


def test_a_running_product_has_a_gradient_beside_zeros() -> None:
    rng = np.random.default_rng(4)
    for zeros in ([0], [2], [4], [1, 3], [0, 1, 4]):
        x = rng.uniform(0.5, 1.5, 5)
        x[zeros] = 0.0
        weights = rng.normal(size=5)

        def loss(x: Any, weights: Any = weights) -> Any:
            return F.sum(F.cumulative_prod(x) * tl.tensor(weights))

        gradient = np.asarray(tl.grad(loss)(tl.tensor(x)))
        for i in range(5):
            step = np.eye(5)[i] * 1e-6
            slope = (loss(tl.tensor(x + step)) - loss(tl.tensor(x - step))).item() / 2e-6
            assert gradient[i] == pytest.approx(slope, abs=1e-7)


def test_equal_elements_have_a_standard_deviation_with_slope_zero() -> None:
    gradient = tl.grad(lambda x: F.std(x))(tl.tensor([2.0, 2.0, 2.0]))
    assert gradient.tolist() == [0.0, 0.0, 0.0]


def test_sorting_keeps_each_gradient_with_its_element() -> None:
    x = tl.tensor([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
    weights = tl.tensor([1.0, 10.0, 100.0])
    gradient = tl.grad(lambda x: F.sum(F.sort(x, axis=1) * weights))(x)
    assert gradient.tolist() == [[100.0, 1.0, 10.0], [10.0, 100.0, 1.0]]
    gradient = tl.grad(lambda x: F.sum(F.topk(x, k=2, axis=1)[0]))(x)
    assert gradient.tolist() == [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]

"""Composed calls of statistics, matrices and layout: NumPy's values, differences, vmap.

A table says what NumPy gives; the checks are one for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

NAN = np.nan
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4))
SQUARE = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
WITH_NAN = np.where(np.arange(12).reshape(3, 4) % 5 == 0, NAN, X)
PLACES = np.array([2, 0, 2])
PLACES_OF_VALUES = np.array([0.0, 1.0, 1.5, 4.0])
ROWS = RNG.normal(size=(3, 4))


@dataclass(frozen=True)
class Case:
    """A call of one tensor, what NumPy says, and what is put in."""

    ours: Callable[[Any], Any]
    numpys: Callable[[Any], Any]
    x: Any = None
    slope: bool = True  # whether there is a gradient to compare
    vmap: bool = True

    @property
    def given(self) -> Any:
        return X if self.x is None else self.x


def lower_median(x: Any, axis: Any = None) -> Any:
    """The lower of two."""
    return np.quantile(x, 0.5, axis=axis, method="lower")


CASES: dict[str, Case] = {
    # Statistics.
    "median": Case(lambda x: F.median(x), lower_median),
    "median of rows": Case(lambda x: F.median(x, axis=1), lambda x: lower_median(x, 1)),
    "median of columns": Case(lambda x: F.median(x, axis=0), lambda x: lower_median(x, 0)),
    "median of both": Case(
        lambda x: F.median(x, axis=(0, 1), keepdims=True),
        lambda x: np.reshape(lower_median(x), (1, 1)),
    ),
    "median with nan": Case(
        lambda x: F.median(x, axis=1), lambda x: lower_median(x, 1), WITH_NAN, slope=False
    ),
    "nanmedian": Case(
        lambda x: F.nanmedian(x, axis=1),
        lambda x: np.nanquantile(x, 0.5, axis=1, method="lower"),
        WITH_NAN,
    ),
    "quantile": Case(lambda x: F.quantile(x, 0.3, axis=0), lambda x: np.quantile(x, 0.3, axis=0)),
    "quantiles": Case(
        lambda x: F.quantile(x, [0.0, 0.4, 1.0], axis=1, keepdims=True),
        lambda x: np.quantile(x, [0.0, 0.4, 1.0], axis=1, keepdims=True),
    ),
    **{
        f"quantile {how}": Case(
            lambda x, how=how: F.quantile(x, 0.4, axis=1, interpolation=how),
            lambda x, how=how: np.quantile(x, 0.4, axis=1, method=how),
        )
        for how in ("lower", "higher", "midpoint", "nearest")
    },
    "nanquantile": Case(
        lambda x: F.nanquantile(x, [0.2, 0.7], axis=1),
        lambda x: np.nanquantile(x, [0.2, 0.7], axis=1),
        WITH_NAN,
    ),
    "kthvalue": Case(lambda x: F.kthvalue(x, 2, axis=0)[0], lambda x: np.sort(x, 0)[1]),
    "cov": Case(lambda x: F.cov(x), np.cov),
    "cov of one": Case(lambda x: F.cov(x[0]), lambda x: np.cov(x[0])),
    "cov weighed": Case(
        lambda x: F.cov(
            x, correction=0, fweights=tl.tensor([1, 2, 0, 3]), aweights=tl.tensor([1.0, 0.5, 2, 1])
        ),
        lambda x: np.cov(x, ddof=0, fweights=[1, 2, 0, 3], aweights=[1.0, 0.5, 2, 1]),
    ),
    "corrcoef": Case(lambda x: F.corrcoef(x), np.corrcoef),
    "nansum": Case(lambda x: F.nansum(x, axis=1), lambda x: np.nansum(x, 1), WITH_NAN),
    "nanprod": Case(lambda x: F.nanprod(x, axis=1), lambda x: np.nanprod(x, 1), WITH_NAN),
    "nanmean": Case(lambda x: F.nanmean(x, axis=0), lambda x: np.nanmean(x, 0), WITH_NAN),
    "nanvar": Case(
        lambda x: F.nanvar(x, axis=1, correction=1), lambda x: np.nanvar(x, 1, ddof=1), WITH_NAN
    ),
    "nanstd": Case(
        lambda x: F.nanstd(x, keepdims=True), lambda x: np.nanstd(x, keepdims=True), WITH_NAN
    ),
    "nanmax": Case(lambda x: F.nanmax(x, axis=1), lambda x: np.nanmax(x, 1), WITH_NAN),
    "nanmin": Case(lambda x: F.nanmin(x, axis=1), lambda x: np.nanmin(x, 1), WITH_NAN),
    "nanargmax": Case(
        lambda x: F.nanargmax(x, axis=1), lambda x: np.nanargmax(x, 1), WITH_NAN, slope=False
    ),
    "nanargmin": Case(
        lambda x: F.nanargmin(x, axis=1), lambda x: np.nanargmin(x, 1), WITH_NAN, slope=False
    ),
    "cummax": Case(lambda x: F.cummax(x, axis=1)[0], lambda x: np.maximum.accumulate(x, 1)),
    "cummin": Case(lambda x: F.cummin(x, axis=0)[0], lambda x: np.minimum.accumulate(x, 0)),
    "cumulative_trapezoid": Case(
        lambda x: F.cumulative_trapezoid(x, dx=0.5, axis=1),
        lambda x: np.cumsum((x[:, 1:] + x[:, :-1]) / 4, 1),
    ),
    "renorm": Case(
        lambda x: F.renorm(x, p=2, axis=0, maxnorm=1.0),
        lambda x: x * np.minimum(1, 1 / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-7)),
    ),
    **{
        f"gradient {order}": Case(
            lambda x, order=order: F.stack(
                F.gradient(x, spacing=[0.5, PLACES_OF_VALUES], edge_order=order)
            ),
            lambda x, order=order: np.stack(
                np.gradient(x, 0.5, PLACES_OF_VALUES, edge_order=order)
            ),
        )
        for order in (1, 2)
    },
    "put": Case(
        lambda x: F.put(x, tl.tensor([0, -1]), x[0, 1:3] * 2),
        lambda x: np.concatenate([[2 * x[0, 1]], x.ravel()[1:-1], [2 * x[0, 2]]]).reshape(3, 4),
    ),
    "put added": Case(
        lambda x: F.put(x, tl.tensor([5, 5]), x[0, :2], accumulate=True),
        lambda x: x + np.sum(x[0, :2]) * np.eye(1, 12, 5).reshape(3, 4),
    ),
    # Matrices.
    "diag of a matrix": Case(lambda x: F.diag(x, offset=1), lambda x: np.diag(x, 1)),
    "diag of a vector": Case(lambda x: F.diag(x[0], offset=-2), lambda x: np.diag(x[0], -2)),
    "diagflat": Case(lambda x: F.diagflat(x, offset=1), lambda x: np.diagflat(x, 1)),
    "diag_embed": Case(lambda x: F.diag_embed(x), lambda x: np.stack([np.diag(row) for row in x])),
    "diag_embed in front": Case(
        lambda x: F.diag_embed(x, offset=1, axis1=0, axis2=2),
        lambda x: np.stack([np.diag(row, 1) for row in x], 1),
    ),
    "diagonal": Case(lambda x: F.diagonal(x, offset=-1), lambda x: np.diagonal(x, -1)),
    "diagonal of axes": Case(
        lambda x: F.diagonal(F.reshape(x, (3, 2, 2)), axis1=1, axis2=0),
        lambda x: np.diagonal(x.reshape(3, 2, 2), 0, 1, 0),
    ),
    "trace": Case(lambda x: F.trace(x, offset=1), lambda x: np.trace(x, 1)),
    **{
        f"diagonal_scatter {k}": Case(
            lambda x, k=k: F.diagonal_scatter(x, 2 * F.diagonal(x, offset=k), offset=k),
            lambda x, k=k: np.where(np.eye(3, 4, k) > 0, 2 * x, x),
        )
        for k in (-3, -2, 0, 1, 3, 4)
    },
    "block_diag": Case(
        lambda x: F.block_diag(x, x[0]),
        lambda x: np.block([[x, np.zeros((3, 4))], [np.zeros((1, 4)), x[:1]]]),
    ),
    "logdet": Case(lambda x: tl.linalg.logdet(x), lambda x: np.log(np.linalg.det(x)), SQUARE),
    "solve from the right": Case(
        lambda x: tl.linalg.solve(x, tl.tensor(ROWS[:2, :3]), left=False),
        lambda x: ROWS[:2, :3] @ np.linalg.inv(x),
        SQUARE,
    ),
    "lu without pivots": Case(
        lambda x: F.matmul(*tl.linalg.lu(x, pivot=False)[1:]) + tl.linalg.lu(x, pivot=False).U,
        lambda x: x + unpivoted(x),
        SQUARE,
    ),
    "mvlgamma": Case(
        lambda x: F.mvlgamma(F.abs(x) + 2, 3),
        lambda x: (
            1.5 * np.log(np.pi)
            + np.sum([np.vectorize(math.lgamma)(np.abs(x) + 2 - j / 2) for j in range(3)], 0)
        ),
    ),
    # Layout.
    "flatten": Case(
        lambda x: F.flatten(F.reshape(x, (2, 3, 2)), start_axis=1), lambda x: x.reshape(2, 6)
    ),
    "unflatten": Case(lambda x: F.unflatten(x, 1, (2, -1)), lambda x: x.reshape(3, 2, 2)),
    "swapaxes": Case(lambda x: F.swapaxes(x, 0, -1), lambda x: x.T),
    **{
        f"rot90 {k}": Case(lambda x, k=k: F.rot90(x, k=k), lambda x, k=k: np.rot90(x, k))
        for k in range(-1, 4)
    },
    "rot90 back": Case(lambda x: F.rot90(x, axes=(1, 0)), lambda x: np.rot90(x, 1, (1, 0))),
    "hstack": Case(lambda x: F.hstack([x, x * x]), lambda x: np.hstack([x, x * x])),
    "vstack": Case(lambda x: F.vstack([x[0], x[1]]), lambda x: np.vstack([x[0], x[1]])),
    "dstack": Case(lambda x: F.dstack([x, x * x]), lambda x: np.dstack([x, x * x])),
    "column_stack": Case(
        lambda x: F.column_stack([x[0], x[1]]), lambda x: np.column_stack([x[0], x[1]])
    ),
    "tensor_split": Case(
        lambda x: F.tensor_split(x, 3, axis=1)[0], lambda x: np.array_split(x, 3, 1)[0]
    ),
    "tensor_split at": Case(
        lambda x: F.tensor_split(x, (1, 3), axis=1)[1], lambda x: np.split(x, (1, 3), 1)[1]
    ),
    "chunk": Case(lambda x: F.chunk(x, 3, axis=1)[1], lambda x: x[:, 2:]),
    "sliding_window_view": Case(
        lambda x: F.sliding_window_view(x, (2, 3)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)),
    ),
    "sliding windows by steps": Case(
        lambda x: F.sliding_window_view(x, 2, axis=1, step=2),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 1)[:, ::2],
    ),
    # Written by index.
    "index_add": Case(
        lambda x: F.index_add(x, tl.tensor(PLACES), x * 2, axis=0, alpha=3),
        lambda x: x + 6 * np.array([x[1], 0 * x[1], x[0] + x[2]]),
    ),
    "index_copy": Case(
        lambda x: F.index_copy(x, tl.tensor([2, 0]), x[:2] * 2, axis=0),
        lambda x: np.array([2 * x[1], x[1], 2 * x[0]]),
    ),
    "index_fill": Case(
        lambda x: F.index_fill(x, tl.tensor([2, 0]), 7.0, axis=1),
        lambda x: np.where([1, 0, 1, 0], 7, x),
    ),
}


def unpivoted(x: Any) -> Any:
    """Gauss's elimination."""
    u = np.array(x)
    for i in range(len(u)):
        u[i + 1 :] -= np.outer(u[i + 1 :, i] / u[i, i], u[i])
    return u


@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(name: str) -> None:
    case = CASES[name]
    found, wanted = case.ours(tl.tensor(case.given)), case.numpys(case.given)
    assert tuple(found.shape) == np.shape(wanted)
    np.testing.assert_allclose(np.asarray(found), wanted, 1e-9, 1e-12)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.slope])
def test_gradients_and_tangents_agree_with_differences(name: str) -> None:
    case = CASES[name]
    x = case.given
    shape = tuple(case.ours(tl.tensor(x)).shape)
    weights = tl.tensor(RNG.normal(size=shape))

    def loss(values: Any) -> Any:
        return F.sum(case.ours(values) * weights)

    slopes, step = np.zeros_like(x), 1e-6
    for place in zip(*np.nonzero(~np.isnan(x)), strict=True):
        moved = np.zeros_like(x)
        moved[place] = step
        difference = loss(tl.tensor(x + moved)).item() - loss(tl.tensor(x - moved)).item()
        slopes[place] = difference / (2 * step)
    gradient = np.asarray(tl.grad(loss)(tl.tensor(x)))
    np.testing.assert_allclose(gradient, slopes, 1e-5, 1e-6)
    direction = RNG.normal(size=x.shape)
    _, tangent = tl.jvp(loss, (tl.tensor(x),), (tl.tensor(direction),))
    np.testing.assert_allclose(tangent.item(), np.sum(slopes * direction), 1e-5, 1e-6)


@pytest.mark.parametrize("name", CASES)
def test_vmap_is_a_loop(name: str) -> None:
    case = CASES[name]
    batch = tl.tensor(np.stack([case.given, case.given[::-1], case.given * 2]))
    wanted = np.stack([np.asarray(case.ours(batch[i])) for i in range(3)])
    found = np.asarray(tl.vmap(case.ours)(batch))
    np.testing.assert_allclose(found, wanted, 1e-12, 1e-13)


@pytest.mark.parametrize("name", CASES)
def test_a_listing_records_the_call(name: str) -> None:
    case = CASES[name]
    listing = tl.Listing()
    x = listing.input("x", case.given.shape, dtype="float64")
    assert tuple(case.ours(x).shape) == np.shape(case.numpys(case.given))

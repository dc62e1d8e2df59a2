"""Solvers and alignments, which no op of ONNX computes: elimination and sums as scans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.exported_models import check_known, check_unknown
from support.unknown_sizes import gradients

import tensorlike.functional as F

RNG = np.random.default_rng(4)
SHAPES = [(1, 1), (4, 4), (3, 5, 5), (2, 3, 2, 2)]


def matrices(*shape: int) -> Any:
    """Of small numbers on the diagonal, some of them 0, so that rows must change places."""
    x = RNG.normal(size=shape)
    n = shape[-1]
    if n > 1:
        x[..., np.arange(n), np.arange(n)] *= 0.01
        x[..., 0, 0] = 0
    return x + (n == 1)


def definite(*shape: int) -> Any:
    x = RNG.normal(size=shape)
    return x @ np.swapaxes(x, -1, -2) + 2 * np.eye(shape[-1])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_inverses_and_solutions(shape: tuple[int, ...]) -> None:
    x = matrices(*shape)
    check_known(F.linalg.inv, [x])
    check_known(F.linalg.solve, [x, RNG.normal(size=(shape[-1], 3))])
    check_known(F.linalg.solve, [x, RNG.normal(size=shape[-1])])
    if len(shape) > 2:
        assert check_unknown(F.linalg.inv, [x])
        assert check_unknown(F.linalg.solve, [x, RNG.normal(size=(*shape[:-1], 2))])


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_equations(upper: bool, left: bool, unit: bool) -> None:
    """The other triangle is not read."""
    options = {"upper": upper, "left": left, "unitriangular": unit}

    def call(a: Any, b: Any) -> Any:
        return F.linalg.solve_triangular(a, b, **options)

    a = RNG.uniform(1, 2, (2, 4, 4))
    check_known(call, [a, RNG.normal(size=(2, 4, 4))])
    check_known(call, [a[0], RNG.normal(size=4)])


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors_of_definite_matrices(shape: tuple[int, ...], upper: bool) -> None:
    x = definite(*shape)
    check_known(lambda x: F.linalg.cholesky(x, upper=upper), [x])
    check_known(lambda x: F.linalg.cholesky(x, upper=upper), [x + np.triu(np.ones(shape[-2:]), 1)])
    assert len(shape) == 2 or check_unknown(F.linalg.cholesky, [x])


def test_their_gradients() -> None:
    x = definite(3, 3)
    check_known(gradients(F.linalg.cholesky, [0]), [x])
    check_known(gradients(F.linalg.inv, [0]), [x])
    check_known(gradients(F.linalg.solve, [0, 1]), [x, RNG.normal(size=(3, 2))])


@pytest.mark.parametrize("blank", [0, 2])
def test_alignments_of_all_lengths(blank: int) -> None:
    """No label at all, repeated ones, and more than there are steps, whose loss is infinite."""
    scores = RNG.normal(size=(6, 5, 4))
    log_probs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    labels = np.array([[1, 1, 3], [3, 1, 3], [1, -1, 9], [1, 3, 1], [3, 3, 3]])
    lengths, counts = np.array([6, 5, 4, 2, 3]), np.array([3, 2, 0, 3, 3])

    def call(*xs: Any) -> Any:
        return F.ctc(*xs, blank=blank)

    check_known(call, [log_probs, labels, lengths, counts])

"""The tensor-like that shows where the accuracy of 8-bit products goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from support.declarations import BUILT_IN

import tensorlike as tl
from tensorlike import functional as F
from tensorlike.testing import Compared, ErrorReport, check_tensor_like


def network() -> Any:
    return tl.nn.Sequential(tl.nn.Linear(32, 64, seed=0), tl.tanh, tl.nn.Linear(64, 8, seed=1))


def test_it_is_right_on_every_op() -> None:
    report = check_tensor_like(Compared, names=BUILT_IN, rtol=0.1)
    assert report.is_right and len({finding.call for finding in report.findings}) > 250, report


def test_the_report_tells_what_each_op_adds() -> None:
    x = tl.tensor(np.random.default_rng(0).standard_normal((16, 32), dtype=np.float32))
    report, model = ErrorReport(), network()
    y = model(tl.Tensor(Compared(x, report)))
    first, middle, last = report.rows()
    assert (first.op, middle.op, last.op) == ("Linear", "Elemwise", "Linear")
    assert 1e-3 < first.added < 0.05 and 1e-3 < last.added < 0.05
    assert middle.added < 1e-5 < middle.error  # tanh adds nothing, it passes on what it was given
    assert first.error == first.added  # what it read was exact
    assert last.error > 1e-3
    exact = np.asarray(tl.Tensor(y.detach().__wrapped__.exact))
    np.testing.assert_allclose(exact, model(x).detach(), rtol=1e-4, atol=1e-5)
    assert report.table().splitlines()[1].split()[2] == "Linear"


def test_convolutions_are_taken_for_products_of_bytes() -> None:
    x = tl.tensor(np.random.default_rng(0).standard_normal((2, 8, 12, 12), dtype=np.float32))
    report = ErrorReport()
    tl.nn.Conv2d(8, 6, 3, padding=1, seed=0)(tl.Tensor(Compared(x, report)))
    (row,) = report.rows()
    assert row.op == "Convolution" and 1e-3 < row.added < 0.03


def test_a_row_tells_the_line_of_the_user() -> None:
    report = ErrorReport()
    x = tl.Tensor(Compared(tl.ones((4, 8)), report))
    F.matmul(x, F.ones((8, 8)) / 3)
    (row,) = report.rows()
    assert row.op == "MatMul" and Path(__file__).name in row.line


def test_a_column_with_one_large_weight_is_found() -> None:
    rng = np.random.default_rng(1)
    weight = rng.standard_normal((32, 8)).astype(np.float32)
    large = weight.copy()
    large[0] *= 1000
    x = rng.standard_normal((16, 32)).astype(np.float32)
    x[:, 0] = 0
    added = []
    for w in (weight, large):
        report = ErrorReport()
        F.matmul(tl.Tensor(Compared(x, report)), tl.tensor(w))
        added.append(report.rows()[0].added)
    assert added[1] > 20 * added[0]

"""PyTorch's own database of operators: what share of its checks our functions pass.

`pytest -m slow -s tests/conformance`, where PyTorch 2.13.0 and expecttest are installed, prints the
shares, the names that are missing, and what each failing check says.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]


@pytest.fixture(scope="module")
def report() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of PyTorch
        pytest.importorskip("torch")
        pytest.importorskip("expecttest")
        from torch.testing._internal.common_methods_invocations import op_db

        from conformance.pytorch_runner import run

        found = run(op_db)
    print(found)
    return found


# What was reached; it may rise, and not fall.
@pytest.mark.parametrize(("kind", "least"), [("value", 0.98), ("gradient", 0.98), ("error", 0.98)])
def test_pytorchs_operators_agree(report: Any, kind: str, least: float) -> None:
    assert report.counts[kind] > {"value": 1900, "gradient": 700, "error": 120}[kind]
    assert report.share(kind) >= least, report

"""What numbers a scalar function leaves as they are, it gives back: no kernel, no copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.declarations import ALL_DTYPES, DECLARED, accepts

import tensorlike as tl
from tensorlike import functional as F
from tensorlike.opdecl import DeclarationError
from tensorlike.opdecl.compiler.model import ScalarEntry

KEEPING = [
    entry for entry in DECLARED.entries if isinstance(entry, ScalarEntry) and entry.unchanged
]


def takes_memory(call: Any, x: Any) -> bool:
    before = tl.memory.stats()["allocated"]
    y = call(x)
    assert y.dtype == x.dtype or x.dtype in (tl.complex64, tl.complex128)
    return tl.memory.stats()["allocated"] > before


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d != "bool"])
@pytest.mark.parametrize("entry", KEEPING, ids=lambda entry: entry.name)
def test_the_same_memory_comes_out(entry: ScalarEntry, dtype: str) -> None:
    assert entry.unchanged is not None
    for size in (3, 1 << 16):
        x = tl.astype(tl.ones((size,)), dtype=dtype)
        is_copied = takes_memory(getattr(F, entry.name), x)
        assert is_copied != accepts(entry.unchanged, dtype)


def test_writing_to_the_result_leaves_the_argument() -> None:
    x = tl.tensor([1.0, 2.0])
    y = F.conj(x)
    y[0] = 5.0
    y += 1.0
    assert (x.tolist(), y.tolist()) == ([1.0, 2.0], [6.0, 3.0])


def test_gradients_flow_through() -> None:
    x = tl.tensor([1.0, -2.0])
    slope = tl.grad(lambda x: F.sum(F.positive(F.conj(x)) * F.real(x)))(x)
    assert slope.tolist() == [2.0, -4.0]


def test_the_product_of_vectors_takes_no_memory_for_a_conjugate() -> None:
    x = tl.tensor(np.ones((4, 1 << 18), np.float32))
    F.vecdot(x, x)
    tl.memory.reset_peak()
    before = tl.memory.stats()["allocated"]
    F.vecdot(x, x)
    assert tl.memory.stats()["peak"] - before < 1.5 * 4 * (1 << 20)  # one product, not two


def test_a_declared_function_may_say_so() -> None:
    (function,) = tl.declare(
        '- scalar: kept_if_real\n  args: ["x: numeric"]\n  expr: conj(x)\n'
        "  unchanged: real numeric\n  doc: The conjugate again.\n"
    ).values()
    assert not takes_memory(function, tl.ones((1 << 16,)))
    with pytest.raises(DeclarationError, match="unchanged: only what gives back its one arg"):
        tl.declare(
            '- scalar: of_two\n  args: ["x: numeric", "y: numeric"]\n  expr: x + y\n'
            "  unchanged: numeric\n  doc: A sum.\n"
        )

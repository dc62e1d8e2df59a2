"""Identities are read and checked as bodies are, and hold as far as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.opdecl.compiler import identities
from tensorlike.opdecl.compiler.errors import DeclarationError
from tensorlike.opdecl.compiler.identities import load_identities
from tensorlike.opdecl.compiler.registry import load_builtin
from tensorlike.opdecl.compiler.specs import IdentitySpec

ALL = load_identities(load_builtin())


def test_a_side_that_is_no_body_is_refused(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "FOLDER", tmp_path)
    for text, said in (
        ("- {from: nosuch(x), to: x, holds: exactly}", "nosuch"),
        ("- {from: -(-x), to: x, holds: perhaps}", "holds"),
        ("- {from: -(-x), to: x, holds: exactly, why: so}", "must have from, to, holds"),
    ):
        (tmp_path / "identities.yaml").write_text(text)
        with pytest.raises(DeclarationError, match=said):
            load_identities(load_builtin())


def _sides(identity: IdentitySpec) -> list[str]:
    return [side.strip() for side in identity.text.split(" -> ")]


PLAIN = [
    identity
    for identity in ALL
    if identity.holds == "exactly" and not identity.before.attrs and len(identity.before.args) <= 3
]


@pytest.mark.parametrize("identity", PLAIN, ids=lambda identity: identity.text)
def test_exact_identities_keep_every_bit(identity: IdentitySpec) -> None:
    """Numbers of all kinds: zeros of both signs, infinities, NaN, the smallest and the largest."""
    numbers = np.asarray(
        [0.0, -0.0, 1.0, -1.5, 0.1, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, 7.0], np.float32
    )
    wholes = np.asarray([0, 1, -1, 127, -128, 5], np.int8)
    flags = np.asarray([True, False])
    categories = {arg.name: arg.category for arg in identity.before.args}
    for values in (numbers, wholes, flags):
        grids = np.meshgrid(*[values] * len(categories))
        given = {
            name: tl.tensor(
                flags[np.arange(grid.size) % 2] if category == "boolean" else grid.ravel()
            )
            for (name, category), grid in zip(categories.items(), grids, strict=True)
        }
        try:
            before, after = (
                eval(side, {**vars(F), "shape": lambda x: x.shape}, given)
                for side in _sides(identity)
            )
        except (tl.DTypeError, TypeError):
            continue  # not for numbers of this kind
        if before.dtype == after.dtype and before.shape == after.shape:
            x, y = np.asarray(before), np.asarray(after)
            is_number = x == x
            np.testing.assert_array_equal(is_number, y == y)
            assert x[is_number].tobytes() == y[is_number].tobytes()


def test_there_are_such() -> None:
    assert len(PLAIN) > 20

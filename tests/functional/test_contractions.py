"""`einsum` of generated equations is what NumPy says, for sizes of 0 and 1, diagonals, dtypes and
layouts; an equation is planned once."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F

LETTERS = "abcdef"


def drawn(seed: int) -> tuple[str, list[np.ndarray]]:
    """An equation of one to three parts, and operands."""
    rng = random.Random(seed)
    sizes = {letter: rng.choice((0, 1, 1, 2, 3, 3, 4)) for letter in LETTERS}
    if rng.random() < 0.8:
        sizes = {letter: max(1, size) for letter, size in sizes.items()}
    parts = []
    for _ in range(rng.choice((1, 2, 2, 2, 3))):
        letters = rng.sample(LETTERS, rng.randint(0, 4))
        if letters and rng.random() < 0.2:
            letters.insert(rng.randint(0, len(letters)), rng.choice(letters))
        parts.append("".join(letters))
    used = sorted(set("".join(parts)))
    result = "".join(rng.sample(used, rng.randint(0, len(used))))
    values = np.random.default_rng(seed)
    operands = []
    for part in parts:
        # A size of 1 meets any other, but on a diagonal here.
        shape = [1 if rng.random() < 0.1 and part.count(c) == 1 else sizes[c] for c in part]
        x = values.normal(size=shape)
        operands.append(np.asarray(x[..., ::-1] if shape and rng.random() < 0.2 else x))
    return f"{','.join(parts)}->{result}", operands


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "complex64"])
def test_generated_equations_are_those_of_numpy(seed: int, dtype: str) -> None:
    for each in range(4):
        equation, operands = drawn(4 * seed + each)
        arrays = [(3 * x).astype(dtype) for x in operands]
        full = _spread(equation, arrays)
        with np.errstate(all="ignore"):
            expected = np.einsum(equation, *full, dtype=dtype, casting="unsafe")
        for _ in range(2):  # planned, and then by the plan
            found = F.einsum(equation, *(tl.tensor(x) for x in arrays))
            assert found.shape == expected.shape, equation
            # Sums of integers alone are wider.
            values = np.asarray(found).astype(dtype)
            np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-4, err_msg=equation)


def _spread(equation: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Operands whose sizes of 1 are those that the letters have elsewhere, which NumPy's optimised
    ways refuse."""
    parts = equation.partition("->")[0].split(",")
    sizes: dict[str, int] = {}
    for part, x in zip(parts, arrays, strict=True):
        for letter, size in zip(part, x.shape, strict=True):
            if sizes.get(letter, 1) == 1:
                sizes[letter] = size
    return [
        np.broadcast_to(x, tuple(sizes[letter] for letter in part))
        for part, x in zip(parts, arrays, strict=True)
    ]


@pytest.mark.parametrize(
    ("equation", "calls"),
    [
        ("bij->b", 1),
        ("bij,bjk->bik", 1),
        ("ijk,kl->ijl", 1),
        ("bi,ij,bj->b", 4),
        ("bj,bj->b", 2),
        ("ij,ij->ij", 1),
        ("bhqd,bhkd->bhqk", 2),
        ("i,j->ij", 2),
        ("ab->ab", 0),
    ],
)
def test_an_equation_is_as_few_ops_as_it_can_be(equation: str, calls: int) -> None:
    sizes = dict(zip("abdhijklq", (2, 3, 4, 5, 6, 7, 8, 9, 10), strict=True))
    listing = tl.Listing()
    parts = equation.partition("->")[0].split(",")
    inputs = [listing.input(f"x{i}", tuple(sizes[c] for c in part)) for i, part in enumerate(parts)]
    F.einsum(equation, *inputs)
    assert len(listing.ops) == calls


def test_a_plan_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import opt_einsum

    made: list[Any] = []
    real = opt_einsum.contract_path
    monkeypatch.setattr(
        opt_einsum, "contract_path", lambda *a, **k: made.append(a) or real(*a, **k)
    )
    xs = [tl.ones((3, 5)), tl.ones((5, 7)), tl.ones((7, 11))]
    for _ in range(3):
        F.einsum("xy,yz,zw->xw", *xs)
    assert len(made) == 1
    F.einsum("xy,yz,zw->xw", xs[0], xs[1], tl.ones((7, 12)))
    assert len(made) == 2


def test_dot_products_differentiate() -> None:
    x, y = tl.ones((3, 4)) * 2, tl.ones((3, 4)) * 3
    slopes = tl.grad(lambda x, y: F.sum(F.einsum("bj,bj->b", x, y)), argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(np.asarray(slopes[0]), np.asarray(y))
    np.testing.assert_array_equal(np.asarray(slopes[1]), np.asarray(x))

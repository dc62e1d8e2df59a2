"""Sizes that are to be divisible: programs assume it, say so, and refuse those that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.forms_of_sizes import FORMS, ONE_PROGRAM

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import Listing

# Each wants 4 to divide the first size of (n, 6).
DIVIDED: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: F.sum(F.reshape(x, (-1, 4)), axis=1),
    "reshape of rows": lambda x: F.reshape(x[:, 0], (-1, 4)) * 2,
    "and back": lambda x: F.reshape(F.reshape(x[:, 0], (-1, 4)) * 2, (x.shape[0],)) + x[:, 1],
    "slope": lambda x: tl.grad(lambda z: F.sum(F.max(F.reshape(z[:, 0], (-1, 4)), axis=1) ** 2))(x),
    "size that comes out": lambda x: (
        F.reshape(x[:, 0], (-1, 4)) / F.reshape(x[:, 0], (-1, 4)).shape[0]
    ),
    "unflatten": lambda x: F.unflatten(x, 0, (4, -1)) * 2,
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(F.reshape(x, (1, -1, 6)), 2),
}  # fmt: skip
# And these want nothing.
ANY: dict[str, Callable[[Any], Any]] = {
    "unfold": lambda x: F.unfold(x[None, None], (2, 3), padding=1),
    "unfold in steps": lambda x: F.unfold(x[None, None], 2, stride=2),
    "fold": lambda x: F.fold(F.unfold(x[None, None], 2), x.shape, 2),
    "chunk": lambda x: F.concat([part * i for i, part in enumerate(F.chunk(x, 2))]),
    "tensor_split": lambda x: F.concat([y * i for i, y in enumerate(F.tensor_split(x, 3))]),
    "interpolate": lambda x: F.interpolate(x[None, None], scale_factor=1.5, mode="nearest"),
    "interpolate between": lambda x: F.interpolate(x[None], scale_factor=0.5, mode="linear"),
    "repeat": lambda x: F.repeat(x, x.shape[0] % 3 + 1, axis=1),
    "tile": lambda x: F.tile(x, (1, x.shape[0] % 3 + 1)),
    "bags": lambda x: F.embedding_bag(
        F.astype(x[:, 0] * 0, "int64"), x, F.arange(x.shape[0]) // 2 * 2, mode="sum"
    ),
    "bags of two dimensions": lambda x: F.embedding_bag(
        F.astype(x[:, :2] * 0, "int64") + F.arange(2), x, mode="max", padding_idx=1
    ),
}


def drawn(size: int) -> Any:
    return tl.tensor(np.random.default_rng(size).uniform(0.1, 1.0, (size, 6)).astype(np.float32))


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("name", sorted(DIVIDED))
def test_what_is_to_be_divisible_is_assumed_to_be(name: str, form: str) -> None:
    use = DIVIDED[name]
    call = FORMS[form](use, (None, 6))
    for size in (4, 8, 16, 8):
        np.testing.assert_allclose(
            np.asarray(call(drawn(size))), np.asarray(use(drawn(size))), 1e-5, strict=True
        )
    with pytest.raises(tl.ShapeError) as caught:
        call(drawn(7))
    if form in ONE_PROGRAM:
        assert not any(len(word) > 4 and word.isdigit() for word in str(caught.value).split())


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("name", sorted(ANY))
def test_calls_that_count_parts_take_any_size(name: str, form: str) -> None:
    use = ANY[name]
    call = FORMS[form](use, (None, 6))
    for size in (4, 9, 5, 12, 4):
        np.testing.assert_allclose(
            np.asarray(call(drawn(size))), np.asarray(use(drawn(size))), 1e-5, 1e-6, strict=True
        )


def test_programs_say_what_they_assume() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", ("n", 3)))
    y = F.reshape(x, (-1, 4))
    assert f"assumes (3 * n) % 4 == 0  # Reshape, {__file__}" in str(listing)
    assert listing.run(y, np.ones((8, 3), np.float32)).shape == (6, 4)
    with pytest.raises(tl.ShapeError, match=r"the number of elements must stay the same; got \(2"):
        listing.run(y, np.ones((2, 3), np.float32))

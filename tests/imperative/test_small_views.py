"""Views of small tensors, the short way: as NumPy's, whatever key or shape, again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F

KEYS: list[Any] = [
    0, -1, 1, (0, 1), (1, -2), None, (None, 0), ..., (..., 1), (..., None), slice(1, None),
    (slice(None), 1), (slice(None, None, -1), slice(0, 1)), (), (1, 2, 3), (..., 0, None),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
@pytest.mark.parametrize("layout", ["plain", "transposed", "empty", "recorded"])
def test_keys_select_what_they_select_of_an_array(layout: str, mode: str) -> None:
    array = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    if layout == "empty":
        array = array[:, :0]
    if layout == "transposed":
        array = array.transpose(2, 0, 1)
    with tl.engine.mode(mode):
        x = tl.tensor(array, requires_grad=layout == "recorded")
        for _ in range(3):  # the second time the key is known
            for key in KEYS:
                try:
                    wanted = array[key]
                except IndexError:
                    with pytest.raises(tl.IndexRangeError):
                        x[key]
                    continue
                found = x[key]
                assert found.requires_grad == (layout == "recorded")
                np.testing.assert_array_equal(found.detach().numpy(), wanted)


def test_a_key_that_is_known_serves_every_kind_of_tensor() -> None:
    key = (1, 2)
    x = tl.tensor(np.arange(12.0).reshape(3, 4))
    assert x[key].item() == 6.0
    listing = tl.Listing()
    y = tl.Tensor(listing.input("x", (3, 4), "float64"))[key]
    assert tl.static.CompiledProgram(listing).run(y, x).item() == 6.0
    assert tl.vmap(lambda row: row[key])(tl.tensor(np.ones((5, 3, 4)))).shape == (5,)
    assert tl.grad(lambda z: z[key])(x).sum().item() == 1.0
    assert tl.ShapeTensor((3, 4), "float32")[key].shape == ()


@pytest.mark.parametrize("sizes", [(6, 4), (-1,), (2, 3, 2, 2), (24, 1), (4, -1)])
def test_sizes_one_by_one_or_together(sizes: tuple[int, ...]) -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    x = tl.tensor(array)
    wanted = array.reshape(sizes)
    for found in (
        x.reshape(*sizes), x.reshape(sizes), x.reshape(list(sizes)), x.reshape(shape=sizes),
        x.reshape(*sizes, copy=True), x.reshape(sizes, copy=None), F.reshape(x, sizes),
        tl.Tensor.reshape(x, *sizes), x.view(*sizes),
    ):  # fmt: skip
        np.testing.assert_array_equal(found.numpy(), wanted)
    numbers = [np.int64(size) for size in sizes]
    np.testing.assert_array_equal(x.reshape(*numbers).numpy(), wanted)


def test_axes_one_by_one_or_together() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    x = tl.tensor(array)
    for axes in [(2, 0, 1), (0, 1, 2), (-1, 0, 1)]:
        for found in (x.permute(*axes), x.permute(axes), x.permute(axes=axes), x.transpose(*axes)):
            np.testing.assert_array_equal(found.numpy(), array.transpose(axes))
    np.testing.assert_array_equal(x.T.numpy(), array.T)
    assert tl.tensor(1.0).T.shape == ()


def test_wrong_sizes_are_refused_by_name() -> None:
    x = tl.ones((2, 3))
    for call in (lambda: x.reshape(7), lambda: x.reshape(2, 2), lambda: x.reshape(-1, -1)):
        with pytest.raises(tl.ShapeError, match=r"(?i)^reshape: "):
            call()
    with pytest.raises(tl.ParameterError, match=r"(?i)^reshape: "):
        x.reshape()
    with pytest.raises((tl.ParameterError, tl.DTypeError, tl.ArgumentError)):
        x.reshape(2, 1.5)
    with pytest.raises(tl.ShapeError, match=r"^permute_dims: "):
        x.permute(0, 0)

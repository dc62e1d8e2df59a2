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


# Calls that are one op, of tensors, of shapes and of kinds: what is remembered must be theirs.
VIEWS: dict[str, tuple[Any, Any]] = {
    "squeeze": (lambda x: F.squeeze(x), np.squeeze),
    "squeeze(-1)": (lambda x: x.squeeze(-1), lambda a: np.squeeze(a, range(a.ndim)[-1:][0])),
    "expand_dims": (lambda x: F.expand_dims(x, 1), lambda a: np.expand_dims(a, 1)),
    "expand_dims((0, -1))": (
        lambda x: F.expand_dims(x, axis=(0, -1)), lambda a: np.expand_dims(a, (0, -1))
    ),
    "moveaxis": (lambda x: F.moveaxis(x, 0, -1), lambda a: np.moveaxis(a, 0, -1)),
    "flip": (lambda x: F.flip(x), np.flip),
    "flatten": (lambda x: F.flatten(x), np.ravel),
    "method flatten": (lambda x: x.flatten(-1), lambda a: a.reshape(a.shape or (1,))),
    "swapaxes": (lambda x: F.swapaxes(x, -1, 0), lambda a: np.swapaxes(a, -1, 0)),
    "method swapaxes": (lambda x: x.swapaxes(0, -1), lambda a: np.swapaxes(a, -1, 0)),
    "transpose": (lambda x: x.transpose(), np.transpose),
    "T": (lambda x: x.T, np.transpose),
    "mT": (lambda x: x.mT, lambda a: np.swapaxes(a, -1, -2)),
    "expand": (lambda x: x.expand(3, *x.shape), lambda a: np.broadcast_to(a, (3, *a.shape))),
}  # fmt: skip
SHAPES = [(), (1,), (3,), (2, 3), (3, 2), (1, 3), (3, 1), (2, 1, 3), (0, 2), (1, 0, 1)]


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
@pytest.mark.parametrize("name", VIEWS)
def test_remembered_views_are_those_of_the_shape_at_hand(name: str, mode: str) -> None:
    ours, numpys = VIEWS[name]
    rng = np.random.default_rng(5)
    with tl.engine.mode(mode):
        for shape in [SHAPES[i] for i in rng.integers(len(SHAPES), size=60)]:
            array = rng.normal(size=shape).astype(np.float32)
            array = array.T.copy().T if rng.integers(2) else array
            x = tl.tensor(array, requires_grad=bool(rng.integers(2)))
            try:
                wanted = numpys(array)
            except (ValueError, IndexError):
                with pytest.raises((tl.IndexRangeError, tl.ShapeError)):
                    ours(x)
                continue
            found = ours(x)
            assert found.shape == wanted.shape, shape
            np.testing.assert_array_equal(found.detach().numpy(), wanted)
            if x.requires_grad:
                (found * 2).sum().backward()
                factor = 2 * max(1, wanted.size) // max(1, array.size)
                np.testing.assert_array_equal(x.grad.numpy(), np.full(shape, factor, np.float32))
            if name != "expand" and shape:
                mapped = tl.vmap(ours)(tl.tensor(np.stack([array, array + 1])))
                np.testing.assert_array_equal(mapped[1].numpy(), numpys(array + 1))


def test_remembered_views_of_other_kinds_of_tensors() -> None:
    for name, (ours, numpys) in VIEWS.items():
        for _ in range(2):  # the second time an op is known
            array = np.arange(6.0).reshape(2, 3)
            if "squeeze" in name:
                array = array.reshape(2, 3, 1)
            assert ours(tl.tensor(array)).shape == numpys(array).shape
            listing = tl.Listing()
            y = ours(tl.Tensor(listing.input("x", (None, *array.shape[1:]), "float64")))
            run = tl.static.program_op(listing, y)
            for count in (2, 5):
                given = np.resize(array, (count, *array.shape[1:]))
                np.testing.assert_array_equal(run(tl.tensor(given)).numpy(), numpys(given))
            traced = tl.jit.trace(ours)
            np.testing.assert_array_equal(traced(tl.tensor(array)).numpy(), numpys(array))
            assert (
                ours(tl.Tensor(tl.ShapeTensor(array.shape, "float32"))).shape == numpys(array).shape
            )


def test_created_tensors_are_what_is_asked_for_each_time() -> None:
    for _ in range(3):
        assert F.zeros((2, 3)).dtype is tl.float32
        assert F.zeros((2, 3), dtype="int64").dtype is tl.int64
        assert F.zeros((2, 3), dtype=tl.bool).tolist() == [[False] * 3] * 2
        assert F.ones(2).tolist() == [1.0, 1.0]
        assert F.ones([2]).tolist() == [1.0, 1.0]
        assert F.ones(()).shape == ()
        assert F.empty((0, 4)).shape == (0, 4)
        with pytest.raises(tl.ShapeError, match="zeros"):
            F.zeros((-1, 2))
        x = F.zeros((2,))
        x += 1
        assert F.zeros((2,)).tolist() == [0.0, 0.0]

"""Calls that Python composes take sizes that are not known, and then any size that they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

ROWS = (5, 1, 2, 30, 3)  # on both sides of where `cdist` takes another way
SQUARE = ("n", "n")

CALLS: dict[str, tuple[tuple[Any, ...], Callable[[Any], Any]]] = {
    "cdist": (("n", 4), lambda x: F.cdist(x, x * 2)),
    "cdist of another order": (("n", 4), lambda x: F.cdist(x, x[:1], p=1.0)),
    "median": (("n", 4), lambda x: F.median(x, axis=0)),
    "median of all": (("n", 4), F.median),
    "cov": (("n", 4), lambda x: F.cov(F.permute_dims(x, (1, 0)))),
    "corrcoef": (("n", 4), lambda x: F.corrcoef(F.permute_dims(x[:, :2], (1, 0)))),
    "diag": (("n",), lambda x: F.diag(x, offset=1)),
    "diagonal": (SQUARE, F.diagonal),
    "trace": (SQUARE, F.trace),
    "diff": (("n", 4), lambda x: F.diff(x, axis=0)),
    "meshgrid": (("n",), lambda x: F.concat(F.meshgrid(x, x + 1), axis=0)),
    "broadcast_arrays": (("n", 4), lambda x: F.broadcast_arrays(x[:, :1], x[0])[0]),
    "roll": (("n", 4), lambda x: F.roll(x, (3, -1), axis=(0, 1))),
    "roll by half": (("n", 4), lambda x: F.roll(x, x.shape[0] // 2, axis=0)),
    "shifted spectra": (("n", 4), lambda x: F.fft.fftshift(x, axes=(0,))),
    "roll of all": (("n", 4), lambda x: F.roll(x, 7)),
    "scatter_reduce": (("n", 4), lambda x: F.scatter_reduce(
        F.zeros_like(x), F.reshape(F.arange(x.shape[0]), (-1, 1)), x, axis=0)),
    "sliding_window_view": (("n", 4), lambda x: F.sliding_window_view(x, 1, axis=0)),
    "sliding_window_view in steps": (("n",), lambda x: F.sliding_window_view(x, 1, step=2)),
    "affine_grid": (("n", 2, 3), lambda x: F.affine_grid(x, (x.shape[0], 1, 3, 4))),
    "power of a size": (("n", 4), lambda x: x * x.shape[0] ** 2),
    "rfft": (("n",), lambda x: F.abs(F.fft.rfft(x) + 2)),
    "irfft": (("n",), lambda x: F.fft.irfft(F.fft.rfft(x) * 2, n=x.shape[0])),
    "irfft of both sides": (("n",), lambda x: F.fft.irfft(
        F.exp(F.fft.rfft(x, norm="ortho") * 0.1), n=x.shape[0], norm="ortho")),
    "rfftn": (("n", 4), lambda x: F.abs(F.fft.rfftn(x, axes=(1, 0)) + 2)),
    "eye": (("n", 4), lambda x: F.matmul(F.eye(x.shape[0], x.shape[0] + 1), x[:1] + F.zeros(
        (x.shape[0] + 1, 4)))),
    "segments": (("n", 4), lambda x: F.segment_sum(x, F.arange(x.shape[0]) // 2, x.shape[0])),
    "means of segments": (("n", 4), lambda x: F.segment_mean(x, F.arange(x.shape[0]) // 2,
                                                             x.shape[0] + 1)),
    "strided convolution": ((1, 2, "n", 5), lambda x: F.conv2d(
        x, F.ones((3, 2, 3, 2)), stride=(2, 3), padding=1)),
    "its transpose": ((1, 2, "n", 5), lambda x: F.conv_transpose2d(
        x, F.ones((2, 3, 3, 2)), stride=(2, 3), padding=1)),
    "interpolated behind a stride": ((1, 2, "n", 5), lambda x: F.interpolate(
        x[:, :, ::2], size=x.shape[2:], mode="bilinear")),
    "broadcast_shapes": (("n", 4), lambda x: F.zeros(tl.broadcast_shapes((x.shape[0], 1), (1, 4)))),
}  # fmt: skip
MODES = [
    {"mode": "nearest"}, {"mode": "nearest-exact"}, {"mode": "bilinear"}, {"mode": "bicubic"},
    {"mode": "bilinear", "align_corners": True}, {"mode": "bicubic", "antialias": True},
    {"mode": "bilinear", "antialias": True},
]  # fmt: skip


def _program(shape: Any, function: Callable[[Any], Any]) -> tuple[Any, Any]:
    program = static.Program()
    with static.program_guard(program, static.Program()):
        return program, function(static.data("x", shape))


@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.parametrize("with_gradient", [False, True])
def test_any_number_of_rows_gives_what_the_call_gives(name: str, with_gradient: bool) -> None:
    shape, call = CALLS[name]
    if with_gradient and name in ("broadcast_shapes", "sliding_window_view in steps"):
        return  # of no element; note 13 says why halves have no gradient
    function = tl.grad(lambda x: F.sum(F.tanh(call(x)) ** 2)) if with_gradient else call
    program, y = _program(shape, function)
    for rows in ROWS:
        x = np.random.default_rng(rows).standard_normal([rows if n == "n" else n for n in shape])
        x = x.astype(np.float32)
        wanted = function(tl.tensor(x)).numpy()
        found = static.Executor().run(program, {"x": x}, [y])[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5, err_msg=f"{rows} rows")


@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize("size", ["factor", "known", "unknown"])
def test_images_of_unknown_sizes_are_interpolated(options: dict[str, Any], size: str) -> None:
    def function(x: Any) -> Any:
        if size == "factor":
            return F.interpolate(x, scale_factor=(2, 3), **options)
        given = (5, 9) if size == "known" else (x.shape[3], x.shape[2])
        return F.interpolate(x, size=given, **options)

    program, y = _program((1, 2, "h", "w"), function)
    for h, w in ((4, 7), (8, 8), (2, 1), (1, 40)):
        x = np.random.default_rng(h).standard_normal((1, 2, h, w)).astype(np.float32)
        if options.get("align_corners") and size == "unknown" and 1 in (h, w):
            continue  # a size of one has no step, which is a question for the size
        wanted = function(tl.tensor(x)).numpy()
        found = static.Executor().run(program, {"x": x}, [y])[0]
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("scale", [1.5, 0.5, (2, 1.5), (0.75, 3)])
def test_sizes_are_scaled_by_numbers_with_a_fraction(scale: Any) -> None:
    program, y = _program((1, 2, "h", 4), lambda x: F.interpolate(x, scale_factor=scale))
    for h in (3, 8, 5):
        x = np.random.default_rng(h).standard_normal((1, 2, h, 4)).astype(np.float32)
        (found,) = static.Executor().run(program, {"x": x}, [y])
        np.testing.assert_array_equal(
            found, F.interpolate(tl.tensor(x), scale_factor=scale).numpy()
        )


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (len, "got an integer"), (list, "got an integer"),
        (lambda x: tl.broadcast_shapes(x.shape, (3, 4)), "shapes must broadcast"),
    ],
)  # fmt: skip
def test_what_no_program_can_do_with_a_size_is_said(use: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(tl.ShapeError, match=said):
        _program(("n", 4), use)


@pytest.mark.parametrize("call", [F.segment_max, F.segment_min])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_extremes_of_segments_of_any_number_of_rows_none_included(call: Any, dtype: str) -> None:
    def of(x: Any, ids: Any) -> Any:
        return call(x, ids, 4)

    def slope(x: Any, ids: Any) -> Any:
        return tl.grad(lambda x: F.sum(F.tanh(F.clip(of(x, ids), -9, 9)) ** 2))(x)

    functions = [of, slope] if dtype == "float32" else [of]
    program = static.Program()
    with static.program_guard(program):
        x, ids = static.data("x", (None, 3), dtype), static.data("ids", (None,), "uint8")
        ys = [function(tl.Tensor(x), tl.Tensor(ids)) for function in functions]
    for count in (5, 0, 1, 30, 2):
        rng = np.random.default_rng(count)
        given = rng.integers(-3, 4, (count, 3)).astype(dtype)  # with equal ones
        if dtype == "float32" and count == 30:
            given[rng.integers(0, 30, 4), 0] = np.nan
        names = rng.integers(0, 4, count).astype(np.uint8)
        found = static.Executor().run(program, {"x": given, "ids": names}, ys)
        for function, y in zip(functions, found, strict=True):
            np.testing.assert_array_equal(y, function(tl.tensor(given), tl.tensor(names)).numpy())


@pytest.mark.parametrize("offset", [0, 2, -1])
@pytest.mark.parametrize("shape", [("n", 4), (4, "n")])
def test_a_diagonal_as_long_as_the_known_side_is_that_of_square_matrices_too(
    shape: Any, offset: int
) -> None:
    program, y = _program(shape, lambda x: F.diagonal(x, offset=offset))
    for count in (9, 4 + abs(offset), 4 + (-offset if shape[0] == "n" else offset)):
        x = np.random.default_rng(count).standard_normal(
            [count if size == "n" else size for size in shape], np.float32
        )
        found = static.Executor().run(program, {"x": x}, [y])[0]
        np.testing.assert_array_equal(found, np.diagonal(x, offset))


def test_distances_of_all_pairs_of_any_number_of_rows() -> None:
    def both(x: Any) -> Any:
        return F.pdist(x), tl.grad(lambda z: F.sum(F.pdist(z) ** 2))(x)

    program, (y, slope) = _program(("n", 3), both)
    for rows in (1, 2, 5):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        wanted = both(tl.tensor(x))
        found = static.Executor().run(program, {"x": x}, [y, slope])
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other.numpy(), 1e-5, 1e-6)


def test_bounds_may_be_sizes() -> None:
    program, y = _program(("n",), lambda x: F.clip(x, 0, x.shape[0]))
    assert (
        static.Executor()
        .run(program, {"x": np.arange(3.0, 6.0, dtype=np.float32)}, [y])[0]
        .tolist()
        == [3.0] * 3
    )


def test_a_list_of_sizes_says_how_it_is_made() -> None:
    with pytest.raises(tl.DTypeError, match=r"join tensors: stack\(\[tensor\(x\.shape\[0\]\)"):
        _program(("n",), lambda x: x * tl.tensor([x.shape[0], 1]))


@pytest.mark.parametrize("place", [60_000, 100_000])
def test_an_index_that_sizes_may_not_have_is_refused_in_the_names_of_sizes(place: int) -> None:
    with pytest.raises(tl.IndexRangeError, match=f"index {place} is out of range .* of size n"):
        _program(("n", 3), lambda x: x[place])

"""Convolutions and pooling beyond what the declarations' tables say: bad arguments, gradient ops
called directly, random geometries against the oracle, threads, words for padding, large planes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import EXACT
from support.threads import by_threads

import tensorlike as tl

F = tl.functional
MOST = 2**63 - 1


def values(*shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    return tl.tensor(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def refused(call: Any, *args: Any, match: str | None = None, **attrs: Any) -> None:
    with pytest.raises(tl.ShapeError, match=match) as caught:
        call(*args, **attrs)
    assert "; got " in str(caught.value)


WRONG = {
    "stride": [0, -1, -MOST, (1, 0), (1, 1, 1), ()],
    "dilation": [0, -1, MOST, (1, 0), (1, 1, 1), ()],
    "padding": [-1, -MOST, MOST, 2**62, (1, -1), (1, 1, 1), (), "full"],
    "groups": [0, -1, 3, MOST, -MOST - 1],
}


@pytest.mark.parametrize("name", WRONG)
def test_convolutions_refuse_wrong_attributes(name: str) -> None:
    x, weight = values(1, 4, 5, 5), values(4, 4, 3, 3)
    for wrong in WRONG[name]:
        refused(F.conv2d, x, weight, **{name: wrong})
        refused(F.convolution_weight, x, values(1, 4, 3, 3), kernel=3, **{name: wrong})
        refused(F.conv_transpose2d, x, weight, **{name: wrong})


def test_a_stride_beyond_the_input_leaves_one_window() -> None:
    x, weight = values(1, 1, 5), values(1, 1, 3)
    y = F.conv1d(x, weight, stride=MOST)
    np.testing.assert_allclose(y, F.conv1d(x[:, :, :3], weight))
    assert F.max_pool1d(x, kernel_size=2, stride=MOST).shape == (1, 1, 1)
    refused(F.conv_transpose1d, x, weight, stride=MOST, match="64 bits")


def test_convolutions_refuse_shapes_that_do_not_fit() -> None:
    x, weight = values(2, 4, 5, 5), values(6, 4, 3, 3)
    refused(F.conv1d, x, weight, match="3 dimensions")
    refused(F.conv3d, x, weight, match="5 dimensions")
    refused(F.conv2d, x[0], weight, match="first dimension of 1")
    refused(F.convolution, values(3, 3), weight, match="3 to 5")
    refused(F.conv2d, x, values(6, 3, 3, 3), match="weight.shape")
    refused(F.conv2d, x, values(6, 4, 3), match="weight.shape")
    refused(F.conv2d, x, values(5, 2, 3, 3), groups=2, match="groups must divide")
    refused(F.conv2d, x, values(6, 4, 0, 3), match="kernel must have elements")
    refused(F.conv2d, x, values(6, 4, 6, 3), match="must fit into the padded x")
    refused(F.conv2d, x, weight, dilation=3, match="must fit into the padded x")
    refused(F.conv2d, values(2, 4, 0, 5), weight, match="must fit into the padded x")
    refused(F.conv2d, x, weight, values(5), match="bias")
    refused(F.conv2d, x, weight, values(6, 1), match="bias")
    refused(F.conv2d, x, weight, stride=2, padding="same", match="stride")
    refused(F.convolution, x, weight, spatial=4)
    refused(F.convolution, x, weight, spatial=-1)


def test_transposed_convolutions_refuse_shapes_that_do_not_fit() -> None:
    x, weight = values(2, 4, 5, 5), values(4, 6, 3, 3)
    refused(F.conv_transpose2d, x, values(6, 4, 3, 3), match="weight.shape")
    refused(F.conv_transpose2d, x, weight, output_padding=1, match="less than the stride")
    refused(F.conv_transpose2d, x, weight, output_padding=-1)
    refused(F.conv_transpose2d, x, weight, padding=4, match="padding must be less")
    refused(F.conv_transpose2d, values(2, 4, 0, 5), weight, match="must not be empty")
    refused(F.conv_transpose2d, x, weight, values(4), match="bias")


def test_the_weight_gradient_refuses_what_no_convolution_gives() -> None:
    x = values(2, 4, 5, 5)
    refused(F.convolution_weight, x, values(2, 3, 3, 4), kernel=3, match="gradient must have")
    refused(F.convolution_weight, x, values(1, 3, 3, 3), kernel=3, match="gradient must have")
    refused(F.convolution_weight, x, values(2, 3, 3), kernel=3, match="gradient must have")
    refused(F.convolution_weight, x, values(2, 3, 3, 3), kernel=3, groups=2, match="groups")
    for kernel in (0, -1, 6, MOST, (3,) * 3, ()):
        refused(F.convolution_weight, x, values(2, 3, 3, 3), kernel=kernel)


@pytest.mark.parametrize("call", [F.max_pool2d, F.avg_pool2d], ids=["max", "avg"])
def test_pooling_refuses_wrong_windows(call: Any) -> None:
    x = values(2, 3, 6, 6)
    for wrong in (0, -1, 7, MOST, (2, 0), (1, 2, 3), ()):
        refused(call, x, kernel_size=wrong)
    for wrong in (0, -1, -MOST, (1, 0), (1, 1, 1), ()):
        refused(call, x, kernel_size=2, stride=wrong)
    for wrong in (-1, 2, 3, MOST, (0, -1), (0, 0, 0), ()):
        refused(call, x, kernel_size=3, padding=wrong)
    refused(call, x, kernel_size=2, stride=MOST, ceil_mode=True, match="64 bits")
    refused(call, x[0], kernel_size=2, match="4 dimensions")
    refused(call, values(2, 3, 0, 6), kernel_size=1, match="must not be empty")
    refused(call, x, match="kernel_size must be given")
    assert call(values(0, 3, 6, 6), kernel_size=2).shape == (0, 3, 3, 3)
    assert call(values(2, 0, 6, 6), kernel_size=2).shape == (2, 0, 3, 3)


def test_pooling_has_either_a_window_or_a_result_size() -> None:
    x = values(1, 1, 6)
    refused(F.max_pool, x, match="not both")
    refused(F.avg_pool, x, kernel_size=2, output_size=3, match="not both")
    refused(F.max_pool1d, x, kernel_size=2, dilation=0)
    for wrong in (0, -1, (1, 2), ()):
        refused(F.adaptive_avg_pool1d, x, output_size=wrong)


def test_gradients_of_pooling_refuse_shapes_that_no_pooling_gives() -> None:
    x, dy = values(1, 2, 6), values(1, 2, 3)
    refused(F.max_pool_spread, x, values(1, 2, 2), kernel_size=2, match="gradient.shape")
    refused(F.max_pool_spread, x, values(2, 3), kernel_size=2, match="gradient.shape")
    refused(F.max_pool_select, x, dy, kernel_size=2, match="values.shape")
    refused(F.avg_pool_spread, dy, shape=(1, 2, 7, 1), kernel_size=2)
    refused(F.avg_pool_spread, dy, shape=(1, 2, 9), kernel_size=2, match="gradient.shape")
    for shape in ((1, 2, -6), (1, 2, MOST), (MOST, MOST, 6), (1,), ()):
        with pytest.raises((tl.ShapeError, MemoryError, OverflowError)):
            F.avg_pool_spread(dy, shape=shape, kernel_size=2)


def test_empty_batches_and_channels_give_empty_results() -> None:
    weight = values(3, 2, 3)
    assert F.conv1d(values(0, 2, 5), weight).shape == (0, 3, 3)
    assert F.conv1d(values(1, 2, 5), values(0, 2, 3)).shape == (1, 0, 3)
    y = F.conv1d(values(1, 0, 5), values(2, 0, 3), tl.tensor([1.0, 2.0]))
    assert np.asarray(y).tolist() == [[[1.0] * 3, [2.0] * 3]]
    gradient = F.convolution_weight(values(0, 2, 5), values(0, 3, 3), kernel=3)
    assert np.asarray(gradient).tolist() == np.zeros((3, 2, 3)).tolist()
    assert F.conv1d(values(1, 2, 0), weight, padding=2).shape == (1, 3, 2)


def random_geometry(rng: np.random.Generator) -> tuple[list[Any], dict[str, Any]]:
    """x and weight of a convolution, and its attributes."""
    n = int(rng.integers(1, 4))
    groups, channels = (int(rng.integers(2, 5)), 1) if rng.random() < 0.3 else (1, 3)
    kernel, stride, dilation, padding = (rng.integers(low, 4, n) for low in (1, 1, 1, 0))
    room = np.maximum((kernel - 1) * dilation + 1 - 2 * padding, 1)
    sizes = room + rng.integers(0, {1: 60, 2: 17, 3: 5}[n], n)
    images = int(rng.integers(1, 4))
    x = rng.normal(size=(images, groups * channels, *sizes))
    weight = rng.normal(size=(groups * int(rng.integers(1, 4)), channels, *kernel))
    attrs = {"stride": stride, "padding": padding, "dilation": dilation}
    return [x, weight], {key: tuple(map(int, v)) for key, v in attrs.items()} | {"groups": groups}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(40))
def test_random_geometries_give_what_the_oracle_gives(seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    (x, weight), attrs = random_geometry(rng)
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    wanted = EXACT.call("convolution", x, weight, **attrs)
    gradient = rng.normal(size=wanted.shape)
    kernel = weight.shape[2:]
    calls = [
        ("convolution", (x, weight), {}),
        ("convolution_weight", (x, gradient), {"kernel": kernel}),
        ("convolution_transpose", (gradient, weight), {}),
    ]
    for name, args, more in calls:
        try:
            found = getattr(F, name)(*(tl.tensor(a.astype(dtype)) for a in args), **attrs, **more)
        except tl.ShapeError:
            assert name == "convolution_transpose"  # all of the result is cut off
            continue
        wanted = EXACT.call(name, *args, **attrs, **more)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("channels", "groups", "stride"),
    [(16, 1, (1, 2)), (16, 2, (1, 2)), (16, 16, (1, 2)), (60, 2, 1)],
)
def test_results_do_not_depend_on_the_number_of_threads(
    channels: int, groups: int, stride: Any
) -> None:
    x = values(3, channels, 37, 41, dtype="float32")
    weight = values(2 * channels, channels // groups, 3, 3, dtype="float32", seed=1)
    bias = values(2 * channels, dtype="float32", seed=2)
    attrs = {"stride": stride, "padding": 1, "groups": groups}

    def run() -> list[bytes]:
        y = F.conv2d(x, weight, bias, **attrs)
        parts = [
            y,
            F.convolution_weight(x, y, kernel=3, **attrs),
            F.conv_transpose2d(y, weight, **attrs),
            F.max_pool2d(y, kernel_size=3, stride=2),
            F.avg_pool2d(y, kernel_size=20),
        ]
        return [np.asarray(part).tobytes() for part in parts]

    results = by_threads(run)
    assert results[0] == results[1] == results[2]


def test_padding_may_be_a_word() -> None:
    x, weight = values(2, 3, 8, 7), values(4, 3, 4, 3, seed=1)
    assert F.conv2d(x, weight, padding="same").shape == (2, 4, 8, 7)
    np.testing.assert_array_equal(F.conv2d(x, weight, padding="valid"), F.conv2d(x, weight))
    back = F.conv_transpose2d(F.conv2d(x, weight, padding="same"), weight, padding="same")
    assert back.shape == x.shape


def test_nan_is_the_maximum_and_ties_go_to_the_first() -> None:
    x = tl.tensor([[[1.0, np.nan, 5.0, 5.0, 5.0, -np.inf, -np.inf, -np.inf]]])
    y = np.asarray(F.max_pool1d(x, kernel_size=2))
    np.testing.assert_array_equal(y, [[[np.nan, 5.0, 5.0, -np.inf]]])
    for window in (2, 8):
        dy = tl.tensor(np.ones((1, 1, 8 // window)))
        dx = np.asarray(F.max_pool_spread(x, dy, kernel_size=window)).ravel()
        assert dx.tolist() == ([0, 1, 1, 0, 1, 0, 1, 0] if window == 2 else [0, 1] + [0] * 6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(30))
def test_maxima_of_random_windows(seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    kernel, stride, dilation = (rng.integers(1, most, 2) for most in (8, 4, 3))
    padding = rng.integers(0, kernel // 2 + 1)
    seen = (kernel - 1) * dilation + 1
    size = np.maximum(seen - 2 * padding, 1) + rng.integers(0, 70, 2)
    x = rng.integers(-9, 9, (2, 3, *size)).astype(dtype)
    x[rng.random(x.shape) < 0.01], x[rng.random(x.shape) < 0.02] = np.nan, -np.inf
    sides = ((0, 0), (0, 0), *((int(p), int(p)) for p in padding))
    filled = np.pad(x, sides, constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(filled, tuple(seen), (2, 3))
    windows = windows[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    how = {"kernel_size": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    found = F.max_pool2d(tl.tensor(x), **{key: tuple(map(int, v)) for key, v in how.items()})
    np.testing.assert_array_equal(np.asarray(found), windows.max((4, 5)))


def test_integers_convolve_as_float32_and_their_maxima_are_integers() -> None:
    x, weight = tl.tensor([[[1, 2, 3]]]), tl.tensor([[[1, 1]]])
    y = F.conv1d(x, weight)
    assert (y.dtype.name, y.tolist()) == ("float32", [[[3.0, 5.0]]])
    assert F.avg_pool1d(x, kernel_size=2).dtype.name == "float32"
    largest = F.max_pool1d(x + 2**53, kernel_size=2)
    assert (largest.dtype.name, largest.tolist()) == ("int64", [[[2**53 + 2]]])
    assert F.conv1d(values(1, 1, 3, dtype="float32"), values(1, 1, 2)).dtype.name == "float64"


def test_views_convolve_as_their_copies() -> None:
    x, weight = values(6, 7, 3, 2), values(3, 2, 4, 3, seed=1)
    turned = F.permute_dims(x, axes=(3, 2, 1, 0))
    kernel = F.permute_dims(weight, axes=(2, 0, 1, 3))[:, :, ::-1]
    wanted = F.conv2d(tl.tensor(np.array(turned)), tl.tensor(np.array(kernel)))
    np.testing.assert_array_equal(F.conv2d(turned, kernel), wanted)


def test_long_means_stay_exact() -> None:
    x = np.full((1, 1, 1000, 1000), 0.1, "float32")
    mean = F.adaptive_avg_pool2d(tl.tensor(x), output_size=1).item()
    assert abs(mean - float(np.float32(0.1))) < 1e-8


# Images x channels x sizes, channels of the result, kernel, and attributes: several strips of an
# image, images side by side, a line that is cut, strides and dilations that share factors or not;
# then those of 3x3 windows that are computed in tiles.
LARGE: list[tuple[tuple[int, ...], int, tuple[int, ...], dict[str, Any]]] = [
    ((3, 5, 40, 37), 17, (3, 3), {"padding": 1}),
    ((2, 70, 40, 20), 3, (3, 3), {"padding": (2, 1), "stride": (2, 3)}),
    ((9, 40, 7, 7), 19, (3, 3), {"padding": 1}),
    ((2, 6, 61, 50), 4, (4, 5), {"padding": 2, "stride": (4, 2), "dilation": (2, 3), "groups": 2}),
    ((2, 20, 33, 30), 20, (3, 3), {"padding": 1, "groups": 20}),
    ((2, 20, 33, 30), 40, (5, 3), {"stride": 2, "groups": 20}),
    ((2, 3, 9000), 5, (7,), {"stride": 2, "padding": 3}),
    ((2, 4, 9000), 4, (3,), {"stride": 3, "dilation": 2}),
    ((2, 3, 9, 20, 21), 5, (2, 3, 3), {"padding": 1, "stride": (2, 1, 2)}),
    ((5, 8, 30, 30), 6, (1, 1), {"stride": 2}),
    ((2, 30, 29, 34), 41, (3, 3), {"padding": 1}),
    ((9, 27, 13, 13), 70, (3, 3), {"padding": (2, 0)}),
    ((3, 96, 17, 30), 50, (3, 3), {"groups": 2}),
    ((1, 24, 6, 599), 24, (3, 3), {"padding": 1}),
    ((40, 24, 5, 5), 130, (3, 3), {"padding": 1}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "channels", "kernel", "attrs"), LARGE)
def test_large_convolutions_are_sums_over_windows(
    shape: tuple[int, ...],
    channels: int,
    kernel: tuple[int, ...],
    attrs: dict[str, Any],
    dtype: str,
) -> None:
    spatial = len(kernel)
    x = values(*shape, dtype=dtype)
    weight = values(channels, shape[1] // attrs.get("groups", 1), *kernel, dtype=dtype, seed=1)
    bias = values(channels, dtype=dtype, seed=2)
    y = F.convolution(x, weight, bias, **attrs)
    dy = values(*y.shape, dtype=dtype, seed=3)
    wanted = EXACT.call("convolution", np.asarray(x), np.asarray(weight), np.asarray(bias), **attrs)
    tolerance = 1e-3 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(y, wanted, rtol=tolerance, atol=tolerance)
    # The gradients are the transposes of the same linear map: <dy, y> = <dx, x> = <dw, w>.
    found = tl.vjp(lambda a, b: F.convolution(a, b, **attrs), x, weight)[1](dy)
    product = float(np.vdot(np.asarray(dy), wanted - np.asarray(bias).reshape(-1, *[1] * spatial)))
    for gradient, value in zip(found, (x, weight), strict=True):
        got = float(np.vdot(np.asarray(gradient), np.asarray(value)))
        np.testing.assert_allclose(got, product, rtol=100 * tolerance, atol=100 * tolerance)


def test_tiles_err_as_little_as_sums() -> None:
    x = values(2, 64, 30, 31, dtype="float32")
    weight = values(64, 64, 3, 3, dtype="float32", seed=1)
    exact = np.asarray(F.conv2d(x.astype("float64"), weight.astype("float64"), padding=1))
    squares = F.conv2d((x * x).astype("float64"), tl.ones_like(weight, dtype="float64"), padding=1)
    norms = np.linalg.norm(np.asarray(weight).reshape(64, -1), axis=1)[:, None, None]
    error = np.abs(np.asarray(F.conv2d(x, weight, padding=1)) - exact)
    assert float((error / (np.sqrt(np.asarray(squares)) * norms)).max()) < 2e-7


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_tiles_keep_what_is_not_finite_to_its_windows(value: float) -> None:
    x = np.random.default_rng(0).normal(size=(1, 32, 34, 34)).astype("float32")
    weight = np.asarray(values(32, 32, 3, 3, dtype="float32", seed=1)) / 100
    x[0, 3, 7, 12], x[0, 5, 20, 21], x[0, 5, 20, 23] = value, value, -value
    found = np.asarray(F.conv2d(tl.tensor(x), tl.tensor(weight), padding=1))
    wanted = EXACT.call("convolution", x.astype("float64"), weight.astype("float64"), padding=1)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))
    is_finite = np.isfinite(wanted)
    np.testing.assert_allclose(found[is_finite], wanted[is_finite], rtol=1e-3, atol=1e-3)


# Images, channels of a group in and out, groups, sizes: of fewer tiles than channels come out.
WIDE = [
    (1, 24, 200, 1, 11, 9),
    (2, 40, 90, 1, 8, 8),
    (1, 16, 40, 3, 10, 11),
    (7, 33, 130, 1, 7, 7),
    (1, 130, 512, 2, 14, 13),
    (3, 700, 110, 1, 12, 11),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("images", "inside", "channels", "groups", "height", "width"), WIDE)
def test_a_few_tiles_give_what_many_give(
    images: int, inside: int, channels: int, groups: int, height: int, width: int, dtype: str
) -> None:
    """Of few the weights are transformed panel by panel, of many at first; by any threads."""
    x = values(images, groups * inside, height, width, dtype=dtype)
    weight = values(groups * channels, inside, 3, 3, dtype=dtype, seed=1)
    dy = values(images, groups * channels, height, width, dtype=dtype, seed=2)
    bias = values(groups * channels, dtype=dtype, seed=3)
    many = 1 + 8 * max(inside, channels) // (images * height * width)

    def run(x: Any, dy: Any) -> tuple[bytes, bytes]:
        y = F.conv2d(x, weight, bias, padding=1, groups=groups)
        dx = F.conv_transpose2d(dy, weight, padding=1, groups=groups)
        return np.asarray(y[:images]).tobytes(), np.asarray(dx[:images]).tobytes()

    wanted = run(F.concat([x] * many), F.concat([dy] * many))
    before = tl.num_threads()
    for threads in (1, 2, 5):
        tl.set_num_threads(threads)
        assert run(x, dy) == wanted
    tl.set_num_threads(before)


def test_a_few_tiles_keep_what_is_not_finite_to_its_windows() -> None:
    x = np.random.default_rng(0).normal(size=(2, 24, 9, 8)).astype("float32")
    weight = np.asarray(values(300, 24, 3, 3, dtype="float32", seed=1)) / 100
    x[1, 3, 4, 5] = np.inf
    found = np.asarray(F.conv2d(tl.tensor(x), tl.tensor(weight), padding=1))
    wanted = EXACT.call("convolution", x.astype("float64"), weight.astype("float64"), padding=1)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))

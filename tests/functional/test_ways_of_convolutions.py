"""Every way that may compute a convolution or a gradient of it: against its definition in float64,
on generated shapes; threads; and that the choice between them is the problem's alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.convolutions import convolved
from support.ways import bits, calls_of, check_every_way, wanted, ways_of

from tensorlike import _C

Array = np.ndarray[Any, Any]
ALL = {"strips", "tiles", "pixels", "rows", "blocks", "alone", "dots", "tile dots", "pixel dots",
       "apart", "apart dots", "scattered", "parts", "part dots"}  # fmt: skip


Drawn = tuple[Array, Array, Array, dict[str, Any]]


def drawn(seed: int, dtype: str) -> Drawn:
    """x, weights, bias, and how windows lie."""
    random = np.random.default_rng(seed)
    ndim = (2, 2, 2, 1, 3)[seed % 5]
    kernel = (3,) * ndim if seed % 2 else tuple(int(random.integers(1, 5)) for _ in range(ndim))
    if seed % 7 == 0:
        kernel = (1,) * ndim
    plain = seed % 3 > 0 or kernel == (1,) * ndim
    stride = (1,) * ndim if plain else tuple(int(random.integers(1, 4)) for _ in range(ndim))
    dilation = (1,) * ndim
    if seed % 4 == 1:
        dilation = tuple(int(random.integers(1, 4)) for _ in range(ndim))
    padding = tuple(int(random.integers(0, 3)) if max(kernel) > 1 else 0 for _ in range(ndim))
    most = {1: 60, 2: 20, 3: 7}[ndim]
    sizes = tuple(
        max(int(random.integers(1, most)), (k - 1) * d + 1 - 2 * p)
        for k, d, p in zip(kernel, dilation, padding, strict=True)
    )
    groups = (1, 1, 1, 2, 20)[int(random.integers(5))]
    inner, outer = (1, 1) if groups == 20 else (int(n) for n in random.integers(1, 40, 2))
    images = int(random.integers(1, 4))
    x, w, b = (
        random.standard_normal(shape).astype(dtype)
        for shape in ((images, groups * inner, *sizes), (groups * outer, inner, *kernel),
                      (groups * outer,))
    )  # fmt: skip
    how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return x, w, b, how


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(48))
def test_every_way_gives_what_the_definition_gives(seed: int, dtype: str) -> None:
    x, w, b, how = drawn(seed, dtype)
    check_every_way(x, w, b, how)


# Images, channels in and out, volume, depth of the kernel, and stride, padding and dilation of it.
VOLUMES = [
    (2, 20, 18, (4, 7, 9), 3, 1, 1, 1), (1, 5, 33, (1, 6, 5), 3, 1, 1, 1),
    (3, 4, 17, (5, 8, 6), 3, 2, 1, 1), (2, 17, 3, (7, 4, 5), 3, 1, 2, 2),
    (2, 130, 16, (3, 5, 5), 2, 1, 0, 1), (1, 16, 16, (6, 30, 40), 5, 1, 2, 1),
    (2, 3, 4, (2, 5, 5), 3, 1, 3, 1),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("volume", VOLUMES)
def test_volumes_of_any_depth(volume: Any, dtype: str) -> None:
    images, inner, outer, sizes, depth, stride, padding, dilation = volume
    random = np.random.default_rng(depth)
    x, w, b = (
        random.standard_normal(shape).astype(dtype)
        for shape in ((images, inner, *sizes), (outer, inner, depth, 3, 3), (outer,))
    )
    how = {"stride": (stride, 1, 1), "padding": (padding, 1, 2), "dilation": (dilation, 1, 1)}
    check_every_way(x, w, b, {**how, "groups": 1})
    sees_padding_alone = padding >= (depth - 1) * dilation + 1
    calls = calls_of(x, w, b, {**how, "groups": 1})
    assert ("tiles" in ways_of(calls["forward"])) is not sees_padding_alone


def test_shapes_are_drawn_for_every_way() -> None:
    found: set[str] = set()
    for seed in range(48):
        for call in calls_of(*drawn(seed, "float32")).values():
            found.update(ways_of(call))
    assert found == ALL


def test_the_choice_is_the_same_for_any_threads_and_kept_weights() -> None:
    for seed in range(48):
        calls = calls_of(*drawn(seed, "float32"))
        noted: dict[str, list[Any]] = {}
        for kind, call in calls.items():
            for threads in (1, 2, 5):
                _C.note_ways(True)
                bits(call, threads)
                noted.setdefault(kind, []).append(_C.noted_ways())
            assert noted[kind][0] == noted[kind][1] == noted[kind][2]
        assert noted["forward"][0] == noted["kept"][0]


@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38])
@pytest.mark.parametrize("dilation", [2, 3])
def test_what_is_not_finite_is_seen_by_its_windows_alone(value: float, dilation: int) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 24, 17, 20)).astype(np.float32)
    w = random.standard_normal((26, 24, 3, 3)).astype(np.float32)
    x[1, 3, 8, 11] = value
    how = {"stride": (1, 1), "padding": (2, 1), "dilation": (dilation, dilation), "groups": 1}
    call = calls_of(x, w, np.zeros(26, np.float32), how)["forward"]
    with np.errstate(over="ignore", invalid="ignore"):
        result = convolved(x, w, np.zeros(26), **how).astype(np.float32)
    for way in ways_of(call):
        with wanted(way):
            found = np.asarray(call())
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(result), way)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(result), way)


def test_a_way_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no way sideways"):
        _C.want_way("sideways")

"""The pass "keep": weights are packed and transformed once, and give what they gave before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64", "int32")


def drawn(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(shape)
    if dtype == "complex64":
        x = x + 1j * generator.standard_normal(shape)
    return tl.tensor(4 * x if dtype == "int32" else x).astype(dtype)


def compiled(f: Callable[[Any], Any], shape: tuple[Any, ...], dtype: str = "float32") -> Any:
    """A program that keeps its weights, as a function of its input."""
    listing = tl.Listing()
    y = f(tl.Tensor(listing.input("x", shape, getattr(tl, dtype))))
    program = static.CompiledProgram(listing, ["keep"])
    program.optimised([y])
    return lambda x: program.run(y, x), {report.name: report.changes for report in program.report()}


def same_bits(a: Any, b: Any) -> bool:
    x, y = (np.asarray(z.detach() if isinstance(z, tl.Tensor) else z) for z in (a, b))
    return x.shape == y.shape and x.tobytes() == y.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("size", "inside", "columns"),
    [
        (1, 64, 48),
        (7, 600, 40),
        (40, 33, 1),
        (130, 40, 1030),
        (200, 2100, 30),
        (3, 1025, 1),
        (1024, 60, 70),
        (1500, 33, 1),
    ],
)
def test_products_have_the_same_bits(size: int, inside: int, columns: int, dtype: str) -> None:
    x = drawn((size, inside), dtype, 1)
    whole = drawn((inside + 2, 2 * columns), dtype, 2)
    flat = drawn((inside * columns,), dtype, 3)
    for weight in (
        whole[1:-1, :columns],
        whole[1:-1, ::2],
        whole[:-2, ::-1][:, :columns],
        F.permute_dims(F.reshape(flat, (columns, inside)), (1, 0)),
        F.reshape(flat, (inside, columns)),
    ):
        for f, given in (
            (lambda x, w=weight: x @ w, x),
            (lambda x, w=weight: F.permute_dims(w, (1, 0)) @ x, F.permute_dims(x, (1, 0))),
        ):
            run, _ = compiled(f, given.shape, dtype)
            wanted = f(given)
            for _ in range(2):
                assert same_bits(run(given), wanted)


def test_a_batch_of_weights_a_bias_and_an_activation_have_the_same_bits() -> None:
    x, weights, bias = drawn((5, 20, 40)), drawn((5, 40, 64), seed=1), drawn((64,), seed=2)
    layer = tl.nn.Linear(40, 64)
    for f in (
        lambda x: x @ weights,
        lambda x: F.relu(x @ weights + bias),
        lambda x: F.gelu(layer(x)),
        lambda x: F.einsum("bij,bjk->bik", x, weights),
    ):
        run, changes = compiled(f, x.shape)
        assert changes == {"keep": 1}
        assert same_bits(run(x), f(x))


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d": ((2, 8, 50), (16, 8, 5), {"padding": 2}),
    "one element": ((1, 32, 20, 20), (40, 32, 1, 1), {}),
    "one element, few": ((1, 32, 3, 3), (40, 32, 1, 1), {"stride": 2}),
    "strided": ((1, 16, 17, 17), (24, 16, 3, 3), {"stride": 2, "padding": 1}),
    "whole image": ((6, 16, 5, 5), (64, 16, 5, 5), {}),
    "groups": ((1, 32, 14, 14), (64, 8, 3, 3), {"groups": 4, "padding": 1}),
    "depthwise": ((2, 64, 14, 14), (64, 1, 5, 5), {"groups": 64, "padding": 2}),
    "dilated": ((1, 16, 20, 20), (24, 16, 3, 3), {"dilation": 2}),
    "3d": ((1, 8, 6, 7, 8), (16, 8, 3, 3, 3), {"padding": 1}),
    "many windows": ((2, 8, 50, 50), (16, 8, 5, 5), {"stride": 2, "padding": 2}),
    "few tiles": ((1, 24, 11, 9), (200, 24, 3, 3), {"padding": 1}),
    "tiles": ((3, 24, 14, 14), (200, 24, 3, 3), {"padding": 1}),
    "many tiles": ((1, 24, 50, 50), (40, 24, 3, 3), {"padding": 1}),
}
TILED: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "small images": ((1, 64, 7, 7), (64, 64, 3, 3), {"padding": 1}),
    "odd": ((1, 32, 13, 9), (48, 32, 3, 3), {"padding": 1}),
    "several": ((5, 32, 14, 14), (32, 32, 3, 3), {}),
    "in groups": ((1, 64, 28, 28), (64, 32, 3, 3), {"groups": 2, "padding": 1}),
}


def convolution(name: str) -> tuple[Callable[[Any], Any], Any]:
    shape, of_weight, how = {**CONVOLUTIONS, **TILED}[name]
    call = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(shape)]
    weight, bias = drawn(of_weight, seed=1), drawn((of_weight[0],), seed=2)
    return lambda x: call(x, weight.astype(x.dtype), bias.astype(x.dtype), **how), drawn(shape)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_have_the_same_bits(name: str, dtype: str) -> None:
    f, x = convolution(name)
    x = x.astype(dtype)
    run, _ = compiled(f, x.shape, dtype)
    wanted = f(x)
    for _ in range(2):
        assert same_bits(run(x), wanted)


@pytest.mark.parametrize("name", TILED)
def test_small_images_are_multiplied_by_tiles_and_round_otherwise(name: str) -> None:
    f, x = convolution(name)
    run, _ = compiled(f, x.shape)
    exact = np.asarray(f(x.astype("float64")))
    found = run(x)
    np.testing.assert_allclose(found, exact, 0, 3e-6 * np.abs(exact).max())
    assert same_bits(run(x), found)
    bad = np.asarray(x).copy()
    bad.reshape(-1)[17], bad.reshape(-1)[-1] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        assert np.array_equal(np.isnan(run(tl.tensor(bad))), np.isnan(f(tl.tensor(bad))))


@pytest.mark.parametrize("name", ["strided", "one element", "groups"])
def test_the_transpose_of_a_convolution_has_the_same_bits(name: str) -> None:
    shape, of_weight, how = CONVOLUTIONS[name]
    weight = drawn(of_weight, seed=1)
    y = drawn(F.conv2d(drawn(shape), weight, **how).shape, seed=3)
    run, _ = compiled(lambda y: F.conv_transpose2d(y, weight, **how), y.shape)
    for _ in range(2):
        assert same_bits(run(y), F.conv_transpose2d(y, weight, **how))


def test_one_program_takes_every_size_of_a_batch() -> None:
    layer, image = tl.nn.Linear(300, 70), tl.nn.Conv2d(8, 16, 3, stride=2)
    run, changes = compiled(layer, ("n", 300))
    assert changes == {"keep": 1}
    run_images, _ = compiled(image, ("n", 8, 12, 12))
    for size in (0, 1, 2, 3, 9, 16, 33, 100, 257, 1100, 5):
        x, y = drawn((size, 300), seed=size), drawn((size, 8, 12, 12), seed=size)
        assert same_bits(run(x), layer(x))
        assert same_bits(run_images(y), image(y))


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
def test_each_mode_of_the_engine_gives_the_same(mode: str) -> None:
    first, second = tl.nn.Linear(64, 2000), tl.nn.Linear(2000, 32)
    x = drawn((48, 64))
    run, _ = compiled(lambda x: second(F.relu(first(x))), x.shape)
    wanted = np.asarray(second(F.relu(first(x))).detach())
    with tl.engine.mode(mode, threshold=1):
        for _ in range(3):
            assert same_bits(run(x), wanted)


def test_threads_share_what_is_kept() -> None:
    layer, x = tl.nn.Linear(512, 512), drawn((64, 512))
    run, _ = compiled(layer, x.shape)
    wanted, found = layer(x), []
    threads = [threading.Thread(target=lambda: found.append(run(x))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(same_bits(y, wanted) for y in found)


def test_what_somebody_else_can_write_to_is_copied() -> None:
    memory = np.ones((64, 64), np.float32)
    weight = tl.from_dlpack(memory)
    x = drawn((20, 64))
    run, _ = compiled(lambda x: x @ weight, x.shape)
    wanted = np.asarray(run(x))
    memory[:] = 7
    assert same_bits(run(x), wanted)


def test_arrays_that_were_captured_stay_their_owners() -> None:
    layer, x = tl.nn.Linear(64, 64), drawn((20, 64))
    before = np.asarray(layer.weight.detach()).copy()
    run, _ = compiled(layer, x.shape)
    wanted = np.asarray(run(x))
    optimizer = tl.optim.SGD(layer.parameters(), lr=1.0)
    F.sum(layer(x)).backward()
    optimizer.step()
    assert not np.array_equal(layer.weight.detach(), before)
    assert same_bits(run(x), wanted)


def test_a_result_may_be_what_is_kept() -> None:
    weight, x = drawn((64, 64)), drawn((20, 64), seed=1)
    wanted = np.asarray(weight).copy()
    listing = tl.Listing()
    symbol = tl.Tensor(listing.input("x", x.shape))
    y = symbol @ weight
    program = static.CompiledProgram(listing)
    kept = listing.symbol(listing.capture(weight.__wrapped__))
    _, found = program.run((y, kept), x)
    found = tl.Tensor(found)
    found += 1
    assert same_bits(program.run((y, kept), x)[1], wanted)
    assert same_bits(program.run((y, kept), x)[0], x @ weight)


def test_memory_goes_with_the_program() -> None:
    weight, x = drawn((1024, 1024)), drawn((64, 1024))
    wanted = x @ weight
    before = tl.memory.stats()["allocated"]
    run, _ = compiled(lambda x: x @ weight, x.shape)
    assert same_bits(run(x), wanted)
    assert tl.memory.stats()["allocated"] - before >= 4 << 20
    del run
    assert tl.memory.stats()["allocated"] - before < 1 << 20


MANY: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...], tuple[int, ...]]] = {
    "rows": (F.matmul, (1024, 512), (512, 512)),
    "windows": (lambda x, w: F.conv2d(x, w, stride=2), (5, 256, 32, 32), (128, 256, 3, 3)),
    "tiles": (F.conv2d, (3, 128, 18, 18), (256, 128, 3, 3)),
}


@pytest.mark.parametrize("name", MANY)
def test_what_many_products_read_is_not_kept(name: str) -> None:
    f, shape, of_weight = MANY[name]
    weight, x = drawn(of_weight), drawn(shape, seed=1)
    few = x[: shape[0] // 3]
    run, changes = compiled(lambda x: f(x, weight), ("n", *shape[1:]))
    assert changes == {"keep": 1}
    wanted, of_few = np.asarray(f(x, weight)), np.asarray(f(few, weight))
    before = tl.memory.stats()["allocated"]
    assert same_bits(run(x), wanted)
    assert tl.memory.stats()["allocated"] - before < 1 << 19
    assert same_bits(run(few), of_few)
    assert tl.memory.stats()["allocated"] - before >= 1 << 20
    assert same_bits(run(x), wanted)

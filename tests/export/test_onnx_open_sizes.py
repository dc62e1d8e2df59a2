"""Exported with no size known but those that ONNX needs: every window, index and transform."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest

import tensorlike as tl
import tensorlike.functional as F

IMAGES = ("n", 2, "h", "w")
SHAPES: list[tuple[int, ...]] = [(2, 2, 7, 5), (1, 2, 8, 9), (3, 2, 4, 12), (1, 2, 6, 6)]
Case = tuple[Callable[..., Any], dict[str, Any], list[dict[str, Any]]]


def drawn(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def places(most: int, *shape: int) -> Any:
    return np.random.default_rng(most).integers(-most, most, shape)


def of_images(function: Callable[..., Any]) -> Case:
    return function, {"x": IMAGES}, [{"x": drawn(*shape)} for shape in SHAPES]


def slope(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient by the first argument of a sum that weighs all elements differently."""

    def loss(x: Any, *others: Any) -> Any:
        y = function(x, *others)
        return F.sum(F.tanh(y) * y)

    return lambda x, *others: tl.grad(lambda v: loss(v, *others))(x)


POOLS: dict[str, Callable[[Any], Any]] = {
    "adaptive_avg": lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    "adaptive_avg_1": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_max": lambda x: F.adaptive_max_pool2d(x, (3, 2)),
    "adaptive_max_1": lambda x: F.adaptive_max_pool2d(x, 1),
    "avg": lambda x: F.avg_pool2d(x, 3, stride=2, padding=1),
    "avg_ceil": lambda x: F.avg_pool2d(x, 3, stride=2, ceil_mode=True),
    "avg_ceil_padded": lambda x: F.avg_pool2d(x, 3, stride=3, padding=1, ceil_mode=True),
    "avg_uncounted": lambda x: F.avg_pool2d(x, 2, padding=1, count_include_pad=False),
    "avg_divided": lambda x: F.avg_pool2d(x, 2, divisor_override=3),
    "max": lambda x: F.max_pool2d(x, 3, stride=2, padding=1),
    "max_ceil": lambda x: F.max_pool2d(x, 3, stride=2, padding=1, dilation=2, ceil_mode=True),
    "area": lambda x: F.interpolate(x, size=(3, 2), mode="area"),
}
PARTS: dict[str, Callable[[Any], Any]] = {
    "inner": lambda x: x[:, :, 1:-1, 1:-1],
    "half": lambda x: x[:, :, : x.shape[2] // 2, ::2],
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "corners": lambda x: F.interpolate(x, scale_factor=0.3, mode="bilinear", align_corners=True),
    "smooth": lambda x: F.interpolate(
        x, scale_factor=0.3, mode="bicubic", align_corners=True, antialias=True
    ),
    "to_size": lambda x: F.interpolate(F.max_pool2d(x, 2), size=(x.shape[2], x.shape[3])),
    "skip": lambda x: F.concat(
        [x, F.interpolate(F.max_pool2d(x, 2), scale_factor=3)[:, :, : x.shape[2], : x.shape[3]]],
        axis=1,
    ),
    "rolled": lambda x: F.roll(x, 2, axis=3),
}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "scaled": lambda x: x * x.shape[2] ** -0.5,
    "larger": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
    "smaller": lambda x: F.interpolate(x, scale_factor=0.7, mode="nearest"),
    "steps": lambda x: x * F.linspace(0, 1, x.shape[3]),
    "shares": lambda x: x * F.arange(0, 1, 1 / x.shape[3])[: x.shape[3]],
    "rounded": lambda x: x * (x.shape[2] // 2.5 + x.shape[3] % 3.5 - (x.shape[2] / 3) // 1),
    "powers": lambda x: x * (x.shape[2] ** 2 + round(x.shape[3] / 3)),
    "filled": lambda x: x + F.full((2, 1, 1), x.shape[3] * 0.5),
    "median": lambda x: F.median(x, axis=3),
    "quantile": lambda x: F.quantile(x, 0.3, axis=2),
}
SPECTRA: dict[str, Callable[[Any], Any]] = {
    "irfft": lambda x: tl.fft.irfft(tl.fft.rfft(x)),
    "irfft_n": lambda x: tl.fft.irfft(tl.fft.rfft(x), n=x.shape[-1]),
    "irfftn": lambda x: tl.fft.irfftn(
        tl.fft.rfftn(x, axes=(2, 3)), s=(x.shape[2], x.shape[3]), axes=(2, 3)
    ),
    "power": lambda x: F.real(tl.fft.rfft(x)) ** 2,
}


def of_indices(count: int, *, is_slope: bool) -> Case:
    axes = tuple(range(count))
    sizes = [{"k": 5, "d": (3, 4, 2)}, {"k": 1, "d": (2, 6, 3)}]
    feeds = [
        {"x": drawn(*size["d"]), **{f"i{a}": places(size["d"][a], size["k"], 2) for a in axes}}
        for size in sizes  # type: ignore[index]
    ]
    inputs = {"x": ("a", "b", "c"), **{f"i{a}": (("k", 2), "int64") for a in axes}}

    def gathered(x: Any, *indices: Any) -> Any:
        return F.gather(x, *indices, axes=axes)

    return (slope(gathered) if is_slope else gathered), inputs, feeds


def ctc(steps: int, longest: int) -> dict[str, Any]:
    labels = np.random.default_rng(steps).integers(1, 5, (2, longest))
    lengths = np.array([steps, steps - 1]), np.array([longest, longest - 1])
    return {"x": drawn(steps, 2, 5), "labels": labels, "steps": lengths[0], "counts": lengths[1]}


def ctc_slope(x: Any, labels: Any, steps: Any, counts: Any) -> Any:
    return tl.grad(lambda v: F.ctc_loss(F.log_softmax(v, axis=-1), labels, steps, counts))(x)


def by_brackets(*, is_slope: bool) -> Case:
    """Several indices of unknown sizes in brackets, in front and behind a slice."""
    inputs = {"x": ("a", "b", "c"), **{key: (("k",), "int64") for key in "ij"}}
    feeds = [{"x": drawn(3, 4, 5), "i": places(3, n), "j": places(4, n)} for n in (2, 6)]

    def picked(x: Any, i: Any, j: Any) -> Any:
        return x[i, j] + x[:, j, i][0][:, None] * 2

    return (slope(picked) if is_slope else picked), inputs, feeds


CASES: dict[str, Case] = {
    **{key: of_images(f) for table in (POOLS, PARTS, NUMBERS, SPECTRA) for key, f in table.items()},
    **{
        f"{key}_slope": of_images(slope(f))
        for table in (POOLS, PARTS, NUMBERS, SPECTRA)
        for key, f in table.items()
    },
    "filtered": of_images(lambda x: tl.fft.irfft(tl.fft.rfft(x) * 0.5, n=x.shape[-1])),
    **{f"gather_{n}": of_indices(n, is_slope=False) for n in (1, 2, 3)},
    **{f"gather_{n}_slope": of_indices(n, is_slope=True) for n in (1, 2, 3)},
    "brackets": by_brackets(is_slope=False),
    "brackets_slope": by_brackets(is_slope=True),
    "ctc_slope": (
        ctc_slope,
        {
            "x": ("t", "n", 5), "labels": (("n", "s"), "int64"), "steps": (("n",), "int64"),
            "counts": (("n",), "int64"),
        },
        [ctc(8, 3), ctc(13, 5)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("opset", [18, 21])
@pytest.mark.parametrize("name", CASES)
def test_one_model_is_right_for_all_sizes(name: str, opset: int) -> None:
    function, inputs, feeds = CASES[name]
    model = tl.export.onnx.to_model(function, inputs=inputs, opset=opset)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for feed in feeds:
        wanted = np.array(function(*map(tl.tensor, feed.values())).detach())
        names = [one.name for one in session.get_inputs()]
        (found,) = session.run(None, {key: feed[key] for key in names})
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("shape", [(2, 2, 7, 6), (1, 2, 9, 10), (1, 2, 5, 8)])
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [(2, 3, 1, 2), (3, 3, 1, 2), (2, 2, 1, 1), (3, 2, 1, 3), (2, 3, 0, 1), ((2, 3), (3, 2), 1, 1)],
)
def test_last_windows_that_are_partly_outside(
    kernel: Any, stride: Any, padding: int, dilation: int, shape: tuple[int, ...], is_open: bool
) -> None:
    """Where one size is known and another is not, too; padding may not be as large as windows."""

    def pooled(x: Any) -> Any:
        return F.max_pool2d(x, kernel, stride, padding, dilation=dilation, ceil_mode=True)

    try:
        wanted = np.asarray(pooled(tl.tensor(drawn(*shape))))
    except tl.ShapeError:
        return
    inputs = {"x": (*shape[:3], "w") if is_open else shape}
    # Before opset 22 the standard counted a last window that reads nothing, if a size left it open.
    model = tl.export.onnx.to_model(pooled, inputs=inputs, opset=22 if is_open else 18)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (found,) = session.run(None, {"x": drawn(*shape)})
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.asarray(tl.export.onnx.load(model)(drawn(*shape))), wanted)


def test_a_refusal_names_sizes_and_shows_no_number_that_stands_for_one() -> None:
    def waves(x: Any) -> Any:
        return F.real(F.exp(F.full((x.shape[0], x.shape[1] * 2), 1j)))

    with pytest.raises(tl.ArgumentError, match="what must be ops that ONNX can say") as error:
        tl.export.onnx.to_model(waves, inputs={"x": ("n", "m")})
    assert "shape=(x.shape[0], multiply(2, x.shape[1]))" in str(error.value)
    assert not [word for word in re.findall(r"\d+", str(error.value)) if int(word) > 10_000]

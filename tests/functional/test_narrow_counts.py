"""Half precision over many elements: values and gradients of all calls, against float64.

float16 ends at 65504, so a count of elements, which many meanings divide by, may be more than it
holds. What is told here of each call is found by calling it: of one tensor, or of two alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F

ROWS, COLUMNS = 2, 70_000
LAST = {"float16": 65504.0, "bfloat16": 3.38e38}
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-133}
# Sums in the other order of many roundings, or of what cancels: not of counts.
OTHER = {
    "qr": "a matrix of long rows is factored in half precision",
    "gumbel_softmax": "it draws random numbers",
    "lstsq": "its gradient is as large as the square of a row",
}


def cast(values: Any, dtype: str) -> Any:
    return F.astype(tl.tensor(values), dtype=dtype)


def floats(y: Any) -> list[Any]:
    """The floating-point results of a call."""
    found = list(y) if isinstance(y, (tuple, list)) else [y]
    return [x for x in found if isinstance(x, tl.Tensor) and x.dtype.kind == "floating"]


def calls() -> Iterator[tuple[str, int]]:
    """The calls of one or two tensors alike whose results are not much larger than these."""
    for name in F.__all__:
        function = getattr(F, name)
        for count in (1, 2):
            xs = [cast(np.linspace(0.1, 0.9, 16).reshape(2, 8), "float16") for _ in range(count)]
            try:
                found = floats(function(*xs))
            except (tl.TensorlikeError, TypeError, ValueError, AttributeError, LookupError):
                continue
            if found and sum(y.size for y in found) <= 64 * count:
                yield name, count


def computed(function: Callable[..., Any], arrays: Any, dtype: str) -> tuple[list[Any], list[Any]]:
    """Results and gradients in a dtype, as float64."""
    xs = [cast(x, dtype) for x in arrays]
    for x in xs:
        x.requires_grad = True
    ys = [y for y in floats(function(*xs)) if y.requires_grad]
    rng = np.random.default_rng(1)
    dys = [cast(rng.integers(1, 5, y.shape) / 4.0, dtype) for y in ys]
    found = tl.autograd.grad(ys, xs, dys, allow_unused=True) if ys else ()
    wide = [[None if y is None else y.detach().astype("float64") for y in z] for z in (ys, found)]
    return tuple([None if y is None else np.array(y) for y in z] for z in wide)  # type: ignore[return-value]


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize(("name", "count"), list(calls()))
def test_many_elements_of_half_precision_give_what_float64_does(
    name: str, count: int, dtype: str
) -> None:
    if name in OTHER:
        pytest.skip(OTHER[name])
    rng = np.random.default_rng(0)
    arrays = [
        np.array(cast(rng.uniform(0.1, 0.9, (ROWS, COLUMNS)), dtype).astype("float64"))
        for _ in range(count)
    ]
    function = getattr(F, name)
    try:
        wanted = computed(function, arrays, "float64")
        found = computed(function, arrays, dtype)
    except tl.AutodiffError:
        pytest.skip("it has no gradient")
    for kind, got, true in zip(("result", "gradient"), found, wanted, strict=True):
        for y, z in zip(got, true, strict=True):
            assert (y is None) == (z is None)
            if y is None:
                continue
            holds = np.isfinite(z) & (np.abs(z) <= LAST[dtype])
            most = np.abs(z[holds]).max(initial=0)
            error = np.abs(y - z)[holds].max(initial=0)
            assert error <= 32 * EPS[dtype] * most + 8 * TINY[dtype], (kind, error, most)


@pytest.mark.parametrize("count", [65_503, 65_504, 65_520, 70_000])
def test_a_number_beyond_float16_is_met_in_float32_in_programs_too(count: int) -> None:
    x = np.linspace(-1, 1, count).astype(np.float16)
    main = tl.static.Program()
    with tl.static.program_guard(main, tl.static.Program()):
        t = tl.Tensor(tl.static.data("x", (None,), "float16"))
        t.requires_grad = True
        (slope,) = tl.autograd.grad(F.mean(F.sin(t)) * 1024, t)
    (found,) = tl.static.Executor().run(main, {"x": x}, [slope])
    assert found.dtype == np.float16
    wanted = np.cos(x.astype(float)) * 1024 / count
    np.testing.assert_allclose(found.astype(float), wanted, rtol=2**-8, atol=2**-24)


@pytest.mark.parametrize("weights", [(1, 1, 1), (0, 1, 0), (0, 0, 1), (0, 1, 1)])
def test_the_statistics_of_many_elements_have_their_gradients(weights: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal((70_000, 1)).astype(np.float16)

    def loss(x: Any) -> Any:
        found = F.batch_norm(x, F.ones_like(x[0]), F.zeros_like(x[0]), axes=(0,))
        return sum(F.sum(y * y * y) * (512.0 * w) for y, w in zip(found, weights, strict=True))

    found = np.array(tl.grad(loss)(tl.tensor(x)).astype("float64"))
    wanted = np.array(tl.grad(loss)(tl.tensor(x.astype(np.float64))))
    holds = np.abs(wanted) < LAST["float16"]
    error = np.abs(found - wanted)[holds].max()
    assert error <= 2**-6 * np.abs(wanted[holds]).max() + 2**-24


def test_numbers_of_python_that_float16_does_not_hold_are_what_they_are() -> None:
    """By operators, in place, by calls, of tensors that carry gradients, and in programs."""
    x = F.full(70_000, 0.25, dtype="float16")
    ways: dict[str, Callable[[Any], Any]] = {
        "operator": lambda t: F.sum(t) / t.size,
        "reflected": lambda t: 70_000 / F.sum(t),
        "call": lambda t: F.divide(F.sum(t), 70_000.0),
        "product": lambda t: (t[:3] * 0.001) * 100_000,
        "sum": lambda t: (F.sum(t) + 100_000) - 100_000,
        "equal": lambda t: t[:3] * float("inf") == 70_000,
        "chosen": lambda t: F.where(t[:3] > 0, t[:3], -1e9),
        "largest": lambda t: F.maximum(t[:3], -1e9),
    }
    results = {
        "operator": 0.25, "reflected": 4.0, "call": 0.25, "product": [25.0] * 3, "sum": np.inf,
        "equal": [False] * 3, "chosen": [0.25] * 3, "largest": [0.25] * 3,
    }  # fmt: skip
    for key, way in ways.items():
        wanted = np.array(results[key])
        found = way(x)
        assert found.dtype.name == ("bool" if key == "equal" else "float16"), key
        learnt = tl.tensor(np.array(x), requires_grad=True)
        main = tl.static.Program()
        with tl.static.program_guard(main, tl.static.Program()):
            recorded = way(tl.static.data("x", ("n",), "float16"))
        (run,) = tl.static.Executor().run(main, {"x": np.array(x)}, [recorded])
        with tl.engine.mode("lazy", threshold=1):
            later = np.array(way(x))
        for value in (np.array(found), np.array(way(learnt).detach()), run, later):
            np.testing.assert_allclose(value, wanted, rtol=2e-3, err_msg=key)
    t = F.full(3, 8.0, dtype="float16")
    t /= 80_000
    np.testing.assert_allclose(np.array(t), 1e-4, rtol=2e-3)
    (slope,) = tl.autograd.grad(F.sum(learnt) / 70_000, learnt)
    np.testing.assert_allclose(np.array(slope)[:2], 1 / 70_000, rtol=1e-2)

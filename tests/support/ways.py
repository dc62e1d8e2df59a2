"""Every way that may compute a convolution, one after the other, against its definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from support.convolutions import Array, convolved, gradients
from tensorlike import _C
from tensorlike.static import CompiledProgram


@contextmanager
def wanted(way: str | None) -> Iterator[None]:
    _C.want_way(way)
    try:
        yield
    finally:
        _C.want_way(None)


def ways_of(call: Callable[[], Any]) -> list[str]:
    _C.note_ways(True)
    call()
    _C.note_ways(False)
    return [name for name, *_ in _C.noted_ways()]


def calls_of(x: Array, w: Array, b: Array, how: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """The result, with weights that are kept as well, and both gradients toward dy."""
    weight, bias = tl.tensor(w), tl.tensor(b)
    listing = tl.Listing()
    y = F.convolution(tl.Tensor(listing.input("x", x.shape, x.dtype.name)), weight, bias, **how)
    kept = CompiledProgram(listing, ["keep"])
    dy = tl.tensor(toward(y.shape, x.dtype))

    def slope(of: int) -> Callable[[], Any]:
        operands = [tl.tensor(z, requires_grad=i == of) for i, z in enumerate((x, w))]
        result = F.convolution(*operands, **how)
        return lambda: tl.autograd.grad(result, operands[of], dy, retain_graph=True)[0]

    return {
        "forward": lambda: F.convolution(tl.tensor(x), weight, bias, **how),
        "kept": lambda: kept.run(y, x),
        "image": slope(0),
        "weights": slope(1),
    }


def toward(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.random.default_rng(9).standard_normal(shape).astype(dtype)


def bits(call: Callable[[], Any], threads: int) -> bytes:
    before = tl.num_threads()
    tl.set_num_threads(threads)
    try:
        return np.asarray(call()).tobytes()
    finally:
        tl.set_num_threads(before)


def check_every_way(x: Array, w: Array, b: Array, how: dict[str, Any]) -> set[str]:
    """Results and gradients of all ways beside float64, their bits for several threads and for
    weights that are kept; the ways that there were."""
    dtype = x.dtype
    ways: set[str] = set()
    y = convolved(x, w, b, **how)
    dy = toward(y.shape, dtype)
    results = [y, y, *gradients(x, w, dy, **how)]
    size = convolved(abs(x), abs(w), abs(b), **how)
    sizes = [size, size, *gradients(abs(x), abs(w), abs(dy), **how)]
    unit = float(np.finfo(dtype).eps)
    bits_of: dict[str, bytes] = {}
    for (kind, call), result, size in zip(
        calls_of(x, w, b, how).items(), results, sizes, strict=True
    ):
        for way in ways_of(call):
            ways.add(way)
            with wanted(way):
                found = [bits(call, threads) for threads in (1, 2, 5)]
            assert found[1] == found[0] == found[2], (kind, way)
            if kind in ("forward", "kept"):  # weights are packed the same, for once or for all
                assert bits_of.setdefault(way, found[0]) == found[0], way
            got = np.frombuffer(found[0], dtype).reshape(result.shape)
            spread = size + size.max(initial=0) / 8 + np.finfo(dtype).tiny
            error = abs(got - result) / spread
            assert float(error.max(initial=0)) < 8 * unit, (kind, way)
    return ways

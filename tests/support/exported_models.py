"""Calls exported to ONNX and run in ONNX Runtime, against what they give here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike.export import onnx
from tensorlike.export.onnx.exporter.verifying import session_of

from .unknown_sizes import MISTAKES, choices, leaves, resized

Call = Callable[..., Any]
SIZES = (2, 5)  # of a leading size that is not known
# What ONNX Runtime may be off by: it rounds in another order, and has polynomials of its own.
CLOSE = {"float32": (1e-4, 2e-5), "float64": (1e-6, 1e-9), "float16": (2e-2, 2e-2)}


def narrowed(x: Any) -> Any:
    """Numbers as float32: there are kernels for it of every op."""
    array = np.asarray(x)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def array_of(x: Any) -> Any:
    return np.asarray(x.detach() if isinstance(x, tl.Tensor) else x)


def run_model(model: Any, arrays: list[Any]) -> list[Any]:
    """The results of a model whose inputs are called x0, x1, ..."""
    session = session_of(model)
    names = [given.name for given in session.get_inputs()]
    fed = {f"x{i}": array_of(tl.tensor(x)) for i, x in enumerate(arrays)}
    found: list[Any] = session.run(None, {name: fed[name] for name in names})
    return found


def assert_same(found: Any, wanted: Any) -> None:
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    rtol, atol = CLOSE.get(wanted.dtype.name, (0, 0))
    if wanted.dtype.kind == "f":
        size = np.max(np.abs(np.nan_to_num(wanted, posinf=0, neginf=0)), initial=0)
        np.testing.assert_allclose(found, wanted, rtol, atol * max(1.0, float(size)))
    else:
        np.testing.assert_array_equal(found, wanted)


def model_of(call: Call, arrays: list[Any], chosen: tuple[int, ...] = (), opset: int = 21) -> Any:
    """The model of a call, whose chosen arguments have a leading size that is not known."""
    inputs = {
        f"x{i}": (("n", *x.shape[1:]) if i in chosen else x.shape, tl.tensor(x).dtype)
        for i, x in enumerate(arrays)
    }
    return onnx.to_model(lambda *xs: leaves(call(*xs)), inputs=inputs, opset=opset)


def check_known(call: Call, arrays: list[Any], opset: int = 21) -> Any:
    """Holds the model of a call with known sizes against the call; the model."""
    wanted = [array_of(y) for y in leaves(call(*map(tl.tensor, arrays)))]
    model = model_of(call, arrays, opset=opset)
    for found, want in zip(run_model(model, arrays), wanted, strict=True):
        assert_same(found, want)
    return model


def sized(call: Call, arrays: list[Any]) -> Iterator[tuple[tuple[int, ...], dict[int, Any]]]:
    """Choices of arguments that may have another leading size, and what calls give then."""
    for chosen in choices(arrays):
        found = {}
        for size in SIZES:
            given = [resized(x, size) if i in chosen else x for i, x in enumerate(arrays)]
            try:
                found[size] = given, [array_of(y) for y in leaves(call(*map(tl.tensor, given)))]
            except MISTAKES:
                break
        if len(found) == len(SIZES):
            yield tuple(chosen), found


def check_unknown(call: Call, arrays: list[Any], opset: int = 21) -> bool:
    """Holds the model of a call with an unknown leading size against calls, at two sizes.

    Returns:
        Whether there is a choice of arguments that can be resized, and recorded.
    """
    for chosen, wanted in sized(call, arrays):
        try:
            model_recorded(call, arrays, chosen)
        except MISTAKES:
            continue
        model = model_of(call, arrays, chosen, opset)
        for given, results in wanted.values():
            for found, want in zip(run_model(model, given), results, strict=True):
                assert_same(found, want)
        return True
    return False


def model_recorded(call: Call, arrays: list[Any], chosen: tuple[int, ...]) -> None:
    """Records a call; raises what recording raises."""
    from .unknown_sizes import record

    record(call, arrays, list(chosen))

"""verify_model: a model in ONNX Runtime against the program that it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten
from typing import Any

import numpy as np

from .... import _C
from ....imperative import as_raw_tensor
from ....imperative.sizes import Size
from .recording import Recorded

SIZES = (2, 5, 3, 8, 16, 64, 1)  # that unknown ones get, plus their number, until two were right
_WANTED = 2
_CLOSE: Mapping[str, float] = {"float64": 1e-6, "float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-1}


def verify_model(model: Any, given: Recorded) -> None:
    """Runs a model at two sizes, and holds it against the program.

    Raises:
        ArgumentError: ONNX Runtime refuses the model, or gives something else.
    """
    session = session_of(model)
    read = {one.name for one in session.get_inputs()}
    right, refusal = 0, None
    for size in SIZES:
        if right == _WANTED:
            return
        fed = _arrays(given, size)
        try:
            wanted = _run(given, fed)
        except _C.ShapeError as error:  # sizes that the program itself does not take
            refusal = error
            continue
        try:
            kept = {name: x for name, x in fed.items() if name in read}
            found = session.run(list(given.results), kept)
        except Exception as error:  # ONNX Runtime has classes of its own
            raise _refused(error) from error
        for name, x, y in zip(given.results, found, wanted, strict=True):
            _compare(name, x, np.asarray(y), size)
        right += 1
    if not right:
        raise _C.ArgumentError(
            "must run at some of the sizes that are tried", op="onnx", argument="verify",
            got=str(refusal),
        ) from refusal  # fmt: skip


def session_of(model: Any) -> Any:
    """The model in ONNX Runtime.

    Raises:
        ArgumentError: it refuses it.
        ModuleNotFoundError: onnxruntime is not installed.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # ONNX Runtime has classes of its own
        raise _refused(error) from error


def _refused(error: Exception) -> _C.ArgumentError:
    return _C.ArgumentError(
        "must run in ONNX Runtime", op="onnx", argument="verify", got=shorten(str(error), 500)
    )


def _arrays(given: Recorded, size: int) -> dict[str, Any]:
    """Random numbers for each input; integers are 0 or 1, so that they are indices."""
    rng = np.random.default_rng(size)
    numbers: dict[int, int] = {}
    fed = {}
    for name, number in given.inputs.items():
        dims: tuple[Any, ...] = given.program.shape(number)
        shape = [
            numbers.setdefault(n.first, size + len(numbers)) if isinstance(n, Size) else n
            for n in dims
        ]
        dtype = given.program.dtype(number)
        drawn = rng.normal(size=shape) if dtype.kind == "floating" else rng.integers(0, 2, shape)
        fed[name] = np.asarray(_C.tensor(drawn, dtype))
    return fed


def _run(given: Recorded, fed: Mapping[str, Any]) -> Any:
    """What the program gives."""
    from ....static.executor import Scope

    program = given.program
    scope = Scope()
    for name, (_, value) in given.states.items():
        scope.set(name, value)
    feeds = {
        program.variables()[number][0]: as_raw_tensor(fed[name])
        for name, number in given.inputs.items()
    }
    return _C.execute(program, feeds, list(given.results.values()), scope, False)


def _compare(name: str, found: Any, wanted: Any, size: int) -> None:
    close = _CLOSE.get(wanted.dtype.name, 0.0)
    is_right = found.shape == wanted.shape and found.dtype == wanted.dtype
    if is_right and close:
        a, b = found.astype(np.float64), wanted.astype(np.float64)
        scale = max(1.0, float(np.max(np.abs(np.nan_to_num(b)), initial=0)))
        is_right = bool(np.allclose(a, b, rtol=close, atol=close * scale, equal_nan=True))
    elif is_right:
        is_right = bool(np.array_equal(found, wanted))
    if not is_right:
        raise _C.ArgumentError(
            f"must give in ONNX Runtime what it gives here, at unknown sizes of {size} and more",
            op="onnx", argument=name, got=f"{found.dtype.name}{found.shape} with other elements"
            if found.shape == wanted.shape else f"{found.dtype.name}{found.shape}",
        )  # fmt: skip

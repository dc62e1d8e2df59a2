"""Data as arrays: numbers, lists and others' arrays on their way in, elements on theirs out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _C, ops
from .sizes import Size

# What Python's floats and complex numbers become, by NumPy's letters of what it makes of them.
_DEFAULTS = {"d": np.float32, "D": np.complex64}


def as_array(data: Any, dtype: Any = None) -> Any:
    """Numbers and lists as NumPy arrays in our default dtypes; arrays keep theirs.

    With a `dtype` asked for, floats stay as precise as Python has them.
    """
    given, data = data, steady(data)
    is_python = isinstance(data, tuple) and not _has_arrays(data)
    if hasattr(data, "__dlpack__") and not isinstance(data, np.ndarray):
        return raw_from_dlpack(data)
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise _not_numbers(given) from error
    if array.dtype.kind == "V" and array.dtype.name == "bfloat16":  # ml_dtypes': no buffer
        return _C.bitcast(_C.RawTensor(array.view(np.uint16)), _C.bfloat16)
    if is_python and array.dtype.kind in "fO":
        array = _exactly(data, array, dtype)
    if array.dtype == object or array.dtype.kind in "USOMmV":
        raise _not_numbers(given)
    if is_python and dtype is not None:
        _refuse_outside(array, dtype)
    default = _DEFAULTS.get(array.dtype.char)
    return array.astype(default) if is_python and dtype is None and default else array


def steady(data: Any, depth: int = 0) -> Any:
    """Lists within lists as tuples: reading an element runs code of others, which may change a list
    that NumPy is reading, and NumPy does not expect that.

    Raises:
        DTypeError: they are nested deeper than dimensions go.
    """
    if not isinstance(data, (list, tuple)):
        return data
    if depth > 64:
        raise _C.DTypeError("data must be nested 64 deep at most", op="tensor", got="a deeper list")
    items = tuple(data)
    if not any(issubclass(kind, (list, tuple)) for kind in set(map(type, items))):
        return items
    return tuple(steady(item, depth + 1) for item in items)


def _exactly(data: Any, array: Any, dtype: Any) -> Any:
    """What NumPy makes floats or objects of, though all are integers: integers too large for int64,
    or so large beside others.
    """
    exact = np.asarray(data, dtype=object)
    if exact.size == 0 or any(type(item) is not int for item in exact.flat):
        return array
    if dtype is not None and dtype.kind in ("floating", "complex"):
        return exact.astype(np.float64)
    name = "uint64" if dtype is None or dtype.kind == "bool" else dtype.name
    limits = np.iinfo(name)
    for item in exact.flat:
        if not limits.min <= item <= limits.max:
            is_short = abs(item) < 2**70
            raise _C.LiteralRangeError(
                f"must fit {name}",
                op="literal",
                got=f"{item}" if is_short else "an integer beyond 64 bits",
                fix="use a wider dtype" if is_short else "use floats",
            )
    return exact.astype(name)


def _refuse_outside(array: Any, dtype: Any) -> None:
    """Raises LiteralRangeError where a number of a list is none of this integer dtype.

    Python's numbers mean what they say; an array is cast, as `astype` does it.
    """
    if dtype.kind != "integer" or array.dtype.kind not in "iuf" or array.size == 0:
        return
    limits = np.iinfo(dtype.name)
    whole = np.trunc(array) if array.dtype.kind == "f" else array
    fits = (whole >= limits.min) & (whole <= limits.max)
    if array.dtype.kind == "f" and limits.bits == 64:  # the largest rounds up to a power of 2
        fits &= whole < float(limits.max)
    if not fits.all():
        ops.Fill(shape=(), fill_value=array[~fits].flat[0].item(), dtype=dtype)()


def raw_from_dlpack(x: Any) -> _C.RawTensor:
    """A RawTensor over the memory of another library's array.

    Raises:
        TypeError: x has no ``__dlpack__``.
    """
    if not hasattr(x, "__dlpack__"):
        raise _C.ParameterError(
            "must have __dlpack__", op="from_dlpack", argument="x", got=type(x).__name__
        )
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except TypeError:
        capsule = x.__dlpack__()
    return _C.from_dlpack(capsule)


def to_array(x: _C.RawTensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """The elements of what has no buffer: bfloat16, as ml_dtypes has it."""
    if x.dtype is not _C.bfloat16:
        # A buffer says why, where the elements cannot be had.
        array = np.asarray(memoryview(x))  # type: ignore[arg-type]
    elif dtype is not None and np.dtype(dtype).name != "bfloat16":
        array = np.asarray(ops.Cast(dtype=_C.float32)(x)[0])
    else:
        try:
            import ml_dtypes
        except ImportError:
            raise _C.DTypeError(
                "NumPy has no bfloat16; install ml_dtypes, or use x.astype(float32)", op="__array__"
            ) from None
        array = np.asarray(_C.bitcast(x, _C.uint16)).view(ml_dtypes.bfloat16)
    return as_asked(array, dtype, copy)


def as_asked(array: np.ndarray[Any, Any], dtype: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """An array as `__array__` of NumPy 2 gives it.

    Raises:
        ArgumentError: it must be copied, and must not.
    """
    if dtype is not None and array.dtype != np.dtype(dtype):
        if copy is False:
            raise _C.ArgumentError("another dtype needs a copy", op="__array__", got="copy=False")
        return array.astype(dtype)
    return array.copy() if copy else array


def for_numpy(x: _C.RawTensor) -> Any:
    """The elements in a dtype that NumPy has itself, with the same values, from any device."""
    x = on_host(x)
    return np.asarray(ops.Cast(dtype=_C.float32)(x)[0] if x.dtype is _C.bfloat16 else x)


def on_host(x: _C.RawTensor) -> Any:
    """The same elements on the CPU; the tensor itself where it lives there."""
    return x if x.device == "cpu" else ops.Copy(device="cpu")(x)[0]


def to_bits(x: _C.RawTensor) -> tuple[bytes, tuple[int, ...], str]:
    """What a pickle holds: the bytes of the elements in C order, the shape, the dtype's name.

    An array's own pickle would do, but NumPy crashes on some that were changed.
    """
    x = on_host(x)
    stored = _C.bitcast(x, _C.uint16) if x.dtype is _C.bfloat16 else x
    return np.asarray(stored).tobytes(), x.shape, x.dtype.name


def from_bits(data: bytes, shape: tuple[int, ...], dtype: str, device: str = "cpu") -> _C.RawTensor:
    """The tensor of what `to_bits` gave.

    Raises:
        DTypeError: there is no such dtype, or the data are no bytes.
        ShapeError: the bytes do not fill the shape.
        DeviceError: there is no such device.
    """
    wanted = _C.ShapeTensor((), dtype).dtype  # refuses other names
    if not isinstance(data, bytes):
        raise _C.DTypeError("data must be bytes", op="unpickle", got=type(data).__name__)
    stored = np.frombuffer(data, "uint16" if wanted is _C.bfloat16 else wanted.name)
    sizes = _C.ShapeTensor(shape)
    if sizes.size != stored.size:
        raise _C.ShapeError(
            f"the data must fill the shape {sizes.shape}",
            op="unpickle",
            got=f"{stored.size} elements",
        )
    raw = _C.RawTensor(stored.reshape(sizes.shape))
    raw = _C.bitcast(raw, wanted) if wanted is _C.bfloat16 else raw
    return raw if raw.device == device else ops.Copy(device=device)(raw)[0]


def _not_numbers(data: Any) -> _C.DTypeError:
    has_size = isinstance(data, (list, tuple)) and any(isinstance(x, Size) for x in data)
    return _C.DTypeError(
        "must be numbers in a rectangular arrangement",
        op="tensor",
        argument="data",
        got="an unknown size among them" if has_size else type(data).__name__,
        fix="join tensors: stack([tensor(x.shape[0]), tensor(1)])" if has_size else "",
    )


def _has_arrays(data: Sequence[Any]) -> bool:
    return any(
        _has_arrays(item) if isinstance(item, (list, tuple)) else hasattr(item, "dtype")
        for item in data
    )


def reduce_raw(x: _C.RawTensor) -> Any:
    return from_bits, (*to_bits(x), x.device)

"""Safetensors: a header of JSON that names tensors, and their bytes one after the other.

Source: https://github.com/huggingface/safetensors. The library of that name maps files into memory
and has no bfloat16 without ml_dtypes, so the few lines of its form are read here; it writes.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .entries import STORED, Entry, count_of
from .files import RegularFile, refuse

MOST_HEADER = 100_000_000  # the format's own limit
_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
# Of one byte each, and none of ours: listed, and refused when they are read.
_FOREIGN = {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu"}


def entries_of(file: RegularFile) -> dict[str, Entry]:
    """The tensors of a file.

    Raises:
        ArgumentError: it is no such file, or its parts overlap, leave holes or pass its end.
    """
    if file.size < 8:
        raise refuse(file.path, "must begin with the length of its header", f"{file.size} bytes")
    length = int.from_bytes(file.read_at(0, 8), "little")
    if length > min(MOST_HEADER, file.size - 8):
        raise refuse(file.path, "must hold the header that it says", f"a length of {length}")
    header = _parsed(file.path, file.read_at(8, length))
    ranges: list[tuple[int, int]] = []
    entries = {}
    for name, record in header.items():
        if name != "__metadata__":
            entries[name], place = _entry(file, name, record, 8 + length)
            ranges.append(place)
    end = 0
    for begin, after in sorted(ranges):
        if begin != end:
            raise refuse(file.path, "must hold its tensors one after the other", "other offsets")
        end = after
    if 8 + length + end != file.size:
        raise refuse(file.path, "must end with its last tensor", f"{file.size} bytes")
    return entries


def _parsed(path: str, data: bytes) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise ValueError("a name twice")
        return made

    try:
        header = json.loads(data.decode("utf-8"), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise refuse(path, "must have a header of JSON", type(error).__name__) from error
    if not isinstance(header, dict):
        raise refuse(path, "must have a header that names tensors", type(header).__name__)
    return header


def _entry(file: RegularFile, name: str, record: Any, start: int) -> tuple[Entry, tuple[int, int]]:
    """A tensor that the header speaks of, and where in the data it lies."""
    if not isinstance(record, dict) or record.keys() != {"dtype", "shape", "data_offsets"}:
        raise refuse(
            file.path, f"must give {name!r} a dtype, a shape and offsets", "another record"
        )
    code, shape, offsets = record["dtype"], record["shape"], record["data_offsets"]
    if not (_are_sizes(shape) and _are_sizes(offsets) and len(offsets) == 2):
        raise refuse(file.path, f"must give {name!r} sizes and offsets that are integers", "others")
    if not isinstance(code, str) or code not in _DTYPES.keys() | _FOREIGN.keys():
        raise refuse(file.path, f"must give {name!r} a dtype that is known", repr(code)[:40])
    dtype = _DTYPES[code] if code in _DTYPES else _FOREIGN[code]
    stored: np.dtype[Any] = np.dtype(STORED.get(dtype, "|u1"))
    count = count_of(file.path, tuple(shape))
    begin, end = offsets
    if end - begin != count * stored.itemsize or start + end > file.size:
        raise refuse(
            file.path, f"must have the {count * stored.itemsize} bytes of {name!r}",
            f"offsets {begin} and {end}",
        )  # fmt: skip

    def read() -> np.ndarray[Any, Any]:
        data = file.read_at(start + begin, end - begin)
        elements: np.ndarray[Any, Any] = np.frombuffer(data, stored)
        made: np.ndarray[Any, Any] = elements.reshape(shape)
        return made

    return Entry(dtype, tuple(shape), read), (begin, end)


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(x) is int and x >= 0 for x in value)

"""NumPy's files: one array (.npy), or a zip file of them (.npz). No pickled objects are read.

Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .archives import Archive
from .entries import STORED, Entry, count_of
from .files import RegularFile, refuse

MAGIC = b"\x93NUMPY"
_MOST_HEADER = 12 + (1 << 16)


class _Header(NamedTuple):
    stored: np.dtype[Any]
    shape: tuple[int, ...]
    is_fortran: bool
    length: int  # of the header, in bytes


def entry_of(file: RegularFile) -> Entry:
    """The array of an .npy file."""
    head = file.read_at(0, min(file.size, _MOST_HEADER))
    return _entry(file.path, head, file.size, lambda: file.read_at(0, file.size))


def entries_of(path: str, archive: Archive) -> dict[str, Entry]:
    """The arrays of an .npz file, without the ends of their members' names."""
    entries = {}
    for member, size in archive.sizes.items():
        name = member.removesuffix(".npy")
        if name == member or name in entries:
            raise refuse(path, "must hold arrays", f"the member {member[:80]!r}")
        head = archive.read(member, _MOST_HEADER)
        entries[name] = _entry(path, head, size, lambda member=member: archive.read(member))  # type: ignore[misc]
    return entries


def _entry(path: str, head: bytes, size: int, whole: Callable[[], bytes]) -> Entry:
    header = _header(path, head)
    dtype = _name(path, header.stored)
    count = count_of(path, header.shape)
    if header.length + count * header.stored.itemsize != size:
        raise refuse(
            path, f"must hold the {count} elements that it says",
            f"{size - header.length} bytes for them",
        )  # fmt: skip

    def read() -> np.ndarray[Any, Any]:
        flat: np.ndarray[Any, Any] = np.frombuffer(whole(), header.stored, offset=header.length)
        array: np.ndarray[Any, Any] = flat.view("|u1") if dtype == "bool" else flat
        shape = header.shape[::-1] if header.is_fortran else header.shape
        made: np.ndarray[Any, Any] = array.reshape(shape)
        return made.transpose() if header.is_fortran else made

    return Entry(dtype, header.shape, read)


def _header(path: str, head: bytes) -> _Header:
    stream = io.BytesIO(head)
    try:
        version = np.lib.format.read_magic(stream)
        readers: dict[tuple[int, int], Callable[..., Any]] = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        shape, is_fortran, dtype = readers[version](stream)
    except Exception as error:  # any: a foreign parser on foreign bytes
        raise refuse(path, "must have a header of NumPy's", type(error).__name__) from error
    return _Header(dtype, tuple(int(n) for n in shape), bool(is_fortran), stream.tell())


def _name(path: str, dtype: np.dtype[Any]) -> str:
    if dtype.hasobject:
        raise refuse(path, "must hold numbers", "objects, which are pickled code")
    if dtype.name not in STORED:
        raise refuse(path, "must hold numbers of a dtype that there is here", str(dtype)[:60])
    return str(dtype.name)

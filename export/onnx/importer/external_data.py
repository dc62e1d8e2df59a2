"""External data: the bytes of tensors that lie in files beside the model.

A model may be hostile, so what it names must lie in its own folder once all links are followed, be
a plain file that has one name alone, and have the bytes that it is said to have. The checks are
made on the file that was opened, so that nobody can put another one in its place in between.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .... import _C

MOST_BYTES = 2**40
MOST_TIMES = 64  # that the tensors of a file may be as large as it, together


class ExternalData:
    """Reads the external data of the tensors of a model in a folder."""

    def __init__(self, folder: Path) -> None:
        """Of a model in this folder."""
        self.folder = folder.resolve()
        self._read: dict[str, int] = {}  # bytes by the file

    def __call__(self, proto: Any) -> bytes:
        """The bytes of a tensor.

        Raises:
            ArgumentError: they are not to be had safely, or the file is shorter.
            OutOfMemoryError: there are more of them than memory.
        """
        about = {entry.key: entry.value for entry in proto.external_data}
        location = about.get("location", "")
        offset = self._number(proto, about, "offset") or 0
        length = self._number(proto, about, "length")
        path = self._path(proto, location)
        try:
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise self._refused(proto, "must be a file that can be read", str(error)) from error
        try:
            about_file = os.fstat(number)
            if not stat.S_ISREG(about_file.st_mode) or about_file.st_nlink != 1:
                raise self._refused(proto, "must be a plain file with one name", location)
            data = self._part(proto, number, offset, length, about_file.st_size)
            self._count(proto, location, len(data), about_file.st_size)
            return data
        finally:
            os.close(number)

    def _number(self, proto: Any, about: Mapping[str, str], key: str) -> int | None:
        """An entry that is a number; None: there is none."""
        text = about.get(key)
        if text is not None and not (len(text) < 20 and text.isascii() and text.isdigit()):
            raise self._refused(proto, "offset and length must be numbers of bytes", repr(text))
        return None if text is None else int(text)

    def _part(self, proto: Any, number: int, offset: int, length: int | None, size: int) -> bytes:
        """The bytes from an offset on in a file that is open; all that follow, of no length."""
        length = size - offset if length is None else length
        if not 0 <= length <= MOST_BYTES or offset + length > size:
            got = f"{offset} + {length} of {size} bytes"
            raise self._refused(proto, "offset and length must be within the file", got)
        try:
            with os.fdopen(os.dup(number), "rb") as file:
                file.seek(offset)
                data = file.read(length)
        except MemoryError as error:  # a file with holes may be larger than its disk
            raise _C.OutOfMemoryError(
                f"{length} bytes could not be had", op="onnx", argument=proto.name
            ) from error
        if len(data) != length:
            raise self._refused(proto, "offset and length must be within the file", "a shorter one")
        return data

    def _count(self, proto: Any, location: str, length: int, size: int) -> None:
        """Tensors may share bytes of a file, but a small one must not fill the memory."""
        self._read[location] = self._read.get(location, 0) + length
        if self._read[location] > MOST_TIMES * size:
            raise self._refused(
                proto, f"must not be more than {MOST_TIMES} times as large as its file together",
                f"{self._read[location]} bytes of a file of {size}",
            )  # fmt: skip

    def _path(self, proto: Any, location: str) -> Path:
        if (
            not location
            or os.path.isabs(location)
            or "\0" in location
            or ".." in Path(location).parts
        ):
            raise self._refused(proto, "must be named by a path below the model's folder", location)
        path = self.folder / location
        try:
            resolved = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise self._refused(proto, "must be a file that can be read", location) from error
        if resolved != path or not resolved.is_relative_to(self.folder):
            raise self._refused(proto, "must lie in the model's folder, without links", location)
        return path

    def _refused(self, proto: Any, must: str, got: str) -> _C.ArgumentError:
        return _C.ArgumentError(
            f"external data {must}", op="onnx", argument=proto.name, got=got[:200]
        )

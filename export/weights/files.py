"""RegularFile: a file of somebody else, read in pieces and never mapped.

A mapped file that another process cuts short kills the reader; a read of it is an error. Nothing
stays open between two reads: what is opened again must be what was checked.
"""

from __future__ import annotations

import io
import os
import stat
from typing import Any

from ... import _C

_MOST_AT_ONCE = 1 << 30  # what one system call reads at most


def refuse(path: str, must: str, got: str, fix: str | None = None) -> _C.ArgumentError:
    """The error for a file that cannot be read, or must not be."""
    return _C.ArgumentError(f"{path} {must}", op="read_weights", got=got, fix=fix)


class RegularFile(io.RawIOBase):
    """The bytes of a regular file, by offset or as a stream.

    Raises:
        ArgumentError: it is no regular file (a pipe or a device has no end), or it has changed
            between two reads.
        OSError: it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._identity: tuple[int, ...] | None = None
        self._position = 0
        descriptor, self.size = self._open()
        os.close(descriptor)

    def _open(self) -> tuple[int, int]:
        # Without O_NONBLOCK, to open a pipe waits for its writer.
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        found = os.fstat(descriptor)
        identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        if stat.S_ISREG(found.st_mode) and self._identity in (None, identity):
            self._identity = identity
            return descriptor, found.st_size
        os.close(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise refuse(self.path, "must be a regular file", "a folder, pipe or device")
        raise refuse(self.path, "must stay as it is while it is read", "a file that has changed")

    def read_at(self, offset: int, count: int) -> bytes:
        """So many bytes from an offset; the file must have them."""
        if offset < 0 or count < 0 or offset + count > self.size:
            raise refuse(
                self.path, "must have the bytes that it speaks of",
                f"{count} bytes at {offset} of {self.size}",
            )  # fmt: skip
        descriptor, _ = self._open()
        try:
            pieces = []
            while count > 0:
                piece = os.pread(descriptor, min(count, _MOST_AT_ONCE), offset)
                if not piece:
                    raise refuse(self.path, "must stay as it is while it is read", "a shorter file")
                pieces.append(piece)
                offset, count = offset + len(piece), count - len(piece)
        finally:
            os.close(descriptor)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """Where the next byte of the stream is."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Goes to a place of the stream."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        if start + offset < 0:
            raise OSError("a place before the file's begin")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Reads as many bytes as there are and fit."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self.size - self._position))
        view[:count] = self.read_at(self._position, count) if count else b""
        self._position += count
        return count

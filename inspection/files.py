"""Files by the paths that users give: read where they have an end, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Any

from .. import _C

__all__ = ["path_of", "read_file", "replace_file"]


def path_of(path: Any, op: str, argument: str = "path") -> Path:
    """A path that the call `op` was given.

    Raises:
        ParameterError: it is none, or a text that no file can be called.

    Example:
        >>> from tensorlike.inspection.files import path_of
        >>> path_of("notes.txt", "save").name
        'notes.txt'
    """
    got = type(path).__name__
    with contextlib.suppress(TypeError):
        text = os.fspath(path)
        if isinstance(text, str):
            got = ascii(text)
            with contextlib.suppress(UnicodeEncodeError):
                if b"\0" not in os.fsencode(text):
                    return Path(text)
    raise _C.ParameterError("must be a path", op=op, argument=argument, got=got[:80])


def read_file(path: Path, op: str, most: int = -1) -> bytes:
    """What a file holds, or so many bytes of it.

    Raises:
        ArgumentError: it is no regular file: a pipe may wait, a device never end.
        OSError: it cannot be read.
    """
    # Without O_NONBLOCK, to open a pipe waits for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _C.ArgumentError(
                "must be a regular file", op=op, argument="path",
                got=f"{str(path)!r}, a folder, pipe or device",
            )  # fmt: skip
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(most)
    finally:
        os.close(descriptor)


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file beside the one of this name, then gives it the name.

    Where anything fails, a full disk, say, the old file is as it was and nothing lies beside it. A
    link is followed; what is no regular file (a pipe, a device) is written to as it is.

    Raises:
        OSError: the data cannot be written.
        ParameterError: it is no path.

    Example:
        >>> import pathlib, tempfile
        >>> from tensorlike.inspection.files import replace_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     replace_file(f"{folder}/notes.txt", b"new")
        ...     pathlib.Path(folder, "notes.txt").read_text()
        'new'
    """
    target = os.path.realpath(path_of(path, "save"))
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as stream:
            stream.write(data)
        return
    beside = os.path.join(os.path.dirname(target), f".tensorlike-{secrets.token_hex(8)}")
    try:
        with open(beside, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if os.path.exists(target):
            os.chmod(beside, os.stat(target).st_mode & 0o777)
        os.replace(beside, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        if isinstance(error, OSError) and error.filename == beside:  # no name that the user knows
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise

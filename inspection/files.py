"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets

__all__ = ["replace_file"]


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file beside the one of this name, then gives it the name.

    Where anything fails, a full disk, say, the old file is as it was and nothing lies beside it. A
    link is followed; what is no regular file (a pipe, a device) is written to as it is.

    Raises:
        OSError: the data cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> from tensorlike.inspection.files import replace_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     replace_file(f"{folder}/notes.txt", b"new")
        ...     pathlib.Path(folder, "notes.txt").read_text()
        'new'
    """
    target = os.path.realpath(path)
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
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise

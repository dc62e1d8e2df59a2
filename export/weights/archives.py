"""Archive: the zip files in which NumPy and PyTorch put arrays, read within bounds.

A zip file can say that it holds more than memory does, and let its members share bytes so that a
small file expands to anything. So members must not overlap, and what they expand to is limited.
"""

from __future__ import annotations

import zipfile

from .files import RegularFile, refuse

# What a file may expand to: so many times its size, or this, whichever is more.
MOST_TIMES = 64
ALWAYS = 1 << 30


class Archive:
    """The members of a zip file, by name.

    Raises:
        ArgumentError: it is damaged, encrypted, names a member twice, or expands to too much.
    """

    def __init__(self, file: RegularFile) -> None:
        self.path = file.path
        try:
            self._zip = zipfile.ZipFile(file)
            members = self._zip.infolist()
        except Exception as error:  # any: a foreign parser on foreign bytes
            raise self._damaged(error) from error
        self.sizes = {member.filename: member.file_size for member in members}
        self.stored = {m.filename for m in members if m.compress_type == zipfile.ZIP_STORED}
        if len(self.sizes) != len(members):
            raise refuse(self.path, "must name each member once", "a name twice")
        if any(member.flag_bits & 1 for member in members):
            raise refuse(self.path, "must not be encrypted", "an encrypted member")
        if sum(member.compress_size for member in members) > file.size:
            raise refuse(self.path, "must hold its members apart", "members that overlap")
        if any(m.file_size != m.compress_size for m in members if m.filename in self.stored):
            raise refuse(self.path, "must give one size to what is stored", "two")
        expanded = sum(self.sizes.values())
        if expanded > max(ALWAYS, MOST_TIMES * file.size):
            raise refuse(
                self.path, f"must expand to {MOST_TIMES} times its size at most",
                f"{expanded} bytes of {file.size}",
            )  # fmt: skip

    def read(self, name: str, most: int | None = None) -> bytes:
        """A member, or its first bytes; of a whole one the checksum is checked.

        Args:
            name: one of `sizes`.
            most: how many bytes at most; None: all.
        """
        size = self.sizes[name]
        count = size if most is None else min(most, size)
        try:
            with self._zip.open(name) as member:
                data = member.read(count)
                if count == size:
                    data += member.read(1)  # at its end the checksum is checked
        except Exception as error:  # any: a foreign parser on foreign bytes
            raise self._damaged(error) from error
        if len(data) != count:
            raise refuse(self.path, f"must hold {count} bytes in {name[:80]!r}", f"{len(data)}")
        return data

    def _damaged(self, error: Exception) -> Exception:
        if isinstance(error, OSError) and error.errno is not None:
            return error
        return refuse(self.path, "must be a zip file that is whole", f"{type(error).__name__}")

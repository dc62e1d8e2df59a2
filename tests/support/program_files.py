"""The format of docs/program_file.md once more, in Python: files taken apart and put together."""

from __future__ import annotations

import json
import struct
from typing import Any

MAGIC = b"\x89TLP\r\n\x1a\n"
HEADER = struct.Struct("<8sIIQQII20x")
ALIGNMENT = 64

_TABLE = []
for _value in range(256):
    for _ in range(8):
        _value = (_value >> 1) ^ (0x82F63B78 if _value & 1 else 0)
    _TABLE.append(_value)


def checksum(data: bytes) -> int:
    """CRC-32C."""
    value = 0xFFFFFFFF
    table = _TABLE
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def sealed(structure: bytes, tensors: bytes, version: int = 1) -> bytes:
    """The file of two sections, with checksums that are right."""
    head = HEADER.pack(
        MAGIC, version, 0, len(structure), len(tensors), checksum(structure), checksum(tensors)
    )
    gap = -(len(head) + 4 + len(structure)) % ALIGNMENT
    return head + struct.pack("<I", checksum(head)) + structure + bytes(gap) + tensors


def joined(structure: Any, tensors: bytes = b"", version: int = 1) -> bytes:
    """The file of this structure."""
    return sealed(json.dumps(structure).encode(), tensors or no_tensors(), version)


def no_tensors() -> bytes:
    """A safetensors file without any."""
    return struct.pack("<Q", 8) + b"{}      "


def sections(data: bytes) -> tuple[bytes, bytes]:
    """The structure and the tensors of a file that is whole."""
    magic, version, zero, structure, tensors, of_structure, of_tensors = HEADER.unpack(data[:60])
    assert (magic, version, zero) == (MAGIC, 1, 0)
    assert struct.unpack("<I", data[60:64])[0] == checksum(data[:60])
    begin = 64 + structure + -(64 + structure) % ALIGNMENT
    assert len(data) == begin + tensors
    assert checksum(data[64 : 64 + structure]) == of_structure
    assert checksum(data[begin:]) == of_tensors
    return data[64 : 64 + structure], data[begin:]


def split(data: bytes) -> tuple[Any, bytes]:
    """The structure as data, and the tensors."""
    structure, tensors = sections(data)
    return json.loads(structure), tensors

"""Mutants of files with weights: each must end in an error of ours, or in tensors.

`python -m support.weight_mutants FIRST COUNT` reads so many.
"""

from __future__ import annotations

import io
import random
import struct
import sys
import tempfile
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import save

import tensorlike as tl
from support.memory import most_memory
from support.torch_files import Storage, parameter, tensor, torch_bytes, whole

LENGTHS = (0, 1, 7, 8, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1)


def seeds() -> list[tuple[bytes, Callable[[bytes], bytes]]]:
    """Small files of each form, and parts of such, with what makes files of them.

    So what lies behind the checksums of archives is reached, too.
    """
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    flags, halves = np.array([True, False]), np.ones((2, 1), np.float16)
    shared = Storage(rows.reshape(-1))
    tree = {
        "state_dict": OrderedDict(a=whole(rows), b=parameter(tensor(shared, 1, (4, 2), (1, 4)))),
        "list": [whole(flags), 1, 2.5, None, "text", (whole(halves),)],
        "epoch": 3,
    }
    arrays = {"a": rows, "flags": flags, "halves": halves, "none": np.zeros((0, 3))}
    found = [save(arrays), torch_bytes(tree), torch_bytes(tree, protocol=4)]
    for save_numpy in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save_numpy(stream, **arrays)
        found.append(stream.getvalue())
    stream = io.BytesIO()
    np.save(stream, np.asfortranarray(rows))
    found.append(stream.getvalue())
    parts: list[tuple[bytes, Callable[[bytes], bytes]]] = [(seed, bytes) for seed in found]
    for number in (1, 2):
        with zipfile.ZipFile(io.BytesIO(found[number])) as archive:
            pickled = archive.read("archive/data.pkl")
        parts.append((pickled, lambda data: torch_bytes(tree, pickled=data)))
    return [*parts, (stream.getvalue(), _zipped)]


def _zipped(member: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.npy", member)
    return stream.getvalue()


def mutant(seed: bytes, number: int) -> bytes:
    """A change of a few bytes: flips, numbers, cuts, pieces that move or come twice."""
    chance, data = random.Random(number), bytearray(seed)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        place = chance.randrange(len(data) or 1)
        match chance.randrange(7):
            case 0:
                data[place : place + 1] = bytes([data[place] ^ 1 << chance.randrange(8)])
            case 1:
                data[place : place + 1] = bytes([chance.randrange(256)])
            case 2:
                width = chance.choice(("<H", "<I", "<Q"))
                number = chance.choice(LENGTHS) % (1 << 8 * struct.calcsize(width))
                piece = struct.pack(width, number)
                data[place : place + len(piece)] = piece
            case 3:
                del data[place : place + chance.randrange(1, 40)]
            case 4:
                data[place:place] = data[: chance.randrange(1, 40)]
            case 5:
                begin = chance.randrange(len(data))
                piece = data[begin : begin + chance.randrange(1, 40)]
                data[place : place + len(piece)] = piece
            case _:
                digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
                if digits:
                    data[chance.choice(digits)] = 48 + chance.randrange(10)
        if not data:
            break
    return bytes(data)


def read_all(path: Path) -> int:
    """How many tensors could be read; errors that are not ours come out."""
    try:
        weights = tl.export.read_weights(path)
    except tl.ArgumentError:
        return 0
    count = 0
    for name in weights:
        try:
            assert weights[name].shape == weights.shape(name)
            count += 1
        except (tl.ArgumentError, tl.DTypeError):
            pass
    return count


def run(first: int, count: int) -> tuple[int, int]:
    """How many mutants were files with tensors, and how many bytes of memory that took."""
    originals, before, whole_files = seeds(), most_memory(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant"
        for number in range(first, first + count):
            seed, made = originals[number % len(originals)]
            path.write_bytes(made(mutant(seed, number)))
            whole_files += read_all(path) > 0
    return whole_files, most_memory() - before


if __name__ == "__main__":
    print(*run(int(sys.argv[1]), int(sys.argv[2])))

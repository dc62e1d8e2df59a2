"""Files with weights that are damaged or made to harm are refused; none runs code."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from support import weight_mutants
from support.torch_files import Call, Storage, tensor, torch_bytes

import tensorlike as tl
from tensorlike.export import read_weights

ONES = np.ones(4, np.float32)


def refused(path: Path, data: bytes | None = None) -> str:
    """What an error of ours says that was got."""
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(tl.ArgumentError) as caught:
        dict(read_weights(path))
    assert caught.value.op == "read_weights"
    return str(caught.value.got)


class Harm:
    """Is unpickled by making a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_no_file_runs_code(tmp_path: Path, protocol: int) -> None:
    harm = {"x": Harm(tmp_path / "done")}
    data = pickle.dumps(harm, protocol)
    for name, file in {
        "in_archive.pt": torch_bytes({}, pickled=data),
        "pickle.pt": data,
        "pickle.safetensors": data,
    }.items():
        refused(tmp_path / name, file)
    np.savez(tmp_path / "objects.npz", x=np.array([harm], object))
    assert refused(tmp_path / "objects.npz") == "objects, which are pickled code"
    np.save(tmp_path / "objects.npy", np.array([harm], object))
    refused(tmp_path / "objects.npy")
    assert not (tmp_path / "done").exists()


def test_globals_are_refused_by_their_names(tmp_path: Path) -> None:
    for function in ("builtins eval", "torch.nn Linear", "torch._utils _rebuild_sparse_tensor"):
        data = torch_bytes({"x": Call(function, "1")})
        got = refused(tmp_path / "x.pt", data)
        assert got == f"{function.replace(' ', '.')}, which no code runs for"
    odd = torch_bytes({"x": Call("os sys\x1b[2Jtem\r", "1")})
    assert "os.sys\\x1b[2Jtem\\r" in refused(tmp_path / "x.pt", odd)
    assert refused(tmp_path / "y.pt", pickle.dumps([1], 2)) == "a pickle, which may hold anything"
    stream = io.BytesIO(torch_bytes({}))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("archive/constants.pkl", b"")
    assert refused(tmp_path / "z.pt", stream.getvalue()) == "a TorchScript program"


@pytest.mark.parametrize(
    "made",
    [
        tensor(Storage(ONES), 0, (5,), (1,)),
        tensor(Storage(ONES), 1, (4,), (1,)),
        tensor(Storage(ONES), 0, (2, 2), (3, 1)),
        tensor(Storage(ONES), -1, (2,), (1,)),
        tensor(Storage(ONES), 0, (2,), (-1,)),
        tensor(Storage(ONES), 0, (-2, -2), (1, 1)),
        tensor(Storage(ONES), 0, (2,), ()),
        tensor(Storage(ONES), 0, (2,), (1, 1)),
        tensor(Storage(ONES), 0, (2**62, 2**62), (0, 0)),
        tensor(Storage(ONES), 0, (5,), (0,)),
        tensor(Storage(ONES), True, (2,), (1,)),
        tensor(Storage(ONES), 0, (1,) * 65, (1,) * 65),
        tensor(Storage(ONES, "float64"), 0, (2,), (1,)),
        tensor(Storage(ONES, "NoStorage"), 0, (2,), (1,)),
        tensor(Storage(ONES, "UntypedStorage"), 0, (2,), (1,)),
        Call("torch._utils _rebuild_parameter", 3, True, {}),
        Call(
            "torch._utils _rebuild_tensor_v2", Storage(ONES), 0, (2,), (1,), False, {},
            {"conj": True},
        ),
    ],
)  # fmt: skip
def test_tensors_beyond_their_storages_are_refused(tmp_path: Path, made: Call) -> None:
    refused(tmp_path / "x.pt", torch_bytes({"x": made}))


def test_pickles_that_are_bombs_are_refused_in_bounded_memory(tmp_path: Path) -> None:
    begin, path = b"\x80\x02", tmp_path / "x.pt"
    deep = begin + b"]" * 100_000 + b"a" * 99_999 + b"."
    as_key = begin + b"}" + b")" + b"\x85" * 100_000 + b"Ns."  # hashing it would overflow the stack
    doubling = begin + b"]q\x00" + b"".join(
        b"]q" + bytes([i + 1]) + b"(" + b"h" + bytes([i]) + b"h" + bytes([i]) + b"e"
        for i in range(30)
    ) + b"."  # fmt: skip
    itself = begin + b"]q\x00h\x00a."
    assert "depth" in refused(path, torch_bytes({}, pickled=deep))
    assert refused(path, torch_bytes({}, pickled=as_key)) == "tuple"
    for data in (doubling, itself):  # no tensors, and no end either
        path.write_bytes(torch_bytes({}, pickled=data))
        assert len(read_weights(path)) == 0
    for data in (b"", b".", b"a", b"(", b"\x80\x02(t", b"h\x05.", b"R", b"0", b"\x80\x02N", b"Nb."):
        refused(path, torch_bytes({}, pickled=data))
    assert "bytes" not in refused(path, torch_bytes({}, pickled=begin + b"N" * (1 << 23) + b"."))


def test_archives_that_expand_without_bounds_are_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", b"\0" * 10_000)
    data = bytearray(stream.getvalue())
    place = data.rindex(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", 2**32 - 2)  # what it says that it expands to
    assert "4294967294 bytes" in refused(tmp_path / "x.npz", bytes(data))
    # Two members that say that they are larger than the file.
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in "ab":
            archive.writestr(f"{name}.npy", b"x" * 800)
    data = bytearray(stream.getvalue())
    for place in (data.index(b"PK\x01\x02"), data.rindex(b"PK\x01\x02")):
        data[place + 20 : place + 28] = struct.pack("<II", 1600, 1600)
    assert refused(tmp_path / "y.npz", bytes(data)) == "members that overlap"


@pytest.mark.parametrize(
    "header",
    [
        {"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 12]}},
        {"x": {"dtype": "F32", "shape": [4], "data_offsets": [4, 20]}},
        {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}},
        {"x": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}},
        {"x": {"dtype": "F32", "shape": [4.0], "data_offsets": [0, 16]}},
        {"x": {"dtype": "F32", "shape": [True, 4], "data_offsets": [0, 16]}},
        {"x": {"dtype": "F32", "shape": [2**62, 2**62, 0], "data_offsets": [0, 0]}},
        {"x": {"dtype": "F33", "shape": [4], "data_offsets": [0, 16]}},
        {"x": {"dtype": ["F32"], "shape": [4], "data_offsets": [0, 16]}},
        {"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16], "more": 1}},
        {"x": [1]},
        {
            "x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
            "y": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
        },
        [],
        None,
    ],
)
def test_headers_of_safetensors_must_describe_the_file(tmp_path: Path, header: Any) -> None:
    text = json.dumps(header).encode()
    refused(tmp_path / "x", len(text).to_bytes(8, "little") + text + ONES.tobytes())


@pytest.mark.parametrize("text", [b'{"x":1,"x":1}', b"[" * 10_000, b"\xff", b"1" * 5000, b"NaN"])
def test_headers_of_safetensors_must_be_plain_json(tmp_path: Path, text: bytes) -> None:
    refused(tmp_path / "x", len(text).to_bytes(8, "little") + text)
    refused(tmp_path / "x", (2**63).to_bytes(8, "little") + text)


def test_an_index_leads_nowhere_else(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "model", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    save_file({"x": ONES}, elsewhere / "x.safetensors")
    (folder / "link").symlink_to(elsewhere / "x.safetensors")
    (folder / "loop").symlink_to(folder / "loop")
    index = folder / "model.safetensors.index.json"
    for shard in (
        "../elsewhere/x.safetensors", str(elsewhere / "x.safetensors"), "link", "", "..", "a\0b",
        "..\\elsewhere\\x.safetensors",
    ):  # fmt: skip
        index.write_text(json.dumps({"weight_map": {"x": shard}}))
        assert repr(shard)[:20] in refused(folder)
    for shard in ("loop", "missing"):
        index.write_text(json.dumps({"weight_map": {"x": shard}}))
        with pytest.raises((tl.ArgumentError, OSError, RuntimeError)):
            read_weights(folder)
    for text in ("[", "[]", '{"weight_map": 3}', '{"weight_map": {"x": 3}}', "[" * 10_000):
        index.write_text(text)
        refused(folder)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        assert refused(path) == "a folder, pipe or device"
    with pytest.raises(FileNotFoundError):
        read_weights(tmp_path / "missing")
    with pytest.raises(tl.ParameterError):
        read_weights(3)  # type: ignore[arg-type]


def test_every_prefix_of_a_file_is_refused(tmp_path: Path) -> None:
    for seed, made in weight_mutants.seeds()[:6]:
        for length in range(0, len(seed) - 1, max(1, len(seed) // 100)):
            refused(tmp_path / "x", made(seed[:length]))


def test_mutants_end_in_errors_of_ours_or_in_tensors() -> None:
    whole_files, memory = weight_mutants.run(0, 5000)
    assert 300 < whole_files < 4000
    assert memory < 300e6


@pytest.mark.slow
def test_many_mutants_end_in_errors_of_ours_or_in_tensors() -> None:
    _, memory = weight_mutants.run(5000, 200_000)
    assert memory < 300e6

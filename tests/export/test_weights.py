"""Weights are read from the files that others write, and put into our layers by names."""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from support.torch_files import (
    STORAGES,
    Call,
    Named,
    Storage,
    parameter,
    tensor,
    torch_bytes,
    whole,
)

import tensorlike as tl
from tensorlike.export import load_weights, read_weights, save_weights

DTYPES = [name for name in STORAGES if name != "bfloat16"]
RANDOM = np.random.default_rng(0)


def elements(dtype: str, shape: tuple[int, ...] = (3, 4)) -> np.ndarray[Any, Any]:
    made = RANDOM.integers(0, 100, shape) - (0 if dtype.startswith(("u", "b")) else 50)
    return np.asarray(made % 2 == 0 if dtype == "bool" else made, dtype)


def assert_same(found: tl.Tensor, expected: np.ndarray[Any, Any]) -> None:
    assert found.dtype.name == expected.dtype.name
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", [*DTYPES, "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (1, 1), (3, 4), (2, 3, 4)])
def test_every_form_gives_the_elements_that_were_saved(
    tmp_path: Path, dtype: str, shape: tuple[int, ...]
) -> None:
    array = elements(dtype, shape)
    np.savez(tmp_path / "a.npz", x=array)
    np.savez_compressed(tmp_path / "b.npz", x=array)
    np.savez(tmp_path / "c.npz", x=np.asfortranarray(array))
    np.savez(tmp_path / "d.npz", x=array.astype(array.dtype.newbyteorder(">")))
    for file in sorted(tmp_path.iterdir()):
        assert_same(read_weights(file)["x"], array)
    np.save(tmp_path / "e.npy", array)
    assert_same(read_weights(tmp_path / "e.npy")["array"], array)
    if dtype != "complex128":
        save_file({"x": array}, tmp_path / "f")
        assert_same(read_weights(tmp_path / "f")["x"], array)
    if dtype in STORAGES:
        for order in ("little", "big"):
            (tmp_path / "g").write_bytes(torch_bytes({"x": whole(array)}, byteorder=order))
            assert_same(read_weights(tmp_path / "g")["x"], array)


def test_bfloat16_is_read_from_safetensors_and_from_pytorch(tmp_path: Path) -> None:
    bits = np.array([0x3F80, 0xC000, 0x7F80], np.uint16)  # 1, -2, infinity
    header = json.dumps({"x": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}}).encode()
    (tmp_path / "a").write_bytes(len(header).to_bytes(8, "little") + header + bits.tobytes())
    (tmp_path / "b").write_bytes(torch_bytes({"x": whole(bits, "bfloat16")}))
    for name in "ab":
        found = read_weights(tmp_path / name)["x"]
        assert found.dtype is tl.bfloat16
        assert found.astype(tl.float32).tolist() == [1.0, -2.0, float("inf")]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_views_of_a_shared_storage_are_read_with_offsets_and_strides(
    tmp_path: Path, protocol: int
) -> None:
    rows = np.arange(24, dtype=np.float32).reshape(4, 6)
    shared = Storage(rows.reshape(-1))
    content = OrderedDict(
        whole=tensor(shared, 0, (4, 6), (6, 1)),
        turned=tensor(shared, 0, (6, 4), (1, 6)),
        part=parameter(tensor(shared, 7, (2, 3), (6, 2))),
        one=tensor(shared, 5, (1, 1), (99999, 2**40)),
        none=tensor(shared, 24, (0, 5), (5, 1)),
    )
    (tmp_path / "x.pt").write_bytes(torch_bytes(content, protocol=protocol))
    found = read_weights(tmp_path / "x.pt")
    expected = [rows, rows.T, rows[1:3, 1:6:2], rows[:1, 5:], np.zeros((0, 5), np.float32)]
    for tensor_found, wanted in zip(found.values(), expected, strict=True):
        assert_same(tensor_found, wanted)


def test_names_of_nested_containers_are_joined_by_dots(tmp_path: Path) -> None:
    one = whole(np.ones(2, np.float32))
    content = {
        "epoch": 3,
        "state_dict": OrderedDict({"a.weight": one}),
        "optimizer": {"state": {0: {"step": 7, "moment": one}}, "lists": [[one], ("text", one)]},
        "size": Call("torch Size", (2, 3)),
    }
    (tmp_path / "x.pt").write_bytes(torch_bytes(content))
    assert list(read_weights(tmp_path / "x.pt")) == [
        "state_dict.a.weight",
        "optimizer.state.0.moment",
        "optimizer.lists.0.0",
        "optimizer.lists.1.1",
    ]


def test_tensors_of_untyped_storages_have_the_dtype_that_is_said(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.uint16)
    content = {
        name: Call(
            "torch._utils _rebuild_tensor_v3", Storage(array.view(np.uint8), "UntypedStorage"),
            0, shape, (1,), False, OrderedDict(), Named(f"torch {name}"),
        )
        for name, shape in (("uint16", (6,)), ("float8_e4m3fn", (12,)))
    }  # fmt: skip
    (tmp_path / "x.pt").write_bytes(torch_bytes(content))
    found = read_weights(tmp_path / "x.pt")
    assert_same(found["uint16"], array)
    assert found.dtype("float8_e4m3fn") == "float8_e4m3fn"
    with pytest.raises(tl.DTypeError) as caught:
        found["float8_e4m3fn"]
    assert caught.value.got == "float8_e4m3fn"


def sharded(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    """An index of two files."""
    arrays = {name: elements("float32") for name in "abc"}
    save_file({"a": arrays["a"]}, folder / "model-1.safetensors")
    save_file({"b": arrays["b"], "c": arrays["c"]}, folder / "model-2.safetensors")
    places = {name: f"model-{1 + (name > 'a')}.safetensors" for name in arrays}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return arrays


def test_an_index_gives_the_tensors_of_all_its_files(tmp_path: Path) -> None:
    arrays = sharded(tmp_path)
    for path in (tmp_path, tmp_path / "model.safetensors.index.json"):
        found = read_weights(path)
        assert list(found) == ["a", "b", "c"]
        for name, array in arrays.items():
            assert_same(found[name], array)


def test_an_index_in_a_cache_of_links_is_read(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    arrays = sharded(blobs)
    for file in list(blobs.iterdir()):
        (snapshot / file.name).symlink_to(Path("..", "..", "blobs", file.name))
    assert_same(read_weights(snapshot)["c"], arrays["c"])


class Network(tl.nn.Layer):
    """Two layers and a buffer; one weight is square."""

    def __init__(self) -> None:
        self.first, self.second = tl.nn.Linear(3, 3), tl.nn.Linear(3, 2)
        self.norm = tl.nn.BatchNorm1d(2)


def test_saved_weights_are_loaded_as_they_were(tmp_path: Path) -> None:
    for layout in ("pytorch", "tensorlike"):
        one, other = Network(), Network()
        save_weights(one, tmp_path / layout, layout=layout)
        assert load_weights(other, tmp_path / layout, layout=layout) == ((), ())
        for name, array in one.state_dict().items():
            np.testing.assert_array_equal(other.state_dict()[name], array)
    assert load_file(tmp_path / "pytorch")["second.weight"].shape == (2, 3)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["pytorch", "tensorlike"]


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ({"": "model.", "norm": "model.bn"}, {"model.": "", "model.bn": "norm"}),
        ([(r"^(\w+)\.", r"model.\1.")], [(r"^model\.(\w+)\.", r"\1."), ("nothing", None)]),
        (lambda name: f"model.{name}", lambda name: name.removeprefix("model.")),
    ],
)
def test_names_are_mapped_by_prefixes_patterns_and_functions(
    tmp_path: Path, there: Any, here: Any
) -> None:
    one, other = Network(), Network()
    save_weights(one, tmp_path / "x", there)
    assert all(name.startswith("model.") for name in load_file(tmp_path / "x"))
    load_weights(other, tmp_path / "x", here)
    assert other.first.weight.tolist() == one.first.weight.tolist()


def test_all_that_does_not_fit_is_told_at_once_and_nothing_is_set() -> None:
    layer = Network()
    before, state = layer.state_dict(), Network().state_dict(layout="pytorch")
    del state["first.bias"]
    state |= {"second.weight": np.ones((3, 2), np.float32), "head": np.ones(1, np.float32)}
    with pytest.raises(tl.ArgumentError) as caught:
        load_weights(layer, state)
    assert caught.value.got == (
        "missing: first.bias; left over: head; of other shapes: second.weight (3, 2) instead of "
        "(2, 3)"
    )
    with pytest.raises(tl.ArgumentError, match="of other shapes"):
        load_weights(layer, state, strict=False)
    for name, array in layer.state_dict().items():
        np.testing.assert_array_equal(array, before[name])
    del state["second.weight"]
    assert load_weights(layer, state, strict=False) == (("first.bias", "second.weight"), ("head",))
    assert layer.first.weight.tolist() == state["first.weight"].T.tolist()


def test_two_tensors_for_one_name_are_refused() -> None:
    state = {"a.weight": np.ones((2, 2)), "b.weight": np.ones((2, 2))}
    with pytest.raises(tl.ArgumentError, match=r"'a.weight' and 'b.weight'"):
        load_weights(tl.nn.Linear(2, 2, bias=False), state, {"a.": "", "b.": ""})


def test_bfloat16_weights_go_into_float32_layers(tmp_path: Path) -> None:
    bits = np.array([[0x3F80, 0x4000, 0x4040], [0, 0, 0]], np.uint16)
    (tmp_path / "x").write_bytes(torch_bytes({"weight": whole(bits, "bfloat16")}))
    layer = tl.nn.Linear(3, 2, bias=False)
    load_weights(layer, tmp_path / "x")
    assert layer.weight.tolist() == [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]


def test_a_tensor_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    save_file({"x": np.zeros(1 << 20, np.float32)}, tmp_path / "x")
    found = read_weights(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"other")
    assert found.shape("x") == (1 << 20,)
    with pytest.raises(tl.ArgumentError, match="has changed"):
        found["x"]


def test_files_of_old_pytorch_are_refused_with_the_way_to_convert_them(tmp_path: Path) -> None:
    # The number that they begin with, the version of the form, and what machine wrote it.
    parts = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, {"weight": 1})
    path = tmp_path / "old.pt"
    path.write_bytes(b"".join(pickle.dumps(part, 2) for part in parts))
    with pytest.raises(tl.ArgumentError) as caught:
        read_weights(path)
    assert "PyTorch before 1.6" in str(caught.value.got)
    assert "torch.save(torch.load(old, weights_only=True), new)" in str(caught.value)

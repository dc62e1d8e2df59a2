"""Models that were damaged, or made to harm, are refused: no crash, no file of others is read."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.onnx_models import BOOL, FLOAT, INT64, loop_body, model_of, port, two_layers, weight

import tensorlike as tl


def refused(proto: Any, text: str) -> None:
    with pytest.raises((tl.ArgumentError, tl.DTypeError, tl.ShapeError), match=text):
        tl.export.onnx.load(proto)


def relu(weights: Any = (), *, source: str = "x") -> Any:
    node = helper.make_node("Relu", [source], ["y"])
    return model_of([node], [port("x", [2])], [port("y", [2])], weights)


def test_bytes_that_are_no_model_are_refused() -> None:
    for data in (b"", b"\x00", b"\xff" * 100, b"PK\x03\x04", two_layers().SerializeToString()[:-7]):
        refused(data, "must be a model of ONNX|must")


def test_a_cycle_and_what_is_read_before_it_is_made_are_refused() -> None:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    refused(model_of(nodes, [port("x", [2])], [port("b", [2])]), "no cycles; got 'b'")
    own = [helper.make_node("Add", ["x", "y"], ["y"])]
    refused(model_of(own, [port("x", [2])], [port("y", [2])]), "no cycles")


def test_a_name_that_is_made_twice_is_refused() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["y"])]
    refused(model_of(nodes, [port("x", [2])], [port("y", [2])]), "made once")
    refused(relu([weight("w", np.float32(1)), weight("w", np.float32(2))]), "must differ")
    node = helper.make_node("Relu", ["x"], ["x"])
    refused(model_of([node], [port("x", [2])], [port("x", [2])]), "made once")


def test_an_output_that_nothing_makes_is_refused() -> None:
    node = helper.make_node("Relu", ["x"], ["z"])
    refused(model_of([node], [port("x", [2])], [port("y", [2])]), "made by a node; got 'y'")


def test_functions_that_call_themselves_are_refused() -> None:
    imports = [helper.make_opsetid("own", 1), helper.make_opsetid("", 18)]
    first, second = (
        helper.make_function(
            "own",
            name,
            ["a"],
            ["b"],
            [helper.make_node(other, ["a"], ["b"], domain="own")],
            imports,
        )
        for name, other in (("F", "G"), ("G", "F"))
    )
    node = helper.make_node("F", ["x"], ["y"], domain="own")
    proto = model_of(
        [node], [port("x", [2])], [port("y", [2])], functions=[first, second],
        imports=[helper.make_opsetid("own", 1)],
    )  # fmt: skip
    refused(proto, "must not call themselves")


def test_functions_that_grow_twofold_with_each_call_end() -> None:
    """Each of 40 functions calls the one before twice: read, that is 40; run, 2 ** 40."""
    imports = [helper.make_opsetid("own", 1), helper.make_opsetid("", 18)]
    functions = [
        helper.make_function(
            "own", "F0", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], imports
        )
    ]
    for i in range(1, 40):
        body = [
            helper.make_node(f"F{i - 1}", ["a"], ["m"], domain="own"),
            helper.make_node(f"F{i - 1}", ["m"], ["b"], domain="own"),
        ]
        functions.append(helper.make_function("own", f"F{i}", ["a"], ["b"], body, imports))
    node = helper.make_node("F39", ["x"], ["y"], domain="own")
    proto = model_of(
        [node], [port("x", [2])], [port("y", [2])], functions=functions,
        imports=[helper.make_opsetid("own", 1)],
    )  # fmt: skip
    refused(proto, "at most .* nodes")


def field(number: int, data: bytes) -> bytes:
    """A field of bytes in protobuf's wire format."""
    size, length = b"", len(data)
    while length >= 128:
        size, length = size + bytes([length % 128 + 128]), length // 128
    return bytes([number * 8 + 2]) + size + bytes([length]) + data


def test_graphs_nested_a_thousand_deep_are_refused() -> None:
    graph = b""
    for _ in range(1000):
        attribute = field(1, b"then_branch") + field(6, graph)
        graph = field(1, field(4, b"If") + field(5, attribute))
    refused(field(7, graph), "must be a model of ONNX")


def test_graphs_nested_as_deep_as_files_may_be_are_run() -> None:
    inner = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"])], "inner", [], [port("y", [2])]
    )
    for i in range(24):
        other = helper.make_graph(
            [helper.make_node("Abs", ["x"], [f"z{i}"])], "other", [], [port(f"z{i}", [2])]
        )
        node = helper.make_node("If", ["c"], [f"y{i}"], then_branch=inner, else_branch=other)
        inner = helper.make_graph([node], "outer", [], [port(f"y{i}", [2])])
    inner.input.extend([port("c", [], TensorProto.BOOL), port("x", [2])])
    model = tl.export.onnx.load(
        onnx.ModelProto(graph=inner, ir_version=10, opset_import=[helper.make_opsetid("", 18)])
    )
    x = np.array([3, -4], np.float32)
    assert model(np.array(True), x).tolist() == [-3, 4]
    assert model(np.array(False), x).tolist() == [3, 4]


def test_tensors_whose_data_is_not_that_of_their_shape_are_refused() -> None:
    wrong = weight("w", np.ones(4, np.float32))
    for dims in ([5], [2**40], [2**62, 2**62], [-4], [1] * 70):
        del wrong.dims[:]
        wrong.dims.extend(dims)
        refused(relu([wrong]), "must hold as many elements|dimensions")
    listed = onnx.TensorProto(name="w", data_type=FLOAT, dims=[2**50], float_data=[1.0])
    refused(relu([listed]), "must hold as many elements")
    refused(relu([onnx.TensorProto(name="w", data_type=77, dims=[1])]), "element type")


def test_sizes_of_inputs_that_are_negative_are_refused() -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    refused(model_of([node], [port("x", [-7])], [port("y", [-7])]), "must not be negative")


def test_a_huge_constant_ends_in_an_error_and_not_in_the_machines_memory() -> None:
    for op, weights in (
        ("ConstantOfShape", [weight("s", np.array([2**20, 2**20], np.int64))]),
        ("ConstantOfShape", [weight("s", np.array([-1], np.int64))]),
    ):
        nodes = [helper.make_node(op, ["s"], ["big"]), helper.make_node("Add", ["x", "big"], ["y"])]
        proto = model_of(nodes, [port("x", [1])], [port("y", None)], weights)
        with pytest.raises(tl.TensorlikeError):
            tl.export.onnx.load(proto)


def test_a_loop_without_an_end_is_not_run_when_it_is_read() -> None:
    nodes = [
        helper.make_node("Add", ["total", "one"], ["next"]),
        helper.make_node("Identity", ["on"], ["go"]),
    ]
    body = helper.make_graph(
        nodes, "body", [port("i", [], INT64), port("on", [], BOOL), port("total", [], INT64)],
        [port("go", [], BOOL), port("next", [], INT64)],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["n", "", "one"], ["last"], body=body)
    proto = model_of(
        [loop, helper.make_node("Add", ["x", "last"], ["y"])], [port("x", [2], INT64)],
        [port("y", [2], INT64)], [weight("n", np.int64(2**62)), weight("one", np.int64(1))],
    )  # fmt: skip
    model = tl.export.onnx.load(proto)
    assert "must end soon" in model.why


# External data.


def external(folder: Path, location: str, **more: str) -> Path:
    tensor = onnx.TensorProto(name="w", data_type=FLOAT, dims=[2])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=value)
    node = helper.make_node("Add", ["x", "w"], ["y"])
    proto = model_of([node], [port("x", [2])], [port("y", [2])], [tensor])
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    (made / "deep").mkdir(parents=True)
    data = np.array([1, 2, 3, 4], np.float32).tobytes()
    for path in (tmp_path / "secret.bin", made / "own.bin", made / "deep" / "own.bin"):
        path.write_bytes(data)
    return made


def test_external_data_in_the_models_folder_is_read(folder: Path) -> None:
    for location, more, wanted in (
        ("own.bin", {"length": "8"}, [1, 2]), ("deep/own.bin", {"offset": "8"}, [3, 4]),
    ):  # fmt: skip
        model = tl.export.onnx.load(external(folder, location, **more))
        assert model(np.zeros(2, np.float32)).tolist() == wanted


def test_a_model_that_onnx_saved_with_external_data_is_read(tmp_path: Path) -> None:
    """Of every element type that a file may hold, those of less than a byte included."""
    values = np.array([[0, 1, 2], [3, 4, 1]])
    kinds = ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT8", "UINT16", "INT64", "BOOL", "INT4"]
    tensors, nodes = [], []
    for kind in kinds:
        tensor = helper.make_tensor(kind, getattr(TensorProto, kind), [2, 3], values.reshape(-1))
        tensor = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), kind)
        tensors.append(tensor)
        nodes.append(helper.make_node("Cast", [kind], [f"{kind}_y"], to=FLOAT))
    outputs = [port(f"{kind}_y", [2, 3]) for kind in kinds]
    proto = model_of(nodes, [], outputs, tensors, opset=21)
    path = tmp_path / "big.onnx"
    onnx.save(proto, path, save_as_external_data=True, size_threshold=0, location="big.data")
    found = tl.export.onnx.load(path).named({})
    for kind in kinds:
        wanted = values != 0 if kind == "BOOL" else values
        assert found[f"{kind}_y"].tolist() == wanted.tolist(), kind


@pytest.mark.parametrize(
    "location",
    ["../secret.bin", "deep/../../secret.bin", "/etc/passwd", "", "deep", "none.bin", "a\0b"],
)
def test_external_data_elsewhere_is_refused(folder: Path, location: str) -> None:
    refused(external(folder, location, length="8"), "external data must")


def test_external_data_behind_links_is_refused(folder: Path, tmp_path: Path) -> None:
    os.symlink(tmp_path / "secret.bin", folder / "link.bin")
    os.symlink(tmp_path, folder / "out")
    os.link(tmp_path / "secret.bin", folder / "hard.bin")
    os.mkfifo(folder / "pipe.bin")
    for location in ("link.bin", "out/secret.bin", "hard.bin", "pipe.bin"):
        refused(external(folder, location, length="8"), "external data must")


@pytest.mark.parametrize(
    "more",
    [
        {"offset": "-4", "length": "8"}, {"offset": "12", "length": "8"}, {"length": str(2**62)},
        {"offset": "x"}, {"length": "4"}, {"offset": str(2**63), "length": "8"}, {},
    ],
)  # fmt: skip
def test_external_data_beyond_the_file_is_refused(folder: Path, more: dict[str, str]) -> None:
    refused(external(folder, "own.bin", **more), "must")


def test_external_data_of_a_model_that_is_no_file_is_refused(folder: Path) -> None:
    data = external(folder, "own.bin").read_bytes()
    refused(data, "external data is read from the folder of a file")


# Mutations.


def mutated(data: bytes, draw: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(found))
        kind = draw.randrange(4)
        if kind == 0:
            found[at] = draw.randrange(256)
        elif kind == 1:
            found[at] ^= 1 << draw.randrange(8)
        elif kind == 2:
            del found[at : at + draw.randint(1, 8)]
        else:
            found[at:at] = bytes(draw.randrange(256) for _ in range(draw.randint(1, 8)))
    return bytes(found)


def seeds() -> list[bytes]:
    loop = helper.make_node("Loop", ["n", "", "s"], ["last", "rows"], body=loop_body(ends=False))
    looped = model_of(
        [loop], [port("x", [2]), port("s", [2])], [port("last", [2]), port("rows", [3, 2])],
        [weight("n", np.int64(3))],
    )  # fmt: skip
    shaped = model_of(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
            helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2]),
            helper.make_node("Resize", ["p", "", "scales"], ["r"], mode="linear"),
            helper.make_node("Slice", ["r", "one", "two"], ["y"]),
        ],
        [port("x", ["n", 2, 8, 8])], [port("y", None)],
        [
            weight("w", np.ones((3, 2, 3, 3), np.float32)),
            weight("scales", np.array([1, 1, 2, 2], np.float32)),
            weight("one", np.array([0], np.int64)), weight("two", np.array([2], np.int64)),
        ],
    )  # fmt: skip
    return [proto.SerializeToString() for proto in (two_layers(), looped, shaped)]


def check_mutations(count: int, seed: int) -> None:
    draw = random.Random(seed)
    known = seeds()
    read = 0
    for i in range(count):
        data = mutated(known[i % len(known)], draw)
        try:
            tl.export.onnx.load(data)
            read += 1
        except tl.TensorlikeError:
            pass
    assert 0 < read < count


def test_mutated_models_are_read_or_refused() -> None:
    check_mutations(300, seed=0)


@pytest.mark.slow
def test_twenty_thousand_mutated_models_are_read_or_refused() -> None:
    check_mutations(20_000, seed=1)

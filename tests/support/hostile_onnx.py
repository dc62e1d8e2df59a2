"""ONNX models that are made to harm: cycles, names twice, files elsewhere; each as bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from .onnx_models import FLOAT, graph, model_of, port, weight

OWN = [helper.make_opsetid("own", 1), helper.make_opsetid("", 18)]


def node(op: str, reads: str, makes: str, **attributes: Any) -> Any:
    """A node by the names that it reads and makes, of ours where its op is one letter."""
    domain = "own" if len(op) == 1 else ""
    return helper.make_node(op, reads.split(), makes.split(), domain=domain, **attributes)


def function(name: str, nodes: list[Any], reads: str = "a", makes: str = "b") -> Any:
    """A function of the domain `own`."""
    return helper.make_function("own", name, reads.split(), makes.split(), nodes, OWN)


def small(nodes: list[Any], weights: Any = (), functions: Any = (), outputs: str = "y") -> bytes:
    """A model from x and a condition c to y, of two elements."""
    inputs = [port("x", [2]), port("c", [], TensorProto.BOOL)]
    made = [port(name, [2]) for name in outputs.split()]
    proto = model_of(nodes, inputs, made, list(weights), functions=list(functions), imports=OWN[:1])
    return proto.SerializeToString()


def branch(nodes: list[Any], makes: str = "z") -> Any:
    """A branch that takes nothing."""
    return graph("branch", nodes, [], [port(name, [2]) for name in makes.split()])


def either(nodes: list[Any], makes: str = "z", gives: str = "y") -> Any:
    """A choice between this branch and a plain one."""
    plain = branch([node("Abs", "x", "other")], "other")
    return node("If", "c", gives, then_branch=branch(nodes, makes), else_branch=plain)


def field(number: int, data: bytes) -> bytes:
    """A field of bytes in protobuf's wire format."""
    size, length = b"", len(data)
    while length >= 128:
        size, length = size + bytes([length % 128 + 128]), length // 128
    return bytes([number * 8 + 2]) + size + bytes([length]) + data


def nested(depth: int) -> bytes:
    """Graphs in graphs."""
    inner = b""
    for _ in range(depth):
        attribute = field(1, b"then_branch") + field(6, inner) + bytes([20 * 8 & 0x7F | 0x80, 1, 5])
        inner = field(1, field(4, b"If") + field(5, attribute))
    return b"\x08\x0a" + field(7, inner) + field(8, b"\x10\x12")


def cyclic() -> Iterator[tuple[str, bytes]]:
    """Models in which something follows from itself, by name."""
    two = [node("Add", "x b", "a"), node("Relu", "a", "b")]
    yield "two nodes", small([*two, node("Abs", "b", "y")])
    yield "a node of itself", small([node("Add", "x y", "y")])
    yield "a node read before it is made", small([node("Relu", "a", "y"), node("Abs", "x", "a")])
    ring = [node("Relu", f"r{(i + 1) % 5000}", f"r{i}") for i in range(5000)]
    yield "a ring of 5000", small([*ring, node("Abs", "r0", "y")])
    later = [either([node("Neg", "late", "z")]), node("Abs", "x", "late")]
    yield "a branch that reads what comes later", small(later)
    yield "a branch that reads its own choice", small([either([node("Neg", "y", "z")])])
    call = node("F", "x", "y")
    yield "a function of itself", small([call], (), [function("F", [node("F", "a", "b")])])
    pair = [function("F", [node("G", "a", "b")]), function("G", [node("F", "a", "b")])]
    yield "two functions of each other", small([call], (), pair)
    inside = helper.make_node(
        "If", ["k"], ["b"], then_branch=branch([node("F", "a k", "z")]),
        else_branch=branch([node("F", "a k", "z")]),
    )  # fmt: skip
    yield "a function that calls itself in branches", small(
        [helper.make_node("F", ["x", "c"], ["y"], domain="own")], (),
        [function("F", [inside], "a k")],
    )  # fmt: skip
    count = 3000
    chain = [function("F", [node("Neg", "a", "b")])]
    chain += [
        helper.make_function(
            "own", f"F{i}", ["a"], ["b"],
            [helper.make_node(f"F{i + 1}" if i < count else "F", ["a"], ["b"], domain="own")], OWN,
        )
        for i in range(count + 1)
    ]  # fmt: skip
    yield (
        "functions 3000 deep",
        small([helper.make_node("F0", ["x"], ["y"], domain="own")], (), chain),
    )
    twice = [
        helper.make_node(f"F{i}", [x], [y], domain="own")
        for i in range(1, 60)
        for x, y in (("a", "m"), ("m", "b"))
    ]
    grown = [
        helper.make_function("own", f"F{i}", ["a"], ["b"], twice[2 * i : 2 * i + 2], OWN)
        for i in range(59)
    ] + [helper.make_function("own", "F59", ["a"], ["b"], [node("Neg", "a", "b")], OWN)]
    yield (
        "functions that call the next one twice",
        small([helper.make_node("F0", ["x"], ["y"], domain="own")], (), grown),
    )
    for depth in (200, 10_000):
        yield f"graphs {depth} deep", nested(depth)


def named_twice() -> Iterator[tuple[str, bytes]]:
    """Models in which a name, or nothing, stands for what is read."""
    relu = node("Relu", "x", "y")
    yield "made twice", small([relu, node("Abs", "x", "y")])
    yield "made twice by a node", small([node("Split", "x", "y y", num_outputs=2)])
    yield "an input made again", small([node("Relu", "x", "x"), node("Abs", "x", "y")])
    ones, twos = weight("w", np.ones(2, np.float32)), weight("w", np.full(2, 2, np.float32))
    added = node("Add", "x w", "y")
    yield "two weights of a name", small([added], [ones, twos])
    yield "a weight made again", small([node("Neg", "x", "w"), added], [ones])
    inputs = [port("x", [2]), port("x", [2])]
    yield "two inputs of a name", model_of([relu], inputs, [port("y", [2])]).SerializeToString()
    bodies = [function("F", [node("Neg", "a", "b")]), function("F", [node("Abs", "a", "b")])]
    yield "two functions of a name", small([node("F", "x", "y")], (), bodies)
    pair = function("F", [node("Add", "a a", "b")], "a a")
    yield "two inputs of a function", small([node("F", "x x", "y")], (), [pair])
    again = function("F", [node("Neg", "a", "b"), node("Abs", "a", "b")])
    yield "made twice in a function", small([node("F", "x", "y")], (), [again])
    yield "made twice in a branch", small([either([node("Neg", "x", "z"), node("Abs", "x", "z")])])
    leaky = node("LeakyRelu", "x", "y", alpha=0.5)
    leaky.attribute.add(name="alpha", f=0.25, type=onnx.AttributeProto.FLOAT)
    yield "an attribute twice", small([leaky])
    yield "an output that nothing makes", small([node("Relu", "x", "z")])
    yield "a branch whose output nothing makes", small([either([node("Neg", "x", "q")])])


def shadowed() -> Iterator[tuple[str, bytes]]:
    """Models in which a branch makes a name that there is outside: x is negated there."""
    yield "a branch that makes what it reads", small([either([node("Neg", "x", "x")], "x")])
    doubled = [node("Add", "x x", "s"), either([node("Neg", "x", "s")], "s")]
    yield "a branch that makes an outer name", small(doubled)
    yield "a branch that makes its choice", small([either([node("Neg", "x", "y")], "y")])


def output_twice() -> bytes:
    """A model of which an output is listed twice."""
    return small([node("Relu", "x", "y")], outputs="y y")


def external(folder: Path, location: str, dims: Any = (2,), kind: int = FLOAT, **more: str) -> Path:
    """A model x + w in a folder, whose w lies elsewhere."""
    tensor = onnx.TensorProto(name="w", data_type=kind, dims=dims)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=value)
    path = folder / "model.onnx"
    nodes = [helper.make_node("Cast", ["w"], ["v"], to=FLOAT), node("Add", "x v", "y")]
    path.write_bytes(small(nodes, [tensor]))
    return path


def data_elsewhere(root: Path) -> Iterator[tuple[str, Path]]:
    """Models whose data is not a plain file in their folder, or not what it is said to be."""
    folder = root / "model"
    (folder / "deep").mkdir(parents=True)
    data = np.array([1, 2, 3, 4], np.float32).tobytes()
    for path in (root / "secret.bin", folder / "own.bin", folder / "deep" / "own.bin"):
        path.write_bytes(data)
    os.symlink(root / "secret.bin", folder / "link.bin")
    os.symlink("own.bin", folder / "inner.bin")
    os.symlink(root, folder / "out")
    os.symlink("loop.bin", folder / "loop.bin")
    os.symlink("/dev/zero", folder / "zero.bin")
    os.link(root / "secret.bin", folder / "hard.bin")
    os.mkfifo(folder / "pipe.bin")
    for location in (
        str(root / "secret.bin"), str(folder / "own.bin"), "../secret.bin", "/etc/passwd",
        "deep/../../secret.bin", "deep/../own.bin", "../model/own.bin", "", ".", "/", "deep",
        "deep/", "none.bin", "none/own.bin", "own.bin/own.bin", "own.bin\0", "link.bin",
        "inner.bin", "out/secret.bin", "loop.bin", "zero.bin", "hard.bin", "pipe.bin", "x" * 5000,
        "a/" * 3000 + "own.bin", "..\\secret.bin", "file:own.bin", "/dev/zero", "/dev/stdin",
    ):  # fmt: skip
        yield f"at {location[:40]!r}", external(folder, location, length="8")
    for more in (
        {"offset": "-4", "length": "8"}, {"offset": "12", "length": "8"}, {"offset": "16"},
        {"offset": str(2**63), "length": "8"}, {"offset": str(2**64), "length": "8"},
        {"offset": str(2**64 - 8), "length": "16"}, {"offset": "x"}, {"offset": " 0 "},
        {"offset": "0x0"}, {"offset": "1_6"}, {"offset": "9" * 5000}, {"offset": "8.0"},
        {"length": "-8"}, {"length": "-1"}, {"length": "0"}, {"length": "4"}, {"length": "9"},
        {"length": "16"}, {"length": str(2**62)}, {"length": str(2**64 + 8)}, {"length": ""},
        {"length": "9" * 5000}, {},
    ):  # fmt: skip
        yield f"{str(more)[:60]}", external(folder, "own.bin", **more)
    for kind, dims in (
        ("DOUBLE", [3]), ("FLOAT", [5]), ("FLOAT", [2**40]), ("FLOAT", [2**62, 2**62]),
        ("FLOAT", [-4]), ("INT8", [17]), ("FLOAT", [0]), ("INT64", [1] * 70), ("STRING", [4]),
    ):  # fmt: skip
        number = getattr(TensorProto, kind)
        yield f"{kind} of {dims[:3]}", external(folder, "own.bin", dims, number, length="16")
    yield "another dtype", external(folder, "own.bin", [4], 77, length="16")
    yield "shared by many", many(folder, 4000, 2**20)


def many(folder: Path, count: int, size: int) -> Path:
    """A model of a few bytes for each of its tensors, all of which are the same file."""
    (folder / "large.bin").write_bytes(bytes(size))
    tensors = []
    for i in range(count):
        tensor = onnx.TensorProto(name=f"w{i}", data_type=FLOAT, dims=[size // 4 - i])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "large.bin"), ("offset", str(4 * i))):
            tensor.external_data.add(key=key, value=value)
        tensor.external_data.add(key="length", value=str(size - 4 * i))
        tensors.append(tensor)
    path = folder / "model.onnx"
    path.write_bytes(small([node("Relu", "x", "y")], tensors))
    return path

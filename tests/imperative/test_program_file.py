"""Programs as bytes: they come back as they were, and what is none is refused with a text."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load
from support.models import Model, models
from support.program_files import joined, no_tensors, split

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import Listing
from tensorlike.ops.versions import class_of


def gradient_program() -> tuple[Listing, Any]:
    """A loss of a batch of unknown size, and its gradient by a captured weight."""
    listing = Listing()
    x = tl.Tensor(listing.input("x", ("batch", 3)))
    target = tl.Tensor(listing.input("target", ("batch", None)))
    weight = tl.tensor(np.arange(6, dtype=np.float32).reshape(3, 2) / 10)

    def loss(weight: Any) -> Any:
        y = F.reshape(x @ weight, (x.shape[0] * 2,))
        return tl.mean((F.var(y) + F.sum(target, axis=1)) * tl.zeros((x.shape[0],)) + F.mean(y))

    return listing, tl.grad(loss)(weight)


def test_a_program_comes_back_as_it_was() -> None:
    listing, result = gradient_program()
    again, (y,) = Listing.from_bytes(listing.to_bytes(result))
    assert again.text_lines() == listing.text_lines()
    for batch in (1, 4):
        given = np.ones((batch, 3), np.float32), np.ones((batch, 5), np.float32)
        np.testing.assert_array_equal(again.run(y, *given), listing.run(result, *given))
    assert again.to_bytes(y) == listing.to_bytes(result)


@pytest.mark.parametrize("name", models())
def test_models_are_saved_with_their_weights(name: str) -> None:
    model = models()[name]
    listing = Listing()
    shape = model.inputs.shape
    x = listing.input("x", shape, model.inputs.dtype.name)
    y = model.network(tl.Tensor(x))
    again, (z,) = Listing.from_bytes(listing.to_bytes(y))
    assert np.array_equal(again.run(z, model.inputs), listing.run(y, model.inputs))


def test_ops_that_were_declared_at_run_time_come_along() -> None:
    calls = tl.declare(
        "- op: ProgramFileTwice\n  args: [x: numeric]\n  function: program_file_twice\n"
        "  define: x + x\n  doc: Twice.\n  example: {x: [1.0, 2.0]}\n"
    )
    listing = Listing()
    y = calls["program_file_twice"](tl.Tensor(listing.input("x", (None,))))
    data = listing.to_bytes(y)
    structure, tensors = split(data)
    assert [name for name, *_ in structure["sources"]] == ["ProgramFileTwice"]
    assert [next(iter(one)) for one in structure["declarations"]] == ["op", "function"]
    for again, (z,) in (Listing.from_bytes(data), Listing.from_bytes(joined(structure, tensors))):
        assert again.run(z, [1.0, 2.0]).tolist() == [2.0, 4.0]


def test_what_was_asked_of_sizes_is_saved() -> None:
    listing = Listing()
    x, y = (tl.Tensor(listing.input(name, (name,))) for name in ("n", "m"))
    z = F.sum(x) * (2 if x.shape[0] > 3 else 5) + F.sum(y) * (1 if y.shape[0] < x.shape[0] else 3)
    again, (w,) = Listing.from_bytes(listing.to_bytes(z))
    outcomes = set()
    for sizes in ((4, 2), (4, 9), (2, 1), (2, 3)):
        given = [np.ones(size, np.float32) for size in sizes]
        found = []
        for program, result in ((listing, z), (again, w)):
            try:
                found.append(program.run(result, *given).item())
            except tl.ShapeError as error:
                found.append(str(error).partition("; applied")[0])
        assert found[0] == found[1]
        outcomes.add(type(found[0]))
    assert outcomes == {float, str}


def test_parts_are_saved_with_their_program() -> None:
    outer, inner = Listing(), Listing()
    y = outer.input("x", (2,)) * 2
    inner.input("z", ("n",)) + 1
    outer.add_part("body", inner)
    with pytest.raises(tl.ArgumentError, match="must not hold the program"):
        inner.add_part("outer", outer)
    again, _ = Listing.from_bytes(outer.to_bytes(y))
    assert str(again) == str(outer)
    assert "body:\n  z: float32(n,)" in str(again)


def test_what_is_no_array_is_not_saved() -> None:
    listing = Listing()
    x = listing.input("x", (2,))
    y = tl.grad(lambda w: F.sum(F.sin(w) * tl.Tensor(x)))
    assert isinstance(y(tl.ones(2)), tl.Tensor)  # a gradient is a program of arrays
    captured = tl.grad(lambda w: (listing.capture(w._raw()), F.sum(w))[1])(tl.ones(2))
    assert captured.shape == (2,)
    other = Listing()
    number = listing.capture(other.input("y", (2,)))
    listing.to_bytes(x)  # which does not read it
    (y,) = listing.append(tl.ops.Elemwise(mode="sin"), [number])
    with pytest.raises(tl.ParameterError, match="must be an array"):
        listing.to_bytes(listing.symbol(y))


def test_captured_arrays_are_a_file_of_safetensors() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", (2,)))
    parts = [np.array([1, 2], dtype) for dtype in ("float64", "bool", "int16", "complex64")]
    y = x
    for part in parts:
        y = y * tl.tensor(part)
    data = listing.to_bytes(y)
    stored = load(split(data)[1])
    assert sorted((x.dtype.name, x.shape) for x in stored.values()) == [
        ("bool", (2,)), ("float32", (2, 2)), ("float64", (2,)), ("int16", (2,)),
    ]  # fmt: skip
    again, (z,) = Listing.from_bytes(data)
    assert np.array_equal(again.run(z, [1.0, 2.0]), listing.run(y, [1.0, 2.0]))


@pytest.mark.parametrize("dtype", [*"?bhilBHIL", "e", "f", "d", "F", "D", "bfloat16"])
def test_arrays_of_every_dtype_come_back(dtype: str) -> None:
    listing = Listing()
    x = listing.input("x", (3,), "bool")
    array = tl.tensor([0, 1, 3]) if dtype == "bfloat16" else np.array([0, 1, 3], dtype)
    given = tl.astype(array, "bfloat16") if dtype == "bfloat16" else tl.tensor(array)
    y = F.where(tl.Tensor(x), given, given)
    again, (z,) = Listing.from_bytes(listing.to_bytes(y))
    found = again.run(z, np.ones(3, bool))
    assert found.dtype is given.dtype
    assert found.tolist() == given.tolist()


class Doubled(tl.ops.OpBase):
    """An op that is Python's own."""

    factor: float = 2.0

    def define(self, x: Any) -> Any:
        """The same, larger."""
        return x * self.factor


def test_ops_of_python_are_looked_up_again() -> None:
    listing = Listing()
    (y,) = Doubled(factor=3.0)(listing.input("x", (2,)))
    data = listing.to_bytes(y)
    structure, tensors = split(data)
    (line,) = (line for line in structure["program"]["lines"] if "outputs" in line)
    assert "Doubled" in line["foreign"]
    again, (z,) = Listing.from_bytes(data)
    assert again.run(z, [1.0, 2.0]).tolist() == [3.0, 6.0]
    line["foreign"] = line["foreign"].replace("Doubled", "Tripled")
    with pytest.raises(tl.ArgumentError, match="Tripled"):
        Listing.from_bytes(joined(structure, tensors))


def test_an_op_is_read_by_the_declaration_of_its_version() -> None:
    entry = (
        "- op: FiledVersions\n  version: {version}\n  args: [x: numeric]\n"
        "  function: filed_versions\n  define: {define}\n  doc: A sum.\n  example: {{x: [1.0]}}\n"
    )
    tl.declare(entry.format(version=1, define="x + x") + entry.format(version=2, define="x + 1"))
    listing = Listing()
    x = listing.input("x", (2,))
    (older,), (newer,) = (class_of("FiledVersions", version)()(x) for version in (1, 2))
    data = listing.to_bytes([older, newer])
    structure, tensors = split(data)
    lines = [line for line in structure["program"]["lines"] if "op" in line]
    assert [(line["op"], line.get("version", 1)) for line in lines] == [
        ("FiledVersions", 1), ("FiledVersions", 2),
    ]  # fmt: skip
    again, found = Listing.from_bytes(data)
    assert [x.tolist() for x in again.run(found, [3.0, 4.0])] == [[6.0, 8.0], [4.0, 5.0]]
    lines[1]["version"] = 3
    with pytest.raises(
        tl.ArgumentError, match="FiledVersions must be declared here; got version 3"
    ):
        Listing.from_bytes(joined(structure, tensors))


def recorded_gradients(model: Model) -> tuple[Listing, list[Any], Any]:
    """The loss of a model and its gradients by all parameters, on a listing."""
    listing = Listing()
    x = tl.Tensor(listing.input("x", model.inputs.shape, model.inputs.dtype.name))
    parameters = list(model.network.parameters())
    for parameter in parameters:
        parameter.grad = None
    loss = F.cross_entropy(model.network(x), tl.tensor(model.classes))
    return listing, [loss, *tl.autograd.grad(loss, parameters)], model.inputs


@pytest.mark.parametrize("name", models())
def test_gradients_of_models_come_back_with_the_same_bits(name: str) -> None:
    listing, results, inputs = recorded_gradients(models()[name])
    again, found = Listing.from_bytes(listing.to_bytes(results))
    pairs = zip(again.run(found, inputs), listing.run(results, inputs), strict=True)
    assert all(np.array(a).tobytes() == np.array(b).tobytes() for a, b in pairs)


def declared_twice() -> tuple[Any, bytes]:
    tl.declare(
        "- scalar: program_file_square\n  args: [x: numeric]\n  expr: x * x\n  doc: x x.\n"
        "- op: ProgramFileOuter\n  args: [x: numeric]\n  function: program_file_outer\n"
        "  shapes: x(..., n) -> (..., n)\n"
        "  define: program_file_square(x) + x\n  doc: Of squares.\n  example: {x: [1.0]}\n"
    ) if not hasattr(tl.ops.builtin, "ProgramFileOuter") else None
    listing = Listing()
    x = listing.input("x", (None,))
    (y,) = tl.ops.builtin.ProgramFileOuter()(x)
    return split(listing.to_bytes(y))


def renamed(structure: Any, ending: str) -> Any:
    """The structure, its declarations called otherwise, without their texts."""
    text = json.dumps({**structure, "sources": []})
    for name in ("program_file_square", "ProgramFileOuter", "program_file_outer"):
        text = text.replace(name, name + ending)
    return json.loads(text)


def test_declarations_need_no_text() -> None:
    structure, tensors = declared_twice()
    again, (y,) = Listing.from_bytes(joined(renamed(structure, "_a"), tensors))
    assert again.run(y, [1.0, 2.0]).tolist() == [2.0, 6.0]
    assert type(again.ops[0]).__name__ == "ProgramFileOuter_a"
    x = tl.tensor([3.0])
    (z,) = tl.ops.builtin.ProgramFileOuter_a()(x)
    assert z.tolist() == [12.0]
    assert again.to_bytes(y)  # and goes on to others


def test_declarations_that_differ_from_those_here_are_refused() -> None:
    structure, tensors = declared_twice()
    changed = json.loads(json.dumps({**structure, "sources": []}).replace('"add"', '"subtract"'))
    with pytest.raises(tl.ArgumentError, match="declared otherwise here"):
        Listing.from_bytes(joined(changed, tensors))
    text = structure["sources"][0][1].replace("x * x", "x * 2")
    sources = [[structure["sources"][0][0], text], *structure["sources"][1:]]
    with pytest.raises(tl.ArgumentError, match="declared otherwise here"):
        Listing.from_bytes(joined({**structure, "sources": sources}, tensors))


WRONG_DECLARATIONS = [
    ('"program_file_square_b", "args": [0]', '"program_file_square_b", "args": [7]', "slots"),
    ('"program_file_square_b", "args": [0]', '"ProgramFileOuter_b", "args": [0]', "declared"),
    ('"call": "multiply"', '"call": "program_file_square_b"', "all their arguments"),
    ('"results": [2]', '"results": [-1]', "results in slots"),
    ('"groups": 2', '"groups": 40', "fewer names"),
    ('"groups": 2', '"groups": 0', "a group for each argument"),
]


@pytest.mark.parametrize(("old", "new", "said"), WRONG_DECLARATIONS)
def test_wrong_declarations_are_refused_and_leave_nothing(old: str, new: str, said: str) -> None:
    structure, tensors = declared_twice()
    text = json.dumps(renamed(structure, "_b"))
    assert old in text, text
    with pytest.raises(tl.ArgumentError, match=said):
        Listing.from_bytes(joined(json.loads(text.replace(old, new)), tensors))
    assert not hasattr(tl.ops.builtin, "ProgramFileOuter_b")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"results": [["y", 99]]}, "a variable that is there"),
        ({"lines": [{"input": "x", "shape": [2**62, 2**62], "dtype": "float32"}]}, "address space"),
        ({"lines": [{"input": "x", "shape": [2] * 99, "dtype": "float32"}]}, "at most 64"),
        ({"lines": [{"input": "x", "shape": [2], "dtype": "float99"}]}, "must be one of"),
        ({"lines": 7}, "must be lines; got 7"),
        ({"sizes": [""] * 99}, "at most 32 unknown sizes"),
        ({"extra": 1}, "must not have the key 'extra'"),
    ],
)
def test_what_is_wrong_with_a_structure_is_said(change: dict[str, Any], said: str) -> None:
    listing = Listing()
    structure, tensors = split(listing.to_bytes(listing.input("x", (2,)) + 1))
    changed = {**structure, "program": {**structure["program"], **change}}
    if "results" in change:
        changed = {**structure, **change}
    with pytest.raises(tl.ArgumentError, match=said):
        Listing.from_bytes(joined(changed, tensors))


def test_a_size_as_a_constant_beside_nothing_is_no_endless_way() -> None:
    listing = Listing()
    x = tl.Tensor(listing.input("x", ("n",)))
    structure, tensors = split(listing.to_bytes(x * x.shape[0]))
    (line,) = (line for line in structure["program"]["lines"] if line.get("op") == "Const")
    assert line["sizes"] == {"value": ["size", 0, 0]}
    line["inputs"] = []
    with pytest.raises(tl.ArgumentError, match="a program that can be read here"):
        Listing.from_bytes(joined(structure, tensors))


def test_what_is_wrong_with_the_file_is_said() -> None:
    listing = Listing()
    data = listing.to_bytes(tl.Tensor(listing.input("x", (2,))) * tl.tensor([1.0, 2.0]))
    structure, tensors = split(data)
    for wrong, said in (
        (b"", "must begin as a program does; got 0 bytes"),
        (b"{}" + data, "must begin as a program does"),
        (data[:-1], "as long as its header says"),
        (data + b"\0", "as long as its header says"),
        (data[:20] + b"\1" + data[21:], "the header must be whole"),
        (data[:70] + b"\1" + data[71:], "the file must be whole"),
        (joined(structure, tensors, version=2), "the version must be at most 1; got 2"),
        (joined(structure, no_tensors()), "none called 'array"),
        (joined(structure, b"x"), "less than a header"),
    ):
        with pytest.raises(tl.ArgumentError, match=said):
            Listing.from_bytes(wrong)


def test_results_that_are_not_those_written_are_refused() -> None:
    listing = Listing()
    structure, tensors = split(listing.to_bytes(listing.input("x", (2,)) + 1))
    text = json.dumps(structure).replace("float32(2,)", "float32(3,)")
    with pytest.raises(tl.ArgumentError, match="must be what was written"):
        Listing.from_bytes(joined(json.loads(text), tensors))

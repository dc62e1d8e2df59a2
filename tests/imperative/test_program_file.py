"""Programs as bytes: they come back as they were, and hostile bytes are refused."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from support.models import models

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import Listing


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
    record = json.loads(listing.to_bytes(y))
    assert any("ProgramFileTwice" in str(text) for text in record["declarations"])
    again, (z,) = Listing.from_bytes(json.dumps(record).encode())
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
    listing.capture(other.input("y", (2,)))
    with pytest.raises(tl.ParameterError, match="must be an array"):
        listing.to_bytes(x)


def broken(data: bytes, chance: random.Random) -> bytes:
    """Bytes with something cut, changed, repeated, or a value in JSON exchanged for another."""
    kind = chance.randrange(4)
    at = chance.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + data[at // 2 : at] + data[at:]
    values = [None, -1, 10**30, 2**62, [], {}, "x", 1.5, True, [[[]]], {"size": 7}]

    def changed(x: Any, depth: int) -> Any:
        if depth == 0 or not isinstance(x, (list, dict)) or not x:
            return chance.choice(values)
        key = chance.choice(list(x) if isinstance(x, dict) else range(len(x)))
        x[key] = changed(x[key], depth - 1)
        return x

    return json.dumps(changed(json.loads(data), chance.randrange(7))).encode()


def test_hostile_bytes_are_refused_and_never_crash() -> None:
    listing, result = gradient_program()
    data = listing.to_bytes(result)
    chance = random.Random(5)
    refused = 0
    for _ in range(600):
        try:
            again, results = Listing.from_bytes(broken(data, chance))
        except tl.ArgumentError as error:
            assert str(error).startswith("Listing.from_bytes: the bytes are not a program")
            refused += 1
            continue
        assert all(symbol.listing is again for symbol in results)
    assert refused > 400


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"form": "x"}, "the form must be"),
        ({"version": 2}, "version 1 can be read"),
        ({"results": [99]}, "results must be"),
        ({"lines": [{"input": "x", "shape": [2**62, 2**62], "dtype": "float32"}]}, "address space"),
        ({"lines": [{"input": "x", "shape": [2] * 99, "dtype": "float32"}]}, "at most 64"),
        ({"lines": [{"input": "x", "shape": [2], "dtype": "float99"}]}, "must be one of"),
        ({"lines": 7}, "not iterable"),
    ],
)
def test_what_is_wrong_with_bytes_is_said(change: dict[str, Any], said: str) -> None:
    listing = Listing()
    record = json.loads(listing.to_bytes(listing.input("x", (2,)) + 1))
    with pytest.raises(tl.ArgumentError, match=said):
        Listing.from_bytes(json.dumps({**record, **change}).encode())


def test_results_that_are_not_those_written_are_refused() -> None:
    listing = Listing()
    data = listing.to_bytes(listing.input("x", (2,)) + 1)
    with pytest.raises(tl.ArgumentError, match="was written"):
        Listing.from_bytes(data.replace(b"float32(2,)", b"float32(3,)"))

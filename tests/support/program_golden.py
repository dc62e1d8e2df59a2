"""Programs whose files are kept, so that later versions are held to reading them.

`python -m support.program_golden FOLDER` writes those that the folder lacks, with what they gave.
A file that is there is never written again: it is of the version that wrote it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from support.models import models
from support.program_files import joined, split
from tensorlike.imperative import program_file

VERSION = 1
DECLARED = """
- scalar: golden_swish
  args: ["x: real floating-point", "k: real floating-point = 1.0"]
  expr: x * sigmoid(k * x)
  requires: k > 0
  doc: Swish.
- reduction: golden_norm
  args: [x: real floating-point]
  map: x * x
  combine: a + b
  finish: sqrt(acc)
  doc: The length.
- op: GoldenBlock
  args: [x: real floating-point, bias: real floating-point]
  attrs: {axis: {type: one_axis, default: -1}, scale: {type: float, default: 2.0}}
  requires: scale != 0
  function: golden_block
  shapes: x(..., n, k), bias <= (..., n, k) -> (..., n, k)
  define: |
    m = mean(x, axis=axis, keepdims=True)
    golden_swish(x - m, 1.5) * scale + bias
  doc: A block.
  example: {x: [[1.0, 2.0]], bias: [1.0]}
"""


def sizes() -> bytes:
    """Unknown sizes, what was asked of them, and a part."""
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", ("batch", 3)))
    weight = tl.tensor(np.arange(6, dtype=np.float32).reshape(3, 2) / 4)

    def loss(weight: Any) -> Any:
        y = F.reshape(x @ weight, (x.shape[0] * 2,))
        return tl.mean(y * y) * (2 if x.shape[0] > 1 else 3) + F.sum(tl.zeros((x.shape[0],)))

    part = tl.Listing()
    part.input("z", ("n",)) + 1
    listing.add_part("body", part)
    return listing.to_bytes(tl.grad(loss)(weight))


def network() -> bytes:
    """A perceptron, its loss, and its gradients."""
    model = models()["mlp"]
    listing = tl.Listing()
    y = model.network(tl.Tensor(listing.input("x", (2, 6))))
    loss = F.cross_entropy(y, tl.tensor([1, 3]))
    return listing.to_bytes([y, loss, *tl.autograd.grad(loss, list(model.network.parameters()))])


def declared() -> bytes:
    """Ops that were declared at run time, and the gradient of one."""
    if not hasattr(tl.ops.builtin, "GoldenBlock"):
        tl.declare(DECLARED)
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (2, 3)))

    def block(x: Any) -> Any:
        (y,) = tl.ops.builtin.GoldenBlock(axis=0, scale=0.5)(x, tl.tensor([1.0, 2.0, 3.0]))
        (z,) = tl.ops.Reduce(mode="golden_norm", axis=1)(y)
        return z

    return listing.to_bytes([block(x), tl.grad(lambda x: F.sum(block(x)))(x)])


def states() -> bytes:
    """A state that is multiplied, with its value."""
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (3,)))
    y = tl.Tensor(listing.input("scale", (3,))) * x
    structure, _ = split(listing.to_bytes(y))
    program = structure["program"]
    program["lines"][1] = {"state": "scale", "dtype": "float32", "shape": [3]}
    program["assigned"] = [[1, structure["results"][0][1]]]
    again, (result,) = tl.Listing.from_bytes(joined(structure))
    return program_file.write(again, {"y": result.number}, {"scale": np.array([1, 2, 0.5], "f4")})


def values() -> bytes:
    """Constants and captured arrays of several dtypes, and attributes of several kinds."""
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (3,)))
    y = tl.where(x > 1, x, float("inf")) + tl.astype(tl.tensor([1, 2, 3]), "bfloat16")
    z = F.astype(x, "complex64") * (1 + 2j) + tl.tensor(np.array([1j, 2, 3], np.complex64))
    mask = F.logical_and(x < 2, tl.tensor([True, False, True]))
    return listing.to_bytes([y, F.real(z), F.imag(z), mask, F.sum(x, axis=(0,), keepdims=True)])


def control() -> bytes:
    """Branches and loops in each other, a loop without a bound, and a gradient of a loop."""
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", ("batch", 3)))

    def step(carry: Any, row: Any) -> Any:
        kept = F.cond(F.sum(row) > 1.0, lambda c: c * 0.5, F.sin, carry)
        return kept + row, kept * row

    def loss(x: Any) -> Any:
        last, rows = F.scan(step, tl.tensor([0.5, 1.0, 1.5]), x)
        return F.sum(last) + F.sum(rows)

    going = F.while_loop(lambda c: F.sum(c) < 50.0, lambda c: c * 1.5 + 1.0, x)
    bounded = F.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] + x), (3, x), max_steps=2)
    return listing.to_bytes([going, bounded[1], loss(x), tl.grad(loss)(x)])


MAKERS: dict[str, Callable[[], bytes]] = {
    "sizes": sizes, "network": network, "declared": declared, "states": states, "values": values,
    "control": control,
}  # fmt: skip


def inputs_of(program: tl.Listing) -> list[Any]:
    """Numbers for its inputs, and its states: 2 in the place of an unknown size."""
    given = []
    for number, (_, role, _) in enumerate(program.variables()):
        if role == "input":
            shape = [s if isinstance(s, int) else 2 for s in program.shape(number)]
            given.append(np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 2)
    return given


def results_of(data: bytes) -> tuple[str, list[Any]]:
    """The program as text, and what it gives; nothing where it has states."""
    program, results = tl.Listing.from_bytes(data)
    if any(role == "state" for _, role, _ in program.variables()):
        return str(program), []
    found = program.run(list(results), *inputs_of(program))
    return str(program), [np.asarray(F.astype(x, "float64")).tolist() for x in found]


def main(folder: Path) -> None:
    """Writes what is not there."""
    for name, make in MAKERS.items():
        path = folder / f"{name}-{VERSION}.tlp"
        if path.exists():
            continue
        structure, tensors = split(make())
        lines = re.sub(r'"[^"]*\.py:\d+"', '"golden.py:1"', json.dumps(structure))
        data = joined(json.loads(lines), tensors)
        path.write_bytes(data)
        text, results = results_of(data)
        said = {"text": text.splitlines(), "results": results}
        path.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

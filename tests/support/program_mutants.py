"""Mutants of program files: each must end in an error of ours, or in a program.

Structures are changed as JSON, and as bytes; checksums are made right again, so that what lies
behind them is reached. `python -m support.program_mutants FIRST COUNT` reads so many, and runs
those that are programs.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from support.memory import most_memory
from support.program_files import joined, sealed, split

VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 7, 64, 2**31, 2**62, 2**63, 2**64 - 1, 10**30, -(2**63), 0.0,
    1.5, 1e300, "", "x", "size", "add", "matmul", "sum", "float32", "complex128", "axis", [], {},
    [[[]]], [0], [-1], [2**40], [1] * 100, {"size": 0}, {"size": 7}, {"dtype": "bfloat16"},
    {"bits": 9221120237041090560}, {"complex": [0.0, 1.0]}, ["size", 0, 0], ["add", 1, 2],
    ["tuple", 1, 2], {"array": {}}, "a" * 1000,
)  # fmt: skip
MOST_ELEMENTS = 1 << 14

DECLARED = """
- scalar: mutant_square
  args: ["x: real floating-point", "k: real floating-point = 2.0"]
  expr: x * x * k
  requires: k > 0
  doc: x x k.
- reduction: mutant_sum
  args: [x: real floating-point]
  map: mutant_square(x, 1.0)
  combine: a + b
  finish: acc / n
  doc: A mean of squares.
- op: MutantOp
  args: [x: real floating-point, y: real floating-point]
  attrs: {axis: {type: one_axis, default: -1}, scale: {type: float, default: 2.0}}
  requires: scale != 0
  function: mutant_op
  shapes: x(..., n, k), y <= (..., n, k) -> (..., n, k)
  define: |
    m = mean(x, axis=axis, keepdims=True)
    z = reshape(mutant_square(x - m, 2.0) * scale, shape=(shape(x)[0] * shape(x)[1],))
    transposed(transposed(reshape(z, shape=(shape(x)[0], -1)))) + y * size(x)
  doc: Much at once.
  example: {x: [[1.0, 2.0]], y: [1.0]}
"""


def seeds() -> list[tuple[Any, bytes]]:
    """Structures and tensors: of unknown sizes, of a network, of declared ops, of states."""
    if not hasattr(tl.ops.builtin, "MutantOp"):
        tl.declare(DECLARED)
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", ("batch", 3)))
    weight = tl.tensor(np.arange(6, dtype=np.float32).reshape(3, 2))

    def loss(weight: Any) -> Any:
        y = F.reshape(x @ weight, (x.shape[0] * 2,))
        return tl.mean(F.var(y) * tl.zeros((x.shape[0],)) + (2 if x.shape[0] > 1 else 3))

    part = tl.Listing()
    part.input("z", ("n",)) + 1
    listing.add_part("body", part)
    found = [split(listing.to_bytes(tl.grad(loss)(weight)))]

    listing = tl.Listing()
    image = tl.Tensor(listing.input("x", (2, 1, 6, 6)))
    y = F.max_pool2d(F.conv2d(image, tl.ones((2, 1, 3, 3)), padding=1), kernel_size=2)
    first, second = F.split(F.softmax(F.reshape(y, (2, 18)), axis=-1), (9, 9), axis=1)
    y = F.concat([first, F.flip(second, axis=1)], axis=1)[:, 1::2]
    found.append(split(listing.to_bytes(F.cumulative_sum(F.sort(y, axis=1), axis=0))))

    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (2, 3)))
    (y,) = tl.ops.builtin.MutantOp(axis=0)(x, tl.tensor([1.0, 2.0, 3.0]))
    (z,) = tl.ops.Reduce(mode="mutant_sum", axis=1)(y)
    found.append(split(listing.to_bytes([y, z])))
    return [*found, states(), split(control_flow())]


def control_flow() -> bytes:
    """A branch in a loop, a loop with a bound, rows that go two ways, and their gradients."""
    from tensorlike import static

    with static.program_guard(static.Program()) as main:
        x = static.data("x", (None, 1))
        ie = static.IfElse(x > 0.0)
        with ie.true_block():
            ie.output(ie.input(x) * 2.0)
        with ie.false_block():
            ie.output(F.sin(ie.input(x)))
        y = ie()

        def step(carry: Any, row: Any) -> Any:
            carry = F.cond(F.sum(row) > 1.0, lambda c: c * 0.5, F.sin, carry)
            return carry + F.sum(row), carry * 2.0

        last, rows = F.scan(step, F.sum(x), y)
        found = F.while_loop(lambda c: c < 9.0, lambda c: c * 1.5 + 1.0, last, max_steps=4)
        slopes = tl.grad(lambda x: F.sum(F.scan(step, 0.0, x)[1]))(tl.Tensor(x))
    return main.to_bytes([found, rows, slopes])


def has_long_loop(program: tl.Listing) -> bool:
    """Whether a loop may go on for long, here or in a program that an op holds."""
    for step in program.applied():
        for call in getattr(step.op, "sub_programs", ()):
            if getattr(step.op, "limit", 0) not in range(100) or has_long_loop(call.program):
                return True
    return False


def states() -> tuple[Any, bytes]:
    """A counter, and a state that is multiplied."""
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (3,)))
    y = tl.Tensor(listing.input("w", (3,))) * x + 1
    structure, tensors = split(listing.to_bytes(y))
    program = structure["program"]
    program["lines"][1] = {"state": "w", "dtype": "float32", "shape": [3]}
    program["assigned"] = [[1, structure["results"][0][1]]]
    return structure, tensors


def renamed(structure: Any, number: int | str) -> Any:
    """The structure without texts, its declarations under names that nobody has had yet."""
    text = json.dumps({**structure, "sources": []})
    for name in ("mutant_", "Mutant"):
        text = text.replace(name, f"{name}{number}_")
    return json.loads(text)


def range_of(node: Any) -> Any:
    """What may stand in brackets behind it."""
    return node if isinstance(node, dict) else range(len(node))


def changed(x: Any, chance: random.Random) -> None:
    """Exchanges one value in it, leaves it out, or repeats it."""
    places: list[tuple[Any, Any]] = []

    def collect(node: Any) -> None:
        for key in range_of(node):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                collect(node[key])

    collect(x)
    node, key = chance.choice(places)
    kind = chance.randrange(8)
    if kind == 0 and isinstance(node, dict):
        del node[key]
    elif kind == 1 and isinstance(node, list):
        node.insert(key, copy.deepcopy(node[key]))
    elif kind == 2:
        node[key] = copy.deepcopy(chance.choice(places)[0])
    elif kind == 3 and isinstance(node, dict):
        node[chance.choice(places)[1] if chance.random() < 0.5 else "x"] = node.pop(key)
    elif kind == 4:
        other, place = chance.choice(places)
        node[key] = copy.deepcopy(other[place]) if place in range_of(other) else None
    elif kind == 5:
        for _ in range(chance.choice([3, 50, 200])):
            node[key] = [node[key]]
    elif type(node[key]) is int and kind > 5:
        node[key] += chance.choice([-2, -1, 1, 2, 2**32])
    else:
        node[key] = copy.deepcopy(chance.choice(VALUES))


def mutant(structure: Any, tensors: bytes, chance: random.Random) -> bytes:
    """A file that differs from the one of this structure in a place or two."""
    kind = chance.randrange(10)
    if kind < 6:
        parts = [structure, structure["program"]["lines"], structure["declarations"]]
        parts += structure.get("programs", [])
        for _ in range(chance.choice([1, 1, 2])):
            changed(chance.choice([part for part in parts if part]), chance)
        return joined(structure, tensors)
    text = bytearray(json.dumps(structure).encode())
    if kind == 6:
        text[chance.randrange(len(text))] = chance.randrange(256)
        return sealed(bytes(text), tensors)
    if kind == 7:
        other = bytearray(tensors)
        at = chance.randrange(min(len(other), 200))
        other[at : at + chance.randrange(3)] = bytes(chance.randrange(256) for _ in range(2))
        return sealed(bytes(text), bytes(other))
    whole = bytearray(sealed(bytes(text), tensors))
    if kind == 8:
        return bytes(whole[: chance.randrange(len(whole))])
    for _ in range(chance.randrange(1, 4)):
        whole[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
    return bytes(whole)


def mutants(first: int, count: int) -> Iterator[bytes]:
    """So many, from this one on; the same for the same numbers."""
    known = seeds()
    for number in range(first, first + count):
        chance = random.Random(number)
        structure, tensors = chance.choice(known)
        yield mutant(renamed(structure, number), tensors, chance)


def run(program: tl.Listing, results: Any) -> None:
    """Runs what is small on ones."""
    if has_long_loop(program):
        return
    given = []
    for number, (_, role, _) in enumerate(program.variables()):
        shape = [s if isinstance(s, int) else 2 for s in program.shape(number)]
        if np.prod([float(s) for s in shape]) > MOST_ELEMENTS:
            return
        if role == "state":
            return  # which an executor finds: the C++ test runs such
        if role == "input":
            given.append(tl.ones(tuple(shape), dtype=program.dtype(number)))
    program.run(list(results), *given)


def main(first: int, count: int) -> None:
    """Reads mutants, runs programs among them, and prints how many were refused."""
    refused = ran = 0
    for structure, tensors in seeds():  # which are programs, as they are and under other names
        for same in (structure, renamed(structure, "same")):
            run(*tl.Listing.from_bytes(joined(same, tensors)))
    for data in mutants(first, count):
        try:
            program, results = tl.Listing.from_bytes(data)
        except tl.ArgumentError as error:
            said = str(error)
            assert said.startswith("load: the bytes must be a program that can be read here; got ")
            assert "std::" not in said, said
            refused += 1
            continue
        str(program)
        try:
            run(program, results)
            ran += 1
        except (tl.TensorlikeError, ValueError, TypeError, IndexError, OverflowError, MemoryError):
            pass
    print(json.dumps({"refused": refused, "ran": ran, "memory": most_memory()}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

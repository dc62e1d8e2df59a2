"""Files of programs that somebody has broken: no crash, no hang, no code, little memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from support.apart import run_apart
from support.program_files import sealed, sections
from support.program_mutants import joined, renamed, seeds

import tensorlike as tl

BATCH = 2_500
MOST_MEMORY = 600 << 20  # bytes; the package alone takes a sixth


def read_mutants(first: int, count: int) -> dict[str, Any]:
    """What reading so many says, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "support.program_mutants", str(first),
         str(count)],
        capture_output=True, text=True, timeout=1_700, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("batch", range(2))
def test_mutants_end_in_an_error_or_in_a_program(batch: int) -> None:
    found = read_mutants(batch * BATCH, BATCH)
    assert found["refused"] > BATCH // 2
    assert found["ran"] > BATCH // 50
    assert found["memory"] < MOST_MEMORY


def steps_in(node: Any) -> Iterator[dict[str, Any]]:
    """All steps of bodies."""
    if isinstance(node, dict):
        if "call" in node:
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from steps_in(part)


@pytest.mark.parametrize(("call", "other"), (("attribute", "size"), ("size", "attribute")))
def test_calls_of_bodies_have_what_they_read(call: str, other: str) -> None:
    """One without the argument that it reads crashed when it ran."""
    structure, tensors = next(x for x in seeds() if x[0].get("declarations"))
    swapped = renamed(structure, f"swapped_{call}_")
    step = next(step for step in steps_in(swapped["declarations"]) if step["call"] == call)
    step["call"] = other
    with pytest.raises(tl.ArgumentError, match="sizes of one tensor, and attributes by one name"):
        tl.Listing.from_bytes(joined(swapped, tensors))


def test_a_gradient_of_nothing_is_refused() -> None:
    """A rule of steps without a result crashed when somebody differentiated, or compiled."""
    structure, tensors = next(x for x in seeds() if x[0].get("declarations"))
    emptied = renamed(structure, "no_gradient_")
    scalars = [one["scalar"] for one in emptied["declarations"] if "scalar" in one]
    scalar = next(one for one in scalars if len(one.get("grads", ())) > 1)
    del scalar["grads"][1]["body"]["results"]
    with pytest.raises(tl.ArgumentError, match="one gradient for an argument"):
        tl.Listing.from_bytes(joined(emptied, tensors))


SIZE = '["size",0,0]'
SIZES_OF_FOUR = {
    f'["floor",{SIZE}]': 4,
    f'["round",{SIZE}]': 4,
    f'["trunc",["multiply",3,{SIZE}]]': 12,
    f'["multiply",2,["ceil",{SIZE}]]': 8,
    f'["floor",["floor",{SIZE}]]': 4,
    f'["floor_divide",{SIZE},["round",{SIZE}]]': 1,
    f'["minimum",{SIZE},3]': 3,
    '0.5': None,
    f'["minimum",{SIZE},4.5]': None,
    f'["divide",{SIZE},2]': None,
    f'["exp",{SIZE}]': None,
    f'["negative",{SIZE}]': None,
    f'["equal",{SIZE},3]': None,
    '["floor",0.5]': None,
}  # fmt: skip


@pytest.mark.parametrize(("written", "size"), SIZES_OF_FOUR.items())
def test_sizes_are_made_by_functions_that_recording_does_not_write(
    written: str, size: int | None
) -> None:
    """A function of one number, over a whole one, was read as one of two: a crash."""
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", ("n",)))
    structure, tensors = sections(listing.to_bytes(tl.functional.full((x.shape[0] * 3,), 1.0)))
    recorded = f'["multiply",3,{SIZE}]'.encode()
    assert recorded in structure
    data = sealed(structure.replace(recorded, written.encode()), tensors)
    if size is None:
        with pytest.raises(tl.ArgumentError, match="must be a program"):
            tl.Listing.from_bytes(data)
        return
    again, (made,) = tl.Listing.from_bytes(data)
    assert again.run(made, tl.ones(4)).shape == (size,)


@pytest.mark.slow
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("batch", range(20))
def test_two_hundred_thousand_mutants(batch: int) -> None:
    count = 10_000
    found = read_mutants(1_000_000 + batch * count, count)
    assert found["refused"] > count // 2
    assert found["memory"] < MOST_MEMORY


LARGE = """
from support.program_files import no_tensors, sealed
count = 600_000 // len(part)
first, last = "{}" if part.startswith('""') else "[]"
text = (first + part * count + part.rstrip(",") + last).encode()
tensors = len(text).to_bytes(8, "little") + text
data = sealed(text, no_tensors()) if is_structure else sealed(b"{}", tensors)
before = most_memory()
try:
    tl.Listing.from_bytes(data)
except tl.ArgumentError as error:
    print(most_memory() - before, len(data), error)
"""


@pytest.mark.parametrize("part", ["[],", "0,", '"":0,', '"a",', "[[0]],", '{"a":[]},', ":,["])
@pytest.mark.parametrize("is_structure", [True, False])
def test_memory_is_a_small_multiple_of_the_file(part: str, is_structure: bool) -> None:
    printed = run_apart(f"part = {part!r}\nis_structure = {is_structure!r}\n{LARGE}")
    memory, size, said = printed.split(" ", 2)
    assert int(memory) < 16 * int(size)
    assert said.startswith("load: the bytes must be a program")


MANY = """
from support.program_files import joined
program = {"sizes": [], "lines": [], "assigned": [], "guards": [], "parts": {}}
whole = {"program": program, "results": [], "sources": [], "declarations": [], "weights": []}
if what == "parts of declarations":
    whole["declarations"] = [{"op": {"name": "Many", "shapes": {"cases": [{}] * 300_000}}}]
elif what == "declarations":
    whole["declarations"] = [{"function": {"name": f"many_{i}"}} for i in range(30_000)]
elif what == "guards":
    program["guards"] = [[0, 0, "<", True, ""]] * 50_000 + [7]
elif what == "parts":
    program["parts"] = {str(i): program | {"parts": {}} for i in range(20_000)} | {"x": 7}
elif what == "sources":
    whole["sources"] = [["a", "b\\n"]] * 80_000
else:
    shape = {"dtype": "float32", "shape": []}
    program["lines"] = [{what: "x", **shape} for i in range(20_000)] + [7]
data = joined(whole)
before = most_memory()
try:
    tl.Listing.from_bytes(data)
except tl.ArgumentError as error:
    print(most_memory() - before, len(data), error)
"""


@pytest.mark.parametrize(
    "what",
    ["parts of declarations", "declarations", "guards", "parts", "sources", "input", "state"],
)
def test_memory_is_a_small_multiple_of_what_is_there_often(what: str) -> None:
    memory, size, said = run_apart(f"what = {what!r}\n{MANY}").split(" ", 2)
    assert int(memory) < 64 * int(size)
    assert said.startswith("load: the bytes must be a program")

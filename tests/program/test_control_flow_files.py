"""Branches and loops in saved programs: run without Python, to the same bits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.control_flow import CASES, W, X
from support.program_files import joined, split
from support.saved_runs import printed_and_results, results_of

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static


def recorded(name: str, batch: Any) -> tuple[tl.Listing, list[Any]]:
    """A function of control flow, and its gradients where it has some in a program."""
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (batch, 3), tl.float64))
    w = tl.Tensor(listing.input("w", (3, 3), tl.float64))
    function = CASES[name][0]
    results = [function(x, w)]
    try:
        results += tl.grad(function, argnums=(0, 1))(x, w)
    except tl.AutodiffError:  # of a loop without a bound
        results += tl.jvp(lambda x: function(x, w), (x,), (x,))
    return listing, results


@pytest.mark.parametrize("batch", [4, "batch"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_have_the_bits_of_python(
    runner: Path, tmp_path: Path, name: str, batch: Any
) -> None:
    listing, results = recorded(name, batch)
    data = listing.to_bytes(results)
    wanted = [np.asarray(y) for y in listing.run(results, X, W)]
    again, loaded = tl.Listing.from_bytes(data)
    read = [np.asarray(y) for y in again.run(list(loaded), X, W)]
    found = results_of(runner, tmp_path, data, {"x": X, "w": W})
    compiled = results_of(runner, tmp_path, data, {"x": X, "w": W}, "--compile")
    for x, y, z, close in zip(wanted, read, found.values(), compiled.values(), strict=True):
        assert x.tobytes() == y.tobytes() == z.tobytes()
        np.testing.assert_allclose(close, x, rtol=1e-9)
    assert again.to_bytes(list(loaded)) == data
    assert "foreign" not in json.dumps(split(data)[0])


def test_rows_that_go_two_ways_have_the_bits_of_python(runner: Path, tmp_path: Path) -> None:
    with static.program_guard(static.Program()) as main:
        x = static.data("x", (None, 1), "float64")
        ie = static.IfElse(x > 0.5)
        with ie.true_block():
            ie.output(F.exp(ie.input(x)))
        with ie.false_block():
            ie.output(F.sin(ie.input(x)) * 3.0)
        y = ie()
    data = main.to_bytes([y])
    for rows in (0, 1, 9):
        given = np.random.default_rng(rows).random((rows, 1))
        (found,) = results_of(runner, tmp_path, data, {"x": given}).values()
        assert found.tobytes() == np.asarray(main.run([y], given)[0]).tobytes()


def test_print_shows_the_programs_that_ops_hold(runner: Path, tmp_path: Path) -> None:
    listing, results = recorded("scan in cond in while", 4)
    data = listing.to_bytes(results)
    said, _ = printed_and_results(runner, tmp_path, data, {"x": X, "w": W}, "--print")
    assert " = Cond(Call(" in said
    assert "\nCall(" in said
    assert "carry['x']: float64(4, 3)" in said


def test_a_program_is_written_once_however_often_it_is_called() -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (3,)))
    inner = tl.Listing()
    op = static.program_op(inner, F.sin(tl.Tensor(inner.input("z", (3,)))) * 2.0)
    y = op(op(op(x)))
    structure, _ = split(listing.to_bytes(y))
    assert len(structure["programs"]) == 1
    assert [line["calls"][0][0] for line in structure["program"]["lines"][1:]] == [0, 0, 0]


BROKEN: dict[str, tuple[Any, Any]] = {
    "a program that comes later": (("calls", 0, 0), 7),
    "a variable that is not there": (("calls", 0, 1, 0), 99),
    "too few calls": (("calls",), []),
    "more carries than there are": (("params", "carries"), 9),
    "no rows": (("params", "rows"), 0),
    "a flag for a number": (("params", "carries"), True),
    "another parameter": (("params",), {"limit": None}),
    "another kind": (("holds",), "Cond"),
    "no kind": (("holds",), "Forever"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_does_not_go_together_is_refused(what: str) -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (4,)))
    _, y = F.scan(lambda c, row: (c + row, c * row), 0.0, x)
    structure, tensors = split(listing.to_bytes(y))
    place, value = BROKEN[what]
    node = next(line for line in structure["program"]["lines"] if "holds" in line)
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    with pytest.raises(tl.ArgumentError, match="load: the bytes must be a program"):
        tl.Listing.from_bytes(joined(structure, tensors))


def test_programs_lie_in_each_other_so_deep_and_no_deeper() -> None:
    def nested(depth: int) -> tuple[tl.Listing, Any]:
        listing = tl.Listing()
        y = tl.Tensor(listing.input("x", ()))
        for _ in range(depth):
            inner, listing = listing, tl.Listing()
            y = static.program_op(inner, y)(tl.Tensor(listing.input("x", ())))
        return listing, F.sin(y)

    listing, y = nested(15)
    again, (z,) = tl.Listing.from_bytes(listing.to_bytes(y))
    assert again.run(z, 0.5).tolist() == listing.run(y, 0.5).tolist()
    listing, y = nested(20)
    with pytest.raises(tl.ArgumentError, match="must lie in each other at most 16 deep"):
        tl.Listing.from_bytes(listing.to_bytes(y))

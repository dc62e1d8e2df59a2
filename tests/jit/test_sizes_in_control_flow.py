"""Control flow on tensors of unknown sizes: one program for all sizes, with early returns, values
that are made of sizes inside of branches and loops, and layers that compare sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn

from ..support.control_programs import families, module_of, with_rows

FAMILIES = families()
QUICK = 13
SPECS = [jit.InputSpec(()), jit.InputSpec((None,))]
VECTORS: Sequence[tuple[float, list[float]]] = [
    (0.5, [0.5, -1.0, 2.0]), (3.0, [1.0, 1.5, 0.25, 0.1]), (-2.0, [-1.0]), (1.0, [0.3, 0.2]),
    (2.0, [0.1] * 7),
]  # fmt: skip


def _assert_same(found: Any, wanted: Any) -> None:
    for y, expected in zip(found, wanted, strict=True):
        y, expected = np.asarray(y), np.asarray(expected)
        assert y.shape == expected.shape
        np.testing.assert_allclose(y, expected, rtol=3e-5, atol=1e-4)


def _check_family(name: str, number: int, folder: Path) -> None:
    text = with_rows(FAMILIES[name])
    function = getattr(module_of(folder / f"rows_{number}.py", {name: text}), name)
    n = 1 + number % 2
    specified = jit.to_static(function, input_spec=SPECS)
    jit.to_static(function).dump(folder / "program.tlp", *SPECS, n)
    loaded = jit.load(folder / "program.tlp")
    for x, v in VECTORS:
        given = tl.tensor(x), tl.tensor(v)
        wanted = function(*given, n)
        _assert_same(_values(specified(*given, n)), _values(wanted))
        found = _values(loaded(*given))  # without what no tensor decides about
        _assert_same(found, _values(wanted)[: len(found)])


def _values(results: Any) -> list[Any]:
    return [y.value() if isinstance(y, tl.Tensor) else y for y in results]


@pytest.mark.parametrize("number", range(0, len(FAMILIES), QUICK))
def test_a_nesting_is_one_program_for_all_sizes(number: int, tmp_path: Path) -> None:
    _check_family(list(FAMILIES)[number], number, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK))
def test_all_nestings_are_one_program_for_all_sizes(first: int, tmp_path: Path) -> None:
    for number in range(first, len(FAMILIES), QUICK):
        _check_family(list(FAMILIES)[number], number, tmp_path)


def returned_in_a_loop(source: Any, n: Any) -> Any:
    out, t = F.zeros((source.shape[0], 8), dtype="int64"), n * 0
    while t < n:
        out = F.where(F.arange(8)[None, :] == t, source[:, :1], out)
        if (source[:, 0] == 3).all():
            return out, t
        t = t + 1
    return out, t


def made_in_a_branch(source: Any, n: Any) -> Any:
    z = F.zeros((source.shape[0], 8)) if n > 3 else F.ones((source.shape[0], 8))
    return z, n


def parts_in_a_loop(source: Any, n: Any) -> Any:
    t, z = n * 0, F.zeros((source.shape[0],))
    while t < n:
        z = z + F.arange(source.shape[0] * 2)[: source.shape[0]] + F.ones((source.shape[0],))
        if z.sum() > 100:
            return F.ones((source.shape[0],)), t
        t = t + 1
    return z, t


def rows_and_sizes(source: Any, n: Any) -> Any:
    z = source[:, 0] * 1.0
    for row in source:
        if row.sum() > 0:
            z = z + row.sum() * F.arange(source.shape[0])
        else:
            continue
        if z[0] > 10:
            return z * 2, n
    return z, n


def sizes_of_the_outside_and_inside(source: Any, n: Any) -> Any:
    z, t = F.ones((source.shape[0],)), n * 0
    while t < n:
        both = F.concat([z, z])
        z = both[: both.shape[0] - source.shape[0]] * (both.shape[0] + source.shape[0])
        t = t + 1
    return z, t


class Decoder(nn.Layer):
    """Attention over what a recurrence has read, a word at a time, until all say stop."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(12, 8)
        self.reader, self.writer = nn.GRU(8, 8), nn.GRUCell(8, 8)
        self.out = nn.Linear(16, 12)

    def forward(self, source: Any, n: Any) -> Any:
        """The words of each text, and how many there are."""
        read, last = self.reader(F.swapaxes(self.words(source % 12), 0, 1))
        read, state = F.swapaxes(read, 0, 1), last[0]
        word = F.zeros((source.shape[0],), dtype="int64")
        found, t = F.zeros((source.shape[0], 8), dtype="int64"), n * 0
        while t < n:
            state = self.writer(self.words(word), state)
            weight = F.softmax((read * state[:, None, :]).sum(axis=-1), axis=-1)
            context = (read * weight[:, :, None]).sum(axis=1)
            word = F.argmax(self.out(F.concat([state, context], axis=-1)), axis=-1)
            found = F.where(F.arange(8)[None, :] == t, word[:, None], found)
            if (word == 3).all():
                return found, t
            t = t + 1
        return found, t


CASES: dict[str, Callable[[], Any]] = {
    "returned": lambda: returned_in_a_loop, "branch": lambda: made_in_a_branch,
    "parts": lambda: parts_in_a_loop, "rows": lambda: rows_and_sizes,
    "outside": lambda: sizes_of_the_outside_and_inside, "decoder": Decoder,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_functions_of_sizes_are_saved_for_all_sizes(name: str, tmp_path: Path) -> None:
    function = CASES[name]()
    specs = [jit.InputSpec((None, None), "int64"), jit.InputSpec((), "int64")]
    jit.save(jit.to_static(function), tmp_path / "f.tlp", specs)
    loaded, converted = jit.load(tmp_path / "f.tlp"), jit.to_static(function)
    rng = np.random.default_rng(0)
    for rows, columns, n in ((2, 3, 1), (3, 2, 5), (1, 1, 2), (4, 3, 0), (2, 2, 7)):
        given = tl.tensor(rng.integers(0, 5, (rows, columns))), tl.tensor(n)
        wanted = [y.detach().numpy() for y in function(*given)]
        for form in (loaded, converted):
            _assert_same([y.detach().numpy() for y in form(*given)], wanted)


def test_many_programs_that_live_change_nothing(tmp_path: Path) -> None:
    kept = []
    for i in range(60):  # numbers that stand for sizes are many then, and some near to others
        listing = tl.Listing()
        kept.append(listing.input("x", (f"n{i}", None)))
        jit.to_static(returned_in_a_loop).concrete(
            jit.InputSpec((None, None), "int64"), jit.InputSpec((), "int64")
        )
    assert len(kept) == 60

"""Random numbers in branches and loops of programs: those of the same Python, step by step."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.__main__ import run_path

X = np.arange(1.0, 41.0, dtype=np.float32).reshape(5, 8)


def rows_of(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        carry = tl.nn.Dropout(0.3)(carry + row)
        return carry, carry * tl.random.uniform((8,))

    return F.scan(step, tl.nn.Dropout(0.5)(x[0]), x)[1] + tl.random.uniform((5, 8))


def loop_of(x: Any) -> Any:
    def again(carry: Any) -> Any:
        return F.logical_and(carry[0] < 6, F.sum(tl.random.uniform((3,))) > 0.2)

    return F.while_loop(again, lambda c: (c[0] + 1, tl.nn.Dropout(0.2)(c[1] * 1.5)), (0, x))[1]


def nested_of(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        kept = F.cond(
            F.sum(row) > 80.0,
            lambda r: tl.nn.Dropout(0.5)(r),
            lambda r: tl.random.uniform((8,)) * r,
            row,
        )
        return F.while_loop(
            lambda c: F.sum(c) > 9.0, lambda c: tl.nn.Dropout(0.1)(c / 2), kept
        ), kept

    return F.scan(step, x[0], x)[1] + tl.random.uniform(())


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "scan": rows_of, "while": loop_of, "nested": nested_of,
}  # fmt: skip


def recorded(name: str, batch: Any = 5) -> tuple[tl.Listing, Any]:
    listing = tl.Listing()
    with tl._C.Recording(listing):
        return listing, FUNCTIONS[name](tl.Tensor(listing.input("x", (batch, 8))))


def seeded(seed: int, run: Callable[[], Any]) -> np.ndarray[Any, Any]:
    tl.manual_seed(seed)
    return np.asarray(run())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_seed_gives_the_numbers_of_eager_code(name: str) -> None:
    listing, y = recorded(name)
    again, (z,) = tl.Listing.from_bytes(listing.to_bytes(y))
    compiled = static.CompiledProgram(listing)
    x = tl.tensor(X)
    for seed in (3, 4):
        wanted = seeded(seed, lambda: FUNCTIONS[name](x))
        np.testing.assert_array_equal(seeded(seed, lambda: listing.run(y, x)), wanted)
        np.testing.assert_array_equal(seeded(seed, lambda: again.run(z, x)), wanted)
        np.testing.assert_allclose(seeded(seed, lambda: compiled.run(y, x)), wanted, rtol=1e-6)
    assert not np.array_equal(np.asarray(listing.run(y, x)), np.asarray(listing.run(y, x)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_runs_without_python_have_the_numbers_of_their_seed(name: str, tmp_path: Path) -> None:
    try:
        runner = run_path()
    except FileNotFoundError:
        pytest.skip("tensorlike is not installed with its programs")
    listing, y = recorded(name)
    (tmp_path / "program.tlp").write_bytes(listing.to_bytes(y))
    np.save(tmp_path / "x.npy", X)
    words = ["--input", f"x={tmp_path / 'x.npy'}", "--output", f"0={tmp_path / 'y.npy'}"]
    for seed in (0, 7):
        command = [runner, tmp_path / "program.tlp", *words, "--seed", str(seed)]
        subprocess.run(command, check=True)
        wanted = seeded(seed, lambda: FUNCTIONS[name](tl.tensor(X)))
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), wanted)


def test_each_step_draws_numbers_of_its_own() -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (6, 100)))
    _, rows = F.scan(lambda c, row: (c, tl.nn.Dropout(0.5)(row)), 0.0, x)
    found = np.asarray(listing.run(rows, np.ones((6, 100), np.float32))) != 0
    assert len({row.tobytes() for row in found}) == 6


def test_tangents_go_along_with_the_draws_of_the_run() -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (4, 50)))
    op = static.program_op(listing, F.scan(lambda c, row: (c, tl.nn.Dropout(0.5)(row)), 0.0, x)[1])
    x = tl.ones((4, 50))
    y, dy = tl.jvp(op, (x,), (x * 3,))
    np.testing.assert_array_equal(dy.numpy(), y.numpy() * 3)


def test_a_gradient_that_would_draw_others_is_refused() -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (4, 50)))

    def loss(x: Any) -> Any:
        return F.sum(F.scan(lambda c, row: (c, tl.nn.Dropout(0.5)(row)), 0.0, x)[1])

    with pytest.raises(tl.AutodiffError, match="draws random numbers is not run again"):
        tl.grad(loss)(x)

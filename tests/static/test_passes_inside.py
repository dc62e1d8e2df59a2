"""Passes in the programs that ops hold: branches, loops, calls of programs, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.control_flow import CASES, W, X

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

RANDOM = np.random.default_rng(11)
WEIGHT = tl.tensor(RANDOM.random((40, 40), dtype=np.float32) / 20)
SCALE, SHIFT = (tl.tensor(RANDOM.random(40, dtype=np.float32)) for _ in range(2))
DATA = RANDOM.random((5, 2, 40), dtype=np.float32)


def dead(x: Any) -> Any:
    F.exp(x)
    return F.sin(x)


def captured(x: Any) -> Any:
    """An array as a constant of the program that `x` is of."""
    return tl.Tensor(x.__wrapped__.lift(SCALE.__wrapped__))


def written_out(x: Any) -> Any:
    return x * F.sigmoid(x)


# What each pass makes shorter, and whether its results keep every bit.
BODIES: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "dead_code": (dead, True),
    "fold": (lambda x: x + F.exp(captured(x)), True),
    "identities": (lambda x: F.negative(F.negative(x)) + F.sin(x), True),
    "cse": (lambda x: F.sin(x) + F.sin(x), True),
    "bodies": (written_out, False),
    "channels": (lambda x: F.matmul(x, WEIGHT) * SCALE + SHIFT, False),
    "chains": (lambda x: F.sin(F.cos(x) * x) + x, False),
    "keep": (lambda x: F.matmul(x, WEIGHT), True),
}


def in_scan(body: Any, x: Any) -> Any:
    return F.scan(lambda c, row: (body(c) * 0.5, body(row) + c), x[0], x)[1]


def in_while(body: Any, x: Any) -> Any:
    step = lambda c: (c[0] + 1, body(c[1]))  # noqa: E731
    return F.while_loop(lambda c: c[0] < 3, step, (0, x[0]), max_steps=5)[1]


def in_cond(body: Any, x: Any) -> Any:
    return F.cond(F.sum(x) > 0.0, body, lambda x: x * 2.0, x[0])


def in_call(body: Any, x: Any) -> Any:
    inner = tl.Listing()
    return static.program_op(inner, body(tl.Tensor(inner.input("z", (2, 40)))))(x[0])


def in_nested(body: Any, x: Any) -> Any:
    return F.scan(lambda c, row: (c, in_cond(body, F.stack([row, row]))), 0.0, x)[1]


PLACES = {"scan": in_scan, "while": in_while, "cond": in_cond, "call": in_call, "nested": in_nested}


def recorded(place: str, body: Any, batch: Any = 5) -> tuple[tl.Listing, Any]:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (batch, 2, 40)))
    return listing, PLACES[place](body, x)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", BODIES)
def test_each_pass_fires_inside_and_keeps_the_results(name: str, place: str) -> None:
    body, keeps_bits = BODIES[name]
    listing, y = recorded(place, body)
    wanted = np.asarray(listing.run(y, DATA))
    compiled = static.CompiledProgram(listing, [name])
    found = np.asarray(compiled.run(y, DATA))
    if keeps_bits:
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)
    (report,) = compiled.report()
    assert report.changes > 0
    assert report.name == name
    if name != "keep":  # of which nothing is seen
        assert compiled.diff(name)


@pytest.mark.parametrize("place", PLACES)
def test_all_passes_together_and_each_switched_off(place: str) -> None:
    def body(x: Any) -> Any:
        for function, _ in BODIES.values():
            x = function(x)
        return x / (1.0 + F.sum(x * x))

    listing, y = recorded(place, body, None if place != "call" else 5)
    wanted = np.asarray(listing.run(y, DATA))
    whole = static.CompiledProgram(listing)
    np.testing.assert_allclose(np.asarray(whole.run(y, DATA)), wanted, rtol=1e-4, atol=1e-6)
    program, numbers = whole.optimised([y])
    tl._C.verify_program(program, numbers)
    for name in BODIES:
        less = whole.without(name)
        np.testing.assert_allclose(np.asarray(less.run(y, DATA)), wanted, rtol=1e-4, atol=1e-6)
    again, (z,) = tl.Listing.from_bytes(program.to_bytes(program.symbol(numbers[0])))
    np.testing.assert_array_equal(np.asarray(again.run(z, DATA)), np.asarray(whole.run(y, DATA)))


@pytest.mark.parametrize("batch", [4, None])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_rewritten_too(name: str, batch: Any) -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (batch, 3), tl.float64))
    w = tl.Tensor(listing.input("w", (3, 3), tl.float64))
    results = list(tl.grad(CASES[name][0], argnums=(0, 1))(x, w))
    compiled = static.CompiledProgram(listing)
    for found, wanted in zip(compiled.run(results, X, W), listing.run(results, X, W), strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9)
    assert "chain" in compiled.text(results)


def test_a_part_of_a_program_becomes_a_program_of_its_own() -> None:
    inner = tl.Listing()
    z = tl.Tensor(inner.input("z", (3,)))
    first = F.sin(z) * 2.0
    second = F.exp(first) + F.exp(first)
    op = static.program_op(inner, second).op.between(
        (first.__wrapped__.number,), (second.__wrapped__.number,)
    )
    listing = tl.Listing()
    y = tl.Tensor(op(listing.input("x", (3,)))[0])
    compiled = static.CompiledProgram(listing)
    assert "sin" not in compiled.text(y)
    given = np.array([0.1, 0.2, 0.3], np.float32)
    np.testing.assert_array_equal(
        np.asarray(compiled.run(y, given)), np.asarray(listing.run(y, given))
    )


def test_a_loop_that_nobody_reads_goes_and_one_that_draws_stays_in_its_order() -> None:
    listing = tl.Listing()
    with tl._C.Recording(listing):
        x = tl.Tensor(listing.input("x", (4, 8)))
        F.scan(lambda c, row: (c + F.sum(row), row), 0.0, x)
        y = F.scan(lambda c, row: (c, tl.nn.Dropout(0.5)(row)), 0.0, x)[1]
    compiled = static.CompiledProgram(listing)
    assert compiled.text(y).count("= ScanLoop") == 1
    for seed in (1, 2):
        tl.manual_seed(seed)
        wanted = np.asarray(listing.run(y, np.ones((4, 8), np.float32)))
        tl.manual_seed(seed)
        found = np.asarray(compiled.run(y, np.ones((4, 8), np.float32)))
        np.testing.assert_array_equal(found, wanted)


def test_what_a_loop_is_given_stays_outside_of_it() -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (5, 2, 40)))
    made = F.exp(F.sum(x, axis=0)) * 2.0
    y = F.scan(lambda c, row: (c + made, row * made), x[0], x)[1]
    compiled = static.CompiledProgram(listing)
    program, _ = compiled.optimised([y])
    (loop,) = [op for op in program.ops if "ScanLoop" in str(op)]
    assert "exp" not in loop.sub_programs[0].stretch.text()
    np.testing.assert_allclose(
        np.asarray(compiled.run(y, DATA)), np.asarray(listing.run(y, DATA)), rtol=1e-6
    )

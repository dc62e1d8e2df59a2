"""The pass "order": steps that let memory go run early, and everything is what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static


def drawn(*shape: int, seed: int = 0) -> Any:
    return tl.tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def ordered(listing: tl.Listing, results: Any) -> tuple[list[str], int]:
    """The lines after the pass alone, and how many steps it moved."""
    program = static.CompiledProgram(listing, ["order"])
    text = program.text(results)
    return text.splitlines(), program.report()[0].changes


def place(lines: list[str], what: str) -> int:
    (found,) = [i for i, line in enumerate(lines) if what in line]
    return found


def test_what_lets_more_go_than_it_takes_runs_as_soon_as_it_can() -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (64, 64)))
    wide = F.concat([x, x], axis=1)
    other = F.cumulative_sum(x, axis=0)
    small = F.sum(F.permute_dims(wide, (1, 0)), axis=1)
    lines, changes = ordered(listing, [other, small])
    assert changes == 1
    assert place(lines, "Concat") < place(lines, "Reduce") < place(lines, "Scan")
    lines, changes = ordered(listing, [other, small, wide])  # which is there at the end
    assert changes == 0
    assert place(lines, "Scan") < place(lines, "Reduce")


def test_it_waits_for_others_that_read_the_same() -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (64, 64)))
    wide = F.concat([x, x], axis=1)
    first = F.sum(F.sort(wide, axis=0), axis=1)
    other = F.cumulative_sum(x, axis=0)
    last = F.prod(wide, axis=0)
    lines, changes = ordered(listing, [first, other, last])
    assert changes == 1
    assert place(lines, "Sort") < place(lines, "prod") < place(lines, "Scan")


def test_what_draws_keeps_its_place() -> None:
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", (64, 64)))
    wide = F.concat([x, x], axis=1)
    other = F.cumulative_sum(x, axis=0)
    small = F.sum(F.dropout(wide, 0.5), axis=1)
    lines, _ = ordered(listing, [other, small])
    assert place(lines, "Scan") < place(lines, "Dropout")


class Layers(tl.nn.Layer):
    """Wide inside, narrow between."""

    def __init__(self) -> None:
        self.layers = [tl.nn.Linear(m, n, seed=m + n) for m, n in ((16, 256), (256, 16)) * 3]

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = F.gelu(layer(x))
        return x


@pytest.mark.parametrize("optimizer", [tl.optim.SGD, tl.optim.Adam])
def test_a_training_step_takes_less_memory_and_gives_the_same_bits(optimizer: Any) -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        network = Layers()
        static.keep(network)
        x = static.data("x", (128, 16), "float32")
        labels = static.data("labels", (128,), "int64")
        loss = F.cross_entropy(network(x), labels)
        optimizer(lr=1e-2).minimize(loss)
    feed = {"x": drawn(128, 16), "labels": tl.tensor(np.arange(128) % 16)}
    found = {}
    compiled = static.CompiledProgram(main)
    for name, program in {"with": compiled, "without": compiled.without("order")}.items():
        executor, scope = static.Executor(), static.Scope()
        executor.run(startup, scope=scope)
        losses = [
            np.asarray(executor.run(program, feed, [loss], scope, donate_states=donates)[0])
            for donates in (False, True, True)
        ]
        states = {name: np.asarray(scope.find(name)).tobytes() for name in scope.names()}
        found[name] = [x.tobytes() for x in losses], states
    assert found["with"] == found["without"]
    least = [
        program.memory([loss], (128, 16), (128,), donate_states=True).least
        for program in (compiled, compiled.without("order"))
    ]
    assert least[0] < 0.95 * least[1]


@pytest.mark.parametrize("classes", [1, 2, 7, 10, 31, 32, 33, 100, 513, 1000])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_gradient_of_cross_entropy_may_lie_where_the_logits_lay(
    classes: int, dtype: str
) -> None:
    x = (4 * drawn(37, classes)).astype(dtype)
    labels = tl.tensor(np.arange(37) % (classes + 1) - 1)
    cotangent = drawn(37, seed=1).astype(dtype)
    listing = tl.Listing()
    given = [
        tl.Tensor(listing.input(name, value.shape, value.dtype))
        for name, value in (("x", x), ("labels", labels), ("dy", cotangent))
    ]
    op = tl.ops.CrossEntropyGrad(ignore_index=-1)
    (y,) = op(given[0] * 2, given[1], given[2])
    (wanted,) = op(x * 2, labels, cotangent)
    program = static.CompiledProgram(listing, ["arena"])
    assert (
        np.asarray(program.run(y, x, labels, cotangent)).tobytes() == np.asarray(wanted).tobytes()
    )

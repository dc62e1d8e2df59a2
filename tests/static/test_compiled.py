"""CompiledProgram: passes fire, keep what a program gives, and can be switched off."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C, static
from tensorlike.static.compiled import CompiledProgram, Graph, list_passes


def changes(compiled: CompiledProgram, results: Any) -> dict[str, int]:
    compiled.optimised(results)
    return {report.name: report.changes for report in compiled.report()}


def checked(compiled: CompiledProgram, results: Any) -> tl.Listing:
    program, numbers = compiled.optimised(results)
    _C.verify_program(program, numbers)
    return program


def test_passes_are_listed_and_switched_off() -> None:
    listing = tl.Listing()
    y = listing.input("x", (2,)) * 2
    compiled = CompiledProgram(listing)
    assert compiled.passes == tuple(name for name, _, _ in list_passes())
    assert "cse" not in compiled.without("cse").passes
    with pytest.raises(_C.ArgumentError, match="must be among"):
        compiled.without("none")
    with pytest.raises(_C.ArgumentError, match="names among"):
        CompiledProgram(listing, ["none"])
    assert compiled.run(y, tl.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]


def test_a_pass_is_whatever_can_be_called() -> None:
    class Counts:
        def __init__(self) -> None:
            self.steps = 0

        def __call__(self, graph: Graph) -> None:
            self.steps = len(graph.steps())

    def named(graph: Graph, more: int) -> None:
        graph.changes += more

    listing, counts = tl.Listing(), Counts()
    y = F.exp(listing.input("x", (2,)))
    compiled = CompiledProgram(listing, [counts, functools.partial(named, more=3)])
    assert compiled.passes == ("Counts", "named")
    assert changes(compiled, [y]) == {"Counts": 0, "named": 3}
    assert counts.steps == 1
    assert compiled.without("Counts").passes == ("named",)


@pytest.mark.parametrize("passes", ["cse", 3, [3], [None], ["cse", "none"]])
def test_what_is_no_pass_is_refused(passes: Any) -> None:
    with pytest.raises(_C.ArgumentError, match="must be a list of functions, and of names among"):
        CompiledProgram(tl.Listing(), passes)


@pytest.mark.parametrize("opt_level", [-1, 3, "2", None, 1.5])
def test_levels_that_there_are_not_are_refused(opt_level: Any) -> None:
    with pytest.raises(_C.ParameterError, match="opt_level must be"):
        CompiledProgram(tl.Listing(), opt_level=opt_level)


def test_what_is_no_program_is_refused() -> None:
    for program in (3, None, CompiledProgram(tl.Listing())):
        with pytest.raises(_C.ParameterError, match="program must be a Program or a Listing"):
            CompiledProgram(program)


def test_dead_code_goes() -> None:
    listing = tl.Listing()
    x = listing.input("x", (2,))
    F.exp(F.sin(x))
    y = F.cos(x)
    compiled = CompiledProgram(listing, ["dead_code"])
    assert changes(compiled, [y]) == {"dead_code": 2}
    assert len(checked(compiled, [y]).ops) == 1
    assert len(CompiledProgram(listing, []).optimised([y])[0].ops) == 3


def test_what_a_state_becomes_is_not_dead() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", (2, 3))
        layer = tl.nn.Linear(3, 1)
        loss = layer(x).sum()
        tl.optim.SGD(layer.parameters(), lr=0.5).minimize(loss)
    compiled = CompiledProgram(main)
    feed = {"x": np.ones((2, 3), np.float32)}
    found = []
    for program in (main, compiled):
        scope, exe = static.Scope(), static.Executor()
        tl.manual_seed(0)
        exe.run(startup, scope=scope)
        found.append([exe.run(program, feed, [loss], scope)[0].item() for _ in range(3)])
    assert found[0] == found[1]
    assert len(set(found[0])) == 3


def test_equal_steps_are_one() -> None:
    listing = tl.Listing()
    x = listing.input("x", (2,))
    y = F.exp(x * 2) + F.exp(x * 2)
    compiled = CompiledProgram(listing, ["cse"])
    assert changes(compiled, [y]) == {"cse": 3}
    assert len(checked(compiled, [y]).ops) == 4


def test_zeros_of_two_signs_are_not_equal() -> None:
    listing = tl.Listing()
    x = listing.input("x", (1,))
    y = F.copysign(x, F.full_like(x, 0.0)) + 10 * F.copysign(x, F.full_like(x, -0.0))
    compiled = CompiledProgram(listing, ["cse", "fold"])
    assert compiled.run(y, tl.tensor([1.0])).tolist() == [-9.0]


def test_draws_are_not_shared() -> None:
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", (1000,))
        y = F.dropout(x, 0.5) + F.dropout(x, 0.5)
    assert len(checked(CompiledProgram(main), [y]).ops) == 3


def test_constants_are_folded() -> None:
    listing = tl.Listing()
    x = listing.input("x", (None, 2))
    w = tl.as_raw_tensor([[1.0, 2.0], [3.0, 4.0]])
    y = F.matmul(x, F.permute_dims(listing.symbol(listing.capture(w)), (1, 0)))
    compiled = CompiledProgram(listing, ["fold"])
    assert changes(compiled, [y]) == {"fold": 1}
    assert "captured folded" in str(checked(compiled, [y]))
    given = tl.tensor([[1.0, -1.0]])
    assert compiled.run(y, given).tolist() == listing.run(y, given).tolist()


def test_a_step_that_raises_is_left_to_the_run() -> None:
    listing = tl.Listing()
    x = listing.input("x", (2, 2))
    y = x + F.inv(listing.symbol(listing.capture(tl.as_raw_tensor([[0.0, 0.0], [0.0, 0.0]]))))
    compiled = CompiledProgram(listing)
    assert changes(compiled, [y])["fold"] == 0
    with pytest.raises(_C.MatrixError):
        compiled.run(y, tl.zeros((2, 2)))


def test_unknown_sizes_names_and_lines_stay() -> None:
    listing = tl.Listing()
    x = listing.input("x", ("batch", 3))
    rows = x.shape[0]
    F.sin(x)
    y = F.reshape(F.exp(x) + F.exp(x), (rows * 3,)) * 2
    listing.rename(y.number, "twice")
    compiled = CompiledProgram(listing)
    text = str(checked(compiled, [y]))
    assert "x: float32(batch, 3)" in text
    assert "shape=(3 * batch,)" in text
    assert "twice = " in text
    for count in (1, 5, 0):
        given = tl.ones((count, 3))
        assert compiled.run(y, given).tolist() == listing.run(y, given).tolist()
    program, _ = compiled.optimised([y])
    assert all("test_compiled.py" in step.line for step in program.applied())


def test_a_size_that_follows_from_a_step_keeps_the_step() -> None:
    listing = tl.Listing()
    x = listing.input("x", (None,))
    short = x[::3]
    y = F.zeros((short.shape[0],)) + 1
    compiled = CompiledProgram(listing)
    for count in (1, 7, 9):
        given = tl.ones((count,))
        assert compiled.run(y, given).tolist() == listing.run(y, given).tolist()


def test_what_was_asked_of_sizes_is_asked_again() -> None:
    listing = tl.Listing()
    x = listing.input("x", (None,))
    y = x * 2 if x.shape[0] > 3 else x
    compiled = CompiledProgram(listing)
    with pytest.raises(_C.ShapeError, match="record a program for such sizes"):
        compiled.run(y, tl.ones((2,)))


def test_a_compiled_program_is_saved_and_read() -> None:
    listing = tl.Listing()
    x = listing.input("x", ("n",))
    F.sin(x)
    y = F.exp(x * 2) + F.exp(x * 2)
    program, numbers = CompiledProgram(listing).optimised([y])
    again, (z,) = tl.Listing.from_bytes(program.to_bytes(program.symbol(numbers[0])))
    given = tl.tensor([1.0, 2.0])
    assert again.run(z, given).tolist() == listing.run(y, given).tolist()


def test_what_a_pass_did_is_told() -> None:
    listing = tl.Listing()
    x = listing.input("x", (2,))
    y = F.exp(x) + F.exp(x)
    compiled = CompiledProgram(listing)
    compiled.optimised([y])
    report = {report.name: report for report in compiled.report()}["cse"]
    assert report.changes == 1
    assert report.microseconds > 0
    lines = compiled.diff("cse").splitlines()
    assert any(line.startswith("-_2 = ") for line in lines)
    with pytest.raises(_C.ArgumentError, match="a pass that ran"):
        compiled.without("cse").diff("cse")


def double_instead_of_add(graph: Graph) -> None:
    """x + x is 2 x."""
    for place, step in enumerate(graph.steps()):
        if str(step.op) == "Elemwise(mode='add')" and step.inputs[0] == step.inputs[1]:
            op = tl.ops.Elemwise(mode="ldexp")
            (one,) = graph.insert(place, tl.ops.Const(1), [step.inputs[0]], step.line)
            (made,) = graph.insert(place + 1, op, [step.inputs[0], one], step.line)
            graph.replace(step.outputs[0], made)


def test_a_pass_is_written_in_python() -> None:
    listing = tl.Listing()
    x = listing.input("x", ("n",))
    y = x + x
    compiled = CompiledProgram(listing, ["cse", double_instead_of_add])
    assert compiled.passes == ("cse", "double_instead_of_add")
    assert changes(compiled, [y])["double_instead_of_add"] == 1
    assert "ldexp" in str(checked(compiled, [y]))
    assert compiled.run(y, tl.tensor([3.0])).tolist() == [6.0]


def test_a_wrong_replacement_is_refused() -> None:
    listing = tl.Listing()
    x = listing.input("x", (2,))
    y = F.sum(x)

    def wrong(graph: Graph) -> None:
        graph.replace(y.number, x.number)

    with pytest.raises(_C.ShapeError, match="same shape and dtype"):
        CompiledProgram(listing, [wrong]).optimised([y])


def test_a_wrong_pass_is_caught() -> None:
    """What holds passes in these tests sees one that reads a value before it is made."""
    listing = tl.Listing()
    x = listing.input("x", (2,))
    z = F.exp(F.sin(x))

    def wrong(graph: Graph) -> None:
        first = graph.steps()[0]
        graph.replace(first.outputs[0], z.number)

    with pytest.raises(_C.ArgumentError, match=r"the pass wrong must leave .*before it is read"):
        CompiledProgram(listing, [wrong, "order"]).optimised([z])


def test_a_program_that_has_changed_is_optimised_again() -> None:
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        x = static.data("x", ())
        count = tl.tensor(0.0)
        static.keep(count)
        y = x + count
    executor, compiled = static.Executor(), CompiledProgram(main)
    executor.run(startup, scope=scope)

    def run(name: str) -> float:
        found: float = executor.run(compiled, {"x": 2.0}, [name], scope)[0].item()
        return found

    name = y.__wrapped__.name
    assert [run(name), run(name)] == [2.0, 2.0]
    with static.program_guard(main, startup):
        count += x  # the state changes from now on; nothing else is new
    assert [run(name), run(name)] == [2.0, 4.0]
    main.rename(y.__wrapped__.number, "total")
    assert run("total") == 6.0
    assert "total" in compiled.text(["total"])

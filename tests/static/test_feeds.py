"""What a run is fed and asked for: what is wrong is told by its name, and nothing is half done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

GOOD: dict[str, Any] = {
    "x": np.ones((3, 2), np.float32), "i": [1, 2, 3], "b": True, "u": [1, 2],
}  # fmt: skip


@pytest.fixture
def program() -> Any:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x, i = static.data("x", (None, 2)), static.data("i", (None,), "int64")
        b, u = static.data("b", (), "bool"), static.data("u", (2,), "uint8")
        total = tl.Parameter([0.0, 0.0])
        y = F.where(b, F.sum(x, axis=0) * F.sum(i), total) + u
        with tl.no_grad():
            total.set_value(total + y)
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    return main, y, scope


WRONG = [
    ("x", [[1.0, 2.0], [3.0]], tl.DTypeError, "x must be numbers in a rectangular arrangement"),
    ("x", None, tl.DTypeError, "x must be numbers in .*; got NoneType"),
    ("x", [["a", "b"]], tl.DTypeError, "x must be numbers"),
    ("x", [[1j, 1.0]] * 3, tl.DTypeError, "x a complex128 has no float32 value"),
    ("x", np.ones((3, 2), ">f4"), tl.DTypeError, "x the data must be boolean"),
    ("x", np.ones((3, 2)), tl.DTypeError, "x must be float32; got float64"),
    ("x", [1.0, 2.0], tl.ShapeError, r"x must have the shape \(batch, 2\)"),
    ("i", [1.5, 2, 3], tl.DTypeError, r"i must be int64; got 1\.5"),
    ("i", [1, 2, 2**63], tl.LiteralRangeError, "i must fit int64"),
    ("i", [float("nan")] * 3, tl.LiteralRangeError, "i must fit int64; got nan"),
    ("i", [1, 2], tl.ShapeError, r"i must have the shape \(batch,\) with batch=3; got \(2,\)"),
    ("b", 0.5, tl.DTypeError, r"b must be bool; got 0\.5"),
    ("b", 2, tl.DTypeError, "b must be bool; got 2"),
    ("u", [0.5, 0.0], tl.DTypeError, r"u must be uint8; got 0\.5"),
    ("u", [1, 256], tl.LiteralRangeError, "u must fit uint8; got 256"),
    (3, [1.0], tl.ParameterError, "feed must have names of inputs for its keys; got int"),
]


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize(("name", "value", "error", "said"), WRONG)
def test_a_wrong_feed_is_told_by_its_name(
    program: Any, name: Any, value: Any, error: Any, said: str, is_compiled: bool
) -> None:
    main, y, scope = program
    run = static.CompiledProgram(main) if is_compiled else main
    with pytest.raises(error, match=f"^run: {said}"):
        static.Executor().run(run, {**GOOD, name: value}, [y], scope)
    assert scope.find_var("parameter_0").tolist() == [0.0, 0.0]


def test_numbers_of_another_kind_are_fed_where_they_are_the_same(program: Any) -> None:
    main, y, scope = program
    feed = {"x": [[1, 2]] * 3, "i": [1.0, 2.0, 3.0], "b": 1, "u": [True, 2.0]}
    assert static.Executor().run(main, feed, [y], scope)[0].tolist() == [19.0, 38.0]


@pytest.mark.parametrize("asked", ["y", "xi", 3])
def test_what_is_no_list_is_not_fetched(program: Any, asked: Any) -> None:
    main, y, scope = program
    for one in (asked, y):
        with pytest.raises(tl.ParameterError, match=r"^run: fetch_list must be a list of varia"):
            static.Executor().run(main, GOOD, one, scope)
    with pytest.raises(tl.ParameterError, match=r"^run: scope must be a Scope; got str"):
        static.Executor().run(main, GOOD, [y], "scope")  # type: ignore[arg-type]


def test_a_run_takes_values_and_leaves_values(program: Any) -> None:
    """Variables, examples and tangents would stay in the scope, or be lost without a word."""
    main, y, scope = program
    exe = static.Executor()

    def total(x: Any) -> Any:
        return F.sum(exe.run(main, {**GOOD, "x": x}, [y], scope, return_numpy=False)[0])

    x = tl.ones((3, 2))
    with (
        static.program_guard(static.Program()),
        pytest.raises(tl.ArgumentError, match=r"^run: x must have elements; got a Variable"),
    ):
        total(static.data("x", (3, 2)))
    for transformed in (tl.grad(total), lambda x: tl.jvp(total, (x,), (x,))):
        with pytest.raises(tl.AutodiffError, match=r"^run: x must not be differ.*program_op is"):
            transformed(x)
    with pytest.raises(tl.AutodiffError, match=r"^run: x must be one value: states stay"):
        tl.vmap(total)(F.stack([x, x], axis=0))
    with pytest.raises(tl.ArgumentError, match=r"^set: must have elements"):
        scope.set("parameter_0", main.block.var("x"))
    assert scope.find_var("parameter_0").tolist() == [0.0, 0.0]
    learnt = tl.Parameter(x)
    assert total(learnt).item() == total(tl.stop_gradient(learnt)).item()


def test_a_program_without_states_is_run_on_examples() -> None:
    with static.program_guard(static.Program()) as main:
        y = F.sum(static.data("x", (None,)) ** 2)

    def run(x: Any) -> Any:
        return static.Executor().run(main, {"x": x}, [y], return_numpy=False)[0]

    assert tl.vmap(run)(tl.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist() == [5.0, 25.0]


def test_what_does_not_go_together_names_op_line_and_feeds() -> None:
    with static.program_guard(static.Program()) as main:
        x, y = static.data("x", (None, 4)), static.data("y", ("n",))
        static.data("known", (2,))
        z = F.reshape(x, (2, -1)) + F.reshape(y, (2, -1))
    feed = {"x": np.ones((3, 4), np.float32), "y": np.ones(8, np.float32), "known": [1.0, 2.0]}
    for program in (main, static.CompiledProgram(main)):
        said = (
            r"^add: .*\(2, 6\).*applied at .*test_feeds\.py:\d+, fed x of \(3, 4\), y of \(8,\)\.$"
        )
        with pytest.raises(tl.ShapeError, match=said):
            static.Executor().run(program, feed, [z])

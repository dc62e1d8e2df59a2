"""Names of unknown sizes are the user's: what is derived from a program takes none of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

NAMES = [("size_1", None), ("size_0", "size_2"), ("examples", None), ("rows", "n"), (None, None)]


@pytest.mark.parametrize("names", NAMES)
def test_gradients_and_examples_of_a_program_know_sizes_apart(names: Any) -> None:
    with static.program_guard(static.Program()) as main:
        y = F.sum(F.sin(x := static.data("x", names)) * x, axis=1)
    function = static.program_op(main, y)
    xs = tl.tensor(np.random.default_rng(0).standard_normal((4, 2, 3)).astype(np.float32))

    def plain(x: Any) -> Any:
        return F.sum(F.sin(x) * x, axis=1)

    def slope(function: Any) -> Any:
        return tl.grad(lambda x: F.sum(function(x) ** 2))

    for found, wanted in (
        (slope(function)(xs[0]), slope(plain)(xs[0])),
        (tl.vmap(slope(function))(xs), tl.vmap(slope(plain))(xs)),
    ):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)


@pytest.mark.parametrize("names", [("a", "b", "c"), ("examples", "a", "examples_"), (None,) * 3])
def test_examples_of_examples_may_differ_in_number(names: Any) -> None:
    def choice(x: Any, is_on: Any) -> Any:
        return F.cond(is_on, lambda x: F.sin(x) * x, lambda x: x, x)

    def run(x: Any) -> Any:
        return F.scan(lambda c, row: (c * row, c + row), x[0], x)[1]

    def slope(x: Any) -> Any:
        return tl.grad(lambda x: F.sum(run(x) ** 2))(x)

    def twice(function: Any) -> Any:
        return tl.vmap(tl.vmap(function))

    def results(xs: Any) -> list[Any]:
        is_on = F.sum(xs) > 0
        return [
            twice(lambda x: choice(x, is_on))(xs), twice(lambda x: choice(x, F.sum(x) > 0))(xs),
            twice(run)(xs), twice(slope)(xs),
        ]  # fmt: skip

    with static.program_guard(static.Program()) as main:
        found = results(tl.Tensor(static.data("xs", names)))
    data = np.random.default_rng(0).standard_normal((4, 2, 3)).astype(np.float32)
    wanted = results(tl.tensor(data))
    for a, b in zip(static.Executor().run(main, {"xs": data}, found), wanted, strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-5)


def test_rows_of_a_branch_are_no_size_of_outside() -> None:
    with static.program_guard(static.Program()) as main:
        x, y = static.data("x", ("n", "rows")), static.data("y", ("rows",))
        choice = static.IfElse(F.sum(x, axis=1) > 0)
        with choice.true_block():
            choice.output(choice.input(x) * y)
        with choice.false_block():
            choice.output(choice.input(x) - y)
        z = choice()
    feed = {"x": [[1.0, 2.0], [-1.0, 0.0], [3.0, 4.0]], "y": [10.0, 20.0]}
    found = static.Executor().run(main, feed, [z])[0].tolist()
    assert found == [[10.0, 40.0], [-11.0, -20.0], [30.0, 80.0]]


def test_errors_in_blocks_name_sizes_as_outside_does() -> None:
    with static.program_guard(static.Program(), static.Program()):
        x, y = static.data("x", ("time", "people")), static.data("y", ("time", "places"))
        rnn = static.StaticRNN()
        with rnn.step():
            row, other = rnn.step_input(x), rnn.step_input(y)
            with pytest.raises(tl.ShapeError, match=r"got \(people,\) and \(places,\)"):
                row + other
            rnn.step_output(row)
        weight = tl.Parameter([1.0, 2.0])
        loss = static.data("z", (None, 2)) * weight
        for error in (lambda: static.append_backward(loss), lambda: loss.backward()):
            with pytest.raises(tl.AutodiffError, match=r"an output of shape \(batch, 2\)"):
                error()


def test_a_size_may_be_given_as_fluid_does() -> None:
    with static.program_guard(static.Program()):
        assert static.data("x", (-1, 2)).describe() == "float32(batch, 2)"
        assert static.data("y", (3, -1)).describe() == "float32(3, None)"
        for shape in ("ab", 3):
            with pytest.raises(tl.ParameterError, match="shape must be a sequence of sizes"):
                static.data("z", shape)  # type: ignore[arg-type]


def test_two_sizes_of_inputs_that_must_be_equal_are_told_so() -> None:
    with static.program_guard(static.Program()):
        x, y = static.data("x", ("n", None)), static.data("y", ("n", None))
        said = r"by name: give x\.shape\[1\] and y\.shape\[1\] the same one\.$"
        for use in (
            lambda: x + y,
            lambda: F.concat([x, y], axis=0),
            lambda: F.matmul(x, y.T),
        ):
            with pytest.raises(tl.ShapeError, match=said):
                use()
        for use in (lambda: x + static.data("three", (3,)), lambda: F.reshape(x, (3, 4))):
            with pytest.raises(tl.ShapeError) as caught:
                use()
            assert "by name" not in str(caught.value)

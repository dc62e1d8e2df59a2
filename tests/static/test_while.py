"""While as Fluid has it: nested loops, parameters in steps, and variables behind the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

DATA = np.array([[1.0, -2.0], [3.0, 0.5], [0.25, 1.0]], np.float32)


def counted(n: Any) -> tuple[Any, Any]:
    i = F.zeros((), dtype="int64")
    return i, i < n


def count_on(i: Any, going: Any, n: Any) -> None:
    static.assign(i + 1, i)
    static.assign(i < n, going)


def test_steps_of_a_nested_loop_are_seen_by_the_loop_around() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x, n = static.data("x", (None, 2)), static.data("n", (), "int64")
        weight = tl.Parameter([[1.0, 2.0], [3.0, 4.0]])
        total, many = x * 1.0, F.zeros((), dtype="int64")
        i, going = counted(n)
        with static.While(going).block():
            static.assign(F.matmul(total, weight) * 0.1, total)
            j, inner_going = counted(i)
            with static.While(inner_going).block():
                static.assign(total + x, total)
                static.assign(many + 1, many)
                count_on(j, inner_going, i)
            static.assign(total + F.astype(many, dtype="float32"), total)
            count_on(i, going, n)
    scope, exe = static.Scope(), static.Executor()
    exe.run(startup, scope=scope)
    for program in (main, static.CompiledProgram(main)):
        for n in (0, 1, 4):
            found = exe.run(program, {"x": DATA, "n": n}, [total, many, i], scope)
            wanted, count = DATA, 0
            for step in range(n):
                wanted = wanted @ np.array([[1, 2], [3, 4]], np.float32) * np.float32(0.1)
                for _ in range(step):
                    wanted, count = wanted + DATA, count + 1
                wanted = wanted + count
            np.testing.assert_allclose(found[0], wanted, rtol=1e-5)
            assert found[1:] == [count, n]


@pytest.mark.parametrize("batch", [None, 3])
def test_layers_in_the_steps_of_a_loop_learn(batch: Any) -> None:
    def layers() -> list[Any]:
        return [tl.nn.Linear(2, 2, seed=seed) for seed in (0, 1)]

    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        first, second = layers()
        h = first(static.data("x", (batch, 2)))
        total = F.zeros(())
        i, going = counted(3)
        loop = static.While(going, max_steps=5)
        with loop.block():
            static.assign(F.tanh(second(h)) * F.sum(second.weight), h)
            static.assign(total + F.mean(h * h), total)
            count_on(i, going, 3)
        loss = total + F.mean(h)
        tl.optim.SGD(lr=0.5).minimize(loss)
    scope, exe = static.Scope(), static.Executor()
    exe.run(startup, scope=scope)
    first, second = layers()
    parameters = [*first.parameters(), *second.parameters()]
    optimizer = tl.optim.SGD(parameters, lr=0.5)
    for _ in range(3):
        (found,) = exe.run(main, {"x": DATA}, [loss], scope)
        h, wanted = first(tl.tensor(DATA)), 0.0
        for _ in range(3):
            h = F.tanh(second(h)) * F.sum(second.weight)
            wanted = wanted + F.mean(h * h)
        wanted = wanted + F.mean(h)
        optimizer.minimize(wanted)
        np.testing.assert_allclose(found, wanted.item(), rtol=1e-5)
    for number, parameter in enumerate(parameters):
        found = scope.find_var(f"parameter_{number}").numpy()
        np.testing.assert_allclose(found, parameter.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_a_block_reads_a_value_with_a_history_once() -> None:
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, weight = static.data("x", (4, 2)), tl.Parameter([1.0, 2.0])
        rnn = static.StaticRNN()
        with rnn.step():
            row = rnn.step_input(x)
            rnn.step_output(row * weight + weight * weight)
        F.scan(lambda c, row: (c + row * weight, weight * weight), F.zeros((2,)), x)
    for block in main.blocks[1:]:
        assert sum(name.startswith("parameter") for name in block.vars) == 1
    assert [len(step.inputs) for step in main.applied() if "Scan" in str(step.op)] == [2, 3]


def test_behind_a_loop_a_variable_is_fetched_as_what_it_has_become() -> None:
    with static.program_guard(static.Program()) as main:
        x = static.data("x", ())
        y, before = static.assign(x), x * 1.0
        going = y < 100.0
        loop = static.While(going)
        with loop.block():
            static.assign(y * 2, y)
            static.assign(y < 100.0, going)
        said = "must not be used behind a loop that has assigned to it; got what it was before"
        for use in (lambda: y + 1, lambda: F.cond(x > 0, lambda: y * x, lambda: x)):
            with pytest.raises(tl.ArgumentError, match=said):
                use()
        after = loop() + before
    program = main.clone()
    for one in (main, program, static.CompiledProgram(main)):
        found = static.Executor().run(one, {"x": 3.0}, [y, loop(), after, x, going])
        assert found == [192.0, 192.0, 195.0, 3.0, False]
    assert static.program_op(main, y)(tl.tensor(3.0)).item() == 192.0


def test_gradients_read_what_a_variable_was_before_the_loop() -> None:
    main = static.Program()
    with static.program_guard(main, startup := static.Program()):
        x, weight = static.data("x", (2,)), tl.Parameter([2.0, 3.0])
        y = static.assign(x)
        loss = F.sum(weight * y)
        going = F.sum(y) < 100.0
        loop = static.While(going, max_steps=9)
        with loop.block():
            static.assign(y * 2, y)
            static.assign(F.sum(y) < 100.0, going)
        ((_, slope),) = static.append_backward(loss + F.sum(loop() * weight))
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    assert exe.run(main, {"x": [1.0, 4.0]}, [slope], scope)[0].tolist() == [33.0, 132.0]


def test_tangents_and_examples_of_outside_go_through_blocks() -> None:
    def rows(x: Any, scale: Any) -> Any:
        rnn = static.StaticRNN()
        with rnn.step():
            row = rnn.step_input(x)
            memory = rnn.memory(init=scale)
            rnn.update_memory(memory, memory + row * F.sin(scale))
            rnn.step_output(memory * F.sin(scale))
        return F.sum(tl.Tensor(rnn()) ** 2)

    def plain(x: Any, scale: Any) -> Any:
        memory, made = scale, []
        for i in range(3):
            made.append(memory * F.sin(scale))
            memory = memory + x[i] * F.sin(scale)
        return F.sum(F.stack(made, axis=0) ** 2)

    given = (tl.tensor(DATA), tl.tensor([0.5, -1.5]))
    many = (F.stack([given[0], given[0] * 2], axis=0), F.stack([given[1], given[1] + 1], axis=0))
    with static.program_guard(static.Program()) as main:
        x, scale = tl.Tensor(static.data("x", (3, 2))), tl.Tensor(static.data("scale", (2,)))
        xs, scales = tl.Tensor(static.data("xs", (2, 3, 2))), tl.Tensor(static.data("ss", (2, 2)))
        found = [
            *tl.grad(rows, argnums=(0, 1))(x, scale), *tl.jvp(rows, (x, scale), (x, scale)),
            tl.vmap(rows)(xs, scales), *tl.vmap(tl.grad(rows, argnums=(0, 1)))(xs, scales),
        ]  # fmt: skip
    feed = {"x": given[0], "scale": given[1], "xs": many[0], "ss": many[1]}
    wanted = [
        *tl.grad(plain, argnums=(0, 1))(*given), *tl.jvp(plain, given, given),
        tl.vmap(plain)(*many), *tl.vmap(tl.grad(plain, argnums=(0, 1)))(*many),
    ]  # fmt: skip
    for a, b in zip(static.Executor().run(main, feed, found), wanted, strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-5)


def test_what_a_loop_may_not_assign_to_is_told() -> None:
    with static.program_guard(static.Program(), static.Program()):
        x, weight = static.data("x", (None, 1)), tl.Parameter([[1.0]])
        y = static.assign(x)
        i, going = counted(3)
        with static.While(going).block():
            with pytest.raises(tl.ArgumentError, match=r"before the block; got _.*which it made"):
                static.assign(y, y * 1.0)
            with pytest.raises(tl.ArgumentError, match="must not assign to what gradients are"):
                static.assign(weight * 2, weight)
            deeper = "must be called in the block of the loop itself"
            choice = static.IfElse(y > 0.0)
            with choice.true_block(), pytest.raises(tl.ArgumentError, match=deeper):
                static.assign(choice.input(y), y)

            def branch(y: Any) -> Any:
                with pytest.raises(tl.ArgumentError, match=deeper):
                    static.assign(y * 2, y)
                return y

            F.cond(i < 2, branch, branch, y)
            static.assign(F.matmul(y, weight), y)
            count_on(i, going, 3)


def test_variables_of_blocks_stay_in_them() -> None:
    left: list[Any] = []

    def leaving(v: Any) -> Any:
        left.append(v * 2)
        return v

    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", (3, 2))
        F.cond(F.sum(x) > 0, leaving, leaving, x)
        rnn = static.StaticRNN()
        with rnn.step():
            with pytest.raises(tl.ArgumentError, match="must be given what was made before the bl"):
                rnn.step_input(x * 2)
            with pytest.raises(tl.ArgumentError, match="must be given what was made before the bl"):
                rnn.memory(init=F.sum(x))
            leaving(rnn.step_input(x))
        for variable in left:
            for use in (
                lambda v=variable: v + 1,
                lambda v=variable: F.sum(x) + v,
                lambda v=variable: F.scan(lambda c, row: (c + F.sum(v), row), F.zeros(()), x),
            ):
                with pytest.raises(tl.ArgumentError, match="must not leave the block that made it"):
                    use()


def test_what_a_memory_may_not_be_is_told() -> None:
    with static.program_guard(static.Program(), static.Program()):
        rnn = static.StaticRNN()
        with rnn.step():
            row = rnn.step_input(static.data("x", ("time", "rows", 2)))
            with pytest.raises(tl.ArgumentError, match=r"-1 in the shape .*; got no batch_ref"):
                rnn.memory(shape=(-1, 2))
            memory = rnn.memory(shape=(-1, 2), batch_ref=row)
            assert memory.describe() == row.describe() == "float32(rows, 2)"
            said = r"a memory must stay float32\(rows, 2\); got float32\(2,\)"
            with pytest.raises(tl.ArgumentError, match=said):
                rnn.update_memory(memory, F.sum(row, axis=0))
            rnn.update_memory(memory, memory + row)
            rnn.step_output(memory)

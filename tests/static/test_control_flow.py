"""IfElse, While and StaticRNN: what the seeds say of blocks, and values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, static


def seeds_example() -> tuple[Any, Any, Any]:
    """The program of the seed: rows of an image classified by one of two networks."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        image = static.data("image", (None, 4))
        label = static.data("label", (None, 1), "int64")
        limit = F.full((1,), 5, dtype="int64")
        ie = static.IfElse(F.less(label, limit))
        with ie.true_block():
            true_image = ie.input(image)
            hidden = F.tanh(tl.nn.Linear(4, 10, seed=0)(true_image))
            ie.output(F.softmax(tl.nn.Linear(10, 3, seed=1)(hidden)))
        with ie.false_block():
            false_image = ie.input(image)
            hidden = F.tanh(tl.nn.Linear(4, 20, seed=2)(false_image))
            ie.output(F.softmax(tl.nn.Linear(20, 3, seed=3)(hidden)))
        prob = ie()
    return main, startup, prob


def networks() -> tuple[Any, Any]:
    first = (tl.nn.Linear(4, 10, seed=0), tl.nn.Linear(10, 3, seed=1))
    second = (tl.nn.Linear(4, 20, seed=2), tl.nn.Linear(20, 3, seed=3))
    return tuple(  # type: ignore[return-value]
        lambda x, a=a, b=b: F.softmax(b(F.tanh(a(x)))) for a, b in (first, second)
    )


def test_X4_the_seeds_example_has_exactly_three_blocks() -> None:
    main, _, _ = seeds_example()
    assert main.num_blocks == 3
    assert [(block.idx, block.parent_idx) for block in main.blocks] == [(0, -1), (1, 0), (2, 0)]
    assert [op.type for op in main.blocks[1].ops].count("tanh") == 1
    op = main.block.ops[-1]
    assert op.attrs["sub_blocks"] == (1, 2)
    assert [block["parent_idx"] for block in (b.desc() for b in main.blocks)] == [-1, 0, 0]


@pytest.mark.parametrize("labels", [[1, 7, 3, 9], [1, 2], [8, 9, 6], []])
def test_X4_rows_come_back_in_their_order(labels: list[int]) -> None:
    main, startup, prob = seeds_example()
    scope, exe = static.Scope(), static.Executor()
    exe.run(startup, scope=scope)
    image = np.random.default_rng(0).random((len(labels), 4), dtype=np.float32)
    feed = {"image": image, "label": np.array(labels, dtype=np.int64).reshape(-1, 1)}
    (found,) = exe.run(main, feed=feed, fetch_list=[prob], scope=scope)
    small, large = networks()
    wanted = [(small if k < 5 else large)(tl.tensor(x)) for k, x in zip(labels, image, strict=True)]
    assert found.shape == (len(labels), 3)
    for row, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(row, y.detach().numpy(), rtol=1e-5)


def test_X4_both_branches_learn() -> None:
    def scaled(x: Any, w: Any, v: Any) -> Any:
        return F.where(x > 0, x * w, F.sin(x) * v)

    with static.program_guard(static.Program()) as main:
        x = static.data("x", (None, 1), "float64")
        w, v = static.data("w", (1,), "float64"), static.data("v", (1,), "float64")
        ie = static.IfElse(x > 0.0)
        with ie.true_block():
            ie.output(ie.input(x) * w)
        with ie.false_block():
            ie.output(F.sin(ie.input(x)) * v)
        y = ie()
    branch = static.program_op(main, y)
    for data in ([0.5, -1.0, 2.0, -3.0], [1.0, 2.0], [-1.0]):
        given = [tl.tensor([[k] for k in data], dtype="float64")]
        given += [tl.tensor([2.0], dtype="float64"), tl.tensor([3.0], dtype="float64")]
        for order in (1, 2):
            found, wanted = ([], [])
            for function, into in ((branch, found), (scaled, wanted)):

                def loss(*xs: Any, function: Any = function) -> Any:
                    return F.sum(function(*xs) ** 3)

                if order == 2:

                    def loss(*xs: Any, inner: Any = loss) -> Any:
                        slopes = tl.grad(inner, argnums=(0, 1, 2))(*xs)
                        return sum(F.sum(dx * dx) for dx in slopes)

                into += tl.grad(loss, argnums=(0, 1, 2))(*given)
                into += tl.jvp(loss, given, given)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9)


def test_X4_rows_of_examples_go_their_own_ways() -> None:
    with static.program_guard(static.Program()) as main:
        x = static.data("x", (None, 1))
        ie = static.IfElse(x > 0.0)
        with ie.true_block():
            ie.output(ie.input(x) * 10.0)
        with ie.false_block():
            ie.output(-ie.input(x))
        y = ie()
    branch = static.program_op(main, y)
    xs = tl.tensor([[[1.0], [-2.0]], [[-3.0], [-4.0]]])
    assert tl.vmap(branch)(xs).tolist() == [[[10.0], [2.0]], [[3.0], [4.0]]]
    slopes = tl.vmap(tl.grad(lambda x: F.sum(branch(x))))(xs)
    assert slopes.tolist() == [[[10.0], [-1.0]], [[-1.0], [-1.0]]]


def test_a_name_is_looked_up_in_the_blocks_around() -> None:
    with static.program_guard(static.Program()) as main:
        x, bias = static.data("x", (None, 1)), static.data("bias", (1,))
        ie = static.IfElse(x > 0.0)
        with ie.true_block():
            block = main.current_block()
            assert (block.idx, block.parent_idx) == (1, 0)
            inner = block.listing.input("scale", (1,))
            ie.output(ie.input(x) * inner + bias)
        with ie.false_block():
            main.current_block().listing.input("scale", (1,))  # another block: another variable
            with pytest.raises(tl.ArgumentError, match="must be the only variable of this name"):
                main.current_block().listing.input("scale", (1,))
            ie.output(ie.input(x))
        assert main.current_block() is main.global_block()
    assert main.blocks[1].var("scale").name == "scale"
    assert main.blocks[1].var("x").block is main.global_block()
    assert not main.blocks[1].has_var("x")
    with pytest.raises(KeyError):
        main.blocks[1].var("nothing")
    with pytest.raises(KeyError):
        main.global_block().var("scale")


def test_X4_a_while_runs_until_its_condition_fails() -> None:
    with static.program_guard(static.Program()) as main:
        n = static.data("n", (1,), "int64")
        x = static.data("x", (None, 2))
        i = F.zeros((1,), dtype="int64")
        total = F.zeros((1,))
        going = F.less(i, n)
        loop = static.While(going, max_steps=8)
        with loop.block():
            static.assign(total + F.sum(x) * F.astype(i + 1, dtype="float32"), total)
            static.assign(i + 1, i)
            static.assign(F.less(i, n), going)
        total, i = loop()
        slope = tl.grad(lambda x: F.sum(x**2))(total)
    assert main.num_blocks == 2
    exe = static.Executor()
    for steps, wanted in ((0, 0.0), (1, 3.0), (3, 18.0)):
        feed = {"n": [steps], "x": [[1.0, 2.0]]}
        found = exe.run(main, feed=feed, fetch_list=[total, i, slope])
        assert [y.item() for y in found] == [wanted, steps, 2 * wanted]


def test_X4_gradients_go_through_a_while() -> None:
    with static.program_guard(static.Program()) as main:
        x = static.data("x", (), "float64")
        y = F.sin(x)
        going = y < 100.0
        loop = static.While(going, max_steps=12)
        with loop.block():
            static.assign(y * 2 + x, y)
            static.assign(y < 100.0, going)
        y = loop()
    function = static.program_op(main, y)

    def plain(x: Any) -> Any:
        y = F.sin(x)
        while y.item() < 100.0:
            y = y * 2 + x
        return y

    at = tl.tensor(1.5, dtype="float64")
    assert function(at).item() == plain(at).item()
    np.testing.assert_allclose(tl.grad(function)(at).item(), tl.grad(plain)(at).item(), rtol=1e-12)
    np.testing.assert_allclose(
        tl.jvp(function, (at,), (at,))[1].item(), tl.jvp(plain, (at,), (at,))[1].item(), rtol=1e-12
    )


def test_X4_a_static_rnn_learns_as_its_loop_does() -> None:
    def layers() -> tuple[Any, Any]:
        return tl.nn.Linear(3, 4, seed=0), tl.nn.Linear(4, 4, seed=1)

    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", ("time", None, 3))
        rnn = static.StaticRNN()
        with rnn.step():
            row = rnn.step_input(x)
            before = rnn.memory(shape=[-1, 4], batch_ref=row)
            first, second = layers()
            hidden = F.tanh(first(row) + second(before))
            rnn.update_memory(before, hidden)
            rnn.step_output(hidden)
        loss = F.mean(rnn() ** 2)
        tl.optim.SGD(None, lr=0.5).minimize(loss)
    data = np.random.default_rng(0).random((5, 2, 3), dtype=np.float32)
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    first, second = layers()
    step = tl.optim.SGD([*first.parameters(), *second.parameters()], lr=0.5)
    for _ in range(3):
        (found,) = exe.run(main, feed={"x": data}, fetch_list=[loss], scope=scope)
        hidden, rows = tl.zeros((2, 4)), []
        for row in data:
            hidden = F.tanh(first(tl.tensor(row)) + second(hidden))
            rows.append(hidden)
        wanted = F.mean(F.stack(rows, axis=0) ** 2)
        np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-5)
        step.minimize(wanted)


def test_mistakes_in_blocks_are_refused() -> None:
    with static.program_guard(static.Program()):
        x = static.data("x", (None, 1))
        ie = static.IfElse(x > 0.0)
        with pytest.raises(tl.ArgumentError, match="inside of a block"):
            ie.input(x)
        with ie.true_block():
            ie.output(ie.input(x))
        with pytest.raises(tl.ArgumentError, match=r"both blocks; got no false_block"):
            ie()
        with ie.false_block():
            ie.output(F.concat([ie.input(x), ie.input(x)], axis=1))
        with pytest.raises(tl.ShapeError, match="both blocks must give the same"):
            ie()
        going = F.sum(x) > 0.0
        with pytest.raises(tl.ArgumentError, match="must assign to the condition"):  # noqa: SIM117
            with static.While(going).block():
                static.assign(x + 1.0, x)
        rnn = static.StaticRNN()
        with pytest.raises(tl.ArgumentError, match="each memory must be updated"):  # noqa: SIM117
            with rnn.step():
                rnn.step_input(x)
                rnn.memory(init=F.zeros((1,)))


def test_steps_do_not_share_random_numbers_unseen() -> None:
    with static.program_guard(static.Program()):
        x = static.data("x", (4, 3))
        rnn = static.StaticRNN()
        with pytest.raises(tl.ArgumentError, match="made once, before the steps"):  # noqa: SIM117
            with rnn.step():
                rnn.step_output(rnn.step_input(x) * tl.random.uniform((3,)))


def test_steps_of_blocks_draw_as_a_loop_of_python_does() -> None:
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", (4, 30))
        rnn = static.StaticRNN()
        with rnn.step():
            memory = rnn.memory(init=F.zeros((30,)))
            new = tl.nn.Dropout(0.5)(rnn.step_input(x)) + memory
            rnn.update_memory(memory, new)
            rnn.step_output(new)
        rows = rnn()
        count = F.zeros((), dtype="int64") + 0
        going = count < 3
        total = F.zeros((30,)) + 0.0
        loop = static.While(going)
        with loop.block():
            static.assign(tl.nn.Dropout(0.5)(total + 1.0), total)
            static.assign(count + 1, count)
            static.assign(count < 3, going)
    data = np.ones((4, 30), np.float32)
    exe = static.Executor()
    for seed in (0, 1, 1):
        tl.manual_seed(seed)
        found, summed = exe.run(main, feed={"x": data}, fetch_list=[rows, total])
        tl.manual_seed(seed)
        memory, wanted = tl.zeros((30,)), []
        for row in data:
            memory = tl.nn.Dropout(0.5)(tl.tensor(row)) + memory
            wanted.append(memory.numpy())
        y = tl.zeros((30,))
        for _ in range(3):
            y = tl.nn.Dropout(0.5)(y + 1.0)
        np.testing.assert_array_equal(found, np.stack(wanted))
        np.testing.assert_array_equal(summed, y.numpy())


@pytest.mark.parametrize("how", ["if", "while"])
def test_python_that_asks_for_elements_is_told_how_control_flow_is_recorded(how: str) -> None:
    def call(x: Any) -> Any:
        if how == "if":
            return x if F.sum(x) > 0 else -x
        while F.sum(x) < 10:
            x = x + 1
        return x

    said = r"^a value is needed; .* has no elements; control flow .* by jit\.to_static, or by "
    with static.program_guard(static.Program()):
        x = static.data("x", (2,))
        for given in (x, tl.Tensor(x)):
            with pytest.raises(tl.DispatchError, match=said):
                call(given)
        jit.to_static(call)(tl.Tensor(x))
    with pytest.raises(tl.DispatchError, match=said):
        jit.trace(symbolic=True)(call)(tl.tensor([1.0, 2.0]))
    assert jit.trace(symbolic=True)(jit.to_static(call))(tl.tensor([5.0, 6.0])).tolist() == [5, 6]

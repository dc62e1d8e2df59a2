"""What seed 004 says of programs, row by row: the ids are those of the acceptance list."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import ops, static


def test_X1_a_call_on_a_variable_only_adds_an_op_and_a_fetch_runs_it(programs: Any) -> None:
    main, _ = programs
    x = static.data("x", (2,))
    y = x + 1
    assert isinstance(y, static.Variable)
    assert [op.type for op in main.block.ops] == ["const", "add"]
    (found,) = static.Executor().run(main, feed={"x": [1.0, 2.0]}, fetch_list=[y])
    assert found.tolist() == [2.0, 3.0]


def test_X1_the_same_call_on_a_tensor_has_a_value_at_once(programs: Any) -> None:
    main, _ = programs
    assert (tl.tensor([1.0, 2.0]) + 1).tolist() == [2.0, 3.0]
    assert main.block.ops == []


class Sum(ops.OpBase):
    """The sum of several."""

    def define(self, *x: Any) -> Any:
        total = x[0]
        for other in x[1:]:
            total = total + other
        return total


class Split(ops.OpBase):
    """Three parts."""

    axis: int = 0

    def define(self, x: Any) -> Any:
        return tuple(F.split(x, sizes=(1, 1, 1), axis=self.axis))


def test_X2_the_descriptions_of_the_seed(programs: Any) -> None:
    main, _ = programs
    tmp = [static.data(f"tmp_in_{i}", (2, 3)) for i in range(3)]
    (out,) = Sum()(*tmp)
    main.rename(out.number, "tmp_out")
    assert main.block.ops[-1].desc() == {
        "type": "sum",
        "inputs": {"X": ["tmp_in_0", "tmp_in_1", "tmp_in_2"]},
        "outputs": {"Out": ["tmp_out"]},
        "attrs": {},
    }
    for i, part in enumerate(Split(axis=1)(out)):
        main.rename(part.number, f"tmp_out_{i}")
    assert main.block.ops[-1].desc() == {
        "type": "split",
        "inputs": {"X": ["tmp_out"]},
        "outputs": {"Out": ["tmp_out_0", "tmp_out_1", "tmp_out_2"]},
        "attrs": {"axis": 1},
    }


def test_X2_variables_and_attributes_are_described_as_plain_data(programs: Any) -> None:
    main, _ = programs
    x = static.data("x", (None, 3))
    F.sum(x, axis=(0, 1), keepdims=True)
    static.fc(x, 2)
    assert x.desc() == {"name": "x", "type": "LOD_TENSOR", "persistable": False}
    states = [v.desc() for v in main.block.vars.values() if v.persistable]
    assert [s["name"] for s in states] == ["parameter_0", "parameter_1"]
    attrs = main.block.ops[0].attrs
    assert attrs == {"axis": (0, 1), "keepdims": True, "dtype": None}
    assert main.block.ops[-1].inputs == {
        "X": ["x"], "WEIGHT": ["parameter_0"], "BIAS": ["parameter_1"]
    }  # fmt: skip
    F.concat([x, x, x], axis=0)
    assert list(main.block.ops[-1].inputs.values()) == [["x"] * 3]


def test_X3_a_name_may_stand_for_one_variable_of_a_block(programs: Any) -> None:
    main, _ = programs
    x = static.data("x", (2,))
    with pytest.raises(tl.TensorlikeError, match=r"only variable of this name.*'x'"):
        static.data("x", (3,))
    with pytest.raises(tl.TensorlikeError, match="none that a program gives itself"):
        static.data("_1", (3,))
    assert main.block.idx == 0 and main.block.parent_idx == -1
    assert main.block.var("x").number == x.number
    with pytest.raises(KeyError, match="'z'"):
        main.block.var("z")


def test_X6_there_are_default_programs_and_a_guard_for_others() -> None:
    outer = static.default_main_program(), static.default_startup_program()
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        assert static.default_main_program() is main
        assert static.default_startup_program() is startup
        with static.program_guard(static.Program()):
            assert static.default_main_program() is not main
            assert static.default_startup_program() is startup
        assert static.default_main_program() is main
    assert (static.default_main_program(), static.default_startup_program()) == outer


def test_X6_static_mode_builds_the_default_programs() -> None:
    static.enable_static()
    try:
        count = len(static.default_main_program().block.ops)
        y = static.data("of_default", (2,)) * 2
        assert len(static.default_main_program().block.ops) > count
        (found,) = static.Executor().run(feed={"of_default": [1.0, 2.0]}, fetch_list=[y])
        assert found.tolist() == [2.0, 4.0]
    finally:
        static.disable_static()


def test_X6_the_startup_program_runs_once_and_the_main_one_many_times(programs: Any) -> None:
    main, startup = programs
    x = static.data("x", (None, 1))
    w = tl.Parameter([[2.0]])
    loss = F.mean((F.matmul(x, w) - 1.0) ** 2)
    tl.optim.SGD(lr=0.1).minimize(loss)
    main.assign_kept()
    exe = static.Executor()
    exe.run(startup)
    losses = [float(exe.run(main, {"x": [[1.0]]}, [loss])[0]) for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0] / 4
    exe.run(startup)
    assert float(exe.run(main, {"x": [[1.0]]}, [loss])[0]) == losses[0]


def test_X7_the_five_statements(programs: Any) -> None:
    main, startup = programs

    def counts() -> tuple[int, ...]:
        return (
            len(main.block.vars), len(main.block.ops),
            sum(v.persistable for v in startup.block.vars.values()), len(startup.block.ops),
        )  # fmt: skip

    image = static.data("image", (None, 3, 224, 224))
    assert counts() == (1, 0, 0, 0)

    result = static.conv2d(image, num_filters=64, filter_size=3)
    # The weight and the bias in both programs; an op for each start; the op, and what it makes.
    assert counts() == (4, 1, 2, 2)
    assert main.block.ops[0].type == "convolution"
    shared = {"parameter_0", "parameter_1"}
    assert shared <= set(main.block.vars) and shared <= set(startup.block.vars)

    loss = F.mean(result)
    assert counts() == (5, 2, 2, 2)
    assert main.block.ops[1].type == "mean"

    adam = tl.optim.Adam(lr=1e-3)
    assert counts() == (5, 2, 2, 2)

    adam.minimize(loss)
    kinds = ("moment1", "moment2", "beta1_pow", "beta2_pow")
    states = {f"{kind}_{i}" for kind in kinds for i in range(2)} | {"learning_rate_0"}
    assert {v for v, x in main.block.vars.items() if x.persistable} == shared | states
    assert {v for v, x in startup.block.vars.items() if x.persistable} == shared | states
    assert len(startup.block.ops) == 2 + len(states)
    assert {"parameter_0@GRAD", "parameter_1@GRAD"} <= set(main.block.vars)
    types = [op.type for op in main.block.ops]
    assert types.count("adam_step") == 2 and "convolution_weight" in types


def test_X11_what_is_fed_and_fetched(programs: Any) -> None:
    main, _ = programs
    x, _ = static.data("x", (None, 2)), static.data("y", (2,), "int64")
    z = F.sum(x, axis=1)
    exe = static.Executor(static.CPUPlace())
    good = {"x": np.ones((3, 2), np.float32), "y": [1, 2]}
    found = exe.run(main, good, [z, "y", x])
    assert [type(f) for f in found] == [np.ndarray] * 3 and found[0].tolist() == [2.0] * 3
    assert isinstance(exe.run(main, good, [z], return_numpy=False)[0], tl.Tensor)
    assert exe.run(main, good) == []
    wrong: list[tuple[Any, Any, str]] = [
        ({"x": good["x"]}, [z], r"feed must have a value for y: int64\(2,\)"),
        ({**good, "w": [1.0]}, [z], "feed must name inputs of the program: x, y; got w"),
        ({**good, "x": np.ones((3, 4), np.float32)}, [z], r"x must have the shape \(batch, 2\)"),
        ({**good, "x": np.ones((3, 2))}, [z], "x must be float32; got float64"),
        (good, ["q"], "fetch_list must be variables of the program.*'q'"),
        (good, [tl.tensor(1.0)], "fetch_list must be variables of the program"),
        (good, [static.Program().input("z", (2,))], "one of another program"),
    ]
    for feed, fetch, message in wrong:
        with pytest.raises(tl.TensorlikeError, match=message):
            exe.run(main, feed, fetch)
    with pytest.raises(tl.DeviceError, match="'tpu'"):
        static.Executor("tpu")


def test_X11_a_state_without_a_value_is_an_error_that_says_what_to_do(programs: Any) -> None:
    main, _ = programs
    y = static.fc(static.data("x", (None, 2)), 1)
    with pytest.raises(tl.TensorlikeError, match=r"parameter_0 must have a value.*startup program"):
        static.Executor().run(main, {"x": [[1.0, 2.0]]}, [y])


def test_X12_states_stay_in_the_top_scope_and_temporaries_are_gone(programs: Any) -> None:
    main, startup = programs
    y = static.fc(static.data("x", (None, 2)), 1)
    loss = F.mean(y)
    tl.optim.SGD(lr=0.5).minimize(loss)
    main.assign_kept()
    scope, exe = static.Scope(), static.Executor()
    child = scope.new_scope()
    exe.run(startup, scope=scope)
    before = scope.find_var("parameter_0").tolist()
    exe.run(main, {"x": [[1.0, 2.0]]}, [loss], scope=child)
    assert child.names() == []  # where the states are found, they are set
    assert set(scope.names()) == {"parameter_0", "parameter_1", "learning_rate_0"}
    assert child.find_var("parameter_0").tolist() != before
    assert child.parent() is scope and scope.kids() == [child]
    child.set("parameter_0", [0.0])
    assert child.find_var("parameter_0").tolist() == [0.0]
    scope.drop_kids()
    assert scope.kids() == [] and child.parent() is None
    assert child.find_var("parameter_1") is None


def test_X12_what_is_computed_on_the_way_is_freed(programs: Any) -> None:
    main, _ = programs
    x = static.data("x", (256, 1024))
    y = x
    for _ in range(20):
        y = F.exp(y * 0.5)
    total = F.sum(y)
    exe = static.Executor()
    feed = {"x": np.zeros((256, 1024), np.float32)}
    exe.run(main, feed, [total])
    gc.collect()
    before = tl.memory.stats()["allocated"]
    tl.memory.reset_peak()
    exe.run(main, feed, [total])
    assert tl.memory.stats()["allocated"] <= before + 1024
    # Of twenty values of 1 MiB few are there at a time.
    assert tl.memory.stats()["peak"] - before < 5 * 2**20


def test_X14_gradients_are_built_of_what_the_loss_needs_alone(programs: Any) -> None:
    main, _ = programs
    x = static.data("x", (None, 4))
    used, other = tl.nn.Linear(4, 3), tl.nn.Linear(4, 3)
    aside = F.exp(other(x))
    loss = F.mean(used(x) ** 2)
    count = len(main.block.ops)
    pairs = static.append_backward(loss)
    assert [id(p) for p, _ in pairs] == [id(used.weight), id(used.bias)]
    added = [op.type for op in main.block.ops[count:]]
    assert "exp" not in added and aside is not None
    assert not any(name.startswith("parameter_2@") for name in main.block.vars)


@pytest.mark.parametrize("way", ["tensor", "name", "variable"])
def test_X14_no_gradient_by_what_is_in_no_grad_set(programs: Any, way: str) -> None:
    main, _ = programs
    x = static.data("x", (None, 4))
    first, second = tl.nn.Linear(4, 3), tl.nn.Linear(3, 2)
    loss = F.mean(second(first(x)) ** 2)
    skipped = {
        "tensor": [first.weight, first.bias],
        "name": ["parameter_0", "parameter_1"],
        "variable": [main.block.var("parameter_0"), main.block.var("parameter_1")],
    }[way]
    count = len(main.block.ops)
    pairs = static.append_backward(loss, no_grad_set=skipped)
    assert [id(p) for p, _ in pairs] == [id(second.weight), id(second.bias)]
    # Nothing is pushed back to the first layer: one product, that of the weight's gradient.
    types = [op.type for op in main.block.ops[count:]]
    assert sum("mul" in kind and kind != "multiply" for kind in types) == 1, types


def test_X14_a_parameter_is_found_whatever_its_tensor_stands_for(programs: Any) -> None:
    main, _ = programs
    w = tl.Parameter([2.0, 3.0])
    with tl.no_grad():
        w.set_value(w * 2)
    pairs = tl.optim.SGD([w], lr=1.0).minimize(F.sum(w * w))
    assert [id(p) for p, _ in pairs] == [id(w)]
    with pytest.raises(tl.AutodiffError, match="carries no gradient"):
        static.append_backward(F.sum(static.data("x", (2,)) * tl.Tensor([1.0, 2.0])))
    x = tl.Tensor(static.data("z", (2,)))
    with pytest.raises(tl.TensorlikeError, match=r"no_grad_set must be parameters.*got z"):
        static.append_backward(F.sum(w * x), no_grad_set=[x])
    assert main is static.default_main_program()


def test_P5_the_guard_of_imperative_mode_runs_at_once_where_static_mode_builds() -> None:
    static.enable_static()
    try:
        assert isinstance(static.data("p5", (2,)) + 1, static.Variable)
        with tl.guard():
            x = tl.to_variable(np.ones(2, np.float32))
            y = F.sum(x * x)
            y.backward()
            assert x.gradient().tolist() == [2.0, 2.0] and y.value() == 2.0
            assert tl.zeros(2).tolist() == [0.0, 0.0]
            assert tl.nn.Linear(2, 1).bias.tolist() == [0.0]
    finally:
        static.disable_static()


def test_P6_both_kinds_of_variables_have_a_base_that_functions_take(programs: Any) -> None:
    static_variable, tensor = static.data("x", (2,)), tl.tensor([1.0, 2.0])
    assert isinstance(static_variable, tl.TensorBase) and isinstance(tensor, tl.TensorBase)
    for x in (static_variable, tensor):
        assert isinstance(F.softmax(x), type(x))

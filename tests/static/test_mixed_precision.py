"""Products in half precision: which ops, which casts, and the scale of the loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.ops.entries import entry_of
from tensorlike.static.transpilers import gradient_accumulation, mixed_precision, recompute
from tests.support.training_programs import random_training, training

ERROR = {"bfloat16": 2.0**-7, "float16": 2.0**-10}


def dtypes(program: Any, step: Any, kind: str) -> set[str]:
    return {program.dtype(n).name for n in getattr(step, kind)}


@pytest.mark.parametrize(
    ("dtype", "scale", "batch"),
    [("bfloat16", None, "batch"), ("float16", 128.0, None), ("float16", "dynamic", "batch")],
)
@pytest.mark.parametrize("name", ["mlp", "cnn", "residual", "lstm", "gpt"])
def test_products_are_halves_and_all_else_is_as_it_was(
    name: str, batch: Any, dtype: Any, scale: Any
) -> None:
    found = training(name, "adam", batch=batch)
    before = str(found.main), str(found.startup)
    main, startup = mixed_precision(found.main, found.startup, dtype, scale)
    assert (str(found.main), str(found.startup)) == before
    products = 0
    for step in main.applied():
        entry = entry_of(step.op)
        if entry.is_product:
            products += 1
            assert dtypes(main, step, "inputs") == dtypes(main, step, "outputs") == {dtype}
        elif not entry.is_view:
            assert dtype not in dtypes(main, step, "inputs") | dtypes(main, step, "outputs"), step
    assert products == sum(entry_of(op).is_product for op in found.main.ops)
    assert all(main.dtype(n).name != dtype for n in main.assigned())
    losses, states = found.run()
    halves, moved = found.run(main=main, startup=startup)
    np.testing.assert_allclose(halves, losses, rtol=4 * ERROR[dtype])
    for key, value in states.items():
        np.testing.assert_allclose(moved[key], value, atol=0.1, err_msg=key)


@pytest.mark.parametrize("name", ["mlp", "lstm", "gpt"])
def test_each_value_is_cast_once(name: str) -> None:
    found = training(name)
    main, _ = mixed_precision(found.main, found.startup)
    casts = [step.inputs[0] for step in main.applied() if type(step.op).__name__ == "Cast"]
    assert len(casts) == len(set(casts))
    read = {n for step in main.applied() for n in step.inputs}
    assert all(
        read.intersection(step.outputs)
        for step in main.applied()
        if type(step.op).__name__ in ("Cast", "Transpose")
    )


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_do_nearly_the_same(seed: int) -> None:
    found = random_training(seed)
    main, startup = mixed_precision(found.main, found.startup, "float16", "dynamic")
    tl.manual_seed(1)
    losses, _ = found.run(steps=1)
    tl.manual_seed(1)
    halves, _ = found.run(steps=1, main=main, startup=startup)
    np.testing.assert_allclose(halves, losses, rtol=0.02)


def test_kept_ops_stay_in_single_precision() -> None:
    found = training("gpt")
    main, _ = mixed_precision(found.main, found.startup, keep=["Attention", "AttentionGrad"])
    for step in main.applied():
        if type(step.op).__name__.startswith("Attention"):
            assert dtypes(main, step, "inputs") == {"float32"}
    assert "bfloat16" in {main.dtype(n).name for step in main.applied() for n in step.outputs}


def overflowing() -> tuple[Any, Any, Any]:
    """A program whose gradient is the input's mean, by way of a product."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        w = tl.Parameter(np.ones((1, 1), "f"))
        loss = F.mean(F.matmul(static.data("x", (None, 1)), w))
        tl.optim.SGD(lr=1.0).minimize(loss)
    return main, startup, loss


def test_a_run_that_overflows_updates_nothing_and_halves_the_scale() -> None:
    main, startup, _ = overflowing()
    half, start = mixed_precision(main, startup, "float16", "dynamic", growth_interval=2)
    exe, scope = static.Executor(), static.Scope()
    exe.run(start, scope=scope)
    seen = []
    # 65536 is infinite in float16; so is 4 times 16384.
    for x in (1.0, 1.0, 1.0, 1.0, 1.0, 4.0, 1.0):
        exe.run(half, {"x": np.full((1, 1), x, "f")}, scope=scope)
        values = (
            scope.find_var(key).item() for key in ("loss_scale", "finite_runs", "parameter_0")
        )
        seen.append(tuple(values))
    assert seen == [
        (32768.0, 0, 1.0),
        (32768.0, 1, 0.0),
        (65536.0, 0, -1.0),
        (32768.0, 0, -1.0),
        (32768.0, 1, -2.0),
        (16384.0, 0, -2.0),
        (16384.0, 1, -3.0),
    ]


def test_gradients_are_those_of_the_loss_whatever_the_scale() -> None:
    main, startup, loss = overflowing()
    half, start = mixed_precision(main, startup, "float16", 1024.0)
    exe, scope = static.Executor(), static.Scope()
    exe.run(start, scope=scope)
    feed = {"x": np.full((2, 1), 3.0, "f")}
    value, gradient = exe.run(half, feed, [loss, "parameter_0@GRAD"], scope)
    assert (value.tolist(), gradient.tolist()) == (3.0, [[3.0]])
    assert gradient.dtype == np.float32


def test_a_run_without_a_finite_gradient_changes_no_moment() -> None:
    found = training("mlp", "adam")
    main, startup = mixed_precision(found.main, found.startup, "float16", 1e30)
    losses, states = found.run(main=main, startup=startup)
    assert len(set(map(float, losses))) == 1
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    assert all(np.array_equal(np.array(scope.find_var(key)), states[key]) for key in states)


def test_X8_transpilers_go_one_after_the_other() -> None:
    found = training("gpt", "adam", batch="batch")
    linear = [op.outputs["Out"][0] for op in found.main.block.ops if op.type == "linear"]
    again = recompute(found.main, linear[1:3])
    main, startup = mixed_precision(again, found.startup, "bfloat16", "dynamic")
    main, startup = gradient_accumulation(main, startup, 2)
    losses, states = found.run(steps=5)
    halves, moved = found.run(steps=10, main=main, startup=startup)
    np.testing.assert_allclose(halves[::2], losses, rtol=0.03)
    assert moved["loss_scale"] == 65536.0 and moved["beta1_pow_0"] == states["beta1_pow_0"]
    assert main.recomputed


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("dtype must be bfloat16 or float16; got 'float64'", {"dtype": "float64"}),
        ("loss_scale must be a positive number", {"loss_scale": -1.0}),
        ("loss_scale must be a positive number", {"loss_scale": float("nan")}),
        ("keep must be types of ops", {"keep": ["Atention"]}),
        ("growth_interval must be positive", {"growth_interval": 0}),
    ],
)
def test_what_does_not_fit_is_refused(words: str, change: dict[str, Any]) -> None:
    found = training("mlp")
    with pytest.raises(tl.ArgumentError, match=words):
        mixed_precision(found.main, found.startup, **change)
    with pytest.raises(tl.ArgumentError, match="with gradients"):
        mixed_precision(found.startup, found.startup)


def test_the_loss_s_own_gradient_is_known() -> None:
    for name in ("mlp", "gpt"):
        main = training(name).main
        (backward,) = main.backwards
        ((step),) = [step for step in main.applied() if backward.seed in step.outputs]
        assert step.inputs == (backward.loss,) and step.op.params()["value"] == 1.0
        readers = [step for step in main.applied() if backward.seed in step.inputs]
        assert readers and all(backward.made.issuperset(step.outputs) for step in readers)

"""Copies of programs: whole, pruned, for tests; and whether two programs are the same."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tests.support.models import models
from tests.support.training_programs import NAMES, random_training, training


def gradients_of(program: Any) -> list[Any]:
    def names(numbers: Any) -> list[str]:
        return sorted(program.names(n) for n in numbers)

    return [
        (names([b.loss, b.seed]), names(b.gradients), names(b.gradients.values()), names(b.made))
        for b in program.backwards
    ]


@pytest.mark.parametrize("batch", [None, "batch"], ids=["known", "unknown"])
@pytest.mark.parametrize("name", NAMES)
def test_a_clone_is_the_same_program_and_does_the_same(name: str, batch: Any) -> None:
    found = training(name, "adam", batch=batch)
    before = str(found.main)
    clone, startup = found.main.clone(), found.startup.clone()
    assert str(clone) == before
    assert clone.is_same(found.main) and startup.is_same(found.startup)
    assert [step.line for step in clone.applied()] == [step.line for step in found.main.applied()]
    assert gradients_of(clone) == gradients_of(found.main)
    losses, states = found.run()
    again, copied = found.run(main=clone, startup=startup)
    assert losses == again
    assert all(np.array_equal(states[key], copied[key]) for key in states)
    assert str(found.main) == before


@pytest.mark.parametrize("seed", range(20))
def test_a_clone_of_a_random_program_is_the_same(seed: int) -> None:
    found = random_training(seed)
    clone = found.main.clone()
    assert str(clone) == str(found.main) and clone.is_same(found.main)
    tl.manual_seed(3)
    losses, _ = found.run()
    tl.manual_seed(3)
    assert found.run(main=clone)[0] == losses


def test_what_is_added_to_a_clone_is_not_in_the_program() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        y = static.data("x", (None, 2)) * 2
    clone = main.clone()
    with static.program_guard(clone, static.Program()):
        clone.symbol(clone.number_of(y.name)) + 1
    assert len(clone.block.ops) == len(main.block.ops) + 2
    assert not clone.is_same(main)


def test_names_of_what_is_added_to_a_clone_are_new() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        y = static.data("x", (2,)) * 2
    clone = main.clone()
    z = clone.symbol(clone.number_of(y.name)) + 1
    names = [name for name, *_ in clone.variables()]
    assert len(set(names)) == len(names) and z.name not in [v.name for v in main.list_vars()]


def test_a_program_can_be_built_on_after_it_was_cloned_in_its_block() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        layer = tl.nn.Linear(2, 1, seed=0)
        loss = F.mean(layer(static.data("x", (None, 2))) ** 2)
        test = main.clone(for_test=True)
        tl.optim.SGD(lr=0.1).minimize(loss)
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    feed = {"x": np.ones((2, 2), "f")}
    first = exe.run(test, feed, [loss], scope)[0]
    assert exe.run(main, feed, [loss], scope)[0] == first > exe.run(test, feed, [loss], scope)[0]


def test_a_pruned_program_has_what_its_targets_need() -> None:
    found = training("residual", batch="batch")
    pruned = found.main.prune(found.loss)
    types = [op.type for op in pruned.block.ops]
    assert types.count("convolution") == 2 and "sgd_step" not in types
    assert not pruned.assigned() and not pruned.backwards
    exe, scope = static.Executor(), static.Scope()
    exe.run(found.startup, scope=scope)
    (loss,) = exe.run(pruned, found.feed, [found.loss], scope)
    assert loss == exe.run(found.main, found.feed, [found.loss], scope)[0]


def test_pruning_drops_inputs_that_nobody_reads() -> None:
    with static.program_guard(static.Program()) as main:
        x, y = static.data("x", (None, 2)), static.data("y", ("rows", 2))
        z = F.sum(x, axis=0)
        w = z * y.shape[0]
    assert list(main.prune(z).block.vars) == ["x", z.name]
    # Its size is read.
    assert static.Executor().run(
        main.prune([w]), {"x": np.ones((3, 2), "f"), "y": np.ones((3, 2), "f")}, [w]
    )[0].tolist() == [9.0, 9.0]


def test_conditions_on_sizes_are_those_of_the_copy_too() -> None:
    with static.program_guard(static.Program()) as main:
        x = static.data("x", (None, 2))
        y = x * 2 if x.shape[0] > 3 else x
    for program in (main, main.clone(), main.prune(y)):
        with pytest.raises(tl.ShapeError):
            static.Executor().run(program, {"x": np.ones((2, 2), "f")}, [y])


def test_variables_of_the_program_are_known_in_copies_of_copies() -> None:
    with static.program_guard(static.Program()) as main:
        y = static.data("x", (2,)) * 2
    copy = main.clone().prune(y.name).clone()
    assert static.Executor().run(copy, {"x": [1.0, 2.0]}, [y])[0].tolist() == [2.0, 4.0]
    with static.program_guard(static.Program()) as other:
        z = static.data("x", (2,)) * 2
    with pytest.raises(tl.ArgumentError):
        static.Executor().run(other, {"x": [1.0, 2.0]}, [y])
    assert static.Executor().run(other, {"x": [1.0, 2.0]}, [z])[0].tolist() == [2.0, 4.0]


CHANGES: dict[str, Any] = {
    "another op": lambda x, w: F.cos(x) * w,
    "another order": lambda x, w: w * F.sin(x),
    "another attribute": lambda x, w: F.sum(F.sin(x) * w, axis=0),
    "another constant": lambda x, w: F.sin(x) * w + 2,
    "less": lambda x, w: F.sin(x),
}


@pytest.mark.parametrize("change", CHANGES)
def test_programs_that_differ_are_not_the_same(change: str) -> None:
    def build(body: Any) -> Any:
        with static.program_guard(static.Program(), static.Program()) as main:
            body(static.data("x", (None, 2)), tl.Parameter([1.0, 2.0]))
        return main

    def plain(x: Any, w: Any) -> Any:
        return F.sum(F.sin(x) * w) + 1 if change == "another attribute" else F.sin(x) * w + 1

    first = build(plain)
    assert first.is_same(build(plain)) and first.is_same(first.clone())
    assert not first.is_same(build(CHANGES[change]))
    assert not build(CHANGES[change]).is_same(first)


def test_programs_with_other_shapes_constants_or_assignments_are_not_the_same() -> None:
    def build(shape: Any, constant: Any, moved: bool) -> Any:
        with static.program_guard(static.Program(), static.Program()) as main:
            w = tl.Parameter([1.0, 2.0])
            y = static.data("x", shape) * w + tl.tensor(constant)
            if moved:
                w.set_value(F.sum(y, axis=0))
        return main

    first = build((None, 2), [1.0, 2.0], True)
    assert first.is_same(build((None, 2), [1.0, 2.0], True))
    for other in (
        build((3, 2), [1.0, 2.0], True),
        build((None, 2), [1.0, 3.0], True),
        build((None, 2), [1.0, 2.0], False),
    ):
        assert not first.is_same(other) and not other.is_same(first)


def test_a_clone_for_tests_is_what_layers_do_in_evaluation() -> None:
    found = training("residual", batch="batch", dropout=0.5)
    test = found.main.clone(for_test=True)
    types = [op.type for op in test.block.ops]
    assert not {"batch_norm", "dropout", "sgd_step"}.intersection(types) and not test.assigned()
    exe, scope = static.Executor(), static.Scope()
    exe.run(found.startup, scope=scope)
    for _ in range(3):
        exe.run(found.main, found.feed, scope=scope)
    (loss,) = exe.run(test, found.feed, [found.loss], scope)
    network = models()["residual"].network
    network.eval()
    network.load_state_dict({key: np.array(scope.find_var(key)) for key in network.state_dict()})
    y = network(tl.tensor(found.feed["x"]))
    wanted = F.cross_entropy(y, tl.tensor(found.feed["target"])).item()
    np.testing.assert_allclose(loss, wanted, rtol=1e-6)


def test_a_clone_for_tests_keeps_what_is_computed_of_the_batch() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", (None, 2))
        y = tl.nn.Linear(2, 1, seed=0)(x)
        loss = F.mean(y * y)
        tl.optim.Adam().minimize(loss)
        accuracy = F.mean(F.astype(y > 0, "float32"))
    test = main.clone(for_test=True)
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    before = {name: np.array(scope.find_var(name)) for name in scope.names()}
    feed = {"x": np.array([[1.0, 2.0], [3.0, -4.0]], "f")}
    found = exe.run(test, feed, [loss, accuracy, y], scope)
    wanted = exe.run(main.prune([loss, accuracy, y]), feed, [loss, accuracy, y], scope)
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))
    assert all(np.array_equal(before[key], np.array(scope.find_var(key))) for key in before)
    assert "adam_step" not in [op.type for op in test.block.ops]


def test_alpha_dropout_is_left_as_it_was_built() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        tl.nn.AlphaDropout(0.5)(static.data("x", (None, 2)))
    assert "dropout" in [op.type for op in main.clone(for_test=True).block.ops]


def test_gradients_are_found_by_the_names_of_their_parameters() -> None:
    found = training("mlp")
    for program in (found.main, found.main.clone()):
        assert program.block.has_var("first.weight@GRAD")


@pytest.mark.parametrize("how", [pickle.dumps, copy.copy, copy.deepcopy])
def test_programs_and_scopes_say_what_copies_and_keeps_them(how: Any) -> None:
    with static.program_guard(static.Program()) as program:
        x = static.data("x", (None,))
    listing = tl.Listing()
    for given, said in (
        (
            program,
            r"got a Program; program\.clone\(\) copies it, and static\.save and static\.load",
        ),
        (static.CompiledProgram(program), r"program\.clone\(\) copies it"),
        (x, r"program\.clone\(\) copies it"),
        (listing, r"got a Listing; to_bytes\(results\) and from_bytes keep it"),
        (static.Scope(), r"got a Scope; set what find_var gives for its names\(\)"),
    ):
        if how is copy.copy and isinstance(given, static.CompiledProgram):
            continue  # which shares the program
        with pytest.raises(tl.ParameterError, match=said) as caught:
            how(given)
        assert isinstance(caught.value, TypeError)  # as of what pickles know to have no form

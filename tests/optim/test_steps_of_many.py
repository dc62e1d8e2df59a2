"""A step of many parameters is that of each alone, bit for bit, whatever the tensors are like."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C, Parameter, Tensor
from tensorlike.imperative import replace

# Of each op: how many tensors are replaced, and the numbers behind the tensors.
OPS: dict[str, tuple[int, list[Any]]] = {
    "sgd_step": (1, [0.1]),
    "momentum_step": (2, [0.1, 0.9]),
    "adam_step": (3, [0.01, 0.9, 0.999, 0.1, 0.001, 1e-8, 10.0, 1000]),
    "adamw_step": (3, [0.01, 0.9, 0.999, 0.1, 0.001, 1e-8, 10.0, 1000, 0.3]),
}
SHAPES = [(), (1,), (3,), (0, 2), (5, 7), (17, 31), (512,), (513,), (4, 1025), (150, 120)]
DTYPES = ["float32", "float32", "float32", "float64", "float16", "bfloat16"]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 3e38]

Set = list[Tensor]


def in_order(x: Tensor) -> Tensor:
    return tl.tensor(x)


def transposed(x: Tensor) -> Tensor:
    axes = tuple(reversed(range(x.ndim)))
    return F.permute_dims(tl.tensor(F.permute_dims(x, axes=axes) + 0), axes=axes)


def within(x: Tensor) -> Tensor:
    return F.concat([x.reshape(-1), x.reshape(-1)], axis=0)[x.size :].reshape(x.shape)


def reversed_(x: Tensor) -> Tensor:
    return tl.tensor(x.reshape(-1)[::-1])[::-1].reshape(x.shape)


LAYOUTS = [in_order, in_order, in_order, transposed, within, reversed_]


def sets_of(name: str, seed: int) -> list[Set]:
    """The same in every call: parameter, gradient and moments of each set."""
    choose, numbers = random.Random(seed), np.random.default_rng(seed)
    moments = OPS[name][0] - 1
    found: list[Set] = []
    for _ in range(12):
        shape, dtype = choose.choice(SHAPES), choose.choice(DTYPES)
        again = found[-1][0] if found and choose.random() < 0.15 else None
        if again is not None:
            shape, dtype = again.shape, again.dtype.name
        made: Set = []
        for _ in range(2 + moments):
            array = np.where(
                numbers.random(shape) < 0.02,
                numbers.choice(SPECIAL, shape),
                numbers.standard_normal(shape),
            )
            own = dtype if choose.random() < 0.9 else choose.choice(DTYPES)
            array = array if own == "float64" else array.astype(np.float32)
            made.append(choose.choice(LAYOUTS)(tl.tensor(array).astype(own)))
        shared = choose.random()
        if shared < 0.1:
            made[1] = made[0]
        elif shared < 0.2 and moments:
            made[2] = made[0]
        if again is not None:
            made[0] = again
        if choose.random() < 0.05:
            made[-1] = tl.tensor(np.ones(7, np.float32))  # few parameters are of its shape
        if choose.random() < 0.7 and not made[0].requires_grad:
            made[0].requires_grad = True
        found.append(made)
    return found


def together(name: str, sets: list[Set]) -> None:
    """One call for all."""
    columns = [list(column) for column in zip(*sets, strict=True)]
    targets = tuple(column for i, column in enumerate(columns) if i != 1)
    replace(targets, name, *columns, *OPS[name][1])


def one_by_one(name: str, sets: list[Set]) -> None:
    """A call for each."""
    for each in sets:
        replace((each[0], *each[2:]), name, *each, *OPS[name][1])


def seen(x: Tensor) -> tuple[Any, ...]:
    """All that can be told of it."""
    plain = x.detach()
    wide = plain.astype(tl.float64) if plain.dtype in (tl.bfloat16, tl.float16) else plain
    return plain.dtype, plain.shape, x.requires_grad, x.is_leaf, np.asarray(wide).tobytes()


def outcome(run: Callable[[str, list[Set]], None], name: str, sets: list[Set]) -> Any:
    """What a way leaves in all tensors, or before the set that it refuses."""
    error = ""
    try:
        run(name, sets)
    except (tl.TensorlikeError, ValueError, TypeError) as wrong:
        error = str(wrong)
    return error, [[seen(x) for x in each] for each in sets]


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("seed", range(20))
def test_a_call_for_many_is_as_calls_for_each(name: str, seed: int) -> None:
    wanted = outcome(one_by_one, name, sets_of(name, seed))
    assert outcome(together, name, sets_of(name, seed)) == wanted


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("seed", range(4))
def test_who_holds_an_old_value_does_not_see_the_new_one(name: str, seed: int) -> None:
    sets = sets_of(name, seed)
    held = [[(x.detach(), seen(x.detach())) for x in each] for each in sets]
    viewed = [(each[-1].reshape(-1)[::2], seen(each[-1].reshape(-1)[::2])) for each in sets]
    recorded = [(each[0] * each[0]) for each in sets if each[0].requires_grad]
    wanted = outcome(one_by_one, name, sets_of(name, seed))
    assert outcome(together, name, sets) == wanted
    for x, before in [*(pair for each in held for pair in each), *viewed]:
        assert seen(x) == before
    for y in recorded:
        y.sum().backward()  # of the value that it was computed from
    of_another = [each[0] * each[0] for each in sets_of(name, seed) if each[0].requires_grad]
    assert [seen(y)[-1] for y in recorded] == [seen(y)[-1] for y in of_another]


@pytest.mark.parametrize("mode", ["lazy", "async"])
@pytest.mark.parametrize("threshold", [1, 16384])
@pytest.mark.parametrize("name", OPS)
def test_modes_give_the_same(name: str, mode: str, threshold: int) -> None:
    def doubled(sets: list[Set]) -> list[Set]:
        """Gradients that may wait, as those of a backward pass do."""
        return [
            [x if i != 1 or each[0] is x else x + x for i, x in enumerate(each)] for each in sets
        ]

    wanted = outcome(one_by_one, name, doubled(sets_of(name, 3)))
    with tl.engine.mode(mode, threshold=threshold):
        found = outcome(together, name, doubled(sets_of(name, 3)))
    assert found == wanted


@pytest.fixture
def threads() -> Iterator[None]:
    before = tl.num_threads()
    yield
    tl.set_num_threads(before)


@pytest.mark.parametrize("name", OPS)
def test_threads_do_not_show(name: str, threads: None) -> None:
    found = []
    for count in (1, 2, 5):
        tl.set_num_threads(count)
        found.append(outcome(together, name, sets_of(name, 5)))
    assert found[0] == found[1] == found[2]


def test_a_rule_sees_each_set() -> None:
    modes: list[str] = []

    def apply_noted(op: tl.ops.Elemwise, *xs: tl.RawTensor) -> Any:
        modes.append(op.mode)
        return tl.apply.super(op, *xs)

    sets = [[Parameter([1.0]), Tensor([1.0])] for _ in range(3)]
    tl.apply.register(apply_noted)
    try:
        together("sgd_step", sets)
    finally:
        tl.apply.unregister(apply_noted)
    assert modes == ["sgd_step"] * 3
    together("sgd_step", sets)
    assert modes == ["sgd_step"] * 3
    assert sets[0][0].item() == pytest.approx(0.8)


def test_a_block_takes_back_what_many_were_replaced_by() -> None:
    sets = [[Parameter([1.0]), Tensor([1.0])] for _ in range(3)]
    with _C.Journal():
        together("sgd_step", sets)
        assert [each[0].item() for each in sets] == pytest.approx([0.9] * 3)
    assert [each[0].item() for each in sets] == [1.0] * 3


def test_a_profiler_sees_each_set() -> None:
    sets = [[Parameter([1.0]), Tensor([1.0])] for _ in range(3)]
    with tl.profile() as profile:
        together("sgd_step", sets)
    assert [event.name for event in profile.events] == ["sgd_step"] * 3


def test_a_tensor_among_the_numbers_is_read_anew_for_each_set() -> None:
    rate = Parameter([0.5]).sum().detach()
    replace(([rate, rate],), "sgd_step", [rate, rate], [Tensor(1.0), Tensor(1.0)], rate)
    assert rate.item() == 0.0


@pytest.mark.parametrize(
    ("targets", "xs", "message"),
    [
        (([Parameter([1.0])],), ([1.0, 2.0], Tensor([1.0]), 0.1), "lists of one length"),
        (([Parameter([1.0])],), (Tensor([1.0]), Tensor([1.0]), 0.1), "lists of one length"),
        (([1.0],), ([1.0], Tensor([1.0]), 0.1), "targets must be Tensors"),
        (([], []), ([], [], 0.1), "one target for each result"),
    ],
)
def test_what_are_no_sets_is_refused(targets: Any, xs: Any, message: str) -> None:
    with pytest.raises(tl.ParameterError, match=message):
        replace(targets, "sgd_step", *xs)


def test_no_set_is_nothing_to_do() -> None:
    replace(([],), "sgd_step", [], [], 0.1)


@pytest.mark.parametrize("make", [tl.optim.SGD, tl.optim.Adam])
def test_parameters_without_a_gradient_are_left_out(make: Any) -> None:
    """Some of many, in turns: each is as if it had been alone."""
    many = [Parameter(np.arange(5.0)) for _ in range(6)]
    optimizer = make(many, lr=0.1)
    alone = [Parameter(np.arange(5.0)) for _ in range(6)]
    each = [make([p], lr=0.1) for p in alone]
    for step in range(1, 7):
        for i, (p, q) in enumerate(zip(many, alone, strict=True)):
            p.grad = None if i % step else Tensor(np.full(5, 0.5 * i + 1))
            if p.grad is not None:
                q.grad = p.grad
                each[i].step()
        optimizer.step()
        assert [p.tolist() for p in many] == [q.tolist() for q in alone]

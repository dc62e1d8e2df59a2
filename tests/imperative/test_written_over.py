"""Launches that repeat, over memory that is given to them: values as in new memory, whoever holds
what, and no new memory where nobody else does."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional


def set_number(x: Any, v: Any) -> None:
    x[0] = 3.5


def set_part(x: Any, v: Any) -> None:
    x[1:3] = v[1:3]


def set_whole(x: Any, v: Any) -> None:
    x[:] = v


def set_own_part(x: Any, v: Any) -> None:
    x[1:] = x[:-1]


def turn_around(x: Any, v: Any) -> None:
    x[::-1] = x


def add_to_part(x: Any, v: Any) -> None:
    x[1:3] += v[1:3]


def set_rows(x: Any, v: Any) -> None:
    x[[0, 2]] = v[[2, 0]]


def set_where(x: Any, v: Any) -> None:
    x[x > 0] = 0


def add_number(x: Any, v: Any) -> None:
    x += 1


def multiply(x: Any, v: Any) -> None:
    x *= v


def add_itself(x: Any, v: Any) -> None:
    x += x


WAYS: list[Callable[[Any, Any], None]] = [
    set_number, set_part, set_whole, set_own_part, turn_around, add_to_part, set_rows,
    set_where, add_number, multiply, add_itself,
]  # fmt: skip
READ_WHAT_THEY_WRITE = [set_own_part, turn_around, add_itself]
SHAPES = [(4,), (4, 3), (4, 1), (4, 2, 5), (4, 700)]


def drawn(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Any:
    return np.random.default_rng(rng.randrange(99)).integers(-3, 4, shape).astype(dtype)


def address(x: Any) -> int:
    return int(np.asarray(x.detach()).__array_interface__["data"][0])


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "nobody": lambda x: None,
    "another tensor": lambda x: x.detach(),
    "a view": lambda x: x[1:],
    "the raw tensor": tl.as_raw_tensor,
    "an array": lambda x: np.asarray(x),
    "DLPack": np.from_dlpack,
    "a transposed view": lambda x: x.reshape(-1)[::-1],
    "a result that is the same value": F.positive,
}


def seen(held: Any) -> Any:
    return None if held is None else np.array(held)


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("way", WAYS)
def test_values_are_numpys_and_what_is_held_stays(
    way: Callable[[Any, Any], None], holder: str, mode: str
) -> None:
    rng = random.Random(f"{way.__name__} {holder}")
    with tl.engine.mode(mode, threshold=1):
        for _ in range(12):
            shape, dtype = rng.choice(SHAPES), rng.choice(["float32", "float64", "int64"])
            array, v = drawn(rng, shape, dtype), drawn(rng, shape, dtype)
            x, value = tl.tensor(array), tl.tensor(v)
            for _ in range(4):
                held = HOLDERS[holder](x)
                before = seen(held)
                way(x, value)
                way(array, v)
                if before is not None:
                    np.testing.assert_array_equal(np.array(held), before)
                np.testing.assert_array_equal(np.array(value), v)
                np.testing.assert_array_equal(x.numpy(), array)


@pytest.mark.parametrize("way", [way for way in WAYS if way not in READ_WHAT_THEY_WRITE])
def test_memory_that_nobody_else_holds_is_kept(way: Callable[[Any, Any], None]) -> None:
    rng = random.Random(1)
    for shape in SHAPES:
        x, v = tl.tensor(drawn(rng, shape, "float32")), tl.tensor(drawn(rng, shape, "float32"))
        before = address(x)
        for _ in range(6):
            way(x, v)
            assert address(x) == before


@pytest.mark.parametrize("way", WAYS)
def test_tapes_keep_what_they_have_recorded(way: Callable[[Any, Any], None]) -> None:
    array = np.linspace(-2, 2, 12, dtype=np.float32).reshape(4, 3)

    def loss(x: Any) -> Any:
        y = x * x
        total = (y * y).sum()
        for _ in range(3):
            way(y, x.detach())
            total = total + (y * x).sum()
        return total

    x = tl.tensor(array)
    wanted = tl.grad(loss)(tl.Tensor(x.detach().__wrapped__))
    for _ in range(3):
        leaf = tl.tensor(array, requires_grad=True)
        loss(leaf).backward()
        np.testing.assert_array_equal(np.asarray(leaf.grad), np.asarray(wanted))
    direction = tl.tensor(array[::-1].copy())
    slope = tl.jvp(loss, (x,), (direction,))[1].item()
    assert slope == pytest.approx((wanted * direction).sum().item(), rel=1e-4)


@pytest.mark.parametrize("width", [3, 30000])
@pytest.mark.parametrize("way", [way for way in WAYS if way is not set_where])
def test_traced_functions_and_batches_assign_as_others_do(
    way: Callable[[Any, Any], None], width: int
) -> None:
    def step(x: Any, v: Any) -> Any:
        y = x + 0.0
        way(y, v)
        z = y * 2.0
        way(z, v)
        return z

    rng = random.Random(5)
    x, v = (tl.tensor(drawn(rng, (2, 4, width), "float32")) for _ in range(2))
    wanted = [step(x[i], v[i]).tolist() for i in range(2)]
    assert tl.vmap(step)(x, v).tolist() == wanted
    traced = tl.jit.to_static(step)
    for _ in range(3):
        assert [traced(x[i], v[i]).tolist() for i in range(2)] == wanted


def test_a_captured_tensor_keeps_its_value_in_a_program() -> None:
    x = tl.tensor([1.0, 2.0, 3.0])
    read = tl.jit.to_static(lambda y: y + x)
    for number in (5.0, 6.0, 7.0, 8.0):
        wanted = [1.0 + number, 3.0, 4.0]
        x[0] = number
        assert read(tl.ones(3)).tolist() == wanted


def test_a_leaf_that_is_assigned_to_under_no_grad_has_its_place_and_memory() -> None:
    x = tl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    before = address(x)
    for number in range(5):
        with tl.no_grad():
            x[1] = float(number)
            x += 1.0
        (x * x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), 2 * x.detach().numpy())
        x.grad = None
    assert address(x) == before


def test_what_is_computed_again_meets_the_same_values() -> None:
    def loss(x: Any) -> Any:
        y = x * 2.0
        for _ in range(3):
            y[0] = 7.0
            y += 1.0
        return (y * y).sum()

    x = tl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    tl.checkpoint(loss)(x).backward()
    by_checkpoint, x.grad = x.grad, None
    loss(x).backward()
    assert by_checkpoint.tolist() == x.grad.tolist()

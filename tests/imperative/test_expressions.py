"""Operators of one expression run as one program; what that means for who looks on."""

from __future__ import annotations

import operator
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from support.engine import normal, nothing_was_fused

import tensorlike as tl
from tensorlike import _C
from tensorlike import functional as F

__all__ = ["nothing_was_fused"]  # around each test

OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "<": operator.lt,
    "%": operator.mod,
}


def programs() -> list[list[str]]:
    return [program["ops"] for program in _C.fused_programs()]


def test_an_expression_writes_its_last_result_alone() -> None:
    x, scale, shift = normal(4, 16, 1000), normal(16, 1, seed=1), normal(16, 1, seed=2)
    y = x * scale + shift
    (program,) = _C.fused_programs()
    assert program["ops"] == ["multiply", "add"]
    assert program["outputs"] == 1
    product = x * scale
    np.testing.assert_array_equal(np.asarray(y), np.asarray(product + shift))


def test_a_line_that_ends_has_run() -> None:
    x = normal(50000)
    y = x * 2
    assert _C.waiting_ops() == []
    z = -(y - 1) / y
    assert programs() == [["subtract", "negative", "divide"]]
    assert np.isfinite(np.asarray(z)).all()


def test_attributes_items_and_branches_of_an_expression_are_part_of_it() -> None:
    class Layer:
        scale = normal(50000, seed=1)
        shifts = (normal(50000, seed=2),)

    x, layer = normal(50000), Layer()
    y = x * layer.scale + layer.shifts[0] * x - 1
    assert programs() == [["multiply", "multiply", "add", "subtract"]]
    one, other = x * layer.scale, layer.shifts[0] * x
    whole = one + other
    np.testing.assert_array_equal(np.asarray(y), np.asarray(whole - 1))


def test_small_tensors_and_unknown_calls_in_between_do_not_wait() -> None:
    x, y = normal(100), normal(50000)
    _ = x * 2 + 1
    _ = y * 2 + abs(len(y.shape))
    assert programs() == []


def test_an_augmented_assignment_ends_an_expression_in_its_memory() -> None:
    p, gradient = normal(50000), normal(50000, seed=1)
    wanted = np.asarray(p) - np.float32(0.1) * np.asarray(gradient)
    place, kept = p.numpy().ctypes.data, p.detach()
    p -= 0.1 * gradient
    np.testing.assert_array_equal(np.asarray(p), wanted)
    assert programs() == [["multiply", "subtract"]]
    assert p.numpy().ctypes.data != place  # whoever holds the old value keeps it
    np.testing.assert_array_equal(np.asarray(kept), np.asarray(normal(50000)))
    place = p.numpy().ctypes.data
    p -= 0.1 * gradient
    assert p.numpy().ctypes.data == place
    p -= 0.5 * p
    (*_, program) = _C.fused_programs()
    assert (program["ops"], program["reused"]) == (["multiply", "subtract"], 0)


class Keeper:
    """Takes what stands on its left."""

    def __init__(self) -> None:
        self.kept: Any = None

    def __radd__(self, other: Any) -> Keeper:
        self.kept = other
        return self


def test_what_somebody_keeps_after_all_has_its_elements() -> None:
    x, keeper = normal(50000), Keeper()
    x * 2 + keeper
    (waiting,) = _C.waiting_ops()
    assert waiting.startswith("multiply")
    wanted = np.asarray(x) * 2
    x += 1
    np.testing.assert_array_equal(np.asarray(keeper.kept), wanted)


def test_operands_that_numpy_holds_survive_their_sum() -> None:
    x = normal(50000)
    objects = np.empty(1, object)
    objects[0] = F.exp(x)
    doubled = objects * 2
    total = objects * 2 + doubled - doubled
    np.testing.assert_array_equal(np.asarray(objects[0]), np.asarray(F.exp(x)))
    np.testing.assert_array_equal(np.asarray(doubled[0]), np.asarray(F.exp(x)) * 2)
    np.testing.assert_array_equal(np.asarray(total[0]), np.asarray(F.exp(x)) * 2)


def test_memory_of_others_is_read_before_they_change_it() -> None:
    theirs = np.ones(50000, np.float32)
    x, keeper = tl.from_dlpack(theirs), Keeper()
    x * 2 + keeper
    theirs[:] = 5
    assert np.asarray(keeper.kept).max() == 2


def test_gradients_of_an_expression_are_those_of_its_lines() -> None:
    def by_lines(x: Any, y: Any) -> Any:
        a = x * y
        b = a * a
        c = b + x
        return c / y

    found = []
    for f in (by_lines, lambda x, y: (x * y * (x * y) + x) / y):
        x, y = normal(300, 200), normal(300, 200, seed=1)
        x.requires_grad = y.requires_grad = True
        z = f(x, y)
        F.sum(z).backward()
        found.append([np.asarray(v) for v in (z.detach(), x.grad)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_an_error_in_an_expression_is_told_and_leaves_nothing() -> None:
    x = normal(200, 300)
    with pytest.raises(tl.ShapeError, match="add"):
        x * 2 + normal(7)
    with pytest.raises(TypeError):
        x * 2 + "3"


class Taker(Keeper):
    """Takes what it is assigned."""

    def __isub__(self, other: Any) -> Taker:
        self.kept = other
        return self


def test_what_an_augmented_assignment_keeps_has_its_elements() -> None:
    x, taker = normal(50000), Taker()
    wanted = np.asarray(x) * 2
    taker -= x * 2
    x += 1
    np.testing.assert_array_equal(np.asarray(taker.kept), wanted)


def test_augmented_assignments_within_a_recording_have_the_gradients_of_lines() -> None:
    found = []
    for is_whole in (True, False):
        x, y = normal(300, 200), normal(300, 200, seed=1)
        x.requires_grad = True
        z = x * y
        if is_whole:
            z -= 0.1 * x
        else:
            part = 0.1 * x
            z -= part
        (z * z).sum().backward()
        with tl.no_grad():
            x -= 0.1 * x.grad
        assert x.is_leaf
        found.append([np.asarray(v) for v in (z.detach(), x.grad, x.detach())])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def operands(random: Random) -> dict[str, Any]:
    rows, columns = random.choice(((200, 300), (40000, 1), (1, 50000), (331, 101), (0, 5)))
    whole = normal(rows, columns)
    return {
        "a": whole,
        "b": normal(columns, rows, seed=1).T,
        "c": F.flip(normal(rows, columns, seed=2), axis=1),
        "d": normal(columns, seed=3),
        "e": normal(rows, 1, seed=4),
        "f": F.round(whole * 5).astype("int32"),
        "g": whole.astype("float64"),
        "h": normal(rows, 2 * columns, seed=5)[:, ::2],
        "i": whole.astype("float16"),
        "j": 3,
        "k": 0.5,
    }


def expression(random: Random, depth: int) -> Any:
    """A name, or (operator, part, part)."""
    if depth == 0 or random.random() < 0.15:
        return random.choice("abcdefghijk")
    return random.choice("+-*/<%"), expression(random, depth - 1), expression(random, depth - 1)


def text_of(tree: Any) -> str:
    return tree if isinstance(tree, str) else f"({text_of(tree[1])} {tree[0]} {text_of(tree[2])})"


def value_of(tree: Any, names: dict[str, Any]) -> Any:
    """Operator by operator, each by a call."""
    if isinstance(tree, str):
        return names[tree]
    return OPERATORS[tree[0]](value_of(tree[1], names), value_of(tree[2], names))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_expressions_have_the_bits_of_their_operators(seed: int) -> None:
    random = Random(seed)
    names = operands(random)
    tree = ("+", "a", expression(random, 3))
    source = text_of(tree)
    one_by_one = value_of(tree, names)
    scope: dict[str, Any] = {}
    exec(f"def f({', '.join(names)}): return {source}", scope)
    before = tl.num_threads()
    try:
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            for got in (eval(source, dict(names)), scope["f"](**names)):
                assert got.dtype == one_by_one.dtype, source
                np.testing.assert_array_equal(np.asarray(got), np.asarray(one_by_one), source)
    finally:
        tl.set_num_threads(before)


AUGMENTED = {"+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv}


def augmented(names: dict[str, Any], sign: str, source: str, tree: Any) -> list[Any]:
    """What is bound, by one line and by operators alone: the elements, or the error."""
    found: list[Any] = []
    for is_line in (True, False):
        scope = {**names, "p": normal(*names["a"].shape, seed=9), "a": names["a"].copy()}
        other = scope["p"].detach() if is_line else None
        before = None if other is None else np.asarray(other).copy()
        try:
            if is_line:
                exec(f"p {sign} {source}", scope)
            else:
                scope["p"] = AUGMENTED[sign](scope["p"], value_of(tree, {**scope}))
            found.append(np.asarray(scope["p"]))
        except (tl.TensorlikeError, TypeError) as error:
            found.append(type(error))
        if other is not None:
            np.testing.assert_array_equal(np.asarray(other), before)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_augmented_assignments_have_the_bits_of_their_operators(seed: int) -> None:
    random = Random(seed)
    names = operands(random)
    sign, tree = random.choice(list(AUGMENTED)), expression(random, 2)
    line, by_operators = augmented(names, sign, text_of(tree), tree)
    if isinstance(line, type):
        assert line is by_operators
    else:
        np.testing.assert_array_equal(line, by_operators)

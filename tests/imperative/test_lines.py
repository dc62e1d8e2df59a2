"""Lines that follow each other run as one program, as long as nothing but ops is applied."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from support.engine import normal, nothing_was_fused
from support.long_runs import seeds

import tensorlike as tl
from tensorlike import _C
from tensorlike import functional as F

__all__ = ["nothing_was_fused"]  # around each test

SCALE = normal(16, 1, seed=1)


def programs() -> list[tuple[list[str], int]]:
    return [(program["ops"], program["outputs"]) for program in _C.fused_programs()]


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


def keep(x: Any) -> Any:
    """What it is given; what comes before a call that nobody knows has run."""
    return x


def two_lines(x: Any) -> Any:
    product = x * SCALE
    return product + 1


def test_what_a_name_holds_that_nobody_reads_again_is_not_written() -> None:
    x = normal(16, 3000)

    def by_names(x: Any) -> Any:
        a = x * SCALE
        b = F.exp(a)
        c = (b - a).tanh()
        return c / 2

    y = by_names(x)
    assert programs() == [(["multiply", "exp", "subtract", "tanh", "divide"], 1)]
    a = keep(x * SCALE)
    same(y, keep(keep(keep(F.exp(a)) - a).tanh()) / 2)


def test_a_name_that_is_bound_again_is_done_with() -> None:
    h = normal(50000)
    h = h * 2
    h = h + 1
    h = F.sqrt(F.abs(h))
    assert programs() == [(["multiply", "add", "abs", "sqrt"], 1)]
    same(h, F.sqrt(F.abs(keep(keep(normal(50000) * 2) + 1))))


def test_what_is_read_again_is_written_on_the_way() -> None:
    x = normal(50000)
    a = x * 2
    b = a + 1
    assert programs() == [(["multiply", "add"], 2)]
    same(a, keep(x * 2))
    same(b, keep(x * 2) + 1)


def test_a_result_that_is_returned_goes_on_in_the_callers_lines() -> None:
    x = normal(16, 3000)
    y = two_lines(x)
    z = y - x
    assert programs() == [(["multiply", "add", "subtract"], 2)]
    same(y, two_lines(x))
    same(z, two_lines(x) - x)


class Store:
    kept: Any


def test_what_is_not_known_finds_everything_done() -> None:
    x, waiting = normal(50000), []

    def look() -> None:
        waiting.extend(_C.waiting_ops())

    def f(store: Store, is_so: bool) -> Any:
        a = x * 2
        look()
        b = a + 1
        if is_so:
            look()
        for _ in range(2):
            b = b + 1
            look()
        store.kept = b * 2
        look()
        c = b - 1
        inner = [c]
        look()
        return inner

    f(Store(), True)
    assert waiting == []


def test_names_that_were_left_have_their_elements_after_all() -> None:
    def f(x: Any) -> dict[str, Any]:
        a = x * 2
        b = a + 1
        c = b.sum()
        return dict(locals())

    x = normal(50000)
    names = f(x)
    assert _C.waiting_ops() != []
    x += 1
    same(names["a"], normal(50000) * 2)
    same(names["b"], keep(normal(50000) * 2) + 1)
    same(names["c"], F.sum(keep(keep(normal(50000) * 2) + 1)))
    names.clear()


def test_a_loss_and_its_gradients_are_one_program() -> None:
    x, y = normal(50000), normal(50000, seed=1)
    x.requires_grad = True
    difference = x - y
    loss = (difference * difference).sum()
    loss.backward()
    assert all(ops.count("subtract") <= 1 for ops, _ in programs())
    wanted = keep(x.detach() - y)
    same(loss.detach(), F.sum(keep(wanted * wanted)))
    same(x.grad, keep(2 * wanted))
    del difference


def test_a_loss_that_nobody_reads_is_not_calculated() -> None:
    x = normal(50000)
    slope = tl.grad(lambda x: F.sum(x * 3))(x)
    assert not any("sum" in ops for ops, _ in programs())
    same(slope, np.full(50000, 3, np.float32))
    value, slope = tl.value_and_grad(lambda x: F.sum(x * 3))(x)
    same(value, F.sum(keep(x * 3)))


def test_errors_come_on_their_own_line_and_leave_what_was_before() -> None:
    x = normal(50000)
    a = None
    with pytest.raises(tl.ShapeError, match="add"):
        a = x * 2
        a + normal(7)
    same(a, x * 2)


class Lines:
    """A random function, as source text; `wrap` stands around every op."""

    CALLS = (
        "F.exp({})",
        "F.tanh({})",
        "({}).sin()",
        "F.where({} > 0, {}, {})",
        "F.clip({}, -1, 1)",
    )
    SUMS = (
        "F.sum({}, axis=-1, keepdims=True)",
        "({}).mean(axis=0)",
        "F.max({}, axis=1, keepdims=True)",
    )

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.names = ["x", "y", "row", "column", "double"]
        self.body: list[str] = []
        for _ in range(self.random.randint(2, 9)):
            self.statement("    ")

    def expression(self, depth: int) -> str:
        """An op over names; `~` marks where one begins, to be wrapped or not."""
        choice = self.random.random()
        if depth == 0 or choice < 0.2:
            return self.random.choice([*self.names, *self.names, "0.5", "2"])
        parts = [self.expression(depth - 1) for _ in range(3)]
        if all(part in ("0.5", "2") for part in parts[:2]):
            parts[0] = "x"
        if choice < 0.45:
            call = self.random.choice(self.CALLS)
            parts = [part if part not in ("0.5", "2") else "y" for part in parts]
            return f"~({call.format(*parts)})"
        if choice < 0.5:
            return f"~(helper({parts[0] if parts[0] not in ('0.5', '2') else 'x'}))"
        if choice < 0.57:
            return f"~({self.random.choice(self.SUMS).format('~(x + ' + parts[0] + ')')})"
        return f"~({parts[0]} {self.random.choice('+-*/')} {parts[1]})"

    def statement(self, indent: str) -> None:
        choice, name = self.random.random(), self.random.choice("abcdh")
        body = self.body
        if choice < 0.6 or name not in self.names:
            body.append(f"{indent}{name} = ~(x * {self.expression(2)})")
            if name not in self.names and indent == "    ":
                self.names.append(name)
        elif choice < 0.7:
            body.append(f"{indent}{name} {self.random.choice('+-*')}= {self.expression(1)}")
        elif choice < 0.78:
            body.append(f"{indent}seen({name})")
        elif choice < 0.84:
            body.append(f"{indent}inner = lambda: {name}")
        elif choice < 0.92 and indent == "    ":
            body.append(f"{indent}{self.random.choice(['if flag:', 'for _ in range(2):'])}")
            self.statement(indent + "    ")
        else:
            body.append(f"{indent}{name} = {self.random.choice(self.names)}")

    def source(self, wrap: str) -> str:
        marked = "\n".join(self.body)
        end = "    total = ~(~(x * x) + ~({}))\n".format(" + ".join(self.names))
        end += "    loss = ~(F.mean(total))\n    loss.backward()\n" if "grad" in wrap else ""
        text = (
            f"def f(x, y, row, column, double, flag):\n{marked}\n{end}    return dict(locals())\n"
        )
        return text.replace("~", wrap.removeprefix("grad "))


def test_lines_have_the_bits_of_their_ops() -> None:
    for seed in range(40):
        check_lines(seed)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_many_lines_have_the_bits_of_their_ops() -> None:
    for seed in seeds(60):
        check_lines(seed)


def run(source: str, is_recorded: bool, flag: bool) -> dict[str, Any]:
    """The names in the end, their elements, what was seen on the way, and the gradients."""
    seen: list[Any] = []
    shape = (200, 200)
    x, y = normal(*shape), normal(*shape, seed=1).T
    row, column = normal(200, seed=2), normal(200, 1, seed=3)
    x.requires_grad = row.requires_grad = is_recorded

    def helper(z: Any) -> Any:
        part = z * 0.5
        return part - z

    def show(z: Any) -> None:
        seen.append(np.array(z.detach()))

    scope: dict[str, Any] = {"F": F, "keep": keep, "helper": helper, "seen": show}
    exec(source, scope)
    f: Callable[..., dict[str, Any]] = scope["f"]
    names: dict[str, Any] = {}
    error = ""
    try:
        names = f(x, y, row, column, normal(*shape, seed=4).astype("float64"), flag)
    except tl.ShapeError as raised:
        error = str(raised)
    found: dict[str, Any] = {
        name: np.array(value.detach())
        for name, value in names.items()
        if isinstance(value, tl.Tensor) and name != "_"
    }
    for name, leaf in (("grad x", x), ("grad row", row)):
        found[name] = None if leaf.grad is None else np.array(leaf.grad)
    return {"error": error, **found, **{f"seen {i}": value for i, value in enumerate(seen)}}


def check_lines(seed: int) -> None:
    lines, random = Lines(seed), Random(seed)
    is_recorded, flag = random.random() < 0.6, random.random() < 0.5
    prefix = "grad " if is_recorded else ""
    with np.errstate(all="ignore"):
        found = run(lines.source(prefix), is_recorded, flag)
        wanted = run(lines.source(prefix + "keep"), is_recorded, flag)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(
            found[name], value, f"seed {seed}, {name}:\n{lines.source(prefix)}"
        )

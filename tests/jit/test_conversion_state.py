"""What loops and branches change: objects, lists, dicts and tensors in place."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.jit import ConversionError, to_static

from .test_conversion_meaning import X, same


class Pair(NamedTuple):
    """A value with names."""

    first: Any
    second: Any


def test_lists_dicts_and_objects_are_carried_along() -> None:
    class Holder:
        def __init__(self, x: Any) -> None:
            self.x = x
            self.steps = 0

    def step(holder: Any, d: dict[str, Any]) -> None:
        holder.x = holder.x + 1
        holder.steps += 1
        d["last"] = holder.x * 2

    def f(x: Any) -> Any:
        holder, d, state = Holder(x), {"last": x, "name": 3}, [x, 0, "text"]
        while holder.x.sum() < 9 and state[1] < 20:
            step(holder, d)
            state[0] = state[0] * 0.5
            state[1] += 1
            local = []
            local.append(state[0])
        return holder.x, holder.steps, d["last"], d["name"], state

    same(f, *X)


def test_named_tuples_keep_their_kind() -> None:
    def f(x: Any) -> Any:
        pair = Pair(x, 1)
        if x.sum() > 0:
            pair = Pair(x * 2, 2)
        while pair.first.sum() < 20 and pair.second < 5:
            pair = Pair(pair.first + 1, pair.second + 1)
        return pair.first, pair.second

    same(f, *X)


def test_tensors_in_place_in_loops() -> None:
    def f(x: Any) -> Any:
        total = x * 0
        alias = total
        for _ in range(3):
            total += x
            if total.sum() > 5:
                break
        k = x[0] * 0
        while k < 3:
            k += 1
            total[0] = total[0] + k
            if total[0] > 100:
                continue
            total -= 0.5
        return total, alias, k

    same(f, *X)


def test_arguments_that_are_changed_in_place_are_changed() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            x += 1
        while x.sum() < -1:
            x += 0.5
        return x * 1

    converted = to_static(f)
    for values in ([1.0, 2.0], [-1.0, -2.0]):
        for _ in range(2):
            mine, other = tl.tensor(values), tl.tensor(values)
            assert converted(mine).tolist() == f(other).tolist()
            assert mine.tolist() == other.tolist()


def test_buffers_of_layers_change_only_where_the_branch_is_taken() -> None:
    class Counting(tl.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.norm = tl.nn.BatchNorm1d(2)
            self.hits = tl.nn.Buffer(0.0)

        def forward(self, x: Any) -> Any:
            if x.mean() > 0:
                x = self.norm(x)
                self.hits += 1
            return x

    eager, converted = Counting(), to_static(Counting())
    for scale in (1.0, -1.0, 3.0, -2.0):
        x = tl.tensor([[1.0, 2.0], [3.0, 5.0]]) * scale
        np.testing.assert_allclose(converted(x).value(), eager(x).value(), rtol=1e-5)
        assert converted.hits.item() == eager.hits.item()
        for (_, one), (_, other) in zip(
            converted.named_buffers(), eager.named_buffers(), strict=True
        ):
            assert one.tolist() == pytest.approx(other.tolist(), rel=1e-5)


def test_an_alias_that_only_the_first_step_changes_is_refused() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        z = y
        k = x[0] * 0
        while k < 3:
            z += 1
            z = z * 2
            k = k + 1
        return y, z

    with pytest.raises(ConversionError, match="must have one name in a loop"):
        to_static(f)(tl.tensor([1.0, 2.0]))


def test_a_tensor_that_may_have_another_name_is_not_changed_in_place() -> None:
    def branch(x: Any) -> Any:
        y = x * 1
        z = y
        if x.sum() > 0:
            z = z * 2
        z += 1
        return y, z

    def loop(x: Any) -> Any:
        y = x * 1
        z = y
        while z.sum() < 9:
            z = z + 5
        z[0] = 1.0
        return y, z

    for function in (branch, loop):
        with pytest.raises(ConversionError, match="may, or may not, be one from before"):
            to_static(function)(tl.tensor([1.0, 2.0]))


def test_a_tensor_without_another_name_is_changed_in_place() -> None:
    def f(x: Any) -> Any:
        z = x * 1
        if x.sum() > 0:
            z = z * 2
        z += 1
        while z.sum() < 9:
            z = z + 5
        z[0] = 1.0
        return z

    same(f, *X)


def test_a_dataclass_that_stays_is_pythons() -> None:
    @dataclass
    class Options:
        scale: float

    def f(x: Any) -> Any:
        options = Options(2.0)
        if x.sum() > 0:
            options.scale = 3.0
        return x * options.scale

    same(f, *X)


def test_numbers_that_a_tensor_decides_about_become_tensors() -> None:
    @to_static
    def f(x: Any) -> Any:
        count, share, flag, name = 0, 0.5, False, "stays"
        if x.sum() > 0:
            count, share, flag = 3, 1, True
        return count, share, flag, name

    for x, wanted in ((tl.tensor([1.0]), [3, 1.0, True]), (tl.tensor([-1.0]), [0, 0.5, False])):
        *numbers, name = f(x)
        assert [y.item() for y in numbers] == wanted
        assert [y.dtype for y in numbers] == [tl.int64, tl.float32, tl.bool]
        assert name == "stays"


MADE = {
    "from an array": lambda x: tl.tensor(0.0),
    "by ops on arrays alone": lambda x: tl.tensor(0.0) + 0,
    "of sizes": lambda x: tl.zeros(()),
    "of the argument": lambda x: x.sum() * 0,
    "in a list": lambda x: [tl.tensor(0.0)][0],
}
CHANGED = """
if y.sum() < 9: i += 1
if y.sum() < 9: i += 1|else: i -= 2
while i < 5: i += 1
while i < 5:|    if y.sum() > 40: break|    y = y * 2|    i += 1
while i < 5:|    i += 1|    y = y * 2|    if y.sum() > 40: continue|    i += 1
for row in x:|    if row > 0: i += row|    else: i -= 1
while i < 5:|    i += 1|    while y.sum() < 20:|        y = y * 2 + 1|        i += 1
if y.sum() < 9:|    if i < 5: i += 1|    i[...] = i * 2
while i < 5:|    i = i + 1
while i < 5 and not y.sum() > 40:|    y = y * 2|    i = i + 1
"""


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("changed", [line for line in CHANGED.split("\n") if line])
def test_tensors_that_were_made_inside_may_be_changed_in_place(made: str, changed: str) -> None:
    namespace: dict[str, Any] = {"make": MADE[made]}
    body = [line for line in changed.split("|") if line]
    lines = ["def f(x):", "    i, y = make(x), x * x", "    other = i"]
    lines += [f"    {line}" for line in body] + ["    return i, other, y"]
    text = "\n".join(lines)
    filename = f"<{made}: {changed}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), namespace)
    same(namespace["f"], *X)

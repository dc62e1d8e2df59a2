"""Numbers of Python that tensors decide about stay numbers: no other name sees them change."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.jit import to_static

INPUTS = (0.3, 2.0, -2.0, 7.0)

# Each gives c, and what other names have: `|` begins a line.
NUMBERS = """
c = 0|if x > 0: c = 1|d = c|c += 1
c = 0|for i in range(3):|    if x < i: break|    c += 1|d = c|c += 1
c = d = 0|for i in range(3):|    if x < i: break|    d = c|    c += 1
c = int(x)|d = c|c += 1
c = float(x)|d = c|c *= 2
c = bool(x > 1)|d = c|c += 2
c = 0|d = 0|while c < x:|    d = c|    c += 1|    x = x - d * 0.1
c = 1.0 if x > 0 else 2.0|d = c|c *= 3
c = 0|if x > 0: c = 1|c = c * 2 + 1|d = [c]|c += 1|d.append(c)|c //= 2
o = {'n': 0}|if x > 0: o['n'] += 1|d = o['n']|o['n'] += 5|c = o['n']
o = [1.5, 0]|if x > 0: o[1] -= 1|d = o[1]|o[1] -= 1|c = o[1]
c = 0|d = 0|for i in range(3):|    if x > i:|        d = c|        c += 1|        x = x - d * 0.1
d = 0|c = 0|for i in range(int(x)):|    c = i|    i += 1|    d = d + c
c = 2|if x > 0: c = -2|d = -c|e = d|d -= 1|c = e
c = 2|if x > 0: c = 3|d = c|c **= 2|c -= d
c = 2|if x > 0: c = 3|if x > 1:|    d = c|    c += 1|else: d = 9
""".strip().split("\n")  # fmt: skip

# Functions inside set what is around them: the branch that calls them may not be taken.
OUTER = {
    "nonlocal": "c = 0|def up(t):|    nonlocal c|    c += 1|    return t|if x > 1: x = up(x)",
    "in a loop": """c = 0|def up(t):|    nonlocal c|    c += 1|    return t * 0.9
for i in range(4):|    if not i < x: break|    x = up(x)""",
    "made there": """c = 0|for i in range(4):|    if not i < x: break|    for j in range(3):
        def up(t):|            nonlocal c|            c += 1|            if t > 0.5: return t
            return -t|        x = up(x * 0.9)""",
    "deeper": """c = 0|def up(t):|    def more(t):|        nonlocal c
        c += 2|        return t|    return more(t) + 1|if x > 1: x = up(x)|else: x = up(up(x))""",
    "a generator": """c = 0|def parts(t):|    nonlocal c|    for i in range(3):|        c += 1
        yield t * i|if x > 1:|    for t in parts(x): x = x + t""",
}  # fmt: skip


def function_of(text: str, result: str) -> Any:
    lines = ["def f(x):", *(f"    {line}" for line in text.replace("|", "\n").split("\n"))]
    text = "\n".join([*lines, f"    return {result}"])
    filename = f"<numbers {text}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace: dict[str, Any] = {"F": F, "tl": tl}
    exec(compile(text, filename, "exec"), namespace)
    return namespace["f"]


def same(function: Any) -> None:
    converted = to_static(function, opt_level=0)
    for x in INPUTS:
        found, wanted = converted(tl.tensor(x)), function(tl.tensor(x))
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5, err_msg=str(x))


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_changed_under_one_name(text: str) -> None:
    same(function_of(text, "c, d, x" if "d.append" not in text else "c, *d, x"))


@pytest.mark.parametrize("text", OUTER.values(), ids=OUTER)
def test_what_functions_inside_set_is_set_where_they_are_called(text: str) -> None:
    same(function_of(text, "x, c"))


def test_tensors_are_changed_under_all_names() -> None:
    same(function_of("s = F.sum(x * 1.0)|t = s|if x > 0: x = x * 2|s += 1|s *= x", "s, t, x"))


def test_lists_that_a_branch_grows_in_place_are_its_own() -> None:
    same(function_of("s = [x]|if x > 0: s += [x * 2]|else: s += [x * 3]", "s[-1], len(s)"))


CHOICES = [
    "max(t for t in v)", "min(v)", "max([x, v[0]])", "min(x, 3.0)", "max(3.0, x)",
    "max(x, x * 1.0)",
    "min(x, float('nan'))", "max(float('nan'), x)", "float(x) * x", "int(x) * x",
    "x if any(t > 1 for t in v) else -x", "x if all(t > 0 for t in v) else -x", "any(v) * x",
    "all(map(bool, v)) * x", "(any([]) + all([])) * x", "any([x > 9, True, 1 / 1]) * x",
    "max(map(lambda t: t * 2, v))",
]  # fmt: skip


@pytest.mark.parametrize("text", CHOICES)
def test_what_python_chooses_has_its_value_and_its_gradient(text: str) -> None:
    function = function_of("x, v = x", f"x * 0 + {text}")
    found = []
    for one in (function, to_static(function, opt_level=0)):
        x = tl.tensor(2.0, requires_grad=True)
        v = tl.tensor([0.5, 2.0, 2.0], requires_grad=True)
        y = one((x, v))
        y.backward()
        grads = [np.zeros(t.shape) if t.grad is None else t.grad.numpy() for t in (x, v)]
        found.append([y.detach().numpy(), *grads])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b)

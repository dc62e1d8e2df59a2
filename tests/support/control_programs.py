"""Source of small functions in Python control flow: all nestings of two constructs with a jump."""

from __future__ import annotations

import importlib.util
import random
import sys
from itertools import product
from pathlib import Path
from textwrap import indent
from types import ModuleType

# A construct as text, with the place of what is inside; `{u}` makes its names its own.
CONSTRUCTS = {
    "if_tensor": "if total > {limit}:\n    total = total + v.sum() * 0.1\n{body}"
    "else:\n    total = total - v[1]\n",
    "if_python": "if n > 1:\n    total = total * 1.5\n{body}elif x < 0:\n    total = total + 1.0\n",
    "while_tensor": "k{u} = x * 0.0\nwhile k{u} < 3.0:\n    k{u} = k{u} + 1.0\n{body}",
    "while_python": "k{u} = 0\nwhile k{u} < n:\n    k{u} += 1\n{body}",
    "while_both": "k{u} = 0\nwhile k{u} < 4 and total < 30.0:\n    k{u} += 1\n"
    "    total = total + 3.0\n{body}",
    "for_range": "for i{u} in range(n):\n    total = total + i{u} * 0.25\n{body}",
    "for_tensor_range": "for i{u} in range((x * 0 + 3).astype('int64')):\n"
    "    total = total + i{u} * 0.25\n{body}",
    "for_rows": "for row{u} in v:\n    total = total + row{u} * x\n{body}",
    "for_enumerate": "for i{u}, row{u} in enumerate(v):\n    total = total + row{u} * i{u}\n{body}",
}
LOOPS = [name for name in CONSTRUCTS if not name.startswith("if")]
CONDITIONS = {
    "tensor": "total > {limit}",
    "python": "n == 2",
    "mixed": "n > 0 and not total < {limit} or v[0] > 90.0",
    "chain": "{limit} < total < 60.0",
}
JUMPS = {
    "none": "total = total * 0.5",
    "break": "break",
    "continue": "continue",
    "return": "return total * 2.0, count",
}
HEAD = "def {name}(x, v, n):\n    total = x * 1.0\n    count = 0\n"
TAIL = "    return total + v.sum(), count\n"


def _nested(outer: str, inner: str, jump: str, condition: str, limit: float) -> str:
    test = CONDITIONS[condition].format(limit=limit)
    core = (
        f"if {test}:\n    count += 10\n    {JUMPS[jump]}\n"
        "total = total + 0.5\ncount += 1\n"
    )  # fmt: skip
    text = core
    for depth, construct in enumerate((inner, outer)):
        body = indent(text, "    ")
        text = CONSTRUCTS[construct].format(body=body, u=depth, limit=limit - 1.0)
        if depth == 0:
            text += "total = total + 0.125\n"
    return text


def function_text(name: str, outer: str, inner: str, jump: str, condition: str) -> str:
    """The source of a function of a scalar `x`, a vector `v` and a number `n`."""
    return (
        HEAD.format(name=name) + indent(_nested(outer, inner, jump, condition, 2.0), "    ") + TAIL
    )


def families() -> dict[str, str]:
    """Functions by their names: every nesting that has its jump in a loop."""
    made = {}
    for i, (outer, inner, jump) in enumerate(product(CONSTRUCTS, CONSTRUCTS, JUMPS)):
        if jump in ("break", "continue") and outer not in LOOPS and inner not in LOOPS:
            continue
        condition = list(CONDITIONS)[i % len(CONDITIONS)]
        name = f"{outer}__{inner}__{jump}__{condition}"
        made[name] = function_text(name, outer, inner, jump, condition)
    return made


def random_function(name: str, seed: int) -> str:
    """A deeper function: blocks of several statements, three constructs deep."""
    draw = random.Random(seed)
    return HEAD.format(name=name) + indent(_block(draw, 3, is_loop=False), "    ") + TAIL


def _block(draw: random.Random, depth: int, *, is_loop: bool) -> str:
    lines = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(["plain", "construct", "construct", "jump"])
        limit = draw.choice([-1.0, 0.5, 2.0, 5.0])
        if kind == "construct" and depth > 0:
            name = draw.choice(list(CONSTRUCTS))
            body = _block(draw, depth - 1, is_loop=is_loop or name in LOOPS)
            unique = draw.randint(10, 10**6)
            lines.append(CONSTRUCTS[name].format(body=indent(body, "    "), u=unique, limit=limit))
        elif kind == "jump":
            names = ["none", "return", *(["break", "continue"] if is_loop else [])]
            test = draw.choice(list(CONDITIONS.values())).format(limit=limit)
            lines.append(f"if {test}:\n    {JUMPS[draw.choice(names)]}\n")
        else:
            lines.append(f"total = total * {draw.choice([0.5, 0.9])} + {limit}\ncount += 1\n")
    return "".join(lines)


def module_of(path: Path, functions: dict[str, str]) -> ModuleType:
    """A module with these functions, written to a file."""
    path.write_text("\n\n".join(functions.values()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def with_rows(text: str) -> str:
    """The function with a vector beside the total that follows it, made of v's size in all ways."""
    made = []
    for line in text.splitlines():
        before = line[: len(line) - len(line.lstrip())]
        made.append(line)
        if line.strip() == "count = 0":
            made.append(f"{before}rows = v * 1.0")
        elif line.strip() == "count += 1":
            made.append(f"{before}rows = rows * 0.5 + ones((v.shape[0],)) * v.shape[0] + total")
        elif line.strip() == "total = total + 0.125":
            made.append(f"{before}rows = rows[::-1] + ones(rows.shape)")
    found = "\n".join(made) + "\n"
    found = found.replace("return total + v.sum(), count", "return total + v.sum(), rows, count")
    found = found.replace("return total * 2.0, count", "return total * 2.0, rows, count")
    return "from tensorlike.functional import ones\n\n\n" + found.replace("v[1]", "v[0]")

"""Random functions with excluded blocks: whatever is cut out of them, calls give the same."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit

HEAD = """import tensorlike as tl
import tensorlike.functional as F
from tensorlike.jit import exclude_from_trace

SEEN = []


class Holder:
    k = 1.0


HOLDER = Holder()


def function(a, b, n=1):
    c = a * 1
    items = [a, b]
    pair = (b, a)
"""
TENSORS = ("a", "b", "c")


class Writer:
    """Writes a function, statement by statement."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []

    def one_of(self, *choices: str) -> str:
        return choices[self.rng.integers(len(choices))]

    def expression(self) -> str:
        x, y = self.one_of(*TENSORS), self.one_of(*TENSORS)
        return self.one_of(
            f"F.tanh({x} * 0.5) + {y}", f"{x} * {y} * 0.25", f"{x} - {y} * n * 0.1",
            f"F.clip({x}, -2.0, 2.0)", f"{x} * HOLDER.k", f"items[-1] + {y}", f"pair[0] - {x}",
            f"F.sum({x}) * 0.1 + {y}", f"({x}).detach() + {y}", "items[0] * len(items)",
        )  # fmt: skip

    def statement(self, depth: int, *, is_excluded: bool) -> list[str]:
        t, e = self.one_of(*TENSORS), self.expression()
        plain = [
            [f"{t} = {e}"], [f"{t} = {e}"], [f"{t} = {e}"], [f"{t} += {self.expression()}"],
            ["n = n + 1"], [f"n = len(items) % {self.rng.integers(2, 4)}"],
            [f"items.append({t})"], [f"items = [{t}, {self.one_of(*TENSORS)}]"],
            [f"pair = ({t}, {self.one_of(*TENSORS)})"], [f"{t} = {self.one_of(*TENSORS)}"],
            [f"add = lambda v: v + {t}", f"{t} = add({self.one_of(*TENSORS)})"],
            [f"late = {e}"], [f"{t} = {t} * 1", f"{t}[0] = {self.one_of(*TENSORS)}[0]"],
        ]  # fmt: skip
        if is_excluded:
            plain += [
                [f"SEEN.append(round(float(F.sum({t})), 3))"], [f"{t} = {t} * (len(SEEN) % 3)"],
                ["n = len(SEEN) % 2"], ["HOLDER.k = 1.0 + len(SEEN) % 2"],
                [f"if len(SEEN) % 7 == 6:\n    return {t}, b, c, n"],
                [f"SEEN.append({t}.detach())"],
            ]  # fmt: skip
        if depth < 2 and self.rng.random() < 0.2:
            return self.nested(depth, is_excluded=is_excluded)
        if not is_excluded and depth == 0 and self.rng.random() < 0.04:
            return [f"if n > 2:\n    return {e}, b, c, n"]
        return plain[self.rng.integers(len(plain))]

    def nested(self, depth: int, *, is_excluded: bool) -> list[str]:
        head = self.one_of("if n > 1:", "for i in range(2):", "if HOLDER.k > 1.5:")
        lines = [head, *self.block(depth + 1, is_excluded=is_excluded)]
        if head.startswith("if") and self.rng.random() < 0.5:
            lines += ["else:", *self.block(depth + 1, is_excluded=is_excluded)]
        return lines

    def block(self, depth: int, *, is_excluded: bool) -> list[str]:
        made: list[str] = []
        for _ in range(int(self.rng.integers(1, 4))):
            for line in self.statement(depth, is_excluded=is_excluded):
                made += [f"    {part}" for part in line.split("\n")]
        return made

    def write(self) -> str:
        body: list[str] = []
        for _ in range(int(self.rng.integers(2, 4))):
            body += self.block(0, is_excluded=False) + self.block(0, is_excluded=False)
            body += [f"    {line}" for line in self.excluded()]
        body += self.block(0, is_excluded=False)
        last = self.one_of("a, b, c, n", "a, b, c, n", "a, items[0], pair[1], n")
        return HEAD + "\n".join([*body, f"    return {last}"]) + "\n"

    def excluded(self) -> list[str]:
        return ["with exclude_from_trace():", *self.block(1, is_excluded=True)]


def _shown(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [_shown(part) for part in x]
    return np.array(x.detach().numpy()) if isinstance(x, tl.Tensor) else x


def _run(module: Any, function: Any, kind: int) -> list[Any]:
    """Some calls, with their gradients and what they leave behind."""
    module.SEEN.clear()
    module.HOLDER.k = 1.0
    found: list[Any] = []
    rng = np.random.default_rng(kind)
    for call in range(7):
        a, b = (tl.tensor(rng.standard_normal(3).astype(np.float32)) for _ in range(2))
        leaf = tl.tensor(rng.standard_normal(3).astype(np.float32), requires_grad=True)
        given = (a, b, leaf * 1, leaf * b)
        args = (given[2 * (call % 2)], given[1 + 2 * (kind % 2)])
        try:
            ys = function(*args, call % 3)
        except (NameError, tl.TensorlikeError) as error:
            found.append(type(error).__name__)
            continue
        roots = [y for y in ys[:3] if y.requires_grad]
        if roots:
            sum((F.sum(y * y) for y in roots), tl.tensor(0.0)).backward()
        gradient = None if leaf.grad is None else leaf.grad
        found.append(_shown([*ys, gradient, *args, module.HOLDER.k, list(module.SEEN)]))
    return found


def _assert_alike(x: Any, y: Any) -> None:
    assert type(x) is type(y), (x, y)
    if isinstance(x, list):
        assert len(x) == len(y)
        for a, b in zip(x, y, strict=True):
            _assert_alike(a, b)
    elif isinstance(x, np.ndarray):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-5)
    elif isinstance(x, float):
        assert x == pytest.approx(y, rel=2e-3, abs=2e-3)
    else:
        assert x == y


def check(seed: int, folder: Path) -> int:
    """Compares calls of a random function; how many of its pieces ran as programs."""
    path = folder / f"random_pieces_{seed}.py"
    path.write_text(Writer(seed).write())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    traced = jit.trace(module.function)
    _assert_alike(_run(module, traced, seed), _run(module, module.function, seed))
    pieces = traced._in_pieces[1] if traced._in_pieces else ()
    return sum(bool(piece.programs()) for piece in pieces)


@pytest.mark.filterwarnings("ignore::tensorlike.jit.RetraceWarning")
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_j5_random_functions_in_pieces_give_what_they_give_at_once(
    first: int, tmp_path: Path
) -> None:
    assert sum(check(seed, tmp_path) for seed in range(first, first + 10)) > 3

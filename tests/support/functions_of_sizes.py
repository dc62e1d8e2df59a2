"""Small random functions of the sizes of their arguments, as source text.

Each calculates with one to three sizes, and uses what comes out in shapes, bounds, attributes and
products. They are text so that `to_static` can convert them, and failures can be read.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tensorlike as tl

SHAPES = ((5, 3, 4), (7, 2, 6), (1, 4, 3), (12, 5, 2))  # of n, m, k
Sizes = tuple[int, int, int]

_HEADER = """\
import math

import tensorlike as tl
import tensorlike.functional as F


def function(x, y):
    n, m, k = x.shape[0], y.shape[0], y.shape[1]
"""
_WHOLE = ("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} // {c}", "{a} % {c}", "{a} // ({b} + 9)",
          "-{a}", "{a} ** 2", "min({a}, {b})", "max({a}, {b})", "math.floor({r})", "round({r})",
          "math.ceil({r})", "math.trunc({r})", "int({r})", "({a}) * {c} // {d}")  # fmt: skip
_REAL = ("{a} / {c}", "{a} / ({b} + 11)", "{a} * 0.5", "{p} ** 0.5", "1.0 / {p}", "{r} + {a}",
         "{r} * {s}", "{r} - 1.5", "{c} / {p}", "{r} // 1.5", "{r} % 2.5", "-{r}", "0.9 ** {p}",
         "{p} ** -1", "({a} + 1) / {c} * {p}", "math.sqrt({p})", "math.log({p})")  # fmt: skip
# Without what Python calculates with floats of its own alone.
_OF_PYTHON = ("math.sqrt", "math.log", "int(")
_USES = (
    "x.sum() * ({r})", "x / (({r}) ** 2 + 1)", "y * ({a})", "F.full((3,), {r})",
    "tl.zeros((({a}) % 5 + 1, 2)) + ({r})", "x[: ({a}) % (n + 1)]", "F.clip(x, -1.0, {r} + 9.0)",
    "F.pad(y, ((1, ({a}) % 3), (0, 1)), value={r})", "F.linspace(0.0, {r}, n)",
    "F.linspace(0, 1, ({a}) % 6 + 1)", "F.arange(0.0, m + 0.5, 0.5) * ({r})", "F.roll(x, {a})",
    "F.tile(x, (({a}) % 3 + 1,))", "F.sum(y, axis=0) / n", "F.mean(y) * m ** 0.5",
    "F.arange(({a}) % 9) + ({a})", "F.where(F.arange(n) < ({r}), x, 0.0)", "({r}) - x",
    "F.eye(n, m) * ({r})", "F.concat([x, tl.ones((({a}) % 4,))])", "F.reshape(y, (k, -1)) * ({r})",
    "tl.grad(lambda z: F.sum(z * z) / ({r} + 40.0))(x)", "F.broadcast_to(y, (n, m, k)) * ({r})",
    "tl.vmap(lambda row: F.sum(row) * ({r}))(y)", "x ** (({r}) * 0 + 2.0)",
    "x[:, None] * F.arange(({a}) % 5 + 1)", "F.repeat(x, ({a}) % 3 + 1)",
)  # fmt: skip


class Generator:
    """Draws expressions of sizes, and a function that uses some."""

    def __init__(self, seed: int, is_symbolic: bool = False) -> None:
        self._rng = np.random.default_rng(seed)
        self._names = list("nmk")[: int(self._rng.integers(1, 4))]
        # What takes Python's own integers and floats is for code that is converted.
        self._is_symbolic = is_symbolic

    def _of(self, choices: tuple[str, ...]) -> str:
        fitting = [c for c in choices if not (self._is_symbolic and any(
            word in c for word in _OF_PYTHON))]  # fmt: skip
        return fitting[int(self._rng.integers(len(fitting)))]

    def _filled(self, template: str, depth: int) -> str:
        return template.format(
            a=self.whole(depth - 1), b=self.whole(depth - 1), r=self.real(depth - 1),
            s=self.real(depth - 1), p=f"(({self.whole(depth - 1)}) ** 2 + 1)",
            c=int(self._rng.integers(2, 8)), d=int(self._rng.integers(2, 5)),
        )  # fmt: skip

    def whole(self, depth: int) -> str:
        """An expression that is an integer."""
        if depth <= 0 or self._rng.random() < 0.3:
            return str(self._rng.choice([*self._names, "2", "3"]))
        return f"({self._filled(self._of(_WHOLE), depth)})"

    def real(self, depth: int) -> str:
        """One that is a float."""
        if depth <= 0:
            return f"({self._rng.choice(self._names)} / {int(self._rng.integers(2, 6))})"
        return f"({self._filled(self._of(_REAL), depth)})"

    def source(self) -> str:
        """The text of a module with a function of two arrays, (n,) and (m, k)."""
        uses = [self._filled(self._of(_USES), 2) for _ in range(int(self._rng.integers(1, 4)))]
        return _HEADER + f"    return {', '.join(uses)},\n"


def made(source: str, folder: Path, name: str) -> Callable[..., Any]:
    """The function of a module of this text."""
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = module.function
    return function


def drawn(sizes: Sizes) -> tuple[Any, Any]:
    """Arguments of these sizes."""
    n, m, k = sizes
    rng = np.random.default_rng(n * 100 + m * 10 + k)
    return (
        tl.tensor(rng.uniform(0.2, 2.0, n).astype(np.float32)),
        tl.tensor(rng.uniform(0.2, 2.0, (m, k)).astype(np.float32)),
    )


def wanted(function: Callable[..., Any], sizes: Sizes) -> Any:
    """What eager code gives; None where it has no value, or none to compare."""
    try:
        found = function(*drawn(sizes))
    except (ValueError, TypeError, ArithmeticError, IndexError):
        return None
    arrays = [np.asarray(y) for y in found]
    is_plain = all(np.all(np.abs(y.astype(np.float64)) < 1e15) for y in arrays)
    return arrays if is_plain and math.prod(sizes) > 0 else None


def compare(found: Any, right: Any, told: str) -> None:
    """Raises AssertionError where results differ."""
    assert len(found) == len(right), told
    for x, y in zip(found, right, strict=True):
        x = np.asarray(x)
        assert x.shape == y.shape and x.dtype == y.dtype, (told, x.shape, y.shape, x.dtype, y.dtype)
        scale = max(1e-6, float(np.max(np.abs(y.astype(np.float64)), initial=0.0)))
        np.testing.assert_allclose(x, y, 1e-4, 1e-5 * scale, err_msg=told)

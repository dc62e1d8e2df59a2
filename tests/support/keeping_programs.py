"""Random functions that keep tensors: in attributes, containers, globals and their arguments."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

import tensorlike as tl

HEAD = '''"""A random function that keeps tensors."""
from collections import deque

import tensorlike as tl
import tensorlike.functional as F

KEPT = None


class Inner:
    def __init__(self):
        self.v = None


class Slotted:
    __slots__ = ("v", "w")

    def __init__(self):
        self.v = tl.tensor([0.5, 1.0, -1.0])
        self.w = None


class Keeper:
    def __init__(self):
        self.a = tl.tensor([1.0, -2.0, 0.5])
        self.b = tl.tensor([0.25, 2.0, 1.5])
        self.c = None
        self.flag = False
        self.items = []
        self.two = [tl.tensor([1.0, 1.0, 1.0]), None]
        self.d = {}
        self.deep = {"k": [tl.tensor([2.0, 0.0, 1.0])], "v": [None, 3]}
        self.last = deque(maxlen=2)
        self.inner = Inner()
        self.slotted = Slotted()
        self.log = []

    def step(self, x, box=None):
        global KEPT
        y = x * 1.0
'''
# Each with `{e}` for a vector that is made.
STATEMENTS = (
    "self.a = {e}", "self.b = self.a * 0.5 + {e}", "self.a, self.b = self.b, self.a",
    "self.c = {e} if self.c is None else self.c * 0.5 + {e}", "self.c = None",
    "y = y + (self.c if self.c is not None else 1.0)", "y = y + self.a", "y = y * 0.5 + self.b",
    "self.flag = not self.flag", "y = y * 2 if self.flag else y - 1",
    "self.items.append({e})", "self.items = [{e}, self.a]", "self.items.clear()",
    "self.items = self.items[-2:]", "y = y + sum(self.items, 0.0) * 0.1",
    "self.two[1] = {e}", "self.two[0] = self.two[0] * 0.5 + x", "y = y + self.two[0]",
    "self.two[0], self.two[1] = self.two[1], self.two[0]", "self.two = [{e}, {e}]",
    "self.two[0] = {e} if self.two[0] is None else self.two[0]",
    "self.d['k'] = {e}", "self.d.update(q={e})", "self.d.pop('k', None)",
    "y = y + self.d.get('k', 0.25)", "y = y + (self.d['q'] if 'q' in self.d else 0.0)",
    "self.deep['k'][0] = {e}", "y = y + self.deep['k'][0]", "self.deep['v'][0] = {e}",
    "self.deep['k'] = [self.deep['k'][0] + {e}]", "self.deep['v'] = (self.deep['k'][0], 3)",
    "self.last.append({e})", "self.inner.v = {e}",
    "y = y + (self.inner.v if self.inner.v is not None else 0.0)",
    "self.slotted.v = self.slotted.v * 0.5 + {e}", "y = y + self.slotted.v", "self.slotted.w = y",
    "KEPT = {e} if KEPT is None else KEPT * 0.5 + {e}", "KEPT = y", "self.log.append(1)",
    "box.append({e})", "y = y + (box[0] if box else 0.0)", "self.a = box",
    "self.a = y", "self.b = self.a", "y[0] = 0.5", "self.b[1] = F.sum(x)", "self.b = self.b + 0",
    "self.pair = (y, self.b)", "self.items.append((1, {e}))", "self.new = {e}",
    "self.b = self.b.detach()", "self.items.insert(0, {e})", "self.last.appendleft({e})",
    "self.items.extend([{e}, {e}])", "vars(self)['a'] = {e}", "setattr(self, 'b', {e})",
)  # fmt: skip
VECTORS = (
    "x", "x * 2", "F.tanh(y)", "self.a + x", "self.b * x", "x - 1.5", "F.exp(-x * x)",
    "tl.tensor([1.0, 2.0, 3.0])", "y + 1",
)  # fmt: skip
RESULTS = ("y", "(y, self.a)", "[y, y]", "{'y': y, 'a': self.a}", "F.sum(y)", "(y, self.c)")


def source(seed: int, *, has_box: bool) -> str:
    """A class whose `step` keeps tensors; `has_box`: in an argument, too."""
    rng = np.random.default_rng(seed)
    statements = [text for text in STATEMENTS if has_box or "box" not in text]
    lines = []
    for _ in range(int(rng.integers(2, 8))):
        text = statements[rng.integers(len(statements))]
        while "{e}" in text:
            text = text.replace("{e}", VECTORS[rng.integers(len(VECTORS))], 1)
        lines.append(f"        {text}\n")
    lines.append(f"        return {RESULTS[rng.integers(len(RESULTS))]}\n")
    return HEAD + "".join(lines)


def change(keeper: Any, module: Any, rng: np.random.Generator) -> None:
    """What somebody else does to the state between two calls."""
    kind = int(rng.integers(0, 24))
    made = tl.tensor(rng.standard_normal(3).astype(np.float32))
    if kind == 0:
        keeper.a = made
    elif kind == 1:
        keeper.b = keeper.a
    elif kind == 2:
        keeper.c = None
    elif kind == 3:
        keeper.items = []
    elif kind == 4:
        keeper.items.append(made)
    elif kind == 5:
        keeper.two = [made, None]
    elif kind == 6:
        keeper.d = {"q": made}
    elif kind == 7:
        keeper.deep = {"k": [made], "v": [None, 3]}
    elif kind == 8:
        module.KEPT = None
    elif kind == 9:
        keeper.flag = not keeper.flag
    elif kind == 10 and isinstance(keeper.a, tl.Tensor):
        keeper.a[0] = 4.0
    elif kind == 11:
        keeper.inner.v = made
    elif kind == 12:
        keeper.last = deque([made], maxlen=2)


def shown(keeper: Any, module: Any, result: Any, box: Any) -> list[Any]:
    """All that there is after a call: elements, and what is the same object as what."""
    known: dict[int, int] = {}
    held: list[Any] = []

    def told(x: Any) -> Any:
        if isinstance(x, (tl.Tensor, list, dict, deque)):
            if id(x) in known:
                return f"that of {known[id(x)]}"
            known[id(x)] = len(known)
            held.append(x)
        if isinstance(x, tl.Tensor):
            return np.round(x.detach().numpy().astype(np.float64), 3).tolist()
        if isinstance(x, dict):
            return {key: told(item) for key, item in x.items()}
        if isinstance(x, (list, tuple, deque)):
            return [type(x).__name__, *map(told, x)]
        return x

    names = sorted(name for name in vars(keeper) if not name.startswith("_") and name != "log")
    state = {name: told(vars(keeper)[name]) for name in names if name not in ("inner", "slotted")}
    others = [told(keeper.inner.v), told(keeper.slotted.v), told(keeper.slotted.w)]
    return [told(result), state, others, told(module.KEPT), told(box)]

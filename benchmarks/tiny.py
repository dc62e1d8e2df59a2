"""Ops on eight elements: what is measured is everything but the arithmetic."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import numpy as np
import torch
from compare import Contender, Result, Settings, time_in_turns

import tensorlike as tl
import tensorlike.functional as F

CHAIN = 20
PARAMETERS = 100


class Wrapped(tl.TensorBase):
    """The smallest tensor-like that somebody may write."""

    def __init__(self, value: tl.RawTensor) -> None:
        self.value = value

    def detach(self) -> tl.Tensor:
        """For the check."""
        return tl.Tensor(self.value)


@tl.apply.register
def apply_wrapped(op: tl.ops.OpBase, x: Wrapped, y: Wrapped) -> tuple[Wrapped, ...]:
    """Passes the op on."""
    (z,) = op(x.value, y.value)
    return (Wrapped(z),)


class TorchWrapped(torch.Tensor):
    """PyTorch's counterpart."""

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Passes the call on."""
        return super().__torch_function__(function, types, args, kwargs or {})


def arrays(*shape: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Two arrays, the same in every run."""
    generator = np.random.default_rng(0)
    a, b = generator.uniform(0.5, 1.5, (2, *shape)).astype(np.float32)
    return a, b


def add(settings: Settings) -> list[Result]:
    """``a + b``."""
    a, b = arrays(8)
    timings = time_in_turns(
        {
            "tensorlike": Contender("a + b", {"a": tl.tensor(a), "b": tl.tensor(b)}),
            "PyTorch": Contender("a + b", {"a": torch.tensor(a), "b": torch.tensor(b)}),
            "NumPy": Contender("a + b", {"a": a, "b": b}),
        },
        settings,
    )
    return timings.results("a + b, 8 elements", {"PyTorch": 0.08, "NumPy": 0.4})


def add_recording(settings: Settings) -> list[Result]:
    """``a + b`` while a tape records."""
    a, b = arrays(8)
    ours = {"a": tl.tensor(a, requires_grad=True), "b": tl.tensor(b)}
    theirs = {"a": torch.tensor(a, requires_grad=True), "b": torch.tensor(b)}
    timings = time_in_turns(
        {"tensorlike": Contender("a + b", ours), "PyTorch": Contender("a + b", theirs)}, settings
    )
    return timings.results("a + b, recorded for autodiff", {"PyTorch": 0.1})


def sum_(settings: Settings) -> list[Result]:
    """A functional call with keywords."""
    x, _ = arrays(2, 4)
    timings = time_in_turns(
        {
            "tensorlike": Contender("f(x, axis=0, keepdims=True)", {"f": F.sum, "x": tl.tensor(x)}),
            "PyTorch": Contender(
                "f(x, dim=0, keepdim=True)", {"f": torch.sum, "x": torch.tensor(x)}
            ),
            "NumPy": Contender("f(x, axis=0, keepdims=True)", {"f": np.sum, "x": x}),
        },
        settings,
    )
    return timings.results(
        "sum(x, axis=0, keepdims=True), 8 elements", {"PyTorch": 0.1, "NumPy": None}
    )


def gelu(settings: Settings) -> list[Result]:
    """A functional call."""
    x, _ = arrays(8)
    timings = time_in_turns(
        {
            "tensorlike": Contender("f(x)", {"f": F.gelu, "x": tl.tensor(x)}),
            "PyTorch": Contender("f(x)", {"f": torch.nn.functional.gelu, "x": torch.tensor(x)}),
        },
        settings,
    )
    return timings.results("gelu(x), 8 elements", {"PyTorch": 0.1})


def layers(settings: Settings) -> list[Result]:
    """Layers, recorded for autodiff, and attention."""
    x, _ = arrays(2, 8)
    q, _ = arrays(1, 1, 2, 4)
    theirs, nn = torch.nn, tl.nn
    norm, linear = theirs.LayerNorm(8), theirs.Linear(8, 8)
    own = nn.Linear(8, 8)
    own.load_state_dict({k: v.numpy() for k, v in linear.state_dict().items()}, layout="pytorch")
    attention = theirs.functional.scaled_dot_product_attention
    rows = [
        ("LayerNorm(8), 2 x 8", nn.LayerNorm(8), norm, x, "f(x)"),
        ("Linear(8, 8), 2 x 8", own, linear, x, "f(x)"),
        ("attention, 2 of 4 elements", F.attention, attention, q, "f(x, x, x)"),
        ("softmax, 2 x 8", F.softmax, partial(torch.softmax, dim=-1), x, "f(x)"),
    ]
    found = []
    for name, ours, other, data, statement in rows:
        contenders = {
            "tensorlike": Contender(statement, {"f": ours, "x": tl.tensor(data)}),
            "PyTorch": Contender(statement, {"f": other, "x": torch.tensor(data)}),
        }
        found += time_in_turns(contenders, settings).results(name, {"PyTorch": 0.15})
    return found


def views(settings: Settings) -> list[Result]:
    """Other shapes for the same elements, and new ones."""
    x, _ = arrays(2, 8)
    ours = {"np": F, "x": tl.tensor(x)}
    theirs = {"np": torch, "x": torch.tensor(x)}
    numpy = {"np": np, "x": x}
    found = []
    for statement in ("x[1]", "x[:, 2:4]", "x.reshape(16)", "x.T", "np.zeros((3, 4))"):
        contenders = {
            "tensorlike": Contender(statement, ours),
            "PyTorch": Contender(statement, theirs),
            "NumPy": Contender(statement, numpy),
        }
        found += time_in_turns(contenders, settings).results(
            f"{statement}, 16 elements", {"PyTorch": 0.2, "NumPy": None}
        )
    return found


def assigned(x: Any) -> Any:
    """The tensor, an element of which is written."""
    x[0] = 1.5
    return x


def conversions(settings: Settings) -> list[Result]:
    """Numbers, lists and arrays in and out. The bar is NumPy's time."""
    array, _ = arrays(8)
    ours = {"new": tl.tensor, "x": tl.tensor(array), "s": tl.tensor(array[0])}
    theirs = {"new": torch.tensor, "x": torch.tensor(array), "s": torch.tensor(array[0])}
    numpy = {"new": np.array, "x": array.copy(), "s": np.array(array[0])}
    found = []
    for title, statement in (
        ("float(s)", "float(s)"),
        ("s.item()", "s.item()"),
        ("x.tolist(), 8 elements", "x.tolist()"),
        ("np.array(x), 8 elements", "np.array(x)"),
        ("tensor(array), 8 elements", "new(array)"),
        ("tensor([1.0, 2.0, 3.0])", "new([1.0, 2.0, 3.0])"),
        ("tensor(1.5)", "new(1.5)"),
        ("x[0] = 1.5, 8 elements", "assigned(x)"),
    ):
        more = {"array": array, "assigned": assigned, "np": np}
        contenders = {
            "tensorlike": Contender(statement, {**ours, **more}),
            "PyTorch": Contender(statement, {**theirs, **more}),
            "NumPy": Contender(statement, {**numpy, **more}),
        }
        found += time_in_turns(contenders, settings).results(title, {"PyTorch": None, "NumPy": 1.0})
    return found


def run_chain(x: Any, w: Any, b: Any) -> Any:
    """Twenty ops forward, and back; the gradient by x."""
    x.grad = None
    y = x
    for _ in range(CHAIN // 2):
        y = y * w + b
    y.sum().backward()
    return x.grad


def chain(settings: Settings) -> list[Result]:
    """Forward and backward."""
    w, b = arrays(8)
    ours = {"x": tl.tensor(w, requires_grad=True), "w": tl.tensor(w), "b": tl.tensor(b)}
    theirs = {
        "x": torch.tensor(w, requires_grad=True),
        "w": torch.tensor(w),
        "b": torch.tensor(b),
    }
    timings = time_in_turns(
        {
            "tensorlike": Contender("run(x, w, b)", {"run": run_chain, **ours}),
            "PyTorch": Contender("run(x, w, b)", {"run": run_chain, **theirs}),
        },
        settings,
    )
    name = f"forward and backward of {CHAIN} ops, 8 elements, per op"
    return timings.results(name, {"PyTorch": 0.08}, per=CHAIN)


def step_of(optimizer: Any, parameter: Any) -> Any:
    """A step, and one of the parameters after it."""
    optimizer.step()
    return parameter.detach()


def steps(settings: Settings) -> list[Result]:
    """An optimiser's step over many small parameters; the bar is for PyTorch's fused one."""
    data = [arrays(8, 8) for _ in range(PARAMETERS)]
    found = []
    for name, ours, theirs, more in (
        ("Adam", tl.optim.Adam, torch.optim.Adam, {}),
        ("SGD with momentum", tl.optim.SGD, torch.optim.SGD, {"momentum": 0.9}),
    ):
        own = [tl.Parameter(p) for p, _ in data]
        others = [torch.nn.Parameter(torch.tensor(p)) for p, _ in data]
        for p, q, (_, gradient) in zip(own, others, data, strict=True):
            p.grad, q.grad = tl.tensor(gradient), torch.tensor(gradient)
        optimizers = {
            "tensorlike": (ours(own, lr=1e-3, **more), own[-1]),
            "PyTorch, fused": (theirs(others, lr=1e-3, fused=True, **more), others[-1]),
        }
        contenders = {
            who: Contender("step(o, p)", {"step": step_of, "o": optimizer, "p": parameter})
            for who, (optimizer, parameter) in optimizers.items()
        }
        title = f"a step of {name}, {PARAMETERS} parameters of 8 x 8"
        found += time_in_turns(contenders, settings).results(title, {"PyTorch, fused": 0.25})
    return found


def python_kind(settings: Settings) -> list[Result]:
    """What a tensor-like written in Python adds to an op."""
    a, b = arrays(8)
    raw_a, raw_b = tl.as_raw_tensor(a), tl.as_raw_tensor(b)
    torch_a, torch_b = torch.tensor(a), torch.tensor(b)
    timings = time_in_turns(
        {
            "built in": Contender("a + b", {"a": raw_a, "b": raw_b}),
            "tensorlike": Contender("a + b", {"a": Wrapped(raw_a), "b": Wrapped(raw_b)}),
            "PyTorch, built in": Contender("a + b", {"a": torch_a, "b": torch_b}),
            "PyTorch": Contender(
                "a + b",
                {
                    "a": torch_a.as_subclass(TorchWrapped),
                    "b": torch_b.as_subclass(TorchWrapped),
                },
            ),
        },
        settings,
    )

    def extra(name: str, built_in: str) -> float:
        pairs = zip(timings.rounds[name], timings.rounds[built_in], strict=True)
        return statistics.median(mine - its for mine, its in pairs)

    ours, theirs = extra("tensorlike", "built in"), extra("PyTorch", "PyTorch, built in")
    return [
        Result(
            "a + b on a tensor-like written in Python, beyond the built-in",
            ours,
            "s",
            "PyTorch",
            theirs,
            ours / theirs,
            bar=1e-6,
            bar_is_absolute=True,
        )
    ]

"""Our calls for PyTorch's that make tensors: of constants, at random, and as copies of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorlike as tl
from tensorlike import functional as F

from . import pytorch_calls as c


def _kind(given: Any, x: Any = None) -> Any:
    """The dtype that is asked for, or that of x."""
    dtype = given.get("dtype")
    return {"dtype": dtype} if dtype is not None else {} if x is None else {"dtype": x.dtype}


def _number(x: Any) -> Any:
    return x.item() if hasattr(x, "item") else x


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(size[0]) if size and isinstance(size[0], (list, tuple)) else tuple(size)


def _arange(start: Any, end: Any = None, step: Any = 1, **k: Any) -> Any:
    start, end = (0, start) if end is None else (start, end)
    return F.arange(start, end, step, **_kind(k))


def _window(name: str) -> Callable[..., Any]:
    f = getattr(F, f"{name}_window")
    own = ("std", "alpha", "beta", "tau", "a", "center")

    def call(size: Any, *, sym: bool = True, dtype: Any = None, **k: Any) -> Any:
        given = {key: value for key, value in k.items() if key in own}
        return f(size, periodic=not sym, dtype=dtype, **given)

    return call


def _normal(mean: Any, std: Any, size: Any = None, **k: Any) -> Any:
    if size is None:
        size = tl.broadcast_shapes(*(tuple(getattr(v, "shape", ())) for v in (mean, std)))
    return tl.random.normal(tuple(size), mean, std, **_kind(k))


def _randint(low: int, high: Any, shape: Any = None, **k: Any) -> Any:
    if shape is None:
        low, high, shape = 0, low, high
    return F.astype(tl.random.randint(low, high, tuple(shape)), dtype=k.get("dtype") or "int64")


def _randint_like(x: Any, low: int, high: Any = None, **k: Any) -> Any:
    low, high = (0, low) if high is None else (low, high)
    return F.astype(tl.random.randint(low, high, tuple(x.shape)), **_kind(k, x))


def _dropout(f: Any) -> Callable[..., Any]:
    by_default = "alpha" not in f.__name__

    def call(x: Any, p: float = 0.5, training: bool = by_default, **_: Any) -> Any:
        return f(x, p=p, seed=1) if training else +x

    return call


def _fractional(n: int) -> Callable[..., Any]:
    def call(
        x: Any, kernel: Any, *, return_indices: bool = False, _random_samples: Any = None, **k: Any
    ) -> Any:
        k["samples"] = _random_samples
        f = getattr(F, f"fractional_max_pool{n}d" + ("_with_indices" if return_indices else ""))
        return f(x, kernel, **k) if len(x.shape) == n + 2 else c.of_one(f, x, kernel, **k)

    return call


def _to(x: Any, *args: Any, dtype: Any = None, **_: Any) -> Any:
    """Of a device, a dtype, or a tensor that has one."""
    asked = [a for a in args if isinstance(a, str) and a != "cpu"]
    asked += [a.dtype for a in args if hasattr(a, "dtype")]
    return F.astype(x, dtype=asked[0] if asked else x.dtype if dtype is None else dtype)


def _nonzero_static(x: Any, *, size: int, fill_value: int = -1) -> Any:
    found = F.argwhere(x)[:size]
    return F.pad(found, ((0, size - found.shape[0]), (0, 0)), value=fill_value)


MAKING: dict[str, Callable[..., Any]] = {
    "arange": _arange,
    "full": lambda shape, value, **k: F.full(tuple(shape), value, **_kind(k)),
    "full_like": lambda x, value, **k: F.full_like(x, value, **_kind(k)),
    "zeros": lambda shape, **k: F.zeros(tuple(shape), **_kind(k)),
    "ones": lambda shape, **k: F.ones(tuple(shape), **_kind(k)),
    "empty": lambda shape, **k: F.empty(tuple(shape), **_kind(k)),
    "zeros_like": lambda x, **k: F.zeros_like(x, **_kind(k)),
    "ones_like": lambda x, **k: F.ones_like(x, **_kind(k)),
    "empty_like": lambda x, **k: F.empty_like(x, **_kind(k)),
    "new_zeros": lambda x, *s, **k: F.zeros(_shape(s), **_kind(k, x)),
    "new_ones": lambda x, *s, **k: F.ones(_shape(s), **_kind(k, x)),
    "new_empty": lambda x, *s, **k: F.empty(_shape(s), **_kind(k, x)),
    "new_full": lambda x, shape, value, **k: F.full(tuple(shape), value, **_kind(k, x)),
    "scalar_tensor": lambda value, **k: tl.tensor(value, **_kind(k)),
    "eye": lambda n, m=None, **k: F.eye(n, m, **_kind(k)),
    "linspace": lambda a, b, n, **k: F.linspace(_number(a), _number(b), n, **_kind(k)),
    "logspace": lambda a, b, n, base=10.0, **k: F.logspace(
        _number(a), _number(b), n, base=base, **_kind(k)
    ),
    "fill": lambda x, value: F.full_like(x, value),
    **{f"signal.windows.{name}": _window(name) for name in (
        "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
        "general_hamming", "hamming", "hann", "kaiser", "nuttall",
    )},
    # Copies, casts and shapes of others.
    "to": _to,
    "item": lambda x: x.item(),
    "conj_physical": F.conj,
    "view": lambda x, *s: F.reshape(x, _shape(s)),
    "view_copy": lambda x, *s: F.reshape(x, _shape(s)),
    "view_as": lambda x, y: F.reshape(x, tuple(y.shape)),
    "reshape_as": lambda x, y: F.reshape(x, tuple(y.shape)),
    "expand_as": lambda x, y: F.broadcast_to(x, tuple(y.shape)),
    "broadcast_shapes": lambda *shapes: tl.broadcast_shapes(
        *((s,) if isinstance(s, int) else tuple(s) for s in shapes)
    ),
    "nonzero_static": _nonzero_static,
    # At random.
    "bernoulli": lambda x, **_: F.astype(tl.random.bernoulli(x), dtype=x.dtype),
    "multinomial": lambda x, n, replacement=False: tl.random.multinomial(
        x, n, replacement=replacement
    ),
    "normal": _normal,
    "randn": lambda *s, **k: tl.random.normal(_shape(s), **_kind(k)),
    "randn_like": lambda x, **k: tl.random.normal(tuple(x.shape), **_kind(k, x)),
    "rand_like": lambda x, **k: tl.random.uniform(tuple(x.shape), **_kind(k, x)),
    "randint": _randint,
    "randint_like": _randint_like,
    **{f"nn.functional.{name}": _dropout(getattr(F, name)) for name in (
        "dropout", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout",
    )},
    "nn.functional.fractional_max_pool2d": _fractional(2),
    "nn.functional.fractional_max_pool3d": _fractional(3),
}  # fmt: skip

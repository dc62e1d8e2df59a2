"""Random functions over ops of all families, dtypes and ranks, whose first size may be unknown.

A function is drawn by running it: a step is kept where eager code takes it. It is replayed on
whatever stands for its inputs: tensors of other sizes, variables, tracers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tensorlike as tl
import tensorlike.functional as F

ROWS = 3  # while a function is drawn
Step = tuple[Callable[..., Any], tuple[int, ...]]

_UNARY: tuple[Callable[[Any], Any], ...] = (
    F.tanh, F.sigmoid, F.relu, F.abs, F.erf, F.gelu, F.silu, F.softplus, F.sin, F.floor, F.round,
    F.sign, F.square, F.negative, F.elu, F.hardswish, F.mish, F.softsign, F.atan, F.trunc,
    lambda x: F.exp(F.minimum(x, 2)), lambda x: F.sqrt(F.abs(x) + 0.1),
    lambda x: F.log(F.abs(x) + 0.3), lambda x: F.reciprocal(F.abs(x) + 0.5),
    lambda x: F.where(x > 0, x, x * 0.1), lambda x: F.where(x > 0, x, F.sum(x)),
    lambda x: F.astype(F.astype(x, "float16"), "float32"),
    lambda x: F.astype(F.clip(F.round(x * 3), 0, 50), "uint8"),
    lambda x: F.astype(F.clip(F.round(x * 3), -50, 50), "int32"),
    lambda x: F.cond(F.sum(x) > 0, lambda: F.tanh(x), lambda: x * 0.5),
    lambda x: F.while_loop(lambda c: c[1] < 3, lambda c: (F.tanh(c[0]) + 0.1, c[1] + 1),
                           (x, tl.tensor(0)), max_steps=5)[0],
)  # fmt: skip
_INTEGER: tuple[Callable[[Any], Any], ...] = (
    lambda x: x // 3, lambda x: x % 3, lambda x: x + 2, lambda x: x * 2, lambda x: x & 3,
    lambda x: x ^ 1, lambda x: x < 2, lambda x: x << 1, lambda x: x >> 2, lambda x: 5 - x,
    lambda x: F.one_hot(F.astype(x, "int64") % 5, 5), lambda x: F.astype(x, "float32"),
    lambda x: F.astype(x, "bool"), lambda x: x // -2, lambda x: x % -4,
)  # fmt: skip
_BOOLEAN: tuple[Callable[[Any], Any], ...] = (
    F.logical_not, lambda x: F.astype(x, "float32"), F.sum, lambda x: F.astype(x, "int8"),
)  # fmt: skip
_PAIRS = (F.add, F.subtract, F.multiply, F.maximum, F.minimum, F.greater, F.less_equal, F.not_equal)
_TRUTHS = (F.logical_and, F.logical_or, F.logical_xor, F.equal)
_PLACES = (0, -1, 0, -1, 0, 0)


def kind_of(x: Any) -> str:
    """The kind of a tensor's dtype: "floating", "integral", "bool" and so on."""
    return "bool" if x.dtype is tl.bool else str(x.dtype.kind)


def _reduction(rng: np.random.Generator, x: Any, axis: int) -> Callable[[Any], Any]:
    kept = bool(rng.random() < 0.5)
    if kind_of(x) == "bool":
        return lambda x: (F.any if kept else F.sum)(x, axis=axis)
    names = ["sum", "max", "min", "argmax", "count_nonzero"]
    names += ["mean", "prod", "var", "logsumexp"] if kind_of(x) == "floating" else []
    function = getattr(F, names[rng.integers(len(names))])
    return lambda x: function(x, axis=axis, keepdims=kept)


def _of_rows(rng: np.random.Generator, x: Any, axis: int) -> Callable[[Any], Any]:
    """What goes along an axis and keeps it."""
    if kind_of(x) == "bool":
        return lambda x: F.flip(x, axis=axis)
    places, down = int(rng.integers(-3, 4)), bool(rng.random() < 0.5)
    found: list[Callable[[Any], Any]] = [
        lambda x: F.cumulative_sum(x, axis=axis), lambda x: F.roll(x, places, axis=axis),
        lambda x: F.flip(x, axis=axis), lambda x: F.sort(x, axis=axis, descending=down),
        lambda x: F.topk(x, 1, axis=axis)[0], lambda x: F.argsort(x, axis=axis),
        lambda x: F.broadcast_to(F.max(x, axis=axis, keepdims=True), x.shape),
    ]  # fmt: skip
    if kind_of(x) == "floating":
        found += [lambda x: F.softmax(x, axis=axis), lambda x: F.log_softmax(x, axis=axis)]
    return found[rng.integers(len(found))]


def _layout(rng: np.random.Generator, x: Any, axis: int) -> Callable[[Any], Any]:
    """Views and copies of elements."""
    before = (slice(None),) * (axis % x.ndim)
    perm = tuple(int(i) for i in rng.permutation(x.ndim))
    # Each of these is for every size: what takes the last two of one row is another matter.
    parts = (slice(None, None, -1), slice(1, None), slice(None, -1), -1, None)
    part = parts[rng.integers(len(parts))]
    places = tl.as_raw_tensor(np.array(_PLACES))
    found: list[Callable[[Any], Any]] = [
        lambda x: F.permute_dims(x, perm), lambda x: F.reshape(x, (-1,)),
        lambda x: x[(*before, part)], lambda x: x[(*before, part)], lambda x: x[..., 0],
        lambda x: F.expand_dims(x, axis=axis), lambda x: F.concat([x, x], axis=axis),
        lambda x: F.stack([x, x], axis=axis), lambda x: F.repeat(x, 2, axis=axis),
        lambda x: F.take(x, places, axis=axis), lambda x: F.tile(x, (2,) + (1,) * (x.ndim - 1)),
    ]  # fmt: skip
    if x.ndim > 1:
        found.append(lambda x: F.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])))
        found.append(lambda x: F.tril(x))
    return found[rng.integers(len(found))]


def _of_sizes(rng: np.random.Generator, x: Any) -> Callable[[Any], Any]:
    """What follows from a size."""
    found: list[Callable[[Any], Any]] = [
        lambda x: F.arange(x.shape[0]) * 2 + F.sum(F.astype(x, "int64")),
        lambda x: F.zeros((x.shape[0], 2)) + F.sum(F.astype(x, "float32")),
    ]
    if kind_of(x) == "floating" or x.dtype in (tl.int32, tl.int64):
        found.append(lambda x: x * x.shape[0])
    return found[rng.integers(len(found))]


def _of_matrices(rng: np.random.Generator, x: Any) -> Callable[[Any], Any]:
    weight = rng.standard_normal((x.shape[-1], 4)) * 0.5
    given = tl.as_raw_tensor(weight.astype(x.dtype.name))
    found: list[Callable[[Any], Any]] = [
        lambda x: F.matmul(x, F.swapaxes(x, -1, -2)) * 0.2,
        lambda x: F.pad(x, ((0, 0),) * (x.ndim - 1) + ((1, 2),)),
        lambda x: F.scan(lambda c, row: (F.tanh(c + row), c * row), F.zeros_like(x[0]), x)[1],
    ]
    if x.shape[-1] != ROWS:
        found.append(lambda x: F.matmul(x, given))
    return found[rng.integers(len(found))]


def _step(rng: np.random.Generator, values: list[Any]) -> Step | None:
    i, j = (int(k) for k in rng.integers(len(values), size=2))
    x, y = values[i], values[j]
    kind, choice = kind_of(x), rng.random()
    own: dict[str, Sequence[Callable[[Any], Any]]] = {"floating": _UNARY, "bool": _BOOLEAN}
    if choice < 0.3:
        functions = own.get(kind, _INTEGER)
        return functions[rng.integers(len(functions))], (i,)
    if choice < 0.45:
        both = {kind, kind_of(y)}
        if (len(both) == 2 and "bool" in both) or not _broadcast(x.shape, y.shape):
            return None
        pairs = _TRUTHS if both == {"bool"} else _PAIRS
        return pairs[rng.integers(len(pairs))], (i, j)
    if x.ndim == 0:
        return lambda x: F.reshape(x, (1,)), (i,)
    axis = int(rng.integers(-x.ndim, x.ndim))
    if choice < 0.6:
        return _reduction(rng, x, axis), (i,)
    if choice < 0.7:
        return _of_rows(rng, x, axis), (i,)
    if choice < 0.85:
        return _layout(rng, x, axis), (i,)
    if choice < 0.9 and kind == "floating" and x.ndim > 1:
        return _of_matrices(rng, x), (i,)
    return _of_sizes(rng, x), (i,)


def _broadcast(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether shapes broadcast whatever number of rows there is."""
    pairs = list(zip(reversed(a), reversed(b), strict=False))
    return all(m == n or (1 in (m, n) and ROWS not in (m, n)) for m, n in pairs)


@dataclass
class RandomFunction:
    """A function of tensors, all of which have the same number of rows.

    Attributes:
        inputs: the shapes behind the rows, and the dtypes.
        steps: what is applied to which values, inputs first.
        results: the numbers of the values that it returns.
    """

    inputs: list[tuple[tuple[int, ...], str]]
    steps: list[Step]
    results: list[int]

    def __call__(self, *xs: Any) -> tuple[Any, ...]:
        """The results for tensor-likes of any kind."""
        values = list(xs)
        for function, places in self.steps:
            values.append(function(*(values[i] for i in places)))
        return tuple(values[i] for i in self.results)

    def arrays(self, rng: np.random.Generator, rows: int) -> list[Any]:
        """What it may be given."""
        return [_array(rng, (rows, *rest), dtype) for rest, dtype in self.inputs]


def _array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    x = rng.standard_normal(shape) * 1.5
    if dtype == "bool":
        return x > 0
    return (abs(np.round(x * 4)) if dtype[0] == "u" else x if dtype[0] == "f" else np.round(x * 4)
            ).astype(dtype)  # fmt: skip


def random_function(seed: int) -> RandomFunction:
    """The function of this number, of up to a dozen steps."""
    rng = np.random.default_rng(seed)
    dtypes = ("float32", "float32", "float64", "int64", "bool", "int32", "uint8")
    rests: tuple[tuple[int, ...], ...] = ((4,), (2, 5), (4, 5), ())
    inputs = [(rests[rng.integers(4)], dtypes[rng.integers(7)]) for _ in range(rng.integers(1, 3))]
    made = RandomFunction(inputs, [], [])
    values = [tl.tensor(x) for x in made.arrays(rng, ROWS)]
    wanted = int(rng.integers(2, 13))
    for _ in range(100):
        step = _step(rng, values) if len(made.steps) < wanted else None
        if step is None:
            continue
        try:
            y = step[0](*(values[i] for i in step[1]))
        except tl.TensorlikeError:
            continue
        found = y.numpy()
        if y.size < 20000 and (found.dtype.kind != "f" or bool(np.all(abs(found) < 1e4))):
            made.steps.append(step)
            values.append(y)
    made.results = sorted({int(rng.integers(len(inputs), len(values))) for _ in range(2)})
    return made

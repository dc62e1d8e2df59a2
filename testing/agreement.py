"""The checks of `opcheck`: each holds two sources of what an op means against each other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _C
from .. import functional as F
from ..imperative.autodiff import grad, vjp
from ..imperative.tensor import Tensor
from ..ops import OpBase
from ..ops.declaring import known_declarations
from ..transforms import jvp, vmap
from ..transforms.batched_call import UnequalExamplesError

Array = np.ndarray[Any, Any]
_STEP = 1e-6
_FACTORS = (1.0, 1.25, 0.75)  # of examples: they keep signs, orders and definiteness


class Finding(NamedTuple):
    """What one check found: ``is_right`` is None where it has nothing to compare."""

    check: str
    is_right: bool | None
    detail: str


class Subject:
    """An op or a functional call, on arguments."""

    def __init__(self, function: Any, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        self.function = function
        self.attrs = attrs
        self.name = _name_of(function)
        self.entry = known_declarations().functions.get(self.name)
        self.arrays = [_as_array(x) for x in args]
        self.rng = np.random.default_rng(7)
        self.moving = [i for i, x in enumerate(self.arrays) if self._moves(i, x)]

    def _moves(self, position: int, x: Array) -> bool:
        """Whether derivatives by this argument are claimed to be those of the function."""
        if x.dtype.kind not in "fc":
            return False
        if self.entry is None or self.entry.grad is None:
            return True
        arg = self.entry.args[min(position, len(self.entry.args) - 1)].name
        return bool(dict(self.entry.grad.rules).get(arg, "derived") is not None)

    @property
    def is_random(self) -> bool:
        """Whether examples have numbers of their own."""
        return getattr(self.entry, "effects", "") == "random"

    def __call__(self, *xs: Any) -> tuple[Any, ...]:
        out = self.function(*xs, **self.attrs)
        return out if isinstance(out, tuple) else (out,)

    def tensors(self) -> list[Any]:
        return [_C.tensor(x) for x in self.arrays]

    def of_moving(self, *moved: Any) -> tuple[Any, ...]:
        xs = self.tensors()
        for i, x in zip(self.moving, moved, strict=True):
            xs[i] = x
        return self(*xs)

    def at(self, shift: float, along: Sequence[Array]) -> list[Any]:
        """The moving arguments, moved."""
        return [
            _C.tensor(np.asarray(self.arrays[i] + shift * t))
            for i, t in zip(self.moving, along, strict=True)
        ]

    def direction(self, x: Array) -> Array:
        """Numbers of both signs, none so small that it would hide an error."""
        along = self._signed(x)
        if x.dtype.kind == "c":
            along = along + 1j * self._signed(x)
        return np.asarray(along, dtype=x.dtype)

    def _signed(self, x: Array) -> Array:
        sizes = self.rng.uniform(0.5, 1.5, x.shape)
        return np.asarray(sizes * self.rng.choice([-1.0, 1.0], x.shape))


def _name_of(function: Any) -> str:
    if isinstance(function, OpBase):
        return str(function)
    if isinstance(function, _C.Function):
        return function.text_signature.partition("(")[0]
    return str(getattr(function, "__name__", function))


def _as_array(x: Any) -> Array:
    array = np.asarray(x.detach() if isinstance(x, Tensor) else x)
    if array.dtype.kind == "f" or array.dtype.name == "bfloat16":
        return array.astype(np.float64)
    return array.astype(np.complex128) if array.dtype.kind == "c" else array


def differ(found: Any, wanted: Any, rtol: float) -> str:
    """How two arrays differ, or ""."""
    a, b = np.asarray(found), np.asarray(wanted)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype.name}{a.shape} is not {b.dtype.name}{b.shape}"
    if a.dtype.kind not in "fc":
        return "" if np.array_equal(a, b) else "elements differ"
    scale = max(1.0, float(np.max(np.abs(np.nan_to_num(b, posinf=0, neginf=0)), initial=0)))
    if np.allclose(a, b, rtol=rtol, atol=rtol * scale, equal_nan=True):
        return ""
    return f"off by {np.nanmax(np.abs(a - b)):.3g} where {scale:.3g} is the largest"


def _all_of(check: str, pairs: Iterator[tuple[Any, Any]], rtol: float, right: str = "") -> Finding:
    for found, wanted in pairs:
        text = differ(found, wanted, rtol)
        if text:
            return Finding(check, False, text)
    return Finding(check, True, right)


def _check_inference(subject: Subject, rtol: float) -> Finding:
    plain = subject(*subject.tensors())
    try:
        specs = subject(*(_C.ShapeTensor(x.shape, _C.tensor(x).dtype) for x in subject.arrays))
    except _C.ShapeError as error:
        if error.missing == "elements":
            return Finding("inference", None, "the shape depends on the elements")
        raise
    for spec, y in zip(specs, plain, strict=True):
        if (spec.shape, spec.dtype) != (y.shape, y.dtype):
            text = f"{spec.dtype.name}{spec.shape} is not {y.dtype.name}{y.shape}"
            return Finding("inference", False, text)
    return Finding("inference", True, "")


def _check_strides(subject: Subject, rtol: float) -> Finding:
    def strided(x: Array) -> Any:
        wide = np.repeat(np.ascontiguousarray(x.T), 2, axis=0) if x.ndim else x
        order = tuple(range(x.ndim))[::-1]
        return F.permute_dims(_C.tensor(wide)[::2], order) if x.ndim else _C.tensor(x)

    found = subject(*(strided(x) for x in subject.arrays))
    pairs = zip(found, subject(*subject.tensors()), strict=True)
    return _all_of("strides", iter(pairs), 1e-12)


def _slopes(subject: Subject) -> tuple[list[Array], Callable[..., Any]] | None:
    """Weights for the outputs, and the loss that they make; None: nothing is differentiable."""
    xs = subject.at(0.0, [np.zeros(())] * len(subject.moving))
    if not xs:
        return None
    try:
        vjp(subject.of_moving, *xs)
    except _C.AutodiffError as error:
        if error.missing == "derivative":
            return None
        raise
    outputs = subject.of_moving(*xs)
    flowing = [y.dtype.kind in ("floating", "complex") for y in outputs]
    if not any(flowing):
        return None
    weights = [subject.direction(np.asarray(y)) for y in outputs]

    def loss(*moved: Any) -> Any:
        total: Any = None
        parts = zip(subject.of_moving(*moved), weights, flowing, strict=True)
        for y, weight, flows in parts:
            if flows:
                term = F.sum(F.real(y * _C.tensor(np.conj(weight))))
                total = term if total is None else total + term
        return total

    return weights, loss


def _inner(x: Any, y: Array) -> float:
    return float(np.sum(np.conj(np.asarray(x)) * y).real)


_NOT_DIFFERENTIABLE = "not differentiable"


def _check_gradient(subject: Subject, rtol: float) -> Finding:
    slopes = _slopes(subject)
    if slopes is None:
        return Finding("gradient", None, _NOT_DIFFERENTIABLE)
    _, loss = slopes
    zero = [np.zeros(())] * len(subject.moving)
    gradients = grad(loss, tuple(range(len(subject.moving))))(*subject.at(0.0, zero))
    for number, (i, gradient) in enumerate(zip(subject.moving, gradients, strict=True)):
        for _ in range(2):
            along = [np.zeros_like(subject.arrays[j]) for j in subject.moving]
            along[number] = subject.direction(subject.arrays[i])
            ends = [loss(*subject.at(h, along)).item() for h in (_STEP, -_STEP)]
            text = differ(_inner(gradient, along[number]), (ends[0] - ends[1]) / (2 * _STEP), rtol)
            if text:
                return Finding("gradient", False, f"by argument {i}: {text}")
    return Finding("gradient", True, "")


def _check_tangent(subject: Subject, rtol: float) -> Finding:
    if _slopes(subject) is None:
        return Finding("tangent", None, _NOT_DIFFERENTIABLE)
    along = [subject.direction(subject.arrays[i]) for i in subject.moving]
    xs = subject.at(0.0, along)
    values, tangents = jvp(subject.of_moving, tuple(xs), tuple(map(_C.tensor, along)))
    after, before = (subject.of_moving(*subject.at(h, along)) for h in (_STEP, -_STEP))

    def pairs() -> Iterator[tuple[Any, Any]]:
        plain = subject.of_moving(*xs)
        for y, dy, again, a, b in zip(values, tangents, plain, after, before, strict=True):
            yield y, again
            if dy is not None:
                yield dy, np.asarray((np.asarray(a) - np.asarray(b)) / (2 * _STEP))

    return _all_of("tangent", pairs(), rtol)


def _check_transposition(subject: Subject, rtol: float) -> Finding:
    slopes = _slopes(subject)
    if slopes is None:
        return Finding("transposition", None, _NOT_DIFFERENTIABLE)
    weights, loss = slopes
    along = [subject.direction(subject.arrays[i]) for i in subject.moving]
    xs = subject.at(0.0, along)
    _, tangents = jvp(subject.of_moving, tuple(xs), tuple(map(_C.tensor, along)))
    gradients = grad(loss, tuple(range(len(xs))))(*xs)
    left = sum(_inner(w, np.asarray(dy)) for w, dy in zip(weights, tangents, strict=True)
               if dy is not None)  # fmt: skip
    right = sum(_inner(g, t) for g, t in zip(gradients, along, strict=True))
    return _all_of("transposition", iter([(left, right)]), 1e-8)


def _check_second_order(subject: Subject, rtol: float) -> Finding:
    slopes = _slopes(subject)
    if slopes is None:
        return Finding("second order", None, _NOT_DIFFERENTIABLE)
    slope = grad(slopes[1], tuple(range(len(subject.moving))))
    along = [subject.direction(subject.arrays[i]) for i in subject.moving]
    _, found = jvp(slope, tuple(subject.at(0.0, along)), tuple(map(_C.tensor, along)))
    # Differences of values alone: a wrong gradient must not vouch for itself.
    for k, i in enumerate(subject.moving):
        other = subject.direction(subject.arrays[i])
        wanted = _mixed_difference(subject, slopes[1], along, k, other, 1000 * _STEP)
        text = differ(_inner(found[k], other), wanted, max(rtol, 1e-3))
        if text:
            return Finding("second order", False, f"by argument {i}: {text}")
    return Finding("second order", True, "")


def _mixed_difference(
    subject: Subject, loss: Any, along: list[Array], k: int, other: Array, step: float
) -> float:
    total = 0.0
    for first, second in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        moved = [np.asarray(first * t) for t in along]
        moved[k] = np.asarray(moved[k] + second * other)
        total += first * second * loss(*subject.at(step, moved)).item()
    return total / (4 * step * step)


def _check_batching(subject: Subject, rtol: float) -> Finding:
    count = len(subject.arrays)
    if count == 0:
        return Finding("batching", None, "no arguments")
    alone = [tuple(i == j for i in range(count)) for j in range(count)]
    for chosen in [(True,) * count, *(alone if count > 1 else [])]:
        given = [_examples_of(x) if m else x for x, m in zip(subject.arrays, chosen, strict=True)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = vmap(subject, tuple(0 if m else None for m in chosen))(
                    *map(_C.tensor, given)
                )
            except UnequalExamplesError:
                return Finding("batching", None, "the shape depends on the elements")
            except UserWarning:
                return Finding("batching", None, "one example after the other")
        kept = 1 if subject.is_random else len(_FACTORS)
        rows = [
            subject(*(_C.tensor(x[e] if m else x) for x, m in zip(given, chosen, strict=True)))
            for e in range(kept)
        ]
        for y, column in zip(found, zip(*rows, strict=True), strict=True):
            wanted = np.stack([np.asarray(one) for one in column])
            text = differ(np.asarray(y)[:kept], wanted, 1e-9)
            if text:
                which = [i for i, m in enumerate(chosen) if m]
                return Finding("batching", False, f"of arguments {which}: {text}")
    return Finding("batching", True, "")


def _examples_of(x: Array) -> Array:
    if x.dtype.kind in "fc":
        return np.stack([np.asarray(x * factor) for factor in _FACTORS])
    return np.stack([np.roll(x.ravel(), k).reshape(x.shape) for k in range(len(_FACTORS))])


CHECKS: tuple[tuple[str, Callable[[Subject, float], Finding]], ...] = (
    ("inference", _check_inference),
    ("strides", _check_strides),
    ("gradient", _check_gradient),
    ("tangent", _check_tangent),
    ("transposition", _check_transposition),
    ("second order", _check_second_order),
    ("batching", _check_batching),
)

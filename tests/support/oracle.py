"""What a declared function must return, and how far off a result may be.

A native function is held to a few units in the last place; a native op that adds up, to what
inputs that are off by as much would give. What a formula promises is what its
steps, each rounded to the dtype, can deliver: the bound is the spread of a few evaluations in
which every step is rounded and then off by a unit or two, so that cancellation widens it where it
happens, and nowhere else.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.opdecl.compiler.model import Entry, OpEntry
from tensorlike.opdecl.oracle.reference import Reference

from .declarations import DECLARED, Array

EXACT = Reference(DECLARED)
# Units in the last place that a native function may be off, measured against a wider evaluation.
NATIVE_ULPS = 3.0
# As their declarations say; what incomplete gamma functions are off grows with the logarithm.
SPECIAL_ULPS, GAMMA_ULPS = 4.5, 16.0
# These swing around 0: they are held to units of the swing, sqrt(2 / (pi x)).
SWINGING = frozenset(["bessel_j0", "bessel_j1"])
INCOMPLETE = frozenset(["igamma", "igammac", "gamma_density"])
# Left of 0 these are sums of two parts that may cancel: they are held to units of the parts.
REFLECTED = frozenset(["lgamma", "digamma", "trigamma"])
# What the dtype itself decides: a wider one gives something else.
OWN_DTYPE = frozenset(["nextafter"])
# A step of a formula is off by this much in each sample; the bound is twice the spread.
STEP_ULPS = 1.5
# Algorithms that are exact for inputs that are off by units of the largest element: of a matrix; of
# logarithms, whose sums along a path are rounded as large as they are.
IS_BACKWARD_STABLE = frozenset(["linear_solvers", "alignment"])
SAMPLES = 8


class _Rounded(Reference):
    """Evaluates with every call's result rounded to a dtype, and off by a unit or two."""

    def __init__(self, dtype: str, seed: int | None) -> None:
        super().__init__(DECLARED)
        self.dtype = dtype
        self.rng = None if seed is None else np.random.default_rng(seed)

    def call(self, function: str, *args: Array, **attrs: Any) -> Any:
        result = super().call(function, *args, **attrs)
        if isinstance(result, tuple):
            return tuple(self._round(part) for part in result)
        return self._round(result)

    def _round(self, value: Any) -> Any:
        array = np.asarray(value)
        if array.dtype.kind != "f":
            return value
        with np.errstate(all="ignore"):
            rounded = array.astype(self.dtype)
            if self.rng is not None:
                units = self.rng.choice([-STEP_ULPS, STEP_ULPS], size=array.shape)
                rounded = rounded + (np.spacing(rounded) * units).astype(self.dtype)
            return rounded.astype(array.dtype)


def widened(array: Array) -> Array:
    """The same values where rounding errors do not matter."""
    wider = {"float32": np.float64, "float64": np.longdouble}.get(array.dtype.name)
    return array if wider is None else array.astype(wider)


def tuple_of(result: Any) -> tuple[Array, ...]:
    """Arrays, whether one came or several."""
    parts = result if isinstance(result, tuple) else (result,)
    return tuple(np.asarray(part) for part in parts)


def expected(entry: Entry, inputs: Sequence[Array], attrs: dict[str, Any]) -> tuple[Array, ...]:
    """The exact results, in a wider dtype for floats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = inputs if entry.name in OWN_DTYPE else [widened(x) for x in inputs]
        return tuple_of(EXACT.call(entry.function, *wide, **attrs))


def tolerances(
    entry: Entry, inputs: Sequence[Array], attrs: dict[str, Any], exact: tuple[Array, ...]
) -> tuple[Array, ...]:
    """How far each element of each result may be off; infinite where the formula overflows, or
    underflows to something else."""
    dtype = next((x.dtype.name for x in inputs if x.dtype.kind == "f"), "float32")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        units = [np.spacing(np.abs(part).astype(dtype)).astype(part.dtype) for part in exact]
        if entry.name in REFLECTED:
            parts = np.maximum(np.abs(exact[0]), np.abs(EXACT.call(entry.name, 1 - inputs[0])))
            parts = np.where(np.isfinite(parts), parts, 0)
            doubled = 2 * np.spacing(parts.astype(dtype)).astype(exact[0].dtype)
            units = [np.where(inputs[0] < 0, np.fmax(doubled, units[0]), units[0])]
        if entry.name in SWINGING:
            swing = np.fmin(np.sqrt(2 / np.pi) / np.sqrt(np.abs(inputs[0])), 1).astype(dtype)
            units = [np.fmax(np.spacing(swing).astype(exact[0].dtype), units[0])]
        if entry.name in INCOMPLETE:
            size = np.nan_to_num(np.abs(np.log(exact[0])), posinf=0.0)
            units = [units[0] * (GAMMA_ULPS + 4 * size) / SPECIAL_ULPS]
        is_special = entry.stem == "elementwise_special"
        bounds = [(SPECIAL_ULPS if is_special else NATIVE_ULPS) * unit for unit in units]
        if entry.is_native and not isinstance(entry, OpEntry):
            return tuple(bounds)
        wide = [widened(x) for x in inputs]
        for seed in (None, *range(SAMPLES)):
            found = _off_by_a_little(entry, wide, attrs, dtype, seed)
            for i, part in enumerate(found):
                spread = 2 * np.abs(part - exact[i])
                spread = np.where(np.isfinite(part) | ~np.isfinite(exact[i]), spread, np.inf)
                # A step that underflows may turn the root of a negative into the root of 0.
                spread = np.where(np.isnan(exact[i]) & np.isfinite(part), np.inf, spread)
                bounds[i] = np.fmax(bounds[i], spread)
        return tuple(bounds)


def _off_by_a_little(
    entry: Entry, wide: Sequence[Array], attrs: dict[str, Any], dtype: str, seed: int | None
) -> tuple[Array, ...]:
    """A formula with each step off by a unit or two; what has no formula, with its inputs off."""
    if not entry.is_native:
        return tuple_of(_Rounded(dtype, seed).call(entry.function, *wide, **dict(attrs)))
    rng = np.random.default_rng(seed)
    unit = STEP_ULPS * np.finfo(dtype).eps
    moved = list(wide)
    for i, x in enumerate(wide):
        if x.dtype.kind in "fc":
            size = np.abs(x).max(initial=0.0) if entry.stem in IS_BACKWARD_STABLE else x
            moved[i] = x + (rng.choice([-unit, unit], size=x.shape) * size).astype(x.dtype)
    return tuple_of(EXACT.call(entry.function, *moved, **dict(attrs)))


def assert_matches(
    entry: Entry,
    outputs: Sequence[Any],
    inputs: Sequence[Array],
    attrs: dict[str, Any] | None = None,
    permitted: Array | None = None,
) -> None:
    """Holds outputs against the oracle; where `permitted` is true anything goes."""
    attrs = attrs or {}
    exact = expected(entry, inputs, attrs)
    assert len(outputs) == len(exact)
    arrays = [np.asarray(output) for output in outputs]
    has_floats = any(array.dtype.kind in "fc" for array in arrays)
    bounds = tolerances(entry, inputs, attrs, exact) if has_floats else exact
    for array, wanted, bound in zip(arrays, exact, bounds, strict=True):
        assert array.shape == wanted.shape
        if array.dtype.kind not in "fc":
            wrong = array != wanted
        else:
            with np.errstate(all="ignore"):
                is_same = (array == wanted.astype(array.dtype)) | (
                    np.isnan(array) & np.isnan(wanted)
                )
                wrong = ~(is_same | (np.abs(array - wanted) <= bound) | (bound == np.inf))
        if permitted is not None:
            wrong &= ~permitted
        assert not wrong.any(), _report(entry, array, wanted, inputs, wrong)


def _report(
    entry: Entry, array: Array, wanted: Array, inputs: Sequence[Array], wrong: Array
) -> str:
    place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    count = f"{int(wrong.sum())} of {wrong.size} elements are wrong"
    text = f"{entry.function}: {count}; the first at {tuple(int(i) for i in place)}"
    shown = [x[place] if x.shape == wrong.shape else x.shape for x in inputs]
    return f"{text}: got {array[place]!r}, expected {wanted[place]!r}, for {shown}"

"""Evaluates declarations on NumPy arrays: formulas, bodies, and what NumPy has by name.

A defined entry is evaluated from its expression or body. A native one names its NumPy function by
the key `numpy` (a dotted name, `math.name`, or an expression in its arguments), or has the same
name there. What NumPy has not is the oracle's (`reference.py`), which is loaded for that alone.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from .expression import CHOICE, ELEMWISE, RESULT, SIZE, Attr, Call, Expr, Name, Num, topological
from .model import NUMPY_NAME, DefinedOp, Entry, ReductionEntry, ScalarEntry
from .parse import parse_expression
from .rule_reader import NO_BOUND

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used


class HasFunctions(Protocol):
    """A set of declarations."""

    @property
    def functions(self) -> Mapping[str, Entry]:
        """The entries by their functional calls."""


class Evaluator:
    """Calls the functions of a set of declarations."""

    def __init__(self, declarations: HasFunctions) -> None:
        self.functions = declarations.functions

    def call(self, function: str, *args: Array, **attrs: Any) -> Any:
        """The result of a functional call: an array, or a tuple of several."""
        import numpy as np

        entry = self.functions[function]
        attrs |= dict(entry.fixed)
        for attr in entry.attrs:
            if attr.name not in attrs and not attr.is_required:
                attrs[attr.name] = attr.default
        with np.errstate(all="ignore"):
            if isinstance(entry, ReductionEntry):
                return self._reduce(entry, args[0], attrs)
            if isinstance(entry, ScalarEntry) and entry.outputs:
                results = tuple(output.formula.results[0] for output in entry.outputs)
            elif isinstance(entry, DefinedOp):
                results = entry.define.results
            else:
                return self._native(entry, args, attrs)
            left_out = (arg.default for arg in entry.args[len(args) :] if arg.default is not None)
            names = {
                arg.name: value for arg, value in zip(entry.args, [*args, *left_out], strict=True)
            }
            values = self.evaluate(results, names, attrs)
        return values[0] if len(values) == 1 else values

    def evaluate(
        self,
        results: Sequence[Expr],
        names: Mapping[str, Array],
        attrs: Mapping[str, Any] | None = None,
    ) -> tuple[Array, ...]:
        """The values of expressions, given those of their names and attributes."""
        import numpy as np

        values: dict[Expr, Any] = {}
        given_attrs = attrs or {}
        for node in topological(results):
            if isinstance(node, Name):
                is_argument = node.id in names
                values[node] = np.asarray(names[node.id]) if is_argument else given_attrs[node.id]
            elif isinstance(node, Num):
                values[node] = node.value
            elif isinstance(node, Call) and node.function == SIZE:
                values[node] = int(np.size(values[node.args[0]]))
            elif isinstance(node, Call):
                given = {
                    name: attribute_value(attr, values, given_attrs) for name, attr in node.attrs
                }
                args = [values[arg] for arg in node.args]
                name = node.function
                if name == ELEMWISE:
                    name = given.pop("mode")
                    args += [arg.default for arg in self.functions[name].args[1:]]
                if name == CHOICE:
                    values[node] = args[0] if given["when"] else args[1]
                elif name == RESULT:
                    values[node] = args[0][given["number"]]
                else:
                    values[node] = self.call(name, *args, **given)
        return tuple(values[result] for result in results)

    def _native(self, entry: Entry, args: Sequence[Array], attrs: Mapping[str, Any]) -> Any:
        import numpy as np

        name = entry.numpy or entry.function
        if not NUMPY_NAME.match(name):
            names = {arg.name: value for arg, value in zip(entry.args, args, strict=True)}
            return self.evaluate(parse_expression(name).results, names, attrs)[0]
        if name.startswith("math."):
            return np.vectorize(getattr(math, name.removeprefix("math.")), otypes=[float])(*args)
        target: Any = np
        for part in name.split("."):
            target = getattr(target, part, None)
        if target is None:
            return self._unknown(entry, args, attrs)
        if entry.args and entry.args[0].is_variadic:
            args = [list(args)]
        if isinstance(entry, ScalarEntry):
            return target(*args)
        return target(*args, *attrs.values())

    def _unknown(self, entry: Entry, args: Sequence[Array], attrs: Mapping[str, Any]) -> Any:
        from ..oracle.reference import Reference  # which few declarations need

        return Reference(self).call(entry.function, *args, **attrs)

    def _reduce(self, entry: ReductionEntry, x: Array, attrs: Mapping[str, Any]) -> Any:
        """Folds the reduced elements with the declared `combine`."""
        import numpy as np

        x = np.asarray(x)
        axis, keepdims = attrs["axis"], attrs["keepdims"]
        x = x if attrs.get("dtype") is None else x.astype(attrs["dtype"])
        if entry.map is None or entry.combine is None:
            oracle = getattr(np, entry.numpy or entry.name, None)
            if oracle is None:
                raise NotImplementedError(f"{entry.name} has no oracle; give it the key `numpy`")
            return oracle(x, axis=axis, keepdims=keepdims)
        axes = range(x.ndim) if axis is None else np.atleast_1d(axis) % max(x.ndim, 1)
        reduced = sorted(int(i) for i in axes)
        kept = [i for i in range(x.ndim) if i not in reduced]
        count = math.prod(x.shape[i] for i in reduced)
        shape = [x.shape[i] for i in kept]
        mapped = np.asarray(self.evaluate(entry.map.results, {entry.args[0].name: x})[0])
        if entry.result in ("int64", "sum") and mapped.dtype.kind not in "fc":
            mapped = mapped.astype(np.uint64 if mapped.dtype.kind == "u" else np.int64)
        rows = mapped.transpose([*reduced, *kept]).reshape([count, *shape])
        acc = np.full(shape, first_value(entry.init, mapped), dtype=mapped.dtype)
        for row in rows:
            acc = self.evaluate(entry.combine.results, {"a": acc, "b": row})[0]
        if entry.finish is not None:
            acc = self.evaluate(entry.finish.results, {"acc": acc, "n": count})[0]
        if not keepdims:
            return np.asarray(acc)
        return np.reshape(acc, [1 if i in reduced else x.shape[i] for i in range(x.ndim)])


def first_value(init: str, mapped: Array) -> Any:
    """What a reduction of such elements starts with."""
    import numpy as np

    if init in ("lowest", "highest"):
        is_low = init == "lowest"
        if mapped.dtype.kind == "f":
            return -np.inf if is_low else np.inf
        info = np.iinfo(mapped.dtype)
        return info.min if is_low else info.max
    return {"0": 0, "1": 1, "false": False, "true": True}[init]


def attribute_value(attr: Attr, values: Mapping[Expr, Any], attrs: Mapping[str, Any]) -> Any:
    """What an attribute of a call is, given values of nodes, and the attributes around."""
    import numpy as np

    parts = [attribute_value(part, values, attrs) for part in attr.parts]
    if attr.kind in ("arithmetic", "list"):
        return OPERATORS[attr.name](*parts)
    if attr.kind == "tuple":
        return tuple(n for part in parts for n in (part if isinstance(part, tuple) else (part,)))
    if attr.of is None:
        return attr.literal if attr.kind == "literal" else attrs[attr.name]
    value = values[attr.of]
    if not hasattr(value, "shape"):  # a number of Python
        value = np.asarray(value)
    if attr.kind == "dtype":
        return value.dtype
    if attr.kind in ("size", "rank"):
        return value.size if attr.kind == "size" else value.ndim
    return value.shape if attr.kind == "shape" else value.shape[parts[0] if parts else attr.dim]


def _resized(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    axis %= len(shape)
    return (*shape[:axis], size, *shape[axis + 1 :])


OPERATORS: Mapping[str, Callable[..., Any]] = {
    "inverse": lambda axes: tuple(sorted(range(len(axes)), key=lambda i: axes[i] % len(axes))),
    "resized": _resized,
    "sliced": lambda shape, start, stop: shape[
        (None if start == NO_BOUND else start) : (None if stop == NO_BOUND else stop)
    ],
    "swapped": lambda rank: (*range(rank - 2), rank - 1, rank - 2),
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "minimum": min,
    "maximum": max,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "logical_not": operator.not_,
}

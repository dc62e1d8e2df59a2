"""One doctest example for each functional call, its expected output computed by `reference`.

An entry's `example` gives the inputs; scalar functions and reductions have usual ones without it.
Values are only printed where float32 and float64 agree on what is shown.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from .evaluate import Evaluator
from .model import Category, Entry, ExampleValue, ReductionEntry, ScalarEntry
from .python_text import WIDTH, literal

DIGITS = 4
FLOATS: tuple[list[ExampleValue], ...] = ([0.5, 2.0], [2.0, 0.25], [1.0, 3.0], [0.75, 0.5])
INTEGERS: tuple[list[ExampleValue], ...] = ([6, 3], [2, 1])
BOOLEANS: tuple[list[ExampleValue], ...] = ([True, False], [True, True])
REDUCED: dict[str, list[ExampleValue]] = {
    "float": [1.0, 2.0, 4.0], "int": [3, 1, 2], "bool": [True, False, True],
}  # fmt: skip

# The dtype that stands for a category in examples and tests.
KINDS_OF_INPUT: Mapping[Category, str] = {
    Category.ALL: "float",
    Category.NUMERIC: "float",
    Category.REAL_NUMERIC: "float",
    Category.REAL_OR_BOOLEAN: "float",
    Category.FLOATING: "float",
    Category.REAL_FLOATING: "float",
    Category.INTEGER: "int",
    Category.INTEGER_OR_BOOLEAN: "int",
    Category.BOOLEAN: "bool",
}


class _NoExample(Exception):
    pass


def example_lines(entry: Entry, evaluator: Evaluator) -> list[str]:
    """The lines of the example; none where the entry cannot have one."""
    values = example_values(entry)
    needed = [attr.name for attr in entry.attrs if attr.is_required]
    if any(name not in values for name in [*(arg.name for arg in entry.args), *needed]):
        return []
    try:
        result = _evaluate(entry, values, evaluator)
        lines, call = _call_text(entry, values)
        lines += _shown(call, result)
    except (_NoExample, NotImplementedError):
        return []
    return [">>> import tensorlike as tl", *lines]


def example_values(entry: Entry) -> dict[str, ExampleValue]:
    """What the entry's example gives arguments and attributes; usual values where it has none."""
    if entry.example:
        return dict(entry.example)
    values: dict[str, ExampleValue] = {}
    if isinstance(entry, ReductionEntry):
        return {entry.args[0].name: REDUCED[KINDS_OF_INPUT[entry.args[0].category]]}
    if isinstance(entry, ScalarEntry):
        pools = {"float": FLOATS, "int": INTEGERS, "bool": BOOLEANS}
        for i, arg in enumerate(entry.args):
            pool = pools[KINDS_OF_INPUT[arg.category]]
            value = pool[i % len(pool)]
            values[arg.name] = value if len(entry.args) <= 3 else value[:1]
    return values


def _evaluate(entry: Entry, values: dict[str, ExampleValue], evaluator: Evaluator) -> Any:
    """The result in float64, if that in float32 looks the same."""
    import numpy as np

    def run(floating: type) -> Any:
        tensors: list[Any] = []
        for arg in entry.args:
            value = values[arg.name]
            parts = value if arg.is_variadic and isinstance(value, list) else [value]
            for part in parts:
                array = np.asarray(part)
                tensors.append(array.astype(floating) if array.dtype.kind == "f" else array)
        attrs = {attr.name: values[attr.name] for attr in entry.attrs if attr.name in values}
        result = evaluator.call(entry.function, *tensors, **attrs)
        return list(result) if isinstance(result, tuple) else result

    wide, narrow = run(np.float64), run(np.float32)
    pairs = zip(_flat(wide), _flat(narrow), strict=True)
    if not all(_is_stable(a, b) for a, b in pairs):
        raise _NoExample
    return wide


def _flat(result: Any) -> list[Any]:
    import numpy as np

    parts = result if isinstance(result, list) else [result]
    return [value for part in parts for value in np.asarray(part).ravel().tolist()]


def _is_stable(wide: Any, narrow: Any) -> bool:
    if not isinstance(wide, float):
        return bool(wide == narrow)
    edge = abs(wide * 10**DIGITS % 1 - 0.5)
    return round(wide, DIGITS) == round(float(narrow), DIGITS) and edge > 0.01


def _is_short(value: Any) -> bool:
    """Whether a float prints the same from float32."""
    return not isinstance(value, float) or (value * 64).is_integer()


def _call_text(entry: Entry, values: dict[str, ExampleValue]) -> tuple[list[str], str]:
    """Lines to write first, and the text of the call."""
    tensors: list[str] = []
    names: list[str] = []
    for arg in entry.args:
        value = values[arg.name]
        if arg.is_variadic and isinstance(value, list):
            parts = [f"tl.tensor({part!r})" for part in value]
            new = parts if arg is not entry.args[0] else [f"[{', '.join(parts)}]"]
        else:
            new = [f"tl.tensor({value!r})"]
        tensors += new
        names += [arg.name] if len(new) == 1 else [f"{arg.name}{i}" for i in range(len(new))]
    attrs = [
        f"{attr.name}={_attr_text(attr.type, values[attr.name])}"
        for attr in entry.attrs
        if attr.name in values
    ]
    call = f"tl.functional.{entry.function}({', '.join([*tensors, *attrs])})"
    if len(call) <= 60:
        return [], call
    if len(entry.args) > 3:
        given_values: list[ExampleValue] = []
        for arg in entry.args:
            value = values[arg.name]
            given_values += value if arg.is_variadic and isinstance(value, list) else [value]
        given = ", ".join(str(part) for part in given_values)
        lines = textwrap.wrap(f">>> values = [{given}]", WIDTH - 8, subsequent_indent="...     ")
        return [
            *lines,
            ">>> tensors = [tl.tensor(value) for value in values]",
        ], f"tl.functional.{entry.function}({', '.join(['*tensors', *attrs])})"
    lines = [f">>> {name} = {text}" for name, text in zip(names, tensors, strict=True)]
    return lines, f"tl.functional.{entry.function}({', '.join([*names, *attrs])})"


def _attr_text(kind: str, value: ExampleValue) -> str:
    if kind == "dtype":
        return f"tl.{value}"
    if isinstance(value, list):
        return repr(tuple(value))
    return literal(value)


def _shown(call: str, result: Any) -> Sequence[str]:
    import numpy as np

    if isinstance(result, list):
        shown = [_rounded(np.asarray(part).tolist()) for part in result]
        if all(_is_short(value) for value in _flat(result)):
            return [f">>> [part.tolist() for part in {call}]", repr(shown)]
        if any(np.ndim(part) != 1 for part in result):
            shapes = [np.shape(part) for part in result]
            return [*_fitted(">>> [part.shape for part in ", call, "]"), repr(shapes)]
        inner = f"[round(v, {DIGITS}) for v in part.tolist()]"
        return [*_fitted(f">>> [{inner} for part in ", call, "]"), repr(shown)]
    array = np.asarray(result)
    shown = _rounded(array.tolist())
    if all(_is_short(value) for value in _flat(array)):
        return [f">>> {call}.tolist()", repr(shown)]
    if array.ndim == 0:
        return [f">>> round({call}.tolist(), {DIGITS})", repr(shown)]
    if array.ndim == 1:
        return [*_fitted(f">>> [round(v, {DIGITS}) for v in ", call, ".tolist()]"), repr(shown)]
    if array.ndim == 2:
        inner = f"[round(v, {DIGITS}) for v in row]"
        return [*_fitted(f">>> [{inner} for row in ", call, ".tolist()]"), repr(shown)]
    raise _NoExample


def _fitted(before: str, call: str, after: str) -> list[str]:
    """A line that reads a call, or two where one would be too long."""
    line = before + call + after
    return [line] if len(line) <= WIDTH - 8 else [f">>> y = {call}", f"{before}y{after}"]


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, DIGITS) + 0.0 if isinstance(value, float) else value

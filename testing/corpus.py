"""Example: a functional call on the arguments that its declaration gives it as an example.

What holds all ops against something (`coverage`, `testing`) tries these, and declares nothing anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _C
from ..ops.declaring import known_declarations

if TYPE_CHECKING:  # the declarations are read when somebody asks, not on import
    from ..opdecl.compiler.model import Category, Entry

# Where scalar functions are tried, the first that gives finite numbers.
_RANGES = ((0.4, 1.6), (0.1, 0.9), (-0.9, -0.1), (1.2, 2.0))


class Example:
    """A functional call on the arguments of its example; floating-point numbers in float64."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.function = _C.Function(entry.function)
        from ..opdecl.compiler.examples import example_values

        values = example_values(entry)
        self.attrs = {
            attr.name: tuple(value) if isinstance(value := values[attr.name], list) else value
            for attr in entry.attrs
            if attr.name in values
        }
        for attr in entry.attrs:
            if attr.type == "dtype" and attr.name in self.attrs:
                self.attrs[attr.name] = "float64"  # of integers there is no derivative
        self.arrays = list(self._arrays(values))
        if entry.kind == "scalar":
            self._take_smooth()

    def _arrays(self, values: Mapping[str, Any]) -> Iterator[tuple[Category, Any]]:
        for arg in self.entry.args:
            value = values[arg.name]
            for part in value if arg.is_variadic else [value]:
                array = np.asarray(part)
                is_number = arg.category.rank >= 2 and array.dtype.kind in "fi"
                yield arg.category, array.astype(np.float64) if is_number else array

    def _take_smooth(self) -> None:
        """Where functions are smooth, if the example is not of such places."""
        for low, high in _RANGES:
            drawn = [
                np.linspace(low, high, 3) + i / 16 if x.dtype.kind == "f" else x
                for i, (_, x) in enumerate(self.arrays)
            ]
            if all(x.dtype.kind == "f" for x in drawn):
                outputs = self(*map(_C.tensor, drawn))
                if all(np.isfinite(np.asarray(y)).all() for y in outputs):
                    kinds = [category for category, _ in self.arrays]
                    self.arrays = list(zip(kinds, drawn, strict=True))
                    return

    def __call__(self, *xs: Any) -> tuple[Any, ...]:
        out = self.function(*xs, **self.attrs)
        return out if isinstance(out, tuple) else (out,)

    def tensors(self) -> list[Any]:
        return [_C.tensor(x) for _, x in self.arrays]

    def moving(self) -> list[int]:
        unknown = [arg.name in self.entry.unknown_slopes for arg in self.entry.args]
        return [
            i
            for i, (_, x) in enumerate(self.arrays)
            if x.dtype.kind in "fc" and not unknown[min(i, len(unknown) - 1)]
        ]

    def of_moving(self, *moved: Any) -> tuple[Any, ...]:
        xs = self.tensors()
        for i, x in zip(self.moving(), moved, strict=True):
            xs[i] = x
        return self(*xs)

    @property
    def has_gradient(self) -> bool:
        """Whether it has one, by an argument that moves."""
        from ..opdecl.compiler.model import is_differentiable

        return bool(is_differentiable(self.entry) and self.moving())


def examples(names: Any = None) -> list[Example]:
    """Those of all functional calls that take tensors, or of some, in the order of declaration.

    Raises:
        ParameterError: a name is not that of a functional call.
    """
    known = known_declarations().functions
    for name in names or ():
        if name not in known:
            raise _C.ParameterError(
                "names must be of functional calls", op="examples", got=repr(name)
            )
    chosen = tuple(known.values()) if names is None else [known[name] for name in names]
    return [example for entry in chosen if (example := Example(entry)).arrays]

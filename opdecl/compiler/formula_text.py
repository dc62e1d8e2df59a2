"""What a scalar function is for some dtypes, as its declaration says it under `formula`."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import Place

COMPLEX_FLOATING = "complex floating-point"  # beside the categories that arguments have
DTYPES = ("float32", "float64", "complex64", "complex128")


@dataclass(frozen=True, slots=True)
class FormulaText:
    """A formula, which is read where it is printed; `of` is a dtype, a category, or "" for all."""

    of: str
    text: str
    place: Place

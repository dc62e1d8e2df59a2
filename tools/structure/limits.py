"""What the numbers may not exceed: the one place where that is said.

What was measured when a limit was written, or what the design asks for where that is met. Make a
number smaller and lower its limit in the same commit; a limit that has to grow wants a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from .table import Table

# By the title of a table, a row and a column.
Limits: TypeAlias = Mapping[str, Mapping[str, Mapping[str, "int | float"]]]

LIMITS: Limits = {
    "lines": {"all rooms": {"comments %": 25}},
    "functions": {
        "C++": {"median": 6, "p90": 22, "p99": 45, "longest": 76, "over 60": 4},
        "Python": {"median": 6, "p90": 20, "p99": 36, "longest": 75, "over 60": 1},
    },
    "rules written by hand": {
        "inference": {"op classes": 35},
        "kernel": {"op classes": 83},
        "gradient": {"op classes": 17},
        "body": {"op classes": 3},
        "view": {"op classes": 6},
    },
    "what is declared": {"scalar functions": {"native": 93}, "reductions": {"native": 2}},
    "formulas of scalar functions": {
        "primitives": {"functions": 30},
        "without a formula": {"functions": 0},
    },
    "a native op in a new family": {
        "lists to edit": {"files": 4},
        "files of its own": {"files": 6},
    },
    "places that should become fewer": {
        "call sites of launch_small": {"places": 5},
        'ops asked for by name ("Elemwise", "Reduce")': {"places": 2},
        "ops asked for by class (== elemwise(), constant(), ...)": {"places": 9},
        "attributes read by position (op.attrs[1])": {"places": 7},
        "get<std::string> of attributes": {"places": 24},
        "gradient rules that ask for a kind of value": {"places": 0},
        "EngineMode above the engine": {"places": 3},
        "texts of errors that code looks into": {"places": 20},
        'functions fetched by name (_C.Function("..."))': {"places": 0},
        "checks switched off (# type: ignore)": {"places": 53},
        "notes of work to do": {"places": 0},
        "functions declared below the floor that defines them": {"places": 7},
    },
    "ways through the house": {
        "F.gelu(x)": {"Python frames": 0, "C++ functions": 9},
        "y.backward()": {"Python frames": 1, "C++ functions": 19},
        "grad(f)(x), three ops": {"Python frames": 40, "C++ functions": 25},
        "declare, a scalar": {"Python files": 28, "C++ functions": 10},
    },
    "ops of a gradient": {
        "gelu": {"plain": 1, "on a Listing": 1, "on a Carrier": 1},
        "attention": {"plain": 1, "on a Listing": 1, "on a Carrier": 1},
        "LSTM, 2 steps": {"plain": 3, "on a Listing": 2, "on a Carrier": 2},
        "LSTM, 32 steps": {"plain": 3, "on a Listing": 2, "on a Carrier": 2},
    },
}


def broken(tables: Iterable[Table], limits: Limits = LIMITS) -> list[str]:
    """A line for each limit that is not kept, or whose number is not there any more."""
    numbers = {key: value for table in tables for key, value in table.numbers().items()}
    wrong = []
    for title, rows in limits.items():
        for row, columns in rows.items():
            for column, most in columns.items():
                found = numbers.get((title, row, column))
                if found is None:
                    wrong.append(f"{title}: {row}: {column}: must be known; it is not")
                elif found > most:
                    wrong.append(f"{title}: {row}: {column}: must be at most {most}; got {found}")
    return wrong

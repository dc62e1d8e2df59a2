"""Places of a kind in the code that should become fewer: each is a pattern, counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .cpp_source import without_comments
from .floors import arrows_up
from .sources import FLOORS, ROOMS, ROOT, cpp_files, python_files, text_of
from .table import Table

# But for the binding, which hands on what users choose.
_ABOVE_THE_ENGINE = FLOORS[FLOORS.index("bind") + 1 : FLOORS.index("engine")]
_ERROR_TEXT = (  # a text is asked what it holds, or is taken to pieces
    r"\bwhat\(\)\s*\.|\bwhat\.(?:find|starts_with|ends_with|substr)|\bmessage\.(?:find|substr)"
    r"|\bin (?:str\(error\)|error\.args\[0\])|\bstr\(error\)(?:\.| ==)"
)

# What: (the pattern, in C++ or in Python, and where; what the core itself may have is left out).
_PATTERNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "call sites of launch_small": (r"(?<!> )\blaunch_small\(", ("csrc",)),
    'ops asked for by name ("Elemwise", "Reduce")': (r'[!=]= "(?:Elemwise|Reduce)"', ("csrc",)),
    "ops asked for by class (== elemwise(), constant(), ...)": (
        r"[!=]= &?registry\(\)\.(?:elemwise|reduce|constant)\(\)", ("csrc",),
    ),
    "attributes read by position (op.attrs[1])": (r"\bop\.attrs\[\d\]", ("csrc",)),
    "get<std::string> of attributes": (r"get<std::string>", ("csrc",)),
    "gradient rules that ask for a kind of value": (
        r"tag\s*[!=]=\s*Value::k\w+", ("csrc/rules/",),
    ),
    "EngineMode above the engine": (
        r"\bEngineMode\b", tuple(f"csrc/{floor}/" for floor in _ABOVE_THE_ENGINE),
    ),
    "texts of errors that code looks into": (_ERROR_TEXT, ("csrc", *ROOMS)),
    'functions fetched by name (_C.Function("..."))': (r'_C\.Function\("', ROOMS),
    "checks switched off (# type: ignore)": (r"# type: ignore", ROOMS),
    "notes of work to do": (r"\b(?:TODO|FIXME|XXX)\b", ("csrc", *ROOMS)),
}  # fmt: skip


def places(pattern: str, under: tuple[str, ...]) -> Iterator[tuple[Path, int]]:
    """The files and lines where a pattern stands; in C++ outside of comments."""
    for path in (*cpp_files(), *python_files()):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(under):
            continue
        text = text_of(path)
        if path.suffix != ".py" and "TODO" not in pattern:
            text = without_comments(text)
        for found in re.finditer(pattern, text):
            yield path, text.count("\n", 0, found.start()) + 1


def habits() -> Table:
    """How often each kind stands there, and in how many files."""
    table = Table("places that should become fewer", ("places", "files"))
    for what, (pattern, under) in _PATTERNS.items():
        found = list(places(pattern, under))
        table.rows[what] = (len(found), len({path for path, _ in found}))
    arrows = list(arrows_up())
    table.rows["functions declared below the floor that defines them"] = (
        len(arrows), len({arrow.header for arrow in arrows}),
    )  # fmt: skip
    return table

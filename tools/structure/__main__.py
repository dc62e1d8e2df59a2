"""`./dev structure [--check] [--json FILE]`: how the code is built, in tables.

With --check, numbers above their limits in `limits.py` are told and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from . import habits, programs, rooms, rules, ways
from .limits import broken
from .table import Table

TABLES = (
    rooms.lines, rooms.lengths, rules.by_hand, rules.declared, rules.formulas, rules.a_native_op,
    habits.habits, ways.ways, programs.gradients,
)  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    """Prints the tables; returns the exit status."""
    parser = argparse.ArgumentParser(prog="./dev structure", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the limits")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    options = parser.parse_args(words)
    tables: list[Table] = []
    for measure in TABLES:
        tables.append(measure())
        print(tables[-1], end="\n\n", flush=True)
    if options.json:
        rows = {table.title: {"columns": table.columns, "rows": table.rows} for table in tables}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    if not options.check:
        return 0
    wrong = broken(tables)
    print("\n".join(wrong) or "All are within their limits.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

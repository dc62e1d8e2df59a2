"""The command `python -m opdecl`: writes what is generated from the declarations.

Run it from the repository's root. Without options it writes the committed Python; `--check`
compares instead; `--cpp DIR` and `--docs DIR` write the C++ and the op reference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .emit_reductions import emit_reductions
from .emit_scalars import emit_scalars
from .emit_tables import emit_tables
from .errors import DeclarationError
from .registry import ROOM, Declarations, load_builtin

ROOT = ROOM.parent


def cpp_files(declarations: Declarations) -> dict[str, str]:
    """The generated C++ by file name."""
    files = {
        "tables.cpp": emit_tables(declarations),
        "reductions.inc": emit_reductions(declarations),
    }
    for stem in declarations.stems:
        text = emit_scalars(declarations, stem)
        if text:
            files[f"scalars_{stem}.inc"] = text
    return files


def write_changed(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Writes the files whose content differs; builds then redo only what they must."""
    written = []
    for name, text in files.items():
        path = folder / name
        data = text.encode()
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            written.append(path)
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit status is 1 where something is stale or wrong."""
    parser = argparse.ArgumentParser(prog="python -m opdecl", description=(__doc__ or ""))
    parser.add_argument("--cpp", metavar="DIR", type=Path, help="write the C++ into DIR")
    options = parser.parse_args(arguments)
    try:
        declarations = load_builtin()
    except DeclarationError as error:
        print(error, file=sys.stderr)
        return 1
    if options.cpp is not None:
        write_changed(options.cpp, cpp_files(declarations))
    return 0


if __name__ == "__main__":
    sys.exit(main())

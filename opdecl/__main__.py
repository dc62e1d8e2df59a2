"""The command `python -m opdecl`: writes what is generated from the declarations.

Without options it writes the committed Python; `--check` compares instead; `--cpp DIR`,
`--cuda DIR` and `--docs DIR` write the C++, the CUDA C and the op reference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .compiler.emit_attr_types import emit_attr_types
from .compiler.emit_coefficients import emit_coefficients
from .compiler.emit_cuda import emit_cuda
from .compiler.emit_docs import emit_attribute_docs, emit_docs, emit_onnx_docs
from .compiler.emit_functional import emit_functional
from .compiler.emit_methods import emit_methods
from .compiler.emit_onnx import emit_onnx
from .compiler.emit_ops import emit_ops
from .compiler.emit_reductions import emit_reductions
from .compiler.emit_scalars import emit_scalars
from .compiler.emit_tables import emit_tables
from .compiler.errors import DeclarationError
from .compiler.formula_reader import load_formulas
from .compiler.identities import load_identities
from .compiler.onnx_entries import entries as onnx_entries
from .compiler.registry import ROOM, Declarations, load_builtin
from .compiler.scalar_code import all_code
from .compiler.specs import IdentitySpec

ROOT = ROOM.parent
COMPOSED_CALLS = ROOM.resolve().parent / "functional"


def cpp_files(
    declarations: Declarations, identities: Sequence[IdentitySpec] = ()
) -> dict[str, str]:
    """The generated C++ by file name."""
    files = {
        "built_in.cpp": emit_tables(declarations, identities),
        "reductions.inc": emit_reductions(declarations),
    }
    for stem in declarations.stems:
        text = emit_scalars(declarations, stem)
        if text:
            files[f"scalars_{stem}.inc"] = text
    return files


def python_files(declarations: Declarations, functional: Path | None = None) -> dict[str, str]:
    """The generated Python by path from the repository's root.

    `functional` is the folder of the composed calls of which some are methods.
    """
    ops, calls = emit_ops(declarations), emit_functional(declarations)
    methods = emit_methods(declarations, functional)
    return {
        **{f"ops/generated/{name}": text for name, text in ops.items()},
        **{f"functional/generated/{name}": text for name, text in calls.items()},
        **{f"imperative/generated/{name}": text for name, text in methods.items()},
    }


def stale_files(root: Path, files: Mapping[str, str]) -> list[str]:
    """The files that differ from `files`, are missing, or lie there without being generated."""
    wrong = [
        name
        for name, text in files.items()
        if not (root / name).is_file() or (root / name).read_bytes() != text.encode()
    ]
    folders = {(root / name).parent for name in files}
    there = {path.relative_to(root).as_posix() for d in folders for path in d.glob("*.py")}
    return sorted([*wrong, *(there - set(files))])


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


def write_python(root: Path, files: Mapping[str, str]) -> None:
    """Makes the generated folders hold `files` and nothing else."""
    for name in set(stale_files(root, files)) - set(files):
        (root / name).unlink()
    write_changed(root, files)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit status is 1 where something is stale or wrong."""
    parser = argparse.ArgumentParser(prog="python -m opdecl", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the Python, write nothing")
    parser.add_argument("--cpp", metavar="DIR", type=Path, help="write the C++ into DIR")
    parser.add_argument("--cuda", metavar="DIR", type=Path, help="write the CUDA C into DIR")
    parser.add_argument("--docs", metavar="DIR", type=Path, help="write the op reference into DIR")
    options = parser.parse_args(arguments)
    try:
        declarations = load_builtin()
        identities = load_identities(declarations)
        code = all_code(declarations)
    except DeclarationError as error:
        print(error, file=sys.stderr)
        return 1
    if options.cpp is not None:
        write_changed(options.cpp, cpp_files(declarations, identities))
        write_changed(options.cpp, {"attr_types.inc": emit_attr_types()})
        ops = [entry for versions in onnx_entries().values() for entry in versions]
        write_changed(options.cpp, {"onnx_ops.inc": emit_onnx(ops)})
        write_changed(options.cpp, {"coefficients.inc": emit_coefficients(load_formulas())})
    if options.cuda is not None:
        write_changed(options.cuda, emit_cuda(code))
    if options.docs is not None:
        pages = {
            **emit_docs(declarations),
            "attributes.md": emit_attribute_docs(),
            "onnx.md": emit_onnx_docs(declarations),
        }
        write_changed(options.docs, pages)
    if options.check:
        stale = stale_files(ROOT, python_files(declarations, COMPOSED_CALLS))
        for name in stale:
            print(f"{name}: stale; run `python -m opdecl`", file=sys.stderr)
        return 1 if stale else 0
    if options.cpp is None and options.cuda is None and options.docs is None:
        write_python(ROOT, python_files(declarations, COMPOSED_CALLS))
        for entry in declarations.raw:
            print(f"Skipped: {entry.name}, which is written by hand in {entry.written_in}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tensorlike``: what other programs ask of an installed package.

    python -m tensorlike cmake-dir             the folder for CMake's tensorlike_DIR
    python -m tensorlike native-include        the folder of tensorlike_native.h
    python -m tensorlike run-path              tl-run, which runs saved programs without Python
    python -m tensorlike cpp-functions         which functions C++ programs call by name
    python -m tensorlike draw TAPE.dot OUT.svg a graph that a tape wrote, as a picture
"""

from __future__ import annotations

import sys
from pathlib import Path

from . import _C
from .inspection.drawing import draw
from .installation import native_include


def cmake_dir() -> Path:
    """The folder of the CMake package of libtensorlike, for C++ programs.

    Raises:
        FileNotFoundError: this installation has none: it was built without the C++ library.
    """
    folder = Path(_C.__file__).resolve().parent / "cmake"
    if not (folder / "tensorlike-config.cmake").exists():
        raise FileNotFoundError(
            f"cmake-dir: the package must have been installed with its C++ library; there is no "
            f"{folder}; install it by pip, with TENSORLIKE_CPP_PACKAGE on."
        )
    return folder


def run_path() -> Path:
    """The program tl-run.

    Raises:
        FileNotFoundError: this installation has none.
    """
    program = Path(_C.__file__).resolve().parent / "bin" / "tl-run"
    if not program.exists():
        raise FileNotFoundError(
            f"run-path: the package must have been installed with its programs; there is no "
            f"{program}; install it by pip."
        )
    return program


def cpp_functions() -> str:
    """The functions that ``Tape::AddOp`` takes by name, and those composed of them in Python."""
    from . import functional
    from .functional import fft, linalg, random

    declared = set(_C.function_names())
    rooms = {"": functional, "fft.": fft, "linalg.": linalg, "random.": random}
    composed = {
        prefix + name
        for prefix, room in rooms.items()
        for name in room.__all__
        if not isinstance(getattr(room, name), _C.Function)
    }
    return "\n".join(
        [
            "By name in C++ (declared):",
            *(f"  {name}" for name in sorted(declared)),
            "In Python alone (composed of them):",
            *(f"  {name}" for name in sorted(composed)),
        ]
    )


def main(arguments: list[str]) -> int:
    """Does what the arguments say; returns the exit status."""
    try:
        if arguments == ["cmake-dir"]:
            print(cmake_dir())
        elif arguments == ["native-include"]:
            print(native_include())
        elif arguments == ["run-path"]:
            print(run_path())
        elif arguments == ["cpp-functions"]:
            print(cpp_functions())
        elif len(arguments) == 3 and arguments[0] == "draw":
            source, target = arguments[1:]
            draw(Path(source).read_text(encoding="utf-8"), target)
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``python -m tensorlike``: what other programs ask of an installed package.

    python -m tensorlike cmake-dir             the folder for CMake's tensorlike_DIR
    python -m tensorlike draw TAPE.dot OUT.svg a graph that a tape wrote, as a picture
"""

from __future__ import annotations

import sys
from pathlib import Path

from . import _C
from .imperative.drawing import draw, read_dot


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


def main(arguments: list[str]) -> int:
    """Does what the arguments say; returns the exit status."""
    try:
        if arguments == ["cmake-dir"]:
            print(cmake_dir())
        elif len(arguments) == 3 and arguments[0] == "draw":
            source, target = arguments[1:]
            draw(read_dot(Path(source).read_text(encoding="utf-8")), target)
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

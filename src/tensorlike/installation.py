"""What this installation was built with, and what it lacks."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import _C

# Packages that a feature asks for when it is used.
_OPTIONAL = {
    "scipy_openblas32": "factorisations, solving equations, eigenvalues",
    "opt_einsum": "einsum of more than two operands",
    "yaml": "declare",
    "PIL": "pictures of tapes as .png",
    "ml_dtypes": "bfloat16 arrays in NumPy",
    "cupy": "CUDA, which this version has no kernels for",
}


def build_info() -> dict[str, Any]:
    """With what this was built, for which processors, and what is missing.

    Returns:
        ``version``; ``compiler``; ``isa_levels``, those that kernels were compiled for, lowest
        first; ``isa``, the one in use; ``threads``; ``devices``; and ``missing``, from a package
        that is not installed to what needs it.

    Example:
        >>> import tensorlike as tl
        >>> info = tl.build_info()
        >>> info["isa"] in info["isa_levels"], info["devices"]
        (True, ('cpu',))
    """
    missing = {name: why for name, why in _OPTIONAL.items() if find_spec(name) is None}
    return {
        "version": _C.__version__,
        "compiler": _C.compiler,
        "isa_levels": _C.built_levels(),
        "isa": _C.isa(),
        "threads": _C.num_threads(),
        "devices": tuple(_C.devices()),
        "missing": missing,
    }


def native_include() -> str:
    """The folder of the header that libraries of native ops include, ``tensorlike_native.h``.

    Raises:
        FileNotFoundError: this installation has none.

    Source:
        numpy.get_include.

    Example:
        >>> import os
        >>> import tensorlike as tl
        >>> os.listdir(tl.native_include())
        ['tensorlike_native.h']
    """
    folder = Path(_C.__file__).resolve().parent / "include" / "native"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"native_include: the package must have been installed with its headers; there is no "
            f"{folder}; install it by pip."
        )
    return str(folder)

"""What a public room offers is what its `__all__` lists: every name, and no other."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

PUBLIC = [
    "tensorlike",
    "tensorlike.export",
    "tensorlike.export.onnx",
    "tensorlike.fft",
    "tensorlike.functional",
    "tensorlike.functional.linalg",
    "tensorlike.functional.special",
    "tensorlike.imperative",
    "tensorlike.jit",
    "tensorlike.nn",
    "tensorlike.ops",
    "tensorlike.optim",
    "tensorlike.random",
    "tensorlike.testing",
    "tensorlike.transforms",
]

# What is public in them, too, beside what they are written with.
TOOLS = [
    "tensorlike.functional.fft",
    "tensorlike.functional.random",
    "tensorlike.imperative.autograd",
    "tensorlike.imperative.engine",
    "tensorlike.memory",
    "tensorlike.nn.initializers",
]


def public_names(module: ModuleType) -> list[str]:
    """Returns the names in `module` that a reader takes for its offer, sorted.

    Python itself puts each submodule that was imported into its package, so a submodule counts
    only where `__all__` lists it. A foreign module (`import numpy as np`) does count: a room
    imports it under a name with an underscore, or in the file that uses it.
    """

    def is_offered(name: str, value: object) -> bool:
        if isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{name}":
            return name in module.__all__
        return value is not annotations  # what `from __future__ import annotations` leaves behind

    names = {name for name in [*vars(module), *dir(module)] if name[0] != "_"}
    return sorted(name for name in names if is_offered(name, getattr(module, name)))


@pytest.mark.parametrize("name", PUBLIC)
def test_all_is_sorted_and_lists_the_public_names(name: str) -> None:
    module = importlib.import_module(name)
    assert list(module.__all__) == sorted(set(module.__all__))
    assert [name for name in module.__all__ if name[0] != "_"] == public_names(module)
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("name", [*PUBLIC, *TOOLS])
def test_dir_shows_public_names_alone(name: str) -> None:
    module = importlib.import_module(name)
    extensions = {"fft", "linalg"} if name == "tensorlike.functional" else set()
    assert dir(module) == sorted({*module.__all__, *extensions})
    assert all(hasattr(module, public) for public in dir(module))


@pytest.mark.parametrize("name", PUBLIC)
def test_a_room_says_what_it_is_for(name: str) -> None:
    assert importlib.import_module(name).__doc__

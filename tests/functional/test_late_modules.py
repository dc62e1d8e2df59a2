"""Modules of calls that are loaded when the first of their names is asked for."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys

import pytest
from support.apart import run_apart

import tensorlike.functional as F

LOADED = "import sys; print(sum(name.startswith('tensorlike.') for name in sys.modules))"


def test_what_is_loaded_late_is_what_types_see() -> None:
    tree = ast.parse(inspect.getsource(F))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    assert [node.module for node in block.body if isinstance(node, ast.ImportFrom)] == list(F._LATE)


def test_no_late_module_has_the_name_of_a_call_for_which_it_would_come_to_stand() -> None:
    assert set(F._LATE).isdisjoint(F.__all__)


@pytest.mark.parametrize(
    "first",
    [
        "import tensorlike.nn",
        "from tensorlike.functional import *; cond",
        "from tensorlike.functional import histogram",
        "tensorlike.vmap",
        "tensorlike.add",
        "from tensorlike import *; zeros((2,))",
        "tensorlike.tensor([1.0]).nonzero()",
        "tensorlike.transforms.jvp",
        "tensorlike.random.uniform((2,))",
        "dir(tensorlike.functional)",
        "tensorlike.functional.ctc; tensorlike.functional.attention",
        "tensorlike.static.Program()",
    ],
)
def test_all_names_are_there_whatever_is_asked_for_first(first: str) -> None:
    code = f"import tensorlike\n{first}\nimport tensorlike.functional as F\n"
    code += "import builtins\nfound = [getattr(F, name) for name in F.__all__]\n"
    code += "print(builtins.all(map(callable, found)), len(found))\n"
    code += "print(hasattr(F, 'no_such_call'), 'cond' in dir(F))"
    said = run_apart(code).split()
    assert said == ["True", str(len(F.__all__)), "False", "True"]


def test_importing_loads_few_modules() -> None:
    command = [sys.executable, "-c", f"import tensorlike\n{LOADED}"]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert int(done.stdout) < 75


def test_a_name_that_there_is_not_says_so() -> None:
    with pytest.raises(AttributeError, match=r"'tensorlike.functional' has no attribute 'conv9d'"):
        F.conv9d  # noqa: B018


def test_a_program_is_read_before_anything_else_is_loaded() -> None:
    code = """
import sys
import tensorlike as tl
from pathlib import Path
data = Path({path!r}).read_bytes()
program, results = tl.Listing.from_bytes(data)
print(len(results), "WhileLoop" in str(program))
"""
    from pathlib import Path

    path = Path(__file__).parents[1] / "program" / "golden" / "control-1.tlp"
    assert run_apart(code.format(path=str(path))).split() == ["4", "True"]

"""Programs that must fail do so with the user's file, line and text."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.jit import ConversionError, show_raw_stack, to_static

from ..support.control_programs import module_of
from ..support.error_programs import BUILDING, MEANING, RUNNING, SYNTAX


def failure(path: Path, source: str) -> tuple[Any, Exception, Path]:
    """What a call of the converted function raises, and the file that it is written in."""
    module = module_of(path, {"f": source})
    function = to_static(module.f)
    with pytest.raises(Exception) as caught:
        function(tl.tensor(1.0), tl.tensor([1.0, 2.0, 3.0]), 2)
    return function, caught.value, path


def marked(source: str) -> tuple[int, str]:
    """The line that the error must name."""
    ((line, text),) = [
        (i, text.strip())
        for i, text in enumerate(source.splitlines(), 1)
        if text.endswith("# here")
    ]
    return line, text


def test_there_are_at_least_60_error_programs() -> None:
    assert len(SYNTAX) + len(MEANING) + len(BUILDING) + len(RUNNING) >= 60


@pytest.mark.parametrize("name", [*SYNTAX, *MEANING])
def test_y11_what_is_refused_names_construct_line_and_another_way(
    tmp_path: Path, name: str
) -> None:
    source, part = {**SYNTAX, **MEANING}[name]
    _, error, path = failure(tmp_path / f"refused_{name}.py", source)
    assert isinstance(error, ConversionError)
    assert (error.filename, (error.line, error.text)) == (str(path), marked(source))
    assert part in str(error)
    assert f'{path}:{error.line}: "{error.text}"' in str(error)
    assert error.fix


@pytest.mark.parametrize("name", [*BUILDING, *RUNNING])
def test_y8_an_error_is_raised_from_the_line_of_the_user(tmp_path: Path, name: str) -> None:
    source, part, kind = {**BUILDING, **RUNNING}[name]
    function, error, path = failure(tmp_path / f"raised_{name}.py", source)
    assert type(error).__name__ == kind
    assert part in str(error)
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    assert (last.filename, (last.lineno, last.line)) == (str(path), marked(source))
    assert not [frame for frame in frames[:-1] if "jit/conversion" in frame.filename]
    assert all("_jit" not in frame.name for frame in frames)
    assert function.programs() == []  # nothing is left of it


def test_an_error_is_told_again_by_the_next_call(tmp_path: Path) -> None:
    source = (
        "def f(x):\n    y = x + 1\n    if x > 2:\n        raise ValueError('big')\n    return y\n"
    )
    function = to_static(module_of(tmp_path / "told_again.py", {"f": source}).f)
    assert function(tl.tensor(1.0)).item() == 2.0
    for _ in range(2):
        with pytest.raises(ValueError, match="big") as caught:
            function(tl.tensor(3.0))
        assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == 4
    assert function(tl.tensor(1.0)).item() == 2.0
    assert len(function.programs()) == 1


def test_y8_a_switch_shows_the_frames_of_the_generated_code(tmp_path: Path) -> None:
    source = "def f(x, v, n):\n    if x > 0:\n        x = x.nothing\n    return x\n"
    show_raw_stack()
    try:
        _, error, _ = failure(tmp_path / "raw_stack.py", source)
    finally:
        show_raw_stack(False)
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names.count("f") == 2  # the function, and the body of the branch
    assert "branch" in names


def test_a_variable_without_a_value_says_where_it_was_lost(tmp_path: Path) -> None:
    source = "def f(x, v, n):\n    if x > 0:\n        y = x\n    return y\n"
    _, error, _ = failure(tmp_path / "lost.py", source)
    assert 'line 2: "if x > 0:"' in str(error)
    assert 'line 3: "y = x"' in str(error)


def test_branches_that_differ_name_both_lines(tmp_path: Path) -> None:
    source = (
        "def f(x, v, n):\n    if x > 0:\n        y = x\n    else:\n        y = v\n    return y\n"
    )
    _, error, _ = failure(tmp_path / "both_lines.py", source)
    assert 'float32() by line 3: "y = x" and float32(3,) by line 5: "y = v"' in str(error)


def test_a_failed_conversion_leaves_tensors_and_objects_as_they_were(tmp_path: Path) -> None:
    source = (
        "def f(x, v, n):\n    held.append(x)\n    if x > 0:\n        v += 1\n"
        "        held.append(v)\n        y = x\n    else:\n        y = v\n    return y\n"
    )
    module = module_of(tmp_path / "left_alone.py", {"f": "held = []\n" + source})
    v = tl.tensor([1.0, 2.0, 3.0])
    for _ in range(3):
        with pytest.raises(ConversionError):
            to_static(module.f)(tl.tensor(1.0), v, 2)
    assert v.tolist() == [1.0, 2.0, 3.0]
    assert len(module.held) == 3  # of the statement before the branch


def test_a_function_without_source_is_refused() -> None:
    namespace: dict[str, Any] = {}
    exec(compile("def f(x):\n    return x", "<nowhere>", "exec"), namespace)
    with pytest.raises(ConversionError, match="the source must be there"):
        to_static(namespace["f"])(tl.tensor(1.0))


def test_what_is_no_function_of_python_is_refused() -> None:
    with pytest.raises(ConversionError, match="must be a function that is written in Python"):
        to_static(abs)(tl.tensor(1.0))

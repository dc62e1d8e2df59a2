"""What a user sees of a conversion: its code, its levels, breakpoints, switches."""

from __future__ import annotations

import io
import logging
import pdb
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import jit
from tensorlike.jit.conversion.functions import TRANSFORMERS, conversion_of

from ..support.control_programs import module_of

HIGH, LOW = tl.tensor([1.0, 2.0]), tl.tensor([-1.0, -2.0])


def choose(x: Any) -> Any:
    """A function with a branch."""
    for i in range(2):
        if x.sum() > 4 and i > 0:
            return x * 2
        x = x + i
    return x


def test_y10_code_is_the_converted_source() -> None:
    function = jit.to_static(choose)
    compile(function.code, "<code>", "exec")  # it is Python
    assert function.code.startswith("def choose(x):")
    assert "_jit.if_(" in function.code
    assert "_jit.for_(" in function.code
    assert function.__wrapped__ is choose


def test_y10_levels_print_what_each_transformer_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "def f{}(x):\n    while x.sum() > 9:\n        assert x[0] < 7\n        x = x / 2\n"
        "    return x\n"
    )
    levels = range(1, len(TRANSFORMERS) + 1)
    texts = {f"f{level}": text.format(level) for level in levels}
    module = module_of(tmp_path / "levels_of_code.py", texts)
    printed = []
    for level in levels:
        jit.set_code_level(level)
        try:
            jit.to_static(getattr(module, f"f{level}"))(HIGH)
        finally:
            jit.set_code_level(None)
        printed.append(capsys.readouterr().out)
    heads = [text.partition("\n")[0] for text in printed]
    names = [transformer.__name__ for transformer in TRANSFORMERS]
    assert heads == [f"# after transformer {i}, {name}:" for i, name in enumerate(names, 1)]
    assert "assert x[0] < 7" in printed[1]
    assert "_jit.check(x[0] < 7" in printed[2]
    assert "while " in printed[5]
    assert "_jit.while_(" in printed[6]


def test_y10_the_last_level_is_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    def negated(x: Any) -> Any:
        if x.sum() > 0:
            return -x
        return x

    function = jit.to_static(negated)
    jit.set_code_level()
    try:
        function(HIGH)
    finally:
        jit.set_code_level(None)
    assert capsys.readouterr().out == f"# after transformer 7, ControlFlow:\n{function.code}\n"


def test_y10_verbosity_logs_what_is_converted(caplog: pytest.LogCaptureFixture) -> None:
    def helper(x: Any) -> Any:
        return x + 1

    def talkative(x: Any) -> Any:
        return helper(x)

    jit.set_verbosity(1)
    try:
        with caplog.at_level(logging.WARNING, logger="tensorlike.jit"):
            jit.to_static(talkative)(HIGH)
    finally:
        jit.set_verbosity(0)
    told = [record.getMessage() for record in caplog.records]
    assert [text.rpartition(" of ")[0].rpartition(".")[2] for text in told] == [
        "talkative", "helper",
    ]  # fmt: skip


def test_y10_functions_that_are_not_to_be_converted_are_called_as_they_are() -> None:
    @jit.not_to_static
    def sign(x: Any) -> Any:
        return 1 if bool((x > 0).all()) else -1

    @jit.to_static
    def f(x: Any) -> Any:
        return x * sign(x)

    assert f(HIGH).tolist() == [1.0, 2.0]
    assert f(LOW).tolist() == [1.0, 2.0]
    assert len(f.programs()) == 2  # one for each value that Python read


def test_y10_conversion_can_be_switched_off() -> None:
    function = jit.to_static(choose)
    jit.enable_to_static(False)
    try:
        assert function(HIGH).tolist() == choose(HIGH).tolist()
        assert function.programs() == []
    finally:
        jit.enable_to_static(True)
    assert function(HIGH).tolist() == choose(HIGH).tolist()
    assert len(function.programs()) == 1


def test_y9_breakpoint_stops_in_the_users_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def stop() -> None:
        frame = sys._getframe(1)
        seen.append((frame.f_code.co_filename, frame.f_lineno, set(frame.f_locals)))

    monkeypatch.setattr(sys, "breakpointhook", stop)

    @jit.to_static
    def f(x: Any, scale: float) -> Any:
        doubled = x * 2
        breakpoint()
        if doubled.sum() > 0:
            breakpoint()
            doubled = doubled * scale
        return doubled

    f(HIGH, 3.0)
    first = test_y9_breakpoint_stops_in_the_users_frame.__code__.co_firstlineno
    lines = [line - first for _, line, _ in seen]
    assert {name for name, _, _ in seen} == {__file__}
    assert lines == [12, 14]
    assert all({"x", "scale", "doubled"} <= names for _, _, names in seen)


def test_y9_pdb_shows_the_users_lines_and_variables() -> None:
    shown = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("p scale\np doubled.shape\nw\nc\n"), stdout=shown)

    @jit.to_static
    def f(x: Any, scale: float) -> Any:
        doubled = x * 2
        if doubled.sum() > 0:
            debugger.set_trace()
            doubled = doubled * scale
        return doubled

    trace = sys.gettrace()
    try:
        f(HIGH, 3.0)
    finally:
        sys.settrace(trace)
    text = shown.getvalue()
    stop = "debugger.set_trace()" if sys.version_info >= (3, 13) else "doubled = doubled * scale"
    assert f"-> {stop}" in text
    assert "(Pdb) 3.0\n" in text
    assert "(Pdb) (2,)\n" in text
    assert f"{__file__}(" in text


def test_a_traceback_shows_each_function_once() -> None:
    @jit.to_static
    def f(x: Any) -> Any:
        for _ in range(2):
            if x.sum() > 0:
                while x.sum() < 9:
                    x = x.missing
        return x

    with pytest.raises(AttributeError) as caught:
        f(HIGH)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "f"
    assert names.count("f") == 1


def test_a_converted_function_keeps_its_name_and_documentation() -> None:
    function = jit.to_static(choose)
    assert function.__name__ == "choose"
    assert function.__doc__ == "A function with a branch."
    assert repr(function) == "StaticFunction(choose)"


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(tl.ParameterError):
        jit.set_code_level(-1)
    with pytest.raises(tl.ParameterError):
        jit.set_verbosity(-1)


def test_equal_functions_of_two_files_are_two(tmp_path: Any) -> None:
    for name in ("one.py", "other.py"):
        path = tmp_path / name
        path.write_text("def f(x):\n    return x if x.sum() > 0 else -x\n")
        space: dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), space)
        assert conversion_of(space["f"]).code.co_filename == str(path)

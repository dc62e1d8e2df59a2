"""declare with what is no declaration, from several threads, and thousands of times."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

ENTRY = """
- scalar: {name}
  args: ["x: real floating-point"]
  expr: {expr}
  doc: A test.
"""


@pytest.mark.parametrize("source", (True, 1, None, b"/dev/zero", ["- scalar: a\n"], 2.5))
def test_what_is_neither_text_nor_a_path_is_refused(source: Any) -> None:
    with pytest.raises(tl.ParameterError, match="declare: source must be text or a path"):
        tl.declare(source)


@pytest.mark.timeout(20)
def test_what_is_no_file_is_refused_without_a_look_inside(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero", tmp_path):
        with pytest.raises(ValueError, match="declare: source must be a file"):
            tl.declare(path)
    with pytest.raises(FileNotFoundError):
        tl.declare(tmp_path / "missing.yaml")


def test_what_threads_declare_at_once_can_be_used_in_later_declarations() -> None:
    names = [f"thread_hostile_{i}" for i in range(64)]

    def declare(name: str) -> tl.Tensor:
        call = tl.declare(ENTRY.format(name=name, expr="x + 1"))[name]
        made: tl.Tensor = call(tl.ones(1))
        return made

    with ThreadPoolExecutor(16) as pool:
        assert [y.tolist() for y in pool.map(declare, names)] == [[2.0]] * len(names)
    for name in names:
        later = tl.declare(ENTRY.format(name=f"later_{name}", expr=f"2 * {name}(x)"))
        assert later[f"later_{name}"](1.0).item() == 4.0


def test_one_of_the_threads_that_declare_the_same_name_gets_it() -> None:
    def declare(_: int) -> bool:
        try:
            tl.declare(ENTRY.format(name="contended_hostile", expr="x * 3"))
        except ValueError as error:
            assert "declared already" in str(error)
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(declare, range(32))) == 1
    again = tl.declare(ENTRY.format(name="after_contended", expr="contended_hostile(x)"))
    assert again.after_contended(2.0).item() == 6.0


def test_a_later_name_may_not_be_that_of_an_earlier_gradient() -> None:
    """What was declared before is looked up, not gone through."""
    tl.declare(ENTRY.format(name="earlier_hostile", expr="x * tanh(x + 2)"))
    with pytest.raises(ValueError, match="the gradient of earlier_hostile"):
        tl.declare(ENTRY.format(name="earlier_hostile_dx", expr="x + 1"))


def test_a_declaration_takes_no_longer_after_hundreds_of_others() -> None:
    times = []
    for part in range(4):
        start = time.process_time()
        for i in range(50):
            tl.declare(ENTRY.format(name=f"hostile_{part}_{i}", expr=f"x * tanh(x + {i})"))
        times.append(time.process_time() - start)
    # Quadratic growth would show against the built-in ones, too: five hundred of them.
    assert times[-1] < 2 * times[0]
    assert times[-1] / 50 < 0.05
    values = tl.functional.tanh(tl.tensor(np.float32(5.0))).item()
    assert tl.declare(ENTRY.format(name="last_hostile", expr="hostile_3_4(x)")).last_hostile(
        1.0
    ).item() == pytest.approx(values)

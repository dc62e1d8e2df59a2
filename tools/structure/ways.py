"""How many functions and files a call goes through.

In Python it is measured: `sys.setprofile` sees every frame, and each call of a function of the C++
module. In C++ it is read: nobody counts calls in optimised code, where short functions are part of
their callers. So the way is written down here, a function a line and beneath its caller; it is
checked against the sources that each is defined in the file said and that its caller's text calls
it. What a reader does not stop at is left out: accessors, containers, reference counts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import tensorlike as tl
import tensorlike.functional as F

from .cpp_source import functions
from .sources import ROOT, text_of
from .table import Table

_LAUNCH = """
dispatch/apply.cpp apply_small
  cpu/small_launch.cpp small_launch = launch_small
    cpu/small_launch.cpp allocate_for
      memory/storage.cpp allocate
"""
_CALL = """
bind/functions.cpp call_function
  bind/errors.h guarded_call
  bind/functions.cpp parse
  bind/apply.cpp apply_to_one
    {launch}
    bind/values.cpp wrap
"""
_BACKWARD = """
bind/backward.cpp run_backward
  bind/backward.cpp carried_by = Wanted, Roots
  bind/backward.cpp seed_of = Roots
  tape/backward.cpp backward
    tape/backward.cpp Pass::run = Pass
      tape/backward.cpp Pass::discover
        tape/backward.cpp Pass::visit
      tape/backward.cpp Pass::enqueue
        tape/backward.cpp Pass::complete
      tape/backward.cpp Pass::deliver
      tape/backward.cpp Pass::step
        tape/gradient.cpp small_gradients
          dispatch/apply.cpp apply_small
            cpu/small_launch.cpp small_launch = launch_small
        tape/backward.cpp Pass::run_rule
          tape/gradient.cpp input_gradients
            tape/gradient.cpp run_reduction
              tape/gradient.cpp run_declared
            tape/fit.cpp fit
"""
_RECORD = """
tape/tape.cpp apply_tracer
  tape/tape.cpp declared_gradients
  dispatch/apply.cpp apply_one
    dispatch/apply.cpp apply_small
      cpu/small_launch.cpp small_launch = launch_small
  tape/tape.cpp record
"""
_DECLARE = """
bind/declare.cpp declare_specs
  op/declaration_text.cpp read_declaration
  op/registry.cpp Registry::add
    op/registry.cpp check_new
  op/link.cpp Registry::link
    op/link.cpp Registry::compile
    op/link.cpp Registry::compile_conditions
    op/link.cpp Registry::compile_gradients
    op/op.cpp make_op
  dispatch/dispatcher.cpp Dispatcher::invalidate
"""


def _indented(way: str, depth: int) -> str:
    lines = way.strip("\n").splitlines()
    return "\n".join([lines[0], *(" " * depth + line for line in lines[1:])])


def _cubed(x: Any) -> Any:
    return F.sum(x * x * x)


def _backward() -> Callable[[], Any]:
    y = F.sum(tl.tensor([1.0, 2.0], requires_grad=True) * 2.0)
    return lambda: y.backward(retain_graph=True)


_made = 0


def _declare() -> Any:
    global _made
    _made += 1
    return tl.declare(
        f"- scalar: way_{_made}\n  args: [x: numeric]\n  expr: x + 1\n  doc: A way.\n"
    )


def _calls() -> dict[str, tuple[Callable[[], Any], list[str]]]:
    """By name: a call, and its ways in C++."""
    x = tl.tensor([1.0, 2.0])
    gradient = tl.grad(_cubed)
    call = _CALL.replace("{launch}", _indented(_LAUNCH, 4))
    return {
        "F.gelu(x)": (lambda: F.gelu(x), [call]),
        "y.backward()": (_backward(), [_BACKWARD]),
        "grad(f)(x), three ops": (lambda: gradient(x), [_RECORD, _BACKWARD]),
        "declare, a scalar": (_declare, [_DECLARE]),
    }


def _defined(name: str, function: str) -> list[str]:
    """The texts of a function's definitions in a file of the core."""
    path = ROOT / "csrc" / name
    found = functions(text_of(path)) if path.exists() else iter(())
    return [f.body for f in found if f.lines and f"::{f.name}".endswith(f"::{function}")]


def cpp_way(way: str) -> tuple[set[tuple[str, str]], list[str]]:
    """The functions of a way, and what of it the sources no longer say."""
    steps, wrong = set(), []
    callers: list[tuple[int, str, str]] = []
    for line in filter(str.strip, way.splitlines()):
        depth = len(line) - len(line.lstrip())
        step, _, through = line.strip().partition(" = ")
        name, _, function = step.partition(" ")
        while callers and callers[-1][0] >= depth:
            callers.pop()
        if not (bodies := _defined(name, function)):
            wrong.append(f"{name} no longer defines {function}")
        if callers:
            caller, text = callers[-1][1:]
            called = through.split(", ") if through else [function.rpartition("::")[2]]
            if not all(re.search(rf"\b{word}\b", text) for word in called):
                wrong.append(f"{caller} no longer calls {function}")
        steps.add((name, function))
        callers.append((depth, function, "\n".join(bodies)))
    return steps, wrong


def python_way(call: Callable[[], Any]) -> tuple[int, set[str], int]:
    """Frames of the package, their files, and calls of the C++ module, of a call made before."""
    frames, calls, names = 0, 0, set()
    folder = str(ROOT / "src" / "tensorlike")

    def see(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal frames, calls
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(folder):
            frames += 1
            names.add(name)
        elif event == "c_call":
            owner = getattr(argument, "__self__", None)
            home = getattr(argument, "__module__", None) or type(owner).__module__
            calls += "_C" in str(home) or type(owner).__module__.startswith("tensorlike")

    call()
    before = sys.getprofile()
    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(before)
    return frames, names, calls


def _all() -> Iterator[tuple[str, tuple[Any, ...], list[str]]]:
    for what, (call, ways) in _calls().items():
        frames, names, calls = python_way(call)
        found = [cpp_way(way) for way in ways]
        steps = set().union(*(own for own, _ in found))
        wrong = [text for _, own in found for text in own]
        files = {name for name, _ in steps}
        count = None if wrong else len(steps)
        yield what, (frames, len(names), calls, count, len(files)), wrong


def ways() -> Table:
    """The ways of four calls."""
    table = Table(
        "ways through the house",
        ("Python frames", "Python files", "calls of _C seen", "C++ functions", "C++ files"),
        note="Python measured, a second call; C++ read from the sources: ways.py says how",
    )
    for what, row, wrong in _all():
        table.rows[what] = row
        table.note += "".join(f"; {text}" for text in wrong)
    return table

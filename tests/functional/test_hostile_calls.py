"""Bad calls of every public function, each in turn and at random; support/hostile.py makes them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support import hostile, hostile_blocks, hostile_programs
from support.apart import LIMITS_MEMORY
from support.long_runs import seconds, today

import tensorlike as tl

SHARDS = 4


def run(*options: str) -> tuple[int, ...]:
    """Runs calls in a process of their own; the number of functions, of calls, of those refused,
    and of calls of the function that got the fewest."""
    command = [sys.executable, "-X", "faulthandler", "-m", "support.hostile", *options]
    folder = Path(hostile.__file__).parent.parent
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=7200, check=False, cwd=folder
    )
    text = f"{options}: exit {result.returncode}\n{result.stderr[-3000:]}"
    assert result.returncode == 0, text
    return tuple(int(word) for word in re.findall(r"\d+", result.stdout.splitlines()[-1]))


@LIMITS_MEMORY
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_function_survives_every_bad_argument(shard: int) -> None:
    functions, calls, refused, least = run("--shard", str(shard), "--shards", str(SHARDS))
    assert functions >= 60
    assert least >= 100
    assert refused > calls // 2


@LIMITS_MEMORY
def test_ten_thousand_random_calls_return_or_raise_what_is_documented() -> None:
    _, calls, refused, _ = run("--random", "10000")
    assert calls == 10_000
    assert refused > 2_000


@LIMITS_MEMORY
@pytest.mark.parametrize(
    "mode", ["sync", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("async", "lazy"))]
)
def test_values_that_lie_change_and_break_nothing(mode: str) -> None:
    options = ("--lies", "20", "--mode", mode, "--shard", "0", "--objects")
    _, calls, refused, _ = run(*options, *(("--names",) if mode == "sync" else ()))
    assert refused > calls // 4


@LIMITS_MEMORY
@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("mode", ("sync", "async", "lazy"))
def test_an_hour_of_values_that_lie(mode: str) -> None:
    """The seed is the day, and in the text of a failure."""
    length, seed = str(seconds(1200)), str(today())
    options = ("--lies", length, "--mode", mode, "--shard", seed, "--objects")
    _, calls, refused, _ = run(*options, *(("--names",) if mode == "sync" else ()))
    assert refused > calls // 4


@LIMITS_MEMORY
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_hundred_thousand_random_calls(seed: int) -> None:
    _, calls, _, _ = run("--random", "100000", "--shard", str(seed))
    assert calls == 100_000


def test_bad_calls_are_made_of_nearly_every_public_function() -> None:
    """The few others have no example, or act on the process."""
    covered = {id(good.function) for good in hostile.good_calls()}
    missing = {name for name, function in hostile.functions() if id(function) not in covered}
    assert missing <= {
        "as_raw_tensor", "num_threads", "functional.set_subtensor", "functional.subtensor",
        "random.fold_in", "random.key", "random.split", *hostile.LEFT_OUT,
    }  # fmt: skip


def test_a_function_that_leaks_internals_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks can fail."""

    def broken(x: object) -> object:
        if isinstance(x, str):
            raise RuntimeError("oh")
        if x is None:
            raise ValueError("std::bad_thing")
        return x

    runner = hostile.Runner()
    good = hostile.Good("broken", broken, (tl.tensor([1.0]),), {}, ("x",))
    for value in ("a", None, 1):
        runner.attempt(good, (value,), {})
    assert len(runner.wrong) == 2
    assert (runner.calls, runner.refused) == (3, 1)


@LIMITS_MEMORY
def test_methods_of_programs_survive_bad_arguments_and_values_that_lie() -> None:
    """Of `static`, `jit` and `export`: on a new object in each call."""
    methods, calls, refused, _ = run("--programs")
    assert methods >= 80 and calls > 5_000
    assert refused > calls // 2
    _, calls, refused, _ = run("--programs", "--lies", "6", "--shard", "1")
    assert refused > calls // 4


def test_good_calls_are_known_of_nearly_every_method_of_programs() -> None:
    assert hostile_programs.uncovered() <= {"static.CompiledProgram.diff", "Listing.take"}


# What takes nothing, acts on the process, runs a program, or is made by the package alone.
NOT_CALLED = {
    "static.CPUPlace", "static.default_main_program", "static.default_startup_program",
    "static.disable_static", "static.enable_static", "static.global_scope", "static.list_passes",
    "static.quantize", "jit.enable_to_static", "jit.exclude_from_trace", "jit.set_code_level",
    "jit.set_verbosity", "jit.show_raw_stack", "export.Weights", "export.onnx.OnnxModel",
    "static.PassReport", "static.Quantized", "static.QuantizedLayer", "jit.DumpInfo",
    "jit.TranslatedLayer",
}  # fmt: skip


def test_good_calls_are_known_of_whatever_needs_a_block_or_a_file() -> None:
    goods = hostile_blocks.block_calls()
    assert {good.name for good in goods if not hostile_programs.works(good)} == set()
    known = {*hostile_blocks.CALLS, *hostile_programs.MAKERS}
    for room, module in (("static", tl.static), ("jit", tl.jit), ("export", tl.export)):
        names = {f"{room}.{name}" for name in module.__all__ if not _is_left(module, name)}
        assert names - known <= NOT_CALLED
    names = {f"export.onnx.{name}" for name in tl.export.onnx.__all__}
    assert names - known <= NOT_CALLED


def _is_left(module: ModuleType, name: str) -> bool:
    value = getattr(module, name)
    is_error = isinstance(value, type) and issubclass(value, Exception)
    return isinstance(value, ModuleType) or is_error

"""Bad calls of every public function, made from its own documented example.

The example says what a good call is; one argument after the other is then replaced by every value
of a pool, or several at once by random ones. Nothing here knows any function: what is declared, or
written with a docstring that has an example, is covered. `python -m support.hostile` runs calls in
a process of their own and prints how many there were; anything wrong ends it with a text.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import doctest
import faulthandler
import gc
import inspect
import io
import keyword
import os
import re
import resource
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tensorlike as tl
from support.liars import LIARS, Mine, random_value
from support.watching import (
    contents,
    drawn,
    has_a_frame_of_ours,
    is_of_a_given_function,
    live,
    names_what_was_called,
    state,
)

DOCUMENTED = (
    tl.TensorlikeError, TypeError, ValueError, IndexError, OverflowError, MemoryError, BufferError,
    np.linalg.LinAlgError, RecursionError,  # of a list that holds itself
    KeyError,  # of the names of a state
    OSError,  # of files that are not there
)  # fmt: skip
MOST_SECONDS = 20  # for one call: this machine may be busy; a hang takes for ever
MOST_MEMORY = 3 << 30
NOT_FOR_USERS = re.compile(
    r"0x[0-9a-f]{6}|std::|INTERNAL|Assertion|bad_alloc|vector::|basic_string|variant|incompatible "
    r"(constructor|function)|pybind"
)
MOST_TIME = 1.0  # of the processor, for one lie
TIME_OF_BYTE = 4e-9  # the same, for each that a result has: who asks for much waits for it
MOST_KEPT = 1 << 20  # bytes, after the calls of one function
# What acts on the process, reads a file, takes no argument, or calls all other functions.
LEFT_OUT = {
    "set_num_threads", "declare", "enable_grad", "no_grad", "coverage", "opcheck",
    "build_info", "devices", "guard", "native_include",  # which take nothing
    "quantize",  # which runs a program: its errors are those of the runs
    "functional.while_loop",  # a condition that always holds is a loop for ever
}  # fmt: skip


@dataclass(frozen=True)
class Good:
    """A call that works."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    keywords: tuple[str, ...]

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs)


def modules() -> Iterator[tuple[str, types.ModuleType]]:
    yield "", tl
    for name in ("functional", "linalg", "fft", "random"):
        yield f"{name}.", getattr(tl, name)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions, each once."""
    seen = set()
    for prefix, module in modules():
        for name in sorted({*vars(module), *dir(module)}):  # some are loaded when asked for
            function = getattr(module, name)
            is_function = callable(function) and not isinstance(function, type)
            if is_function and not name.startswith("_") and id(function) not in seen:
                seen.add(id(function))
                yield prefix + name, function


def good_calls() -> list[Good]:
    """Of each public function that has an example with a call of it, in order of names."""
    made = (from_example(name, function) for name, function in functions() if name not in LEFT_OUT)
    return sorted((good for good in made if good is not None), key=lambda good: good.name)


def from_example(label: str, function: Callable[..., Any]) -> Good | None:
    name = label.rsplit(".", 1)[-1]
    space: dict[str, Any] = {"tl": tl, "F": tl.functional, "np": np}
    for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
        for node in ast.walk(ast.parse(example.source)):
            called = getattr(node, "func", None)
            if isinstance(node, ast.Call) and name in (
                getattr(called, "attr", None), getattr(called, "id", None),
            ):  # fmt: skip
                node.func = ast.copy_location(ast.Name("_note", ast.Load()), node)
                code = compile(ast.fix_missing_locations(ast.Expression(node)), label, "eval")
                args, kwargs = eval(code, space | {"_note": lambda *a, **k: (a, k)})
                return Good(label, function, args, kwargs, keywords_of(function))
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(example.source, label, "exec"), space)
    return None


def keywords_of(function: Callable[..., Any]) -> tuple[str, ...]:
    text = getattr(function, "text_signature", None)
    if text is not None:
        inner = text[text.index("(") + 1 : -1]
        parts = re.findall(r"(\*?\w+)(?:=|,|$)", re.sub(r"=\([^)]*\)|='[^']*'", "=0", inner))
        return tuple(part for part in parts if part.isidentifier() and not keyword.iskeyword(part))
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(parameter.name for parameter in parameters if parameter.kind in named)


def pool() -> list[Any]:
    """Values that are wrong nearly everywhere, and extreme ones that may be right."""
    huge = [2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**200, -(2**31), -(2**63), -(2**63) - 1]
    numbers: list[Any] = [*huge, -2, -1, 0, 1, 2, 3, 7, True, False, 0.0, -0.5, 0.5, 1e-300, 1e300]
    numbers += [float("nan"), float("inf"), -float("inf"), 1j, complex("nan"), np.int8(-1)]
    others: list[Any] = [None, "", "a", "sum", "float32", b"a", object(), {}, len, tl.Tensor]
    others += [slice(None), slice(None, None, 0), Ellipsis, tl.float32, tl.bool_, range(3)]
    lists: list[Any] = [[], (), [[]], [None], ["a"], [[1], [1, 2]], (0, 0), (0, -1), (1, 0), (5,)]
    lists += [(-1,), (-1, -1), (2**63,), (2**40, 2**40), (0, 2**62), (2**62, 2), (1.5,), (True,)]
    lists += [(1,) * 64, (1,) * 65, [0] * 1000, (None,), [[1.0, 2.0], [3.0, 4.0]], "ij,jk->ik"]
    return [*numbers, *others, *lists, *tensors()]


def tensors() -> list[Any]:
    rng = np.random.default_rng(0)
    dtypes = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64"]
    dtypes += ["complex64", "complex128"]
    made: list[Any] = [tl.tensor(np.ones((2, 3)).astype(dtype)) for dtype in dtypes]
    made.append(tl.tensor([1.0, 2.0], dtype="bfloat16"))
    shapes: list[tuple[int, ...]] = [(), (0,), (1,), (0, 3), (3, 0), (2, 0, 3), (3, 3), (2, 3, 3)]
    shapes += [(1, 1, 4, 4), (2, 3, 4, 5), (1, 1, 2, 2, 2), (1,) * 32]
    made += [tl.tensor(rng.normal(size=shape)) for shape in shapes]
    values: list[Any] = [float("nan"), float("inf"), -float("inf"), 1e300, -0.0, 5e-324]
    made += [tl.tensor(np.full((2, 3), value)) for value in values]
    integers = [-(2**63), 2**63 - 1, -1, 0, 1, 2, 10**9]
    made += [tl.tensor(np.full(3, value)) for value in integers]
    made += [tl.tensor(rng.normal(size=(6, 6)))[::2, ::-2], tl.tensor(np.broadcast_to(1.0, (3, 3)))]
    made += [np.array("a"), np.array([object()]), np.zeros(3, "V8")]
    made += [tl.ShapeTensor((2, 3), tl.float32), tl.RawTensor([1.0, 2.0])]
    made.append(tl.tensor([1.0, 2.0], requires_grad=True))
    return made


class Runner:
    """Makes calls, and keeps what was wrong about them."""

    def __init__(self) -> None:
        self.calls = 0
        self.refused = 0
        self.wrong: list[str] = []
        self.checks_names = False
        self.was_refused = False
        self.made = 0  # bytes of the last result
        self.by_name: dict[str, int] = {}

    def attempt(self, good: Good, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.calls += 1
        self.by_name[good.name] = self.by_name.get(good.name, 0) + 1
        what = f"{good.name}({', '.join([*map(shown, args), *map(pair, kwargs.items())])})"
        print(what, file=sys.stderr)  # the last line is what crashed
        signal.alarm(MOST_SECONDS)
        self.was_refused, self.made = False, 0
        start = time.perf_counter()
        try:
            out = good.function(*args, **kwargs)
            if isinstance(out, tl.Tensor):
                self.made = out.size * out.dtype.itemsize
                if out.size < 1000:
                    repr(out)
            tl.engine.sync()  # what waits may fail, too
        except TimeoutError:
            self.wrong.append(f"{what}: does not end in {MOST_SECONDS} s")
        except Mine:
            self.refused, self.was_refused = self.refused + 1, True
        except DOCUMENTED as error:
            self.refused, self.was_refused = self.refused + 1, True
            self.check_text(what, error)
            is_named = names_what_was_called(good.name, str(error))
            if self.checks_names and not is_named and not is_of_a_given_function(error):
                self.wrong.append(f"{what}: {error!r} does not name it")
        except BaseException as error:
            if not (is_of_a_given_function(error) and has_a_frame_of_ours(error)):
                self.wrong.append(f"{what}: {error!r} is not documented")
        finally:
            with contextlib.suppress(*DOCUMENTED):
                tl.engine.sync()
            signal.alarm(0)
        taken = time.perf_counter() - start
        if taken > 5:
            print(f"slow: {what}: {taken:.1f} s", file=sys.stdout)

    def check_text(self, what: str, error: BaseException) -> None:
        if not str(error):
            self.wrong.append(f"{what}: {type(error).__name__} without a text")
        elif NOT_FOR_USERS.search(str(error)) and " at 0x" not in str(error):
            self.wrong.append(f"{what}: {error!r} is not for users")

    def check_still_right(self, good: Good, before: str, stats: int) -> None:
        """After all that, the good call gives what it gave, and nothing is kept."""
        after = value_of(good)
        if before != after:
            self.wrong.append(f"{good.name}: gives {after} after bad calls, {before} before")
        kept = tl.memory.stats()["allocated"] - stats
        if kept > MOST_KEPT:
            self.wrong.append(f"{good.name}: {kept} bytes stay allocated after bad calls")


def value_of(good: Good) -> str:
    """What the good call gives, from the same random numbers."""
    tl.manual_seed(0)
    return re.sub(r" at 0x\w+", "", repr(good()))


def shown(value: Any) -> str:
    if isinstance(value, tl.Tensor | np.ndarray):
        with contextlib.suppress(Exception):
            return f"{type(value).__name__}{tuple(value.shape)}:{value.dtype}"
    try:
        return repr(value)[:60].encode(errors="backslashreplace").decode()
    except Exception:
        return f"a {type(value).__name__}"


def pair(item: tuple[str, Any]) -> str:
    return f"{item[0]}={shown(item[1])}"


def one_by_one(runner: Runner, good: Good, values: list[Any]) -> None:
    """Every argument replaced by every value of the pool; too few, too many, unknown ones."""
    for i in range(len(good.args)):
        for value in values:
            runner.attempt(good, (*good.args[:i], value, *good.args[i + 1 :]), good.kwargs)
        runner.attempt(good, good.args[:i], good.kwargs)
    for name in good.keywords[len(good.args) :]:
        for value in values:
            runner.attempt(good, good.args, good.kwargs | {name: value})
    for count in (1, 2, 70):
        runner.attempt(good, (*good.args, *[1] * count), good.kwargs)
    runner.attempt(good, good.args, good.kwargs | {"no_such_argument": 1})


def at_random(runner: Runner, goods: list[Good], values: list[Any], count: int, seed: int) -> None:
    """Calls with some arguments replaced by random values, others exchanged or left out."""
    rng = np.random.default_rng(seed)
    every = [value for good in goods for value in (*good.args, *good.kwargs.values())]
    for _ in range(count):
        good = goods[rng.integers(len(goods))]
        args, kwargs = list(good.args), dict(good.kwargs)
        for i in range(len(args)):
            if rng.random() < 0.5:
                source = values if rng.random() < 0.6 else every
                args[i] = source[rng.integers(len(source))]
        for name in good.keywords[len(args) :]:
            if rng.random() < 0.3:
                source = values if rng.random() < 0.6 else every
                kwargs[name] = source[rng.integers(len(source))]
        if rng.random() < 0.05:
            args.append(values[rng.integers(len(values))])
        if rng.random() < 0.05 and args:
            args.pop(rng.integers(len(args)))
        runner.attempt(good, tuple(args), kwargs)


# Which changes what it is given, or the state of the process, by its documentation.
CHANGES = {
    "manual_seed", "random.manual_seed", "random.shuffle", "stop_gradient", "Tensor.set_value",
    "random.Generator.shuffle", "random.Key.shuffle",
}  # fmt: skip


def lie(runner: Runner, goods: list[Good], pool: list[Any], seconds: float, seed: int) -> None:
    """Calls with values that lie, for a time; after each one all is as it was before.

    What it changes is looked at after each call; whether the function is still right, and what is
    kept, when its turn ends.
    """
    rng = np.random.default_rng(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        good = goods[rng.integers(len(goods))]
        before, stats = value_of(good), tl.memory.stats()["allocated"]
        gc.freeze()
        for _ in range(25):
            args, kwargs = list(good.args), dict(good.kwargs)
            chosen = rng.random(len(args)) < 0.6
            args = [random_value(rng, pool) if c else a for a, c in zip(args, chosen, strict=True)]
            for name in good.keywords[len(args) :]:
                if rng.random() < 0.25:
                    kwargs[name] = random_value(rng, pool)
            if rng.random() < 0.05:
                args.append(random_value(rng, pool))
            if rng.random() < 0.05 and args:
                args.pop(rng.integers(len(args)))
            held = [*args, *kwargs.values()]
            was, given, start = state(), contents(iter(held)), time.process_time()
            number = drawn()
            runner.attempt(good, tuple(args), kwargs)
            taken = time.process_time() - start
            if good.name not in CHANGES and (was, given) != (state(), contents(iter(held))):
                runner.wrong.append(
                    f"{good.name}: changes what it is given: {list(map(shown, held))}"
                )
            # Layers draw before their op refuses; async, kernels refuse when the call is over.
            is_late = (
                good.name.startswith(("nn.", "static.")) or tl.engine.options()["mode"] != "sync"
            )
            if runner.was_refused and number != drawn() and not is_late:
                runner.wrong.append(f"{good.name}: refuses, and draws: {list(map(shown, held))}")
            if taken > MOST_TIME + TIME_OF_BYTE * runner.made:
                runner.wrong.append(f"{good.name}: takes {taken:.1f} s: {list(map(shown, held))}")
        del args, kwargs, held, given
        if (kept := live([*pool, *good.args])) > 0:  # what a recording binds is known anew
            runner.wrong.append(f"{good.name}: {kept} tensor-likes stay alive after bad calls")
        if good.name not in CHANGES:
            runner.check_still_right(good, before, stats)


def expire(*_: Any) -> None:
    raise TimeoutError


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shard", type=int, default=0)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--random", type=int, default=0, help="how many random calls")
    parser.add_argument("--lies", type=float, default=0, help="for how many seconds to lie")
    parser.add_argument("--objects", action="store_true", help="lie to classes and methods, too")
    parser.add_argument("--programs", action="store_true", help="methods of programs alone")
    parser.add_argument("--names", action="store_true", help="errors must name what was called")
    parser.add_argument("--mode", default="sync", help="of the engine")
    parser.add_argument("--only", default="", help="a function's name")
    options = parser.parse_args()
    from support.hostile_blocks import block_calls
    from support.hostile_objects import lying_functions, object_calls
    from support.hostile_programs import program_calls

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    signal.signal(signal.SIGALRM, expire)
    np.seterr(all="ignore")
    goods = [*program_calls(), *block_calls()] if options.programs else good_calls()
    goods = [good for good in goods if options.only in ("", good.name)]
    runner, values = Runner(), pool()
    if options.programs:  # some of which write files
        os.chdir(tempfile.mkdtemp())
    if options.lies:
        goods = [*goods, *(object_calls() if options.objects else ())]
        goods = [good for good in goods if options.only in ("", good.name)]
        LIARS.extend(lying_functions())
        runner.checks_names = options.names
        print(f"seed {options.shard}, {options.mode}")
        with tl.engine.mode(options.mode, threshold=1):
            lie(runner, goods, values, options.lies, options.shard)
    elif options.random:
        at_random(runner, goods, values, options.random, options.shard)
    else:
        for good in goods[options.shard :: options.shards]:
            before, stats = value_of(good), tl.memory.stats()["allocated"]
            one_by_one(runner, good, values)
            runner.check_still_right(good, before, stats)
    least = min(runner.by_name.values(), default=0)
    assert not runner.wrong, "\n".join([f"{len(runner.wrong)} are wrong", *runner.wrong[:40]])
    counts = f"{len(runner.by_name)} functions, {runner.calls} calls, {runner.refused} refused"
    print(f"{counts}, {least} at least")


if __name__ == "__main__":
    main()

"""The engine's modes: the same bits, what fuses, when it runs, and what goes wrong later."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.engine import normal

import tensorlike as tl
from tensorlike import _C
from tensorlike import functional as F

MODES = ("sync", "async", "lazy")


def random_program(seed: int, dtype: str) -> Callable[[], list[np.ndarray]]:
    """A random straight-line program over broadcasting tensors; some results stay held."""
    rng = np.random.default_rng(seed)
    shapes = [(6, 40), (40,), (6, 1), ()]
    inputs = [rng.uniform(0.5, 2, shape).astype(dtype) for shape in shapes]
    unary = [F.exp, F.tanh, F.sqrt, F.abs, F.negative, F.sigmoid]
    binary = [F.add, F.subtract, F.multiply, F.maximum, F.divide]
    reductions = [F.sum, F.mean, F.max]
    plan = [(int(rng.integers(0, 10)), rng.integers(0, 1000, 4)) for _ in range(25)]

    def run() -> list[np.ndarray]:
        values = [tl.tensor(x) for x in inputs]
        held = []
        for kind, pick in plan:
            x = values[pick[0] % len(values)]
            y = values[pick[1] % len(values)]
            if kind < 4:
                z = F.tanh(unary[pick[2] % len(unary)](F.abs(x)))
            elif kind < 8:
                z = F.tanh(binary[pick[2] % len(binary)](x, y))
            else:
                axis = None if x.ndim == 0 else int(pick[3] % x.ndim)
                z = reductions[pick[2] % len(reductions)](x, axis=axis, keepdims=True)
            values.append(z)
            if pick[3] % 3 == 0:
                held.append(z)
            if len(values) > 9:
                del values[pick[2] % 4 + 4]
        return [np.asarray(z.astype(tl.float64)) for z in [*held, *values]]

    return run


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("seed", range(12))
def test_results_are_the_same_to_the_bit_in_every_mode(seed: int, dtype: str) -> None:
    run = random_program(seed, dtype)
    wanted = run()
    for mode in ("lazy", "async"):
        with tl.engine.mode(mode, threshold=1):
            got = run()
        for a, b in zip(wanted, got, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", MODES)
def test_memory_that_others_may_change_is_read_at_once(mode: str) -> None:
    theirs = np.ones(1000, np.float32)
    with tl.engine.mode(mode, threshold=1):
        x = tl.from_dlpack(theirs)
        doubled = x * 2
        total = x.sum()
        theirs[:] = 5
        assert np.asarray(doubled)[0] == 2
        assert total.item() == 1000


@pytest.mark.parametrize("mode", MODES)
def test_sums_over_views_have_the_bits_of_sync(mode: str) -> None:
    x = normal(300, 70)
    wanted = np.asarray(F.sum(F.permute_dims(F.exp(x), axes=(1, 0)), axis=1))
    with tl.engine.mode(mode, threshold=1):
        got = F.sum(F.permute_dims(F.exp(x), axes=(1, 0)), axis=1)
        np.testing.assert_array_equal(np.asarray(got), wanted)


@pytest.mark.parametrize("mode", MODES)
def test_wrong_shapes_are_an_error_on_the_line_of_the_call(mode: str) -> None:
    x, y = normal(30), normal(31)
    with tl.engine.mode(mode, threshold=1), pytest.raises(tl.ShapeError, match="add"):
        x + y


@pytest.mark.parametrize("mode", ["lazy", "async"])
def test_an_error_that_comes_later_names_the_op_and_the_line(mode: str) -> None:
    x = normal(100_000)
    with tl.engine.mode(mode, threshold=1):
        limit = _C.memory_stats()["allocated"] + 150_000
        tl.memory.set_limit(limit)
        try:
            with pytest.raises(tl.OutOfMemoryError, match="multiply") as caught:
                np.asarray(x * 3)
        finally:
            tl.memory.set_limit(None)
        if mode == "lazy":
            assert __file__ in str(caught.value)
        np.testing.assert_array_equal(np.asarray(x * 3), np.asarray(x) * 3)


def test_nothing_is_lost_when_a_flush_fails() -> None:
    x = normal(100_000)
    with tl.engine.mode("lazy", threshold=1):
        y = F.exp(x) + 1
        tl.memory.set_limit(_C.memory_stats()["allocated"] + 1000)
        try:
            with pytest.raises(tl.OutOfMemoryError):
                np.asarray(y)
        finally:
            tl.memory.set_limit(None)
        np.testing.assert_array_equal(np.asarray(y), np.asarray(F.exp(x) + 1))


def test_an_asynchronous_failure_surfaces_at_the_wait_and_cancels_what_needs_it() -> None:
    x = normal(100, 3)
    with tl.engine.mode("async", threshold=1):
        picked = F.gather(x, tl.tensor([0, 1000]), axes=0)
        line = f"{__file__}:{sys._getframe().f_lineno - 1}"
        after = picked * 2
        other = x + 1
        for _ in range(2):
            with pytest.raises(tl.IndexRangeError, match=r"Gather.*1000") as caught:
                np.asarray(after)
            assert line in str(caught.value)
        np.testing.assert_array_equal(np.asarray(other), np.asarray(x) + 1)
        tl.engine.sync()  # nobody is told twice
        F.gather(x, tl.tensor([0, 1000]), axes=0)
        with pytest.raises(tl.IndexRangeError):
            tl.engine.sync()


@pytest.mark.parametrize("mode", MODES)
def test_gradients_are_the_same(mode: str) -> None:
    def run() -> np.ndarray:
        x = tl.tensor(np.linspace(-1, 1, 60, dtype=np.float32), requires_grad=True)
        loss = (F.sigmoid(x * 3) * F.exp(x)).sum()
        loss.backward()
        return np.asarray(x.grad)

    wanted = run()
    with tl.engine.mode(mode, threshold=1):
        np.testing.assert_array_equal(run(), wanted)


def read(x: tl.Tensor, seen: list[np.ndarray]) -> None:
    seen.append(np.asarray(x))


@pytest.mark.parametrize("mode", ["lazy", "async"])
def test_threads_may_read_what_waits_at_the_same_time(mode: str) -> None:
    x = normal(300, 300)
    wanted = np.asarray(F.exp(F.tanh(x)).sum(axis=0))
    with tl.engine.mode(mode, threshold=1):
        for _ in range(10):
            y = F.exp(F.tanh(x)).sum(axis=0)
            seen: list[np.ndarray] = []
            threads = [threading.Thread(target=read, args=(y, seen)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(seen) == 4
            for got in seen:
                np.testing.assert_array_equal(got, wanted)


def test_the_mode_comes_back_after_the_block_whatever_happens() -> None:
    before = tl.engine.options()
    with pytest.raises(KeyError), tl.engine.mode("lazy", threshold=7):
        assert tl.engine.options()["mode"] == "lazy"
        with tl.engine.mode("sync"):
            assert tl.engine.options()["mode"] == "sync"
        assert tl.engine.options()["threshold"] == 7
        raise KeyError
    assert tl.engine.options() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fast",), r"engine.mode: name must be one of sync, async, lazy; got 'fast'"),
        (("lazy", 0), r"engine.mode: threshold must be a positive integer; got 0"),
        (("lazy", True), r"engine.mode: threshold must be a positive integer; got True"),
        (("lazy", "8"), r"engine.mode: threshold must be a positive integer; got '8'"),
    ],
)
def test_wrong_modes_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    before = tl.engine.options()
    with pytest.raises(ValueError, match=message):
        tl.engine.mode(arguments[0], threshold=dict(enumerate(arguments)).get(1))
    assert tl.engine.options() == before


def run_apart(program: str, timeout: float = 60) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "import tensorlike as tl, numpy as np\n" + program],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("mode", ["lazy", "async"])
def test_the_interpreter_ends_with_work_that_waits(mode: str) -> None:
    run_apart(
        f"tl.engine.mode({mode!r}, threshold=1)\n"
        "x = tl.tensor(np.ones((500, 500), 'f4'))\n"
        "kept = [(x @ x * i).sum() for i in range(20)]\n"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("mode", ["lazy", "async"])
def test_a_child_of_fork_reads_what_its_parent_left_waiting(mode: str) -> None:
    out = run_apart(
        "import os, warnings\n"
        "warnings.simplefilter('ignore')\n"
        f"tl.engine.mode({mode!r}, threshold=1)\n"
        "x = tl.tensor(np.ones((300, 300), 'f4'))\n"
        "for i in range(20):\n"
        "    y = ((x @ x) * i).sum()\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        os._exit(0 if y.item() == 300 * 300 * 300 * i else 1)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "print('ok')\n"
    )
    assert out == "ok\n"


def test_a_profile_counts_fused_programs_once(tmp_path: Any) -> None:
    x = normal(200)
    with tl.profile() as p, tl.engine.mode("lazy", threshold=1):
        np.asarray(F.sum(F.exp(x) * 2))
        x @ x
    assert [event.ops for event in p.events] == [("exp", "multiply", "sum"), ("MatMul",)]
    assert all(event.duration > 0 and event.bytes > 0 for event in p.events)
    assert p.events[0].place.startswith(__file__)
    assert "exp + multiply + sum" in p.table()
    path = tmp_path / "trace.json"
    p.save(path)
    import json

    trace = json.loads(path.read_text())["traceEvents"]
    assert [row["cat"] for row in trace] == ["fused", "op"]
    assert {"ph", "name", "ts", "dur", "pid", "tid", "args"} <= set(trace[0])


def test_small_ops_are_profiled_too_and_only_inside_the_block() -> None:
    x = normal(4)
    with tl.profile() as p:
        x + x
    x + x
    assert [event.name for event in p.events] == ["add"]
    with tl.profile() as q:
        pass
    assert q.events == []

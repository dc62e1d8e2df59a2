"""Threads that share a graph, a registry, a process or a stack."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from support.apart import run_in_threads, run_python

import tensorlike as tl
from tensorlike import functional as F

THREADS = 8


def test_threads_train_through_shared_parameters_and_no_gradient_is_lost() -> None:
    rng = np.random.default_rng(0)
    layers = [tl.nn.Linear(64, 64, seed=0), tl.nn.Linear(64, 64, seed=1)]
    network = tl.nn.Sequential(layers[0], F.tanh, layers[1])
    x = tl.tensor(rng.standard_normal((256, 64)).astype(np.float32))
    large = tl.Parameter(np.ones(1_000_000, np.float32))
    threads, rounds = 4, 12

    def step() -> None:
        F.sum(network(x)).backward()
        F.sum(large * 2).backward()

    step()
    want = [np.asarray(p.grad).copy() for p in network.parameters()]
    for p in [large, *network.parameters()]:
        p.grad = None
    for _ in range(5):
        barrier = threading.Barrier(threads)
        errors: list[BaseException] = []

        def work(barrier: Any = barrier, errors: Any = errors) -> None:
            try:
                barrier.wait()
                for _ in range(rounds):
                    step()
            except BaseException as error:
                errors.append(error)

        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert not errors, errors[0]
        assert large.grad.tolist()[:3] == [2.0 * threads * rounds] * 3
        large.grad = None
        for p, once in zip(network.parameters(), want, strict=True):
            np.testing.assert_allclose(p.grad, once * (threads * rounds), rtol=1e-4, atol=1e-2)
            p.grad = None


def test_threads_that_pull_through_one_graph_get_it_or_are_told_that_it_is_used_up() -> None:
    for retain in (True, False):
        x = tl.Parameter(np.ones(300_000, np.float32))
        y = F.sum(F.exp(F.tanh(x * 2) * x))
        done: list[int] = []

        def work(i: int, y: Any = y, retain: bool = retain, done: Any = done) -> None:
            try:
                y.backward(retain_graph=retain)
                done.append(i)
            except tl.AutodiffError as error:
                assert "used up" in str(error)

        run_in_threads(work)
        assert len(done) == THREADS if retain else len(done) <= 1


def test_threads_declare_at_once_and_all_of_it_can_be_used() -> None:
    made: dict[int, Any] = {}
    refused: list[Exception] = []

    def work(i: int) -> None:
        for k in range(4):
            name = f"from_thread_{i}_{k}"
            made[4 * i + k] = getattr(
                tl.declare(
                    f'- scalar: {name}\n  args: ["x: real floating-point"]\n'
                    f"  expr: x + {4 * i + k}\n  doc: A sum.\n"
                ),
                name,
            )
        try:
            tl.declare(
                '- scalar: from_every_thread\n  args: ["x: real floating-point"]\n'
                "  expr: x * 3\n  doc: A product.\n"
            )
        except ValueError as error:
            refused.append(error)

    run_in_threads(work)
    assert len(refused) == THREADS - 1
    for i, function in made.items():
        assert function(tl.tensor([1.0])).item() == 1 + i
    calls = [f"from_thread_{i}_{k}" for i in range(8) for k in range(4)]
    steps = [f"y{n + 1} = {call}(y{n})" for n, call in enumerate(calls)]
    body = "\n    ".join(["y0 = from_every_thread(x)", *steps, f"y{len(calls)}"])
    both = tl.declare(
        '- op: OfAllThreads\n  args: ["x: real floating-point"]\n'
        f"  define: |\n    {body}\n  doc: All of them.\n"
    )
    assert both.of_all_threads(tl.tensor([0.0])).item() == sum(range(32))


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
def test_the_process_ends_cleanly_while_daemon_threads_work(mode: str) -> None:
    done = [
        run_python(f"""
import threading, time
import numpy as np
import tensorlike as tl
from tensorlike import functional as F
tl.engine.mode({mode!r}, threshold=1)
def work():
    p = tl.Parameter(np.ones((300, 300), np.float32))
    while True:
        F.sum(F.exp(p @ p * 0.001)).backward()
        p.grad = None
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.{i}1)
""")
        for i in range(3)
    ]
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 3


def test_a_subinterpreter_is_refused() -> None:
    done = run_python("""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import tensorlike
one = interpreters.create()
program = '''
try:
    import tensorlike
except ImportError as error:
    assert "interpreter" in str(error), error
else:
    raise SystemExit("it was imported")
'''
found = interpreters.run_string(one, program)
assert found is None, found
""")
    assert done.returncode == 0, done.stderr


def test_recursion_ends_with_an_error_before_the_stack_does() -> None:
    done = run_python("""
import threading
import tensorlike as tl
from tensorlike import _C, functional as F

def nested():
    x = tl.as_raw_tensor([1.0])
    for _ in range(20_000):
        x = _C.Tracer(x)
    return F.exp(x)

def hooked():
    def hook(g):
        x = tl.tensor([1.0], requires_grad=True)
        x.register_hook(hook)
        F.sum(x * 2).backward()
    hook(None)

def plain():
    x = tl.tensor([1.0] * 1000, requires_grad=True)
    for _ in range(20):
        F.sum(F.softmax(x @ tl.ones((1000, 4))) * 2).backward()

def tried(function):
    try:
        function()
    except (tl.TensorlikeError, RecursionError) as error:
        print(function.__name__, type(error).__name__)

for size in (0, 64 * 1024, 128 * 1024, 512 * 1024):
    threading.stack_size(size)
    for function in (nested, hooked, plain):
        thread = threading.Thread(target=tried, args=(function,))
        thread.start()
        thread.join()
tried(nested)
tried(hooked)
""")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert sum(line.startswith("nested ") for line in lines) == 5
    assert sum(line.startswith("hooked ") for line in lines) == 5
    assert lines.count("plain DispatchError") <= 2

"""Built-in declarations are read when they are asked for, each by itself and in any order."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tensorlike import _C, ops
from tensorlike.opdecl import load_builtin


def run(program: str) -> str:
    """What a process prints that has read nothing else."""
    command = [sys.executable, "-W", "error", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def _built_in() -> list[str]:
    """The names of calls, without those that other tests have declared."""
    declared = load_builtin()
    return [
        spec.name
        for stem in declared.stems
        for entry in (*declared.older_of_stem(stem), *declared.of_stem(stem))
        for spec in declared.lower(entry)
        if type(spec).__name__ == "FunctionSpec"
    ]


def test_all_of_them_can_be_read() -> None:
    """Whoever misspells a call makes the core read all for what may have been meant."""
    with pytest.raises(ValueError, match="there is no declared function 'multiplied'; did you"):
        _C.Function("multiplied")


def test_each_says_what_it_is_without_the_others() -> None:
    for name in _built_in():
        call = _C.Function(name)
        assert call.text_signature.startswith(f"{name}("), name
        assert hasattr(ops, call.op_name), name


def test_calls_are_listed_as_they_are_declared() -> None:
    wanted = _built_in()
    assert [name for name in _C.function_names() if name in set(wanted)] == wanted


def test_an_op_that_is_read_after_a_rule_was_registered_follows_the_rule() -> None:
    program = """
import tensorlike as tl
seen = []
@tl.apply.register
def apply_seen(op: tl.ops.OpBase, *xs: tl.RawTensor):
    seen.append(type(op).__name__)
    return tl.apply.super(op, *xs)
x = tl.tensor([[4.0, 0.0], [0.0, 9.0]])
tl.sort(x), tl.functional.softmax(x), tl.cumulative_sum(x, axis=0), tl.exp(x)
print(*seen)
"""
    assert run(program).split() == ["Sort", "Softmax", "Scan", "Elemwise"]


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
def test_threads_may_ask_for_the_same_ones_at_once(mode: str) -> None:
    program = f"""
import threading
import numpy as np
import tensorlike as tl
from tensorlike import functional as F
x = tl.tensor(np.linspace(0.1, 0.9, 24).reshape(4, 6).astype("float32"))
calls = [
    lambda: F.softmax(x), lambda: F.gelu(x), lambda: F.layer_norm(x, 1.0, 0.0),
    lambda: F.cumulative_sum(x, axis=1),
    lambda: F.erf(x), lambda: x @ x.T, lambda: F.logsumexp(x, axis=1), lambda: F.tanh(x).sum(),
]
found = [[None] * len(calls) for _ in range(6)]
start = threading.Barrier(len(found))
def ask(results, first):
    start.wait()
    for i in range(len(calls)):
        which = (i + first) % len(calls)
        results[which] = calls[which]().numpy()
with tl.engine.mode({mode!r}):
    threads = [threading.Thread(target=ask, args=(part, i)) for i, part in enumerate(found)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
for part in found:
    for one, other in zip(part, found[0]):
        np.testing.assert_array_equal(one, other)
print("equal")
"""
    assert run(program).strip() == "equal"

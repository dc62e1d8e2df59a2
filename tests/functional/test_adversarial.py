"""Hostile arguments: every call returns, or raises an exception that is documented; none crashes.

The calls run in a process of their own, which must end by itself: a crash would name the call.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.apart import LIMITS_MEMORY
from support.declarations import REDUCTIONS, SCALARS

SETUP = """
import faulthandler, itertools, resource, sys
faulthandler.enable()
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
import numpy as np
import tensorlike as tl
F = tl.functional
DOCUMENTED = (tl.TensorlikeError, TypeError, ValueError, IndexError, OverflowError, MemoryError,
              BufferError)
INT64_MIN = -(2**63)
HUGE = [2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**200, -1, -2, INT64_MIN, INT64_MIN - 1, -(2**200)]
NUMBERS = [*HUGE, 0, 1, True, False, 0.5, float("nan"), float("inf"), -float("inf"), 1e300, 1j]
OTHERS = [None, "a", "", b"a", object(), [], (), {}, [[]], [None], ["a"], [1, "a"], [[1], [1, 2]],
          range(3), iter([1]), len, tl.Tensor, slice(None), Ellipsis, tl.float32]
SHAPES = [(2**40, 2**40), (2**62, 2), (2**63,), (2**200,), (-1,), (-1, -1), (INT64_MIN,),
          (0, 2**62), (0, 2**40, 2**40), (1,) * 64, (1,) * 65, (1,) * 1000, (), (0,), (True,),
          (1.5,), ("a",), (None,), [[1]], 2**40, -5, "12"]
calls = refused = 0
wrong = []

def attempt(what, call):
    global calls, refused
    calls += 1
    try:
        out = call()
        repr(out)
    except DOCUMENTED as error:
        refused += 1
        if not str(error):
            wrong.append(f"{what}: {type(error).__name__} without a text")
    except BaseException as error:
        wrong.append(f"{what}: {error!r} is not documented")

def shown(value):
    return repr(value)[:60]
"""

SCALAR_CALLS = """
tensors = [tl.tensor([1.0, 2.0]), tl.tensor([1, 2]), tl.tensor([True, False]), tl.tensor(1.0),
           tl.tensor(np.zeros((0, 2))), tl.tensor(np.ones((1,) * 32)), np.ones(3), np.array("a")]
for name, count in NAMES:
    function = getattr(F, name)
    for value in [*NUMBERS, *OTHERS, *tensors]:
        for place in range(min(count, 3)):
            args = [value if i == place else tensors[i % 2] for i in range(count)]
            attempt(f"{name} argument {place} = {shown(value)}", lambda: function(*args))
        attempt(f"{name} all = {shown(value)}", lambda: function(*[value] * count))
    for extra in (0, count + 1, 70):
        attempt(f"{name} of {extra}", lambda: function(*[tensors[0]] * extra))
"""

REDUCTION_CALLS = """
tensors = [tl.tensor([1.0, 2.0]), tl.tensor(1.0), tl.tensor(np.zeros((0, 2))),
           tl.tensor(np.ones((1,) * 32)), tl.tensor(np.ones((2, 3), np.int32))]
axes = [*NUMBERS, *OTHERS, (0, 0), (0, -1), (5,), (INT64_MIN,), (2**63,), tuple(range(70)),
        [0] * 1000, (0.5,), (True,), np.array([0]), np.int64(-1), np.array(0.5)]
for name, _ in NAMES:
    function = getattr(F, name)
    for x in tensors:
        for axis in axes:
            attempt(f"{name} axis={shown(axis)}", lambda: function(x, axis=axis))
            attempt(f"{name} op {shown(axis)}", lambda: tl.ops.Reduce(mode=name, axis=axis)(x))
        for flag in [*NUMBERS, *OTHERS]:
            attempt(f"{name} keepdims={shown(flag)}", lambda: function(x, keepdims=flag))
    for value in [*NUMBERS, *OTHERS]:
        attempt(f"{name} of {shown(value)}", lambda: function(value))
    attempt(f"{name} of nothing", lambda: tl.ops.Reduce(mode=name)())
    attempt(f"{name} of two", lambda: tl.ops.Reduce(mode=name)(x, x))
"""

SHAPE_CALLS = """
x = tl.tensor(np.arange(6.0).reshape(2, 3))
e = tl.tensor(np.zeros((0, 3)))
every = [*SHAPES, *NUMBERS, *OTHERS]
for shape in every:
    label = shown(shape)
    for t in (x, e, tl.tensor(1.0), tl.ShapeTensor((2, 3), tl.float32)):
        attempt(f"reshape {label}", lambda: F.reshape(t, shape))
        attempt(f"broadcast_to {label}", lambda: F.broadcast_to(t, shape))
        attempt(f"permute_dims {label}", lambda: F.permute_dims(t, shape))
        attempt(f"split sizes {label}", lambda: F.split(t, shape))
        attempt(f"split axis {label}", lambda: F.split(t, (1, 1), axis=shape))
        attempt(f"concat {label}", lambda: F.concat([t, t], axis=shape))
        attempt(f"stack {label}", lambda: F.stack([t, t], axis=shape))
        attempt(f"softmax {label}", lambda: F.softmax(t, axis=shape))
        attempt(f"log_softmax {label}", lambda: F.log_softmax(t, axis=shape))
        attempt(f"astype {label}", lambda: F.astype(t, shape))
        attempt(f"to_device {label}", lambda: F.to_device(t, shape))
        attempt(f"gather axes {label}", lambda: F.gather(t, tl.tensor([0]), axes=shape))
        attempt(f"matmul {label}", lambda: F.matmul(t, shape))
        attempt(f"cross_entropy {label}", lambda: F.cross_entropy(t, shape))
        attempt(f"x[{label}]", lambda: t[shape] if hasattr(t, "__getitem__") else None)
        attempt(f"items {label}", lambda: F.subtensor(t, items=shape))
        attempt(f"set items {label}", lambda: F.set_subtensor(t, 1.0, items=shape))
    attempt(f"one_hot {label}", lambda: F.one_hot(tl.tensor([0, 1]), depth=shape))
    attempt(f"one_hot of {label}", lambda: F.one_hot(shape, depth=3))
    attempt(f"full value {label}", lambda: F.full((2,), shape))
    attempt(f"Fill {label}", lambda: tl.ops.Fill(shape=(2,), value=shape)())
    attempt(f"concat of {label}", lambda: F.concat(shape))
    attempt(f"stack of {label}", lambda: F.stack(shape))
    attempt(f"tensor {label}", lambda: tl.tensor(shape))
    attempt(f"tensor dtype {label}", lambda: tl.tensor([1.0], dtype=shape))
    attempt(f"RawTensor {label}", lambda: tl.RawTensor(shape))
    attempt(f"ShapeTensor {label}", lambda: tl.ShapeTensor(shape, tl.float32))
    attempt(f"Elemwise {label}", lambda: tl.ops.Elemwise(mode=shape))
    attempt(f"Const {label}", lambda: tl.ops.Const(shape)(x))
    for other in (0, 5, 1.0):
        attempt(f"arange({label}, {other})", lambda: F.arange(shape, other))
        attempt(f"arange({other}, {label})", lambda: F.arange(other, shape))
        attempt(f"arange(0, 5, {label})", lambda: F.arange(0, 5, shape))
for shape in SHAPES:
    attempt(f"full {shown(shape)}", lambda: F.full(shape, 1) if shape != 2**40 else None)
    if isinstance(shape, tuple):
        attempt(f"ShapeTensors {shown(shape)}",
                lambda: F.sum(F.add(tl.ShapeTensor(shape, tl.float32), 1), axis=0))
for count in (0, 1, 2, 65, 300):
    attempt(f"concat of {count}", lambda: F.concat([x] * count))
    attempt(f"stack of {count}", lambda: F.stack([x] * count))
    attempt(f"gather with {count}", lambda: F.gather(x, *[tl.tensor([0])] * count, axes=(0, 1)))
"""

INDEX_CALLS = """
x = tl.tensor(np.arange(24.0).reshape(2, 3, 4))
rng = np.random.default_rng(1)
bad = [INT64_MIN, INT64_MIN + 1, 2**63 - 1, 2**62, -3, -2, -1, 0, 1, 2, 3, 99]
for length in range(14):
    for _ in range(60):
        items = tuple(int(rng.choice(bad)) for _ in range(length))
        attempt(f"items {items}", lambda: F.subtensor(x, items=items))
        attempt(f"set {items}", lambda: F.set_subtensor(x, tl.tensor(1.0), items=items))
        shape = tl.ShapeTensor((2, 3), tl.int32)
        attempt(f"shape {items}", lambda: F.subtensor(shape, items=items))
for value in (-(2**63), -3, -1, 2, 3, 2**31, 2**62, 2**63 - 1):
    index = tl.tensor(np.array([0, value]))
    for axis in (0, 1, 2):
        attempt(f"gather {value}", lambda: F.gather(x, index, axes=(axis,)))
        v = tl.tensor(np.ones((2, *(d for i, d in enumerate((2, 3, 4)) if i != axis))))
        attempt(f"scatter_set {value}", lambda: F.scatter_set(x, v, index, axes=(axis,)))
        attempt(f"scatter_add {value}", lambda: F.scatter_add(x, v, index, axes=(axis,)))
    attempt(f"one_hot {value}", lambda: F.one_hot(index, depth=3))
    attempt(f"cross_entropy {value}", lambda: F.cross_entropy(x[0, :2], index))
    attempt(f"x[{value}]", lambda: x[value])
    attempt(f"x[[{value}]]", lambda: x[[value]])
    for step in (-(2**63), -1, 1, 2**63 - 1):
        attempt(f"x[{value}::{step}]", lambda: x[value::step])
        attempt(f"x[:{value}:{step}]", lambda: x[:value:step])
"""

DATA_CALLS = """
base = np.arange(24.0)
unaligned = np.frombuffer(bytes(8 * 4 + 1), np.uint8)[1:].view(np.float64)
arrays = [
    base.astype(">f8"), base.astype(">i4"), base.astype(np.float16), base.astype(np.complex64),
    base.astype(np.uint8), base.astype(np.uint64), base.astype(np.longdouble), unaligned,
    np.array([object()]), np.array(["a"]), np.array([b"a"]), np.zeros(3, "V8"), np.zeros(0),
    np.zeros(3, [("a", "f8")]), np.array(["2020"], "M8[D]"), np.broadcast_to(1.0, (2**40,)),
    np.broadcast_to(1.0, (2**20, 2**20)), np.zeros((1,) * 64), np.zeros((0,) * 64),
    np.lib.stride_tricks.as_strided(base, (4, 4), (8, 8)), base[::-3], base.reshape(2, 3, 4).T,
    np.ma.masked_array([1.0], [True]), memoryview(base), bytearray(b"abc"),
    bytes(8), memoryview(b""), np.float64(1), np.datetime64("2020"), np.bool_(True), 1j,
]
makers = [tl.tensor, tl.Tensor, tl.RawTensor, tl.Parameter, tl.as_raw_tensor, tl.from_dlpack]
for i, data in enumerate([*arrays, *NUMBERS, *OTHERS]):
    for make in makers:
        attempt(f"{make.__name__} of data {i}", lambda: make(data))
        for dtype in (tl.float32, "int64", "bool", None, 3):
            attempt(f"{make.__name__} of data {i}, {dtype}", lambda: make(data, dtype))
    x = tl.tensor(np.ones((2, 3)))
    attempt(f"x + data {i}", lambda: x + data if not hasattr(data, "shape") else F.add(x, data))
    attempt(f"data {i} + x", lambda: data + x if not hasattr(data, "shape") else F.add(data, x))
    attempt(f"x[data {i}]", lambda: x[data])
    attempt(f"x @ data {i}", lambda: F.matmul(x, data))
    attempt(f"x == data {i}", lambda: x == data)
    attempt(f"apply {i}", lambda: tl.apply(data, x))
    attempt(f"apply to {i}", lambda: tl.apply(tl.ops.Elemwise(mode="exp"), data))
    attempt(f"shape tensor {i}", lambda: F.add(tl.ShapeTensor((2,), tl.float32), data))

    def assign(key):
        y = tl.tensor(np.ones((2, 3)))
        y[key] = data
        return y

    for key in (0, Ellipsis, (0, 1), slice(None), [0, 1], np.array([True, False]), None):
        attempt(f"y[{key}] = data {i}", lambda: assign(key))
"""

GRADIENT_CALLS = """
values = [*NUMBERS, *OTHERS, np.ones(3), np.ones((2, 2)), tl.tensor([1, 2]), tl.tensor([True]),
          tl.tensor(np.ones((2, 0))), tl.ShapeTensor((2,), tl.float32), tl.RawTensor([1.0, 2.0])]
for value in values:
    label = shown(value)

    def backward(**options):
        x = tl.tensor([1.0, 2.0], requires_grad=True)
        (x * x).backward(value, **options)
        return x.grad

    attempt(f"backward({label})", backward)
    attempt(f"backward({label}, create_graph)", lambda: backward(create_graph=True))
    attempt(f"vjp cotangent {label}",
            lambda: tl.vjp(lambda x: x * x, tl.tensor([1.0, 2.0]))[1](value))
    attempt(f"vjp of {label}", lambda: tl.vjp(lambda x: x, value)[1](value))
    attempt(f"grad of {label}", lambda: tl.grad(value)(1.0))
    attempt(f"grad at {label}", lambda: tl.grad(lambda x: F.sum(x * x))(value))
    attempt(f"grad returns {label}", lambda: tl.grad(lambda x: value)(1.0))
    attempt(f"argnums {label}", lambda: tl.grad(lambda x: x * x, argnums=value)(1.0))
    attempt(f"requires_grad {label}", lambda: tl.tensor([1.0], requires_grad=value))
    attempt(f"Tracer {label}", lambda: tl.Tracer(value))
    attempt(f"Tracer on {label}", lambda: tl.Tracer(tl.RawTensor([1.0]), value))

    def set_gradient():
        x = tl.tensor([1.0, 2.0], requires_grad=True)
        x.grad = value
        (x * x).backward(tl.tensor([1.0, 1.0]))
        return x.grad

    attempt(f"x.grad = {label}", set_gradient)
    attempt(f"Grad of {label}", lambda: tl.Grad().wrt(value))

    def pull(g=None):
        x = tl.tensor([1.0, 2.0])
        with tl.Grad().wrt(x) as g:
            g(x * x, value)
        return x.grad

    attempt(f"Grad with {label}", pull)
for function in [F.sum, F.prod, F.max, F.softmax, F.exp, F.matmul]:
    for shape in [(), (0,), (2, 0, 3), (1,) * 20]:
        attempt(f"{function} {shape}", lambda: tl.grad(lambda x: F.sum(function(x, *(
            (x,) if function is F.matmul else ()))))(tl.tensor(np.ones(shape))))
for _ in range(200):
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    y = F.sum(x * x)
    attempt("backward", lambda: y.backward())
    attempt("backward again", lambda: y.backward())
    attempt("grad of what is released", lambda: tl.grad(lambda z: y * z)(1.0))
    attempt("numpy of a traced one", lambda: np.asarray(y))
    attempt("in place on a leaf", lambda: x.__setitem__(0, 1.0))
"""

PROGRAMS = {
    "scalar": f"NAMES = {[(e.name, len(e.args)) for e in SCALARS]}\n{SCALAR_CALLS}",
    "reduction": f"NAMES = {[(e.name, 1) for e in REDUCTIONS]}\n{REDUCTION_CALLS}",
    "shape": SHAPE_CALLS,
    "index": INDEX_CALLS,
    "data": DATA_CALLS,
    "gradient": GRADIENT_CALLS,
}


def run_alone(program: str) -> str:
    """The output of a program in a process of its own, which must end well."""
    command = [sys.executable, "-W", "error", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, f"exit {result.returncode}\n{result.stderr[-1500:]}"
    return result.stdout


@LIMITS_MEMORY
@pytest.mark.parametrize("name", PROGRAMS)
def test_hostile_arguments_return_or_raise_what_is_documented(name: str) -> None:
    program = SETUP + PROGRAMS[name] + "\nassert not wrong, wrong[:20]\nprint(calls, refused)\n"
    calls, refused = (int(word) for word in run_alone(program).split())
    assert calls > 1000
    assert refused > calls // 10


def test_collecting_garbage_leaves_tensors_alone() -> None:
    """Tensors that die, in cycles and out of them, while the collector runs."""
    program = """
import gc
import tensorlike as tl
kept = [tl.tensor([float(i)]) for i in range(300)]
for i in range(300):
    x = tl.tensor([1.0], requires_grad=True)
    cycle = {"x": x, "y": tl.functional.exp(x * 2) + kept[i]}
    cycle["self"] = cycle
    parameter = tl.Parameter([1.0])
    outputs = tl.functional.sgd_step(parameter, x.detach(), 0.1)
    del x, cycle, parameter
    if i % 3 == 0:
        gc.collect()
assert [k.item() for k in kept] == [float(i) for i in range(300)]
print("done")
"""
    assert run_alone(program) == "done\n"


def test_deep_graphs_do_not_overflow_the_stack() -> None:
    program = """
import tensorlike as tl
x = tl.tensor([1.0], requires_grad=True)
y = x
for _ in range(200_000):
    y = y + 1.0
y.backward(tl.tensor([1.0]))
assert x.grad.tolist() == [1.0]
del y
print("done")
"""
    assert run_alone(program) == "done\n"

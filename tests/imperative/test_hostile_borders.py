"""What crosses the border to others, and is wrong there: buffers, pickles, DLPack, the environment.

Each case ends in an error that says what must hold, or in the right result.
"""

from __future__ import annotations

import copyreg
import ctypes
import hashlib
import inspect
import itertools
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

HALF = "\ud800"  # of a surrogate pair: UTF-8 cannot hold it


class View(ctypes.Structure):
    """Py_buffer."""

    _fields_ = (
        ("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)), ("internal", ctypes.c_void_p),
    )  # fmt: skip


SIMPLE, FORMAT, ND, STRIDES = 0, 4, 8, 0x10
C_ORDER, F_ORDER, ANY_ORDER = 0x20 | 0x18, 0x40 | 0x18, 0x80 | 0x18


def elements_seen(x: tl.RawTensor, flags: int) -> tuple[list[float], int, list[int]]:
    """What a reader of the buffer protocol sees, in C order of what it knows of the shape; how many
    dimensions, and the strides."""
    view = View()
    take = ctypes.pythonapi.PyObject_GetBuffer
    take.argtypes = [ctypes.py_object, ctypes.POINTER(View), ctypes.c_int]
    assert take(x, ctypes.byref(view), flags) == 0
    count = view.len // 4
    flat = np.ctypeslib.as_array(ctypes.cast(view.buf, ctypes.POINTER(ctypes.c_float)), (count,))
    ndim, strides = view.ndim, []
    assert ndim <= 1 or bool(view.shape)  # more dimensions need sizes
    if not view.strides:
        seen = flat.copy().tolist()
    else:
        shape = [view.shape[i] for i in range(view.ndim)]
        strides = [view.strides[i] for i in range(view.ndim)]
        at = ctypes.string_at
        seen = [
            np.frombuffer(at(view.buf + sum(map(int.__mul__, index, strides)), 4), "f4")[0]
            for index in itertools.product(*map(range, shape))
        ]
    release = ctypes.pythonapi.PyBuffer_Release
    release.argtypes = [ctypes.POINTER(View)]
    release(ctypes.byref(view))
    return [float(e) for e in seen], ndim, strides


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x, "transposed": lambda x: x.T, "stepped": lambda x: x[::2, 1::2],
    "reversed": lambda x: x[::-1, ::-1], "moved": lambda x: F.permute_dims(x[None], axes=(2, 0, 1)),
    "scalar": lambda x: x[1, 1], "row": lambda x: x[1],
    "repeated": lambda x: F.broadcast_to(x[:1], shape=(3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("flags", (SIMPLE, ND, ND | STRIDES, C_ORDER, F_ORDER, ANY_ORDER))
def test_every_request_for_a_buffer_sees_the_elements_in_its_order(layout: str, flags: int) -> None:
    x = LAYOUTS[layout](tl.tensor(np.arange(12, dtype=np.float32).reshape(3, 4)))
    array = np.asarray(x)
    seen, ndim, strides = elements_seen(x._raw(), flags)
    assert seen == array.ravel().tolist()
    assert ndim == (array.ndim if flags & ND else min(array.ndim, 1))
    sizes = array.shape
    steps = [4 * int(np.prod(sizes[i + 1 :])) for i in range(array.ndim)]
    from_the_left = [4 * int(np.prod(sizes[:i])) for i in range(array.ndim)]
    if flags == C_ORDER:
        assert all(s == w or n == 1 for s, w, n in zip(strides, steps, sizes, strict=True))
    if flags == F_ORDER:
        assert all(s == w or n == 1 for s, w, n in zip(strides, from_the_left, sizes, strict=True))
    if flags == ANY_ORDER:
        assert [1 for w in (steps, from_the_left) if all(
            s == x or n == 1 for s, x, n in zip(strides, w, sizes, strict=True))]  # fmt: skip


def test_a_digest_is_that_of_the_elements_in_c_order() -> None:
    x = tl.tensor(np.arange(12, dtype=np.float32).reshape(3, 4)).T
    assert hashlib.sha256(x._raw()).digest() == hashlib.sha256(np.asarray(x).tobytes()).digest()


JUNK: list[Any] = [
    None, 5, -1, 2.5, "x", HALF, b"", b"123", [], (), (2, 2), (-1,), (2**70,), {}, object(), int,
    tl.Tensor, tl.RawTensor, tl.ShapeTensor, np.ones(2), np.array([object()]), "float32", "object",
    "bfloat16", "bool", True, tl.float64, b"\xff" * 16, (4, 1), (2, 0, 2),
]  # fmt: skip


@pytest.mark.parametrize(
    "x", (tl.ones((2, 2)), tl.ones(2, dtype="bfloat16"), tl.RawTensor([1.0])), ids=repr
)
def test_a_changed_pickle_is_refused_or_makes_a_tensor(x: Any) -> None:
    rebuild, given = copy_of_reduced(x)
    tried = 0
    for i, junk in itertools.product(range(len(given)), JUNK):
        changed = [*given[:i], junk, *given[i + 1 :]]
        tried += 1
        try:
            repr(rebuild(*changed))
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            assert str(error)
    assert tried >= 3 * len(JUNK)


def copy_of_reduced(x: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    reduce = copyreg.dispatch_table.get(type(x))
    made: Any = reduce(x) if reduce is not None else x.__reduce__()
    return made[0], made[1]


@pytest.mark.parametrize("dtype", ("bool", "int8", "float16", "bfloat16", "float64", "complex64"))
@pytest.mark.parametrize("shape", ((), (0,), (2, 3), (0, 2)))
def test_a_pickle_keeps_shape_dtype_and_elements(dtype: str, shape: tuple[int, ...]) -> None:
    x = tl.ones(shape, dtype=dtype)
    y = pickle.loads(pickle.dumps(x))
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    assert F.all(F.equal(x, y)).item()


def test_dlpack_names_its_arguments_and_refuses_wrong_ones() -> None:
    parameters = inspect.signature(tl.Tensor.__dlpack__).parameters
    assert list(parameters) == ["self", "stream", "max_version", "dl_device", "copy"]
    x = tl.ones(2)
    for name, value in (
        ("dl_device", 5), ("dl_device", (1,)), ("dl_device", ("a", 0)), ("max_version", ("a", "b")),
        ("max_version", 3), ("max_version", (1,)), ("copy", 2),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=name):
            x.__dlpack__(**{name: value})
    for name, value in (("dl_device", (2, 0)), ("dl_device", (2**70, 0)), ("stream", 1)):
        with pytest.raises(BufferError):
            x.__dlpack__(**{name: value})
    with pytest.raises(BufferError, match="copy=False"):
        x.__dlpack__(copy=False)
    assert "versioned" in repr(x.__dlpack__(max_version=(2**70, 0)))


def test_classes_tell_their_signatures() -> None:
    class Named(tl.Tensor):
        def __init__(self, data: Any, name: str) -> None: ...

    assert list(inspect.signature(tl.Tensor).parameters) == ["data", "dtype", "requires_grad"]
    assert list(inspect.signature(tl.RawTensor).parameters) == ["data", "dtype"]
    assert list(inspect.signature(tl.ShapeTensor).parameters) == ["shape", "dtype"]
    assert list(inspect.signature(tl.Parameter).parameters) == ["data", "dtype"]
    assert list(inspect.signature(Named).parameters) == ["data", "name"]
    assert not hasattr(tl.Tensor, "__wrapped__")
    assert isinstance(tl.ones(2).__wrapped__, tl.RawTensor)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ISA", "bogus"), ("ISA", "V3"), ("NUM_THREADS", "abc"), ("NUM_THREADS", "0"),
        ("NUM_THREADS", "2.5"), ("ENGINE", "junk"), ("ENGINE", "lazy:abc"), ("ENGINE", "lazy:0"),
        ("ENGINE", "lazy:"), ("ENGINE", "junk:5"),
    ],
)  # fmt: skip
def test_an_environment_variable_that_is_wrong_is_an_error_at_import(name: str, value: str) -> None:
    done = imported(name, value)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ValueError: TENSORLIKE_{name}: ")
    assert repr(value) in last


@pytest.mark.parametrize(
    ("name", "value"), [("ISA", "v2"), ("NUM_THREADS", "1"), ("ENGINE", "lazy:7"), ("ISA", "")]
)
def test_an_environment_variable_that_is_right_is_taken(name: str, value: str) -> None:
    assert imported(name, value).returncode == 0


def imported(name: str, value: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import tensorlike"],
        env={**os.environ, f"TENSORLIKE_{name}": value},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("value", ("a", 1.5, True, None))
def test_counts_of_wrong_types_are_refused_in_the_call_s_name(value: Any) -> None:
    with pytest.raises(tl.ParameterError, match="set_num_threads: n must be an integer"):
        tl.set_num_threads(value)
    with pytest.raises(ValueError, match=r"engine\.mode: threshold"):
        tl.engine.mode("lazy", threshold=2**70 if value is None else value)


def test_the_limit_of_memory_can_be_set_to_what_it_is() -> None:
    before = tl.memory.stats()["limit"]
    tl.memory.set_limit(before)
    assert tl.memory.stats()["limit"] == before
    for wrong, kind in ((0, ValueError), (-1, ValueError), ("a", TypeError), (2.5, TypeError)):
        with pytest.raises(kind, match="set_limit: limit must be"):
            tl.memory.set_limit(wrong)


REFUSED: list[Callable[[], object]] = [
    lambda: tl.reshape(tl.ones(2), 2.9),
    lambda: tl.linspace(0, 1, -1),
    lambda: tl.fft.fft(tl.ones(3), n=-1),
    lambda: tl.fft.irfft(tl.ones(3), n=-1),
    lambda: tl.eye(-1),
    lambda: tl.eye(2, -1),
    lambda: tl.tensor([0, 2]) ** -1,
    lambda: F.pow(tl.tensor([2]), -3),
    lambda: tl.random.normal((2,), std=-1.0),
    lambda: tl.random.truncated_normal((2,), std=-1.0),
    lambda: tl.random.exponential((2,), scale=-1.0),
    lambda: tl.random.gamma(1.0, scale=-1.0),
    lambda: tl.random.uniform((2,), 3.0, 2.0),
    lambda: tl.random.bernoulli(1.5),
    lambda: tl.random.multinomial(tl.ones(3), -1, replacement=True),
    lambda: tl.tensor([1.0], requires_grad=np.ones(2)),
    lambda: tl.Tensor([1.0], requires_grad=np.ones(2)),
    lambda: tl.opcheck(3),
    lambda: tl.opcheck("exp"),
    lambda: tl.opcheck("expp", tl.ones(2)),
]


@pytest.mark.parametrize("call", REFUSED)
def test_numbers_without_a_meaning_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        call()


def test_opcheck_takes_the_name_of_a_call() -> None:
    assert tl.opcheck("exp", tl.ones(2)).is_right

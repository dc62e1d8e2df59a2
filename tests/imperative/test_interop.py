"""Tensors beside NumPy and others: arrays, buffers, DLPack, pickle and copies."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import shutil
import subprocess
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C, RawTensor, Tensor

DTYPES = ["bool", "int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_shares_the_memory_read_only(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    x = Tensor(array)
    for view in (x.numpy(), np.asarray(x), np.asarray(x.__wrapped__)):
        assert view.dtype == array.dtype
        assert np.array_equal(view, array)
        assert not view.flags.writeable
        assert np.shares_memory(view, x.numpy())
        with pytest.raises(ValueError, match="read-only"):
            view[0, 0] = 1


def test_array_converts_and_copies_as_numpy_asks() -> None:
    x = Tensor([1.5, 2.5])
    assert np.array(x).flags.writeable
    assert np.asarray(x, dtype=np.int64).tolist() == [1, 2]
    with pytest.raises(ValueError) as caught:
        x.__array__(np.int64, copy=False)
    assert str(caught.value) == "__array__: another dtype needs a copy; got copy=False"
    assert not np.shares_memory(x.__array__(copy=True), x.numpy())


def test_a_view_outlives_the_tensor() -> None:
    view = Tensor([1.0, 2.0]).numpy()
    handle = memoryview(RawTensor([3.0, 4.0]))
    gc.collect()
    _ = [Tensor([9.0, 9.0]) for _ in range(100)]
    assert view.tolist() == [1.0, 2.0]
    assert handle.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("ufunc", "args", "expected"),
    [
        (np.add, ([1.0], [2.0]), [3.0]),
        (np.true_divide, ([1.0], [2.0]), [0.5]),
        (np.power, ([3.0], [2.0]), [9.0]),
        (np.absolute, ([-3.0],), [3.0]),
        (np.exp, ([0.0],), [1.0]),
        (np.arctan2, ([0.0], [1.0]), [0.0]),
        (np.invert, ([1],), [-2]),
        (np.rint, ([2.5],), [2.0]),
        (np.maximum, ([1.0], [2.0]), [2.0]),
        (np.isnan, ([1.0],), [False]),
    ],
)
def test_a_ufunc_on_tensors_is_our_op(ufunc: Any, args: tuple[Any, ...], expected: Any) -> None:
    result = ufunc(*(Tensor(arg) for arg in args))
    assert type(result) is Tensor
    assert result.tolist() == expected


def test_a_ufunc_keeps_the_tape() -> None:
    x = tl.tensor([2.0], requires_grad=True)
    np.multiply(x, x).sum().backward()
    assert x.grad.tolist() == [4.0]


def test_an_array_on_either_side_of_an_operator_is_an_operand() -> None:
    array = np.array([1.0, 2.0], np.float32)
    x = Tensor([3.0, 4.0])
    for result, expected in (
        (array + x, [4.0, 6.0]),
        (x + array, [4.0, 6.0]),
        (array - x, [-2.0, -2.0]),
        (array < x, [True, True]),
        (np.float32(2) * x, [6.0, 8.0]),
        (np.add(array, x), [4.0, 6.0]),
    ):
        assert type(result) is Tensor
        assert result.tolist() == expected


def test_a_ufunc_that_we_lack_is_refused() -> None:
    with pytest.raises(TypeError):
        np.spacing(Tensor([1.0]))
    with pytest.raises(TypeError):
        np.arctan2.reduce(Tensor([1.0]))
    with pytest.raises(TypeError):
        np.add(Tensor([1.0]), 1, out=np.zeros(1))


def test_numpy_never_drops_a_tape_silently() -> None:
    x = tl.tensor([1.0], requires_grad=True)
    message = (
        "numpy: the tensor carries gradients, which NumPy would silently drop; use x.detach() first"
    )
    for convert in (np.asarray, np.array, Tensor.numpy, lambda x: (x * 2).numpy()):
        with pytest.raises(tl.AutodiffError) as caught:
            convert(x)
        assert str(caught.value) == message
    with pytest.raises(BufferError) as refused:
        np.from_dlpack(x)
    assert str(refused.value) == ("__dlpack__: the tensor carries gradients; use x.detach() first")
    assert x.detach().numpy().tolist() == [1.0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_buffer_protocol_gives_format_strides_and_nothing_to_write(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    view = memoryview(RawTensor(array))
    assert view.readonly
    assert view.shape == (2, 3)
    assert view.itemsize == array.itemsize
    assert view.tolist() == array.tolist()
    assert np.array_equal(np.asarray(view), array)
    transposed = Tensor(array).T.__wrapped__
    assert memoryview(transposed).tolist() == array.T.tolist()
    assert memoryview(Tensor(array)[:, ::-1].__wrapped__).tolist() == array[:, ::-1].tolist()
    assert memoryview(transposed).tobytes() == array.T.tobytes()


def test_bytes_come_from_the_buffer() -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert bytes(RawTensor(array)) == array.tobytes()
    assert bytes(Tensor(array).T.__wrapped__) == array.T.tobytes()


def test_a_writable_buffer_is_refused() -> None:
    x = RawTensor([1, 2], dtype="int32")
    with pytest.raises((BufferError, TypeError), match=r"read-only|read-write"):
        io.BytesIO(bytes(8)).readinto(x)  # type: ignore[arg-type]
    assert np.asarray(x).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_goes_both_ways_without_a_copy(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    x = Tensor(array)
    view = np.from_dlpack(x)
    assert view.dtype == array.dtype
    assert np.array_equal(view, array)
    assert np.shares_memory(view, x.numpy())
    back = tl.from_dlpack(array.T)
    assert back.dtype.name == dtype
    assert np.shares_memory(back.numpy(), array)
    assert np.array_equal(back.numpy(), array.T)
    assert tl.from_dlpack(array[::-1, ::2]).tolist() == array[::-1, ::2].tolist()
    assert tl.from_dlpack(array[:0]).shape == (0, 3)


def test_a_versioned_capsule_says_that_it_is_read_only() -> None:
    x = Tensor([1.0, 2.0])
    assert not np.from_dlpack(x).flags.writeable
    assert 'capsule object "dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0)))


def test_an_unversioned_capsule_is_a_copy_that_may_be_written_to() -> None:
    x = Tensor([1.0, 2.0])
    capsule = x.__dlpack__()
    assert 'capsule object "dltensor"' in repr(capsule)

    class Old:
        def __dlpack__(self, **kwargs: Any) -> Any:
            if kwargs.get("max_version") is not None:
                raise TypeError("this producer knows no versions")
            return x.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    copied = tl.from_dlpack(Old())
    copied += 1
    assert x.tolist() == [1.0, 2.0]
    assert x.__dlpack_device__() == (1, 0)


def test_a_copy_is_made_when_dlpack_asks_for_one() -> None:
    x = Tensor([1.0, 2.0])
    copied = np.from_dlpack(x, copy=True)
    assert copied.tolist() == [1.0, 2.0]
    assert not np.shares_memory(copied, x.numpy())
    array = np.array([1.0, 2.0])
    assert not np.shares_memory(tl.from_dlpack(array, copy=True).numpy(), array)


def test_a_capsule_can_be_taken_once() -> None:
    x = Tensor([1.0])

    class Stale:
        capsule = x.__dlpack__(max_version=(1, 0))

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self.capsule

    assert tl.from_dlpack(Stale()).tolist() == [1.0]
    with pytest.raises(BufferError) as caught:
        tl.from_dlpack(Stale())
    assert str(caught.value) == "from_dlpack: an unused DLPack capsule is needed"


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"stream": 1}, "__dlpack__: a CPU tensor has no stream; pass None"),
        ({"dl_device": (2, 0)}, "__dlpack__: the tensor lives on the CPU, device (1, 0)"),
    ],
)
def test_dlpack_refuses_other_devices(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(BufferError) as caught:
        Tensor([1.0]).__dlpack__(**kwargs)
    assert str(caught.value) == message
    with pytest.raises(tl.DeviceError):
        tl.from_dlpack(np.zeros(1), device="cuda")


def test_the_producer_gets_its_memory_back() -> None:
    class Array(np.ndarray[Any, Any]):
        pass

    array = np.arange(4.0).view(Array)
    alive = weakref.ref(array)
    x = tl.from_dlpack(array)
    del array
    gc.collect()
    assert alive() is not None
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    del x
    gc.collect()
    assert alive() is None


def test_a_cycle_through_a_wrapper_is_collected() -> None:
    class Holder(tl.TensorBase):
        def __init__(self) -> None:
            self.wrapper = Tensor(self)

    alive = [weakref.ref(Holder()) for _ in range(10)]
    gc.collect()
    assert [reference() for reference in alive] == [None] * 10


@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle_and_deepcopy_keep_value_dtype_and_class(dtype: str) -> None:
    x = Tensor(np.arange(6).reshape(2, 3).astype(dtype)).T
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert type(again) is Tensor
        assert again.dtype is x.dtype
        assert np.array_equal(again.numpy(), x.numpy())
        again += 1
    assert np.array_equal(x.numpy(), np.arange(6).reshape(2, 3).astype(dtype).T)


def test_a_copied_leaf_is_a_leaf_of_its_own() -> None:
    p = tl.Parameter([1.0, 2.0])
    (p * p).sum().backward()
    for again in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert type(again) is tl.Parameter
        assert again.requires_grad
        assert again.is_leaf
        assert again.tolist() == [1.0, 2.0]
        again.grad = None
        (again * 3).sum().backward()
        assert again.grad.tolist() == [3.0, 3.0]
        assert p.grad.tolist() == [2.0, 4.0]
    assert copy.deepcopy(p).grad.tolist() == [2.0, 4.0]
    both = copy.deepcopy([p, p])
    assert both[0] is both[1]


def test_a_copy_shares_the_value_until_one_changes() -> None:
    x = Tensor([1.0])
    y = copy.copy(x)
    assert y is not x
    y += 1
    assert (x.item(), y.item()) == (1.0, 2.0)


def test_what_is_in_a_graph_cannot_be_copied() -> None:
    y = tl.tensor([1.0], requires_grad=True) * 2
    with pytest.raises(tl.AutodiffError) as caught:
        copy.deepcopy(y)
    assert str(caught.value) == "deepcopy: only leaves can be copied; use x.detach() first"
    with pytest.raises(tl.AutodiffError) as caught:
        pickle.dumps(y)
    assert str(caught.value) == "pickle: only leaves can be pickled; use x.detach() first"


def test_a_raw_tensor_pickles_and_copies() -> None:
    x = RawTensor([[1, 2]], dtype="int32")
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert type(again) is RawTensor
        assert again.dtype is tl.int32
        assert np.asarray(again).tolist() == [[1, 2]]


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
def test_the_package_needs_no_thread_local_variables_of_other_libraries() -> None:
    """Ours are in the fixed block of a thread. Where another library's were wanted there, which was
    loaded before with little room left, the package could not be imported behind it.
    """
    folder = Path(_C.__file__).parent
    for file in (Path(_C.__file__), *folder.glob("lib/*.so")):
        found = subprocess.run(
            ["readelf", "-sW", str(file)], capture_output=True, text=True, check=True
        ).stdout
        wanted = [line for line in found.splitlines() if " TLS " in line and " UND " in line]
        assert wanted == [], file

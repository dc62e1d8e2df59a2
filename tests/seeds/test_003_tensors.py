"""RawTensor and the mutable wrapper: rows R and W of the seed."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import RawTensor, ShapeTensor, Tensor, TensorBase, TensorWrapper, Tracer, apply, ops
from tensorlike import functional as F


def test_R1_applying_an_op_to_raw_tensors_launches_its_kernel() -> None:
    x = RawTensor([[1.0, 2.0]])
    (y,) = apply(ops.Elemwise(mode="exp"), x)
    assert type(y) is RawTensor
    np.testing.assert_allclose(np.asarray(y), np.exp([[1.0, 2.0]]), rtol=1e-6)
    assert (x.dtype, x.shape, x.ndim, x.size, x.device) == (tl.float32, (1, 2), 2, 2, "cpu")
    assert repr(x) == "RawTensor([[1., 2.]], device='cpu')"


def test_R2_as_raw_tensor_takes_numbers_lists_arrays_and_tensors() -> None:
    for data, dtype in (
        (1.0, "float32"),
        (1, "int64"),
        (True, "bool"),
        ([1.0, 2], "float32"),
        ([[1], [2]], "int64"),
        (np.ones(2, np.int32), "int32"),
        (np.float64(1), "float64"),
    ):
        raw = tl.as_raw_tensor(data)
        assert type(raw) is RawTensor
        assert raw.dtype.name == dtype
        assert np.array_equal(np.asarray(raw), data)
    raw = RawTensor([1.0])
    assert tl.as_raw_tensor(raw) is raw
    assert tl.as_raw_tensor(raw, tl.float32) is raw
    assert tl.as_raw_tensor(raw, "int64").dtype is tl.int64
    broadcast = np.broadcast_to(np.arange(3.0), (2, 3))
    assert np.asarray(tl.as_raw_tensor(broadcast)).tolist() == broadcast.tolist()

    class Producer:
        def __dlpack__(self, **kwargs: Any) -> Any:
            return np.arange(3.0).__dlpack__(**kwargs)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert np.asarray(tl.as_raw_tensor(Producer())).tolist() == [0.0, 1.0, 2.0]


def test_R3_a_device_that_is_missing_is_named_with_those_that_are_there() -> None:
    for call, op in (
        (lambda: F.full((2,), 1.0, device="cuda"), "full"),
        (lambda: Tensor([1.0]).to("cuda"), "to_device"),
    ):
        with pytest.raises(tl.DeviceError) as caught:
            call()
        assert str(caught.value) == (
            f"{op}: device must be one that this build has: 'cpu'; got 'cuda'."
        )


def test_R4_reading_a_value_waits_for_all_that_leads_to_it() -> None:
    x = Tensor(np.ones(1 << 20, np.float32))
    for _ in range(10):
        x = x * 1.5 - 0.5
    assert x[-1].item() == 1.0
    assert bool((x == 1).all())


def test_R5_memory_is_freed_with_the_last_handle() -> None:
    gc.collect()
    before = tl.memory.stats()["allocated"]
    for i in range(10_000):
        x = Tensor([float(i)] * 10)
        cycle: list[Any] = [x]
        cycle.append(cycle)
    held = np.asarray(RawTensor(np.ones(1 << 16)))
    assert tl.memory.stats()["allocated"] > before
    del x, cycle
    gc.collect()
    assert held.sum() == 1 << 16
    del held
    assert tl.memory.stats()["allocated"] == before

    def work() -> None:
        for _ in range(1000):
            Tensor([1.0]) + 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tl.memory.stats()["allocated"] == before


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_R6_every_layout_gives_the_same_values(dtype: str) -> None:
    base = np.arange(24).reshape(4, 6).astype(dtype)
    for array in (
        np.zeros((0, 3), dtype),
        np.array(3, dtype),
        base[::-1, ::-2],
        np.asfortranarray(base),
        base[1:3, 2:5],
        base.T,
        np.broadcast_to(base[0], (3, 6)),
        base[:, :1],
    ):
        x = Tensor(array)
        assert np.array_equal((x + x).numpy(), array + array)
        assert np.array_equal((-x).numpy(), -array)
        assert x.sum().item() == array.sum()
        assert np.array_equal((x == x).numpy(), array == array)
    x = Tensor(base)
    for view, expected in (
        (x.T, base.T),
        (x[::-1, ::-2], base[::-1, ::-2]),
        (x[0].broadcast_to((3, 6)), np.broadcast_to(base[0], (3, 6))),
    ):
        assert np.array_equal((view * 2).numpy(), expected * 2)
        assert np.array_equal(view.sum(axis=0).numpy(), expected.sum(axis=0))


def test_W1_no_public_method_changes_a_tensor_like() -> None:
    for x in (RawTensor([1.0]), Tracer(RawTensor([1.0])), ShapeTensor((1,))):
        with pytest.raises(TypeError, match="tensor-likes are values and do not change"):
            x[0] = 2
        before = x
        x += 1
        assert x is not before
    for name in ("_reset", "set_value", "alias"):
        assert not hasattr(RawTensor, name)


def test_W2_mutation_keeps_the_object_and_replaces_what_it_wraps() -> None:
    x = Tensor([8, 4])
    same = x
    for change in (
        lambda v: operator.iadd(v, 1),
        lambda v: operator.imul(v, 2),
        lambda v: operator.ilshift(v, 1),
        lambda v: operator.setitem(v, 0, 3),
        lambda v: operator.setitem(v, ..., 5),
        lambda v: v.set_value([6, 7]),
        lambda v: v._reset(RawTensor([1, 2])),
    ):
        held = x.alias()
        change(x)
        assert x is same
        assert x.tolist() != held.tolist()
    assert x.tolist() == [1, 2]
    with pytest.raises(tl.ShapeError) as caught:
        x += Tensor([[1, 2], [3, 4]])
    assert str(caught.value) == "add: an in-place operation keeps the shape (2,); got (2, 2)."


def test_W3_others_that_shared_the_old_value_keep_it() -> None:
    a = Tensor([1.0])
    b = a.alias()
    a += 1
    assert (a.item(), b.item()) == (2.0, 1.0)
    x = tl.tensor([3.0], requires_grad=True)
    y = x * x
    z = y * y
    y += 100
    z.sum().backward()
    assert x.grad.tolist() == [4 * 3.0**3]


def test_W4_the_wrapper_works_over_any_tensor_like_and_subclasses_survive() -> None:
    class Logged(TensorBase):
        def __init__(self, value: Any) -> None:
            self.value = value

    def apply_logged(op: ops.OpBase, *xs: Logged) -> Any:
        return tuple(Logged(y) for y in op(*(x.value for x in xs)))

    class MyTensor(Tensor):
        pass

    with apply.registered(apply_logged):
        for cls in (TensorWrapper, Tensor, MyTensor):
            x = cls(Logged(RawTensor([1.0, 2.0])))
            y = x + x
            assert type(y) is cls
            assert isinstance(y.__wrapped__, Logged)
            x += x
            x[0] = x[1]
            assert np.asarray(x.__wrapped__.value).tolist() == [4.0, 4.0]
    assert type(MyTensor([1.0]) * 2) is MyTensor
    assert Tensor(ShapeTensor((2, 3))).sum(axis=0).shape == (3,)


def test_W5_the_operators_and_methods_of_a_tensor() -> None:
    array = np.array([[1.5, -2.0], [3.0, 4.0]], np.float32)
    x = Tensor(array)
    assert (7 // x).tolist() == (7 // array).tolist()
    assert (7 % x).tolist() == (7 % array).tolist()
    np.testing.assert_allclose((2**x).numpy(), 2**array, rtol=1e-6)
    assert (x @ x).tolist() == (array @ array).tolist()
    assert (x >= 3).dtype is tl.bool_
    assert len(x) == 2
    assert [row.tolist() for row in x] == array.tolist()
    assert x.T.tolist() == x.transpose().tolist() == x.transpose(1, 0).tolist() == array.T.tolist()
    assert x.reshape(-1).tolist() == x.flatten().tolist() == array.ravel().tolist()
    assert x.reshape(4, -1).shape == x.reshape((4, 1)).shape == (4, 1)
    assert x.astype("int64").tolist() == [[1, -2], [3, 4]]
    for name in ("sum", "prod", "min", "max", "mean"):
        for axis in (None, 0, -1, (0, 1)):
            for keepdims in (False, True):
                ours = getattr(x, name)(axis=axis, keepdims=keepdims)
                theirs = getattr(array, name)(axis=axis, keepdims=keepdims)
                assert ours.shape == np.shape(theirs)
                np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6)
    with pytest.raises(tl.ShapeError) as caught:
        x.reshape(-1, -1)
    assert str(caught.value) == (
        "Reshape: multiple -1 in shape (-1, -1); leave one dimension to be worked out."
    )


def test_W6_logical_operators_follow_the_array_api() -> None:
    a, b = Tensor([True, True, False]), Tensor([True, False, False])
    assert [(a & b).tolist(), (a | b).tolist(), (a ^ b).tolist(), (~a).tolist()] == [
        [True, False, False],
        [True, True, False],
        [False, True, False],
        [False, False, True],
    ]
    assert (Tensor([6]) & 3).tolist() == [2]
    with pytest.raises(tl.DTypeError, match="bitwise_or"):
        Tensor([1.0]) | Tensor([1.0])


def test_W7_dtypes_of_division_powers_sums_and_means() -> None:
    assert (Tensor([1]) / Tensor([2])).dtype is tl.float32
    assert Tensor([True, True]).sum().dtype is tl.int64
    assert Tensor([1, 2]).mean().dtype is tl.float32
    assert (Tensor([4.0], dtype="float64") ** 0.5).dtype is tl.float64


def test_W8_scalars_raise_the_category_and_never_the_width() -> None:
    assert (Tensor([1], dtype="int32") + 1).dtype is tl.int32
    assert (Tensor([1], dtype="int32") + 1.0).dtype is tl.float32
    assert (Tensor([1.0]) + 1e300).dtype is tl.float32
    assert (Tensor([True]) + 1).dtype is tl.int64
    assert (Tensor([1], dtype="int32") + Tensor([1])).dtype is tl.int64
    assert (Tensor([1]) + Tensor([1.0])).dtype is tl.float32
    with pytest.raises(OverflowError):
        Tensor([1], dtype="int32") + 2**40


def test_W9_devices_are_explicit() -> None:
    assert Tensor([1.0]).device == "cpu"
    with pytest.raises(tl.DeviceError, match="'cuda'"):
        ops.Const(2, device="cuda")(Tensor([1.0]))


def test_W10_numpy_works_on_tensors_and_gives_tensors() -> None:
    x = Tensor([1.0, 2.0])
    assert np.asarray(x).tolist() == [1.0, 2.0]
    for result in (np.add(x, np.ones(2)), np.ones(2) + x, np.exp(x), np.ones(2) < x):
        assert type(result) is Tensor
        assert result.device == "cpu"


def test_W11_to_copies_and_is_differentiable() -> None:
    x = tl.tensor([[1.0, 2.0]], requires_grad=True)
    y = x.to("cpu")
    assert (y.device, y.dtype, y.shape, y.ndim, y.size) == ("cpu", tl.float32, (1, 2), 2, 2)
    (y * 3).sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0]]
    assert not np.shares_memory(y.detach().numpy(), x.detach().numpy())


def test_W12_pickle_and_deepcopy_round_trip_and_a_parameter_is_a_tensor() -> None:
    p = tl.Parameter(np.arange(3.0))
    assert isinstance(p, Tensor)
    for again in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert (type(again), again.dtype, again.device) == (tl.Parameter, tl.float64, "cpu")
        assert again.tolist() == p.tolist()
        assert again.requires_grad
    assert hash(p) == hash(p)
    assert len({p, p, tl.Parameter([1.0])}) == 2
    assert (p == p).tolist() == [True, True, True]


def test_W13_indexing_assignment_literals_and_transposes_together() -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = Tensor(array)
    for key in (0, (0, slice(1, None)), ([1, 0],), (slice(None), [0, 2]), (..., -1)):
        assert np.array_equal(x[key].numpy(), array[key])
    x[:] = 1
    x[0, [0, 2]] = 5
    x[:, 1:3, 0] = Tensor([7.0, 8.0])
    array[:] = 1
    array[0, [0, 2]] = 5
    array[:, 1:3, 0] = [7.0, 8.0]
    assert np.array_equal(x.numpy(), array)
    y = (1 - x.transpose(2, 0, 1)) / 2 + [[1.0, 2.0, 3.0]]
    assert np.array_equal(y.numpy(), (1 - array.transpose(2, 0, 1)) / 2 + [[1.0, 2.0, 3.0]])


def test_r1_r2_a_raw_tensor_is_numpy_s_and_knows_its_device() -> None:
    raw = tl.as_raw_tensor([1, 2], dtype="float64", device="cpu")
    assert isinstance(raw.numpy(), np.ndarray) and raw.numpy().tolist() == [1.0, 2.0]
    assert not raw.numpy().flags.writeable
    assert repr(raw) == "RawTensor([1., 2.], dtype=float64, device='cpu')"
    assert tl.as_raw_tensor(raw, device="cpu") is raw
    text = "as_raw_tensor: device must be one that this build has: 'cpu'; got 'gpu'"
    with pytest.raises(tl.DeviceError, match=text):
        tl.as_raw_tensor([1.0], device="gpu")

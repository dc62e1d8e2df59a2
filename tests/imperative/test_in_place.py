"""In-place reuse of memory is never visible through another holder of the old value."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import RawTensor, Tensor
from tensorlike import functional as F


def add_one(x: Tensor) -> None:
    x += 1


def multiply_by_itself(x: Tensor) -> None:
    x *= x


def set_all(x: Tensor) -> None:
    x[...] = 7


def set_slice(x: Tensor) -> None:
    x[1:] = 7


def set_element(x: Tensor) -> None:
    x[0] = 7


def set_by_indices(x: Tensor) -> None:
    x[[0, 2]] = 7


def set_by_mask(x: Tensor) -> None:
    x[np.array([True, False, True, False])] = 7


def set_value(x: Tensor) -> None:
    x.set_value([7.0, 7.0, 7.0, 7.0])


MUTATIONS = [
    add_one,
    multiply_by_itself,
    set_all,
    set_slice,
    set_element,
    set_by_indices,
    set_by_mask,
    set_value,
]


def list_of(holder: Any) -> Any:
    """The elements that a holder shows."""
    return np.asarray(holder).tolist()


HOLDERS: dict[str, Callable[[Tensor], Any]] = {
    "alias": lambda x: x.alias(),
    "wrapper": Tensor,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "raw handle": lambda x: x.__wrapped__,
    "numpy view": lambda x: x.numpy(),
    "array": np.asarray,
    "buffer": lambda x: memoryview(x.__wrapped__),
    "buffer of a slice": lambda x: memoryview(x[1:].__wrapped__),
    "dlpack view": lambda x: np.from_dlpack(x),
    "dlpack of ours": lambda x: tl.from_dlpack(x),
    "slice": lambda x: x[1:3],
    "reversed": lambda x: x[::-1],
    "reshaped": lambda x: x.reshape(2, 2),
    "transposed": lambda x: x.reshape(2, 2).T,
    "broadcast": lambda x: x.broadcast_to((3, 4)),
    "expanded": lambda x: x[None],
    "element": lambda x: x[3],
    "all": lambda x: x[...],
    "positive": lambda x: +x,
    "same dtype": lambda x: x.astype("float32"),
    "iteration": lambda x: [list_of(part) for part in x],
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "constant": lambda x: tl.ops.Const(x)(RawTensor([1.0]))[0],
}


@pytest.mark.parametrize("mutate", MUTATIONS)
@pytest.mark.parametrize("name", HOLDERS)
def test_a_mutation_is_not_seen_by(name: str, mutate: Callable[[Tensor], None]) -> None:
    x = Tensor([1.0, 2.0, 3.0, 4.0])
    holder = HOLDERS[name](x)
    before = list_of(holder)
    mutate(x)
    assert list_of(holder) == before
    # And nobody holds on to what was there before, either.
    mutate(x)
    assert list_of(holder) == before


@pytest.mark.parametrize("mutate", MUTATIONS)
def test_a_mutation_is_seen_by_the_object_itself(mutate: Callable[[Tensor], None]) -> None:
    x = Tensor([1.0, 2.0, 3.0, 4.0])
    same = x
    mutate(x)
    assert same is x
    assert x.tolist() != [1.0, 2.0, 3.0, 4.0]
    array = np.array([1, 2, 3, 4], np.float32)
    if mutate is set_value:
        array[:] = 7
    elif mutate is not add_one and mutate is not multiply_by_itself:
        mutate(array)  # type: ignore[arg-type]
    else:
        array = array + 1 if mutate is add_one else array * array
    assert x.tolist() == array.tolist()


@pytest.mark.parametrize("mutate", [add_one, multiply_by_itself, set_slice, set_by_indices])
def test_a_mutation_of_a_view_is_not_seen_by_its_base(mutate: Callable[[Tensor], None]) -> None:
    base = Tensor(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    before = base.tolist()
    for view in (base[1], base[2, ::-1], base.T[:, 0].broadcast_to((2, 4))[0], base[0].alias()):
        mutate(view)
    assert base.tolist() == before


def test_data_that_others_can_write_to_are_copied() -> None:
    array = np.arange(4.0)
    x, raw = Tensor(array), RawTensor(array)
    constant = tl.ops.Const(array)(raw)[0]
    array += 100
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert list_of(raw) == [0.0, 1.0, 2.0, 3.0]
    assert list_of(constant) == [0.0, 1.0, 2.0, 3.0]


def test_memory_of_another_library_is_never_written_to() -> None:
    array = np.arange(4.0)
    x = tl.from_dlpack(array)
    x += 1
    x[0] = 9
    y = tl.from_dlpack(array)
    y[1:] = 5
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert x.tolist() == [9.0, 2.0, 3.0, 4.0]


def test_overlapping_assignments_read_the_old_value() -> None:
    for n in (5, 1000, 70_000):
        array = np.arange(float(n), dtype=np.float32)
        x = Tensor(array)
        x[1:] = x[:-1]
        assert np.array_equal(x.numpy(), np.concatenate([array[:1], array[:-1]]))
        x = Tensor(array)
        x[:-1] = x[1:]
        assert np.array_equal(x.numpy(), np.concatenate([array[1:], array[-1:]]))
        x = Tensor(array)
        x[...] = x[::-1]
        assert np.array_equal(x.numpy(), array[::-1])
        x = Tensor(array)
        x[::2] = x[: (n + 1) // 2]
        expected = array.copy()
        expected[::2] = array[: (n + 1) // 2]
        assert np.array_equal(x.numpy(), expected)


def test_in_place_operators_may_read_what_they_write() -> None:
    for n in (3, 70_000):
        array = np.arange(float(n), dtype=np.float32)
        x = Tensor(array)
        x += x
        assert np.array_equal(x.numpy(), array + array)
        x = Tensor(array)
        x -= x[::-1]
        assert np.array_equal(x.numpy(), array - array[::-1])
        x = Tensor(array)
        x += x[-1]
        assert np.array_equal(x.numpy(), array + array[-1])
        x = Tensor(array)
        x *= x.alias()
        assert np.array_equal(x.numpy(), array * array)
    table = np.arange(9.0).reshape(3, 3)
    square = Tensor(table)
    square += square.T
    table = table + table.T
    assert square.tolist() == table.tolist()
    square += square[0]
    assert square.tolist() == (table + table[0]).tolist()


def test_in_place_operators_on_a_broadcast_or_strided_value() -> None:
    x = Tensor([1.0, 2.0]).broadcast_to((3, 2))
    x += 1
    x[0, 0] = 9
    assert x.tolist() == [[9.0, 3.0], [2.0, 3.0], [2.0, 3.0]]
    y = Tensor(np.arange(6.0).reshape(2, 3)).T
    y *= 2
    assert y.tolist() == (np.arange(6.0).reshape(2, 3).T * 2).tolist()


def test_a_tape_keeps_the_value_that_it_recorded() -> None:
    x = tl.tensor([3.0], requires_grad=True)
    y = x * x
    z = y * y
    y += 100
    y[0] = -1
    z.sum().backward()
    assert x.grad.tolist() == [108.0]


def test_a_constant_that_a_tape_saved_is_not_overwritten() -> None:
    weight = Tensor([2.0, 3.0])
    x = tl.tensor([1.0, 1.0], requires_grad=True)
    y = (x * weight).sum()
    weight += 100
    weight[0] = -1
    y.backward()
    assert x.grad.tolist() == [2.0, 3.0]


def test_an_output_that_a_tape_saved_is_not_overwritten() -> None:
    x = tl.tensor([0.0, 1.0], requires_grad=True)
    y = F.exp(x)
    kept = y.detach()
    y *= 0
    total = (y + F.exp(x)).sum()
    total.backward()
    assert kept.tolist() == pytest.approx([1.0, np.e])
    assert x.grad.tolist() == pytest.approx([1.0, np.e])


def test_a_parameter_updated_in_place_does_not_change_an_older_graph() -> None:
    p = tl.Parameter([2.0])
    loss = (p * p * p).sum()
    with tl.no_grad():
        p -= 1.0
        p[0] = 5.0
    loss.backward()
    assert p.grad.tolist() == [12.0]
    assert p.tolist() == [5.0]


def test_a_gradient_changed_in_place_is_not_seen_by_another_holder() -> None:
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    x.sum().backward()
    first = x.grad
    held = first.alias()
    (x * 2).sum().backward()
    assert held.tolist() == [1.0, 1.0]
    first += 10
    assert x.grad.tolist() == [3.0, 3.0]
    assert held.tolist() == [1.0, 1.0]


def test_a_cotangent_is_not_overwritten() -> None:
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    seed = Tensor([1.0, 1.0])
    y = x + 0
    y.backward(seed)
    x.grad += 5
    assert seed.tolist() == [1.0, 1.0]


def test_memory_that_nobody_else_holds_is_written_over() -> None:
    x = Tensor(np.zeros(1 << 18, np.float32))
    address = np.asarray(x.__wrapped__).ctypes.data
    x += 1
    x *= 2
    x[3:9] = 5
    assert np.asarray(x.__wrapped__).ctypes.data == address
    kept = x.alias()
    x += 1
    assert np.asarray(x.__wrapped__).ctypes.data != address
    assert kept.numpy()[0] == 2.0

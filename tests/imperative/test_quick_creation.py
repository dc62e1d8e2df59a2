"""`tensor` and `asarray` without keywords are made by the core: as the functions make them."""

from __future__ import annotations

import inspect
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F: Any = tl.functional


class Other(tl.Tensor):
    """A class of somebody's own."""

    __slots__ = ()


class Speaks:
    """What NumPy can make an array of."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([1, 2], dtype)


class Bad:
    """What refuses."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise KeyError("no")


DATA: list[Callable[[], Any]] = [
    lambda: 1.5, lambda: 3, lambda: True, lambda: 2j, lambda: 2**63, lambda: 2**70, lambda: [1, 2],
    lambda: [[1.0], [2]], lambda: (), lambda: [[1], [2, 3]], lambda: "text", lambda: None,
    lambda: np.arange(3), lambda: np.float32(2), lambda: np.array(["a"]), lambda: b"ab",
    lambda: memoryview(b"ab"), lambda: range(3), lambda: {1: 2}, lambda: object(), Speaks, Bad,
    lambda: tl.tensor([1.0, 2.0]), lambda: tl.tensor([1.0], requires_grad=True) * 2,
    lambda: tl.as_raw_tensor([1, 2]), lambda: Other([1.0]), lambda: tl.Parameter(tl.ones(2)),
    lambda: [tl.tensor(1.0), 2.0], lambda: np.ma.masked_array([1, 2]),
]  # fmt: skip
DTYPES: list[Any] = [None, "float32", tl.int8, tl.bool, np.float64, "nonsense", 3]


def said(make: Callable[[], Any]) -> tuple[Any, ...]:
    try:
        x = make()
    except Exception as error:
        return (type(error), str(error))
    return (type(x), x.dtype, x.shape, x.tolist(), x.requires_grad)


@pytest.mark.parametrize("which", range(len(DATA)))
def test_data_become_what_the_functions_make_of_them(which: int) -> None:
    """They are asked where a device, or None, is given."""
    data = DATA[which]
    assert said(lambda: tl.tensor(data())) == said(lambda: tl.tensor(data=data()))
    for dtype, records in itertools.product(DTYPES, (False, True, 1, None)):
        found = said(lambda: tl.tensor(data(), dtype=dtype, requires_grad=records))  # noqa: B023
        wanted = said(
            lambda: tl.tensor(data(), dtype=dtype, requires_grad=records, device=None)  # noqa: B023
        )
        assert found == wanted, (dtype, records)
    for dtype in DTYPES:
        found = said(lambda: tl.tensor(data(), dtype))  # noqa: B023
        assert found == said(lambda: tl.tensor(data(), dtype, device=None)), dtype  # noqa: B023
        assert found == said(lambda: tl.tensor(data(), dtype=dtype)), dtype  # noqa: B023
    assert said(lambda: tl.asarray(data())) == said(lambda: tl.asarray(data(), copy=None))


def test_what_is_a_tensor_is_an_array() -> None:
    x = tl.tensor([1.0])
    assert tl.asarray(x) is x
    assert tl.asarray(x, copy=True) is not x
    assert type(tl.asarray(Other([1.0]))) is Other
    with pytest.raises(TypeError):
        tl.tensor()
    with pytest.raises(TypeError):
        tl.asarray()
    with pytest.raises(TypeError):
        tl.tensor(1, None, "cpu")
    with pytest.raises(TypeError):
        tl.tensor(1, None, dtype="float32")
    with pytest.raises(TypeError, match="nonsense"):
        tl.tensor(1, nonsense=True)


def test_both_are_functions_to_whoever_asks() -> None:
    for function in (tl.tensor, tl.asarray):
        assert "device" in inspect.signature(function).parameters
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__


def test_traced_functions_and_programs_make_them() -> None:
    def function(x: Any) -> Any:
        return x + tl.tensor([1.0, 2.0]) * tl.asarray(3.0) + tl.asarray(x)

    x = tl.tensor([1.0, 5.0])
    wanted = function(x).tolist()
    traced = tl.jit.to_static(function)
    assert [traced(x).tolist() for _ in range(3)] == [wanted] * 3
    assert tl.vmap(function)(F.stack([x, x])).tolist() == [wanted, wanted]
    assert tl.grad(lambda x: function(x).sum())(x).tolist() == [2.0, 2.0]
    with tl.device("cpu"):
        assert function(x).tolist() == wanted


def test_what_is_detached_has_the_value_and_no_history() -> None:
    leaf = tl.tensor([1.0, 2.0], requires_grad=True)
    for x in (tl.tensor([1.0, 2.0]), leaf, leaf * 1, tl.Parameter(tl.tensor([1.0, 2.0]))):
        y = x.detach()
        assert (type(y), y.requires_grad, y.tolist()) == (tl.Tensor, False, [1.0, 2.0])
        y[0] = 5.0
        assert x.tolist() == [1.0, 2.0]
    assert type(Other([1.0]).detach()) is Other
    assert tl.grad(lambda x: (x * x.detach()).sum())(leaf).tolist() == [1.0, 2.0]
    assert tl.vmap(lambda x: x.detach() * 2)(leaf.detach()).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError):
        leaf.detach(1)  # type: ignore[call-arg]


def test_a_tensor_is_iterated_over_by_its_first_dimension() -> None:
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    a, b = x
    assert (a.tolist(), b.tolist()) == ([1.0, 2.0], [3.0, 4.0])
    (a * b).sum().backward()
    assert x.grad.tolist() == [[3.0, 4.0], [1.0, 2.0]]
    assert [row.tolist() for row in reversed(x)] == [[3.0, 4.0], [1.0, 2.0]]
    assert list(tl.zeros((0, 2))) == []
    rows = iter(x)
    assert (len(list(rows)), list(rows)) == (2, [])
    with pytest.raises(TypeError, match="zero-dimensional"):
        iter(tl.tensor(1.0))
    with pytest.raises(ValueError, match="unpack"):
        _, _, _ = x
    assert tl.jit.to_static(lambda x: sum(row.sum() for row in x))(x.detach()).item() == 10.0
    assert tl.vmap(lambda x: F.stack(list(x)[::-1]))(x.detach()).tolist() == [
        [2.0, 1.0],
        [4.0, 3.0],
    ]


def test_an_index_error_on_the_way_is_told() -> None:
    class Wrong(tl.Tensor):
        __slots__ = ()

        def __getitem__(self, key: Any) -> Any:
            raise IndexError("mine")

    with pytest.raises(IndexError, match="mine"):
        list(Wrong([1.0, 2.0]))


def test_iterators_let_their_tensors_go() -> None:
    import gc
    import weakref

    x = tl.tensor([1.0, 2.0])
    held, rows = weakref.ref(x), iter(x)
    next(rows), next(rows)
    assert next(rows, None) is None
    del x
    gc.collect()
    assert held() is None

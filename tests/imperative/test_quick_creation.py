"""`tensor` and `asarray` without keywords are made by the core: as the functions make them."""

from __future__ import annotations

import inspect
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
    lambda: tl.as_raw_tensor([1, 2]), lambda: Other([1.0]), lambda: tl.nn.Parameter(tl.ones(2)),
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
    """With a keyword they are asked."""
    data = DATA[which]
    assert said(lambda: tl.tensor(data())) == said(lambda: tl.tensor(data=data()))
    for dtype in DTYPES:
        found = said(lambda: tl.tensor(data(), dtype))  # noqa: B023
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

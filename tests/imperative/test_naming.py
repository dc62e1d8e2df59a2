"""Errors name what was called: the call, the layer, the optimiser; not the op inside of it."""

from __future__ import annotations

import copy
import doctest
import gc
import inspect
import pickle
import pydoc
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.hostile import functions

import tensorlike as tl
from tensorlike import _C, nn
from tensorlike import functional as F
from tensorlike.imperative.naming import makes, named, named_class, one_op_on

VECTOR = tl.ones(3)

# A call, and the beginning of its error.
NAMED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "one op, many calls": (lambda: F.eigvals(VECTOR), tl.ShapeError, "eigvals: x must have"),
    "fixed attributes": (
        lambda: F.adaptive_max_pool2d(VECTOR, output_size=1), tl.ShapeError,
        "adaptive_max_pool2d: x must have 4 dimensions",
    ),
    "composed": (lambda: tl.linalg.cond(VECTOR), tl.ShapeError, "cond: "),
    "Python's": (lambda: tl.broadcast_shapes(3), TypeError, "broadcast_shapes: 'int' object"),  # type: ignore[arg-type]
    "NumPy's": (lambda: tl.fft.rfftfreq(len), TypeError, "rfftfreq: "),  # type: ignore[arg-type]
    "data": (
        lambda: tl.tensor(tl.tensor(1j), dtype="float32"), tl.DTypeError,
        "tensor: a complex64 has no float32 value",
    ),
    "a transform": (lambda: tl.hvp(7, (VECTOR,), (VECTOR,)), TypeError, "vjp: 'int' object"),  # type: ignore[arg-type]
    "a transform's leaf": (
        lambda: tl.vjp(F.sum, tl.tensor([1, 2])), tl.DTypeError,
        "vjp: only floating-point tensors carry gradients",
    ),
    "a constructor": (
        lambda: nn.Conv2d(3, 4, kernel_size=(1, 2, 3)), ValueError, "Conv2d: kernel_size must be"
    ),
    "a state": (
        lambda: nn.LSTM(2, 2)(tl.ones((1, 2, 2)), (7, 1)), ValueError, "LSTM: states must be",
    ),
    "a state of bytes": (
        lambda: nn.LSTMCell(2, 2)(tl.ones((1, 2)), b"\xff"), ValueError,
        "LSTMCell: states must have",
    ),
    "a state of words": (
        lambda: nn.LSTM(2, 2)(tl.ones((1, 2, 2)), "sum"), ValueError,  # type: ignore[arg-type]
        "LSTM: states must be",
    ),
    "a layer's method": (lambda: nn.Linear(1, 1).eval(record=np.ones(2)), ValueError, "eval: "),  # type: ignore[arg-type]
    "an optimiser": (
        lambda: tl.optim.SGD([tl.Parameter([1.0])], lr=None), TypeError, "SGD: "  # type: ignore[arg-type]
    ),
    "an initializer": (
        lambda: nn.initializers.Orthogonal()(2), tl.ShapeError, "Orthogonal: "  # type: ignore[arg-type]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_what_was_called_is_named(name: str) -> None:
    call, kind, text = NAMED[name]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_every_composed_call_is_named() -> None:
    composed = {
        name: function
        for name, function in functions()
        if isinstance(function, types.FunctionType | _C.Named)
        and function.__module__.startswith("tensorlike.functional")
    }
    assert len(composed) > 200
    assert not [name for name, function in composed.items() if not hasattr(function, "__wrapped__")]


def test_what_a_function_of_the_users_raises_stays_as_it_is() -> None:
    own = ValueError("its own error")

    def fails(x: Any, y: Any) -> Any:
        raise own

    def misuses(x: Any, y: Any) -> Any:
        return F.eigvals(x)

    def distance_loss(function: Callable[..., Any]) -> None:
        F.triplet_margin_with_distance_loss(VECTOR, VECTOR, VECTOR, distance_function=function)

    with pytest.raises(ValueError, match=r"^its own error$") as caught:
        distance_loss(fails)
    assert caught.value is own
    with pytest.raises(tl.ShapeError, match=r"^eigvals: "):
        distance_loss(misuses)
    with pytest.raises(tl.ShapeError, match=r"^eigvals: "):
        tl.vjp(lambda x: misuses(x, x), VECTOR)

    class Own(nn.Layer):
        def forward(self, x: Any) -> Any:
            return [][x]

    with pytest.raises(TypeError, match=r"^list indices"):
        Own()("a")


def test_an_op_and_its_call_may_be_spelt_otherwise() -> None:
    with pytest.raises(tl.ShapeError, match=r"^MatMul: "):
        F.matmul(VECTOR, tl.ones((2, 2)))


def test_an_integer_that_no_float_holds_is_refused_as_a_literal() -> None:
    for call in (lambda: tl.exp(1 << 2000), lambda: VECTOR + (1 << 2000)):
        with pytest.raises(tl.LiteralRangeError, match=r"^literal: must fit float64"):
            call()


def test_bytes_are_no_shape() -> None:
    for shape in (b"12", bytearray(b"12"), memoryview(b"12")):
        with pytest.raises(tl.ParameterError, match=r"^zeros: shape must be an integer or several"):
            tl.zeros(shape)  # type: ignore[arg-type]
        for initializer in (nn.initializers.Orthogonal(), nn.initializers.XavierUniform()):
            with pytest.raises(tl.ParameterError, match=r"shape must be an integer or several"):
                initializer(shape)  # type: ignore[arg-type]


def test_more_recurrent_layers_than_anyone_means_are_refused_at_once() -> None:
    for layer in (nn.LSTM, nn.GRU, nn.RNN):
        with pytest.raises(ValueError, match=rf"^{layer.__name__}: num_layers must be at most"):
            layer(3, 2, num_layers=2**200)


def test_a_named_call_looks_like_its_function() -> None:
    call: Any = tl.broadcast_shapes
    plain = call.__wrapped__
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(call, attribute) == getattr(plain, attribute)
    assert inspect.signature(call) == inspect.signature(plain)
    assert typing.get_type_hints(call) == typing.get_type_hints(plain)
    told = [pydoc.render_doc(x).partition("\n")[2] for x in (call, plain)]
    assert told[0] == told[1]
    assert repr(call).startswith("<function broadcast_shapes at")
    assert inspect.isroutine(call)
    assert doctest.DocTestFinder().find(call)[0].examples


def test_a_named_call_pickles_by_name() -> None:
    call = tl.broadcast_shapes
    assert pickle.loads(pickle.dumps(call)) is call
    assert copy.copy(call) is call
    assert copy.deepcopy(call) is call


def test_a_named_method_binds() -> None:
    assert tl.ones((2, 3)).flatten().shape == (6,)
    bound = tl.ones((2, 3)).flatten
    assert bound().shape == (6,)
    assert list(inspect.signature(bound).parameters) == ["start_dim", "end_dim"]
    with pytest.raises(TypeError, match=r"^flatten: "):
        bound("a")


def test_a_class_is_named_by_who_was_made() -> None:
    @named_class
    class Base:
        def __init__(self, size: int) -> None:
            """Takes a size."""
            raise tl.ShapeError("must be positive", argument="size", got=str(size))

    class Derived(Base):
        pass

    assert list(inspect.signature(Base).parameters) == ["size"]
    with pytest.raises(ValueError, match=r"^size: must be positive; got 0$"):
        Derived(0)  # a class of this test is the user's


def test_a_named_call_in_a_cycle_is_freed() -> None:
    class Marker:
        pass

    marker = Marker()

    def function() -> None:
        """Holds itself."""

    call: Any = named(function)
    call.itself, call.marker = call, marker
    known = weakref.ref(marker)
    died = weakref.ref(call)
    del call, marker
    gc.collect()
    assert known() is None
    assert died() is None


def test_errors_that_are_not_of_arguments_come_through() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    def stopped() -> None:
        raise RuntimeError("as it is")

    with pytest.raises(KeyboardInterrupt):
        named(interrupted)()
    with pytest.raises(RuntimeError, match=r"^as it is$") as caught:
        named(stopped)()
    assert caught.traceback[-1].name == "stopped"


@pytest.mark.parametrize("is_beside", [False, True])
def test_a_call_of_several_tensors_asks_once_for_each_shapes(is_beside: bool) -> None:
    """Beside a program of unknown sizes, too: small numbers stand for none."""
    listing = tl.Listing()
    if is_beside:
        listing.input("x", (None, 2))
    asked: list[Any] = []

    @one_op_on(2)
    def difference(x: Any, y: Any, turned: bool = False) -> Any:
        asked.append((tuple(x.shape), tuple(y.shape), turned))
        return -x + y if turned else makes(tl.ops.Elemwise(mode="subtract"))

    a, b = tl.tensor([5.0, 7.0]), tl.tensor([1.0, 2.0])
    for call in (
        lambda: difference(a, b),
        lambda: difference(a, y=b),
        lambda: difference(y=b, x=a),
        lambda: difference([5.0, 7.0], b),
    ):
        for _ in range(3):
            assert call().tolist() == [4.0, 5.0]
    assert len(asked) == 3  # the last is the first with other elements
    assert difference(a, tl.tensor(1.0)).tolist() == [4.0, 6.0]
    assert difference(tl.tensor(1.0), a).tolist() == [-4.0, -6.0]
    assert len(asked) == 5
    assert difference(a, b, True).tolist() == difference(a, b, True).tolist() == [-4.0, -5.0]
    assert len(asked) == 7  # what is no op is no call to be remembered
    leaf = tl.Parameter([5.0, 7.0])
    difference(leaf, b).sum().backward()
    assert leaf.grad.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        difference(a)


def test_a_call_may_be_a_second_op_on_the_result_of_the_first() -> None:
    asked: list[Any] = []

    @one_op_on(2)
    def turned_difference(x: Any, y: Any) -> Any:
        asked.append((tuple(x.shape), tuple(y.shape)))
        turns = tl.ops.Transpose(axes=(1, 0))
        return makes(tl.ops.Elemwise(mode="subtract"), turns) if len(x.shape) == 2 else (x, y)

    a, b = tl.tensor([[5.0, 7.0, 1.0]]), tl.tensor(1.0)
    for _ in range(3):
        assert turned_difference(a, b).tolist() == [[4.0], [6.0], [0.0]]
    assert len(asked) == 1
    assert turned_difference(b, a) == (b, a)  # a pair that is no pair of ops
    leaf = tl.Parameter([[5.0, 7.0, 1.0]])
    (turned_difference(leaf, b) * tl.tensor([[1.0], [2.0], [3.0]])).sum().backward()
    assert leaf.grad.tolist() == [[1.0, 2.0, 3.0]]
    examples = tl.vmap(turned_difference, in_axes=(0, None))(tl.ones((4, 1, 3)), b)
    assert examples.shape == (4, 3, 1)
    with pytest.raises(tl.ShapeError, match=r"^turned_difference: "):
        turned_difference(a, tl.ones((2, 2)))

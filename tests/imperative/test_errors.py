"""Errors are data: what is known of one stands in attributes, of which its line is made."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C, nn
from tensorlike import functional as F

VECTOR = tl.ones(3)
FIELDS = ("op", "part", "argument", "got", "fix", "slots", "place", "missing")

# A call, and what its error knows.
KNOWN: dict[str, tuple[Callable[[], Any], dict[str, str]]] = {
    "an attribute": (
        lambda: F.sum(VECTOR, axis="a"),
        {"op": "sum", "argument": "axis", "got": "str"},
    ),
    "an axis": (
        lambda: F.sum(VECTOR, axis=3),
        {"op": "sum", "argument": "axis", "got": "axis=3 for 1 dimension"},
    ),
    "shapes": (
        lambda: VECTOR + tl.ones(2),
        {
            "op": "add",
            "got": "(3,) and (2,)",
            "fix": "each dimension must be equal, or one of them 1",
        },
    ),
    "a dtype": (lambda: tl.zeros(2, dtype="float12"), {"op": "zeros", "argument": "dtype"}),
    "a composed call": (
        lambda: F.embedding_bag(VECTOR, VECTOR, mode="most"),
        {"op": "embedding_bag", "argument": "mode", "got": "'most'"},
    ),
    "Python's": (lambda: tl.broadcast_shapes(3), {"op": "broadcast_shapes"}),  # type: ignore[arg-type]
    "NumPy's": (lambda: tl.fft.rfftfreq(len), {"op": "rfftfreq"}),  # type: ignore[arg-type]
    "a layer": (
        lambda: nn.Conv2d(3, 4, kernel_size=(1, 2, 3)),
        {"op": "Conv2d", "got": "kernel_size=(1, 2, 3)"},
    ),
    "a transform": (
        lambda: tl.vmap(F.sin, in_axes="a")(VECTOR),  # type: ignore[arg-type]
        {"op": "vmap", "argument": "in_axes", "got": "'a'"},
    ),
    "a literal": (lambda: tl.tensor([2**80]), {"op": "literal", "fix": "use floats"}),
    "no derivative": (
        lambda: tl.grad(lambda x: F.sum(F.floor(x)))(VECTOR),
        {"missing": "derivative"},
    ),
}


def error_of(call: Callable[[], Any]) -> Any:
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("name", KNOWN)
def test_an_error_knows_what_its_line_says(name: str) -> None:
    call, known = KNOWN[name]
    error = error_of(call)
    for field, value in known.items():
        assert getattr(error, field) == value, field
        assert field == "missing" or value in str(error)


def test_what_is_not_known_is_none() -> None:
    error = tl.ShapeError("anything")
    assert [getattr(error, field) for field in FIELDS] == [None] * len(FIELDS)
    assert str(error) == "anything"
    assert error_of(lambda: VECTOR + tl.ones(2)).place is None


def test_the_line_is_made_of_the_fields() -> None:
    error = tl.ShapeError("must be round.", argument="shape")
    assert str(error) == "shape: must be round."
    error.op = "wheel"
    assert str(error) == "wheel: shape must be round."
    error.got, error.fix, error.place = "a square", "turn it", "car.py:7"
    line = "wheel: shape must be round; got a square; turn it; applied at car.py:7."
    assert str(error) == line
    assert repr(error) == f"ShapeError({line!r})"
    assert str(tl.TensorlikeError("exhausted.", part="memory")) == "memory: exhausted."


def test_a_field_that_errors_do_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        tl.ShapeError("must be round", colour="red")  # type: ignore[call-arg]


def test_the_line_of_a_lazy_op_is_a_field() -> None:
    x = tl.ones(100_000)
    with tl.engine.mode("lazy", threshold=1):
        tl.memory.set_limit(_C.memory_stats()["allocated"] + 1000)
        try:
            error = error_of(lambda: np.asarray(x * 3))
        finally:
            tl.memory.set_limit(None)
    assert isinstance(error, tl.OutOfMemoryError)
    assert re.fullmatch(r".*test_errors\.py:\d+", error.place)
    assert str(error).endswith(f"; applied at {error.place}.")


def test_errors_survive_pickling_and_copying() -> None:
    error = error_of(lambda: F.sum(VECTOR, axis=3))
    for made in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(made) is type(error)
        assert str(made) == str(error)
        assert made.argument == "axis"


def test_every_class_of_errors_takes_fields() -> None:
    classes = [
        x for x in vars(tl).values() if inspect.isclass(x) and issubclass(x, tl.TensorlikeError)
    ]
    assert len(classes) > 10
    for cls in classes:
        error = cls("must hold.", op="op", got="it")
        assert str(error) == "op: must hold; got it."
        with pytest.raises(cls):
            raise error

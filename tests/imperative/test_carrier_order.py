"""Which of two carriers goes around the other is said, by their classes or by a value."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl


class Low(tl.Carrier):
    pass


class Middle(tl.Carrier, above=Low):
    def lift(self, other: Any) -> Middle:
        return Middle(other)


class High(tl.Carrier, above=Middle):
    pass


class Derived(Low):
    pass


class Alone(tl.Carrier):
    pass


class Outermost(tl.Carrier, above=tl.Tracer):
    pass


class AroundTwo(tl.Carrier, above=(Low, Alone)):
    pass


MASK = tl.as_raw_tensor([True])


def kinds(x: Any) -> list[str]:
    """What a value is made of, from the outside in."""
    found = []
    while isinstance(x, tl.Carrier):
        found.append(type(x).__name__)
        x = x.value
    return found


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (Middle, Low),
        (High, Middle),
        (High, Low),
        (Derived, Low),
        (AroundTwo, Low),
        (AroundTwo, Alone),
        (Outermost, Low),
        (Outermost, Alone),
    ],
)
def test_the_class_says_which_goes_around_the_other(outer: type, inner: type) -> None:
    x, y = outer([1.0]), inner([2.0])
    for z in (x + y, y + x, tl.where(MASK, x, y), tl.where(MASK, y, x)):
        assert kinds(z) == [outer.__name__, inner.__name__]
        assert kinds(z) == kinds(tl.Tensor(z).__wrapped__)


def test_a_value_says_it_for_the_kinds_that_it_is_made_around() -> None:
    for z in (Alone(Low([1.0])) + Low([2.0]), tl.where(MASK, Low([2.0]), Alone(Low([1.0])))):
        assert kinds(z) == ["Alone", "Low"]
    assert kinds(Low(Alone([1.0])) + Alone([2.0])) == ["Low", "Alone"]
    for z in (Low(Alone([1.0])) + Middle([2.0]), Middle([2.0]) + Low(Alone([1.0]))):
        assert kinds(z) == ["Middle", "Low", "Alone"]
    assert kinds(Low(Middle([1.0])) * Middle([2.0])) == ["Low", "Middle"]  # the nearer word counts


@pytest.mark.parametrize("pair", [(Low, Alone), (Middle, Alone), (Alone, High), (Middle, Derived)])
def test_where_nothing_is_said_they_do_not_meet(pair: tuple[type, type]) -> None:
    x, y = pair[0]([1.0]), pair[1]([2.0])
    first, second = sorted(kind.__name__ for kind in pair)
    for call in (
        lambda: x + y,
        lambda: y + x,
        lambda: tl.where(MASK, x, y),
        lambda: tl.where(MASK, y, x),
        lambda: tl.Tensor(x) * tl.Tensor(y),
        lambda: tl.vmap(lambda a, b: a * b)(tl.Tensor(x), tl.Tensor(y)),
    ):
        with pytest.raises(tl.DispatchError, match=f"got {first} beside {second}; say class"):
            call()


def test_the_order_of_definition_says_nothing() -> None:
    first = type("Same", (tl.Carrier,), {})
    second = type("Same", (tl.Carrier,), {})
    assert first.priority == second.priority
    with pytest.raises(tl.DispatchError):
        first([1.0]) + second([1.0])


def test_what_above_is_must_be_a_class_of_tensor_likes() -> None:
    with pytest.raises(tl.ParameterError, match="above must be a class of tensor-likes"):
        type("Wrong", (tl.Carrier,), {}, above=float)
    with pytest.raises(tl.ParameterError, match="priority must not be given"):
        type("Wrong", (tl.Carrier,), {"priority": 3.0})


def test_tensor_likes_that_are_no_carriers_go_inside() -> None:
    assert Low.priority > 10  # what a class of TensorBase has that says nothing

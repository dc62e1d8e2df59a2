"""Draws that are one op are remembered by their arguments: they are those of the general way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.functional.random.discrete import Draws
from tensorlike.imperative.random import Stream, default_stream

SHAPES: list[Any] = [(), 3, (3,), (2, 3), [2, 2], (0, 4), (70, 300)]
DTYPES: list[Any] = [None, "float32", tl.float64, "float16", "bfloat16", tl.int32, "uint8", "bool"]

# The distributions that are one op, and some that are more.
DRAWS: dict[str, list[tuple[Any, ...]]] = {
    "uniform": [(), (0, 1), (0.0, 1.0), (-1.0, 2.0), (1.0, 0.0), (tl.tensor(0.5), 1.0)],
    "normal": [(), (0, 1), (2.0, 1.0), (0.0, 3.0), (0.0, -1.0), (float("nan"), 1.0)],
    "bits": [()],
    "exponential": [(), (2.0,)],
    "truncated_normal": [(), (0.0, 1.0), (1.0, 1.0)],
}
INTEGERS: list[tuple[Any, ...]] = [(0, 10), (-5, 5), (7, 8), (3, 3), (0, 2**40), (0.5, 2), (0, 200)]
ORDERS: list[Any] = [0, 1, 5, 300, -1, tl.tensor([3.0, 1.0, 2.0]), "x"]


class Source(Draws):
    """Draws of a stream, each of which goes the general way."""

    def __init__(self, seed: int) -> None:
        self.own = Stream(seed)

    def _take(self) -> dict[str, Any]:
        key, counter = self.own.take()
        return {"key": key, "counter": counter}


def said(draw: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """What a draw gives, bit for bit, or what it raises."""
    try:
        made = draw(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    return made.dtype.name, made.shape, made.astype("float64").numpy().tobytes(), str(made.device)


def calls() -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Methods with arguments, right ones and wrong ones."""
    found: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    for name, given in DRAWS.items():
        found += [
            (name, (shape, *more), {"dtype": dtype})
            for shape in SHAPES
            for more in given
            for dtype in DTYPES
        ]
        found += [(name, (), {}), (name, (3,), {}), (name, ("x",), {}), (name, (3,), {"no": 1})]
    found += [
        ("randint", (*bounds, shape), {"dtype": dtype})
        for bounds in INTEGERS
        for shape in SHAPES[:4]
        for dtype in (None, "int32", "uint8", "float32")
    ]
    return found + [("permutation", (n,), {}) for n in ORDERS] + [("permutation", (), {})]


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
def test_remembered_draws_are_those_of_the_general_way(mode: str) -> None:
    quick, general = tl.random.Generator(5), Source(5)
    with tl.engine.mode(mode):
        for name, args, kwargs in calls():
            for _ in range(2):  # the second time it is known
                before = quick.state
                general.own.restart(*before)
                mine = said(getattr(quick, name), *args, **kwargs)
                wanted = said(getattr(general, name), *args, **kwargs)
                assert mine == wanted, (name, args, kwargs)
                refused = isinstance(wanted[0], type)
                assert quick.state == (before if refused else general.own.state())


def test_each_example_draws_by_itself_whatever_was_drawn_before() -> None:
    quick, general = tl.random.Generator(1), Source(1)
    for _ in range(3):
        assert said(quick.normal, (3,)) == said(general.normal, (3,))
        x = tl.zeros((4, 3))
        mine, wanted = (
            tl.vmap(lambda row, source=source: row + source.normal((3,)))(x)
            for source in (quick, general)
        )
        assert mine.tolist() == wanted.tolist()
        assert len({tuple(row) for row in mine.tolist()}) == 4
    slope = tl.grad(lambda y: (y * quick.uniform((3,))).sum())(tl.ones(3))
    assert slope.tolist() == general.uniform((3,)).tolist()


def test_a_key_draws_the_same_each_time() -> None:
    key = tl.random.key(3)
    stream = Source(3)
    first = key.normal((4,))
    assert first.tolist() == key.normal((4,)).tolist() == stream.normal((4,)).tolist()
    assert stream.normal((4,)).tolist() != first.tolist()


def test_traced_functions_and_replays_draw_as_they_did() -> None:
    tl.manual_seed(4)
    eager = [tl.random.normal((3,)).tolist() for _ in range(6)]
    tl.manual_seed(4)
    traced = tl.jit.to_static(lambda x: x + tl.random.normal((3,)))
    assert [traced(tl.zeros(3)).tolist() for _ in range(6)] == eager
    state = default_stream.state()
    after = [tl.random.uniform((2,)).tolist() for _ in range(2)]
    with default_stream.replay(state):
        assert [tl.random.uniform((2,)).tolist() for _ in range(2)] == after
    assert tl.random.uniform((2,)).tolist() not in after


def test_generators_draw_on_beyond_a_word_of_draws() -> None:
    quick, general = tl.random.Generator(1), Source(1)
    for taken in (2**32 - 2, 2**32, 2**40, 2**64 - 2):
        quick.state = (7, taken)
        general.own.restart(7, taken)
        for _ in range(2):
            assert said(quick.uniform, (3,)) == said(general.uniform, (3,))
    with pytest.raises(tl.ParameterError, match="taken must be at most"):
        quick.state = (7, 2**64)


def test_threads_share_a_stream_and_no_draw() -> None:
    generator = tl.random.Generator(2)
    drawn: list[float] = []

    def draw() -> None:
        drawn.extend(generator.uniform(dtype="float64").item() for _ in range(500))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = tl.random.Generator(2)
    assert sorted(drawn) == sorted(again.uniform(dtype="float64").item() for _ in range(2000))
    assert generator.state == again.state

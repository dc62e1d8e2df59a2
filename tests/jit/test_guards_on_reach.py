"""What a traced function may read on ways that its byte code does not show: a change is seen.

Objects in containers and in arguments, defaults, imports inside, protocols of Python's (iteration,
length, truth), classes, registries: whatever may have been read counts.
"""

from __future__ import annotations

import collections
import contextvars
import dataclasses
import functools
import operator
import os
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import jit, nn

ME = sys.modules[__name__]
SCALE = 2.0


class Held:
    """An object with attributes that others read."""

    factor = 5.0
    again: Any

    def __init__(self, k: Any, *inner: Any) -> None:
        self.k = k
        self.inner = list(inner)

    def total(self) -> Any:
        """Goes along a tree, and reads a global and an attribute of the class."""
        return self.k * SCALE * self.factor + sum(one.total() for one in self.inner)

    @classmethod
    def of_class(cls) -> float:
        """Reads the class."""
        return cls.factor


class Protocols(Held):
    """What is asked of it by operators."""

    def __len__(self) -> int:
        return len(self.inner)

    def __iter__(self) -> Any:
        return iter(self.inner)

    def __bool__(self) -> bool:
        return bool(self.k > 2)

    def __call__(self, x: Any) -> Any:
        return x * self.k

    def __enter__(self) -> Any:
        return self.k

    def __exit__(self, *found: object) -> None:
        pass


class Answering:
    """Answers for attributes that it does not have."""

    def __init__(self) -> None:
        self.table = {"k": 1.0}

    def __getattr__(self, name: str) -> Any:
        return self.table[name]


class ByName(dict[str, Any]):
    """A dict whose items are attributes."""

    __getattr__ = dict.get


class Slotted:
    """An object with slots."""

    __slots__ = ("k",)

    def __init__(self, k: Any) -> None:
        self.k = k


@dataclasses.dataclass
class Settings:
    """As a program's settings are."""

    k: float
    parts: list[Any] = dataclasses.field(default_factory=list)


def _helper(found: Any, x: Any) -> Any:
    return x * found.k


def _with_default(x: Any, found: Any = [1.0]) -> Any:  # noqa: B006
    return x * found[0]


def _imports(x: Any) -> Any:
    import tests.jit.test_guards_on_reach as module

    return x * module.SCALE


def _imports_a_name(x: Any) -> Any:
    from tests.jit.test_guards_on_reach import SCALE as scale

    return x * scale


def _matches(found: Any, x: Any) -> Any:
    match found:
        case Settings(k=k, parts=[first, *_]):
            return x * k * first
        case Settings(k=k):
            return x * k
    return x


def _linked(found: Any, x: Any) -> Any:
    while found is not None:
        x = x * found.k
        found = found.inner[0] if found.inner else None
    return x


def _either(found: Any, other: Any, x: Any) -> Any:
    one = found if x.shape[0] == 1 else other
    return x * one.k


def _entered(found: Any, x: Any) -> Any:
    with found as k:
        return x * k


def _set(holder: Any, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(holder, name, value)


def _cases() -> dict[str, tuple[Callable[[Any], Any], list[Callable[[], Any]]]]:
    """Functions of a tensor, and changes of what they read."""
    one, two, tree = Held(1.0), Held(2.0), Held(1.0, Held(2.0), Held(3.0, Held(4.0)))
    space, slotted, table = types.SimpleNamespace(k=1.0), Slotted(1.0), {"one": one}
    partly = functools.partial(_helper, space)
    return {
        "items of a list": (lambda x: sum(x * o.k for o in [one, two]), [_set(two, "k", 7.0)]),
        "an item of a dict": (lambda x: x * table["one"].k, [_set(one, "k", 7.0)]),
        "a helper's argument": (lambda x: _helper(space, x), [_set(space, "k", 7.0)]),
        "slots": (lambda x: _helper(slotted, x), [_set(slotted, "k", 7.0)]),
        "a method in a helper": (
            lambda x: x * operator.methodcaller("total")(tree),
            [_set(ME, "SCALE", 3.0), _set(Held, "factor", 2.0), lambda: tree.inner[1].inner.pop()],
        ),
        "a class made inside": (
            lambda x: x * Held(2.0).total(), [_set(ME, "SCALE", 4.0), _set(Held, "factor", 3.0)],
        ),
        "a class method": (lambda x: x * one.of_class(), [_set(Held, "factor", 4.0)]),
        "the type": (lambda x: x * type(one).factor, [_set(Held, "factor", 5.0)]),
        "partial": (lambda x: partly(x), [_set(space, "k", 9.0)]),
    }  # fmt: skip


def _more_cases() -> dict[str, tuple[Callable[[Any], Any], list[Callable[[], Any]]]]:
    """On ways of Python's own."""
    one, two, tree = Held(1.0), Held(2.0), Held(1.0, Held(2.0), Held(3.0))
    space = types.SimpleNamespace(k=1.0)
    settings, line, answering = Settings(1.0, [2.0]), collections.deque([1.0, 2.0]), Answering()
    protocols, chain = Protocols(1.0, 2.0), collections.ChainMap({"a": 1.0}, {"k": 2.0})
    variable = contextvars.ContextVar("variable", default=2.0)
    table: dict[str, Any] = {"fn": lambda x: x * SCALE}
    weak, name = weakref.ref(one), "k"
    return {
        "getattr": (lambda x: x * getattr(space, name), [_set(space, "k", 8.0)]),
        "hasattr": (lambda x: x * hasattr(space, "again"), [_set(space, "again", 8.0)]),
        "globals": (lambda x: x * globals()["SCALE"], [_set(ME, "SCALE", 5.0)]),
        "__getattr__": (lambda x: x * answering.k, [lambda: answering.table.update(k=3.0)]),
        "import": (_imports, [_set(ME, "SCALE", 6.0)]),
        "from import": (_imports_a_name, [_set(ME, "SCALE", 7.0)]),
        "an item of a default": (
            lambda x: _with_default(x), [lambda: _with_default.__defaults__[0].append(1.0),
            lambda: _with_default.__defaults__[0].insert(0, 3.0)],
        ),
        "a default": (_with_default, [_set(_with_default, "__defaults__", ([7.0],))]),
        "match": (
            lambda x: _matches(settings, x),
            [_set(settings, "k", 3.0), lambda: settings.parts.insert(0, 5.0), settings.parts.clear],
        ),
        "a loop": (lambda x: _linked(tree, x), [_set(tree.inner[0], "k", 9.0)]),
        "either": (lambda x: _either(one, two, x), [_set(two, "k", 9.0), _set(one, "k", 3.0)]),
        "length": (lambda x: x * len(protocols), [lambda: protocols.inner.append(3.0)]),
        "truth": (lambda x: x if protocols else -x, [_set(protocols, "k", 3.0)]),
        "iteration": (lambda x: [x * y for y in protocols], [lambda: protocols.inner.pop()]),
        "calling": (lambda x: protocols(x), [_set(protocols, "k", 4.0)]),
        "entering": (lambda x: _entered(protocols, x), [_set(protocols, "k", 5.0)]),
        "asdict": (lambda x: x * dataclasses.asdict(settings)["k"], [_set(settings, "k", 4.0)]),
        "deque": (lambda x: x * line[0], [lambda: line.appendleft(3.0)]),
        "ChainMap": (lambda x: x * chain["k"], [lambda: chain.maps[1].update(k=3.0)]),
        "ContextVar": (lambda x: x * variable.get(), [lambda: variable.set(3.0)]),
        "environ": (
            lambda x: x * float(os.environ.get("TL_TEST_REACH", "1")),
            [lambda: os.environ.update(TL_TEST_REACH="2"), lambda: os.environ.pop("TL_TEST_REACH")],
        ),
        "getenv": (
            lambda x: x * float(os.getenv("TL_TEST_REACH", "1")),
            [lambda: os.environ.update(TL_TEST_REACH="2"), lambda: os.environ.pop("TL_TEST_REACH")],
        ),
        "a weak reference": (lambda x: x * weak().k, [_set(one, "k", 12.0)]),
        "a registry": (
            lambda x: table["fn"](x),
            [_set(ME, "SCALE", 9.0), lambda: table.update(fn=lambda x: x * 5)],
        ),
    }  # fmt: skip


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts globals and classes back."""
    monkeypatch.setattr(ME, "SCALE", 2.0)
    monkeypatch.setattr(Held, "factor", 5.0)
    monkeypatch.setattr(_with_default, "__defaults__", ([1.0],))


def _is_right(found: Any, function: Any, *args: Any) -> bool:
    expected, got = function(*args), found(*args)
    if isinstance(expected, list):
        return [x.tolist() for x in expected] == [x.tolist() for x in got]
    return bool(expected.tolist() == got.tolist())


@pytest.mark.parametrize("name", _cases() | _more_cases())
@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
def test_what_may_have_been_read_counts(name: str, kind: Any) -> None:
    function, changes = (_cases() | _more_cases())[name]
    found = kind(function)
    x = tl.tensor([1.0, 2.0, 3.0])
    for change in (lambda: None, *changes):
        change()
        assert all(_is_right(found, function, x) for _ in range(3)), found.why()
    assert "at once" not in found.why()
    assert sum(quick.calls for quick in found._quick) > 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: ({1.0}, lambda s: s.add(5.0), sum),
        lambda: (collections.deque([1.0]), lambda s: s.append(5.0), sum),
        lambda: (collections.OrderedDict(k=1.0), lambda s: s.update(k=5.0), lambda s: s["k"]),
        lambda: (ByName(k=1.0), lambda s: s.update(k=5.0), lambda s: s.k),
        lambda: (bytearray(b"ab"), lambda s: s.append(7), sum),
        lambda: ([Held(1.0)], lambda s: setattr(s[0], "k", 5.0), lambda s: s[0].k),
        lambda: ({"a": Slotted(1.0)}, lambda s: setattr(s["a"], "k", 5.0), lambda s: s["a"].k),
        lambda: (Settings(1.0, [{1.0}]), lambda s: s.parts[0].add(5.0), lambda s: sum(s.parts[0])),
    ],
)
def test_an_argument_that_is_changed_in_place_is_another(make: Any) -> None:
    argument, change, read = make()

    def function(x: Any, s: Any) -> Any:
        return x * read(s)

    found = jit.trace(function)
    x = tl.tensor([1.0, 2.0])
    assert all(_is_right(found, function, x, argument) for _ in range(3))
    change(argument)
    assert all(_is_right(found, function, x, argument) for _ in range(3))
    assert len(found.programs()) == 2


def test_what_packages_keep_for_themselves_does_not_count() -> None:
    import logging

    logger = logging.getLogger("tensorlike.test")

    @jit.trace
    def logged(x: Any) -> Any:
        logger.debug("called")
        return x * 2

    for _ in range(5):
        assert logged(tl.tensor([1.0])).tolist() == [2.0]
    assert len(logged.programs()) == 1


class Storing(nn.Layer):
    """Keeps a result that is read again, and has a number that is set from outside."""

    def __init__(self) -> None:
        self.linear = nn.Linear(2, 2, seed=0)
        self.scale = 1.0
        self.last: Any = None

    def set_scale(self, scale: float) -> None:
        """Sets what a helper reads."""
        self.scale = scale

    def forward(self, x: Any) -> Any:
        """Calls a helper that reads this layer."""
        self.last = self.linear(x)
        return _scaled(self)


def _scaled(layer: Any) -> Any:
    return layer.last * layer.scale


def test_what_a_layer_sets_counts_where_somebody_may_read_it() -> None:
    layer, x = Storing(), tl.tensor([[1.0, 2.0]])
    traced = jit.trace(layer)
    for scale in (1.0, 1.0, 1.0, 3.0, 3.0, 3.0):
        layer.set_scale(scale)
        found = traced(x).detach().tolist()
        assert found == (layer.linear(x) * scale).detach().tolist()
    assert len(traced.programs()) == 2


def test_what_nobody_asks_for_is_not_watched() -> None:
    class Words:
        def __init__(self) -> None:
            self.by_number = [Held(float(i)) for i in range(500)]
            self.scale = 2.0

    class Reader(nn.Layer):
        def __init__(self) -> None:
            self.words = Words()

        def forward(self, x: Any) -> Any:
            return _scale_of(self.words) * x

    def _scale_of(words: Any) -> Any:
        return words.scale

    reader, x = Reader(), tl.tensor([1.0])
    traced = jit.trace(reader)
    assert traced(x).item() == 2.0
    assert len(traced.programs()[0].guards.guards) < 20
    reader.words.by_number.clear()
    assert traced(x).item() == 2.0 and len(traced.programs()) == 1
    reader.words.scale = 3.0
    assert traced(x).item() == 3.0

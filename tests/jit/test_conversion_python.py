"""What depends on no tensor stays Python: values, exceptions, side effects and their order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import pytest

from tensorlike.jit.conversion.functions import converted

from .test_conversion_meaning import X, same

GLOBAL = 0


def loops(n: int) -> Any:
    seen = []
    for i in range(n):
        for j in range(n):
            if j == 2:
                continue
            if i * j > 6:
                break
            seen.append((i, j))
        else:
            seen.append("inner")
        while True:
            n -= 0
            if len(seen) % 2:
                seen.append("odd")
                continue
            break
    else:
        seen.append("outer")
    return seen, i, j


def early(n: int) -> Any:
    for i in range(10):
        if i == n:
            return i
        while i > 3:
            if n > 7:
                return "deep"
            i -= 1
    if n == 11:
        return None
    elif n == 12:
        pass
    else:
        return "else"


def attempts(n: int) -> Any:
    seen = []
    for i in range(4):
        try:
            if i == n:
                raise ValueError(i)
            if i == n + 1:
                return seen, "returned"
            seen.append(10 // (i - 1))
        except ValueError as error:
            seen.append(error.args)
            continue
        except ZeroDivisionError:
            seen.append("zero")
            if n == 3:
                break
        else:
            seen.append("else")
        finally:
            seen.append("finally")
    return seen


def managers(n: int) -> Any:
    seen = []

    @contextmanager
    def noting(name: str) -> Any:
        seen.append(f"enter {name}")
        yield name.upper()
        seen.append(f"leave {name}")

    for i in range(3):
        with noting("a") as a, noting("b"):
            if i == n:
                break
            if i > n:
                return seen, a
    with noting("c"):
        return seen


def functions(n: int) -> Any:
    total = 0

    def add(x: int, y: int = 2, *rest: int, z: int = 3, **more: int) -> int:
        nonlocal total
        total += x + y + z + sum(rest) + sum(more.values())
        return total if total > 10 else -total

    found = [add(n), add(n, 1, 2, 3, z=n, w=5)]
    adders = [lambda x, i=i: x + i if i % 2 else x - i for i in range(3)]
    return found, total, [f(n) for f in adders], (lambda *a: a and a[0])(n)


def comprehensions(n: int) -> Any:
    rows = [[i * j if i else -j for j in range(n) if j != 1] for i in range(n)]
    names = {k: v for k, v in enumerate("abc") if k < n and v != "b"}
    return rows, names, {x for x in range(n) if x or n > 2}, sum(x for x in range(n) if x % 2)


def changes(n: int) -> Any:
    class Point:
        count = 0

        def __init__(self, x: int) -> None:
            self.x = x

        def moved(self) -> int:
            if self.x > 1:
                self.x -= 1
            return self.x

    p, d = Point(n), {"k": [1, 2, 3], "n": {}}
    p.x, (d["a"], *d["k"][1:]) = n + 1, (n, n, n)
    d["k"][0] += 5
    del d["k"][-1]
    d["n"]["m"] = p.moved() if n else 0
    for p.x in range(2):
        pass
    for d["i"], _ in enumerate(range(n)):
        d["j"] = d["i"]
    if n > 1:
        del d["a"]
    return p.x, d, Point.count


def unbound(n: int) -> Any:
    if n > 1:
        y = n
    del n
    return y


def logic(n: int) -> Any:
    seen: list[Any] = []

    def tell(x: Any) -> Any:
        seen.append(x)
        return x

    a = tell(n) and tell([]) and tell("no")
    b = tell(0) or tell(None) or tell(n) or tell("no")
    c = tell(0) < tell(n) <= tell(2) != tell(1)
    d = tell("x") if tell(n) > 1 else tell("y")
    e = not tell(n) or not tell(0)
    f = tell(1) in [tell(n), 1] != []
    while (m := tell(n)) > 0:
        n -= 1
    return a, b, c, d, e, f, m, seen


def matching(n: int) -> Any:
    for value in (n, [n, 2], {"k": n}, "text"):
        match value:
            case 1:
                return "one"
            case [first, *rest] if first > 2:
                return first, rest
            case {"k": k, **others}:
                if k == 2:
                    return k, others
            case _:
                continue
    return "none"


def with_global(n: int) -> int:
    global GLOBAL
    if n > 1:
        GLOBAL += n
    for _ in range(2):
        GLOBAL += 1
    return GLOBAL


FUNCTIONS: list[Callable[[int], Any]] = [
    loops, early, attempts, managers, functions, comprehensions, changes, unbound, logic, matching,
]  # fmt: skip


def outcome(function: Callable[[int], Any], n: int) -> Any:
    """What it returns, or what it raises."""
    try:
        return function(n)
    except Exception as error:
        return type(error), error.args


@pytest.mark.parametrize("function", FUNCTIONS)
def test_ordinary_python_stays_what_it_is(function: Any) -> None:
    changed = converted(function)
    for n in range(13):
        assert outcome(changed, n) == outcome(function, n)


def test_an_unbound_variable_is_unbound() -> None:
    with pytest.raises(UnboundLocalError):
        converted(unbound)(1)


def test_globals_are_those_of_the_module() -> None:
    global GLOBAL
    GLOBAL = 0
    assert converted(with_global)(2) == 4
    assert GLOBAL == 4
    assert converted(with_global)(1) == 6


def test_a_function_is_converted_once() -> None:
    assert converted(loops).__code__ is converted(loops).__code__
    assert converted(converted(loops)).__code__ is converted(loops).__code__


def test_y5_guards_of_cases_may_ask_tensors() -> None:
    def f(x: Any) -> Any:
        y, found = x.sum(), []
        for n in (1, [2, 3], "a", {"k": 2}, 7):
            match n:
                case [first, *rest] if y > first:
                    y = y + first + len(rest)
                case {"k": width}:
                    y = y * width
                case str() if y < 0:
                    return y, 7, found
                case int(z) if z > 5 or y > 20:
                    y = y - z
                case int():
                    y = y + 1
                case _:
                    y = y * 3
            found = [y]
        return y, 1, found

    same(f, *X)


def test_a_case_that_a_guard_refuses_has_bound_its_names() -> None:
    def f(x: Any) -> Any:
        match (1, x):
            case (one, y) if y.sum() > 100:
                y = y * one
            case (two, _) if x.sum() > 0:
                y = y + two
            case _:
                y = y - one
        return y

    same(f, *X)

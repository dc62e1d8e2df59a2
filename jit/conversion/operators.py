"""Operators: what converted code calls in the place of Python's own control flow.

Where no tensor of a program decides, each is what Python does, side effects and exceptions
included. `Operators` belongs to one converted function, and knows its file.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ... import _C
from ... import functional as F
from .aliases import has_unknown_alias
from .branches import Site, branch
from .loops import StagedLoop, run_rows, run_while
from .places import Place
from .program_effects import Check, effect
from .python_functions import Range, is_finite, is_staged, rows_of, truth
from .python_numbers import augmented, note_number
from .refusal import refusal
from .regions import Failure, innermost
from .slots import Attribute, Content, Global, Result, Shared, cells_of, variables

_Thunk = Callable[[], Any]
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "is": operator.is_, "is not": operator.is_not,
    "in": lambda x, y: x in y, "not in": lambda x, y: x not in y,
}  # fmt: skip


class Operators:
    """What the code of one function calls.

    Attributes:
        lost: what is told of variables that have no value after a branch or loop on tensors.
    """

    def __init__(self, callee: Callable[[Any], Any], filename: str) -> None:
        self.callee = callee
        self.filename = filename
        self.lost: dict[str, str] = {}

    def _site(self) -> Site:
        frame = sys._getframe(2)
        return Site(self.filename, frame.f_lineno, frame.f_code.co_name, self.lost)

    def _place(self) -> Place:
        frame = sys._getframe(2)
        return Place(self.filename, frame.f_lineno, frame.f_code.co_name)

    def _refuse(self, must: str, line: int, fix: str) -> Exception:
        return refusal(must, self.filename, line, fix)

    def if_(
        self, test: Any, first: _Thunk | None, second: _Thunk | None, *,
        live: Sequence[str], dead: Sequence[str] = (), outside: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """``if test: first() else: second()``."""
        test = truth(test)
        if is_staged(test):
            site = self._site()
            self._refuse_outside(outside, site)
            slots = variables(live, [first, second])
            branch(test, first, second, slots, site, variables(dead, [first, second]))
        elif test:
            if first is not None:
                first()
        elif second is not None:
            second()

    def _refuse_outside(self, names: Sequence[str], site: Site) -> None:
        if names:
            raise self._refuse(
                f"{names[0]}, which is global or nonlocal, must not be set where a tensor decides",
                site.line, "return the value, and assign it outside",
            )  # fmt: skip

    def while_(
        self, test: _Thunk, body: _Thunk, *, live: Sequence[str], dead: Sequence[str] = (),
        outside: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """``while test(): body()``; from where a tensor decides, as an op."""
        while True:
            again = truth(test())
            if is_staged(again):
                break
            if not again:
                return
            body()
        site = self._site()
        self._refuse_outside(outside, site)
        slots, hidden = variables(live, [body]), variables(dead, [body])
        run_while(StagedLoop(body, slots, site, hidden=hidden), lambda: truth(test()))

    def for_(
        self, iterable: Any, body: Callable[[Any], Any], is_on: _Thunk | None = None, *,
        live: Sequence[str], dead: Sequence[str] = (), outside: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """``for item in iterable: body(item)``, as long as `is_on` holds."""
        rows = rows_of(iterable)
        if rows is None and not isinstance(iterable, Range):
            self._each(iterable, body, is_on, live, dead, self._site())
            return
        site = self._site()
        self._refuse_outside(outside, site)
        slots, hidden = variables(live, [body]), variables(dead, [body])
        if rows is not None:
            step = body if is_on is None else self._guarded(body, is_on, live, dead, site)
            run_rows(
                StagedLoop(
                    step, slots, site, rows=rows.tensors, item=rows.item, body=body, hidden=hidden
                )
            )
        else:
            self._count(iterable, body, is_on, slots, hidden, site)

    def _count(
        self, bounds: Range, body: Any, is_on: _Thunk | None, slots: Any, hidden: Any, site: Site
    ) -> None:
        """A loop over a range whose bounds are tensors."""
        counter = Result()
        counter.set(bounds.start + 0)  # an integer, whatever the tensor becomes
        step = bounds.step
        is_falling = not is_staged(step) and step < 0

        def test() -> Any:
            is_left = counter.get() > bounds.stop if is_falling else counter.get() < bounds.stop
            if is_staged(step):
                is_left = F.where(step > 0, counter.get() < bounds.stop,
                                  counter.get() > bounds.stop)  # fmt: skip
            return is_left if is_on is None else self.and_(is_on(), lambda: is_left)

        def turn() -> None:
            item = counter.get()
            counter.set(item + step)
            body(note_number(item) if is_staged(item) else item)

        loop = StagedLoop(turn, [*slots, counter], site, body=body, hidden=hidden)
        run_while(loop, lambda: truth(test()))

    def _guarded(
        self, body: Any, is_on: _Thunk, live: Sequence[str], dead: Sequence[str], site: Site
    ) -> Callable[[Any], None]:
        """The body, for an item behind which the loop may have ended."""

        def step(item: Any) -> None:
            again = truth(is_on())
            if not is_staged(again):
                if again:
                    body(item)
                return
            slots, hidden = variables(live, [body]), variables(dead, [body])
            branch(again, partial(body, item), None, slots, site, hidden)

        return step

    def _each(
        self, iterable: Any, body: Any, is_on: _Thunk | None, live: Sequence[str],
        dead: Sequence[str], site: Site,
    ) -> None:  # fmt: skip
        """Python's loop; when a tensor decides whether it has ended, the rest is guarded."""
        items = iter(iterable)
        guarded = None
        for item in items:
            (body if guarded is None else guarded)(item)
            if is_on is None:
                continue
            again = truth(is_on())
            if not is_staged(again):
                if not again:
                    return
            elif guarded is None:
                if not is_finite(iterable):
                    raise self._refuse(
                        "a loop that a tensor may end must be over what has a length", site.line,
                        "loop over a list, or use while",
                    )  # fmt: skip
                guarded = self._guarded(body, is_on, live, dead, site)

    def choose(self, test: Any, first: _Thunk, second: _Thunk) -> Any:
        """``first() if test else second()``."""
        test = truth(test)
        if not is_staged(test):
            return first() if test else second()
        return _chosen(test, first, second, self._site())

    def and_(self, first: Any, *rest: _Thunk) -> Any:
        """``first and rest() and ...``."""
        return self._joined(first, rest, self._site(), is_and=True)

    def or_(self, first: Any, *rest: _Thunk) -> Any:
        """``first or rest() or ...``."""
        return self._joined(first, rest, self._site(), is_and=False)

    def both(self, first: Any, *rest: _Thunk) -> Any:
        """The same as `and_`, where only the truth is asked for."""
        later = [lambda each=each: truth(each()) for each in rest]
        return self._joined(truth(first), later, self._site(), is_and=True)

    def either(self, first: Any, *rest: _Thunk) -> Any:
        """The same as `or_`, where only the truth is asked for."""
        later = [lambda each=each: truth(each()) for each in rest]
        return self._joined(truth(first), later, self._site(), is_and=False)

    def _joined(self, first: Any, rest: Sequence[_Thunk], site: Site, *, is_and: bool) -> Any:
        found = first
        for i, each in enumerate(rest):
            test = truth(found)
            if is_staged(test):
                return self._later(found, test, rest[i:], site, is_and=is_and)
            if bool(test) is not is_and:
                return found
            found = each()
        return found

    def _later(
        self, found: Any, test: Any, rest: Sequence[_Thunk], site: Site, *, is_and: bool
    ) -> Any:
        """What is left of a chain of `and` or `or` that a tensor decides about."""

        def others() -> Any:
            return self._joined(rest[0](), rest[1:], site, is_and=is_and)

        def held() -> Any:
            return found

        return _chosen(test, others, held, site) if is_and else _chosen(test, held, others, site)

    def not_(self, x: Any) -> Any:
        """``not x``."""
        found = truth(x)
        return F.logical_not(found) if is_staged(found) else not found

    def chain(self, left: Any, *pairs: Any) -> Any:
        """``left < pairs[1]() < ...``."""
        symbol, right = pairs[0], pairs[1]()
        found = _COMPARISONS[symbol](left, right)
        if len(pairs) == 2:
            return found
        return self._joined(found, [lambda: self.chain(right, *pairs[2:])], self._site(),
                            is_and=True)  # fmt: skip

    def check(self, test: Any, message: _Thunk) -> None:
        """``assert test, message()``."""
        found = truth(test)
        if is_staged(found):
            effect(Check(message(), self._place()), found)
        elif not found:
            error = _assertion(message())
            if innermost() is not None:
                raise Failure(error, self._place())
            raise error

    def fail(self, error: _Thunk) -> None:
        """``raise error()``: where a tensor decides about it, when the program runs."""
        if innermost() is not None:
            found = error()
            raise Failure(found() if isinstance(found, type) else found, self._place())

    def augmented(self, how: str, x: Any, y: Any) -> Any:
        """What ``x += y`` gives the name: of a number that is a tensor by now a new one."""
        line = sys._getframe(1).f_lineno
        region = innermost()
        if region is not None and isinstance(x, (list, dict, set)):
            region.note(Content(x))
        return augmented(how, x, y, lambda changed: self._in_place(changed, line))

    def _in_place(self, x: Any, line: int) -> None:
        """Raises if what is changed in place may have another name, or not."""
        if isinstance(x, _C.TensorBase) and has_unknown_alias(x):
            raise self._refuse(
                "a tensor that may, or may not, be one from before a branch or loop on tensors "
                "must not be changed in place", line, "assign a new one: x = x + y, or where",
            )  # fmt: skip

    @staticmethod
    def sets(names: Callable[[], Any], shared: Sequence[str], of_module: Sequence[str]) -> None:
        """A function begins that sets names of others, those that `names` gives."""
        region = innermost()
        if region is None:
            return
        module: dict[str, Any] = names.__globals__
        cells = cells_of(names)
        for slot in (
            *(Shared(x, cells[x]) for x in shared),
            *(Global(x, module) for x in of_module),
        ):
            region.note(slot)

    def changing(self, owner: Any, attribute: str | None = None) -> Any:
        """An object of which an attribute, or an item, is going to be set or deleted."""
        if attribute is None:
            self._in_place(owner, sys._getframe(1).f_lineno)
        region = innermost()
        if region is None:
            return owner
        if attribute is not None and not isinstance(owner, _C.TensorBase):
            region.note(Attribute(owner, attribute))
        elif attribute is None and isinstance(owner, (list, dict)):
            region.note(Content(owner))
        elif attribute is not None or not isinstance(owner, _C.TensorBase):
            what = "an item" if attribute is None else attribute
            raise self._refuse(
                f"{what} of a {type(owner).__name__} must not be set where a tensor decides",
                sys._getframe(1).f_lineno, "make a new one, and assign it to a variable",
            )  # fmt: skip
        return owner


def _chosen(test: Any, first: _Thunk, second: _Thunk, site: Site) -> Any:
    result = Result()
    branch(test, lambda: result.set(first()), lambda: result.set(second()), [result], site)
    return result.get()


def joined(items: Sequence[Any], *, is_and: bool) -> Any:
    """Whether all, or any, of several values hold."""
    found: Any = is_and
    for item in items:
        part = truth(item)
        found = (F.logical_and if is_and else F.logical_or)(found, part)
    return found


def _assertion(message: Any) -> AssertionError:
    return AssertionError() if message is None else AssertionError(message)

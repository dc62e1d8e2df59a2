"""Ongoing: what a thread does, and rules that are enabled as long as any thread does it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from .. import _C
from .dispatch import apply

_What = TypeVar("_What")


class SharedRules:
    """Rules that are enabled as long as something goes on in any thread.

    They cost a little on every call that they concern.

    Args:
        rules: the rules, which are disabled now.
    """

    def __init__(self, rules: Sequence[Any]) -> None:
        self._rules = tuple(rules)
        self._counting = threading.Lock()
        self._blocks = 0  # of all threads
        for rule in self._rules:
            apply.disable(rule)

    def add_rule(self, rule: Any) -> None:
        """A rule for a kind that is known above alone; nothing goes on as yet."""
        apply.disable(rule)
        self._rules = (*self._rules, rule)

    def begin(self) -> None:
        """It goes on once more."""
        with self._counting:
            self._blocks += 1
            if self._blocks == 1:
                self._begin()

    def end(self) -> None:
        """It goes on once less."""
        with self._counting:
            self._blocks -= 1
            if self._blocks == 0:
                self._end()

    def _begin(self) -> None:
        for rule in self._rules:
            apply.enable(rule)

    def _end(self) -> None:
        for rule in self._rules:
            apply.disable(rule)


class Ongoing(SharedRules, Generic[_What]):
    """Something that goes on in blocks, each thread's its own.

    Args:
        name: of the variable that says what goes on.
        rules: the rules, which are enabled by the first block of all threads, and disabled behind
            the last.
        on_read: what is called meanwhile when Python is about to see a value without an op.
    """

    def __init__(
        self,
        name: str,
        rules: Sequence[Any],
        on_read: Callable[[Any], None] | None = None,
    ) -> None:
        super().__init__(rules)
        self._innermost: ContextVar[tuple[_What, int] | None] = ContextVar(name, default=None)
        self._on_read = on_read

    def innermost(self) -> _What | None:
        """What goes on in this thread; finalizers that are run meanwhile are no part of it."""
        found = self._innermost.get()
        return found[0] if found is not None and found[1] == _C.collection() else None

    @contextmanager
    def block(self, what: _What) -> Iterator[None]:
        """A block in which it goes on."""
        token = self._innermost.set((what, _C.collection()))
        self.begin()
        try:
            yield
        finally:
            self.end()
            self._innermost.reset(token)

    def _begin(self) -> None:
        super()._begin()
        if self._on_read is not None:
            _C.set_read_hook(self._on_read)

    def _end(self) -> None:
        if self._on_read is not None:
            _C.set_read_hook(None)
        super()._end()

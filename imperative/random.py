"""Where random numbers come from: keys, and streams of draws under a key.

All numbers are Philox4x32-10's (Salmon et al. 2011), a function of a 64-bit key and a 128-bit
counter. An op that draws takes key and counter as attributes, so that it is a plain function of its
arguments; who draws without naming them takes the next draw of the process's own stream.
"""

from __future__ import annotations

import operator
import os
from _thread import allocate_lock, get_ident
from contextlib import AbstractContextManager
from contextvars import ContextVar

from .. import _C

_WORD = 2**32 - 1
_MASK = 2**64 - 1
_SIGN = 2**63
FOLD, SPLIT, MORE, SEED = range(4)  # what a new key is for: the fourth word


def derived_key(key: int, data: int, purpose: int = FOLD) -> int:
    """A key that has nothing to do with `key`, or with those of other data and purposes."""
    return _C.derived_key(key, data, purpose)


def as_int64(key: int) -> int:
    """The same 64 bits as ops hold them."""
    return key if key < _SIGN else key - _MASK - 1


class _Draws:
    """A place in a stream, which moves on with each draw."""

    __slots__ = ("key", "since", "stream", "taken", "thread")

    def __init__(self, stream: Stream, key: int, taken: int) -> None:
        self.stream = stream
        self.key, self.taken = key, taken
        self.thread, self.since = 0, taken  # since then this thread alone has drawn


class Stream:
    """Draws under one key, numbered in the order in which they are taken, by any thread.

    Args:
        seed: any integer, of which the lowest 64 bits are the key; None asks the system for one.
    """

    def __init__(self, seed: int | None = None) -> None:
        """Begins with draw 0."""
        self._lock = allocate_lock()
        self._draws = _Draws(self, 0, 0)
        self.restart(seed)

    def restart(self, seed: int | None, taken: int = 0) -> None:
        """Begins anew under a seed's key, behind as many draws as were taken."""
        # `secrets` would take 7 ms to import.
        key = int.from_bytes(os.urandom(8), "little") if seed is None else int(seed) & _MASK
        draws = self._now()
        with self._lock:
            draws.key, draws.taken = key, taken
            draws.thread, draws.since = 0, taken

    def replay(self, state: tuple[int, int]) -> AbstractContextManager[object]:
        """A block in which this thread draws again what followed a state; others go on as ever."""
        return _C.Setting(_replayed, _Draws(self, *state))

    def _now(self) -> _Draws:
        replayed = _replayed.get()
        return self._draws if replayed is None or replayed.stream is not self else replayed

    def state(self) -> tuple[int, int]:
        """The key, and how many draws were taken."""
        draws = self._now()
        with self._lock:
            return draws.key, draws.taken

    def give_back(self, state: tuple[int, int]) -> None:
        """Takes back the draws since a state, unless another thread has drawn meanwhile."""
        key, taken = state
        draws = self._now()
        with self._lock:
            is_alone = draws.thread == get_ident() and draws.since <= taken
            if is_alone and key == draws.key and taken < draws.taken:
                draws.taken = taken

    def _next(self) -> tuple[int, int]:
        draws, thread = self._now(), get_ident()
        with self._lock:
            taken = draws.taken
            if thread != draws.thread:
                draws.thread, draws.since = thread, taken
            draws.taken = taken + 1
            return draws.key, taken

    def take(self) -> tuple[int, int]:
        """The key, an int64, and the counter of the next draw."""
        key, number = self._next()
        if number > _WORD:
            key = derived_key(key, number >> 32, MORE)
        draw = as_int64(key), number & _WORD
        if self is default_stream:
            _C.note_draw(*draw)
        return draw

    def take_key(self, purpose: int = SEED) -> int:
        """A key for one draw, an int64; it counts as a draw."""
        key = as_int64(derived_key(*self._next(), purpose))
        if self is default_stream:
            _C.note_draw(key)
        return key


# Where the stream that is named in it draws in this thread, instead of from its own place.
_replayed: ContextVar[_Draws | None] = ContextVar("tensorlike_replayed", default=None)

default_stream = Stream()


def manual_seed(seed: int) -> None:
    """Starts the process's sequence of random numbers anew, so that what follows can be repeated.

    Args:
        seed: any integer; its lowest 64 bits count.

    Example:
        >>> import tensorlike as tl
        >>> drop = tl.nn.Dropout(0.5)
        >>> tl.manual_seed(3)
        >>> first = drop(tl.tensor([1.0, 2.0, 3.0, 4.0])).tolist()
        >>> tl.manual_seed(3)
        >>> drop(tl.tensor([1.0, 2.0, 3.0, 4.0])).tolist() == first
        True
    """
    try:
        number = operator.index(seed)
    except TypeError:
        got = type(seed).__name__
        raise _C.ParameterError(
            "must be an integer.", op="manual_seed", argument="seed", got=f"{got}"
        ) from None
    default_stream.restart(number)


def next_seed() -> int:
    """A key for an op that draws once, from the process's sequence: an int64."""
    return default_stream.take_key()

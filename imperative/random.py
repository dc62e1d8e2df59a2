"""Where random numbers come from: keys, and streams of draws under a key.

All numbers are Philox4x32-10's (Salmon et al. 2011), a function of a 64-bit key and a 128-bit
counter. An op that draws takes key and counter as attributes, so that it is a plain function of its
arguments; who draws without naming them takes the next draw of the process's own stream.
"""

from __future__ import annotations

import operator
import os
from contextlib import AbstractContextManager

from .. import _C

_MASK = 2**64 - 1
_SIGN = 2**63
# What a new key is for, the fourth word: those of more than 2^32 draws and of seeds are the core's.
FOLD = 0


def derived_key(key: int, data: int, purpose: int = FOLD) -> int:
    """A key that has nothing to do with `key`, or with those of other data and purposes."""
    return _C.derived_key(key, data, purpose)


def as_int64(key: int) -> int:
    """The same 64 bits as ops hold them."""
    return key if key < _SIGN else key - _MASK - 1


class Stream(_C.Stream):
    """Draws under one key, numbered in the order in which they are taken, by any thread.

    Args:
        seed: any integer, of which the lowest 64 bits are the key; None asks the system for one.
    """

    def __init__(self, seed: int | None = None) -> None:
        """Begins with draw 0."""
        self.restart(seed)

    def restart(self, seed: int | None, taken: int = 0) -> None:
        """Begins anew under a seed's key, behind as many draws as were taken."""
        # `secrets` would take 7 ms to import.
        key = int.from_bytes(os.urandom(8), "little") if seed is None else int(seed) & _MASK
        self._restart(key, taken)

    def replay(self, state: tuple[int, int]) -> AbstractContextManager[object]:
        """A block in which this thread draws again what followed a state; others go on as ever."""
        return _C.Setting(_C.replayed, self._at(*state))


default_stream = Stream()
_C.set_stream(default_stream)


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

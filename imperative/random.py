"""Where the seeds of random ops come from: one generator for the whole process.

An op that draws takes its seed as an attribute, so that it is a plain function of its arguments.
Layers draw a fresh seed for each call here.
"""

from __future__ import annotations

import os
import threading

_MASK = 2**64 - 1
_lock = threading.Lock()
_state = int.from_bytes(os.urandom(8), "little")  # `secrets` would take 7 ms to import


def manual_seed(seed: int) -> None:
    """Starts the process's sequence of seeds anew, so that what follows can be repeated.

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
    global _state
    with _lock:
        _state = int(seed) & _MASK


def next_seed() -> int:
    """The next seed of the sequence, an int64."""
    global _state
    with _lock:
        _state = (_state + 0x9E3779B97F4A7C15) & _MASK
        mixed = _state
    # SplitMix64: Steele et al. 2014, "Fast splittable pseudorandom number generators".
    mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _MASK
    mixed ^= mixed >> 31
    return mixed - 2**64 if mixed >= 2**63 else mixed

"""NumPy references of random draws: the same generator, the same distributions, one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used


def philox(key: int, blocks: Array, attempt: int = 0, draw: int = 0) -> Array:
    """Philox4x32-10 of the counters (low, high, attempt, draw): four words for each block."""
    import numpy as np

    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    counters = np.asarray(blocks, dtype=np.uint64)
    zeros = np.zeros_like(counters)
    words = [counters & low, counters >> half, zeros + np.uint64(attempt), zeros + np.uint64(draw)]
    keys = [key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        first = words[0] * np.uint64(0xD2511F53)
        second = words[2] * np.uint64(0xCD9E8D57)
        words = [
            (second >> half) ^ words[1] ^ np.uint64(keys[0]),
            second & low,
            (first >> half) ^ words[3] ^ np.uint64(keys[1]),
            first & low,
        ]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(words, axis=-1)


def _words(count: int, width: int, key: int, counter: int) -> Array:
    """`count` words of 32 or 64 bits."""
    import numpy as np

    words = philox(key, np.arange(count * width // 128 + 1), draw=counter).reshape(-1)
    if width == 64:
        words = words[::2] | words[1::2] << np.uint64(32)
    return words[:count]


def _order(words: Array, first: int, key: int, counter: int) -> list[int]:
    """The numbers below len(words): each takes the place of one before it, which goes to the end.

    Which one is the high word of a product; where the low one is among 2**32 modulo the range, the
    word is drawn again, as the next attempt of its element.
    """
    order: list[int] = []
    for i, word in enumerate(words.tolist()):
        product, attempt = word * (i + 1), 0
        while product % 2**32 < 2**32 % (i + 1):
            attempt += 1
            product = int(philox(key, [first + i], attempt, counter)[0, 0]) * (i + 1)
        order.append(i)
        place = product >> 32
        order[i], order[place] = order[place], i
    return order


def random_draw(
    shape: Sequence[int],
    mode: str,
    dtype: Any,
    key: int,
    counter: int,
    low: float,
    high: float,
    device: Any = None,
) -> Array:
    """Uniform numbers, bits and orders; the other modes are tested as distributions."""
    import numpy as np

    count = math.prod(shape)
    if mode == "bits":
        target = np.dtype(dtype or "uint64")
        width = max(32, target.itemsize * 8)
        return _words(count, width, key, counter).astype(target).reshape(shape)
    if mode == "orders":
        words = _words(count, 32, key, counter).reshape(shape)
        rows = [
            _order(row, at * shape[-1], key, counter)
            for at, row in enumerate(words.reshape(-1, shape[-1]) if count else [])
        ]
        return np.array(rows, dtype=dtype or "int64").reshape(shape)
    if mode != "uniform":
        raise NotImplementedError(f"Random has no oracle for mode {mode!r}")
    target = np.dtype(dtype or "float32")
    width, digits = (64, 53) if target == np.float64 else (32, {4: 24, 2: 11}[target.itemsize])
    words = _words(count, width, key, counter) >> np.uint64(width - digits)
    return (words.astype(np.float64) * 2.0**-digits).astype(target).reshape(shape)


def dropout(x: Array, p: float, seed: int) -> Array:
    import numpy as np

    x = np.asarray(x)
    words = philox(seed, np.arange(-(-x.size // 4))).reshape(-1)[: x.size]
    stays = words.reshape(x.shape) >= np.uint64(round(p * 2**32))
    return np.where(stays, x / (1 - p) if p < 1 else 0, x.dtype.type(0))


def _open(word: int) -> float:
    return ((word >> 11) + 0.5) * 2.0**-53


def _poisson(rate: float, key: int, counter: int, element: int) -> float:
    """Of small rates."""
    words = [int(word) for word in philox(key, [element], 1, counter)[0]]
    left, term, k = _open(words[0] | words[1] << 32), math.exp(-rate), 0
    while left > term:
        left -= term
        k += 1
        term *= rate / k
    return float(k)


def random_from(parameter: Array, mode: str, key: int, counter: int) -> Array:
    """Poisson numbers of small rates; the others are tested as distributions."""
    import numpy as np

    rates = np.asarray(parameter)
    if mode != "poisson" or (rates.size and not rates.max() < 10):
        raise NotImplementedError(f"RandomFrom has no oracle for mode {mode!r} of {parameter}")
    drawn = [_poisson(float(rate), key, counter, i) for i, rate in enumerate(rates.reshape(-1))]
    return np.asarray(drawn, dtype=rates.dtype).reshape(rates.shape)


RANDOM: Mapping[str, Callable[..., Any]] = {
    "Dropout": dropout,
    "Random": random_draw,
    "RandomFrom": random_from,
}

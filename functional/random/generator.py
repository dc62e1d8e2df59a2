"""Who draws: generators, which count their draws, and keys, which are values."""

from __future__ import annotations

from typing import Any

from ...imperative import ParameterError, Stream, as_int64, default_stream, derived_key
from ..arguments import integer, named
from .discrete import Draws

_FOLD, _SPLIT = 0, 1
_MOST = 2**24  # keys in a list


class Generator(Draws):
    """A sequence of independent draws. Its methods are the distributions.

    Two generators of the same seed draw the same numbers, on any number of threads.

    Args:
        seed: any integer, of which the lowest 64 bits count; None asks the system for one.

    Source:
        Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".

    Example:
        >>> import tensorlike as tl
        >>> generator = tl.random.Generator(7)
        >>> x = generator.normal((2, 3))
        >>> bool(tl.all(tl.random.Generator(7).normal((2, 3)) == x))
        True
    """

    def __init__(self, seed: int | None = None) -> None:
        """Begins with the first draw of the seed."""
        self._stream = Stream(None if seed is None else integer("Generator", "seed", seed))

    def __reduce__(self) -> Any:
        """Copies and pickles as its state: the copy draws what this one will draw."""
        return _restored, (self.state,)

    def __repr__(self) -> str:
        """The key, and how far it is."""
        key, taken = self._stream.state()
        return f"Generator(key={key:#018x}, taken={taken})"

    @property
    def state(self) -> tuple[int, int]:
        """The key, and how many draws were taken; it can be set."""
        return self._stream.state()

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        if not isinstance(state, tuple) or len(state) != 2:
            got = type(state).__name__  # type: ignore[unreachable]
            raise ParameterError(
                "must be a key and how many draws were taken.", op="state", got=f"{got}"
            )
        key, taken = state
        self._stream.restart(
            integer("state", "key", key), integer("state", "taken", taken, least=0, most=2**64 - 1)
        )

    def spawn(self, count: int) -> list[Generator]:
        """Generators that have nothing to do with this one or each other, say for workers."""
        count = _count("spawn", count)  # before a draw is taken
        key = Key(self._stream.take_key(_SPLIT))
        return [Generator(part.value) for part in key.split(count)]

    def _take(self) -> dict[str, Any]:
        key, counter = self._stream.take()
        return {"key": key, "counter": counter}


def _restored(state: tuple[int, int]) -> Generator:
    generator = Generator(0)
    generator.state = state
    return generator


class _Default(Generator):
    """The generator that `tl.manual_seed` seeds."""

    def __init__(self) -> None:
        self._stream = default_stream

    def __reduce__(self) -> str:
        """It is the default one wherever it arrives."""
        return "default_generator"


default_generator: Generator = _Default()


class Key(Draws):
    """A key as a value: its draws are always the same, so use each key for one draw.

    For functions without state: hand parts of a key on instead of advancing a generator.

    Args:
        seed: any integer; its lowest 64 bits count.

    Example:
        >>> import tensorlike as tl
        >>> first, second = tl.random.split(tl.random.key(0))
        >>> bool(tl.all(first.uniform(3) == first.uniform(3)))
        True
        >>> bool(tl.any(first.uniform(3) == second.uniform(3)))
        False
    """

    __slots__ = ("value",)

    def __init__(self, seed: int) -> None:
        """Keeps 64 bits."""
        object.__setattr__(self, "value", integer("Key", "seed", seed) & (2**64 - 1))

    value: int

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuses: a key is a value."""
        raise AttributeError(f"a Key can't be changed; got {name}={value!r}")

    def __repr__(self) -> str:
        """The 64 bits."""
        return f"Key({self.value:#018x})"

    def __eq__(self, other: object) -> bool:
        """Whether both draw the same numbers."""
        return isinstance(other, Key) and self.value == other.value

    def __hash__(self) -> int:
        """That of the bits."""
        return hash((Key, self.value))

    def split(self, count: int = 2) -> list[Key]:
        """Keys that have nothing to do with this one or each other."""
        count = _count("split", count)
        return [Key(derived_key(self.value, i, _SPLIT)) for i in range(count)]

    def fold_in(self, data: int) -> Key:
        """The key that belongs to a number, such as that of a step or of a layer."""
        return Key(derived_key(self.value, integer("fold_in", "data", data) & (2**64 - 1), _FOLD))

    def _take(self) -> dict[str, Any]:
        return {"key": as_int64(self.value), "counter": 0}

    def _pair(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return self._take(), self._take() | {"counter": 1}


@named
def key(seed: int) -> Key:
    """The key of a seed."""
    return Key(integer("key", "seed", seed))


@named
def split(key: Key, count: int = 2) -> list[Key]:
    """Keys that have nothing to do with `key` or each other."""
    return _checked("split", key).split(count)


@named
def fold_in(key: Key, data: int) -> Key:
    """The key that belongs to `key` and a number."""
    return _checked("fold_in", key).fold_in(data)


def _count(call: str, value: Any) -> int:
    """How many: a list of more would only fill the memory."""
    count = integer(call, "count", value, least=0)
    if count > _MOST:
        raise ParameterError(
            f"must be at most {_MOST}.",
            op=call,
            argument="count",
            got=f"count={count}",
            fix="make keys by fold_in",
        )
    return count


def _checked(call: str, key: Any) -> Key:
    if not isinstance(key, Key):
        raise ParameterError("must be a Key.", op=call, argument="key", got=type(key).__name__)
    return key

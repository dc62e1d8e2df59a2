"""A machine for the pickles of tensors alone: it builds containers, and calls nothing.

A pickle is a program whose instructions may call any function that can be imported. This machine
knows the instructions that build containers, numbers and texts; a global is a name to it, which
whoever reads the pickle gives a meaning, or refuses. So there is nothing that a file could run.

Source: the standard library's ``pickletools``, which splits a pickle into its instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from ... import _C
from .files import refuse

MOST_BYTES = 1 << 24
MOST_STEPS = 1 << 22

_CONTAINERS: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
}
_LITERALS = frozenset({
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE",
    "BINUNICODE8", "SHORT_BINSTRING", "BINSTRING",
})  # fmt: skip
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_KEYS = (str, int, float, type(None))


class Global(NamedTuple):
    """What a pickle means by a module and a name; nothing is imported."""

    module: str
    name: str

    def __str__(self) -> str:
        """As one would write it, on one line whatever stands in the file."""
        return f"{self.module}.{self.name}".encode("unicode_escape").decode()


class Meaning(NamedTuple):
    """What the reader of a pickle makes of what it cannot know.

    Attributes:
        persistent: of what lies elsewhere in the file, by its id.
        called: of a call of a global.
    """

    persistent: Callable[[Any], Any]
    called: Callable[[Global, tuple[Any, ...]], Any]


_Step: TypeAlias = Callable[[Any], None]


class Machine:
    """Runs one pickle.

    Args:
        path: the file, for errors.
        meaning: of globals and of what lies elsewhere.
    """

    def __init__(self, path: str, meaning: Meaning) -> None:
        self._path = path
        self._meaning = meaning
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._steps: dict[str, _Step] = {
            "MARK": lambda _: self._marks.append(len(self._stack)),
            "TUPLE": lambda _: self._stack.append(tuple(self._above())),
            "BINPUT": self._remember,
            "LONG_BINPUT": self._remember,
            "MEMOIZE": lambda _: self._remember(len(self._memo)),
            "BINGET": lambda number: self._stack.append(self._memo[number]),
            "LONG_BINGET": lambda number: self._stack.append(self._memo[number]),
            "GLOBAL": lambda name: self._stack.append(Global(*name.split(" ", 1))),
            "STACK_GLOBAL": self._name,
            "BINPERSID": lambda _: self._stack.append(self._meaning.persistent(self._pop())),
            "REDUCE": self._call,
            "BUILD": self._build,
            "APPEND": lambda _: self._append([self._pop()]),
            "APPENDS": lambda _: self._append(self._above()),
            "SETITEM": lambda _: self._set([self._pop(), self._pop()][::-1]),
            "SETITEMS": lambda _: self._set(self._above()),
            "PROTO": lambda _: None,
            "FRAME": lambda _: None,
        }

    def run(self, data: bytes) -> Any:
        """What the pickle says.

        Raises:
            ArgumentError: an instruction, or a global, is none that tensors need; or the pickle is
                damaged, or too long.
        """
        import pickletools

        if len(data) > MOST_BYTES:
            raise refuse(self._path, f"must pickle in {MOST_BYTES} bytes", f"{len(data)}")
        try:
            for opcode, argument, _ in islice(pickletools.genops(data), MOST_STEPS):
                if opcode.name == "STOP":
                    return self._pop()
                self._step(opcode.name, argument)
        except _C.TensorlikeError:
            raise
        except Exception as error:  # any: a foreign parser on foreign bytes
            raise self._damaged(type(error).__name__) from error
        raise self._damaged("no end")

    def _step(self, name: str, argument: Any) -> None:
        if name in _LITERALS:
            self._stack.append(argument)
        elif name in _CONTAINERS:
            self._stack.append(_CONTAINERS[name]())
        elif name in _TUPLES:
            parts = [self._pop() for _ in range(_TUPLES[name])]
            self._stack.append(tuple(reversed(parts)))
        elif name in self._steps:
            self._steps[name](argument)
        else:
            raise refuse(
                self._path, "must be a pickle of tensors, containers, numbers and texts",
                f"the instruction {name}",
            )  # fmt: skip

    def _damaged(self, got: str) -> Exception:
        return refuse(self._path, "must be a pickle that is whole", got)

    def _pop(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise self._damaged("too few values")
        return self._stack.pop()

    def _above(self) -> list[Any]:
        """Takes what lies above the last mark."""
        if not self._marks:
            raise self._damaged("no mark")
        begin = self._marks.pop()
        found, self._stack[begin:] = self._stack[begin:], []
        return found

    def _top(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise self._damaged("too few values")
        return self._stack[-1]

    def _remember(self, number: int) -> None:
        self._memo[number] = self._top()

    def _name(self, _: Any) -> None:
        name, module = self._pop(), self._pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise self._damaged("a global without a name")
        self._stack.append(Global(module, name))

    def _call(self, _: Any) -> None:
        arguments, function = self._pop(), self._pop()
        if not (isinstance(function, Global) and type(arguments) is tuple):
            raise self._damaged("a call of what is no function")
        self._stack.append(self._meaning.called(function, arguments))

    def _build(self, _: Any) -> None:
        """Attributes of an ordered dict: a layer's versions, which say nothing of tensors."""
        state = self._pop()
        if not (isinstance(self._top(), dict) and isinstance(state, dict)):
            raise refuse(
                self._path, "must be a pickle of tensors and containers", "an object with a state"
            )

    def _append(self, values: list[Any]) -> None:
        if type(self._top()) is not list:
            raise self._damaged("no list to append to")
        self._top().extend(values)

    def _set(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, dict) or len(values) % 2:
            raise self._damaged("no dict to set items of")
        for key, value in zip(values[::2], values[1::2], strict=True):
            if not isinstance(key, _KEYS):  # hashing deep tuples overflows the stack
                raise refuse(self._path, "must have names or numbers as keys", type(key).__name__)
            target[key] = value

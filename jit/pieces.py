"""Functions that run in pieces: programs before, between and behind what their trace excludes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any

from .. import _C
from ..nn import Layer
from .compiled_function import CompiledFunction
from .cut import cut
from .errors import Untraceable
from .program_cache import Programs
from .putting_back import Before
from .python_guards import is_plain

# So many kinds of calls a piece may have; more come from numbers that excluded code makes anew.
_MOST_KINDS = 8


def in_pieces(
    function: Any, options: dict[str, Any]
) -> tuple[Callable[..., Any], Sequence[Piece]] | None:
    """A function, or a method, that runs in pieces, and these; None: it cannot be cut."""
    under = getattr(function, "__func__", function)
    if not isinstance(under, FunctionType):
        return None
    pieces: list[Piece] = []

    def make(piece: FunctionType, is_last: bool) -> Piece:
        pieces.append(Piece(piece, **options))
        pieces[-1].is_last = is_last
        return pieces[-1]

    made = cut(under, make)
    if made is None:
        return None
    return (made if under is function else MethodType(made, function.__self__)), pieces


class Piece(CompiledFunction):
    """A part of a function as a program.

    It runs as Python where it does what a program would not do again: where it changes containers
    that others see, or hands on what they could change.

    Attributes:
        because: why it runs as Python from now on; None: it does not.
        is_last: whether what it gives is the function's result, not variables.
    """

    because: str | None = None
    is_last = False

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        if self.because is None and len(self._programs) > _MOST_KINDS:
            self.because, self._quick = "numbers of excluded code differ in each call", ()
            self._programs.clear()
        return self.__wrapped__(*args) if self.because is not None else self._call(args, kwargs)

    def _cut(self, *, only_by_name: bool = False) -> Any:
        """It is cut."""
        return None

    def why(self) -> str:
        """As of any function that is traced; why it runs as Python, where it does."""
        told = super().why()
        return told if self.because is None else f"{told}\ncalls run at once: {self.because}"

    def recorded_form(self) -> Callable[..., Any]:
        """The function; what it takes and gives is looked at."""
        return self._looked_at

    def _looked_at(self, *args: Any) -> Any:
        before = Before()
        before.note_all(args)
        found = self.__wrapped__(*args)
        if before.put_back():
            raise Untraceable("it changes a container of the function")
        if not self.is_last:
            _refuse_changing(found, args)
        return found

    def _stop_tracing(self, programs: Programs, why: str) -> None:
        """From now on calls of this kind run as Python, as the whole function would."""
        programs.eager_because, self._quick = why, ()
        for program in programs.all():
            programs.forget(program)


def _refuse_changing(found: Sequence[Any], args: Sequence[Any]) -> None:
    """Raises where a later call would give the same object, or two where there is one."""
    known = set(map(id, args))
    waiting = list(found)
    while waiting:
        x = waiting.pop()
        is_tensor = isinstance(x, _C.TensorWrapper)
        if is_tensor and id(x) in known and not any(x is arg for arg in args):
            raise Untraceable("two of its variables are one tensor")
        known.add(id(x))
        if type(x) is tuple:
            waiting += x
        elif not (is_tensor or is_plain(x) or isinstance(x, (Layer, ModuleType, type))):
            raise Untraceable(f"it hands on a {type(x).__name__}, which may be changed")

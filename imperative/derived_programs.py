"""Derived: a program that follows from another, while it is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _C
from ..ops import Fill
from .random import default_stream
from .sizes import Size, free_name
from .symbolic import Listing, SymbolicTensor


class Derived:
    """A program that is derived from another, with variables like those that a call is given.

    Args:
        call: of the other program: `sub_programs.Call`.
        examples: the number of examples, an axis in front of what is mapped; None: no such axis.
        is_mapped: what has it.
    """

    def __init__(self, call: Any, examples: Any = None, is_mapped: tuple[bool, ...] = ()) -> None:
        self.listing = Listing()
        if call.stretch.draws:
            _C.copy_draws(call.program, self.listing)
        self._call = call
        self._source = call.program
        self._leads = [examples if m else None for m in is_mapped] or [None] * len(call.given)
        self._names = self._names_of_sizes()
        # Sizes of one name are equal, so that the number of examples needs one of its own.
        self.examples_name = free_name("examples", self._names.values())
        names = self._source.variables()
        found: list[SymbolicTensor | None] = []
        for number, lead in zip(call.given, self._leads, strict=True):
            dims = self._dims(number, lead)
            found.append(
                None
                if dims is None
                else self.listing.input(names[number][0], dims, self._source.dtype(number))
            )
        # Shapes that follow from sizes of others; only what is given stands for such a variable.
        with self.recording():
            self.symbols: list[Any] = [
                self._following(number, lead) if symbol is None else symbol
                for symbol, number, lead in zip(found, call.given, self._leads, strict=True)
            ]

    def _names_of_sizes(self) -> dict[int, str]:
        sizes = self._source.sizes()
        given = {name for name, _, _ in sizes if name}
        named = {}
        for i, (name, variable, axis) in enumerate(sizes):
            size: Any = self._source.shape(variable)[axis]
            named[size.first] = name or free_name(f"size_{i}", given)
        return named

    def _dims(self, number: int, lead: Any) -> list[Any] | None:
        dims: list[Any] = []
        if lead is not None:
            dims.append(self.examples_name if isinstance(lead, Size) else lead)
        sizes: tuple[Any, ...] = self._source.shape(number)
        for size in sizes:
            known = self._names.get(size.first) if isinstance(size, Size) else size
            if known is None:
                return None
            dims.append(known)
        return dims

    def _following(self, number: int, lead: Any) -> Any:
        """What is as large as a variable is: its steps say so, of which no run needs the values."""
        own = {name: self.listing.shape(v)[axis] for name, v, axis in self.listing.sizes()}

        def zeros(variable: int, shape: Sequence[Any]) -> Any:
            return Fill(shape=tuple(shape), fill_value=0, dtype=self._source.dtype(variable))()[0]

        roles = [role for _, role, _ in self._source.variables()]
        roots = [i for i, role in enumerate(roles) if role in ("input", "state")]
        given = [
            zeros(root, [own[self._names[n.first]] if isinstance(n, Size) else n
                         for n in self._source.shape(root)])
            for root in roots
        ]  # fmt: skip
        dims: list[Any] = list(self._call.between(roots, [number]).define(*given)[0].shape)
        if lead is not None:
            dims.insert(0, own[self.examples_name] if isinstance(lead, Size) else lead)
        return zeros(number, dims)

    @contextmanager
    def recording(self) -> Iterator[Listing]:
        """A block in which what is made of nothing belongs to the program."""
        # What is drawn on the way is drawn by nobody: runs draw anew.
        is_ours = default_stream.replay(default_stream.state())
        with _C.FinalizersWait(), is_ours, _C.Recording(self.listing):
            yield self.listing

    def number(self, value: Any) -> int:
        """The variable that a value is: one of the program, or a constant."""
        if isinstance(value, SymbolicTensor) and value.listing is self.listing:
            return value.number
        return self.listing.capture(value)

"""What a kernel wants of memory: the keys `view` and `memory` of an op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .specs import MemorySpec

MEMORY_KEYS = ("contiguous", "computes_in", "reuses")
# Whose dtype the kernel computes in: that of the first result, or the promoted one of its inputs.
COMPUTES_IN = ("result", "promoted")


@dataclass(frozen=True, slots=True)
class Memory:
    """By the names of arguments; see "Memory" in the README."""

    view: bool = False
    contiguous: tuple[str, ...] = ()
    computes_in: str = ""
    reuses: str = ""

    def spec(self, names: Sequence[str]) -> MemorySpec:
        """The same with the arguments numbered."""
        return MemorySpec(
            view=self.view,
            contiguous=sum(1 << names.index(name) for name in self.contiguous),
            computes_in=self.computes_in,
            reuses=names.index(self.reuses) if self.reuses else -1,
        )


NO_WISHES = Memory()

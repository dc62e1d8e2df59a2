"""Batch: a `vmap` that is going on."""

from __future__ import annotations

from _thread import _local
from weakref import ref

from .levels import Level


class Batch(Level):
    """A `vmap` that is going on: its level, and the number of examples.

    Args:
        size: the number of examples.
        draws: whether each example draws random numbers of its own.
    """

    __slots__ = ("__weakref__", "draws", "size")

    def __init__(self, size: int, *, draws: bool = True) -> None:
        """For `with`."""
        self.size = size
        self.draws = draws

    def __enter__(self) -> Batch:
        """Begins inside all that have begun."""
        super().__enter__()
        _open.batches = (*[batch for batch in _open.batches if batch()], ref(self))
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends it."""
        _open.batches = tuple([batch for batch in _open.batches if batch() is not self])
        super().__exit__(*exc)


class _Open(_local):
    """The batches that are going on in a thread, the innermost last.

    One that Ctrl-C ended before its block was left is dropped by those who held it, and ends so.
    """

    def __init__(self) -> None:
        self.batches: tuple[ref[Batch], ...] = ()


_open = _Open()


def drawing_batches() -> list[Batch]:
    """Those in which each example draws random numbers of its own, the innermost last."""
    if not _open.batches:
        return []
    going_on = [reference() for reference in _open.batches]
    return [batch for batch in going_on if batch is not None and batch.draws]

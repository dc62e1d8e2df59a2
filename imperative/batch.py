"""Batch: a `vmap` that is going on."""

from __future__ import annotations

from _thread import _local

from .levels import Level


class Batch(Level):
    """A `vmap` that is going on: its level, and the number of examples.

    Args:
        size: the number of examples.
        draws: whether each example draws random numbers of its own.
    """

    __slots__ = ("draws", "size")

    def __init__(self, size: int, *, draws: bool = True) -> None:
        """For `with`."""
        self.size = size
        self.draws = draws

    def __enter__(self) -> Batch:
        """Begins inside all that have begun."""
        super().__enter__()
        _open.batches = (*_open.batches, self)
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends it."""
        _open.batches = tuple(batch for batch in _open.batches if batch is not self)
        super().__exit__(*exc)


class _Open(_local):
    """The batches that are going on in a thread, the innermost last."""

    def __init__(self) -> None:
        self.batches: tuple[Batch, ...] = ()


_open = _Open()


def drawing_batches() -> list[Batch]:
    """Those in which each example draws random numbers of its own, the innermost last."""
    return [batch for batch in _open.batches if batch.draws]

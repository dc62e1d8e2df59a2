"""Where time goes: every launch with its duration, bytes and what fused, as a table or a trace."""

from __future__ import annotations

import os
from typing import NamedTuple

from .. import _C
from .files import replace_file

__all__ = ["Event", "profile"]


class Event(NamedTuple):
    """One launch. Times are in nanoseconds since the profile began."""

    name: str
    ops: tuple[str, ...]
    place: str
    shape: str
    start: int
    duration: int
    bytes: int


class profile(_C.Profile):
    """Profiles the launches of a block.

    Ops that ran as one program are one event, named after all of them. An event inside another (the
    ops of a body) counts in both; `own` times leave the inner ones out.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([1.0, 2.0])
        >>> with tl.profile() as p:
        ...     y = x * 2
        >>> [event.name for event in p.events]
        ['multiply']
    """

    def __init__(self) -> None:
        """To be entered."""
        self._events: list[Event] = []

    @property
    def events(self) -> list[Event]:
        """What was launched in the block that ended last, in the order of beginning."""
        rows = self._take()
        if rows is not None:
            made = [Event(*row) for row in rows]
            self._events = sorted(made, key=lambda event: (event.start, -event.duration))
        return self._events

    def own_times(self) -> list[int]:
        """Each event's duration without the events inside it, in nanoseconds."""
        own = [event.duration for event in self.events]
        open_events: list[int] = []
        for i, event in enumerate(self.events):
            while open_events:
                outer = self.events[open_events[-1]]
                if event.start < outer.start + outer.duration:
                    own[open_events[-1]] -= event.duration
                    break
                open_events.pop()
            open_events.append(i)
        return own

    def table(self, rows: int = 20) -> str:
        """The names with the most time of their own, one line each.

        Columns: name, launches, milliseconds, share of all, gigabytes per second.
        """
        totals: dict[str, list[int]] = {}
        for event, own in zip(self.events, self.own_times(), strict=True):
            total = totals.setdefault(event.name, [0, 0, 0])
            total[0] += 1
            total[1] += own
            total[2] += event.bytes
        everything = sum(total[1] for total in totals.values()) or 1
        lines = [f"{'op':<44} {'calls':>7} {'ms':>9} {'share':>6} {'GB/s':>7}"]
        for name, (count, time, moved) in sorted(totals.items(), key=lambda item: -item[1][1])[
            :rows
        ]:
            shown = name if len(name) <= 44 else name[:41] + "..."
            lines.append(
                f"{shown:<44} {count:>7} {time / 1e6:>9.3f} {time / everything:>6.1%}"
                f" {moved / max(time, 1):>7.2f}"
            )
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a Chrome trace: open it in ui.perfetto.dev or chrome://tracing.

        A file of that name is replaced, or stays as it is where writing fails.

        Source: Trace Event Format, "complete" events; times in microseconds.
        """
        import json  # only who saves a trace pays for it

        process = os.getpid()
        trace = [
            {
                "ph": "X",
                "name": event.name,
                "cat": "fused" if len(event.ops) > 1 else "op",
                "ts": event.start / 1e3,
                "dur": event.duration / 1e3,
                "pid": process,
                "tid": 0,
                "args": {
                    "ops": list(event.ops),
                    "place": event.place,
                    "shape": event.shape,
                    "bytes": event.bytes,
                },
            }
            for event in self.events
        ]
        text = json.dumps({"traceEvents": trace, "displayTimeUnit": "ns"})
        replace_file(path, text.encode())

"""When ops run: at once, on a thread of their own, or when somebody needs their elements.

`tensorlike.engine` is this module. Shapes, dtypes and their errors are known on the line of the
call in every mode, and results are the same to the bit.
"""

from __future__ import annotations

from typing import Any

from .. import _C

__all__ = ["explain", "mode", "options", "sync"]

MODES = ("sync", "async", "lazy")


class mode(_C.EngineBlock):
    """Sets the engine's mode; as a context manager, until the end of the block.

    In `sync` mode an op has run before anything but ops of this package comes next: a clock that is
    read, a branch, a function of somebody else. Ops over large tensors that follow each other, as
    `x * y + z` and lines of such do, run as one program, which writes what is read again.

    In `lazy` mode elementwise ops and reductions of large tensors wait until their elements are
    read, another op needs them, or much is waiting. A chain of them then runs as one program, which
    writes only what is still held. In `async` mode ops are handed to a thread that runs them in
    order, and reading waits; with several `workers`, what depends on nothing that is not done may
    run beside.

    Blocks may overlap, in threads for instance: the one that was entered last and has not ended is
    in force, in all threads.

    Args:
        name: "sync", "async" or "lazy".
        threshold: elements; smaller ops run at once.
        max_nodes: ops in a chain that waits; a longer one runs first.
        max_bytes: of the results of all that waits; more runs first.
        workers: threads that run ops in `async` mode, at most 64.

    Raises:
        ValueError: the name is no mode, or a number is not positive.

    Example:
        >>> import tensorlike as tl
        >>> with tl.engine.mode("lazy", threshold=1):
        ...     x = tl.tensor([1.0, 2.0])
        ...     y = (x * 2 + 1).sum()
        >>> y.item()
        8.0
    """

    def __new__(
        cls,
        name: str,
        *,
        threshold: int | None = None,
        max_nodes: int | None = None,
        max_bytes: int | None = None,
        workers: int | None = None,
    ) -> mode:
        """Sets the options."""
        if name not in MODES:
            raise _C.ArgumentError(
                f"must be one of {', '.join(MODES)}",
                op="engine.mode",
                argument="name",
                got=repr(name),
            )
        before = _C.engine_options()
        numbers = {
            "threshold": threshold,
            "max_nodes": max_nodes,
            "max_bytes": max_bytes,
            "workers": workers,
        }
        wanted: dict[str, Any] = {**before, "mode": name}
        for key, value in numbers.items():
            if value is None:
                continue
            is_integer = isinstance(value, int) and not isinstance(value, bool)
            most = 64 if key == "workers" else 2**63 - 1
            if not is_integer or not 1 <= value <= most:
                must = "a positive integer" + (f", at most {most}" if key == "workers" else "")
                raise _C.ArgumentError(
                    f"must be {must}", op="engine.mode", argument=key, got=repr(value)
                )
            wanted[key] = value
        return super().__new__(
            cls,
            MODES.index(name),
            wanted["threshold"],
            wanted["max_nodes"],
            wanted["max_bytes"],
            wanted["workers"],
        )


def options() -> dict[str, Any]:
    """The mode and its numbers, as `mode` takes them.

    Example:
        >>> import tensorlike as tl
        >>> sorted(tl.engine.options())
        ['max_bytes', 'max_nodes', 'mode', 'threshold', 'workers']
    """
    return dict(_C.engine_options())


def sync() -> None:
    """Runs everything that waits, and returns when it is done.

    Raises:
        TensorlikeError: what a kernel raised; the text names the op and the line that applied it.
    """
    _C.finish_all()


def explain() -> str:
    """What ran as one program since the mode was set, oldest first, and which ops wait now.

    Example:
        >>> import tensorlike as tl
        >>> with tl.engine.mode("lazy", threshold=1):
        ...     x = tl.tensor([1.0, 2.0])
        ...     y = (x * 2 + 1).sum().item()
        ...     print(tl.engine.explain().split(" [")[0])
        multiply + add + sum over (2,): 3 operands, 1 output, because of: read
    """
    lines = []
    for program in _C.fused_programs():
        outputs = f"{program['outputs']} output" + "s" * (program["outputs"] != 1)
        reused = f" ({program['reused']} over an operand)" if program["reused"] else ""
        places = ", ".join(dict.fromkeys(place for place in program["places"] if place))
        lines.append(
            f"{' + '.join(program['ops'])} over {program['shape']}: {program['operands']} operands,"
            f" {outputs}{reused}, because of: {program['reason']}"
            + (f" [{places}]" if places else "")
        )
    waiting = _C.waiting_ops()
    if waiting:
        lines.append("waiting: " + ", ".join(waiting))
    return "\n".join(lines)


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)

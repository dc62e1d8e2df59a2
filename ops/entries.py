"""What is declared of an op, as its entry says it: the text, for people, and what it costs.

Programs that run need none of it; pictures and transpilers of programs do, and read the files then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .. import opdecl
from .base import OpBase
from .sources import text_of

_ENTRY = re.compile(r"^- (?:op|scalar|reduction): (\w+)", re.MULTILINE)
# A gradient of a scalar function is declared with it.
_SLOPE = re.compile(r"(\w+?)_d[a-z]\w*")


class Entry(NamedTuple):
    """An entry of a declaration.

    Args:
        name: of the op, the scalar function or the reduction.
        text: the entry, as it stands in its file.
    """

    name: str
    text: str

    def key(self, name: str) -> Any:
        """What a key holds; None where there is none."""
        return _read(self.text).get(name)

    @property
    def args(self) -> tuple[str, ...]:
        """The names of the arguments."""
        # YAML takes `x: real` for a mapping.
        given = (next(iter(x)) if isinstance(x, dict) else x for x in self.key("args") or ())
        return tuple(str(name).partition(":")[0].strip("*? ") for name in given)

    @property
    def is_product(self) -> bool:
        """Whether the time that the op takes is that of its products."""
        return self.key("flops") is not None

    @property
    def is_view(self) -> bool:
        """Whether the op moves elements and computes nothing."""
        return self.key("view") is True


NO_ENTRY = Entry("", "")


def entry_of(op: OpBase) -> Entry:
    """The entry of an op, or of the scalar function or reduction that it applies.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike.ops.entries import entry_of
        >>> entry_of(tl.ops.MatMul()).args
        ('a', 'b')
    """
    name = getattr(op, "mode", "") if type(op).__name__ in ("Elemwise", "Reduce") else ""
    return entry_named(str(name or type(op).__name__))


def entry_named(name: str) -> Entry:
    """The entry of this name; without text where there is none."""
    text = text_of(name) or _built_in().get(name, "")
    if not text and (slope := _SLOPE.fullmatch(name)):
        return entry_named(slope[1])
    return Entry(name, text) if text else NO_ENTRY


def flops_of(
    op: OpBase, inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]
) -> int | None:
    """How many operations on numbers the products of an op are; None where that is not declared.

    Args:
        op: the op.
        inputs: shapes of what it reads.
        outputs: shapes of what it makes.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike.ops.entries import flops_of
        >>> flops_of(tl.ops.MatMul(), [(2, 3), (3, 4)], [(2, 4)])
        48
    """
    entry = entry_of(op)
    text = entry.key("flops")
    if text is None:
        return None
    from ..opdecl.compiler.costs import flops_in

    shapes = dict(zip(entry.args, inputs, strict=False))
    shapes |= {f"y{i}": shape for i, shape in enumerate(outputs)} if outputs[1:] else {}
    shapes |= {"y": outputs[0]}
    attrs: dict[str, Any] = {k: v for k, v in op.params().items() if type(v) is int}
    return flops_in(text, shapes, attrs)


@lru_cache(maxsize=1024)
def _read(text: str) -> Mapping[str, Any]:
    import yaml  # only here: importing the package needs none

    record = yaml.safe_load(text) if text else []
    return record[0] if record else {}


@lru_cache(maxsize=1)
def _built_in() -> dict[str, str]:
    """The entries that come with the package, by name."""
    found: dict[str, str] = {}
    for folder in opdecl.__path__:
        for path in sorted(Path(folder).glob("*.yaml")):
            text = path.read_text("utf-8")
            places = [*_ENTRY.finditer(text)]
            ends = [place.start() for place in places[1:]] + [len(text)]
            for place, end in zip(places, ends, strict=True):
                lines = text[place.start() : end].rstrip().split("\n")
                while lines and (lines[-1].startswith("#") or not lines[-1].strip()):
                    lines.pop()  # what is said of the next entry
                found[place[1]] = "\n".join(lines) + "\n"
    return found

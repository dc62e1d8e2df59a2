"""State: names whose tensors a function replaces by others, from call to call.

A recurrent layer that keeps its last output in an attribute, a cache of keys and values: what such
names hold is given to the programs of the function with its arguments. So it is compared as they
are, by kinds and shapes and not by which tensor it is, and may have unknown sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .. import _C
from .errors import Untraceable
from .putting_back import id_of
from .python_guards import Guard, is_plain, read

# More names than that are no state that was meant.
_MOST = 64
_DEEPEST = 20
# So many kinds of what they hold have programs.
_MOST_KINDS = 8


class Name(NamedTuple):
    """One of them: who has it, and how the function says it."""

    holder: Any
    name: str
    text: str

    def value(self) -> Any:
        """What it is now."""
        return read(self.holder, self.name)


class State:
    """The names that calls of one kind replace tensors of.

    Attributes:
        names: they.
        kinds: how many kinds of what they hold there were.
    """

    def __init__(self) -> None:
        self.names: list[Name] = []
        self.kinds = 0
        self._known: set[tuple[int, str]] = set()

    def has(self, holder: Any, name: str) -> bool:
        """Whether a name is one of them."""
        return bool(self.names) and (id_of(holder), name) in self._known

    def add(self, found: Iterable[Guard]) -> bool:
        """Takes names in; whether there were any.

        Raises:
            Untraceable: there are too many.
        """
        new = [g for g in found if not self.has(g.holder, g.name)]
        for guard in new:
            self._known.add((id_of(guard.holder), guard.name))
            self.names.append(Name(guard.holder, guard.name, guard.text))
        if len(self.names) > _MOST:
            raise Untraceable(f"it replaces the tensors of more than {_MOST} names")
        return bool(new)

    def is_new_kind_too_many(self) -> bool:
        """Counts one more kind of what they hold; whether there are so many that all differ."""
        self.kinds += 1
        return self.kinds > _MOST_KINDS

    def values(self) -> list[Any]:
        """What all of them are now."""
        return [name.value() for name in self.names]


def replaced(guards: Sequence[Guard]) -> list[Guard]:
    """The names that the function has replaced tensors of, when it has run."""
    broken = [guard for guard in guards if not guard.holds()]
    return [g for g in broken if _is_given(g) and (holds_tensor(g.was) or holds_tensor(g.now()))]


def _is_given(guard: Guard) -> bool:
    return is_tree(guard.was) and is_tree(guard.now())


def is_tree(x: Any, depth: int = 0) -> bool:
    """Whether it is made of tensors and plain values alone, so that arguments compare it whole."""
    if isinstance(x, _C.TensorWrapper) or is_plain(x):
        return True
    if type(x) not in (list, tuple, dict) or depth == _DEEPEST:
        return False
    items = x.values() if isinstance(x, dict) else x
    return all(is_tree(item, depth + 1) for item in items)


def copied(tree: Any) -> Any:
    """What names hold, in containers that no call changes."""
    if not is_tree(tree):
        return tree
    if isinstance(tree, dict):
        return {key: copied(x) for key, x in tree.items()}
    return type(tree)(map(copied, tree)) if isinstance(tree, (list, tuple)) else tree


def holds_tensor(x: Any, depth: int = 0) -> bool:
    """Whether there is a tensor in a value."""
    if isinstance(x, _C.TensorBase):
        return True
    if not isinstance(x, (list, tuple, set, frozenset, dict)) or depth == _DEEPEST:
        return False
    items = x.values() if isinstance(x, dict) else x
    return any(holds_tensor(item, depth + 1) for item in items)

"""Where a node stands: what is asked to find that it means less than it says.

A rewrite is a function of a Place. It gives the node's only result, or None where the node is not
what it looks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .graph import Node


class Place(NamedTuple):
    """A node among those of its graph, in one run of it.

    Attributes:
        node: it.
        values: of its inputs and attributes, by the names that its entry has for them.
        makers: by a name, the node that makes it.
        find: the value of a name.
    """

    node: Node
    values: Mapping[str, Any]
    makers: Mapping[str, Node]
    find: Callable[[str], Any]

    def maker(self, name: str, *ops: str) -> Node | None:
        """What makes a name, where it is one of these ops of the standard."""
        found = self.makers.get(name)
        return found if found is not None and found.is_standard(*ops) else None

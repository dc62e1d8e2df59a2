"""OpDef: wrapping an op by hand, with parameters that serialise themselves.

The short way to a new op is a declaration. This is the other one: a class whose name ends in
"Def", with the op's registered `name` and `param_names`, the attributes that hold its parameters.
Each parameter offers `serialize()`: four leading bytes, which are a tag, and then the parameter's
own. The op shows up in `ops.builtin` without "Def" as soon as the class exists.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from .. import _C
from . import builtin
from .base import OpBase


class Serializable(Protocol):
    """A parameter."""

    def serialize(self) -> bytes:
        """Four leading bytes, then the parameter's own."""
        ...


class OpDef(OpBase):
    """An op wrapped by hand: subclass it as ``WhateverDef``; the op is ``ops.builtin.Whatever``.

    Raises:
        TypeError: the class's name does not end in "Def", or `name` or `param_names` is missing.

    Example:
        >>> import struct
        >>> from tensorlike import ops
        >>> class ShiftDef(ops.OpDef):
        ...     name = "Shift"
        ...     param_names = ("param",)
        ...     class Param:
        ...         def __init__(self, amount):
        ...             self.amount = amount
        ...         def serialize(self):
        ...             return bytes(4) + struct.pack("<d", self.amount)
        ...     def __init__(self, amount):
        ...         self.param = self.Param(amount)
        ...     def define(self, x):
        ...         return x + self.param.amount
        >>> ops.builtin.Shift(1.0) == ops.builtin.Shift(1.0)
        True
    """

    name: ClassVar[str]
    param_names: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Registers the op under its name without "Def"."""
        super().__init_subclass__(**kwargs)
        if not cls.__name__.endswith("Def"):
            raise _C.ParameterError(
                "the class of a wrapped op must end with 'Def'", op=cls.__name__
            )
        for needed in ("name", "param_names"):
            if not hasattr(cls, needed):
                raise _C.ParameterError(f"`{needed}` is missing", op=cls.__name__)
        builtin.register(cls.__name__[: -len("Def")], cls)

    def __init__(self) -> None:
        """Subclasses assign the attributes that `param_names` lists."""

    def serialize(self) -> bytes:
        """The parameters' own bytes, one after the other, without their tags."""
        return b"".join(getattr(self, name).serialize()[4:] for name in self.param_names)

    def __eq__(self, other: object) -> bool:
        """Ops are values: equal when the class and the serialised parameters are."""
        return (
            isinstance(other, OpDef)
            and type(self) is type(other)
            and self.serialize() == other.serialize()
        )

    def __hash__(self) -> int:
        """Agrees with equality."""
        return hash((type(self), self.serialize()))

    def __repr__(self) -> str:
        """The registered name and the parameters."""
        params = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.param_names)
        return f"{self.name}({params})"

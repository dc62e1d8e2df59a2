"""OpBase, the root of all ops.

An op is constructed with its parameters and called on tensor-likes; it returns a tuple. Classes
that the core knows (generated from the declarations) keep their parameters there. A class written
in Python declares its parameters as annotated fields, as a frozen dataclass does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _C

if TYPE_CHECKING:
    from .sources import Sources


class OpBase(_C.OpBase):
    """An operation: ``outputs = op(*tensor_likes)``.

    Args:
        Parameters are given by name. A subclass written in Python declares them as annotated class
        attributes. It may define ``define(self, *xs)``, its meaning in functional calls, which
        works on every tensor-like and is differentiated through; and ``vjp(self, inputs, outputs,
        cotangents)``, which returns one gradient (or None) for each input.

    Raises:
        ParameterError: a parameter is missing, unknown or of the wrong type.

    Example:
        >>> from tensorlike import ops, tensor
        >>> class Scale(ops.OpBase):
        ...     factor: float = 2.0
        ...     def define(self, x):
        ...         return x * self.factor
        >>> Scale(factor=3.0)
        Scale(factor=3.0)
        >>> result, = Scale(factor=3.0)(tensor([1.0, 2.0]))
        >>> result.tolist()
        [3.0, 6.0]
    """

    __slots__ = ()

    def __init_subclass__(
        cls, *, native: str | None = None, version: int = 1, **kwargs: Any
    ) -> None:
        """Ties the class to the core's op class `native`, or reads its fields."""
        super().__init_subclass__(**kwargs)
        if native is not None:
            _C.bind_op_class(cls, native)
            if version > 1:
                _versions[cls] = version
        elif not _C.is_native_op_class(cls) and "__init__" not in vars(cls):
            import dataclasses  # only here: importing the package needs none

            dataclasses.dataclass(frozen=True, kw_only=True)(cls)
            cls.__new__ = _new  # type: ignore[assignment]

    def __setattr__(self, name: str, value: Any) -> None:
        """Ops are values: only a class written in Python may set its own, in `__init__`."""
        if _C.is_native_op_class(type(self)):
            raise AttributeError(
                f"{type(self).__name__}: ops are values and do not change; make another one"
            )
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        """As `__setattr__`."""
        if _C.is_native_op_class(type(self)):
            raise AttributeError(
                f"{type(self).__name__}: ops are values and do not change; make another one"
            )
        object.__delattr__(self, name)

    def __reduce__(self) -> Any:
        """Pickles, and copies, as the class and its parameters."""
        this: Any = self  # whose class may be a dataclass by now
        if hasattr(this, "__dataclass_fields__"):
            import dataclasses

            names = [field.name for field in dataclasses.fields(this)]
            return _rebuild, (type(self), {name: getattr(self, name) for name in names})
        if _C.is_native_op_class(type(self)):
            params = {name: getattr(self, name) for name in self.params()}
            from .versions import name_and_version

            name, version = name_and_version(type(self))
            sources = op_sources(self)
            if sources or name != type(self).__name__:
                return _rebuild_declared, (sources, name, params, version)
            return _rebuild, (type(self), params, version)
        return super().__reduce__()


def _new(cls: type[OpBase], *args: Any, **kwargs: Any) -> OpBase:
    """Refuses parameters that the class does not have, as built-in ops do."""
    import dataclasses

    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    extra = {name: value for name, value in kwargs.items() if name not in {f.name for f in fields}}
    if extra:
        raise _C.ParameterError(f"extra kwargs: {extra}.", op=cls.__name__)
    for field in fields:
        has_default = (field.default, field.default_factory) != (dataclasses.MISSING,) * 2
        if not has_default and field.name not in kwargs:
            raise _C.ParameterError(
                f"the parameter {field.name} is required; give {field.name}=....", op=cls.__name__
            )
    return _C.OpBase.__new__(cls)


# The versions of the classes whose declaration says one.
_versions: dict[type[OpBase], int] = {}


def version_of(cls: type[OpBase]) -> int:
    """Which version of its op a class is."""
    return _versions.get(cls, 1)


def _rebuild(cls: type[OpBase], params: dict[str, Any], version: int = 1) -> OpBase:
    if version == version_of(cls) or not _C.is_native_op_class(cls):
        return cls(**params)
    return _rebuild_declared((), cls.__name__, params, version)


def op_sources(op: OpBase) -> list[tuple[str, ...]]:
    """The run-time declarations that an op of the core is made of: its class, what it names."""
    from .sources import sources_of

    words = [value for value in op.params().values() if isinstance(value, str)]
    return sources_of([type(op).__name__, *words])


def _rebuild_declared(
    sources: Sources, name: str, params: dict[str, Any], version: int = 1
) -> OpBase:
    """An op of this name and version, with the run-time declarations that it is made of."""
    from .sources import restore
    from .versions import class_of

    restore(sources)
    return class_of(name, version)(**params)


_C.bind_op_class(OpBase, "OpBase")

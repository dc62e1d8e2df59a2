"""Carrier: what tensor-likes have in common that carry one value of another kind.

It applies ops to the values and puts the results into tensor-likes of its kind, so that a subclass
says only what is special about it: in a rule of its own that continues with `apply.super`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .. import _C
from ..ops import OpBase
from .dispatch import apply
from .levels import TransformValue, is_differentiated, layers, stopped, unwrapped

Self = TypeVar("Self", bound="Carrier")

_RawTensor = _C.RawTensor

# Priorities: above all else that holds values, below the transforms; or above them, below Tensor.
_OTHERS, _FIRST, _ABOVE_TRANSFORMS = 10.0, 20.0, 5000.0
# A class that goes around another lies a step above it; a value that does so, far less.
_STEP, _AROUND = 1e-2, 1e-6


def priority_of(value: Any) -> float:
    """Which of several tensor-likes takes a call: the one where this is highest."""
    if isinstance(value, _C.RawTensor):
        return 0.0
    if isinstance(value, _C.Tracer):
        return 100.0 + value.level
    return float(getattr(value, "priority", _OTHERS))


class Carrier(_C.TensorBase):
    """A tensor-like around a value of another kind: the base of those that you write.

    By itself it means what the value means. A subclass registers rules for what it adds; each may
    change what comes in, what goes out, or look on, and gets the rest done by ``apply.super``.
    What else instances hold (a log, a unit, a scale) stays with the results: they are made by
    `around`. Beside other tensor-likes and plain values it takes the call and lifts them.

    Of two carriers one must be said to be the outer one: ``class Mine(Carrier, above=Other)`` goes
    around `Other` (or several, in a tuple), and so does a class that derives from it; and a value
    goes around the kinds that it was made around, as ``Mine(Other(x))``. Two of which nothing is
    said must not meet in a call: that is an error.

    Transforms go around it: they differentiate what it means. ``class Mine(Carrier, above=Tracer)``
    goes around them instead: what it does is differentiated and mapped.

    Raises:
        DispatchError: in a call, beside another carrier: nothing says which is the outer one.
        ParameterError: when the class is made: `above` is no class of tensor-likes, or it has a
            `priority` of its own.

    Args:
        value: a tensor-like of any kind, or data.

    Example:
        >>> import tensorlike as tl
        >>> class Loud(tl.Carrier):
        ...     pass
        >>> @tl.apply.register
        ... def apply_loud(op: tl.ops.OpBase, *xs: Loud):
        ...     print(op)
        ...     return tl.apply.super(op, *xs)
        >>> x = tl.Tensor(Loud([1.0, 2.0]))
        >>> tl.exp(x * x).dtype
        Elemwise(mode='multiply')
        Elemwise(mode='exp')
        tensorlike.float32
    """

    priority: float = _FIRST
    value: Any
    _inner_kinds: tuple[type[Carrier], ...] = ()

    def __init_subclass__(cls, *, above: type | tuple[type, ...] = (), **kwargs: Any) -> None:
        """Says what it goes around, besides what its bases do: them, and what is `above` of."""
        super().__init_subclass__(**kwargs)
        kinds = above if isinstance(above, tuple) else (above,)
        for kind in kinds:
            if not (isinstance(kind, type) and issubclass(kind, _C.TensorBase)):
                raise _C.ParameterError(
                    "must be a class of tensor-likes, or a tuple of them",
                    op=cls.__name__,
                    argument="above",
                    got=repr(kind),
                )
        if "priority" in vars(cls):
            raise _C.ParameterError(
                "must not be given for a class of carriers",
                op=cls.__name__,
                argument="priority",
                got=repr(cls.priority),
                fix="say what it goes around: class Mine(Carrier, above=Other)",
            )
        bases = [
            base for base in cls.__bases__ if issubclass(base, Carrier) and base is not Carrier
        ]
        carriers = [kind for kind in (*bases, *kinds) if issubclass(kind, Carrier)]
        is_above = any(issubclass(kind, (_C.Tracer, TransformValue)) for kind in kinds)
        lowest = _ABOVE_TRANSFORMS if is_above else _FIRST
        cls._inner_kinds = tuple(carriers)
        cls.priority = max([lowest, *(kind.priority + _STEP for kind in carriers)])
        if "lift" in vars(cls):
            cls.lift = _in_order(vars(cls)["lift"])  # type: ignore[method-assign, assignment]

    def __init__(self, value: Any) -> None:
        """Goes around the value; what Tensor is around, if it is one."""
        self._carry(value)

    def _carry(self, value: Any) -> None:
        value = unwrapped(value)
        own, inner = type(self).priority, priority_of(value)
        self.value = value
        self.priority = own if own > inner else inner + _AROUND

    @property
    def is_above_transforms(self) -> bool:
        """Whether it goes around them."""
        return self.priority >= _ABOVE_TRANSFORMS

    def around(self: Self, value: Any) -> Self:
        """The same around another value: with all else that this one holds."""
        cls = type(self)
        made = cls.__new__(cls)
        held = made.__dict__
        held.update(self.__dict__)
        if type(value) is _RawTensor:  # half the time of the general way
            held["value"] = value
            held["priority"] = cls.priority
        else:
            made._carry(value)
        return made

    def lift(self: Self, other: Any) -> Self:
        """What stands beside it in a call, as one of its kind.

        Raises:
            DispatchError: it is a carrier, and nothing says that this one goes around it.
        """
        refuse_unsaid(self, other)
        return self.around(other)

    @property
    def shape(self) -> tuple[int, ...]:
        """The value's."""
        return self.value.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> _C.dtype:
        """The value's."""
        return self.value.dtype  # type: ignore[no-any-return]

    @property
    def elements(self) -> Any:
        """Whose elements are read where Python asks for numbers: the value's."""
        return self.value

    @property
    def is_differentiated(self) -> bool:
        """Whether derivatives by the value are wanted."""
        return is_differentiated(self.value)

    def stopped(self: Self) -> Self:
        """The same around the value without history."""
        return self.around(stopped(self.value))

    def __repr__(self) -> str:
        """The class and the value."""
        return f"{type(self).__name__}({self.value!r})"


def _in_order(lift: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A `lift` that is asked only where it is said which of two carriers is the outer one."""

    @functools.wraps(lift)
    def checked(self: Carrier, other: Any) -> Any:
        refuse_unsaid(self, other)
        return lift(self, other)

    return checked


def refuse_unsaid(outer: Carrier, other: Any) -> None:
    """Raises DispatchError where a carrier meets another, and nothing says which is the outer."""
    if not isinstance(other, Carrier) or _is_said(outer, other):
        return
    first, second = sorted((type(outer).__name__, type(other).__name__))
    raise _C.DispatchError(
        "of two kinds of carriers one must be said to go around the other",
        op="apply",
        got=f"{first} beside {second}",
        fix=f"say class {first}(Carrier, above={second}), or the other way; or put the values of "
        "one kind around those of the other",
    )


def _is_said(outer: Carrier, inner: Carrier) -> bool:
    """Whether one goes around another: by their classes, by transforms between, by its value."""
    if outer.is_above_transforms and not inner.is_above_transforms:
        return True
    kind = type(inner)
    return _goes_around(type(outer), kind) or any(type(part) is kind for part in _parts(outer))


def _goes_around(outer: type[Carrier], inner: type) -> bool:
    return any(inner is kind or _goes_around(kind, inner) for kind in outer._inner_kinds)


def _parts(x: Any) -> Iterator[Any]:
    """What a value is made around, from the outside in."""
    while isinstance(x, Carrier):
        for part in layers(x.value):
            yield part
        x = part


def carried(x: Any) -> Any:
    """What is under wrappers and carriers."""
    while True:
        if isinstance(x, _C.TensorWrapper):
            x = x.__wrapped__
        elif isinstance(x, Carrier):
            x = x.value
        else:
            return x


def beneath(x: Any, put: Callable[[Any], Any]) -> Any:
    """What a transform makes of an argument: `put` of its value, under what goes around transforms.

    Wrappers are left out, as `unwrapped` leaves them.
    """
    while isinstance(x, _C.TensorWrapper):
        x = x.__wrapped__
    if type(x) is _RawTensor:
        return put(x)
    x = unwrapped(x)
    if isinstance(x, Carrier) and x.is_above_transforms:
        return x.around(beneath(x.value, put))
    return put(x)


def carrying(x: Any, value: Any) -> Any:
    """The wrappers and carriers of x around another value."""
    if isinstance(x, _C.TensorWrapper):
        return type(x)(carrying(x.__wrapped__, value))
    return x.around(carrying(x.value, value)) if isinstance(x, Carrier) else value


@apply.register
def apply_carrier(op: OpBase, *xs: Carrier) -> tuple[Any, ...]:
    """Applies the op to the values, and puts the results into carriers of the same kind."""
    first = xs[0]
    kind = type(first)
    for x in xs:
        if type(x) is not kind:  # carriers of several kinds: the outer takes the call
            outer = max(xs, key=priority_of)
            return apply(op, *(x if type(x) is type(outer) else outer.lift(x) for x in xs))
    return tuple([first.around(y) for y in op(*[x.value for x in xs])])

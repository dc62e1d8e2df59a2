"""Carrier: what tensor-likes have in common that carry one value of another kind.

It applies ops to the values and puts the results into tensor-likes of its kind, so that a subclass
says only what is special about it: in a rule of its own that continues with `apply.super`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import _C
from ..ops import OpBase
from .dispatch import apply
from .levels import is_differentiated, stopped, unwrapped

Self = TypeVar("Self", bound="Carrier")

_RawTensor = _C.RawTensor

# Priorities: above what computes and infers, below the transforms; or above them, below Tensor.
_FIRST, _ABOVE_TRANSFORMS, _STEP = 10.0, 5000.0, 1e-6


def priority_of(value: Any) -> float:
    """Which of several tensor-likes takes a call: the one where this is highest."""
    if isinstance(value, _C.RawTensor):
        return 0.0
    if isinstance(value, _C.Tracer):
        return 100.0 + value.level
    return float(getattr(value, "priority", _FIRST))


class Carrier(_C.TensorBase):
    """A tensor-like around a value of another kind: the base of those that you write.

    By itself it means what the value means. A subclass registers rules for what it adds; each may
    change what comes in, what goes out, or look on, and gets the rest done by ``apply.super``.
    What else instances hold (a log, a unit, a scale) stays with the results: they are made by
    `around`. Beside other tensor-likes and plain values it takes the call and lifts them. Of two
    carriers the class that was made later is the outer one, unless a class attribute `priority`
    says otherwise.

    Transforms go around it: they differentiate what it means. ``class Mine(Carrier, above=Tracer)``
    goes around them instead: what it does is differentiated and mapped.

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
    _made = 0
    _step: float = 0.0

    def __init_subclass__(cls, *, above: type | None = None, **kwargs: Any) -> None:
        """A class made later goes around those made before."""
        super().__init_subclass__(**kwargs)
        Carrier._made += 1
        cls._step = _STEP * Carrier._made
        if "priority" not in vars(cls):
            is_above = above is not None and not issubclass(above, Carrier)
            base = _ABOVE_TRANSFORMS if is_above or cls.priority >= _ABOVE_TRANSFORMS else _FIRST
            cls.priority = base + cls._step

    def __init__(self, value: Any) -> None:
        """Goes around the value; what Tensor is around, if it is one."""
        self._carry(value)

    def _carry(self, value: Any) -> None:
        value = unwrapped(value)
        own, inner = type(self).priority, priority_of(value)
        self.value = value
        self.priority = own if own > inner else inner + self._step

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
        """What stands beside it in a call, as one of its kind."""
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
        if type(x) is not kind:  # carriers of several kinds: the outermost takes the call
            outer = max(xs, key=priority_of)
            return apply(op, *(x if type(x) is type(outer) else outer.lift(x) for x in xs))
    return tuple([first.around(y) for y in op(*[x.value for x in xs])])

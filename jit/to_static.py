"""to_static: functions whose control flow on tensors is read from their source."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from ..imperative.levels import stopped
from ..imperative.naming import named_around
from ..nn import Layer
from .compiled_function import CompiledFunction
from .conversion import settings
from .conversion.functions import conversion_of, converted
from .conversion.refusal import ConversionError, refusal
from .conversion.swallowed import none_swallowed
from .conversion.tracebacks import has_converted_frames, of_user
from .failing_step import failing_line, raise_from
from .quick_call import NamedGuard


class StaticFunction(CompiledFunction):
    """A function whose source was converted, and which runs as programs; made by `to_static`."""

    _made_by = "to_static"

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        """Nothing is read before the first call."""
        super().__init__(function, **options)

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives, by a program; as it was written, where conversion is off."""
        if not settings.STATE.is_enabled:
            return self.__wrapped__(*args, **kwargs)
        try:
            return super()._called(*args, **kwargs)
        except Exception as error:
            self._locate(error, args, kwargs)
            raise of_user(error) from error.__cause__

    def _failed(self, error: Exception, args: tuple[Any, ...]) -> Any:
        """Raises it from the user's line."""
        self._locate(error, args, {})
        raise of_user(error) from error.__cause__

    def _switches(self) -> list[NamedGuard]:
        """Whether functions are converted at all counts, too."""
        return [*super()._switches(), (vars(settings.STATE), "is_enabled", True)]

    def _cut(self, *, only_by_name: bool = False) -> Any:
        """What is converted is not cut: the source of a piece stands in no file."""
        return None

    def _locate(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Lets an error of a program that ran come from the user's line."""
        if has_converted_frames(error) or isinstance(error, ConversionError):
            return
        call = self._kind(args, kwargs)
        for program in self._fitting(call)[0]:
            if program.refusal(call.tensors) is not None:
                continue
            values = program.values(call.tensors)
            line = failing_line(program.op, list(map(stopped, values)), error)
            try:
                raise_from(line, self._name(), error)
            except type(error):
                return

    def recorded_form(self) -> Callable[..., Any]:
        """The converted function.

        Raises:
            ConversionError: it cannot be part of a program.
        """
        return partial(_run, _converted_form(self.__wrapped__))

    @property
    def code(self) -> str:
        """The converted source.

        Raises:
            ConversionError: it cannot be converted.
        """
        return conversion_of(plain_function(self.__wrapped__)).text


def _run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a converted function, whose handlers must not hide what cannot be converted."""
    with none_swallowed():
        return function(*args, **kwargs)


def _converted_form(function: Any) -> Callable[..., Any]:
    """What is called in the place of a function, a method, or an object that is called like one."""
    if isinstance(function, partial):
        return partial(_converted_form(function.func), *function.args, **function.keywords)
    found, bound = converted(plain_function(function)), instance_of(function)
    return found if bound is None else MethodType(found, bound)


def instance_of(function: Any) -> Any:
    """What a method is bound to, which may have become a program before; None: nothing."""
    inner = getattr(function, "__func__", function)
    bound = getattr(function, "__self__", None)
    if bound is None and isinstance(inner, CompiledFunction):
        return instance_of(inner.__wrapped__)
    return function if bound is None and _called_as(function) is not None else bound


def _called_as(x: Any) -> FunctionType | None:
    """The function of its class by which an object is called; None: it is none of Python's."""
    call = None if isinstance(x, type) else inspect.getattr_static(type(x), "__call__", None)
    return call if isinstance(call, FunctionType) else None


def plain_function(function: Any) -> FunctionType:
    """The function of Python's under a method.

    Raises:
        ConversionError: there is none.
    """
    inner = getattr(function, "__func__", function)
    if isinstance(inner, CompiledFunction):
        return plain_function(inner.__wrapped__)
    if isinstance(inner, partial):
        return plain_function(inner.func)
    inner = _called_as(inner) or inner
    if not isinstance(inner, FunctionType):
        raise refusal(
            "what is converted must be a function that is written in Python", "", 0,
            "wrap it: to_static(lambda x: f(x))",
            got=f"{getattr(function, '__name__', '')}, a {type(function).__name__}".lstrip(", "),
        )  # fmt: skip
    return inner


@named_around
def to_static(
    function: Any = None, *, input_spec: Any = None, cache_size: int = 64, opt_level: int = 1
) -> Any:
    """A function that runs as programs, with Python's control flow on tensors as ops of them.

    The source is read: `if`, `while`, `for`, `break`, `continue`, `return`, `and`, `or`, `not`,
    chained comparisons, conditional expressions, `assert`, `raise`, `print`, `len`, `int`, `float`
    and `bool` on tensors become a part of the program; functions of the user that are called are
    converted too. What depends on no tensor stays Python's, and runs while a program is made. A
    program is made for each kind of arguments, once.

    A list, dict or attribute that is changed in a branch is what it is after the branch that is
    taken. What cannot be said in a program is refused, with its line and another way to write it.

    Args:
        function: a function, a method, a lambda, a partial, an object that is called like one,
            or a layer, whose `forward` is converted; None: a decorator is returned.
        input_spec: what is known of the arguments; as `trace` has it.
        cache_size: how many programs are kept.
        opt_level: of the passes, as `static.CompiledProgram` has it.

    Returns:
        A `StaticFunction`; of a layer the layer.

    Raises:
        ConversionError: at the first call, the source cannot be part of a program.

    Source:
        Paddle, ``paddle.jit.to_static``; Moldovan et al., AutoGraph (2019).

    Example:
        >>> import tensorlike as tl
        >>> @tl.jit.to_static
        ... def halve(x, limit):
        ...     steps = 0
        ...     while x > limit:
        ...         x = x / 2
        ...         steps += 1
        ...     return x, steps
        >>> halve(tl.tensor(40.0), 10.0)
        (tensor(10.), tensor(2))
        >>> halve(tl.tensor(4.0), 10.0)
        (tensor(4.), tensor(0))
    """
    options = {"input_spec": input_spec, "cache_size": cache_size, "opt_level": opt_level}
    if function is None:
        return partial(to_static, **options)
    if isinstance(function, Layer):
        made = StaticFunction(function.forward, **options)
        object.__setattr__(function, "forward", made)
        return function
    if isinstance(function, type) and issubclass(function, Layer):
        made = StaticFunction(function.forward, **options)
        function.forward = made  # type: ignore[method-assign]
        return function
    return StaticFunction(function, **options)

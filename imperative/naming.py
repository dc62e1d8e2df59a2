"""Errors in the name of what was called: a composed call, a layer, an optimiser.

The ops inside name themselves, and Python names nothing. What a function of the user's raises, or
a value of a class of the user's, is theirs: it comes through as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .. import _C

if TYPE_CHECKING:
    from .tensor import Tensor

Given = ParamSpec("Given")
Result = TypeVar("Result")
Class = TypeVar("Class", bound=type)
Method = TypeVar("Method", bound=Callable[..., Any])
# What Python and NumPy say of a wrong argument, and what the core does.
_OF_PYTHON = (TypeError, ValueError, IndexError, OverflowError, BufferError)
_OF_THE_CORE = (
    _C.AutodiffError,
    _C.DTypeError,
    _C.DeviceError,
    _C.IndexRangeError,
    _C.LiteralRangeError,
    _C.MatrixError,
    _C.ParameterError,
    _C.ShapeError,
)
ARGUMENT_ERRORS: tuple[type[Exception], ...] = (*_OF_PYTHON, *_OF_THE_CORE)
_OURS = frozenset([__package__.partition(".")[0], "numpy", "opt_einsum"])


def named(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, whose errors of arguments name it, not the op inside that noticed."""
    return named_as(function.__name__, function)


def named_around(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """As `named`, of what runs other functions: errors that name one of these stay as they are."""
    return _C.Named(function, function.__name__, _name_around)


def named_as(name: str, function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, whose errors of arguments have this name in front."""
    return _C.Named(function, name, in_the_name_of)


def quick(
    call: Callable[..., Any], on_error: Callable[[str, Exception], Exception] | None = None
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """A function, calls of which `call` makes, but those that it is NotImplemented for.

    Args:
        call: a function of the core.
        on_error: gives the error to raise for what either raises; None leaves them as they are.
    """
    given = on_error or _as_it_is
    return lambda function: _C.Named(function, function.__name__, given, None, call)


def named_quick(
    call: Callable[..., Any],
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """The same of a `named` function."""
    return quick(call, in_the_name_of)


def _as_it_is(_: str, error: Exception) -> Exception:
    return error


def one_op_on(
    tensors: int, beside: int = 0
) -> Callable[[Callable[Given, Any]], Callable[Given, Any]]:
    """A named call that is one op on its first arguments: the function gives what it `makes`.

    It must follow from the shapes and dtypes of these and from the other arguments: it is
    remembered. Where the call is no single op the function returns its result instead.

    Args:
        tensors: how many arguments are tensors, or data of which some are made.
        beside: how many after these are tensors, numbers or None; the op may depend on the classes
            of numbers, and is applied to what is not None.
    """

    def around(function: Any) -> Callable[Given, Any]:
        names = function.__code__.co_varnames
        return _C.Named(
            function,
            function.__name__,
            _name_call,
            tensors=names[:tensors],
            beside=names[tensors : tensors + beside] or None,
        )

    return around


def one_op(function: Callable[Given, Any]) -> Callable[Given, Any]:
    """The same on its first argument alone."""
    return one_op_on(1)(function)


def makes(op: Any, *then: Any) -> Tensor:
    """What a call is, where a result would stand: an op, and those on its result that follow.

    A pair of an op and a number writes the number into the result so far.
    """
    ops: Any = (op, *then) if then else op
    stand_in: Tensor = ops
    return stand_in


def draws_by(draw: Callable[[Any, Any], Any]) -> Callable[[Method], Method]:
    """A named method that draws random numbers; a draw that is refused has not been taken.

    The method of an object with a `_stream` gives its result, or `makes` the op of a draw, without
    saying which draw it is. That must follow from the other arguments, and is remembered.

    Args:
        draw: draw(object, op) makes it in the general way: of objects without a stream, and inside
            transforms.
    """

    def around(method: Method) -> Method:
        named: Any = _C.Named(method, method.__name__, in_the_name_of, draw=draw)
        same: Method = named
        return same

    return around


def creating_op(function: Callable[Given, Any]) -> Callable[Given, Any]:
    """The same of an op without tensors."""
    return one_op_on(0)(function)


def shortcut(
    flag: str,
    method: str,
    on_error: Callable[[Any, Exception, tuple[Any, ...], dict[str, Any]], Any],
) -> Callable[[Callable[..., Any]], Any]:
    """A method that is another one for as long as an attribute of the object is True.

    Args:
        flag: the attribute.
        method: the other method's name.
        on_error: what an exception of that one's is given to, with the object and the arguments; it
            raises.

    Returns:
        A decorator of the method for all other cases.
    """
    return lambda function: _C.Shortcut(function, flag, method, on_error)


def named_class(cls: Class) -> Class:
    """The class, the errors of arguments of whose constructor and call name it."""
    for name in ("__init__", "__call__"):
        if name in vars(cls):
            setattr(cls, name, _C.Named(vars(cls)[name], None, in_the_name_of))
    return cls


def in_the_name_of(name: str, error: Exception, *, keeps_subject: bool = False) -> Exception:
    """The error with the name of what was called in front.

    Args:
        name: what was called.
        error: what a call inside of it raised.
        keeps_subject: whether an error that names an op or a call already stays as it is.

    Returns:
        The same error with another `op`; one of Python's own in place of those of NumPy whose text
        is made otherwise. As it was, if it is none of arguments, or a function's or a class's of
        the user.
    """
    if not isinstance(error, ARGUMENT_ERRORS):
        return error
    op = getattr(error, "op", None)
    if op is not None and (keeps_subject or _spelt(op) == _spelt(name)):
        return error
    if not _is_our_own(error):
        return error
    if isinstance(error, _C.TensorlikeError):
        error.op = name
        return error
    return _told(name, error)


def _name_call(name: str, error: Exception) -> Exception:
    """As `in_the_name_of`, of a call that is one op; of the same name, but in the call's words."""
    told = in_the_name_of(name, error)
    op = getattr(told, "op", None)
    if isinstance(told, _C.TensorlikeError) and op is not None and _spelt(op) == _spelt(name):
        told.op = name
    return told


def _name_around(name: str, error: Exception) -> Exception:
    return in_the_name_of(name, error, keeps_subject=True)


def _told(name: str, error: Exception) -> Exception:
    """An error of Python's or NumPy's, whose words stay and get a name in front."""
    words = getattr(error, "words", None) or str(error)
    kind = next(kind for kind in _OF_PYTHON if isinstance(error, kind))
    told = error
    if type(error).__str__ is not kind.__str__:  # its text is made of fields of its own
        told = kind().with_traceback(error.__traceback__)
        told.__cause__ = error.__cause__
        told.__suppress_context__ = True
    told.args = (f"{name}: {words}",)
    vars(told).update(op=name, words=words)
    return told


def _is_our_own(error: Exception) -> bool:
    """Whether it was raised here, or by Python and NumPy for us; no frame is the user's."""
    if _root(type(error).__module__) not in _OURS | {"builtins"}:
        return False
    frame: TracebackType | None = error.__traceback__
    while frame is not None:
        if _root(frame.tb_frame.f_globals.get("__name__", "")) not in _OURS:
            return False
        frame = frame.tb_next
    return True


def _spelt(name: str) -> str:
    """A name as ops and calls have in common: MatMul and matmul are one."""
    return name.replace("_", "").lower()


def _root(module: str) -> str:
    return module.partition(".")[0]

"""apply: multiple dispatch over the classes of ops and the kinds of tensor-likes.

The dispatcher itself is in the core; this file reads signatures out of annotations and prints
explanations.
"""

from __future__ import annotations

import inspect
import os
import types
import typing
from abc import ABCMeta
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, TypeVar, overload

from .. import _C
from ..ops import OpBase

Rule = TypeVar("Rule", bound=Callable[..., Any])

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


class Apply:
    """``apply(op, *tensor_likes)``: finds the rule that says what this means, and runs it.

    Rules are functions whose annotations are their signature: the class of ops first, then the
    kinds of tensor-likes. The most specific rule that matches runs: the op's class is compared
    first, then the kinds; within one signature the newest rule. A rule that returns
    ``NotImplemented`` passes to the next one; ``apply.super(op, *xs)`` continues with it from
    inside. Mixed arguments go to the highest kind present, which lifts the others.

    Raises:
        DispatchError: no rule matches; the closest ones are listed.
        AmbiguityError: on registration, when a rule and another one match equally well.

    Example:
        >>> from tensorlike import RawTensor, apply, ops
        >>> apply(ops.Elemwise(mode="negative"), RawTensor([1.0]))[0]
        RawTensor([-1.], device='cpu')
    """

    def __init__(self) -> None:
        """There is one, `apply`."""
        self._codes: set[types.CodeType] = set()  # of rules, which are no lines of a program

    def __call__(self, op: OpBase, *xs: Any) -> tuple[Any, ...]:
        """What ``op(*xs)`` does; the result is always a tuple."""
        return _C.apply(op, *xs)

    def super(self, op: OpBase, *xs: Any) -> tuple[Any, ...]:
        """Continues with the rule after the one that is running.

        Raises:
            AutodiffError: no rule is running.
            DispatchError: there is no further rule.
        """
        return _C.apply_super(op, *xs)

    def body(self, op: OpBase, *xs: Any) -> tuple[Any, ...]:
        """What an op is made of, applied in its place: its body, or a scalar function's expression.

        For rules that know some ops and leave the others to what those are made of. Every op of a
        body is dispatched in turn; nothing is differentiated or computed in another way for it.

        Raises:
            DispatchError: the op is native, and has no body: a rule must say what it means.

        Example:
            >>> from tensorlike import Listing, apply, ops
            >>> listing = Listing()
            >>> _ = apply.body(ops.Elemwise(mode="tanhshrink"), listing.input("x", (2,)))
            >>> print(listing)
            x: float32(2,)
            _1 = Elemwise(mode='tanh')(x)  # float32(2,)
            _2 = Elemwise(mode='subtract')(x, _1)  # float32(2,)
        """
        found = _C.apply_body(op, *xs)
        if found is None:
            kinds = ", ".join(sorted({type(x).__name__ for x in xs}))
            raise _C.DispatchError(
                f"a rule must say what this op means on {kinds}",
                op=f"{op}",
                got="none, and the op has no body to fall back on",
                fix="register one for its class",
            )
        return found

    def line(self) -> str:
        """Where in the user's program the op was applied that a rule is handling: "file:line".

        Frames of this package and of rules are passed over. Outside of rules it is the line that
        asks. "" where the program is not Python's.
        """
        frame = inspect.currentframe()
        found = ""
        is_outside = False  # of the rule
        while frame is not None:
            code = frame.f_code
            if code in self._codes:
                is_outside = True
            elif not code.co_filename.startswith(_PACKAGE):
                if is_outside:
                    return f"{code.co_filename}:{frame.f_lineno}"
                found = found or f"{code.co_filename}:{frame.f_lineno}"
            frame = frame.f_back
        return found

    @overload
    def register(self, function: Rule) -> Rule: ...
    @overload
    def register(self) -> Callable[[Rule], Rule]: ...
    def register(self, function: Rule | None = None) -> Rule | Callable[[Rule], Rule]:
        """Adds a rule. The decorator may be written with or without parentheses.

        The signature comes from the annotations: classes, unions of classes (also written as
        tuples), or none for "any tensor-like". A variadic parameter comes last.

        Raises:
            TypeError: an annotation is not a class, or the first one is not a class of ops.
            AmbiguityError: another rule would match equally well; both places are named.

        Example:
            >>> from tensorlike import RawTensor, TensorBase, apply, ops
            >>> class Verbose(TensorBase):
            ...     def __init__(self, value):
            ...         self.value = value
            >>> @apply.register
            ... def apply_verbose(op: ops.OpBase, *xs: Verbose):
            ...     print(op)
            ...     return tuple(Verbose(y) for y in op(*(x.value for x in xs)))
            >>> _ = Verbose(RawTensor([1.0])) * Verbose(RawTensor([2.0]))
            Elemwise(mode='multiply')
        """
        if function is None:
            return self.register
        _C.add_rule(*self._description(function))
        return function

    def _description(self, function: Rule) -> tuple[Rule, str, str, type, Any, bool]:
        """What the core is to know of a rule."""
        op_class, kinds, is_variadic = _signature(function)
        code = inspect.unwrap(function).__code__
        self._codes.add(code)
        place = f"{code.co_filename}:{code.co_firstlineno}"
        name = getattr(function, "__name__", repr(function))
        return function, name, place, op_class, kinds, is_variadic

    def unregister(self, function: Callable[..., Any]) -> None:
        """Takes a rule away.

        Raises:
            ValueError: the function is not registered.
        """
        if not _C.remove_rule(function):
            raise _C.ArgumentError(f"{function!r} is not a registered rule", op="unregister")

    def disable(self, function: Callable[..., Any]) -> None:
        """Passes over a rule, from now on and until it is enabled.

        Raises:
            ValueError: the function is not registered.
        """
        self._set_enabled(function, False)

    def enable(self, function: Callable[..., Any]) -> None:
        """Undoes `disable`.

        Raises:
            ValueError: the function is not registered.
        """
        self._set_enabled(function, True)

    def _set_enabled(self, function: Callable[..., Any], is_enabled: bool) -> None:
        if not _C.set_rule_enabled(function, is_enabled):
            verb = "enable" if is_enabled else "disable"
            raise _C.ArgumentError(f"{function!r} is not a registered rule", op=verb)

    @contextmanager
    def registered(self, function: Callable[..., Any]) -> typing.Iterator[None]:
        """A rule for the length of a ``with`` block."""
        with _C.Registration(*self._description(function)):
            yield

    def explain(self, op: OpBase, *xs: Any) -> str:
        """Which rules match these arguments, in the order in which they are tried, and why.

        Returns:
            A text: the op, the arguments, a line for each rule, and for wrappers the same for what
            they wrap, layer by layer down to the kernel.

        Example:
            >>> from tensorlike import apply, ops, tensor
            >>> print(apply.explain(ops.Elemwise(mode="exp"), tensor([1.0])).splitlines()[0])
            Elemwise(mode='exp') on (Tensor)
        """
        return "\n".join(_explain(op, xs))

    def help(self, op: OpBase, *xs: Any) -> str:
        """The documentation of the rule that these arguments get."""
        rule = self._first(op, xs)
        return inspect.getdoc(rule) or "" if rule is not None else "a rule of the core"

    def source(self, op: OpBase, *xs: Any) -> str:
        """The source text of the rule that these arguments get.

        Raises:
            TypeError: the rule is in the core, in C++.
        """
        rule = self._first(op, xs)
        if rule is None:
            raise _C.ParameterError("the rule is in the core, in C++", op="source")
        return inspect.getsource(rule)

    @staticmethod
    def _first(op: OpBase, xs: tuple[Any, ...]) -> Callable[..., Any] | None:
        for *_, is_enabled, matches, _lifts, function in _C.resolution(op, *xs):
            if is_enabled and matches:
                return function
        raise _C.DispatchError(f"no rule matches {op}", op="apply")

    def __reduce__(self) -> str:
        """There is one dispatcher: it pickles as a name."""
        return "apply"


def _signature(
    function: Callable[..., Any],
) -> tuple[type, tuple[tuple[type, ...], ...], bool]:
    parameters = list(inspect.signature(function).parameters.values())
    name = getattr(function, "__name__", repr(function))
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError, SyntaxError):
        hints = _local_hints(function)
    if not parameters:
        raise _C.ParameterError(
            "must take an op and tensor-likes; it takes nothing", op="register", argument=name
        )
    kinds = []
    is_variadic = False
    for parameter in parameters[1:]:
        if parameter.kind is parameter.VAR_POSITIONAL:
            is_variadic = True
        elif parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise _C.ParameterError(f"{name}: rules take positional parameters only", op="register")
        kinds.append(_classes(hints.get(parameter.name, _C.TensorBase), name, parameter.name))
    op_classes = _classes(hints.get(parameters[0].name, OpBase), name, parameters[0].name)
    if len(op_classes) != 1:
        raise _C.ParameterError(
            f"{name}: one class of ops is needed; register the rule for each", op="register"
        )
    return op_classes[0], tuple(kinds), is_variadic


def _local_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations as text name classes of the function that the rule is written in."""
    frame = inspect.currentframe()
    while frame is not None:
        try:
            return typing.get_type_hints(function, frame.f_globals, frame.f_locals)
        except (NameError, TypeError):
            frame = frame.f_back
    name = getattr(function, "__name__", repr(function))
    raise _C.ParameterError(
        f"{name}{inspect.signature(function)}: an annotation is not a class", op="register"
    )


def _classes(annotation: Any, rule: str, parameter: str) -> tuple[type, ...]:
    if annotation is None:
        return (type(None),)
    if isinstance(annotation, type):
        is_known = issubclass(annotation, (_C.OpBase, _C.TensorBase, type(None)))
        if (
            not is_known
            and not isinstance(annotation, ABCMeta)
            and not _C.is_virtual_op(annotation)
        ):
            raise _C.ParameterError(
                f"{rule}: {parameter} must be annotated with a class of ops or of tensor-likes",
                op="register",
                got=repr(annotation),
            )
        return (annotation,)
    members: tuple[Any, ...] = ()
    if isinstance(annotation, tuple):
        members = annotation
    elif typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = typing.get_args(annotation)
    if not members:
        raise _C.ParameterError(
            f"{rule}: the annotation of {parameter} must be a class or a union of classes",
            op="register",
            got=repr(annotation),
        )
    return tuple(cls for member in members for cls in _classes(member, rule, parameter))


def _explain(op: OpBase, xs: tuple[Any, ...]) -> list[str]:
    lines = [f"{op} on ({', '.join(type(x).__name__ for x in xs)})"]
    for name, place, signature, is_enabled, matches, lifts, _ in _C.resolution(op, *xs):
        if not matches:
            verdict = "does not match"
        elif not is_enabled:
            verdict = "matches, but is disabled"
        else:
            verdict = "matches once the others are lifted" if lifts else "matches"
        lines.append(f"  {name}{signature}: {verdict}  [{place}]")
    wrappers = [x for x in xs if isinstance(x, _C.TensorWrapper)]
    if wrappers:
        inner = tuple(x.__wrapped__ if isinstance(x, _C.TensorWrapper) else x for x in xs)
        return [*lines, "then on what is wrapped:", *_explain(op, inner)]
    tracers = [x for x in xs if isinstance(x, _C.Tracer)]
    if tracers:
        inner = tuple(x.primal if isinstance(x, _C.Tracer) else x for x in xs)
        return [*lines, "recorded on the tape; then on what is traced:", *_explain(op, inner)]
    if xs and all(isinstance(x, _C.RawTensor) for x in xs):
        lines += _explain_launch(op, xs)
    return lines


def _explain_launch(op: OpBase, xs: tuple[Any, ...]) -> list[str]:
    outputs = _C.apply(op, *(_C.ShapeTensor(x.shape, x.dtype) for x in xs))
    lines = []
    for i, x in enumerate(xs):
        lines.append(f"  input {i}: {x.dtype.name}{x.shape}")
    for i, y in enumerate(outputs):
        lines.append(f"  output {i}: {y.dtype.name}{y.shape}")
        for j, x in enumerate(xs):
            if x.dtype is not y.dtype:
                lines.append(f"    input {j} is cast from {x.dtype.name} where it is computed with")
            if getattr(op, "mode", None) and type(op).__name__ == "Elemwise" and x.shape != y.shape:
                lines.append(f"    input {j} is broadcast from {x.shape}")
    lines.append(f"  kernel: cpu, x86-64-{_C.isa()}, {_C.num_threads()} threads")
    return lines


apply: Apply = Apply()

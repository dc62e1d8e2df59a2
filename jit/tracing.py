"""trace: a function or a layer that runs as programs, which its calls record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from .compiled_function import CompiledFunction
from .input_spec import InputSpec


@overload
def trace(function: Callable[..., Any], /) -> CompiledFunction: ...
@overload
def trace(
    function: None = None,
    /,
    *,
    symbolic: bool = ...,
    capture_as_const: bool = ...,
    input_spec: Sequence[InputSpec] | None = ...,
    cache_size: int = ...,
    on_change: str = ...,
    opt_level: int = ...,
    strict: bool = ...,
    profiling: bool = ...,
    recompute: bool = ...,
) -> Callable[[Callable[..., Any]], CompiledFunction]: ...
def trace(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """A function that runs as a program: its first call is recorded, later ones run what was.

    The call that is recorded is the function itself. What it does with tensors becomes a program:
    its parameters, buffers and what else it finds in closures, globals and attributes are read anew
    at each call; what it sets, gradients and the state of optimisers included, is set by each call.
    What Python read meanwhile is watched: the values and shapes of tensors, globals, closures,
    attributes of layers. Where it has changed, the function is recorded again, and there is one
    program more; `why` says which there are, and why. After a second size of an argument, the
    size is unknown, and one program serves all.

    Within `grad`, `vmap`, `jvp` and on tensor-likes of any kind the program is applied to those.
    Random numbers are drawn anew in each call, as the function would. What else Python does while
    the function is recorded (appending to a list, printing) it does not do again when the program
    runs.

    Args:
        function: a function, a method in its class, or a layer.
        symbolic: nothing is computed while the function is recorded, which must not read values;
            the program then runs.
        capture_as_const: what is no argument is a constant of the program, and watched.
        input_spec: an `InputSpec` for each tensor of the arguments.
        cache_size: how many programs are kept at most; the oldest go first.
        on_change: "record", or "error": a change of what was read is refused, with its line.
        opt_level: of the passes, as `static.CompiledProgram` has it.
        strict: Python runs in each call, and what it does is held against what was recorded.
        profiling: notes for each call what ran how long; see `get_profile`.
        recompute: gradients run the program once more, rather than keep what it computes.

    Returns:
        A `CompiledFunction`.

    Raises:
        TraceMismatchError: in a call: what was recorded does not fit, where it was asked to.

    Source:
        MegEngine 1.0, ``megengine.jit.trace``.

    Example:
        >>> import tensorlike as tl
        >>> scale = 2.0
        >>> @tl.jit.trace
        ... def scaled(x):
        ...     return x * scale if x.sum() > 0 else -x
        >>> scaled(tl.tensor([1.0])).item(), scaled(tl.tensor([-3.0])).item()
        (2.0, 3.0)
        >>> len(scaled.programs())
        2
    """
    if function is None:
        return lambda found: CompiledFunction(found, **options)
    return CompiledFunction(function, **options)

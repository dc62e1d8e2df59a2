"""Kernels and inference of declared ops that are functions of Python: ``module:function``.

A kernel takes NumPy arrays, read-only views of the inputs' memory, and the attributes by name; it
returns an array, or a tuple of them. Inference takes ShapeTensors instead, and returns such. The
core holds a kernel to what was inferred.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

from .. import _C

# From inputs and attributes to results.
Rule: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]


def find_function(op: str, path: str) -> Callable[..., Any]:
    """The function that ``module:function`` names; imports its module.

    Raises:
        ValueError: there is no such module or function.
    """
    module_name, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise _C.ArgumentError(
            f"there must be a function {path}; got: {error}", op=f"{op}"
        ) from error
    if not callable(found):
        raise _C.ArgumentError(f"{path} must be a function", op=f"{op}", got=type(found).__name__)
    return found  # type: ignore[no-any-return]


def kernel_rule(op: str, path: str) -> Rule:
    """The kernel that a function on arrays is."""
    function = find_function(op, path)

    def run(inputs: tuple[Any, ...], attributes: dict[str, Any]) -> tuple[Any, ...]:
        results = function(*(x.numpy() for x in inputs), **attributes)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(_C.RawTensor(result) for result in results)

    return run


def infer_rule(op: str, path: str) -> Rule:
    """The inference that a function on ShapeTensors is."""
    function = find_function(op, path)

    def run(inputs: tuple[Any, ...], attributes: dict[str, Any]) -> tuple[Any, ...]:
        results = function(*inputs, **attributes)
        results = results if isinstance(results, tuple) else (results,)
        for result in results:
            if not isinstance(result, _C.ShapeTensor):
                raise _C.ParameterError(
                    f"{path} must return ShapeTensors, as many as the op has outputs",
                    op=f"{op}",
                    got=type(result).__name__,
                    fix="return ShapeTensor(shape, dtype)",
                )
        return results

    return run

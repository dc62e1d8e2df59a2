"""NumPy's functions on tensors: ``np.add(x, array)`` and ``np.sum(x, axis=0)`` are ours, by name.

What is not listed here works on the elements as arrays, which a tensor that carries gradients
refuses to give: they are never dropped silently.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _C
from .calls import composed_call

# Where NumPy's name is not the Array API standard's.
_STANDARD_NAMES = {
    "true_divide": "divide",
    "power": "pow",
    "absolute": "abs",
    "fabs": "abs",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "conjugate": "conj",
    "radians": "deg2rad",
    "degrees": "rad2deg",
    "mod": "remainder",
}
# What folds with a universal function, over an axis and up to each element.
_REDUCE = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_ACCUMULATE = {
    "add": "cumulative_sum",
    "multiply": "cumulative_prod",
    "maximum": "cumulative_max",
    "minimum": "cumulative_min",
}


def apply_ufunc(ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """The call on tensor-likes; NotImplemented where there is no such op."""
    name = ufunc.__name__
    if method in ("reduce", "accumulate"):
        fold = (_REDUCE if method == "reduce" else _ACCUMULATE).get(name)
        given = {key: v for key, v in kwargs.items() if not _is_left_out(key, v, None)}
        given["axis"] = kwargs.get("axis", 0)
        known = ("axis", "keepdims") if method == "reduce" else ("axis",)
        if fold is None or len(inputs) != 1 or not set(given) <= {*known, "dtype"}:
            return NotImplemented
        return _C.Function(fold)(*inputs, **given)
    if method != "__call__" or kwargs:
        return NotImplemented
    if name == "float_power":
        return composed_call(name)(*inputs)
    if name == "divmod":
        return tuple(_C.Function(part)(*inputs) for part in ("floor_divide", "remainder"))
    if name == "modf":
        return tuple(_C.Function(part)(*inputs) for part in ("frac", "trunc"))
    name = _STANDARD_NAMES.get(name, name)
    if name not in _C.function_names():
        return NotImplemented
    return _C.Function(name)(*inputs)


# NumPy's functions and ours, which take the same arguments but for those that _ARGUMENTS lists.
_FUNCTIONS: Mapping[Any, str] = {
    np.all: "all",
    np.allclose: "allclose",
    np.amax: "max",
    np.amin: "min",
    np.any: "any",
    np.argmax: "argmax",
    np.argmin: "argmin",
    np.argsort: "argsort",
    np.argwhere: "argwhere",
    np.array_equal: "array_equal",
    np.broadcast_to: "broadcast_to",
    np.clip: "clip",
    np.concatenate: "concat",
    np.count_nonzero: "count_nonzero",
    np.cumprod: "cumulative_prod",
    np.cumsum: "cumulative_sum",
    np.diff: "diff",
    np.dot: "Tensor.dot",
    np.einsum: "einsum",
    np.expand_dims: "expand_dims",
    np.flip: "flip",
    np.full_like: "full_like",
    np.imag: "imag",
    np.isclose: "isclose",
    np.isin: "isin",
    np.isneginf: "isneginf",
    np.isposinf: "isposinf",
    np.isreal: "isreal",
    np.kron: "kron",
    np.linalg.cholesky: "linalg.cholesky",
    np.linalg.det: "linalg.det",
    np.linalg.inv: "linalg.inv",
    np.linalg.norm: "linalg.norm",
    np.linalg.pinv: "linalg.pinv",
    np.linalg.slogdet: "linalg.slogdet",
    np.linalg.solve: "linalg.solve",
    np.max: "max",
    np.mean: "mean",
    np.min: "min",
    np.moveaxis: "moveaxis",
    np.nan_to_num: "nan_to_num",
    np.nonzero: "nonzero",
    np.ones_like: "ones_like",
    np.prod: "prod",
    np.ravel: "Tensor.ravel",
    np.real: "real",
    np.repeat: "repeat",
    np.reshape: "reshape",
    np.roll: "roll",
    np.round: "round",
    np.searchsorted: "searchsorted",
    np.sinc: "sinc",
    np.sort: "sort",
    np.squeeze: "squeeze",
    np.stack: "stack",
    np.std: "std",
    np.sum: "sum",
    np.swapaxes: "Tensor.swapaxes",
    np.take: "take",
    np.take_along_axis: "take_along_axis",
    np.tensordot: "tensordot",
    np.tile: "tile",
    np.transpose: "Tensor.transpose",
    np.tril: "tril",
    np.triu: "triu",
    np.var: "var",
    np.where: "where",
    np.zeros_like: "zeros_like",
}
# By function, or by all of them: what NumPy calls an argument, and what it is called here.
_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "": {"ddof": "correction"},
    "clip": {"a_min": "min", "a_max": "max"},
}


def our_name(name: str) -> str | None:
    """What we call NumPy's function of this name; None where there is none, or no other one."""
    function = getattr(np, name, None)
    found = _FUNCTIONS.get(function) if callable(function) else None
    return _STANDARD_NAMES.get(name, found)


# What a tensor says of itself, without its elements.
_ATTRIBUTES: Mapping[Any, str] = {np.ndim: "ndim", np.shape: "shape", np.size: "size"}
# For an axis of None NumPy takes all elements in a row.
_FLATTENING = frozenset(["argsort", "cumulative_prod", "cumulative_sum", "sort"])


def apply_function(function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """The call of one of NumPy's functions with a tensor somewhere among its arguments."""
    if function in _ATTRIBUTES and len(args) == 1 and not kwargs:
        return getattr(args[0], _ATTRIBUTES[function])
    name = _FUNCTIONS.get(function)
    if name == "where" and len(args) == 1:
        name = "nonzero"
    given = None if name is None else _arguments(function, name, args, kwargs)
    if name is None or given is None:
        return function(*_as_arrays(args), **_as_arrays(kwargs))
    tensors, options = given
    if name.startswith("Tensor."):
        method = getattr(_as_tensor(tensors[0]), name.removeprefix("Tensor."))
        return method(*tensors[1:], *options.values())
    if name in _FLATTENING and options.get("axis", _default_axis(function)) is None:
        tensors[0] = _as_tensor(tensors[0]).reshape(-1)
        options["axis"] = 0
    return composed_call(name)(*tensors, **options)


def _arguments(
    function: Any, name: str, args: Any, kwargs: Any
) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments as our function takes them; None where it does not have them all.

    Defaults are left out: they are the same.
    """
    theirs, known = _signatures(function, name)
    try:
        bound = theirs.bind(*args, **kwargs).arguments
    except TypeError:
        return None
    renamed = {**_ARGUMENTS[""], **_ARGUMENTS.get(name, {})}
    tensors: list[Any] = []
    options: dict[str, Any] = {}
    for key, value in bound.items():
        parameter = theirs.parameters[key]
        if parameter.kind is parameter.VAR_POSITIONAL:
            tensors += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            options |= value
        elif parameter.default is parameter.empty:
            tensors.append(value)
        elif not _is_left_out(key, value, parameter.default):
            options[renamed.get(key, key)] = value
    return (tensors, options) if options.keys() <= known else None


@functools.cache
def _default_axis(function: Any) -> Any:
    return inspect.signature(function).parameters["axis"].default


@functools.cache
def _signatures(function: Any, name: str) -> tuple[inspect.Signature, frozenset[str]]:
    """NumPy's signature, and the names of our arguments."""
    theirs = inspect.signature(function)
    if name.startswith("Tensor."):
        return theirs, frozenset(["axes"])
    ours = composed_call(name)
    return theirs, frozenset(inspect.signature(getattr(ours, "__wrapped__", ours)).parameters)


def _is_left_out(key: str, value: Any, default: Any) -> bool:
    if value is default or value is np._NoValue or (key == "where" and value is True):
        return True
    return type(value) is type(default) and isinstance(value, int | str) and value == default


def _as_tensor(x: Any) -> Any:
    return x if isinstance(x, _C.TensorBase) else _C.tensor(x)


def _as_arrays(tree: Any) -> Any:
    """Lists, tuples and dicts with arrays in place of tensors."""
    if isinstance(tree, dict):
        return {key: _as_arrays(value) for key, value in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_as_arrays(item) for item in tree)
    return np.asarray(tree) if isinstance(tree, _C.TensorBase) else tree

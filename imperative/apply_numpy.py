"""NumPy's universal functions on tensors: ``np.add(x, array)`` is ours, by name."""

from __future__ import annotations

from typing import Any

from .. import _C

# Where NumPy's name is not the Array API standard's.
_STANDARD_NAMES = {
    "true_divide": "divide",
    "power": "pow",
    "float_power": "pow",
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
}


def apply_ufunc(ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """The call on tensor-likes; NotImplemented where there is no such op."""
    if method != "__call__" or kwargs:
        return NotImplemented
    name = _STANDARD_NAMES.get(ufunc.__name__, ufunc.__name__)
    if name not in _C.function_names():
        return NotImplemented
    return _C.Function(name)(*inputs)

"""Which functional calls are methods of Tensor, beside the entries that say `method: true`.

Data, which `emit_methods.py` reads: the composed calls of `functional`, which no entry declares,
and the names that NumPy and PyTorch give to methods of other names here.
"""

from __future__ import annotations

from collections.abc import Mapping

# Calls that are written in Python: a method finds them by name when it is called.
COMPOSED: tuple[str, ...] = (
    "allclose",
    "array_equal",
    "clip",
    "diff",
    "expand_dims",
    "flip",
    "float_power",
    "isclose",
    "isin",
    "isreal",
    "moveaxis",
    "nan_to_num",
    "nonzero",
    "repeat",
    "roll",
    "round",
    "squeeze",
    "take",
    "tensordot",
    "tril",
    "triu",
    "unstack",
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
)

# Names that methods have elsewhere: of declared calls, or of composed ones.
SYNONYMS: Mapping[str, str] = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arctan2": "atan2",
    "bmm": "matmul",
    "clamp": "clip",
    "clone": "to_device",
    "copy": "to_device",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "diagonal": "linalg.diagonal",
    "div": "divide",
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "mm": "matmul",
    "mul": "multiply",
    "mv": "matmul",
    "ne": "not_equal",
    "neg": "negative",
    "norm": "linalg.norm",
    "outer": "linalg.outer",
    "sub": "subtract",
    "trace": "linalg.trace",
    "true_divide": "divide",
    "unbind": "unstack",
    "unique": "unique_values",
    "unsqueeze": "expand_dims",
}

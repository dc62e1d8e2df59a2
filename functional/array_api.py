"""The Array API standard, 2025.12: its functions and constants, under its names.

`tensorlike` itself is the namespace and takes them from here; what the standard says about dtypes
is in `imperative.data_types`, its extensions are modules of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..imperative import (
    ParameterError,
    Tensor,
    TensorLike,
    as_dtype,
    data_types,
    default_device,
    devices,
)
from .algebra import (
    clip,
    diff,
    isin,
    matrix_transpose,
    tensordot,
)
from .arguments import named
from .arranging import (
    expand_dims,
    flip,
    moveaxis,
    roll,
    squeeze,
    tile,
    unstack,
)
from .creation import (
    asarray,
    empty,
    empty_like,
    eye,
    full_like,
    meshgrid,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from .generated import (
    abs,
    acos,
    acosh,
    add,
    all,
    any,
    arange,
    argmax,
    argmin,
    argsort,
    asin,
    asinh,
    astype,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    broadcast_to,
    ceil,
    conj,
    copysign,
    cos,
    cosh,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    full,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matmul,
    max,
    maximum,
    mean,
    min,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    permute_dims,
    positive,
    pow,
    prod,
    real,
    reciprocal,
    remainder,
    reshape,
    searchsorted,
    sign,
    signbit,
    sin,
    sinh,
    sort,
    sqrt,
    square,
    stack,
    std,
    subtract,
    sum,
    take_along_axis,
    tan,
    tanh,
    trunc,
    unique_values,
    var,
    vecdot,
    where,
)
from .generated import concat as _concat
from .picking import (
    nonzero,
    repeat,
    take,
    tril,
    triu,
)
from .rounding import round
from .sets import unique_all, unique_counts, unique_inverse
from .spacing import linspace
from .stacking import broadcast_arrays

e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi
__array_api_version__ = "2025.12"


class Info:
    """What the namespace can do: the standard's inspection interface.

    Source:
        Array API 2025.12, ``__array_namespace_info__``.

    Example:
        >>> import tensorlike as tl
        >>> tl.__array_namespace_info__().default_dtypes()["real floating"]
        tensorlike.float32
    """

    def capabilities(self) -> dict[str, Any]:
        """Masks and shapes that depend on values work; tensors have at most 32 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self) -> str:
        """The device of tensors that are made without naming one."""
        return default_device()

    def devices(self) -> tuple[str, ...]:
        """All devices."""
        return devices()

    def default_dtypes(self, *, device: str | None = None) -> dict[str, Any]:
        """The dtypes of Python's numbers, and of positions."""
        _check(device)
        names = {
            "real floating": "float32",
            "complex floating": "complex64",
            "integral": "int64",
            "indexing": "int64",
        }
        return {kind: as_dtype(name) for kind, name in names.items()}

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """The standard's dtypes of a kind, as `isdtype` names kinds, or all."""
        _check(device)
        return {
            dtype.name: dtype
            for dtype in data_types.DTYPES
            if dtype.name not in ("float16", "bfloat16")
            and (kind is None or data_types.isdtype(dtype, kind))
        }


@named
def concat(xs: Sequence[TensorLike], axis: int | None = 0) -> Tensor:
    """Tensors joined along an axis that they have.

    Args:
        xs: tensors, any dtype.
        axis: the axis to join along; None joins the elements of all, each in C order.

    Returns:
        One tensor, of one dimension where axis is None.

    Raises:
        ShapeError: there is no tensor, or their other dimensions differ.
        IndexRangeError: the axis is out of range.

    Source:
        Array API 2025.12, ``concat``.

    Example:
        >>> import tensorlike as tl
        >>> tl.concat([tl.tensor([1, 2]), tl.tensor([3])]).tolist()
        [1, 2, 3]
        >>> tl.concat([tl.tensor([[1, 2]]), tl.tensor([3])], axis=None).tolist()
        [1, 2, 3]
    """
    if axis is None:
        return _concat([reshape(x, (-1,)) for x in xs])
    return _concat(xs, axis)


def __array_namespace_info__() -> Info:
    """What the namespace can do."""
    return Info()


def _check(device: str | None) -> None:
    if device not in (None, *devices()):
        raise ParameterError(
            f"must be one of {', '.join(map(repr, devices()))}",
            op="__array_namespace_info__",
            argument="device",
            got=repr(device),
        )


__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "broadcast_arrays",
    "broadcast_to",
    "ceil",
    "clip",
    "concat",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "e",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "flip",
    "floor",
    "floor_divide",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "inf",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "prod",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "roll",
    "round",
    "searchsorted",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "trunc",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]

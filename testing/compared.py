"""Where the accuracy of low precision goes: each value has the one in float64 beside it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _C, ops
from .. import functional as F
from ..imperative import Tensor, apply
from ..imperative.carrier import Carrier, carried
from ..imperative.levels import unwrapped

_NARROW = (_C.float16, _C.bfloat16, _C.float32)


class ErrorRow(NamedTuple):
    """An op at a line: errors are the largest, of the largest exact element."""

    op: str
    line: str
    error: float  # of its results, as they are
    added: float  # of its results, where what it reads is exact


class ErrorReport:
    """How far the results of ops are off, by op and line of the user.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike.testing import Compared, ErrorReport
        >>> layers = tl.nn.Linear(4, 8, seed=0), tl.tanh, tl.nn.Linear(8, 1, seed=1)
        >>> report = ErrorReport()
        >>> y = tl.nn.Sequential(*layers)(tl.Tensor(Compared(tl.ones((2, 4)), report)))
        >>> [row.op for row in report.rows()]
        ['Linear', 'Elemwise', 'Linear']
        >>> report.rows()[0].added > 100 * report.rows()[1].added  # tanh is of float32
        True
    """

    def __init__(self) -> None:
        """No op has come yet."""
        self._rows: list[ErrorRow] = []

    def add(self, row: ErrorRow) -> None:
        """Notes what an op did."""
        self._rows.append(row)

    def rows(self) -> list[ErrorRow]:
        """In the order in which the ops came."""
        return list(self._rows)

    def table(self) -> str:
        """The rows, the one that adds most first."""
        rows = sorted(self.rows(), key=lambda row: -row.added)
        lines = [f"{row.added:10.2e}  {row.error:10.2e}  {row.op}  {row.line}" for row in rows]
        return "\n".join(["     added       error  op", *lines])


class Compared(Carrier):
    """A value that is computed with products of 8-bit integers, and beside it the exact one.

    Products with matrices are those that `static.quantize` replaces, rounded as its "dynamic" does;
    all else is computed in the dtype of the value. For each op the report gets the error of the
    result, and how much of it the op itself adds: its error where what it reads is exact.

    Args:
        value: a tensor-like of any kind, or data.
        report: gets the errors; None: they are dropped.

    Attributes:
        exact: what the value would be, were floats of float64 and products not rounded.
    """

    def __init__(self, value: Any, report: ErrorReport | None = None) -> None:
        """What is given is exact."""
        super().__init__(value)
        self.exact = _wide(self.value)
        self.report = report

    def lift(self, other: Any) -> Compared:
        """What stands beside it was given, not computed."""
        return Compared(other, self.report)


@apply.register
def apply_compared(op: ops.OpBase, *xs: Compared) -> tuple[Any, ...]:
    """Applies the op to the values and to the exact ones, and notes the difference."""
    report = next((x.report for x in xs if x.report is not None), None)
    found = _in_bytes(op, [x.value for x in xs])
    # The same numbers are drawn: those of another dtype would be others.
    is_drawn = _C.is_random(op)
    exact = [_wide(y) for y in (found if is_drawn else op(*[x.exact for x in xs]))]
    made = []
    for y, wanted in zip(found, exact, strict=True):
        one = Compared(y, report)
        one.exact = wanted
        made.append(one)
    if report is not None and xs and not is_drawn:
        given = [_narrow(x.exact, x.value) for x in xs]
        alone = _in_bytes(op, given)
        errors = [_relative(y, wanted) for y, wanted in zip(found, exact, strict=True)]
        added = [_relative(y, wanted) for y, wanted in zip(alone, exact, strict=True)]
        if errors and None not in errors:
            line = apply.line()
            sizes = [max(x for x in part if x is not None) for part in (errors, added)]
            report.add(ErrorRow(type(op).__name__, line, *sizes))
    return tuple(made)


def _wide(x: Any) -> Any:
    """The value in float64, where it is a float of fewer bits."""
    return unwrapped(F.astype(Tensor(x), _C.float64)) if x.dtype in _NARROW else x


def _narrow(exact: Any, value: Any) -> Any:
    """The exact value in the dtype of the other."""
    same = exact.dtype == value.dtype
    return exact if same else unwrapped(F.astype(Tensor(exact), value.dtype))


def _in_bytes(op: ops.OpBase, xs: list[Any]) -> tuple[Any, ...]:
    """What the op gives, where products with matrices, and windows, are of 8-bit integers."""
    is_windows = isinstance(op, ops.Convolution)
    is_product = isinstance(op, (ops.Linear, ops.MatMul)) and len(xs[1].shape) == 2
    if not (is_windows or is_product) or any(x.dtype != _C.float32 for x in xs):
        return op(*xs)
    axis = 0 if is_windows else 1
    columns = xs[1].shape[axis]
    bias = Tensor(xs[2]) if len(xs) == 3 else F.zeros(())
    fits = tuple(bias.shape) in ((), (1,), (columns,))
    if not fits or not xs[0].shape or 0 in xs[1].shape:
        return op(*xs)
    rows = F.reshape(F.moveaxis(Tensor(xs[1]), axis, 0), (columns, -1))
    found, scale = F.quantize_symmetric(rows, axis=-1)
    x, scale = Tensor(xs[0]), F.squeeze(scale, -1)
    if is_windows:
        how = {name: getattr(op, name) for name in ("stride", "padding", "dilation", "groups")}
        steps = F.reshape(found, xs[1].shape)
        return (unwrapped(F.dynamic_quantized_convolution(x, steps, scale, bias, **how)),)
    activation = getattr(op, "activation", "positive")
    steps = F.matrix_transpose(found)
    return (unwrapped(F.dynamic_quantized_linear(x, steps, scale, bias, activation)),)


def _relative(found: Any, exact: Any) -> float | None:
    """The largest error, of the largest exact element; None: nobody knows the elements yet."""
    pair = [carried(x) for x in (found, exact)]
    if not all(isinstance(x, _C.RawTensor) for x in pair):
        return None
    a, b = (np.asarray(Tensor(x)) for x in pair)
    if a.dtype.kind not in "fc":
        return float(np.any(a != b))
    is_finite = np.isfinite(a) & np.isfinite(b)
    size = float(np.abs(b[is_finite]).max(initial=0))
    return float(np.abs(a[is_finite] - b[is_finite]).max(initial=0)) / (size or 1.0)

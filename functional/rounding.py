"""Declared calls with an option that their kernels do not need: without it the kernel is called."""

from __future__ import annotations

from ..imperative import Tensor, TensorLike, extended, isdtype
from . import generated
from .arguments import integer, number
from .arranging import as_tensor

__all__ = ["round", "softplus"]


@extended
def round(x: TensorLike, decimals: int = 0) -> Tensor:
    """The nearest integer; halves go to the even one. Of complex numbers, both parts are rounded.

    Args:
        x: any shape, numeric (booleans are promoted to int64).
        decimals: how many decimals to keep; negative ones round to tens, hundreds and so on.

    Returns:
        The shape of x, the dtype of x.

    Raises:
        ParameterError: decimals is no integer.

    Source:
        Array API 2025.12, ``round``; decimals as in NumPy, ``numpy.round``.

    Example:
        >>> import tensorlike as tl
        >>> tl.round(tl.tensor([0.5, 2.0])).tolist()
        [0.0, 2.0]
        >>> tl.round(tl.tensor([118, 125]), decimals=-1).tolist()
        [120, 120]
    """
    places = integer("round", "decimals", decimals)
    if not places:
        return generated.round(x)
    x = as_tensor(x)
    if isdtype(x.dtype, ("bool", "integral")):
        return generated.positive(x) if places > 0 else _round_integers(x, -places)
    is_real = isdtype(x.dtype, "real floating")
    wide = generated.astype(x, dtype="float64" if is_real else "complex128")
    if abs(places) > 300:
        return generated.positive(x) if places > 0 else x * 0
    scale = 10.0 ** abs(places)
    if places < 0:
        return generated.astype(generated.round(wide / scale) * scale, dtype=x.dtype)
    scaled = wide * scale
    # What overflows has no decimals.
    is_large = generated.isinf(scaled) | ~generated.isfinite(wide)
    kept = generated.where(is_large, 0, scaled)
    found = generated.where(is_large, wide, generated.round(kept) / scale)
    return generated.astype(found, dtype=x.dtype)


def _round_integers(x: Tensor, places: int) -> Tensor:
    """To tens, hundreds and so on; halves to the even one."""
    bits = 8 * x.dtype.itemsize
    if places >= bits or 10**places >= 2**bits:  # the power of a large number takes for ever
        return x * 0
    wide = generated.astype(x, dtype="uint64" if x.dtype.name == "uint64" else "int64")
    unit = 10**places
    whole, rest = wide // unit, wide % unit
    is_up = (rest > unit // 2) | ((rest == unit // 2) & (whole % 2 == 1))
    return generated.astype(
        (whole + generated.astype(is_up, dtype=wide.dtype)) * unit, dtype=x.dtype
    )


@extended
def softplus(x: TensorLike, beta: TensorLike = 1.0, threshold: float | None = None) -> Tensor:
    """A smooth relu, log(1 + exp(beta x)) / beta, which does not overflow.

    Args:
        x: any shape, real floating-point.
        beta: any shape that broadcasts with x: how sharply it bends.
        threshold: where beta x is above it, the result is x itself; None makes no difference
            between numbers, for none overflows.

    Returns:
        The broadcast shape, the promoted dtype.

    Raises:
        ShapeError: the shapes do not broadcast.
        ParameterError: the threshold is no number.

    Source:
        PyTorch, ``torch.nn.functional.softplus``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.softplus(tl.tensor([2.0]), threshold=1.0).tolist()
        [2.0]
    """
    if threshold is None:
        return generated.softplus(x, beta)
    limit = number("softplus", "threshold", threshold)
    x = as_tensor(x)
    return generated.where(x * beta > limit, x, generated.softplus(x, beta))

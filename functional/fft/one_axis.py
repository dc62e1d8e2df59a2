"""Fourier transforms along one axis."""

from __future__ import annotations

from ...imperative import Tensor, TensorLike
from ..arguments import named
from .transform import transform

__all__ = [
    "fft",
    "hfft",
    "ifft",
    "ihfft",
    "irfft",
    "rfft",
]


@named
def fft(
    x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
) -> Tensor:
    """The discrete Fourier transform along an axis.

    Args:
        x: floating-point; real numbers count as complex.
        n: how many elements to transform, cut or padded with zeros; None takes all.
        axis: the axis to transform.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: the size is not positive.
        ParameterError: norm is none of the three.

    Source:
        Array API 2025.12, ``fft.fft``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.fft(tl.tensor([1.0, 1.0, 0.0, 0.0])).tolist()
        [(2+0j), (1-1j), 0j, (1+1j)]
    """
    return transform("fft", x, [n], [axis], norm, kind="c2c", is_inverse=False)


@named
def ifft(
    x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
) -> Tensor:
    """The inverse of `fft`.

    Args:
        x: floating-point; real numbers count as complex.
        n: how many elements to transform, cut or padded with zeros; None takes all.
        axis: the axis to transform.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: the size is not positive.
        ParameterError: norm is none of the three.

    Source:
        Array API 2025.12, ``fft.ifft``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.ifft(tl.tensor([4.0, 0.0, 0.0, 0.0])).tolist()
        [(1+0j), (1+0j), (1+0j), (1+0j)]
    """
    return transform("ifft", x, [n], [axis], norm, kind="c2c", is_inverse=True)


@named
def rfft(
    x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
) -> Tensor:
    """The first half of the Fourier transform of real numbers, which says all of it.

    Args:
        x: real floating-point.
        n: how many elements to transform, cut or padded with zeros; None takes all.
        axis: the axis to transform.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: the size is not positive.
        ParameterError: norm is none of the three.
        DTypeError: x is complex.

    Source:
        Array API 2025.12, ``fft.rfft``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.rfft(tl.tensor([1.0, 2.0, 3.0, 4.0])).tolist()
        [(10+0j), (-2+2j), (-2+0j)]
    """
    return transform("rfft", x, [n], [axis], norm, kind="r2c", is_inverse=False)


@named
def irfft(
    x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
) -> Tensor:
    """The inverse of `rfft`: real numbers.

    Args:
        x: the first half of a spectrum, n // 2 + 1 elements along the axis.
        n: the size of the result along the axis; None is 2 (m - 1) for m elements.
        axis: the axis to transform.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: the size is not positive.
        ParameterError: norm is none of the three.

    Source:
        Array API 2025.12, ``fft.irfft``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.irfft(tl.tensor([10.0, -2.0, -2.0])).tolist()
        [1.0, 3.0, 3.0, 3.0]
    """
    return transform("irfft", x, [n], [axis], norm, kind="c2r", is_inverse=True)


@named
def hfft(
    x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
) -> Tensor:
    """The Fourier transform, real, of a signal that is its own conjugate read backwards.

    Args:
        x: the first half of the signal, n // 2 + 1 elements along the axis.
        n: the size of the result along the axis; None is 2 (m - 1) for m elements.
        axis: the axis to transform.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: the size is not positive.
        ParameterError: norm is none of the three.

    Source:
        Array API 2025.12, ``fft.hfft``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.hfft(tl.tensor([1.0, 2.0, 3.0])).tolist()
        [8.0, -2.0, 0.0, -2.0]
    """
    return transform("hfft", x, [n], [axis], norm, kind="c2r", is_inverse=False)


@named
def ihfft(
    x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
) -> Tensor:
    """The inverse of `hfft`: the first half of the signal.

    Args:
        x: real floating-point.
        n: how many elements to transform, cut or padded with zeros; None takes all.
        axis: the axis to transform.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: the axis is out of range.
        ShapeError: the size is not positive.
        ParameterError: norm is none of the three.
        DTypeError: x is complex.

    Source:
        Array API 2025.12, ``fft.ihfft``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.ihfft(tl.tensor([8.0, -2.0, 0.0, -2.0])).tolist()
        [(1-0j), (2-0j), (3-0j)]
    """
    return transform("ihfft", x, [n], [axis], norm, kind="r2c", is_inverse=True)

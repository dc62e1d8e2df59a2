"""Fourier transforms along several axes."""

from __future__ import annotations

from collections.abc import Sequence

from ...imperative import Tensor, TensorLike
from ..arguments import named
from .transform import kept, transform

__all__ = [
    "fftn",
    "hfftn",
    "ifftn",
    "ihfftn",
    "irfftn",
    "rfftn",
]


@named
def fftn(
    x: TensorLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The discrete Fourier transform along several axes.

    Args:
        x: floating-point; real numbers count as complex.
        s: how many elements to transform along each axis; -1 takes all.
        axes: the axes to transform; None means all, or the last ones that s has sizes for.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: a size is not positive, an axis is named twice, or s does not fit the axes.
        ParameterError: norm is none of the three.

    Source:
        Array API 2025.12, ``fft.fftn``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.fftn(tl.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[(10+0j), (-2+0j)], [(-4+0j), 0j]]
    """
    return transform("fftn", x, kept(s), axes, norm, kind="c2c", is_inverse=False)


@named
def ifftn(
    x: TensorLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The inverse of `fftn`.

    Args:
        x: floating-point; real numbers count as complex.
        s: how many elements to transform along each axis; -1 takes all.
        axes: the axes to transform; None means all, or the last ones that s has sizes for.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: a size is not positive, an axis is named twice, or s does not fit the axes.
        ParameterError: norm is none of the three.

    Source:
        Array API 2025.12, ``fft.ifftn``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.ifftn(tl.tensor([[4.0, 0.0], [0.0, 0.0]])).tolist()
        [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return transform("ifftn", x, kept(s), axes, norm, kind="c2c", is_inverse=True)


@named
def rfftn(
    x: TensorLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The transform of real numbers along several axes, the last of which comes out in half.

    Args:
        x: real floating-point.
        s: how many elements to transform along each axis; -1 takes all.
        axes: the axes to transform; None means all, or the last ones that s has sizes for.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: a size is not positive, an axis is named twice, or s does not fit the axes.
        ParameterError: norm is none of the three.
        DTypeError: x is complex.

    Source:
        Array API 2025.12, ``fft.rfftn``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.rfftn(tl.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[(10+0j), (-2+0j)], [(-4+0j), 0j]]
    """
    return transform("rfftn", x, kept(s), axes, norm, kind="r2c", is_inverse=False)


@named
def irfftn(
    x: TensorLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The inverse of `rfftn`: real numbers.

    Args:
        x: a spectrum of which the last axis is there in half.
        s: the sizes of the result along the axes; the last is by default 2 (m - 1) for m elements.
        axes: the axes to transform; None means all, or the last ones that s has sizes for.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: a size is not positive, an axis is named twice, or s does not fit the axes.
        ParameterError: norm is none of the three.

    Source:
        Array API 2025.12, ``fft.irfftn``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.irfftn(tl.tensor([[4.0, 0.0], [0.0, 0.0]])).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    return transform("irfftn", x, kept(s), axes, norm, kind="c2r", is_inverse=True)


@named
def hfftn(
    x: TensorLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The transform of signals of which one half is given, as `hfft`, along several axes.

    Args:
        x: floating-point: the first half of a signal with Hermitian symmetry.
        s: how many elements the result has along each axis; -1 takes all.
        axes: the axes to transform; None means all, or the last ones that s has sizes for.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: a size is not positive, an axis is named twice, or s does not fit the axes.
        ParameterError: norm is none of the three.

    Source:
        PyTorch, ``torch.fft.hfftn``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.hfftn(tl.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[10.0, -2.0], [-4.0, 0.0]]
    """
    return transform("hfftn", x, kept(s), axes, norm, kind="c2r", is_inverse=False)


@named
def ihfftn(
    x: TensorLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The inverse of `hfftn`: the first half of the signal.

    Args:
        x: real floating-point.
        s: how many elements to transform along each axis; -1 takes all.
        axes: the axes to transform; None means all, or the last ones that s has sizes for.
        norm: which direction divides by the size: 'backward' (the inverse), 'forward', or 'ortho',
            both by its square root.

    Raises:
        IndexRangeError: an axis is out of range.
        ShapeError: a size is not positive, an axis is named twice, or s does not fit the axes.
        ParameterError: norm is none of the three.

    Source:
        PyTorch, ``torch.fft.ihfftn``.

    Example:
        >>> import tensorlike as tl
        >>> tl.fft.ihfftn(tl.tensor([[4.0, 0.0], [0.0, 0.0]])).tolist()
        [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return transform("ihfftn", x, kept(s), axes, norm, kind="r2c", is_inverse=True)

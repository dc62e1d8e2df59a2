"""Packed: of sequences of different lengths what is there, without the padding."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from .. import ops
from ..imperative import Carrier, ShapeError, Tensor, TensorLike, apply

# They treat all places alike, and say by axes from the end what belongs to one.
_ROW_BY_ROW = (ops.Linear, ops.LayerNorm, ops.RMSNorm)


class Packed(Carrier):
    """Rows of a tensor at some places of its first two axes; `pack` makes it.

    Elementwise ops, linear maps and norms are applied to the rows that are there; other ops, such
    as attention, to the whole, whose other rows are 0.
    """

    def __init__(self, value: Any, places: Any = None, lead: tuple[Any, ...] = ()) -> None:
        """Holds rows, where they stand among the two axes joined, and these; or a whole."""
        super().__init__(value)
        self.places, self.lead = places, lead

    def lift(self, other: Any) -> Packed:
        """A whole."""
        return Packed(other)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Of the whole."""
        return (*self.lead, *self.value.shape[self.places is not None :])

    @property
    def elements(self) -> Any:
        """Of the whole."""
        return self.whole()

    def whole(self) -> Any:
        """All rows; those that are not there are 0."""
        if self.places is None:
            return self.value
        rows = (self.lead[0] * self.lead[1], *self.shape[2:])
        zeros = F.zeros(rows, dtype=self.dtype).__wrapped__
        (whole,) = ops.ScatterSet(axes=(0,))(zeros, self.value, self.places)
        return ops.Reshape(shape=self.shape)(whole)[0]

    def beside(self, like: Packed) -> Any:
        """What broadcasts to the rows of another one as this does to the whole of that."""
        if self.places is like.places and self.ndim == like.ndim:
            return self.value
        if self.ndim <= like.ndim - 2:
            return self.whole()
        row = self.shape[self.ndim - like.ndim + 2 :]
        return _rows_of(F.broadcast_to(Tensor(self.whole()), (*like.lead, *row)), like.places)


def _rows_of(whole: Tensor, places: Any) -> Any:
    """The rows at places of the first two axes, joined."""
    joined = F.reshape(whole, (whole.shape[0] * whole.shape[1], *whole.shape[2:]))
    return ops.Gather(axes=(0,))(joined.__wrapped__, places)[0]


def _is_by_rows(op: ops.OpBase, xs: tuple[Packed, ...], like: Packed) -> bool:
    """Whether the op gives for each place what it gives for this place alone."""
    if isinstance(op, ops.Elemwise):
        return all(
            x.ndim <= like.ndim and (x.places is None or x.places is like.places) for x in xs
        )
    is_known = isinstance(op, _ROW_BY_ROW) and like is xs[0] and like.ndim > 2
    axes = getattr(op, "axes", ())
    return (
        is_known
        and all(2 - like.ndim <= axis < 0 for axis in axes)
        and all(x.places is None for x in xs[1:])
    )


@apply.register
def _apply_packed(op: ops.OpBase, *xs: Packed) -> Any:
    like = next((x for x in xs if x.places is not None), None)
    if like is None or not _is_by_rows(op, xs, like):
        return [Packed(y) for y in op(*(x.whole() for x in xs))]
    if isinstance(op, ops.Elemwise):
        found = op(*(x.beside(like) for x in xs))
    else:
        found = op(like.value, *(x.value for x in xs[1:]))
    return [Packed(y, like.places, like.lead) for y in found]


def pack(x: TensorLike, mask: TensorLike) -> Tensor:
    """A tensor of which only some rows are calculated with: those that are no padding.

    Layers and functional calls take it as they take x, and gradients go through it. Attention and
    whatever else looks at several places sees the whole, with 0 in the places of padding, so give
    it the mask, too.

    Args:
        x: (sequences, length, ...).
        mask: (sequences, length), booleans: which rows are there.

    Returns:
        A tensor of x's shape.

    Raises:
        ShapeError: the mask's shape is not that of the first two axes.

    Source:
        PyTorch's nested tensors, which its encoder packs padded batches into.

    Example:
        >>> import tensorlike as tl
        >>> mask = tl.tensor([[True, True, False], [True, False, False]])
        >>> x = tl.nn.pack(tl.ones((2, 3, 4)), mask)
        >>> y = tl.nn.Linear(4, 8, seed=0)(x)  # of three rows
        >>> y.shape
        (2, 3, 8)
        >>> tl.nn.unpack(y * 0 + 1)[1, :, 0].tolist()
        [1.0, 0.0, 0.0]
    """
    given, mask = Tensor(x), Tensor(mask)
    lead = given.shape[:2]
    if len(mask.shape) != 2 or len(lead) != 2 or tuple(mask.shape) != tuple(lead):
        raise ShapeError(
            "must be (sequences, length) of x",
            op="pack",
            argument="mask",
            got=f"mask.shape={tuple(mask.shape)} and x.shape={tuple(given.shape)}",
        )
    places = F.argwhere(F.reshape(mask, (lead[0] * lead[1],)))[:, 0].__wrapped__
    return Tensor(Packed(_rows_of(given, places), places, tuple(lead)))


def unpack(x: TensorLike) -> Tensor:
    """The whole of a packed tensor, 0 where nothing is; another tensor as it is.

    Args:
        x: what `pack` gave, or what was made of it.

    Returns:
        A tensor of x's shape and dtype.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.nn.pack(tl.tensor([[1.0, 2.0]]), tl.tensor([[True, False]]))
        >>> tl.nn.unpack(x + 5).tolist()
        [[6.0, 0.0]]
    """
    x = Tensor(x)
    inner = x.__wrapped__
    if isinstance(inner, Packed):
        return Tensor(inner.whole())
    return F.reshape(x, x.shape)  # of what a transform goes around: an op that sees the whole

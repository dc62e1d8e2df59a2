"""MultiHeadAttention: attention in several heads between four linear maps."""

from __future__ import annotations

from .. import functional as F
from ..imperative import ArgumentError, Tensor, TensorLike
from .layer import Layer
from .linear import Linear
from .param_attr import ParamAttr


class MultiHeadAttention(Layer):
    """Lets each position of x look at those of a context, in several heads at once.

    Args:
        width: the size of the last dimension of x, of the context and of the result.
        heads: how many heads share the width.
        bias: whether the linear maps have biases.
        seed: the seed of the initial weights; None takes one from `manual_seed`'s stream.
        weight_attr: what the weights start from instead, and whether they are learnt.
        bias_attr: the same of the biases.

    Attributes:
        query: the `Linear` from x to the queries.
        key: the one from the context to the keys.
        value: the one from the context to the values.
        out: the one from all heads to the result.

    Raises:
        ValueError: the heads do not divide the width.

    Source:
        Vaswani et al. 2017, https://arxiv.org/abs/1706.03762.

    Example:
        >>> import tensorlike as tl
        >>> layer = tl.nn.MultiHeadAttention(4, 2)
        >>> layer(tl.tensor([[[1.0, 2.0, 3.0, 4.0]]]), is_causal=True).shape
        (1, 1, 4)
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        bias: bool = True,
        seed: int | None = None,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the linear maps."""
        if heads < 1 or width < 1 or width % heads != 0:
            raise ArgumentError(
                "must divide width",
                op="MultiHeadAttention",
                argument="heads",
                got=f"width={width}, heads={heads}",
            )
        self.heads = heads
        seeds = [None] * 4 if seed is None else [seed * 4 + i for i in range(4)]
        self.query = Linear(width, width, bias=bias, seed=seeds[0])
        self.key = Linear(width, width, bias=bias, seed=seeds[1])
        self.value = Linear(width, width, bias=bias, seed=seeds[2])
        self.out = Linear(width, width, bias=bias, seed=seeds[3])
        self._start_from(weight=weight_attr, bias=bias_attr)

    def forward(
        self,
        x: TensorLike,
        context: TensorLike | None = None,
        *,
        mask: TensorLike | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Attends.

        Args:
            x: (..., length, width).
            context: (..., another length, width); x itself where None.
            mask: broadcasts to (..., heads, length of x, length of context): booleans say which
                positions are seen, numbers are added to the scores.
            is_causal: whether position i sees positions up to i only.

        Returns:
            A tensor of x's shape.
        """
        seen = x if context is None else context
        query = self._split(self.query(x))
        key = self._split(self.key(seen))
        value = self._split(self.value(seen))
        heads = F.attention(query, key, value, mask, is_causal=is_causal)
        return self.out.forward(self._join(heads))

    def _split(self, x: Tensor) -> Tensor:
        """(..., length, width) to (..., heads, length, width of a head)."""
        parts = F.reshape(x, (*x.shape[:-1], self.heads, x.shape[-1] // self.heads))
        return F.permute_dims(parts, _swapped(len(parts.shape)))

    def _join(self, x: Tensor) -> Tensor:
        """The way back."""
        parts = F.permute_dims(x, _swapped(len(x.shape)))
        return F.reshape(parts, (*parts.shape[:-2], parts.shape[-2] * parts.shape[-1]))


def _swapped(dimensions: int) -> tuple[int, ...]:
    """The axes with the third and the second from the end swapped."""
    return (*range(dimensions - 3), dimensions - 2, dimensions - 3, dimensions - 1)

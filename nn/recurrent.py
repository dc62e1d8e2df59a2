"""LSTM, GRU and RNN: layers that go through a sequence.

What they share is in `Recurrent`: several layers, two directions, the order of the axes.
"""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..imperative import ArgumentError, Tensor, TensorLike
from .param_attr import ParamAttr
from .recurrence import GRUSteps, LSTMSteps, Recurrence, RNNSteps, State, checked_state
from .seeds import generator_of

MOST_LAYERS = 1 << 12  # so that a wrong number is told before thousands of parameters are made


class Recurrent(Recurrence):
    """What recurrent layers share.

    Attributes:
        weight_ih_l0, weight_hh_l0: (gates * hidden_size, input size), (gates * hidden_size,
            hidden_size): PyTorch's names, shapes and order of gates, `_l1` and so on for further
            layers, `_reverse` at the end for the way back.
        bias_ih_l0, bias_hh_l0: (gates * hidden_size,), where there are biases.

    Raises:
        ValueError: a size is not positive, or there are more than 4096 layers.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        bias: bool = True,
        batch_first: bool = False,
        bidirectional: bool = False,
        seed: int | None = None,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters, uniform in +-1 / sqrt(hidden_size)."""
        name = type(self).__name__
        if min(input_size, hidden_size, num_layers) < 1:
            raise ArgumentError(
                "must be positive",
                op=name,
                argument="sizes",
                got=f"input_size={input_size}, hidden_size={hidden_size}, num_layers={num_layers}",
            )
        if num_layers > MOST_LAYERS:
            raise ArgumentError(
                f"must be at most {MOST_LAYERS}",
                op=name,
                argument="num_layers",
                got=f"num_layers={num_layers}",
            )
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_first = batch_first
        self.suffixes = ["", "_reverse"] if bidirectional else [""]
        generator = generator_of(seed)
        for layer in range(num_layers):
            columns = input_size if layer == 0 else hidden_size * len(self.suffixes)
            for suffix in self.suffixes:
                self.make_weights(f"_l{layer}{suffix}", columns, hidden_size, bias, generator)
        self._start_from(weight=weight_attr, bias=bias_attr)

    def run(self, x: TensorLike, start: State | None) -> tuple[Tensor, State]:
        """The hidden states of all steps, and the last states of all layers and directions."""
        start = self._check(x, start)
        if self.batch_first:
            x = F.permute_dims(x, axes=(1, 0, 2))
        lasts: list[State] = []
        for layer in range(self.num_layers):
            ways = []
            for suffix in self.suffixes:
                state = self._start(x, start, len(lasts))
                end, reverse = f"_l{layer}{suffix}", bool(suffix)
                hidden, last = self.run_one_way(x, state, end, reverse)
                ways.append(hidden)
                lasts.append(last)
            x = ways[0] if len(ways) == 1 else F.concat(ways, axis=-1)
        y = F.permute_dims(x, axes=(1, 0, 2)) if self.batch_first else x
        return y, tuple(F.stack(parts) for parts in zip(*lasts, strict=True))

    def _start(self, x: TensorLike, start: State | None, index: int) -> State:
        if start is None:
            zeros = F.full((x.shape[1], self.hidden_size), 0.0, dtype=x.dtype, device=x.device)
            return (zeros,) * self.states
        return tuple(part[index] for part in start)

    def _check(self, x: TensorLike, start: State | None) -> State | None:
        """The state that a call begins with, if it goes with x."""
        name = type(self).__name__
        shape = tuple(x.shape)
        axes = ("batch", "length") if self.batch_first else ("length", "batch")
        if len(shape) != 3 or shape[2] != self.input_size or shape[axes.index("length")] == 0:
            raise ArgumentError(
                f"must be ({', '.join(axes)}, input_size) with length > 0 and input_size "
                f"{self.input_size}",
                op=name,
                argument="x",
                got=f"x.shape={shape}",
            )
        count = self.num_layers * len(self.suffixes)
        wanted = (count, shape[axes.index("batch")], self.hidden_size)
        if start is None:
            return None
        must = f"must be (layers * directions, batch, hidden_size), here {wanted}"
        return checked_state(name, start, self.states, wanted, must)


class LSTM(LSTMSteps, Recurrent):
    """Long short-term memory over sequences.

    Args:
        input_size: the size of x's last dimension.
        hidden_size: the size of the states' last dimension.
        num_layers: how many layers, each on the hidden states of the one before.
        bias: whether there are biases.
        batch_first: whether x is (batch, length, input_size), not (length, batch, input_size).
        bidirectional: whether a second half goes back from the end.
        seed: the seed of the initial weights; None takes one from `manual_seed`'s stream.
        weight_attr: what the weights start from instead, and whether they are learnt.
        bias_attr: the same of the biases.

    Source:
        Hochreiter and Schmidhuber 1997, https://www.bioinf.jku.at/publications/older/2604.pdf.

    Example:
        >>> import tensorlike as tl
        >>> y, (hidden, cell) = tl.nn.LSTM(3, 2)(tl.tensor([[[1.0, 2.0, 3.0]]] * 4))
        >>> y.shape, hidden.shape, cell.shape
        ((4, 1, 2), (1, 1, 2), (1, 1, 2))
    """

    def forward(
        self, x: TensorLike, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The hidden states of all steps, and the last hidden and cell states of each layer."""
        y, (hidden, cell) = self.run(x, state)
        return y, (hidden, cell)


class GRU(GRUSteps, Recurrent):
    """Gated recurrent units over sequences; the arguments are those of `LSTM`.

    Source:
        Cho et al. 2014, https://arxiv.org/abs/1406.1078, in the variant whose reset gate acts
        after the product.

    Example:
        >>> import tensorlike as tl
        >>> y, hidden = tl.nn.GRU(3, 2)(tl.tensor([[[1.0, 2.0, 3.0]]] * 4))
        >>> y.shape, hidden.shape
        ((4, 1, 2), (1, 1, 2))
    """

    def forward(self, x: TensorLike, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The hidden states of all steps, and the last hidden state of each layer."""
        y, (hidden,) = self.run(x, None if state is None else (state,))
        return y, hidden


class RNN(RNNSteps, Recurrent):
    """A plain recurrent network over sequences: ``tanh(x @ w_ih.T + h @ w_hh.T + biases)``.

    Args:
        input_size: the size of x's last dimension.
        hidden_size: the size of the state's last dimension.
        num_layers: how many layers, each on the hidden states of the one before.
        nonlinearity: "tanh" or "relu".
        options: `bias`, `batch_first`, `bidirectional` and `seed`, as for `LSTM`.

    Raises:
        ValueError: a size is not positive, or the nonlinearity is another word.

    Source:
        Elman 1990, https://doi.org/10.1207/s15516709cog1402_1.

    Example:
        >>> import tensorlike as tl
        >>> y, hidden = tl.nn.RNN(3, 2)(tl.tensor([[[1.0, 2.0, 3.0]]] * 4))
        >>> y.shape, hidden.shape
        ((4, 1, 2), (1, 1, 2))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        **options: Any,
    ) -> None:
        """Makes the parameters, uniform in +-1 / sqrt(hidden_size)."""
        self.choose(nonlinearity)
        super().__init__(input_size, hidden_size, num_layers, **options)

    def forward(self, x: TensorLike, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The hidden states of all steps, and the last hidden state of each layer."""
        y, (hidden,) = self.run(x, None if state is None else (state,))
        return y, hidden

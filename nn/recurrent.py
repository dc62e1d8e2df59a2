"""LSTM and GRU: layers that go through a sequence.

What both share is in `Recurrent`: the parameters, several layers, two directions, the order of the
axes. A layer's inputs meet their weights in one product for the whole sequence. The recurrence of
an LSTM is then one op, declared in opdecl/recurrent.yaml; each step of a GRU is one product with
the hidden state and one fused cell, declared in opdecl/elementwise_nn.yaml.
"""

from __future__ import annotations

import numpy as np

from .. import functional as F
from ..imperative import Parameter, Tensor, TensorLike
from .layer import Layer

# What a step carries on: the hidden state first, each of shape (batch, hidden_size).
State = tuple[Tensor, ...]


class Recurrent(Layer):
    """What recurrent layers share; a kind of cell says how many gates it has and what a step is.

    Attributes:
        weight_ih_l0, weight_hh_l0: (gates * hidden_size, input size), (gates * hidden_size,
            hidden_size): PyTorch's names, shapes and order of gates, `_l1` and so on for further
            layers, `_reverse` at the end for the way back.
        bias_ih_l0, bias_hh_l0: (gates * hidden_size,), where there are biases.

    Raises:
        ValueError: a size is not positive.
    """

    gates: int  # how many products of hidden_size a step needs
    states: int  # how many tensors a step carries on
    # Whether the hidden state's bias may join the inputs', which are summed for all steps at once.
    adds_biases_at_once: bool

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
    ) -> None:
        """Makes the parameters, uniform in +-1 / sqrt(hidden_size)."""
        name = type(self).__name__
        if min(input_size, hidden_size, num_layers) < 1:
            raise ValueError(
                f"{name}: sizes must be positive; got input_size={input_size}, "
                f"hidden_size={hidden_size}, num_layers={num_layers}"
            )
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.suffixes = ["", "_reverse"] if bidirectional else [""]
        generator = np.random.default_rng(seed)
        bound = 1 / np.sqrt(hidden_size)

        def draw(*shape: int) -> Parameter:
            return Parameter(generator.uniform(-bound, bound, shape).astype(np.float32))

        rows = self.gates * hidden_size
        for layer in range(num_layers):
            columns = input_size if layer == 0 else hidden_size * len(self.suffixes)
            for suffix in self.suffixes:
                end = f"l{layer}{suffix}"
                setattr(self, f"weight_ih_{end}", draw(rows, columns))
                setattr(self, f"weight_hh_{end}", draw(rows, hidden_size))
                if bias:
                    setattr(self, f"bias_ih_{end}", draw(rows))
                    setattr(self, f"bias_hh_{end}", draw(rows))

    def run(self, x: TensorLike, start: State | None) -> tuple[Tensor, State]:
        """The hidden states of all steps, and the last states of all layers and directions."""
        self._check(x, start)
        if self.batch_first:
            x = F.permute_dims(x, axes=(1, 0, 2))
        lasts: list[State] = []
        for layer in range(self.num_layers):
            ways = []
            for suffix in self.suffixes:
                state = self._start(x, start, len(lasts))
                hidden, last = self._run_one_way(x, state, f"l{layer}{suffix}")
                ways.append(hidden)
                lasts.append(last)
            x = ways[0] if len(ways) == 1 else F.concat(ways, axis=-1)
        y = F.permute_dims(x, axes=(1, 0, 2)) if self.batch_first else x
        return y, tuple(F.stack(parts) for parts in zip(*lasts, strict=True))

    def go_through(
        self, sums: Tensor, weight: TensorLike, bias: TensorLike | None, state: State, reverse: bool
    ) -> tuple[Tensor, State]:
        """The hidden states of all steps of one layer and direction, and the last state.

        Args:
            sums: the inputs' products and their bias, (length, batch, gates * hidden_size).
            weight: for the hidden state, (gates * hidden_size, hidden_size).
            bias: what is added to the hidden state's products, where that is not in the sums.
            state: the state before the first step.
            reverse: whether that is the last of the sequence.
        """
        raise TypeError(f"{type(self).__name__}: a recurrent layer must define go_through()")

    def _run_one_way(self, x: TensorLike, state: State, end: str) -> tuple[Tensor, State]:
        weight = F.permute_dims(getattr(self, f"weight_ih_{end}"), axes=(1, 0))
        own_bias = None
        if self.bias:
            bias, own_bias = getattr(self, f"bias_ih_{end}"), getattr(self, f"bias_hh_{end}")
            if self.adds_biases_at_once:
                bias, own_bias = F.add(bias, own_bias), None
            sums = F.linear(x, weight, bias)
        else:
            sums = F.matmul(x, weight)
        own_weight = getattr(self, f"weight_hh_{end}")
        return self.go_through(sums, own_weight, own_bias, state, end.endswith("_reverse"))

    def _start(self, x: TensorLike, start: State | None, index: int) -> State:
        if start is None:
            zeros = F.full((x.shape[1], self.hidden_size), 0.0, dtype=x.dtype)
            return (zeros,) * self.states
        return tuple(part[index] for part in start)

    def _check(self, x: TensorLike, start: State | None) -> None:
        name = type(self).__name__
        shape = tuple(x.shape)
        axes = ("batch", "length") if self.batch_first else ("length", "batch")
        if len(shape) != 3 or shape[2] != self.input_size or shape[axes.index("length")] == 0:
            raise ValueError(
                f"{name}: x must be ({', '.join(axes)}, input_size) with length > 0 and "
                f"input_size {self.input_size}; got x.shape={shape}"
            )
        count = self.num_layers * len(self.suffixes)
        wanted = (count, shape[axes.index("batch")], self.hidden_size)
        if start is not None and any(tuple(part.shape) != wanted for part in start):
            raise ValueError(
                f"{name}: states must be (layers * directions, batch, hidden_size), here "
                f"{wanted}; got {', '.join(str(tuple(part.shape)) for part in start)}"
            )


class LSTM(Recurrent):
    """Long short-term memory over sequences.

    Args:
        input_size: the size of x's last dimension.
        hidden_size: the size of the states' last dimension.
        num_layers: how many layers, each on the hidden states of the one before.
        bias: whether there are biases.
        batch_first: whether x is (batch, length, input_size), not (length, batch, input_size).
        bidirectional: whether a second half goes back from the end.
        seed: the seed of the initial weights; None takes a fresh one.

    Source:
        Hochreiter and Schmidhuber 1997, https://www.bioinf.jku.at/publications/older/2604.pdf.

    Example:
        >>> import tensorlike as tl
        >>> y, (hidden, cell) = tl.nn.LSTM(3, 2)(tl.tensor([[[1.0, 2.0, 3.0]]] * 4))
        >>> y.shape, hidden.shape, cell.shape
        ((4, 1, 2), (1, 1, 2), (1, 1, 2))
    """

    gates = 4
    states = 2
    adds_biases_at_once = True

    def forward(
        self, x: TensorLike, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The hidden states of all steps, and the last hidden and cell states of each layer."""
        y, (hidden, cell) = self.run(x, state)
        return y, (hidden, cell)

    def go_through(
        self, sums: Tensor, weight: TensorLike, bias: TensorLike | None, state: State, reverse: bool
    ) -> tuple[Tensor, State]:
        """One op for the whole sequence."""
        hidden, cell, _ = F.lstm(sums, weight, state[0], state[1], reverse=reverse)
        last = 0 if reverse else -1
        return hidden, (hidden[last], cell[last])


class GRU(Recurrent):
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

    gates = 3
    states = 1
    adds_biases_at_once = False

    def forward(self, x: TensorLike, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The hidden states of all steps, and the last hidden state of each layer."""
        y, (hidden,) = self.run(x, None if state is None else (state,))
        return y, hidden

    def go_through(
        self, sums: Tensor, weight: TensorLike, bias: TensorLike | None, state: State, reverse: bool
    ) -> tuple[Tensor, State]:
        """Each step is a product and one fused cell."""
        length = sums.shape[0]
        weight = F.permute_dims(weight, axes=(1, 0))
        order = range(length - 1, -1, -1) if reverse else range(length)
        hidden: dict[int, Tensor] = {}
        parts = F.unstack(sums)
        for time in order:
            recurrent = F.matmul(state[0], weight)
            if bias is not None:
                recurrent = F.add(recurrent, bias)
            state = self.step(parts[time], recurrent, state)
            hidden[time] = state[0]
        return F.stack([hidden[time] for time in range(length)]), state

    def step(self, sums: Tensor, recurrent: Tensor, state: State) -> State:
        """The state after one; the gate of resets needs the state's part of the candidate apart."""
        sizes = (2 * self.hidden_size, self.hidden_size)
        gates, candidate = F.split(sums, sizes=sizes, axis=1)
        own_gates, own = F.split(recurrent, sizes=sizes, axis=1)
        reset, keep = F.split(F.add(gates, own_gates), sizes=(self.hidden_size,) * 2, axis=1)
        return (F.gru_cell(reset, keep, candidate, own, state[0]),)

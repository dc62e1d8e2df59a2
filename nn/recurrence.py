"""How an LSTM, a GRU and a plain network go through a sequence: what layers and cells share.

A kind of recurrence says how many gates it has and what its steps are. The inputs meet their
weights in one product for the whole sequence.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from .. import functional as F
from ..imperative import ArgumentError, Parameter, ParameterError, Tensor, TensorLike
from .layer import Layer

# What a step carries on: the hidden state first, each of shape (batch, hidden_size).
State = tuple[Tensor, ...]


def checked_state(name: str, given: Any, count: int, shape: tuple[int, ...], must: str) -> State:
    """A state that a call was given: so many tensors of this shape.

    Raises:
        ArgumentError: it is something else.
    """
    try:
        parts = tuple(islice(given, count + 1))
    except TypeError:
        parts = ()
    if len(parts) == count and all(tuple(getattr(x, "shape", ())) == shape for x in parts):
        return parts
    shapes = [
        str(tuple(x.shape)) if hasattr(x, "shape") else f"a {type(x).__name__}" for x in parts
    ]
    got = ", ".join(shapes) if parts else f"a {type(given).__name__}"
    raise ArgumentError(must, op=name, argument="states", got=got)


class Recurrence(Layer):
    """What says how a kind of layer and its cell go through a sequence."""

    gates: int  # how many products of hidden_size a step needs
    states: int  # how many tensors a step carries on
    # Whether the hidden state's bias may join the inputs', which are summed for all steps at once.
    adds_biases_at_once = True

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
        raise ParameterError("a recurrence must define go_through()", op=type(self).__name__)

    def make_weights(
        self, end: str, columns: int, size: int, bias: bool, generator: np.random.Generator
    ) -> None:
        """Makes the parameters of one layer and direction, uniform in +-1 / sqrt(size)."""
        bound = 1 / np.sqrt(size)
        rows = self.gates * size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns)}
        shapes["weight_hh"] = (rows, size)
        if bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            value = generator.uniform(-bound, bound, shape).astype(np.float32)
            setattr(self, name + end, Parameter(value))

    def run_one_way(
        self, x: TensorLike, state: State, end: str, reverse: bool
    ) -> tuple[Tensor, State]:
        """x (length, batch, columns) through the layer and direction whose names end so."""
        weight = F.permute_dims(getattr(self, f"weight_ih{end}"), axes=(1, 0))
        bias = getattr(self, f"bias_ih{end}", None)
        own_bias = getattr(self, f"bias_hh{end}", None)
        if bias is None:
            sums = F.matmul(x, weight)
        else:
            if self.adds_biases_at_once:
                bias, own_bias = F.add(bias, own_bias), None
            sums = F.linear(x, weight, bias)
        own_weight = getattr(self, f"weight_hh{end}")
        return self.go_through(sums, own_weight, own_bias, state, reverse)


class LSTMSteps(Recurrence):
    """A long short-term memory: hidden and cell state."""

    gates = 4
    states = 2

    def go_through(
        self, sums: Tensor, weight: TensorLike, bias: TensorLike | None, state: State, reverse: bool
    ) -> tuple[Tensor, State]:
        """One op for the whole sequence."""
        hidden, cell, _ = F.lstm(sums, weight, state[0], state[1], reverse=reverse)
        last = 0 if reverse else -1
        return hidden, (hidden[last], cell[last])


class GRUSteps(Recurrence):
    """A gated recurrent unit, whose reset gate acts after the product."""

    gates = 3
    states = 1
    adds_biases_at_once = False

    def go_through(
        self, sums: Tensor, weight: TensorLike, bias: TensorLike | None, state: State, reverse: bool
    ) -> tuple[Tensor, State]:
        """One op for the whole sequence."""
        hidden = F.gru(sums, weight, state[0], bias, reverse=reverse)
        return hidden, (hidden[0 if reverse else -1],)


class RNNSteps(Recurrence):
    """A plain recurrent network."""

    gates = 1
    states = 1

    def choose(self, nonlinearity: str) -> None:
        """Keeps the function after the product."""
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(
                "must be 'tanh' or 'relu'",
                op=type(self).__name__,
                argument="nonlinearity",
                got=repr(nonlinearity),
            )
        self.nonlinearity = nonlinearity

    def go_through(
        self, sums: Tensor, weight: TensorLike, bias: TensorLike | None, state: State, reverse: bool
    ) -> tuple[Tensor, State]:
        """One op for the whole sequence."""
        activation = self.nonlinearity
        hidden = F.rnn(sums, weight, state[0], activation=activation, reverse=reverse)
        return hidden, (hidden[0 if reverse else -1],)

"""LSTMCell, GRUCell and RNNCell: one step of a recurrence, for loops of one's own."""

from __future__ import annotations

from .. import functional as F
from ..imperative import ArgumentError, Tensor, TensorLike
from .param_attr import ParamAttr
from .recurrence import GRUSteps, LSTMSteps, Recurrence, RNNSteps, State, checked_state
from .seeds import generator_of


class Cell(Recurrence):
    """What cells share.

    Attributes:
        weight_ih, weight_hh: (gates * hidden_size, input_size), (gates * hidden_size,
            hidden_size): PyTorch's names, shapes and order of gates.
        bias_ih, bias_hh: (gates * hidden_size,), where there are biases.

    Raises:
        ValueError: a size is not positive; later, x or the state has another shape.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        bias: bool = True,
        seed: int | None = None,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters, uniform in +-1 / sqrt(hidden_size)."""
        if min(input_size, hidden_size) < 1:
            raise ArgumentError(
                "must be positive",
                op=type(self).__name__,
                argument="sizes",
                got=f"input_size={input_size}, hidden_size={hidden_size}",
            )
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.make_weights("", input_size, hidden_size, bias, generator_of(seed))
        self._start_from(weight=weight_attr, bias=bias_attr)

    def step(self, x: TensorLike, state: State | None) -> State:
        """The state after a step with x (batch, input_size); None begins with zeros."""
        shape = tuple(x.shape)
        if len(shape) != 2 or shape[1] != self.input_size:
            raise ArgumentError(
                f"must be (batch, {self.input_size})",
                op=type(self).__name__,
                argument="x",
                got=f"x.shape={shape}",
            )
        wanted = (shape[0], self.hidden_size)
        if state is None:
            state = (F.full(wanted, 0.0, dtype=x.dtype, device=x.device),) * self.states
        must = f"must have the shape {wanted}, each of {self.states}"
        state = checked_state(type(self).__name__, state, self.states, wanted, must)
        return self.run_one_way(F.expand_dims(x, 0), state, "", False)[1]


class LSTMCell(LSTMSteps, Cell):
    """A step of an `LSTM`.

    Args:
        input_size: the size of x's last dimension.
        hidden_size: the size of the states' last dimension.
        bias: whether there are biases.
        seed: the seed of the initial weights; None takes one from `manual_seed`'s stream.
        weight_attr: what the weights start from instead, and whether they are learnt.
        bias_attr: the same of the biases.

    Source:
        Hochreiter and Schmidhuber 1997, https://www.bioinf.jku.at/publications/older/2604.pdf.

    Example:
        >>> import tensorlike as tl
        >>> hidden, cell = tl.nn.LSTMCell(3, 2)(tl.tensor([[1.0, 2.0, 3.0]]))
        >>> hidden.shape, cell.shape
        ((1, 2), (1, 2))
    """

    def forward(
        self, x: TensorLike, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The hidden and the cell state after the step."""
        hidden, cell = self.step(x, state)
        return hidden, cell


class GRUCell(GRUSteps, Cell):
    """A step of a `GRU`; the arguments are those of `LSTMCell`.

    Source:
        Cho et al. 2014, https://arxiv.org/abs/1406.1078.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.GRUCell(3, 2)(tl.tensor([[1.0, 2.0, 3.0]])).shape
        (1, 2)
    """

    def forward(self, x: TensorLike, state: Tensor | None = None) -> Tensor:
        """The hidden state after the step."""
        return self.step(x, None if state is None else (state,))[0]


class RNNCell(RNNSteps, Cell):
    """A step of an `RNN`.

    Args:
        input_size: the size of x's last dimension.
        hidden_size: the size of the state's last dimension.
        bias: whether there are biases.
        nonlinearity: "tanh" or "relu".
        seed: the seed of the initial weights; None takes one from `manual_seed`'s stream.
        weight_attr: what the weights start from instead, and whether they are learnt.
        bias_attr: the same of the biases.

    Raises:
        ValueError: a size is not positive, or the nonlinearity is another word.

    Source:
        Elman 1990, https://doi.org/10.1207/s15516709cog1402_1.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.RNNCell(3, 2)(tl.tensor([[1.0, 2.0, 3.0]])).shape
        (1, 2)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        bias: bool = True,
        nonlinearity: str = "tanh",
        seed: int | None = None,
        weight_attr: ParamAttr | None = None,
        bias_attr: ParamAttr | None = None,
    ) -> None:
        """Makes the parameters, uniform in +-1 / sqrt(hidden_size)."""
        self.choose(nonlinearity)
        super().__init__(
            input_size,
            hidden_size,
            bias=bias,
            seed=seed,
            weight_attr=weight_attr,
            bias_attr=bias_attr,
        )

    def forward(self, x: TensorLike, state: Tensor | None = None) -> Tensor:
        """The hidden state after the step."""
        return self.step(x, None if state is None else (state,))[0]

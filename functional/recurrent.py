"""Recurrences over a sequence, each of them one op: `recurrent.yaml` says what they share.

What the inputs add to each step comes in as sums, which one product makes for the whole sequence,
and the weight stands for what the hidden state adds.
"""

from __future__ import annotations

from typing import Any, Literal

from ..imperative import ParameterError, ShapeError, Tensor, TensorLike
from .arguments import named
from .arranging import as_tensor
from .creation import zeros
from .generated import linear, permute_dims, recurrence

__all__ = ["gru", "lstm", "rnn", "rnn_cell"]


def _check_activation(call: str, activation: str) -> None:
    if activation not in ("tanh", "relu"):
        raise ParameterError(
            "must be 'tanh' or 'relu'.",
            op=call,
            argument="activation",
            got=f"activation={activation!r}",
        )


@named
def rnn_cell(
    sums: TensorLike, weight: TensorLike, hidden: TensorLike, *, activation: str = "tanh"
) -> Tensor:
    """A step of a plain recurrent network: ``activation(sums + hidden @ weight.T)``.

    Args:
        sums: (batch, size), what the inputs add, with all biases.
        weight: (size, size), for the hidden state.
        hidden: (batch, size), the state before the step.
        activation: "tanh" or "relu".

    Returns:
        The state after the step, (batch, size).

    Raises:
        ShapeError: the shapes do not fit.
        ParameterError: the activation is another word.

    Source:
        Elman 1990, https://doi.org/10.1207/s15516709cog1402_1.

    Example:
        >>> import tensorlike as tl
        >>> sums, weight, hidden = tl.tensor([[0.5]]), tl.tensor([[2.0]]), tl.tensor([[1.0]])
        >>> tl.functional.rnn_cell(sums, weight, hidden, activation="relu").tolist()
        [[2.5]]
    """
    sums, weight, hidden = as_tensor(sums), as_tensor(weight), as_tensor(hidden)
    _check_activation("rnn_cell", activation)
    fits = len(sums.shape) == 2 and tuple(hidden.shape) == tuple(sums.shape)
    if not fits or tuple(weight.shape) != (sums.shape[1], sums.shape[1]):
        raise ShapeError(
            "must be (batch, size), weight (size, size) and hidden (batch, size).",
            op="rnn_cell",
            argument="sums",
            got=(
                f"sums.shape={sums.shape}, weight.shape={weight.shape}, hidden.shape={hidden.shape}"
            ),
        )
    return linear(hidden, permute_dims(weight, axes=(1, 0)), sums, activation=activation)


@named
def rnn(
    sums: TensorLike,
    weight: TensorLike,
    hidden: TensorLike,
    *,
    activation: str = "tanh",
    reverse: bool = False,
) -> Tensor:
    """All steps of a plain recurrent network, each an `rnn_cell`.

    Args:
        sums: (length, batch, size), what the inputs add to each step, with all biases.
        weight: (size, size), for the hidden state.
        hidden: (batch, size), the state before the first step.
        activation: "tanh" or "relu".
        reverse: go from the last step to the first.

    Returns:
        The states after each step, (length, batch, size).

    Raises:
        ShapeError: the shapes do not fit.
        ParameterError: the activation is another word.

    Source:
        Elman 1990, https://doi.org/10.1207/s15516709cog1402_1.

    Example:
        >>> import tensorlike as tl
        >>> sums, weight = tl.tensor([[[0.5]], [[1.0]]]), tl.tensor([[2.0]])
        >>> tl.functional.rnn(sums, weight, tl.ones((1, 1)), activation="relu").tolist()
        [[[2.5]], [[6.0]]]
    """
    _check_activation("rnn", activation)
    cell: Literal["tanh", "relu"] = "relu" if activation == "relu" else "tanh"
    states: Any = recurrence(sums, weight, hidden, cell=cell, reverse=reverse)
    return states  # one result is not in a tuple


@named
def gru(
    sums: TensorLike,
    weight: TensorLike,
    hidden: TensorLike,
    bias: TensorLike | None = None,
    *,
    reverse: bool = False,
) -> Tensor:
    """All steps of a gated recurrent unit, each a product and a `gru_cell`.

    Args:
        sums: (length, batch, 3 * size), what the inputs add to each step, with their bias: to the
            reset gates, the update gates and the candidates.
        weight: (3 * size, size), for the hidden state.
        hidden: (batch, size), the state before the first step.
        bias: (3 * size,), the hidden state's own, which the reset gate acts on; None is 0.
        reverse: go from the last step to the first.

    Returns:
        The states after each step, (length, batch, size).

    Raises:
        ShapeError: the shapes do not fit.

    Source:
        Cho et al. 2014, https://arxiv.org/abs/1406.1078, in the variant whose reset gate acts
        after the product.

    Example:
        >>> import tensorlike as tl
        >>> sums, weight = tl.tensor([[[0.0, 0.0, 0.0]]]), tl.zeros((3, 1))
        >>> tl.functional.gru(sums, weight, tl.tensor([[1.0]])).tolist()
        [[[0.5]]]
    """
    weight = as_tensor(weight)
    own = zeros(tuple(weight.shape[:1]), dtype=weight.dtype) if bias is None else bias
    return recurrence(sums, weight, hidden, own, cell="gru", reverse=reverse)[0]


@named
def lstm(
    sums: TensorLike,
    weight: TensorLike,
    hidden: TensorLike,
    cell: TensorLike,
    *,
    reverse: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """All steps of a long short-term memory, each a product and an `lstm_cell`.

    Args:
        sums: (length, batch, 4 * size), what the inputs add to each step, with all biases: to the
            input gates, the forget gates, the candidates and the output gates.
        weight: (4 * size, size), for the hidden state.
        hidden: (batch, size), the hidden state before the first step.
        cell: (batch, size), the cell state before the first step.
        reverse: go from the last step to the first.

    Returns:
        The hidden states after each step, (length, batch, size), the cell states, and the sums
        that the gates are functions of, (length, batch, 4 * size).

    Raises:
        ShapeError: the shapes do not fit.

    Source:
        Hochreiter and Schmidhuber 1997, https://www.bioinf.jku.at/publications/older/2604.pdf.

    Example:
        >>> import tensorlike as tl
        >>> sums, weight = tl.tensor([[[0.0, 0.0, 0.0, 0.0]]]), tl.zeros((4, 1))
        >>> states, cells, _ = tl.functional.lstm(sums, weight, tl.zeros((1, 1)), tl.ones((1, 1)))
        >>> cells.tolist()
        [[[0.5]]]
    """
    states, cells, gates = recurrence(sums, weight, hidden, cell, cell="lstm", reverse=reverse)
    return states, cells, gates

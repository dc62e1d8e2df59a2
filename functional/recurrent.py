"""Recurrences over a sequence, step by step; that of an LSTM is an op, in `recurrent.yaml`.

As there, what the inputs add to each step comes in as sums, which one product makes for the whole
sequence, and the weight stands for what the hidden state adds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..imperative import ParameterError, ShapeError, Tensor, TensorLike
from .arguments import named
from .arranging import as_tensor, unstack
from .generated import gru_cell, linear, matmul, permute_dims, split, stack

__all__ = ["gru", "rnn", "rnn_cell"]


def _check_step(call: str, sums: Any, weight: Any, hidden: Any, gates: int, lead: int) -> None:
    """That sums end with (batch, gates * size), behind `lead` dimensions, and the rest fits."""
    fits = len(sums.shape) == lead + 2 and len(weight.shape) == 2 and len(hidden.shape) == 2
    if fits:
        size = hidden.shape[1]
        fits = tuple(sums.shape[lead:]) == (hidden.shape[0], gates * size)
        fits = fits and tuple(weight.shape) == (gates * size, size)
    if not fits:
        rows = "size" if gates == 1 else f"{gates} * size"
        raise ShapeError(
            f"{call}: sums must be ({'length, ' * lead}batch, {rows}), weight ({rows}, size) and "
            f"hidden (batch, size); got sums.shape={sums.shape}, weight.shape={weight.shape}, "
            f"hidden.shape={hidden.shape}."
        )


def _over_steps(
    call: str, sums: Any, hidden: Any, reverse: bool, step: Callable[[Any, Any], Any]
) -> Tensor:
    """The hidden states that `step` gives, from the sums of each step and the state before it."""
    if not sums.shape[0]:
        raise ShapeError(f"{call}: there must be a step; got sums.shape={sums.shape}.")
    parts = unstack(sums)
    states = []
    for part in reversed(parts) if reverse else parts:
        hidden = step(part, hidden)
        states.append(hidden)
    return stack(states[::-1] if reverse else states)


def _check_activation(call: str, activation: str) -> None:
    if activation not in ("tanh", "relu"):
        raise ParameterError(
            f"{call}: activation must be 'tanh' or 'relu'; got activation={activation!r}."
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
    _check_step("rnn_cell", sums, weight, hidden, 1, 0)
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
        ShapeError: the shapes do not fit, or there is no step.
        ParameterError: the activation is another word.

    Source:
        Elman 1990, https://doi.org/10.1207/s15516709cog1402_1.

    Example:
        >>> import tensorlike as tl
        >>> sums, weight, hidden = tl.tensor([[[0.5]], [[1.0]]]), [[2.0]], [[1.0]]
        >>> tl.functional.rnn(sums, weight, hidden, activation="relu").tolist()
        [[[2.5]], [[6.0]]]
    """
    sums, weight, hidden = as_tensor(sums), as_tensor(weight), as_tensor(hidden)
    _check_activation("rnn", activation)
    _check_step("rnn", sums, weight, hidden, 1, 1)
    turned = permute_dims(weight, axes=(1, 0))

    def step(part: Any, state: Any) -> Any:
        return linear(state, turned, part, activation=activation)

    return _over_steps("rnn", sums, hidden, reverse, step)


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
        ShapeError: the shapes do not fit, or there is no step.

    Source:
        Cho et al. 2014, https://arxiv.org/abs/1406.1078, in the variant whose reset gate acts
        after the product.

    Example:
        >>> import tensorlike as tl
        >>> sums, weight = tl.tensor([[[0.0, 0.0, 0.0]]]), tl.zeros((3, 1))
        >>> tl.functional.gru(sums, weight, tl.tensor([[1.0]])).tolist()
        [[[0.5]]]
    """
    sums, weight, hidden = as_tensor(sums), as_tensor(weight), as_tensor(hidden)
    _check_step("gru", sums, weight, hidden, 3, 1)
    if bias is not None and tuple(as_tensor(bias).shape) != (weight.shape[0],):
        raise ShapeError(
            f"gru: bias must have the shape {(weight.shape[0],)}; "
            f"got bias.shape={as_tensor(bias).shape}."
        )
    size = hidden.shape[1]
    turned = permute_dims(weight, axes=(1, 0))

    def step(part: Any, state: Any) -> Any:
        own = matmul(state, turned) if bias is None else linear(state, turned, bias)
        gates, candidate = split(part, sizes=(2 * size, size), axis=1)
        own_gates, own_candidate = split(own, sizes=(2 * size, size), axis=1)
        reset, update = split(gates + own_gates, sizes=(size, size), axis=1)
        return gru_cell(reset, update, candidate, own_candidate, state)

    return _over_steps("gru", sums, hidden, reverse, step)

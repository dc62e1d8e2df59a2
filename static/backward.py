"""Gradients of a program, as ops of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .. import _C
from ..imperative import Tensor
from ..imperative.autograd import grad
from ..imperative.levels import stopped, unwrapped
from ..imperative.naming import named
from .copied import Backward
from .numbers import number_in
from .program import Program, Variable


@named
def append_backward(
    loss: Tensor,
    parameter_list: Sequence[Any] | None = None,
    no_grad_set: Iterable[Any] | None = None,
) -> list[tuple[Tensor, Tensor]]:
    """Adds the ops that compute the gradients of a loss, and only those that it needs.

    Args:
        loss: of one element.
        parameter_list: by which it is differentiated, tensors or names; None: all parameters.
        no_grad_set: tensors or names by which it is not.

    Returns:
        Each parameter on which the loss depends, and its gradient, which is called after it:
        ``parameter_0@GRAD``.

    Raises:
        ArgumentError: the loss is no variable of a program, a name is unknown, or a parameter was
            set to an array, which each run would begin with again.
        AutodiffError: the loss depends on no parameter.

    Source:
        Paddle, ``fluid.backward.append_backward``.
    """
    program = program_of(loss, "append_backward")
    skipped = {_state_of(program, x, "no_grad_set") for x in no_grad_set or ()}
    wanted = None
    if parameter_list is not None:
        wanted = {_state_of(program, x, "parameter_list") for x in parameter_list}
    numbers = [
        number
        for number, tensor in program.tensors.items()
        if tensor.requires_grad and number not in skipped and (wanted is None or number in wanted)
    ]
    parameters = [program.tensors[number] for number in numbers]
    for number, parameter in zip(numbers, parameters, strict=True):
        if not isinstance(stopped(unwrapped(parameter)), Variable):
            raise _C.ArgumentError(
                "must stand for a variable, or no run would learn from the one before",
                op="append_backward", argument=program.names(number), got="an array",
                fix="give it its first value by load_state_dict, or by an initializer",
            )  # fmt: skip
    before = _C.count_variables(program)
    found = grad(loss, parameters, allow_unused=True, retain_graph=True)
    backward = _added(program, stopped(unwrapped(loss)).number, before)
    program.backwards.append(backward)
    pairs = []
    for number, parameter, gradient in zip(numbers, parameters, found, strict=True):
        if gradient is None:
            continue
        value = stopped(unwrapped(gradient))
        program.rename_result(value.number, f"{program.names(number)}@GRAD")
        backward.gradients[number] = value.number
        pairs.append((parameter, gradient))
    if not pairs:
        raise _C.AutodiffError(
            "the loss must depend on a parameter", op="append_backward",
            got=f"{len(numbers)} parameters, of which it depends on none",
        )  # fmt: skip
    return pairs


def _state_of(program: Program, x: Any, argument: str) -> int:
    """The number of a state, given by its tensor, whatever that stands for by now, or by name."""
    for number, tensor in program.tensors.items():
        if tensor is x:
            return number
    found = number_in(program, x, "append_backward", argument)
    if found not in program.tensors:
        raise _C.ArgumentError(
            "must be parameters of the program", op="append_backward", argument=argument,
            got=program.names(found), fix="tl.autograd.grad differentiates by other tensors",
        )  # fmt: skip
    return found


def _added(program: Program, loss: int, before: int) -> Backward:
    """What has been added since there were so many variables."""
    made = set(range(before, _C.count_variables(program)))
    # Its first step makes the loss's own gradient.
    first = next((step for step in program.applied() if before in step.outputs), None)
    is_seed = first is not None and first.inputs == (loss,) and type(first.op).__name__ == "Const"
    return Backward(loss, before if is_seed else -1, {}, made)


def program_of(x: Any, who: str) -> Program:
    """The program of a variable, or of a tensor around one.

    Raises:
        ArgumentError: it is none.
    """
    value = stopped(unwrapped(x)) if isinstance(x, _C.TensorBase) else x
    if isinstance(value, Variable):
        return value.listing
    raise _C.ArgumentError(
        "must be a variable of a program", op=who, argument="loss", got=f"a {type(value).__name__}"
    )

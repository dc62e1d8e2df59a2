"""A program as an op: called like a function, on tensor-likes of any kind."""

from __future__ import annotations

from typing import Any

from .. import _C
from ..imperative import Listing, Tensor
from ..imperative.levels import unwrapped
from ..imperative.naming import named
from ..imperative.sub_programs import Call
from ..imperative.trees import flatten, holds_elements, unflatten
from .executor import Scope, global_scope
from .numbers import number_in
from .program import Program


class ProgramOp:
    """What `program_op` makes.

    Attributes:
        op: the op, which is applied to the inputs and then the states.
        inputs: the names of the inputs.
        states: the names of the states, which calls may give by these names.
    """

    def __init__(self, program: Listing, results: Any, scope: Scope | None) -> None:
        """Of the variables `results`, as the program is by now."""
        found, self._treedef = flatten(results, _is_variable, is_result=True)
        if not found:
            raise _C.ArgumentError(
                "there must be variables to give", op="program_op", argument="results",
                got=repr(results), fix="name some, or pass them",
            )  # fmt: skip
        names = [name for name, _, _ in program.variables()]
        roles = [role for _, role, _ in program.variables()]
        inputs = [number for number, role in enumerate(roles) if role == "input"]
        self._states = [number for number, role in enumerate(roles) if role == "state"]
        self.inputs = tuple(names[number] for number in inputs)
        self.states = tuple(names[number] for number in self._states)
        kept = _C.assigned_states(program)
        numbers = [number_in(program, x, "program_op", "results") for x in found]
        self.op = Call(
            program, [*inputs, *self._states], [kept.get(number, number) for number in numbers]
        )
        self._scope = scope
        self._is_quick = not self._states and not isinstance(results, (tuple, list, dict))
        self._run = self.op.stretch.call

    def __call__(self, *inputs: Any, **states: Any) -> Any:
        """The results for these inputs, arranged as `results` were."""
        if len(inputs) != len(self.inputs):
            raise _C.ArgumentError(
                f"takes one value for each of its inputs, {', '.join(self.inputs) or 'none'}",
                op="program_op", got=str(len(inputs)),
            )  # fmt: skip
        if self._is_quick and not states:
            found = self._run(*inputs)
            if found is not NotImplemented:
                return found
        given = [unwrapped(x) for x in inputs]
        if self._states:
            given += self._values_of_states(states)
        elif states:
            self._refuse(states)
        return unflatten(self._treedef, [Tensor(y) for y in self.op(*given)])

    def _values_of_states(self, states: dict[str, Any]) -> list[Any]:
        if not states.keys() <= set(self.states):
            self._refuse(states)
        scope = global_scope() if self._scope is None else self._scope
        values = []
        for name in self.states:
            value = unwrapped(states[name]) if name in states else scope.find(name)
            if value is None:
                raise _C.ArgumentError(
                    "must have a value in the scope, or be given", op="program_op", argument=name,
                    got="none", fix=f"run the startup program first, or pass {name}=",
                )  # fmt: skip
            values.append(value)
        return values

    def _refuse(self, states: dict[str, Any]) -> None:
        others = [name for name in states if name not in self.states]
        raise _C.ArgumentError(
            f"takes by name the states of the program, {', '.join(self.states) or 'none'}",
            op="program_op", got=", ".join(others),
        )  # fmt: skip

    def __repr__(self) -> str:
        """What it takes."""
        return f"ProgramOp({', '.join((*self.inputs, *self.states))})"


@named
def program_op(program: Listing, results: Any, scope: Scope | None = None) -> ProgramOp:
    """A program as a function of its inputs: an op in eager code, in transforms, in programs.

    It changes nothing: what a state becomes in a run is one of the results that may be asked for.
    Gradients flow to inputs, and to states that a call gives by their names. On a tape, and in
    another program, it is one op, whose gradient is a part of a program, too; forward mode, `vmap`
    and carriers go through its ops.

    Args:
        program: a `Program`, or a `Listing`.
        results: the variables that calls return, or their names; one, or a tree of them. A state
            is as it is after the run.
        scope: where states are found that a call does not give; None: the global one.

    Returns:
        A function of a value for each input, and of states by their names.

    Raises:
        ArgumentError: there are no results, or one is no variable of the program; in a call: the
            values are not as many as the inputs, or a state has no value.
        ShapeError: in a call: a value has another shape.
        DTypeError: in a call: a value has another dtype.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program()) as main:
        ...     y = tl.functional.sum(static.data("x", (None,)) ** 2)
        >>> squares = static.program_op(main, y)
        >>> squares(tl.tensor([1.0, 2.0])).item(), tl.grad(squares)(tl.tensor([1.0, 2.0])).tolist()
        (5.0, [2.0, 4.0])
    """
    if not isinstance(program, (Program, Listing)):
        raise _C.ParameterError(
            "must be a Program", op="program_op", argument="program", got=type(program).__name__
        )
    return ProgramOp(program, results, scope)


def _is_variable(x: Any) -> bool:
    return isinstance(x, (_C.TensorBase, str)) or holds_elements(x)

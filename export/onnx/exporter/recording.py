"""Recorded: what is exported, as a program with names for what it takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from .... import _C
from ....imperative.levels import stopped, unwrapped
from ....imperative.symbolic import Listing, SymbolicTensor
from ....imperative.tensor import Tensor
from ....imperative.trees import leaves_of
from ....nn import Layer, functional_call
from ....static import global_scope
from ....static.numbers import number_in


@dataclass
class Recorded:
    """A program, and the variables that it takes and gives, by name.

    Args:
        program: the program.
        inputs: numbers of variables that are fed.
        results: numbers of those that are given.
        states: numbers and values of what stays between runs.
        next_states: the numbers of what states become, of those that change.
    """

    program: Listing
    inputs: dict[str, int]
    results: dict[str, int]
    states: dict[str, tuple[int, Any]] = field(default_factory=dict)
    next_states: dict[str, int] = field(default_factory=dict)


@runtime_checkable
class Concrete(Protocol):
    """A traced function for one kind of call, as a program: what `concrete` of it gives."""

    program: Any
    results: Mapping[str, Any]

    def scope(self) -> Any:
        """The values of its states."""


def recorded(what: Any, inputs: Any, results: Any, scope: Any) -> Recorded:
    """What is exported as a program.

    Raises:
        ArgumentError: it is nothing that can be, or something of it is missing.
    """
    if isinstance(what, Listing):
        return _of_program(what, results, scope)
    if isinstance(what, Concrete):
        return _of_program(what.program, what.results, what.scope())
    concrete = getattr(what, "concrete", None)
    if inputs is None and concrete is not None:  # of a traced function: the call that it knows
        return recorded(concrete(), None, None, None)
    if callable(what):
        return _of_function(what, inputs)
    raise _C.ArgumentError(
        "must be a program, a layer or a function", op="onnx", argument="what",
        got=f"a {type(what).__name__}",
    )  # fmt: skip


def _of_program(program: Listing, results: Any, scope: Any) -> Recorded:
    scope = global_scope() if scope is None else scope
    if results is None:
        results = getattr(program, "results", {})
    variables = program.variables()
    assigned = _C.assigned_states(program)
    if isinstance(results, Mapping):
        asked = {str(name): number_in(program, x, "onnx", "results") for name, x in results.items()}
    else:
        listed = results if isinstance(results, (list, tuple)) else [results]
        asked = {
            variables[n][0]: n
            for n in (number_in(program, x, "onnx", "results") for x in leaves_of(listed))
        }
    if not asked and not assigned:
        raise _C.ArgumentError(
            "must name at least one variable", op="onnx", argument="results", got="none"
        )
    made = Recorded(program, {}, {name: assigned.get(n, n) for name, n in asked.items()})
    for number, (name, role, _) in enumerate(variables):
        if role == "input":
            made.inputs[_free(name, made.inputs)] = number
        elif role == "state":
            value = scope.find(name)
            if value is None:
                raise _C.ArgumentError(
                    "must have a value in the scope", op="onnx", argument=name, got="none",
                    fix="run the startup program first",
                )  # fmt: skip
            made.states[name] = (number, value)
            if number in assigned:
                made.next_states[name] = assigned[number]
    return made


def _free(name: str, taken: Mapping[str, Any]) -> str:
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found


def _of_function(function: Any, inputs: Any) -> Recorded:
    """Runs it once on variables; a layer as it infers, with its parameters under their names."""
    if inputs is None:
        raise _C.ArgumentError(
            "must be given for a function", op="onnx", argument="inputs", got="None",
            fix='a mapping: {"x": ("batch", 3)}',
        )  # fmt: skip
    if isinstance(inputs, Mapping):
        named = dict(inputs)
    else:
        named = {}
        for i, x in enumerate(inputs):
            name = getattr(x, "name", None) or (f"x{i}" if len(inputs) > 1 else "x")
            named[_free(name, named)] = x
    listing = Listing()
    symbols = {name: listing.input(name, *_spec(x)) for name, x in named.items()}
    states = _states_of(function) if isinstance(function, Layer) else {}
    own = {
        name: listing.symbol(_C.add_state(listing, name, value.shape, value.dtype))
        for name, value in states.items()
    }
    given = [Tensor(x) for x in symbols.values()]
    with _C.FinalizersWait(), _C.Recording(listing):
        is_layer = isinstance(function, Layer)
        found = _inferred(function, own, given) if is_layer else function(*given)
    leaves = list(leaves_of(found))
    names = ["output"] if len(leaves) == 1 else [f"output_{i}" for i in range(len(leaves))]
    if isinstance(found, Mapping) and len(found) == len(leaves):
        names = [str(name) for name in found]
    numbers = [_number(listing, y) for y in leaves]
    taken = {name: x.number for name, x in symbols.items()}
    kept = {name: (own[name].number, value) for name, value in states.items()}
    return Recorded(listing, taken, dict(zip(names, numbers, strict=True)), kept)


def _states_of(layer: Any) -> dict[str, Any]:
    """The values of parameters and buffers."""
    named = [*layer.named_parameters(), *layer.named_buffers()]
    return {name: stopped(unwrapped(x)) for name, x in named}


def _inferred(layer: Any, states: Mapping[str, Any], given: Sequence[Any]) -> Any:
    """What a layer gives when it does not learn, with variables as its parameters."""
    layers = [layer, *(inner for _, inner in layer.named_layers())]
    modes = [each.training for each in layers]
    try:
        for each in layers:
            each.training = False
        return functional_call(layer, states, *given)
    finally:
        for each, mode in zip(layers, modes, strict=True):
            each.training = mode


def _number(listing: Listing, y: Any) -> int:
    if isinstance(y, _C.TensorBase):
        value = stopped(unwrapped(y))
        if isinstance(value, SymbolicTensor) and value.listing is listing:
            return value.number
        return listing.capture(value)
    return listing.capture(stopped(unwrapped(_C.tensor(y))))


def _spec(x: Any) -> tuple[Sequence[Any], Any]:
    """The shape and the dtype of an input."""
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        dtype = x.dtype if isinstance(x.dtype, _C.dtype) else str(x.dtype)
        return tuple(x.shape), dtype
    if len(x) == 2 and isinstance(x[0], (tuple, list)):
        return tuple(x[0]), x[1]
    return tuple(x), _C.float32

"""The state of a layer: its parameters and buffers by name, and which way round they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..imperative import ArgumentError, ParameterError, Tensor, TensorBase
from ..imperative import state as states
from ..imperative.state import check_state, loaded, set_all, tensor_or_array

if TYPE_CHECKING:
    from .layer import Layer

_MARK = ".layout"
# Of the axes of what PyTorch holds: how a Linear's weight lies here.
_SWAPPED = np.array([1, 0], np.int8)


def _own(layer: Layer) -> dict[str, Tensor]:
    own: dict[str, Tensor] = dict(layer.named_parameters())
    own.update(layer.named_buffers())
    return own


def _swapped(layer: Layer) -> set[int]:
    """The ids of parameters that PyTorch holds the other way round."""
    layers = [layer, *(part for _, part in layer.named_layers())]
    return {id(getattr(part, name)) for part in layers for name in part.swapped}


def _is_pytorch(who: str, layout: str) -> bool:
    if layout not in ("tensorlike", "pytorch"):
        raise ParameterError(
            "must be 'tensorlike' or 'pytorch'", op=who, argument="layout", got=repr(layout)
        )
    return layout == "pytorch"


def saved(layer: Layer, layout: str) -> dict[str, np.ndarray[Any, Any]]:
    """What `Layer.state_dict` returns."""
    is_pytorch, swapped = _is_pytorch("state_dict", layout), _swapped(layer)
    state = {}
    for name, value in _own(layer).items():
        array = states.saved(value.detach())
        if id(value) in swapped:
            if is_pytorch:
                array = np.ascontiguousarray(array.T)
            elif _is_square(array):
                state[name + _MARK] = _SWAPPED.copy()
        state[name] = array
    return state


def shapes(layer: Layer, layout: str) -> dict[str, tuple[int, ...]]:
    """The shapes of what `saved` returns, without the elements."""
    is_pytorch, swapped = _is_pytorch("load_state_dict", layout), _swapped(layer)
    return {
        name: value.shape[::-1] if is_pytorch and id(value) in swapped else value.shape
        for name, value in _own(layer).items()
    }


def load(layer: Layer, state: Mapping[str, Any], strict: bool, layout: str) -> None:
    """What `Layer.load_state_dict` does."""
    is_pytorch, swapped = _is_pytorch("load_state_dict", layout), _swapped(layer)
    check_state(state)
    own = _own(layer)
    missing = [name for name in own if name not in state]
    unknown = [name for name in state if name not in own and name.removesuffix(_MARK) not in own]
    if strict and (missing or unknown):
        raise KeyError(f"load_state_dict: names must match; missing {missing}, unknown {unknown}")
    pairs = []
    for name, tensor in own.items():
        if name not in state:
            continue
        value = tensor_or_array(name, state[name])
        if id(tensor) in swapped:
            if is_pytorch:
                value = _transposed(value)
            elif name + _MARK not in state:
                _refuse_unsaid(name, value)
        pairs.append((tensor, loaded(name, value, tensor)))
    set_all(pairs)


def _transposed(value: Any) -> Any:
    if isinstance(value, TensorBase):  # of any dtype, those included that NumPy has not
        return Tensor(value).mT if len(value.shape) > 1 else value
    return np.swapaxes(value, -1, -2) if value.ndim > 1 else value


def _is_square(array: Any) -> bool:
    return bool(array.ndim == 2 and array.shape[0] == array.shape[1] > 1)


def _refuse_unsaid(name: str, value: Any) -> None:
    """A square weight that does not say which way round it is, where that matters."""
    array = np.asarray(value.detach() if isinstance(value, Tensor) else value)
    if not _is_square(array) or np.array_equal(array, array.T):
        return
    raise ArgumentError(
        f"must say which way round it is, because it is square, {array.shape}",
        op="load_state_dict",
        argument=name,
        got=f"it without {name}{_MARK}",
        fix=(
            "pass layout='pytorch' for a state that PyTorch saved, else put [1, 0] under that name"
        ),
    )

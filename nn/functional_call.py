"""functional_call: a layer as a function of its parameters and buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..imperative import ParameterError, ShapeError, Tensor
from ..imperative.levels import unwrapped
from ..imperative.trees import holding
from .layer import Layer


def functional_call(
    layer: Layer,
    state: Mapping[str, Any],
    /,
    *args: Any,
    return_buffers: bool = False,
    **kwargs: Any,
) -> Any:
    """What a layer gives with other parameters and buffers in place of its own.

    Afterwards, whatever happens, it holds its own again. As a function of the state it can be
    differentiated and mapped: over the stacked states of several models, say.

    Args:
        layer: what is called.
        state: tensors by the names of `named_parameters` and `named_buffers`, of the same shapes;
            what is not named stays as it is.
        args: what the layer is called with.
        return_buffers: whether to return ``(result, buffers)``: a dict of all buffers as the call
            leaves them, by name. The layer itself forgets them.
        kwargs: what the layer is called with.

    Returns:
        What `forward` returns.

    Raises:
        TypeError: it is no layer, or the state no mapping.
        KeyError: the layer has no parameter or buffer of a name.
        ShapeError: a tensor has another shape.

    Source:
        PyTorch, ``torch.func.functional_call``.

    Example:
        >>> import tensorlike as tl
        >>> layer = tl.nn.Linear(2, 1)
        >>> state = {"weight": tl.ones((2, 1)), "bias": tl.ones(1)}
        >>> tl.nn.functional_call(layer, state, tl.tensor([2.0, 3.0])).tolist()
        [6.0]
    """
    if not isinstance(layer, Layer) or not isinstance(state, Mapping):
        got = f"{type(layer).__name__} and {type(state).__name__}"  # type: ignore[unreachable]
        raise ParameterError(
            "a layer and a mapping must be given first", op="functional_call", got=f"{got}"
        )
    own: dict[str, Tensor] = dict(layer.named_parameters())
    own.update(layer.named_buffers())
    unknown = sorted(set(state) - set(own))
    if unknown:
        raise KeyError(
            f"functional_call: names must be those of parameters and buffers, {sorted(own)}; got "
            f"{unknown}"
        )
    given = {name: unwrapped(value) for name, value in state.items()}
    for name, value in given.items():
        if value.shape != own[name].shape:
            raise ShapeError(
                f"must have shape {own[name].shape}",
                op="functional_call",
                argument=name,
                got=f"{value.shape}",
            )
    pairs = [(tensor, given.get(name, tensor)) for name, tensor in own.items()]
    with holding(pairs):
        result = layer(*args, **kwargs)
        if not return_buffers:
            return result
        # Other tensors: the layer's own hold something else from here on.
        left = {name: Tensor(unwrapped(buffer)) for name, buffer in layer.named_buffers()}
    return result, left

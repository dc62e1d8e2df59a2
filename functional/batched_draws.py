"""Random draws inside `vmap`: each example has numbers of its own, parts of one draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..imperative import Batched, Tensor
from ..imperative.batch import drawing_batches
from ..imperative.levels import unwrapped
from .generated import broadcast_to


def drawn(draw: Callable[..., Any], shape: tuple[int, ...], **attrs: Any) -> Any:
    """Random numbers: inside `vmap` each example has numbers of its own, parts of one draw."""
    batches = drawing_batches()
    if not batches:
        return draw(shape, **attrs)
    made = draw((*(batch.size for batch in batches), *shape), **attrs)
    value = made.__wrapped__
    for batch in batches:
        value = Batched(value, batch)
    return type(made)(value)


def drawn_from(draw: Callable[..., Any], parameter: Any, **attrs: Any) -> Any:
    """Random numbers by parameters; inside `vmap` each example has numbers of its own."""
    batches = drawing_batches()
    if not batches or isinstance(unwrapped(parameter), Batched):
        return draw(parameter, **attrs)
    value = unwrapped(parameter)
    value = broadcast_to(value, (*(batch.size for batch in batches), *value.shape))
    for batch in batches:
        value = Batched(value, batch)
    return draw(Tensor(value), **attrs)

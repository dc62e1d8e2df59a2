"""What a Tensor is bound to anew, under the transforms that are going on.

A parameter stays a leaf of the base tape whatever it is bound to, and a Tensor that was made before
a transform began keeps, when that ends, the plain value. The core asks here what it cannot know:
how the tensor-likes that are written in Python are put together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import _C
from .carrier import Carrier
from .levels import TransformValue


def inner_of(x: Any) -> Any:
    """What a carrier, or a tensor-like of a transform, is around; None for all others."""
    if isinstance(x, Carrier):
        return x.value
    return x.inner if isinstance(x, TransformValue) else None


def on_base(x: Any, leaf: Any) -> Any:
    """The same value at the place of `leaf` on the base tape; None: without history there.

    That tape is the outermost transform: its tracers are under those of all others, and above the
    carriers that transforms go around.
    """
    if isinstance(x, _C.Tracer):
        if x.level > 0:
            return _C.retraced(x, on_base(x.primal, leaf))
        x = x.primal
    if isinstance(x, TransformValue):
        return x.with_inner(on_base(x.inner, leaf), lambda part: on_base(part, None))
    if isinstance(x, Carrier) and x.is_above_transforms:
        return x.around(on_base(x.value, leaf))
    return x if leaf is None else _C.retraced(leaf, x)


def lowered(x: Any, level: int) -> Any:
    """A value as it is outside of the transform of this level."""
    if isinstance(x, _C.TensorWrapper):
        inner = x.__wrapped__
        outside = lowered(inner, level)
        return x if outside is inner else type(x)(outside)
    if isinstance(x, _C.Tracer):
        if x.level == level + 1:  # a leaf that was made inside
            return lowered(x.primal, level)
        return x.primal if x.level == level else x
    if isinstance(x, TransformValue):
        return x.outside if x.level.number == level else x
    if isinstance(x, Carrier):
        outside = lowered(x.value, level)
        return x if outside is x.value else x.around(outside)
    return x


def own_tape(x: Any) -> Any:
    """The tape of the transform that a tensor-like belongs to; None: of none."""
    return x.level.tape if isinstance(x, TransformValue) else None


def levels_in(x: Any) -> Iterator[TransformValue]:
    """The tensor-likes of transforms that a value is made of, but tracers."""
    while x is not None:
        if isinstance(x, TransformValue):
            yield x
        is_around = isinstance(x, (_C.Tracer, _C.TensorWrapper))
        x = (x.primal if isinstance(x, _C.Tracer) else x.__wrapped__) if is_around else inner_of(x)


def refuse_examples(x: Any, level: int, current: Any) -> None:
    """Raises if a value differs between examples, of which there was one for all in `current`.

    Only a `vmap` of this level or a later one counts.

    Raises:
        DispatchError: it does.
    """
    differing = [part.level for part in levels_in(current)]
    for part in levels_in(x):
        if part.level.number >= level and part.level not in differing:
            part.refuse_outside()


_C.set_level_hooks(inner_of, on_base, lowered, refuse_examples, own_tape)

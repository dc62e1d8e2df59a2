"""Transforms: functions of functions, and functions with derivatives of their own.

Each swaps a tensor-like in: `grad` and `vjp` (of `imperative`) run a function on Tracers, `jvp` on
Duals, `vmap` on Batched values. The others are compositions of these.
"""

from __future__ import annotations

from ..imperative.crossing import enter as enter
from ..imperative.crossing import leave as leave
from ..imperative.crossing import own as own
from ..imperative.levels import Level as Level
from ..imperative.levels import TransformValue as TransformValue
from ..imperative.trees import map_tree as map_tree
from . import batching_control_flow as batching_control_flow
from .batching import mean_over_examples as mean_over_examples
from .custom_rules import custom_jvp as custom_jvp
from .custom_rules import custom_vjp as custom_vjp
from .derivatives import hessian as hessian
from .derivatives import hvp as hvp
from .derivatives import jacfwd as jacfwd
from .derivatives import jacrev as jacrev
from .forward import jvp as jvp
from .forward import linearize as linearize
from .function_classes import Function as Function
from .function_classes import PyLayer as PyLayer
from .vectorize import vmap as vmap

__all__ = [
    "Function",
    "Level",
    "PyLayer",
    "TransformValue",
    "custom_jvp",
    "custom_vjp",
    "enter",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jvp",
    "leave",
    "linearize",
    "map_tree",
    "mean_over_examples",
    "own",
    "vmap",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)

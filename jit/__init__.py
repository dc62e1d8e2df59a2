"""Capture: functions and layers of Python become programs, by running them or by reading them."""

from __future__ import annotations

from .compiled_function import CompiledFunction as CompiledFunction
from .concrete_program import ConcreteProgram as ConcreteProgram
from .errors import FrozenValueWarning as FrozenValueWarning
from .errors import RetraceWarning as RetraceWarning
from .errors import TraceMismatchError as TraceMismatchError
from .input_spec import InputSpec as InputSpec
from .recording import exclude_from_trace as exclude_from_trace
from .saved import DumpInfo as DumpInfo
from .saved import TranslatedLayer as TranslatedLayer
from .saved import load as load
from .saved import save as save
from .traced_layer import TracedLayer as TracedLayer
from .tracing import trace as trace

__all__ = [
    "CompiledFunction",
    "ConcreteProgram",
    "DumpInfo",
    "FrozenValueWarning",
    "InputSpec",
    "RetraceWarning",
    "TraceMismatchError",
    "TracedLayer",
    "TranslatedLayer",
    "exclude_from_trace",
    "load",
    "save",
    "trace",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)

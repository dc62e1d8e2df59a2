"""Capture: functions and layers of Python become programs, by running them or by reading them."""

from __future__ import annotations

from .compiled_function import CompiledFunction as CompiledFunction
from .concrete_program import ConcreteProgram as ConcreteProgram
from .conversion.refusal import ConversionError as ConversionError
from .conversion.settings import enable_to_static as enable_to_static
from .conversion.settings import not_to_static as not_to_static
from .conversion.settings import set_code_level as set_code_level
from .conversion.settings import set_verbosity as set_verbosity
from .conversion.settings import show_raw_stack as show_raw_stack
from .errors import FrozenValueWarning as FrozenValueWarning
from .errors import RetraceWarning as RetraceWarning
from .errors import TraceMismatchError as TraceMismatchError
from .for_inference import ForInference as ForInference
from .input_spec import InputSpec as InputSpec
from .recording import exclude_from_trace as exclude_from_trace
from .saved import DumpInfo as DumpInfo
from .saved import TranslatedLayer as TranslatedLayer
from .saved import load as load
from .saved import save as save
from .to_static import StaticFunction as StaticFunction
from .to_static import to_static as to_static
from .traced_layer import TracedLayer as TracedLayer
from .tracing import trace as trace

__all__ = [
    "CompiledFunction",
    "ConcreteProgram",
    "ConversionError",
    "DumpInfo",
    "ForInference",
    "FrozenValueWarning",
    "InputSpec",
    "RetraceWarning",
    "StaticFunction",
    "TraceMismatchError",
    "TracedLayer",
    "TranslatedLayer",
    "enable_to_static",
    "exclude_from_trace",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "show_raw_stack",
    "to_static",
    "trace",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)

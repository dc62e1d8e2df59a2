"""Static programs: built by the calls that would run at once elsewhere, then run many times."""

from __future__ import annotations

from . import transpilers as transpilers
from .backward import append_backward as append_backward
from .block import Block as Block
from .compiled import CompiledProgram as CompiledProgram
from .compiled import Graph as Graph
from .compiled import PassReport as PassReport
from .compiled import list_passes as list_passes
from .executor import CPUPlace as CPUPlace
from .executor import Executor as Executor
from .executor import Scope as Scope
from .executor import global_scope as global_scope
from .executor import scope_guard as scope_guard
from .files import load as load
from .files import save as save
from .guard import data as data
from .guard import default_main_program as default_main_program
from .guard import default_startup_program as default_startup_program
from .guard import disable_static as disable_static
from .guard import enable_static as enable_static
from .guard import keep as keep
from .guard import program_guard as program_guard
from .if_else import IfElse as IfElse
from .inference_model import load_inference_model as load_inference_model
from .inference_model import save_inference_model as save_inference_model
from .layers import batch_norm as batch_norm
from .layers import conv2d as conv2d
from .layers import embedding as embedding
from .layers import fc as fc
from .loops import StaticRNN as StaticRNN
from .loops import While as While
from .loops import assign as assign
from .operator import Operator as Operator
from .program import Program as Program
from .program import Variable as Variable
from .program_op import ProgramOp as ProgramOp
from .program_op import program_op as program_op
from .quantize import Quantized as Quantized
from .quantize import QuantizedLayer as QuantizedLayer
from .quantize import quantize as quantize

__all__ = [
    "Block",
    "CPUPlace",
    "CompiledProgram",
    "Executor",
    "Graph",
    "IfElse",
    "Operator",
    "PassReport",
    "Program",
    "ProgramOp",
    "Quantized",
    "QuantizedLayer",
    "Scope",
    "StaticRNN",
    "Variable",
    "While",
    "append_backward",
    "assign",
    "batch_norm",
    "conv2d",
    "data",
    "default_main_program",
    "default_startup_program",
    "disable_static",
    "embedding",
    "enable_static",
    "fc",
    "global_scope",
    "keep",
    "list_passes",
    "load",
    "load_inference_model",
    "program_guard",
    "program_op",
    "quantize",
    "save",
    "save_inference_model",
    "scope_guard",
    "transpilers",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)

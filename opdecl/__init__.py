"""Declarations of ops: read, checked, differentiated, lowered, and printed as C++ and Python."""

from __future__ import annotations

from .compiler.errors import DeclarationError, Problem
from .compiler.registry import Declarations, declare_text, load_builtin, load_files, load_text
from .compiler.specs import FunctionSpec, OpSpec, ReductionSpec, ScalarSpec, Spec

__all__ = [
    "DeclarationError",
    "Declarations",
    "FunctionSpec",
    "OpSpec",
    "Problem",
    "ReductionSpec",
    "ScalarSpec",
    "Spec",
    "declare_text",
    "load_builtin",
    "load_files",
    "load_text",
]

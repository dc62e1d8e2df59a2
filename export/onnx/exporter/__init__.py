"""From programs, functions and layers to models of ONNX: see docs/onnx.md."""

from __future__ import annotations

from .saving import save as save
from .saving import to_model as to_model

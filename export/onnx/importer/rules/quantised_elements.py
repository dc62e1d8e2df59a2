"""Quantised tensors of several scales, joined: reals in between, bytes outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..... import functional as F
from ..rule_table import rule
from .quantising import dequantize, quantize


def _real(x: Any, scale: Any, zero: Any) -> Any:
    return dequantize(x, scale, zero, axis=-1, block_size=0, output_dtype=0)


def _bytes(x: Any, scale: Any, zero: Any) -> Any:
    return quantize(x, scale, zero, axis=-1, saturate=1, block_size=0, output_dtype=0, precision=0)


@rule
def quantized_concat(y_scale: Any, y_zero: Any, parts: Sequence[Any], *, axis: int) -> Any:
    """Quantised tensors, each with its scale and zero point, joined."""
    reals = [_real(*parts[i : i + 3]) for i in range(0, len(parts), 3)]
    return _bytes(F.concat(reals, axis=axis), y_scale, y_zero)

"""Rules: ops of ONNX whose meaning depends on more than a body can say, a file for each family."""

from __future__ import annotations

from . import (
    attention,
    control_flow,
    conversions,
    detection,
    element_math,
    indexing,
    making,
    normalizing,
    pooling,
    quantised_elements,
    quantising,
    random,
    recurrent,
    resizing,
    sampling,
    sequences,
    shaping,
    signals,
    training,
    windows,
)

FAMILIES = (
    attention,
    control_flow,
    conversions,
    detection,
    element_math,
    indexing,
    making,
    normalizing,
    pooling,
    quantised_elements,
    quantising,
    random,
    recurrent,
    resizing,
    sampling,
    sequences,
    shaping,
    signals,
    training,
    windows,
)

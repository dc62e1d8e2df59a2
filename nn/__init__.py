"""Layers: functions with parameters."""

from __future__ import annotations

from .attention import MultiHeadAttention as MultiHeadAttention
from .dropout import Dropout as Dropout
from .layer import Buffer as Buffer
from .layer import Layer as Layer
from .linear import Linear as Linear
from .normalization import BatchNorm1d as BatchNorm1d
from .normalization import BatchNorm2d as BatchNorm2d
from .normalization import GroupNorm as GroupNorm
from .normalization import LayerNorm as LayerNorm
from .normalization import RMSNorm as RMSNorm
from .sequential import Sequential as Sequential

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "Buffer",
    "Dropout",
    "GroupNorm",
    "Layer",
    "LayerNorm",
    "Linear",
    "MultiHeadAttention",
    "RMSNorm",
    "Sequential",
]

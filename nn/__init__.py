"""Layers: functions with parameters."""

from __future__ import annotations

from .embedding import Embedding as Embedding
from .layer import Layer as Layer
from .linear import Linear as Linear
from .recurrent import GRU as GRU
from .recurrent import LSTM as LSTM
from .sequential import Sequential as Sequential

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "Buffer",
    "Dropout",
    "Embedding",
    "GRU",
    "GroupNorm",
    "LSTM",
    "Layer",
    "LayerNorm",
    "Linear",
    "MultiHeadAttention",
    "RMSNorm",
    "Sequential",
]

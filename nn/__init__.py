"""Layers: functions with parameters."""

from __future__ import annotations

from .attention import MultiHeadAttention as MultiHeadAttention
from .convolution import Conv1d as Conv1d
from .convolution import Conv2d as Conv2d
from .convolution import Conv3d as Conv3d
from .convolution import ConvTranspose1d as ConvTranspose1d
from .convolution import ConvTranspose2d as ConvTranspose2d
from .convolution import ConvTranspose3d as ConvTranspose3d
from .dropout import Dropout as Dropout
from .embedding import Embedding as Embedding
from .layer import Buffer as Buffer
from .layer import Layer as Layer
from .linear import Linear as Linear
from .normalization import BatchNorm1d as BatchNorm1d
from .normalization import BatchNorm2d as BatchNorm2d
from .normalization import GroupNorm as GroupNorm
from .normalization import LayerNorm as LayerNorm
from .normalization import RMSNorm as RMSNorm
from .pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from .pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from .pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from .pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from .pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from .pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from .pooling import AvgPool1d as AvgPool1d
from .pooling import AvgPool2d as AvgPool2d
from .pooling import AvgPool3d as AvgPool3d
from .pooling import MaxPool1d as MaxPool1d
from .pooling import MaxPool2d as MaxPool2d
from .pooling import MaxPool3d as MaxPool3d
from .recurrent import GRU as GRU
from .recurrent import LSTM as LSTM
from .sequential import Sequential as Sequential

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BatchNorm1d",
    "BatchNorm2d",
    "Buffer",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Dropout",
    "Embedding",
    "GRU",
    "GroupNorm",
    "LSTM",
    "Layer",
    "LayerNorm",
    "Linear",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MultiHeadAttention",
    "RMSNorm",
    "Sequential",
]

"""Layers: functions with parameters."""

from __future__ import annotations

from . import initializers as initializers
from .activations import GLU as GLU
from .activations import Hardshrink as Hardshrink
from .activations import Hardsigmoid as Hardsigmoid
from .activations import Hardtanh as Hardtanh
from .activations import LogSigmoid as LogSigmoid
from .activations import LogSoftmax as LogSoftmax
from .activations import Sigmoid as Sigmoid
from .activations import Softmax as Softmax
from .activations import Softmin as Softmin
from .activations import Softshrink as Softshrink
from .activations import Softsign as Softsign
from .activations import Tanh as Tanh
from .activations import Tanhshrink as Tanhshrink
from .attention import MultiHeadAttention as MultiHeadAttention
from .cells import GRUCell as GRUCell
from .cells import LSTMCell as LSTMCell
from .cells import RNNCell as RNNCell
from .channel_norms import GroupNorm as GroupNorm
from .channel_norms import InstanceNorm1d as InstanceNorm1d
from .channel_norms import InstanceNorm2d as InstanceNorm2d
from .channel_norms import InstanceNorm3d as InstanceNorm3d
from .channel_norms import LocalResponseNorm as LocalResponseNorm
from .convolution import Conv1d as Conv1d
from .convolution import Conv2d as Conv2d
from .convolution import Conv3d as Conv3d
from .convolution import ConvTranspose1d as ConvTranspose1d
from .convolution import ConvTranspose2d as ConvTranspose2d
from .convolution import ConvTranspose3d as ConvTranspose3d
from .dropout import AlphaDropout as AlphaDropout
from .dropout import Dropout as Dropout
from .dropout import Dropout1d as Dropout1d
from .dropout import Dropout2d as Dropout2d
from .dropout import Dropout3d as Dropout3d
from .dropout import FeatureAlphaDropout as FeatureAlphaDropout
from .embedding import Embedding as Embedding
from .embedding import EmbeddingBag as EmbeddingBag
from .functional_call import functional_call as functional_call
from .images import ChannelShuffle as ChannelShuffle
from .images import Fold as Fold
from .images import PixelShuffle as PixelShuffle
from .images import PixelUnshuffle as PixelUnshuffle
from .images import Unfold as Unfold
from .images import Upsample as Upsample
from .layer import Buffer as Buffer
from .layer import Layer as Layer
from .linear import Bilinear as Bilinear
from .linear import Linear as Linear
from .losses import BCELoss as BCELoss
from .losses import BCEWithLogitsLoss as BCEWithLogitsLoss
from .losses import CrossEntropyLoss as CrossEntropyLoss
from .losses import CTCLoss as CTCLoss
from .losses import GaussianNLLLoss as GaussianNLLLoss
from .losses import HuberLoss as HuberLoss
from .losses import KLDivLoss as KLDivLoss
from .losses import L1Loss as L1Loss
from .losses import MSELoss as MSELoss
from .losses import NLLLoss as NLLLoss
from .losses import PoissonNLLLoss as PoissonNLLLoss
from .losses import SmoothL1Loss as SmoothL1Loss
from .margin_losses import CosineEmbeddingLoss as CosineEmbeddingLoss
from .margin_losses import HingeEmbeddingLoss as HingeEmbeddingLoss
from .margin_losses import MarginRankingLoss as MarginRankingLoss
from .margin_losses import MultiLabelMarginLoss as MultiLabelMarginLoss
from .margin_losses import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from .margin_losses import MultiMarginLoss as MultiMarginLoss
from .margin_losses import SoftMarginLoss as SoftMarginLoss
from .margin_losses import TripletMarginLoss as TripletMarginLoss
from .normalization import BatchNorm1d as BatchNorm1d
from .normalization import BatchNorm2d as BatchNorm2d
from .normalization import BatchNorm3d as BatchNorm3d
from .normalization import LayerNorm as LayerNorm
from .normalization import RMSNorm as RMSNorm
from .packed import Packed as Packed
from .packed import pack as pack
from .packed import unpack as unpack
from .padding import CircularPad1d as CircularPad1d
from .padding import CircularPad2d as CircularPad2d
from .padding import CircularPad3d as CircularPad3d
from .padding import ConstantPad1d as ConstantPad1d
from .padding import ConstantPad2d as ConstantPad2d
from .padding import ConstantPad3d as ConstantPad3d
from .padding import ReflectionPad1d as ReflectionPad1d
from .padding import ReflectionPad2d as ReflectionPad2d
from .padding import ReflectionPad3d as ReflectionPad3d
from .padding import ReplicationPad1d as ReplicationPad1d
from .padding import ReplicationPad2d as ReplicationPad2d
from .padding import ReplicationPad3d as ReplicationPad3d
from .padding import ZeroPad1d as ZeroPad1d
from .padding import ZeroPad2d as ZeroPad2d
from .padding import ZeroPad3d as ZeroPad3d
from .param_attr import ParamAttr as ParamAttr
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
from .rectifiers import CELU as CELU
from .rectifiers import ELU as ELU
from .rectifiers import GELU as GELU
from .rectifiers import SELU as SELU
from .rectifiers import Hardswish as Hardswish
from .rectifiers import LeakyReLU as LeakyReLU
from .rectifiers import Mish as Mish
from .rectifiers import PReLU as PReLU
from .rectifiers import ReLU as ReLU
from .rectifiers import ReLU6 as ReLU6
from .rectifiers import RReLU as RReLU
from .rectifiers import SiLU as SiLU
from .rectifiers import Softplus as Softplus
from .rectifiers import Threshold as Threshold
from .recurrent import GRU as GRU
from .recurrent import LSTM as LSTM
from .recurrent import RNN as RNN
from .sequential import Sequential as Sequential
from .shapes import Flatten as Flatten
from .shapes import Identity as Identity
from .special_pooling import FractionalMaxPool2d as FractionalMaxPool2d
from .special_pooling import FractionalMaxPool3d as FractionalMaxPool3d
from .special_pooling import LPPool1d as LPPool1d
from .special_pooling import LPPool2d as LPPool2d
from .special_pooling import LPPool3d as LPPool3d
from .special_pooling import MaxUnpool1d as MaxUnpool1d
from .special_pooling import MaxUnpool2d as MaxUnpool2d
from .special_pooling import MaxUnpool3d as MaxUnpool3d

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Buffer",
    "CELU",
    "CTCLoss",
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "GELU",
    "GLU",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LSTM",
    "LSTMCell",
    "Layer",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Mish",
    "MultiHeadAttention",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PReLU",
    "Packed",
    "ParamAttr",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNN",
    "RNNCell",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "SELU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "TripletMarginLoss",
    "Unfold",
    "Upsample",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
    "functional_call",
    "initializers",
    "pack",
    "unpack",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)

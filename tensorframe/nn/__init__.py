"""The namespace `tfr.nn`: what networks compute in `tfr.nn.functional`, and modules that hold their parameters.

Layers have the arguments, the initial values and the names of parameters that PyTorch's have. `tfr.nn.init` makes
initial values.
"""

from __future__ import annotations

from tensorframe.nn import functional, init
from tensorframe.nn.data import Batches, batches
from tensorframe.nn.layers.attention import (
    MultiheadAttention,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from tensorframe.nn.layers.containers import ModuleDict, ModuleList, Sequential
from tensorframe.nn.layers.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from tensorframe.nn.layers.dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d
from tensorframe.nn.layers.embedding import Embedding
from tensorframe.nn.layers.linear import Bilinear, Identity, Linear
from tensorframe.nn.layers.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LocalResponseNorm,
    RMSNorm,
)
from tensorframe.nn.layers.recurrent import GRU, LSTM, RNN
from tensorframe.nn.layers.shapes import Flatten, Unflatten
from tensorframe.nn.module import Buffer, Module
from tensorframe.nn.summary import estimate_memory, summary

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "AlphaDropout",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Batches",
    "Bilinear",
    "Buffer",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "Linear",
    "LocalResponseNorm",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "RMSNorm",
    "Sequential",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Unflatten",
    "batches",
    "estimate_memory",
    "functional",
    "init",
    "summary",
]

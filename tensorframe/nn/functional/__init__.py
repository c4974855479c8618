"""The namespace `tfr.nn.functional`: what layers compute, as functions with the argument names of PyTorch.

Every function records ops as any other does, so it fuses with its neighbours, has gradients and runs on every device.
"""

from __future__ import annotations

from tensorframe.nn.functional.activations import log_softmax, softmax
from tensorframe.nn.functional.attention import scaled_dot_product_attention
from tensorframe.nn.functional.classes import embedding, one_hot
from tensorframe.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from tensorframe.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
)
from tensorframe.nn.functional.linear import bilinear, linear
from tensorframe.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from tensorframe.nn.functional.recurrent import gru, lstm, rnn
from tensorframe.nn.functional.rope import rope

__all__ = [
    "alpha_dropout",
    "batch_norm",
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "embedding",
    "group_norm",
    "gru",
    "instance_norm",
    "layer_norm",
    "linear",
    "local_response_norm",
    "log_softmax",
    "lstm",
    "normalize",
    "one_hot",
    "rms_norm",
    "rnn",
    "rope",
    "scaled_dot_product_attention",
    "softmax",
]

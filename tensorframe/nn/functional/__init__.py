"""The namespace `tfr.nn.functional`: what layers compute, as functions with the argument names of PyTorch.

Every function records ops as any other does, so it fuses with its neighbours, has gradients and runs on every device.
"""

from __future__ import annotations

from tensorframe.nn.functional.activations import log_softmax, softmax
from tensorframe.nn.functional.attention import scaled_dot_product_attention
from tensorframe.nn.functional.recurrent import gru, lstm, rnn
from tensorframe.nn.functional.rope import rope

__all__ = [
    "gru",
    "log_softmax",
    "lstm",
    "rnn",
    "rope",
    "scaled_dot_product_attention",
    "softmax",
]

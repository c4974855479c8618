"""The namespace `tfr.nn.functional`: what layers compute, as functions with the argument names of PyTorch.

Every function records ops as any other does, so it fuses with its neighbours, has gradients and runs on every device.
"""

from __future__ import annotations

from tensorframe.nn.functional.activations import log_softmax, softmax

__all__ = [
    "log_softmax",
    "softmax",
]

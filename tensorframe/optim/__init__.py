"""The namespace `tfr.optim`: optimisers, schedules of learning rates, clipping, and averages of weights.

An optimiser updates the tensors of any tree in place of their handles: a dict, a list, a module. Its state is a tree of
tensors too, so a training step is recorded once and runs as one plan: `@tfr.jit(updates=("model", "optimizer"))`.
"""

from __future__ import annotations

from tensorframe.documentation.docstrings import complete_module
from tensorframe.optim import schedules
from tensorframe.optim.adam import Adam, AdamW
from tensorframe.optim.adaptive import Adafactor, Adagrad, RMSprop
from tensorframe.optim.averages import ExponentialMovingAverage
from tensorframe.optim.checkpoints import load_checkpoint, save_checkpoint
from tensorframe.optim.clipping import clip_grad_norm, clip_grad_value
from tensorframe.optim.descent import SGD, Lion
from tensorframe.optim.muon import Muon
from tensorframe.optim.optimizer import Optimizer

__all__ = [
    "SGD",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "ExponentialMovingAverage",
    "Lion",
    "Muon",
    "Optimizer",
    "RMSprop",
    "clip_grad_norm",
    "clip_grad_value",
    "load_checkpoint",
    "save_checkpoint",
    "schedules",
]

complete_module(__name__)

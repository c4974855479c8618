"""The namespace `tfr.nn`: what networks compute in `tfr.nn.functional`, and modules that hold their parameters."""

from __future__ import annotations

from tensorframe.nn import functional, init
from tensorframe.nn.layers.containers import ModuleDict, ModuleList, Sequential
from tensorframe.nn.layers.linear import Identity, Linear
from tensorframe.nn.module import Buffer, Module

__all__ = [
    "Buffer",
    "Identity",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Sequential",
    "functional",
    "init",
]

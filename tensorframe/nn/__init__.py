"""The namespace `tfr.nn`: what networks compute in `tfr.nn.functional`, and modules that hold their parameters."""

from __future__ import annotations

from tensorframe.nn import functional

__all__ = ["functional"]

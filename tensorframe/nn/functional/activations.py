"""Activation functions, with the argument names of `torch.nn.functional`."""

from __future__ import annotations

from typing import Any

from tensorframe.frontend.reductions import softmax as reductions
from tensorframe.frontend.tensor import Tensor

__all__ = ["log_softmax", "softmax"]


def softmax(input: Any, dim: int = -1) -> Tensor:
    """Exponentials of `input` along `dim`, scaled to sum to one: `tfr.softmax` under PyTorch's argument names.

    Shape and dtype are those of `input` (real floating, else DTypeError).

    >>> tfr.nn.functional.softmax(tfr.asarray([0.0, 0.0]), dim=0).tolist()
    [0.5, 0.5]
    """
    return reductions.softmax(input, axis=dim)


def log_softmax(input: Any, dim: int = -1) -> Tensor:
    """Logarithm of `softmax`, accurate where softmax is nearly 0 or 1; arguments are the same.

    >>> tfr.nn.functional.log_softmax(tfr.asarray([0.0, 1000.0]), dim=0).tolist()
    [-1000.0, 0.0]
    """
    return reductions.log_softmax(input, axis=dim)

"""Calls of `tfr.nn.functional`, each with a reference in NumPy.

A case is a function of the namespace and tensors, so the same one calls `torch.nn.functional`; what its result should
be as a function of arrays; and these arrays. Those of float64 are what gradients are taken for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

RANDOM = np.random.default_rng(11)


class Case(NamedTuple):
    """One call: `call(F, *operands)`, which gives `reference(*operands)`."""

    call: Callable[..., Any]
    reference: Callable[..., Any]
    operands: tuple[Any, ...]
    in_torch: bool = True  # whether PyTorch takes the same call
    fixed: tuple[int, ...] = ()  # operands that PyTorch has no gradient for
    slopes: bool = True  # whether its gradient is that of its values


def case(call, reference, *operands, **facts):
    """Return a case; operands are arrays."""
    return Case(call, reference, operands, **facts)


def real(*shape, low=-2.0, high=2.0):
    """Return numbers that are no special points of anything."""
    return RANDOM.uniform(low, high, shape)


def labels(classes, *shape):
    """Return class numbers."""
    return RANDOM.integers(0, classes, shape)

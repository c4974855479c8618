"""Convolution by NumPy; half precision accumulates in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.dtypes import NARROW, wide_of

Array = Any


@spells("convolve")
def convolve(x: Array, y: Array, mode: Any) -> Array:
    """Convolve two vectors."""
    if x.dtype in NARROW:
        wide = wide_of(x.dtype)
        return np.convolve(x.astype(wide), y.astype(wide), mode).astype(x.dtype)
    return np.convolve(x, y, mode)

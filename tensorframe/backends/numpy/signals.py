"""Convolution by NumPy; half precision accumulates in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.dtypes import HALF

Array = Any


@spells("convolve")
def convolve(x: Array, y: Array, mode: Any) -> Array:
    """Convolve two vectors."""
    if x.dtype in HALF:
        return np.convolve(x.astype(np.float32), y.astype(np.float32), mode).astype(x.dtype)
    return np.convolve(x, y, mode)

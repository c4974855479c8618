"""Elementwise ops where NumPy's own function differs from the Array API standard or has another form."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.dtypes import DType

Array = Any  # np.ndarray or a NumPy scalar: ufuncs give scalars for 0-d operands


@spells("cast")
def cast(x: Array, dtype: DType) -> Array:
    """Convert; complex to real drops the imaginary part without NumPy's warning."""
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype)


@spells("real")
def real(x: Array) -> Array:
    """Real part."""
    return x.real


@spells("imag")
def imag(x: Array) -> Array:
    """Imaginary part."""
    return x.imag


@spells("where")
def where(condition: Array, x: Array, y: Array) -> Array:
    """Select by condition."""
    return np.where(condition, x, y)

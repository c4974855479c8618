"""Reductions: half precision accumulates in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import Function, spells
from tensorframe.dtypes import HALF

Array = Any


def _spell(name: str, function: Any, *, accumulates: bool = False) -> None:
    def run(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        if accumulates and x.dtype in HALF:
            return function(x, axis=axes, keepdims=keepdims, dtype=np.float32).astype(x.dtype)
        if accumulates:
            return function(x, axis=axes, keepdims=keepdims, dtype=x.dtype)
        return function(x, axis=axes, keepdims=keepdims)

    spells(name)(run)


# not np.sum and the like, which look for a method of this name first and take twice as long on a small array
_spell("sum", np.add.reduce, accumulates=True)
_spell("prod", np.multiply.reduce, accumulates=True)
_spell("max", np.maximum.reduce)
_spell("min", np.minimum.reduce)
_spell("any", np.logical_or.reduce)
_spell("all", np.logical_and.reduce)


def _position(function: Function) -> Function:
    """Return an arg-reduction over any set of axes: they are moved last and flattened."""

    def run(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        if len(axes) == 1:
            return function(x, axis=axes[0], keepdims=keepdims)
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        moved = x.transpose([*kept, *axes]).reshape([x.shape[axis] for axis in kept] + [-1])
        found = function(moved, axis=-1)
        return np.expand_dims(found, axes) if keepdims else found

    return run


spells("argmax")(_position(np.argmax))
spells("argmin")(_position(np.argmin))

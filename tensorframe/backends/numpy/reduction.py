"""Reductions: half precision accumulates in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import Function, spells
from tensorframe.backends.numpy.sums import in_turn, joined
from tensorframe.dtypes import COMPLEX, FLOATING, HALF

Array = Any


def _spell(name: str, function: Any) -> None:
    def run(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        return function(x, axis=axes, keepdims=keepdims)

    spells(name)(run)


def _spell_sum(name: str, ufunc: np.ufunc) -> None:
    def run(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        if x.dtype in HALF:
            return run(x.astype(np.float32), axes, keepdims).astype(x.dtype)
        if x.dtype not in FLOATING:  # integers: any order gives the same
            return ufunc.reduce(x, axis=axes, keepdims=keepdims, dtype=x.dtype)
        found = (in_turn if ufunc is np.multiply and x.dtype in COMPLEX else joined)(
            ufunc, np.asarray(x), axes
        )
        return np.expand_dims(found, axes) if keepdims else found

    spells(name)(run)


# not np.max and the like, which look for a method of this name first and take twice as long on a small array
_spell_sum("sum", np.add)
_spell_sum("prod", np.multiply)
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

"""Reductions: half precision accumulates in float32."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tensorframe.backends.base import Program
from tensorframe.backends.host_pool import reshaped
from tensorframe.backends.numpy.functions import MADE, Function, formula, implementation, spells
from tensorframe.backends.numpy.scans import PIECE, line_parts
from tensorframe.backends.numpy.sums import joined
from tensorframe.dtypes import BITWISE, FLOATING, INTEGER, NARROW, bool_, int64, wide_of
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.ops.elementwise import CAST

Array = Any


def _combining(op: Op) -> Function:
    """Return the function of a reduction whose row says how elements are combined."""
    how = op.combination
    assert how is not None
    take, finish = _formula(how.take), _formula(how.finish)
    ufunc = implementation[how.join]
    assert isinstance(ufunc, np.ufunc)
    together = partial(_summed if how.wide else _reduced, ufunc)

    is_plain = how.wide and how.take is None and how.finish is None
    if not how.wide and how.take is None and how.finish is None:
        reduce: Any = ufunc.reduce
        # by position: keywords take as long as a small reduction
        return lambda x, axes, keepdims: reduce(x, axes, None, None, keepdims)

    def run(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        if is_plain and x.ndim == 1 == len(axes) and x.dtype not in NARROW:
            # any stride gives the same pairs, and small sums are many
            return ufunc.reduce(x, axis=0, dtype=x.dtype, keepdims=keepdims)
        if how.wide and x.dtype in NARROW:
            return run(x.astype(wide_of(x.dtype)), axes, keepdims).astype(x.dtype)
        return finish(together(take(x), axes, keepdims))

    return run


def _formula(written: Any) -> Any:
    """Return a formula over terms as a function of arrays; of None, what leaves them as they are."""
    return (lambda x: x) if written is None else formula(written, 1)


def _reduced(ufunc: np.ufunc, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    # not np.max and the like, which look for a method of this name first and take twice as long on a small array
    return ufunc.reduce(x, axis=axes, keepdims=keepdims)


def _summed(ufunc: np.ufunc, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    if x.dtype not in FLOATING:  # integers: any order gives the same
        return ufunc.reduce(x, axis=axes, keepdims=keepdims, dtype=x.dtype)
    total = joined(ufunc, np.asarray(x), axes)
    return np.expand_dims(total, axes) if keepdims else total


MADE[Kind.REDUCE] = _combining


def is_widened(region: Region, conversion: RegionOp, op: RegionOp) -> bool:
    """Whether a sum or product of converted integers is a call that converts them itself."""
    how = op.op.combination
    if conversion.op is not CAST or op.op.kind is not Kind.REDUCE or how is None or not how.wide:
        return False
    before, after = region.dtype_of(conversion.inputs[0]), conversion.dtype
    is_plain = how.take is None and how.finish is None
    return is_plain and after in INTEGER and before in BITWISE and bool(np.can_cast(before, after))


def widened(region: Region) -> Program:
    """Return the program of such a conversion and what sums it up."""
    conversion, op = region.ops
    axes, keepdims = op.attrs
    (source,) = conversion.inputs
    how = op.op.combination
    assert how is not None
    ufunc = implementation[how.join]
    assert isinstance(ufunc, np.ufunc)
    counts = ufunc is np.add and region.dtype_of(source) == bool_ and math.prod(op.shape) == 1

    def run(inputs: Sequence[Array], _buffers: Sequence[Array | None]) -> Sequence[Array]:
        x = inputs[source]
        if counts:  # without a conversion, on whole vectors of bits
            return (np.full(op.shape, np.count_nonzero(x), op.dtype),)
        return (ufunc.reduce(x, axis=axes, dtype=op.dtype, keepdims=keepdims),)

    return run


def _position(name: str) -> Function:
    """Return an arg-reduction over any set of axes: they are moved last and flattened.

    It is the array's own method, which NumPy's function of the name calls after as much time again. It copies what
    does not lie line by line: of a large array some lines at a time.
    """

    def run(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        if len(axes) == 1:
            (axis,) = axes
            if x.size <= PIECE or (axis == x.ndim - 1 and x.flags.c_contiguous):
                return getattr(x, name)(axis, None, keepdims=keepdims)
            lines = np.moveaxis(x, axis, 0)
            places = np.empty(lines.shape[1:], np.intp)
            for part in line_parts(lines.shape, 1):
                places[part] = getattr(lines[:, *part], name)(0)
            return np.expand_dims(places, axis) if keepdims else places
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        turned = x.transpose([*kept, *axes])
        moved = reshaped(turned, (*turned.shape[: len(kept)], -1))
        result = getattr(moved, name)(-1)
        return np.expand_dims(result, axes) if keepdims else result

    return run


@spells("count_nonzero")
def _nonzero_count(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    if len(axes) == x.ndim and not keepdims:
        return int64.type(np.count_nonzero(x))
    return np.count_nonzero(x, axes, keepdims=keepdims)


for _name in ("argmax", "argmin"):
    spells(_name)(_position(_name))

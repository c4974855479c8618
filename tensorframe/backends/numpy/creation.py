"""Sources as arrays: constants and fills take no memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.dtypes import LIMITS, as_scalar
from tensorframe.graph.node import Node
from tensorframe.graph.region import RegionOp

Array = Any

# The largest ends of ranges that one call of NumPy's counts, which fit every integer that it does so with.
_COMMON = 1 << 31
_COUNTED = {
    dtype: (max(low, -_COMMON), min(high, _COMMON)) for dtype, (low, high) in LIMITS.items()
}


def generate(node: Node | RegionOp) -> Array:
    """Return the values of a source, which a plan may hold as an op of its own."""
    return GENERATORS[node.op.name](node)


def _constant(node: Node | RegionOp) -> Array:
    return as_scalar(node.attrs[0], node.dtype)


def _full(node: Node | RegionOp) -> Array:
    # read-only, since a scalar's memory is; `np.broadcast_to` takes seven times as long
    value, shape = as_scalar(node.attrs[0], node.dtype), node.shape
    return np.ndarray(shape, node.dtype, value, 0, (0,) * len(shape))


def _arange(node: Node | RegionOp) -> Array:
    start, step, first, stride = node.attrs
    size = node.shape[0]
    if node.dtype.kind not in "iu":
        count = np.arange(first, first + stride * size, stride)
        return (count * step + start).astype(node.dtype)
    stop = start + step * size
    low, high = _COUNTED[node.dtype]
    if step and low <= start <= high and low <= stop <= high:
        return np.arange(start, stop, step, dtype=node.dtype)
    # unsigned and modulo a power of two, since uint64 holds numbers that int64 does not
    unsigned = np.dtype(f"u{node.dtype.itemsize}")
    modulus = 1 << 8 * unsigned.itemsize
    counted = np.arange(size, dtype=unsigned if size < modulus else np.uint64)
    values = counted.astype(unsigned, copy=False)
    if step != 1:
        values *= unsigned.type(step % modulus)
    if start:
        values += unsigned.type(start % modulus)
    return values.view(node.dtype)


def _file(node: Node) -> Array:
    from tensorframe.files.reader import read_leaf  # for the few who load one

    return read_leaf(node)


def _argument(node: Node) -> Array:
    raise node.attrs[0].error()


GENERATORS: dict[str, Callable[[Any], Array]] = {
    "constant": _constant,
    "full": _full,
    "arange": _arange,
    "file": _file,
    "argument": _argument,
}

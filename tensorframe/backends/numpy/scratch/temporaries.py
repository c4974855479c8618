"""Temporaries of elementwise regions in NumPy: the bytes that lie between ops, known from shapes and dtypes.

A small region runs op by op on whole arrays, a larger one in blocks (`numpy/region.py`). What a function allocates for
itself beside its result was measured for those that are not ufuncs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tensorframe import config
from tensorframe.backends.numpy.region import WORTH_SHARING, MapCall, schedule
from tensorframe.backends.numpy.threads import thread_count
from tensorframe.dtypes import DType
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.ops.random import RANDOM_WORD

# Bytes that a thread has for rounds of random words.
_RANDOM = 1 << 20

# Of functions that are not ufuncs, what they take for themselves: in elements of the widest operand or result.
_OF_MOST = 2.0
_WIDTHS = {
    **dict.fromkeys(("cast", "where", "real", "imag", "relu", "deg2rad", "rad2deg"), 0.0),
    **dict.fromkeys(("isposinf", "isneginf"), 0.0),
    **dict.fromkeys(("hardshrink", "threshold", "hardtanh"), 1.0),
    **dict.fromkeys(("mish", "gelu_tanh", "elu", "celu", "selu", "binary_entropy"), 3.0),
    **dict.fromkeys(("softshrink", "huber", "scaled_softplus"), 4.0),
    "erf": 4.0,
    "dot4": 6.0,
    "gelu": 8.0,
}
# Bytes an element of what computes in float64, whatever its dtype.
_BYTES = {"erfc": 96}
# Where integers, and real numbers, are rounded, or divided, in one call of NumPy's.
_DIRECT = {"round": frozenset({"c"}), "floor_divide": frozenset("cfV")}


def temporaries(region: Region) -> int:
    """Return the bytes that the program of a region of elementwise ops takes beside its results, at most."""
    calls, scratch = schedule(region)
    if len(calls) == 1 and isinstance(calls[0].function, np.ufunc):
        return 0
    size = math.prod(region.ops[-1].shape)
    widest = max(op.dtype.itemsize for op in region.ops)
    length = max(config.get().block_bytes // widest, 1)
    if size <= 2 * length:
        return size * _between(region, calls)
    own = max(
        [
            _own(region, call) + _result(region, call)
            for call in calls
            if call.scratch is None and not call.writes
        ],
        default=0,
    )
    blocks = -(-size // length)
    threads = min(thread_count(), blocks) if len(calls) * blocks >= WORTH_SHARING else 1
    words = _RANDOM * any(op.op is RANDOM_WORD for op in region.ops)
    return threads * (length * (sum([dtype.itemsize for dtype in scratch]) + own) + words)


def _between(region: Region, calls: Sequence[MapCall]) -> int:
    """Return the bytes an element of what lies between ops on whole arrays at most, and what these take meanwhile.

    Results count from the first op on, since plans have them from there.
    """
    results = sum(_itemsize(region, output) for output in set(region.outputs))
    alive: dict[int, int] = {}
    most = 0
    for call in calls:
        if call.reuses is None:
            alive[call.result] = _result(region, call)
        else:
            alive[call.result] = alive.pop(call.reuses)
        most = max(most, sum(alive.values()) + _own(region, call))
        for value in call.dead:
            if value not in region.outputs:
                alive.pop(value, None)
    return max(most - results, 0)


def _own(region: Region, call: MapCall) -> int:
    """Return the bytes an element that a function takes for itself."""
    if isinstance(call.function, np.ufunc) or call.writes:
        return 0
    op = region.ops[call.result - len(region.inputs)]
    dtypes = [op.dtype, *map(region.dtype_of, op.inputs)]
    if op.op.name in _BYTES:
        return _BYTES[op.op.name]
    return math.ceil(_widths(op.op, op.dtype) * max(dtype.itemsize for dtype in dtypes))


def _widths(op: Op, dtype: DType) -> float:
    if op.name in _DIRECT and dtype.kind not in _DIRECT[op.name]:
        return 0.0
    return _WIDTHS.get(op.name, _OF_MOST)


def _result(region: Region, call: MapCall) -> int:
    return _itemsize(region, call.result)


def _itemsize(region: Region, value: int) -> int:
    return region.dtype_of(value).itemsize

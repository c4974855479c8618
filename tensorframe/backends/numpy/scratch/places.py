"""Scratch of what places elements, counts them, and accumulates them along lines."""

from __future__ import annotations

from math import prod

from tensorframe.backends.numpy.scans import scratch_of_scan
from tensorframe.backends.numpy.scratch.calls import Call, Estimate
from tensorframe.graph.op import Kind

_MIB = 1 << 20


def _of_scatter(call: Call) -> int:
    """Elements are combined in double precision, or looked at for zeros; places are numbered."""
    floats = call.dtype.kind not in "biu"
    indices = [prod(shape) for shape, _ in call.operands[2:]]
    places = 8 * max(indices, default=0) if len(indices) > 1 else 0
    return places + (8 * call.elements * max(call.dtype.itemsize // 8, 1) if floats else 0) + _MIB


def _of_gather(call: Call) -> int:
    """Indices are compared with the bounds."""
    return max([prod(shape) for shape, dtype in call.operands[1:] if dtype.kind in "iu"], default=0)


def _of_arange(call: Call) -> int:
    return 0 if call.dtype.kind in "iu" else 16 * prod(call.shape)


def _of_histogram(call: Call) -> int:
    return 2 * _MIB + call.widened + (8 * call.elements if len(call.operands) > 2 else 0)


def _of_scan(call: Call) -> int:
    return scratch_of_scan(call.elements, call.kind)


ESTIMATES: dict[str | Kind, Estimate] = {
    Kind.GATHER: _of_gather,
    Kind.SCATTER: _of_scatter,
    "arange": _of_arange,
    "row_numbers": lambda call: call.result,
    "histogram": _of_histogram,
    "count_nonzero": lambda call: 0 if call.kind.kind == "b" else call.elements,
    "cumulative_sum": _of_scan,
    "cumulative_prod": _of_scan,
}

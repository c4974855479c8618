"""Scratch of what sorts and searches."""

from __future__ import annotations

from tensorframe.backends.numpy.merge_sort import LONG, SHORT, goes_by_bits, is_shared_out
from tensorframe.backends.numpy.merge_sort import scratch_bytes as sorting_bytes
from tensorframe.backends.numpy.scans import PIECE
from tensorframe.backends.numpy.scratch.calls import Call, Estimate
from tensorframe.dtypes import ADDED, DType, wide_of
from tensorframe.graph.op import Kind


def _compared(kind: DType) -> DType:
    return wide_of(kind) if kind in ADDED else kind


def _of_sort(call: Call) -> int:
    axis, descending = call.attrs
    keys = max(call.widened, call.first)
    values = (call.widened and call.widened + keys) + (keys if descending else 0)
    return values + _of_lines(call, axis)


def _of_argsort(call: Call) -> int:
    axis, descending, stable = call.attrs
    keys = call.widened + (max(call.widened, call.first) if descending else 0)
    length: int = call.operands[0][0][axis]
    size = _compared(call.kind).itemsize
    if stable and size < 4 and call.kind.kind != "f":
        return keys + 8 * length  # by digits, from one array to another
    if not stable or not LONG <= length < 1 << 32:
        return keys
    # what ranks of 32 bits are made of; of 64, ranks beside positions, the sorted lines and where these differ
    return keys + (25 if size == 8 else 8) * call.elements


def _of_lines(call: Call, axis: int) -> int:
    """Lines along another axis than the last one are copied there and back."""
    (shape, _), *_ = call.operands
    dtype, elements = _compared(call.kind), call.elements
    is_last = axis % len(shape) == len(shape) - 1
    if not is_last and not goes_by_bits(dtype) and not is_shared_out(elements, dtype):
        return 0
    copied = 0 if is_last else elements * dtype.itemsize
    return max(copied, sorting_bytes(shape[axis], elements, dtype))


def _of_partition(call: Call) -> int:
    """Short lines are sorted."""
    kth, axis = call.attrs
    return 2 * call.widened + _of_short_lines(call, axis, len(kth))


def _of_select(call: Call) -> int:
    """Lines are copied."""
    places, _ = call.operands[1]
    sorted_ = _of_short_lines(call, -1, places[-1])
    return max(call.widened, call.first) + call.widened + sorted_


def _of_short_lines(call: Call, axis: int, places: int) -> int:
    length, dtype = call.operands[0][0][axis], _compared(call.kind)
    return sorting_bytes(length, call.elements, dtype) if length < SHORT * places else 0


def _of_topk(call: Call) -> int:
    keys = max(call.widened, call.first)
    return (keys if call.attrs[2] else call.widened) + 8 * call.elements


def _of_positions(call: Call) -> int:
    """Lines along another axis than the last one are copied, some at a time; those along several axes all at once."""
    axes, _ = call.attrs
    (shape, _), *_ = call.operands
    if sorted(axes) == list(range(len(shape) - len(axes), len(shape))):
        return 0
    if len(axes) > 1:
        return call.first
    length: int = shape[axes[0]]
    return min(call.elements, max(PIECE, length)) * call.kind.itemsize


ESTIMATES: dict[str | Kind, Estimate] = {
    "sort": _of_sort,
    "argsort": _of_argsort,
    "partition": _of_partition,
    "select": _of_select,
    "argpartition": lambda call: call.widened,
    "topk": _of_topk,
    "searchsorted": lambda call: call.widened,
    "argmax": _of_positions,
    "argmin": _of_positions,
}

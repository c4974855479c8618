"""Scratch: the bytes that programs of devices take at most while they run, beside their operands and results.

Kernels take none to speak of; sorting does, and what numbers the elements that indices point to sorts these numbers.
Fourier transforms take two arrays between launches, and tables; factorisations copies of their operands.
"""

from __future__ import annotations

from math import prod

from tensorframe.backends.device.factorisation import can_factorise, factorisation_bytes
from tensorframe.backends.device.fourier import fourier_bytes
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp

# Elements of a line that a group sorts by itself; longer ones are merged, from one buffer to another and back.
_IN_A_GROUP = 1 << 10
# Bytes of the number of an element, and of its place.
_NUMBER = 4
# Bytes for each index of a scatter, beside the index itself: its number, numbers and places in order, and two buffers.
_POINTED = 28

_FOURIER = frozenset({"fftn", "ifftn", "rfftn", "irfftn"})
_FACTORISATIONS = frozenset({"cholesky", "solve", "inv", "det", "slogdet", "qr"})
_VALUES = frozenset({"sort", "partition"})
_PLACES = frozenset({"argsort", "argpartition", "topk"})


def scratch_bytes(region: Region) -> int:
    """Return the bytes that the program of a region takes for itself, at most."""
    return max([_of_op(region, op) for op in region.ops], default=0)


def _of_op(region: Region, op: RegionOp) -> int:
    if op.op.kind is Kind.SCATTER and len(op.inputs) > 2:
        indices = [region.inputs[s] for s in op.inputs[2:] if s < len(region.inputs)]
        known = [prod(shape) * (_POINTED + dtype.itemsize) for shape, dtype in indices]
        return max(known, default=0)
    if op.op.name in _FOURIER:
        return fourier_bytes(region)
    if op.op.name in _FACTORISATIONS:
        return (
            factorisation_bytes(region)
            if can_factorise([dtype for _, dtype in region.inputs])
            else 0
        )
    if op.op.name not in _VALUES | _PLACES | {"select"}:
        return 0
    shape, dtype = region.shape_of(op.inputs[0]), region.dtype_of(op.inputs[0])
    axis = (
        -1
        if op.op.name == "select"
        else op.attrs[1 if "part" in op.op.name or op.op.name == "topk" else 0]
    )
    length = shape[axis] if shape else 1
    buffers = 0 if length <= _IN_A_GROUP else 1 if length <= 2 * _IN_A_GROUP else 2
    each = dtype.itemsize + (_NUMBER if op.op.name in _PLACES else 0)
    ordered = dtype.itemsize if op.op.name == "select" else 0
    return prod(shape) * (buffers * each + ordered)

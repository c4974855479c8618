"""Scratch: the bytes that programs of devices take at most while they run, beside their operands and results.

Kernels take none to speak of; sorting does, and what numbers the elements that indices point to sorts these numbers.
Fourier transforms take two arrays between launches, and tables; factorisations copies of their operands.
"""

from __future__ import annotations

from math import prod

from tensorframe.backends.device.factorisation import can_factorise, factorisation_bytes
from tensorframe.backends.device.fourier import fourier_bytes
from tensorframe.backends.device.selection import is_partitioned, places_of
from tensorframe.dtypes import DType
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.kernel.groups.algorithms.merge_sort import Sorting, elements_between
from tensorframe.kernel.groups.algorithms.partition import partition_partials
from tensorframe.kernel.groups.algorithms.selection import Selecting
from tensorframe.kernel.nest.assemble import Partials
from tensorframe.ops.rules.ordering import is_selected

# Threads of the groups that sort.
_LANES = 256
# Bytes for each index of a scatter, beside the index itself: its number, numbers and places in order, and two buffers.
_POINTED = 28

_FOURIER = frozenset({"fftn", "ifftn", "rfftn", "irfftn"})
_FACTORISATIONS = frozenset({"cholesky", "solve", "inv", "det", "slogdet", "qr"})
_VALUES = frozenset({"sort", "partition"})
_PLACES = frozenset({"argsort", "argpartition", "topk"})
_PARTITIONS = frozenset({"partition", "argpartition"})


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
    if 0 in shape or not shape:
        return 0
    if op.op.name == "select":
        if is_selected(shape[-1], op.shape[-1]):
            return _bytes_of(Selecting(shape, dtype, (), op.shape[-1]).partials)
        return prod(shape) * dtype.itemsize + _of_sorting(shape, dtype, -1, shape[-1], places=False)
    if op.op.name in _PARTITIONS:
        kth, axis = op.attrs
        wanted = places_of(kth, shape[axis])
        if is_partitioned(shape[axis], len(wanted)):
            selecting = Selecting(shape, dtype, (), len(wanted), axis=axis, kth=wanted)
            return _bytes_of(partition_partials(selecting))
    top = op.op.name == "topk"
    axis = op.attrs[1 if top or op.op.name in _PARTITIONS else 0]
    count = op.attrs[0] if top else shape[axis]
    return _of_sorting(shape, dtype, axis, count, places=op.op.name in _PLACES)


def _bytes_of(partials: Partials) -> int:
    return sum(dtype.itemsize * size for dtype, size, _ in partials)


def _of_sorting(shape: Shape, dtype: DType, axis: int, count: int, *, places: bool) -> int:
    """Return the bytes between kernels that sort, or select the first `count`: keys, with places or without them."""
    outputs = (True, False) if places else (True,)
    sorting = Sorting(shape, dtype, (), axis % len(shape), False, count, outputs)
    each = sum(held.itemsize for held in sorting.held)
    return each * sum(elements_between(sorting, _LANES))

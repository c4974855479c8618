"""Scratch: the bytes that compiled kernels take at most while they run, and whether they write over an operand.

Both follow from the kernels. Where they can matter these are built for operands in C order, as the first run would:
rows that are stored between passes, or on their way to memory, may be as large as the operands.
"""

from __future__ import annotations

from math import prod
from operator import mul
from typing import TYPE_CHECKING

from tensorframe.backends.llvm.engine import is_combined, is_sparse
from tensorframe.backends.numpy.threads import thread_count
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.machine import HOST

if TYPE_CHECKING:
    from tensorframe.kernel.nest.assemble import Built

# Bytes of a value from which kernels are looked at: for what they allocate, and for what they write over.
_LARGE, _WORTH_LOOKING = 1 << 20, 1 << 16


def kernel_scratch(region: Region) -> int:
    """Return the bytes that a region's kernels take for what chunks and threads make, at most."""
    if is_combined(region):
        from tensorframe.kernel.forms.scatter import scratch_bytes

        return thread_count() * scratch_bytes(region)
    if is_sparse(region):
        from tensorframe.kernel.forms.sparse import scratch_bytes as beside

        return beside(region)
    ordered = [op for op in region.ops if op.op.kind in (Kind.REDUCE, Kind.SCAN)]
    if not ordered:
        return 0
    if len(region.ops) > 1 and _largest(region) >= _LARGE:
        from tensorframe.kernel.nest.allocated import allocated_bytes

        built = _built(region)
        calls = [min(thread_count(), -(-launch.total // launch.grain)) for launch in built.launches]
        each = map(allocated_bytes, built.launches)
        partials = sum(count * dtype.itemsize for dtype, count, _ in built.partials)
        return partials + max(map(mul, calls, each), default=0)
    return max(_partial_results(prod(op.shape), region.shape_of(op.inputs[0])) for op in ordered)


def writes_over(region: Region) -> bool:
    """Whether kernels give a result in an operand's memory: not if a second one may have to read the operand again."""
    if is_sparse(region):
        return False
    if is_combined(region) or _largest(region) < _WORTH_LOOKING:
        return True
    return not any(launch.general for launch in _built(region).launches)


def _partial_results(results: int, shape: Shape) -> int:
    rows = prod(shape) // max(shape[-1] if shape else 1, 1)
    columns = shape[-1] if 1 < results < HOST.units * HOST.columns else 1
    return 16 * min(columns * HOST.units, rows) + prod(shape) // HOST.row * 16


def _largest(region: Region) -> int:
    """Return the bytes of the largest value of a region, its operands among them."""
    operands = [prod(shape) * dtype.itemsize for shape, dtype in region.inputs]
    return max([*operands, *[prod(op.shape) * op.dtype.itemsize for op in region.ops]], default=0)


def _built(region: Region) -> Built:
    # plans of small tensors are made without what makes kernels
    from tensorframe.backends.llvm.lowering import kernels_of, loops_of
    from tensorframe.kernel.build import build

    parts = loops_of(region).parts
    return kernels_of(build, region, tuple([strides_of(shape) for shape, _ in parts.region.inputs]))

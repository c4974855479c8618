"""What a region takes for itself, by what it begins with."""

from __future__ import annotations

from math import prod

from tensorframe.backends.numpy.epilogue_region import epilogue_of, has_chain, has_epilogue
from tensorframe.backends.numpy.scratch.calls import scratch_of_call
from tensorframe.backends.numpy.scratch.temporaries import temporaries
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.quantization import WHOLE_PRODUCTS

# Each kind of region imports what it needs, as its program does: see `numpy/programs.py`.


def scratch_bytes(region: Region, *, compiled: bool = False) -> int:
    """Return the bytes that NumPy's program of a region takes for itself, at most.

    `compiled` says that kernels do what is done to blocks of products.
    """
    first = region.ops[0]
    if first.op.kind is Kind.CONTRACT or first.op in WHOLE_PRODUCTS:
        taken = _of_product(region, compiled=compiled)
        if taken is not None:
            return taken
    if all(op.op.kind is Kind.MAP for op in region.ops):
        return temporaries(region)
    if len(region.ops) > 1:
        from tensorframe.backends.numpy.scratch.sequences import scratch_of_sequence

        return scratch_of_sequence(region)
    return scratch_of_call(region, first)


def _of_product(region: Region, *, compiled: bool) -> int | None:
    """Return what a product takes with what is done to its blocks; None for one that is a single call."""
    from tensorframe.backends.numpy.scratch import products

    first = region.ops[0]
    if has_chain(region):
        return products.of_chain(region, compiled=compiled)
    tiles = products.of_tiles(region) if compiled and first.op is MATMUL else None
    if tiles is not None or not has_epilogue(region):
        return tiles
    if first.op in WHOLE_PRODUCTS:
        epilogue = epilogue_of(region)
        after = 0 if epilogue is None else scratch_bytes(epilogue, compiled=compiled)
        product = prod(first.shape) * first.dtype.itemsize
        return max(scratch_of_call(region, first), after) + product
    return scratch_of_call(region, first) + products.of_epilogue(region)

"""Scratch of products of matrices, alone and with what is done to their blocks."""

from __future__ import annotations

from math import prod

from tensorframe import config
from tensorframe.backends.numpy.products.grid import blocks, row_blocks
from tensorframe.backends.numpy.products.product import IN_BLAS, extents
from tensorframe.backends.numpy.products.quantized_product import scratch_of
from tensorframe.backends.numpy.products.small_product import block_bytes, reads_small
from tensorframe.backends.numpy.products.tiles import (
    BESIDE,
    PACKED,
    TALL,
    is_for_tiles,
    packed_bytes,
    scratch_of_product,
)
from tensorframe.backends.numpy.scratch.calls import Call, Estimate
from tensorframe.backends.numpy.threads import thread_count
from tensorframe.dtypes import NARROW, wide_of
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape

_MIB = 1 << 20


def of_tiles(region: Region) -> int | None:
    """Return what a product by tiles takes; None if it is made otherwise."""
    op = region.ops[0]
    left, right = [region.shape_of(source) for source in op.inputs]
    if min(len(left), len(right)) < 2 or {region.dtype_of(source) for source in op.inputs} != {
        op.dtype
    }:
        return None
    sizes = []
    # a transposed product is that of its transposed factors, the other way round
    for x, y, shape in (
        (left, right, op.shape),
        (_turned(right), _turned(left), _turned(op.shape)),
    ):
        if is_for_tiles(x, y, shape, op.dtype):
            sizes.append(scratch_of_product(y, op.dtype))
    return max(sizes) + of_epilogue(region) if sizes else None


def _turned(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2])


def of_epilogue(region: Region) -> int:
    """Each thread has a block of the product, and what its ops make of it."""
    op = region.ops[0]
    if op.op.name != "matmul":
        return thread_count() * 2 * _MIB
    parts = blocks(*_sizes(region, op), whole_rows=True)
    largest = max(prod(extents(index)) for index in parts)
    return min(thread_count(), len(parts)) * _beside(largest * op.dtype.itemsize)


def of_chain(region: Region, *, compiled: bool) -> int:
    """Each thread has a block of scores, which kernels write over, of weights, and of the result."""
    first = region.ops[0]
    batch, rows, inner, columns = _sizes(region, first)
    parts = row_blocks(batch, rows, inner, columns)
    largest = max(prod(extents(index)) for index in parts) * first.dtype.itemsize
    made = len([op for op in region.ops if op.op.kind is Kind.CONTRACT])
    result = largest // max(columns, 1) * region.ops[-1].shape[-1] if region.ops[-1].shape else 0
    in_place = compiled and made == 2 and len(parts) > 1
    each = largest + result if in_place else _beside(largest)
    blas = min(thread_count(), len(parts)) * each * max(made - 1, 1)
    return max(blas, _of_tiled_chain(region) if compiled and made == 2 else 0)


def _of_tiled_chain(region: Region) -> int:
    """Both right factors are packed, some matrices at a time, and each thread has two blocks of scores."""
    first, second = [op for op in region.ops if op.op.kind is Kind.CONTRACT]
    rights = [region.shape_of(op.inputs[1]) for op in (first, second)]
    factor_bytes = sum([packed_bytes(right[-2:], first.dtype) for right in rights])
    whole = sum([packed_bytes(right, first.dtype) for right in rights])
    scores = 2 * max(1 << 16, 32 * first.shape[-1]) + TALL * BESIDE
    return min(whole, max(factor_bytes, PACKED)) + thread_count() * scores * first.dtype.itemsize


def _beside(block: int) -> int:
    """Return the bytes of a block of a product, and of what is made of it."""
    return 2 * block + min(block, 2 * config.get().block_bytes)


def _sizes(region: Region, op: RegionOp) -> tuple[Shape, int, int, int]:
    left, right = [region.shape_of(source) for source in op.inputs[:2]]
    rows = left[-2] if len(left) > 1 else 1
    return op.shape[:-2], rows, left[-1], right[-1] if len(right) > 1 else 1


def _of_product(call: Call) -> int:
    """Blocks of small elements are converted, integers are multiplied as floats, sums in parts are added up."""
    (left, x), (right, y) = call.operands[:2]
    if reads_small(x, y, call.dtype):
        return _of_small(left, right, call.shape)
    operands, results = prod(left) + prod(right), prod(call.shape)
    if call.dtype in IN_BLAS:
        factors = [prod(shape) for shape, dtype in call.operands[:2] if dtype != call.dtype]
        return sum(factors) * call.dtype.itemsize
    if call.dtype in NARROW:
        return 4 * (operands + results)
    if call.dtype.kind == "b":
        return 4 * (operands + results)
    # as floats, then as int64, since a cast beyond the range of a small integer does not wrap
    product = 8 * results + max(8 * operands, 8 * results)
    return thread_count() * _MIB + max(product - call.result, 8 * results)


def _of_small(left: Shape, right: Shape, shape: Shape) -> int:
    """Each thread converts parts of both factors, for a block of the result."""
    rows = left[-2] if len(left) > 1 else 1
    columns = right[-1] if len(right) > 1 else 1
    parts = blocks(shape[: max(len(shape) - 2, 0)], rows, left[-1], columns)
    each = max(block_bytes(prod(tall), wide, left[-1]) for *tall, wide in map(extents, parts))
    whole = 4 * (prod(left) + prod(right)) + 8 * prod(shape)
    return min(min(thread_count(), len(parts)) * each, whole)


def _of_quantized(call: Call) -> int:
    """The other factor as integers, and blocks of elements that are made of words."""
    (x, dtype), (words, _) = call.operands[:2]
    rows = prod(x[:-1])
    narrow = 0 if dtype == wide_of(dtype) else 4 * rows * words[0]
    return narrow + scratch_of(rows, x[-1], words[0], thread_count())


def _of_sparse(call: Call) -> int:
    """Blocks of products, and the place of each element in a stack."""
    return 4 * _MIB + 16 * max(prod(shape) for shape, dtype in call.operands if dtype.kind == "i")


ESTIMATES: dict[str | Kind, Estimate] = {
    **dict.fromkeys(("matmul", "einsum"), _of_product),
    **dict.fromkeys(("quantized_matmul", "quantized_matmul_with_zeros"), _of_quantized),
    **dict.fromkeys(("sparse_matmul", "transposed_sparse_matmul", "sampled_matmul"), _of_sparse),
}

"""Scratch: the bytes that NumPy's programs take at most while they run, beside their operands and results.

Each kind of step says it of shapes and dtypes alone, as a plan knows them. Of NumPy's and LAPACK's own functions it was
measured what they copy (`tests/frontend/test_bound.py` does so again); that of our own programs follows from blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorframe import config
from tensorframe.backends.numpy.epilogue_region import epilogue_of, has_chain, has_epilogue
from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.numpy.lapack_scratch import ROUTINES
from tensorframe.backends.numpy.lapack_scratch import scratch_of as scratch_of_routine
from tensorframe.backends.numpy.merge_sort import SHORT, is_shared_out
from tensorframe.backends.numpy.merge_sort import scratch_bytes as sorting_bytes
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
from tensorframe.backends.numpy.scans import PIECE, scratch_of_scan
from tensorframe.backends.numpy.sequence import Run, runs, without_repeats
from tensorframe.backends.numpy.temporaries import temporaries
from tensorframe.backends.numpy.threads import thread_count
from tensorframe.dtypes import ADDED, COMPLEX, NARROW, DType, float16, real_of, wide_of
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE, SLICE, WINDOWS
from tensorframe.ops.quantization import WHOLE_PRODUCTS
from tensorframe.quick_tuples import NamedTuple

_MIB = 1 << 20
# elements of a line from which stable orders are made of ranks: see sorting.py
_LONG = 512
# what views are made by, of memory that is never touched
_MOVES = frozenset({EXPAND, PERMUTE, RESHAPE, SLICE, WINDOWS})
_BYTE = np.zeros(1, np.uint8)


class Call(NamedTuple):
    """A call of one of NumPy's functions: its row, attributes, and the shapes and dtypes of operands and result."""

    op: Op
    attrs: tuple[Any, ...]
    operands: tuple[tuple[Shape, DType], ...]
    shape: Shape
    dtype: DType

    @property
    def name(self) -> str:
        """The name of its row."""
        return self.op.name

    @property
    def results(self) -> Sequence[tuple[Shape, DType]]:
        """The shape and dtype of each result."""
        if self.op.results is None:
            return [(self.shape, self.dtype)]
        return self.op.results(tuple([shape for shape, _ in self.operands]), self.kind, *self.attrs)

    @property
    def elements(self) -> int:
        """Elements of the first operand."""
        return prod(self.operands[0][0])

    @property
    def first(self) -> int:
        """Bytes of the first operand."""
        return self.elements * self.operands[0][1].itemsize

    @property
    def kind(self) -> DType:
        """The dtype of the first operand."""
        return self.operands[0][1]

    @property
    def result(self) -> int:
        """Bytes of the result."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def widened(self) -> int:
        """Bytes of a copy of the first operand in a dtype that NumPy has, if its own is none of them."""
        return self.elements * wide_of(self.kind).itemsize if self.kind in ADDED else 0


def scratch_bytes(region: Region, *, compiled: bool = False) -> int:
    """Return the bytes that NumPy's program of a region takes for itself, at most.

    `compiled` says that kernels do what is done to blocks of products.
    """
    ops = region.ops
    if has_chain(region):
        return _of_chain(region, compiled=compiled)
    tiles = _of_tiles(region) if compiled and ops[0].op is MATMUL else None
    if tiles is not None:
        return tiles
    if ops[0].op in WHOLE_PRODUCTS and len(ops) > 1:
        epilogue = epilogue_of(region)
        after = 0 if epilogue is None else scratch_bytes(epilogue, compiled=compiled)
        product = prod(ops[0].shape) * ops[0].dtype.itemsize
        return max(_of_call(region, ops[0]), after) + product
    if has_epilogue(region):
        return _of_call(region, ops[0]) + _of_epilogue(region)
    if all(op.op.kind is Kind.MAP for op in ops):
        return temporaries(region)
    return _of_sequence(region) if len(ops) > 1 else _of_call(region, ops[0])


def _of_sequence(region: Region) -> int:
    """Return what lies between the ops of a region at most, and what these take while it does."""
    region = without_repeats(region)
    parts, views = runs(region), _views(region)
    last_use = {
        source: number for number, run in enumerate(parts) for _, op in run for source in op.inputs
    }
    for run in reversed(parts):
        for value, op in run:
            if value in views:  # it keeps its operand's memory
                (source, *_) = op.inputs
                last_use[source] = max(last_use[source], last_use.get(value, -1))
    live: dict[int, int] = {}
    most = 0
    for number, run in enumerate(parts):
        kept = {
            value: 0 if value in views else prod(op.shape) * op.dtype.itemsize
            for value, op in run
            if value in region.outputs or last_use.get(value, -1) > number
        }
        live |= kept
        most = max(most, sum(live.values()) + _of_run(region, run, tuple(kept)))
        for value in [value for value in live if last_use.get(value, number + 1) == number]:
            if value not in region.outputs:
                del live[value]
    return max(most - sum(live.values()), 0)  # results are counted by whoever asks


def _views(region: Region) -> set[int]:
    """Return the values that look at their operand's memory: where strides cannot say it, elements are copied."""
    stand_ins: dict[int, Any] = {}
    views: set[int] = set()
    for value, op in enumerate(region.ops, start=len(region.inputs)):
        if not op.op.alias:
            continue
        (source, *_) = op.inputs
        if op.op in _MOVES:
            shape = region.shape_of(source)
            seen = stand_ins.get(source)
            seen = as_strided(_BYTE, shape, strides_of(shape)) if seen is None else seen
            try:
                stand_ins[value] = (
                    seen.reshape(op.shape, copy=False)
                    if op.op is RESHAPE
                    else implementation[op.op](seen, *op.attrs)
                )
            except ValueError:
                continue
        views.add(value)
    return views


def _of_run(region: Region, run: Run, kept: tuple[int, ...]) -> int:
    """Return what a run of ops takes beside those of its values that are `kept`."""
    made = [value for value, _ in run]
    takes = dict.fromkeys([source for _, op in run for source in op.inputs if source not in made])
    first = run[0][1]
    if run[-1][1].op.kind is Kind.MAP:
        return temporaries(region.part(tuple(takes), made, kept))
    if len(run) > 1:  # NumPy converts as many elements at a time while it sums them up
        return min(prod(first.shape), np.getbufsize()) * first.dtype.itemsize
    return _of_call(region, first)


def _of_call(region: Region, op: RegionOp) -> int:
    row = ROWS.get(op.op.name) or KINDS.get(op.op.kind)
    if row is None or (op.op.kind is Kind.SCATTER and op.op.combination is None):
        return 0
    operands = tuple([(region.shape_of(v), region.dtype_of(v)) for v in op.inputs])
    return row(Call(op.op, op.attrs, operands, op.shape, op.dtype))


# products


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


def _of_tiles(region: Region) -> int | None:
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
    return max(sizes) + _of_epilogue(region) if sizes else None


def _turned(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2])


def _of_small(left: Shape, right: Shape, shape: Shape) -> int:
    """Each thread converts parts of both factors, for a block of the result."""
    rows = left[-2] if len(left) > 1 else 1
    columns = right[-1] if len(right) > 1 else 1
    parts = blocks(shape[: max(len(shape) - 2, 0)], rows, left[-1], columns)
    each = max(block_bytes(prod(tall), wide, left[-1]) for *tall, wide in map(extents, parts))
    whole = 4 * (prod(left) + prod(right)) + 8 * prod(shape)
    return min(min(thread_count(), len(parts)) * each, whole)


def _of_epilogue(region: Region) -> int:
    """Each thread has a block of the product, and what its ops make of it."""
    op = region.ops[0]
    if op.op.name != "matmul":
        return thread_count() * 2 * _MIB
    parts = blocks(*_sizes(region, op), whole_rows=True)
    largest = max(prod(extents(index)) for index in parts)
    return min(thread_count(), len(parts)) * _beside(largest * op.dtype.itemsize)


def _of_chain(region: Region, *, compiled: bool) -> int:
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


# what sorts and searches


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
    if not stable or not _LONG <= length < 1 << 32:
        return keys
    # what ranks of 32 bits are made of; of 64, ranks beside positions, the sorted lines and where these differ
    return keys + (25 if size == 8 else 8) * call.elements


def _of_lines(call: Call, axis: int) -> int:
    """Lines along another axis than the last one are copied there and back."""
    (shape, _), *_ = call.operands
    dtype, elements = _compared(call.kind), call.elements
    is_last = axis % len(shape) == len(shape) - 1
    if not is_last and dtype != float16 and not is_shared_out(elements, dtype):
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


# what transforms


def _of_transform(call: Call) -> int:
    """Each axis makes an array, and a line has its plan and memory of its own; real values become complex before."""
    sizes, axes, _ = call.attrs
    real = not (call.kind in COMPLEX and call.dtype in COMPLEX)
    halves = 2 if real_of(call.kind).itemsize == 4 else 1
    between = call.elements if call.kind in COMPLEX else 0
    if call.dtype in COMPLEX:
        between = max(between, prod(call.shape))
    copies = between * max(call.kind.itemsize, call.dtype.itemsize) if len(axes) > 1 else 0
    if call.name in ("fftn", "ifftn") and call.kind not in COMPLEX:
        copies += call.elements * call.dtype.itemsize
    return copies + max([_line(size, real) // halves for size in sizes], default=0)


@lru_cache(maxsize=1024)
def _line(size: int, real: bool) -> int:
    """Return the bytes of a line in double precision, more where it becomes a convolution, by Bluestein's algorithm."""
    rest, factor = size, 2
    while factor * factor <= rest:
        while rest % factor == 0:
            rest //= factor
        factor += 1
    return size * (128 if rest * rest > size > 50 else 16 if real else 32)


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


def _of_convolution(call: Call) -> int:
    """The padded input, the turned kernel, and windows in each thread; half precision is converted."""
    kernel, dtype = call.operands[1]
    _, before, after, *_ = call.attrs
    shape, _ = call.operands[0]
    sizes = [max(sum(size), 0) for size in zip(shape[2:], before, after, strict=True)]
    elements = prod(shape[:2]) * prod(sizes) if any((*before, *after)) else 0
    if dtype in NARROW:
        elements += prod(shape) + prod(kernel) + prod(call.shape)
    if prod(kernel[2:]) <= prod(call.shape[2:]):  # not in a gradient by the kernel
        elements += prod(kernel)
    return elements * wide_of(dtype).itemsize + thread_count() * _MIB


def _of_quantized(call: Call) -> int:
    """The other factor as integers, and blocks of elements that are made of words."""
    (x, dtype), (words, _) = call.operands[:2]
    rows = prod(x[:-1])
    narrow = 0 if dtype == wide_of(dtype) else 4 * rows * words[0]
    return narrow + scratch_of(rows, x[-1], words[0], thread_count())


def _of_sparse(call: Call) -> int:
    """Blocks of products, and the place of each element in a stack."""
    return 4 * _MIB + 16 * max(prod(shape) for shape, dtype in call.operands if dtype.kind == "i")


KINDS: dict[Kind, Callable[[Call], int]] = {Kind.GATHER: _of_gather, Kind.SCATTER: _of_scatter}
ROWS: dict[str, Callable[[Call], int]] = {
    "arange": _of_arange,
    "matmul": _of_product,
    "einsum": _of_product,
    "convolution": _of_convolution,
    "quantized_matmul": _of_quantized,
    "quantized_matmul_with_zeros": _of_quantized,
    "sparse_matmul": _of_sparse,
    "transposed_sparse_matmul": _of_sparse,
    "sampled_matmul": _of_sparse,
    "row_numbers": lambda call: call.result,
    "sort": _of_sort,
    "argsort": _of_argsort,
    "partition": _of_partition,
    "select": _of_select,
    "argpartition": lambda call: call.widened,
    "topk": _of_topk,
    "searchsorted": lambda call: call.widened,
    "histogram": _of_histogram,
    "bincount": lambda call: call.result,
    "fftn": _of_transform,
    "ifftn": _of_transform,
    "rfftn": _of_transform,
    "irfftn": _of_transform,
    "cumulative_sum": lambda call: scratch_of_scan(call.elements, call.kind),
    "cumulative_prod": lambda call: scratch_of_scan(call.elements, call.kind),
    "argmax": _of_positions,
    "argmin": _of_positions,
    "count_nonzero": lambda call: 0 if call.kind.kind == "b" else call.elements,
    **dict.fromkeys(ROUTINES, scratch_of_routine),
}

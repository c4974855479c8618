"""Scratch: the bytes that convolutions take at most while they run, beside their operands and results.

It follows the way that is chosen. Of the processor it assumes the widest vectors, and where costs decide between
vectors of channels and those of positions, what takes more.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod

from tensorframe.backends.llvm.convolution.sizes import (
    BLOCK,
    DTYPES,
    SMALL,
    SUMS,
    Sizes,
    whole_vectors,
)
from tensorframe.backends.numpy.convolution.padding import phases
from tensorframe.backends.numpy.convolution.points import sums_points
from tensorframe.backends.numpy.threads import thread_count
from tensorframe.codegen.llvm.indirect_product import TERMS
from tensorframe.dtypes import NARROW, DType, wide_of
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.machine import HOST, spare_line
from tensorframe.ops.convolution import Geometry


def scratch_of_convolution(region: Region) -> int | None:
    """Return what a region that begins with a convolution takes; None if NumPy makes it."""
    op = region.ops[0]
    (x, dtype), (kernel, _) = [(region.shape_of(v), region.dtype_of(v)) for v in op.inputs]
    wide = wide_of(dtype) if dtype in NARROW else dtype
    if wide not in DTYPES:
        return None
    converted = prod(x) + prod(kernel) + prod(op.shape) if dtype in NARROW else 0
    *windows, groups = op.attrs
    has_some = 0 not in (*x, *kernel, *op.shape)
    beside = _elements(x, kernel, Geometry(*windows), groups, wide) if has_some else 0
    return (converted + beside) * wide.itemsize + thread_count() * BLOCK  # what is done to blocks


def _elements(x: Shape, kernel: Shape, geometry: Geometry, groups: int, dtype: DType) -> int:
    """Return how many elements there are beside operands and result."""
    spread = geometry.input_dilation
    if max(spread) == 1:
        return _undilated(x, kernel, geometry, groups, dtype)
    if max(geometry.stride) > 1:  # with the zeros between elements
        dilated = [(size - 1) * step + 1 for size, step in zip(x[2:], spread, strict=True)]
        whole = (*x[:2], *dilated)
        own = geometry._replace(input_dilation=(1,) * len(spread))
        return prod(whole) + _undilated(whole, kernel, own, groups, dtype)
    return max(_phases(x, kernel, geometry, groups, dtype), default=0)


def _phases(
    x: Shape, kernel: Shape, geometry: Geometry, groups: int, dtype: DType
) -> Iterator[int]:
    """Yield what each phase takes: its result is in memory of its own before it is where it belongs."""
    sizes = geometry.sizes(x[2:], kernel[2:])
    for phase in phases(geometry, sizes, kernel[2:], x[2:]):
        places = zip(sizes, phase.places, strict=True)
        made: Shape = tuple([len(range(size)[place]) for size, place in places])
        result: int = prod((x[0], kernel[0], *made))
        if phase.positions is not None and result > 0:
            read = zip(kernel[2:], phase.positions, strict=True)
            part = (*kernel[:2], *[len(range(size)[position]) for size, position in read])
            yield result + _undilated(x, part, phase.geometry, groups, dtype)


def _undilated(x: Shape, kernel: Shape, geometry: Geometry, groups: int, dtype: DType) -> int:
    sizes = Sizes(x, kernel, geometry, groups, dtype)
    if sums_points(x, kernel, geometry, groups):
        return _of_point_sums(sizes)
    if groups == 1 and max(sizes.kernel) == 1:
        return _of_points(sizes)
    widest = HOST.line // dtype.itemsize
    ways = []
    if sizes.channels < widest // 2:  # by dot products, the padded input is there
        ways.append(prod(sizes.padded_shape) if sizes.is_turned else _of_windows(sizes))
    if sizes.channels > 1:
        ways.append(_of_channels(sizes))
    return max(ways)


def _of_channels(sizes: Sizes) -> int:
    if sizes.is_in_sums:
        return _of_sums(sizes)
    return _of_parts(sizes) if sizes.is_in_parts else _of_windows(sizes)


def _of_points(sizes: Sizes) -> int:
    """The input where it is padded, or read in steps, and in each thread a packed block, and one of the result."""
    apart = max(sizes.geometry.stride) > 1
    read = apart * prod(sizes.padded_shape[:2]) * prod(sizes.sizes)
    columns = prod(sizes.sizes) * (sizes.inner + sizes.channels)
    each = min(2 * BLOCK // sizes.dtype.itemsize, columns)
    return sizes.is_padded * prod(sizes.padded_shape) + read + _threads(sizes.shape[0]) * each


def _of_point_sums(sizes: Sizes) -> int:
    """Both factors where images are small, or read in steps, sums, and in each thread a packed block, and a product."""
    positions = prod(sizes.kernel)
    apart = max(sizes.geometry.dilation) > 1
    channels = apart * sizes.shape[0] + (positions < SMALL) * (sizes.shape[0] + sizes.channels)
    each = min(BLOCK // sizes.dtype.itemsize, prod(sizes.padded_shape)) + prod(sizes.shape)
    sums = max(SUMS, sizes.inner) if positions < SMALL else SUMS
    return channels * sizes.inner * positions + sums * prod(sizes.shape) + _threads(SUMS) * each


def _of_sums(sizes: Sizes) -> int:
    """Sums, and in each thread one as the product makes it, beside the kernel's part and its input."""
    rows, images = sizes.part_of_sums()
    kernel = images * rows * prod(sizes.kernel[1:]) * _across(sizes, sizes.channels)
    each = _block(sizes, sizes.shape[0], images, rows, sizes.sizes[0]) + kernel
    return SUMS * prod(sizes.shape) + _threads(SUMS) * each


def _of_parts(sizes: Sizes) -> int:
    """The padded input, and in each thread its channels of the result and some terms of their kernel."""
    channels = sizes.channels_of_part(_lanes(sizes))
    result = sizes.shape[0] * prod(sizes.sizes) * whole_vectors(channels, _lanes(sizes))
    kernel = max(TERMS, prod(sizes.kernel)) * _across(sizes, channels)
    blocks = ceil(sizes.channels / channels)
    return sizes.is_padded * prod(sizes.padded_shape) + _threads(blocks) * (result + kernel)


def _of_windows(sizes: Sizes) -> int:
    """The turned kernel, and in each thread its part of the input and of the result."""
    batch, _, first, *_ = sizes.shape
    examples, height = ceil(batch / sizes.enough), first
    if not sizes.is_turned:
        examples, height = sizes.block(sizes.rows_by_channels(_lanes(sizes)))
    blocks = ceil(batch / examples) * ceil(first / height) * sizes.groups
    kernel = sizes.groups * sizes.inner * prod(sizes.kernel) * _across(sizes, sizes.channels)
    each = _block(sizes, examples, sizes.inner, sizes.kernel[0], height)
    return kernel + _threads(blocks) * each


def _block(sizes: Sizes, examples: int, inner: int, kernel: int, height: int) -> int:
    """Return the elements of some rows of the result as a product makes them, and of the input that these read."""
    geometry = sizes.geometry
    reach = (height - 1) * geometry.stride[0] + (kernel - 1) * geometry.dilation[0] + 1
    is_copied = sizes.is_padded or not sizes.is_turned  # vectors of positions read a copy
    x = is_copied * examples * inner * reach * prod(sizes.padded_shape[3:])
    columns = whole_vectors(sizes.channels, _lanes(sizes))
    return x + examples * height * prod(sizes.sizes[1:]) * columns


def _threads(blocks: int) -> int:
    return min(thread_count(), blocks)


def _lanes(sizes: Sizes) -> int:
    """Return the elements of a vector, at most: few channels make none of the widest ones."""
    return min(HOST.line // sizes.dtype.itemsize, 2 * sizes.channels)


def _across(sizes: Sizes, channels: int) -> int:
    """Return the elements from one row of a turned kernel to the next."""
    width = whole_vectors(channels, _lanes(sizes))
    return width + spare_line(width, sizes.dtype.itemsize)

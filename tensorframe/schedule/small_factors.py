"""Small factors: products read half precision and bytes as they are, instead of a copy in the dtype of the result.

Where a device multiplies half precision in float32, factors that are read many times are converted once instead, by the
kernels that make them or by one of their own, and so is the result by the kernel that goes on with it. A large matrix
in memory that few rows are multiplied with is converted block by block, in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.backends.base import Capabilities
from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import FLOAT, INTEGER, NARROW, DType, float32
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.elementwise import CAST
from tensorframe.rewrite.engine import Builder, rewrite, rule
from tensorframe.schedule.capture import is_leaf

# Rows or columns up to which a product takes as long as reading its larger factor.
_FEW = 16
# Rows up to which a matrix in memory, of at least so many elements, takes longer to convert beforehand: it would be
# written, and read once more.
_ROWS, _MATRIX = 96, 1 << 18
# Parts of a tensor of which one is a factor, up to which all of it is converted: the others are factors, too.
_PARTS = 4
# Bytes of a converted factor up to which it may take memory beside the factor itself.
_LARGEST = 1 << 25


def read_as_they_are(roots: Sequence[Node]) -> list[Node]:
    """Return the roots of a graph whose products take in casts that lose nothing, where the device converts itself."""
    if not any(_concerns(node) for node in reachable(roots)):
        return list(roots)
    return rewrite(roots, (take_in_casts, convert_once))


def _concerns(node: Node) -> bool:
    if node.storage is not None:
        return False
    return (node.op is MATMUL and not node.attrs) or _is_half_convolution(node)


def _is_half_convolution(node: Node) -> bool:
    return node.op is CONVOLUTION and node.dtype in NARROW


@rule(lambda op: op is MATMUL)
def take_in_casts(node: Node, build: Builder) -> Node | None:
    """`x.astype(wide) @ y` is a product with a wider result than its factor."""
    able = capabilities(node.device)
    if node.attrs or not able.small_factors or (able.only_thin and _has_library(node)):
        return None
    if node.dtype.itemsize > float32.itemsize:
        return None
    factors = tuple([_before_cast(factor, able, build) or factor for factor in node.inputs])
    dtypes = [factor.dtype for factor in factors]
    if factors == node.inputs or not _agree(dtypes, node.dtype):
        return None
    if NARROW.issuperset(dtypes) and _converts_once(node, factors, able):
        return None
    like = (node.shape, node.dtype, node.device)
    return build.make(MATMUL, factors, (node.dtype,), *like, node)


@rule(lambda op: op in (MATMUL, CONVOLUTION))
def convert_once(node: Node, build: Builder) -> Node | None:
    """A product of half precision is one of float32, rounded."""
    is_half = node.dtype in NARROW and all(source.dtype == node.dtype for source in node.inputs)
    if not is_half or not _converts_once(node, node.inputs, capabilities(node.device)):
        return None
    wide = tuple([_widened(source, build, node) for source in node.inputs])
    result = build.make(node.op, wide, node.attrs, node.shape, float32, node.device, node)
    return build.make(CAST, (result,), (node.dtype,), node.shape, node.dtype, node.device, node)


def _widened(factor: Node, build: Builder, like: Node) -> Node:
    """Return a factor in float32, converted as it lies: a kernel that turned it would write from place to place."""
    if factor.storage is None and factor.op.kind is Kind.VIEW and factor.op.alias:
        (source, *others) = factor.inputs
        if not others and prod(source.shape) <= _PARTS * prod(factor.shape):
            inner = _widened(source, build, like)
            return build.make(
                factor.op, (inner,), factor.attrs, factor.shape, float32, factor.device, factor
            )
    return build.make(CAST, (factor,), (float32,), factor.shape, float32, factor.device, like)


def _converts_once(node: Node, factors: Sequence[Node], able: Capabilities) -> bool:
    """Whether a product of the host, by BLAS or tiles of float32, reads both factors often, and they are not large."""
    if not able.host_memory:
        return False
    if node.op is MATMUL and (node.attrs or _is_thin(node) or _reads_once(*factors)):
        return False
    return all(4 * prod(factor.shape) <= _LARGEST for factor in factors)


def _reads_once(rows: Node, matrices: Node) -> bool:
    """Whether few rows are multiplied with large matrices that are in memory already."""
    is_shared = prod(matrices.shape[:-2]) == 1
    count = prod(rows.shape[:-1]) if is_shared else rows.shape[-2]
    return count <= _ROWS and prod(matrices.shape[-2:]) >= _MATRIX and _is_in_memory(matrices)


def _is_in_memory(node: Node) -> bool:
    while node.storage is None and node.inputs and node.op.kind is Kind.VIEW and node.op.alias:
        node = node.inputs[0]
    return is_leaf(node)


def _is_thin(node: Node) -> bool:
    left, right = [source.shape for source in node.inputs]
    return min(len(left), len(right)) < 2 or min(left[-2], right[-1]) <= _FEW


def _has_library(node: Node) -> bool:
    """Whether a product is one that libraries make: large, and of floats."""
    return node.dtype not in INTEGER and not _is_thin(node)


def _agree(factors: Sequence[DType], result: DType) -> bool:
    """Whether factors of these dtypes are multiplied into such a result: integers among themselves."""
    if result in INTEGER:
        return all(factor.itemsize == 1 for factor in factors)
    return True


def _before_cast(node: Node, able: Capabilities, build: Builder) -> Node | None:
    """Return what a factor was before a cast that loses nothing, seen through the same views; None if there is none."""
    if node.storage is not None:
        return None
    if node.op is CAST:
        (source,) = node.inputs
        taken = source.dtype in able.small_factors and _holds(node.dtype, source.dtype)
        return source if taken and source.device is node.device else None
    if node.op.kind is not Kind.VIEW or not node.op.alias or len(node.inputs) != 1:
        return None
    inner = _before_cast(node.inputs[0], able, build)
    if inner is None:
        return None
    return build.make(node.op, (inner,), node.attrs, node.shape, inner.dtype, node.device, node)


def _holds(dtype: DType, small: DType) -> bool:
    """Whether a dtype has every number of a small one."""
    if small in NARROW:
        return dtype == float32
    if dtype in FLOAT:
        return True
    return dtype in INTEGER and dtype.itemsize > 1 and (dtype.kind == "i" or small.kind == "u")

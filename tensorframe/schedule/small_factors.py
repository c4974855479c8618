"""Small factors: products read half precision and bytes as they are, instead of a copy in the dtype of the result."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.base import Capabilities
from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import FLOAT, INTEGER, NARROW, DType, float32
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.elementwise import CAST
from tensorframe.rewrite.engine import Builder, rewrite, rule

# Rows or columns up to which a product takes as long as reading its larger factor.
_FEW = 16


def read_as_they_are(roots: Sequence[Node]) -> list[Node]:
    """Return the roots of a graph whose products take in casts that lose nothing, where the device converts itself."""
    if not any(_concerns(node) for node in reachable(roots)):
        return list(roots)
    return rewrite(roots, (take_in_casts,))


def _concerns(node: Node) -> bool:
    return node.storage is None and node.op is MATMUL and not node.attrs


@rule(lambda op: op is MATMUL)
def take_in_casts(node: Node, build: Builder) -> Node | None:
    """`x.astype(wide) @ y` is a product with a wider result than its factor."""
    able = capabilities(node.device)
    if node.attrs or not able.small_factors or (able.only_thin and not _is_thin(node)):
        return None
    if node.dtype.itemsize > float32.itemsize:
        return None
    factors = tuple([_before_cast(factor, able, build) or factor for factor in node.inputs])
    if factors == node.inputs or not _agree([factor.dtype for factor in factors], node.dtype):
        return None
    like = (node.shape, node.dtype, node.device)
    return build.make(MATMUL, factors, (node.dtype,), *like, node)


def _is_thin(node: Node) -> bool:
    left, right = [source.shape for source in node.inputs]
    return min(len(left), len(right)) < 2 or min(left[-2], right[-1]) <= _FEW


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

"""Products with a vector: devices with kernels of their own multiply elements and sum them, in the loops of a region.

So what is made of the vector, and what is done to the result, runs in the kernel that reads the matrix, and products of
one vector with several matrices are a single kernel: a step of decoding consists of such products.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe import config
from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import BOOL, DType, wide_of
from tensorframe.graph.node import Node, reachable
from tensorframe.kernel.spaces.dot import has_one_row
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.expand import written_as
from tensorframe.ops.term import Term, call
from tensorframe.rewrite.canonical import rebuild
from tensorframe.rewrite.engine import Builder, Rule, rewrite, rule


def sum_dots(roots: Sequence[Node], rules: Sequence[Rule] = ()) -> list[Node]:
    """Return the roots of a graph without products of a single row or column, where kernels run in regions."""
    if not config.get().fuse or not any(map(_is_dot, reachable(roots))):
        return list(roots)
    return rewrite(roots, (_sum_dot, *rules))


def _is_dot(node: Node) -> bool:
    if node.storage is not None or node.op is not MATMUL:
        return False
    able = capabilities(node.device)
    left, right = [source.shape for source in node.inputs]
    return able.compiles and not able.host_memory and has_one_row(left, right)


@rule(lambda op: op is MATMUL)
def _sum_dot(node: Node, build: Builder) -> Node | None:
    """A product becomes a multiplication and a sum."""
    if not _is_dot(node):
        return None
    return rebuild(written_as(node, _summed), frozenset(node.inputs), build)


def _summed(left: Term, right: Term, dtype: DType | None = None) -> Term:
    """Return the product of factors of which one is a vector: of its rows, and the columns of the other."""
    result = dtype or left.dtype
    wide = wide_of(result)
    rows, length = left.shape[:-1], left.shape[-1]
    columns = right
    if len(right.shape) > 1:
        last = len(right.shape) - 1
        columns = right.permuted((*range(last - 1), last, last - 1))
    if len(left.shape) == 1 or len(right.shape) == 1:
        # the axis of its one row, or column, is not in the result
        return _reduced(left.cast(wide), columns.cast(wide), is_bool=result in BOOL).cast(result)
    *stack, width, _ = columns.shape
    x = left.reshaped((*rows, 1, length)).cast(wide)
    y = columns.reshaped((*stack, 1, width, length)).cast(wide)
    return _reduced(x, y, is_bool=result in BOOL).cast(result)


def _reduced(x: Term, y: Term, *, is_bool: bool) -> Term:
    if is_bool:
        both = call("logical_and", x, y, attrs=())
        return call("any", both, attrs=((len(both.shape) - 1,), False))
    product = x * y
    return product.sum((len(product.shape) - 1,), keepdims=False)

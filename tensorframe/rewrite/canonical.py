"""Canonicalisation: one spelling for what is the same, so that common subexpressions are found to be equal."""

from __future__ import annotations

from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.ops.creation import CONSTANT, FULL
from tensorframe.ops.expand import expand
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE, SLICE
from tensorframe.rewrite.engine import Builder, rule
from tensorframe.rewrite.views import Window


@rule(lambda op: op.expand is not None)
def write_out(node: Node, build: Builder) -> Node | None:
    """A row with an expansion becomes its core rows."""
    return rebuild(expand(node), frozenset(node.inputs), build)


def rebuild(root: Node, leaves: frozenset[Node], build: Builder) -> Node:
    """Pass the nodes between `root` and `leaves` through the builder (expansions are shallow: recursion is safe)."""
    if root in leaves:
        return root
    if not root.inputs:  # a number: of several expansions it may be the same
        return build.make(root.op, (), root.attrs, root.shape, root.dtype, root.device, root)
    return build.remake(root, tuple([rebuild(source, leaves, build) for source in root.inputs]))


@rule(lambda op: op is FULL)
def broadcast_fill(node: Node, build: Builder) -> Node | None:
    """A filled tensor is a broadcast number."""
    number = build.make(CONSTANT, (), node.attrs, (), node.dtype, node.device, node)
    return build.make(EXPAND, (number,), (node.shape,), node.shape, node.dtype, node.device, node)


@rule(lambda op: op.commutative and op.arity == 2)
def sort_commutative(node: Node, build: Builder) -> Node | None:
    """`b + a` is written `a + b`, the older operand first."""
    left, right = node.inputs
    if left.serial <= right.serial:
        return None
    return build.remake(node, (right, left))


@rule(lambda op: op.kind is Kind.VIEW and op.arity == 1)
def merge_views(node: Node, build: Builder) -> Node | None:
    """Two views of one kind in a row are one view; a view that changes nothing is none."""
    source = node.inputs[0]
    if node.op in (RESHAPE, EXPAND) and source.shape == node.shape:
        return source
    if node.op is PERMUTE and node.attrs[0] == tuple(range(len(node.shape))):
        return source
    if node.op is SLICE and Window(*node.attrs).shows_all(source.shape):
        return source
    if node.op in (RESHAPE, PERMUTE, SLICE):  # of one number, all are alike
        number = source.inputs[0] if _is_expand(source) else source
        if number.shape == ():
            whole, dtype = node.shape, node.dtype
            return build.make(EXPAND, (number,), (whole,), whole, dtype, node.device, node)
    if source.op is not node.op or source.storage is not None:
        return None
    inner = source.inputs[0]
    if node.op in (RESHAPE, EXPAND):
        return build.remake(node, (inner,))
    if node.op is PERMUTE:
        axes = tuple(source.attrs[0][axis] for axis in node.attrs[0])
        return build.make(PERMUTE, (inner,), (axes,), node.shape, node.dtype, node.device, node)
    if node.op is SLICE:
        window = Window(*source.attrs).through(Window(*node.attrs))
        attrs = (window.starts, window.sizes, window.steps)
        return build.make(SLICE, (inner,), attrs, node.shape, node.dtype, node.device, node)
    return None


@rule(lambda op: op.kind is Kind.MAP)
def drop_implied_broadcast(node: Node, build: Builder) -> Node | None:
    """Elementwise ops broadcast by themselves: an `expand` of an operand is dropped where another gives the shape.

    Where every operand is a broadcast of something smaller, the op runs on the smaller shapes and its result is
    broadcast.
    """
    # of most nodes none is, which a generator takes three times as long to find
    for source in node.inputs:
        if source.op is EXPAND and source.storage is None:
            break
    else:
        return None
    bare = tuple([source.inputs[0] if _is_expand(source) else source for source in node.inputs])
    ndim = len(node.shape)
    padded = [(1,) * (ndim - len(operand.shape)) + operand.shape for operand in bare]
    shape = tuple(
        [
            size if any(shape[axis] == size for shape in padded) else 1
            for axis, size in enumerate(node.shape)
        ]
    )
    if not any(len(operand.shape) == ndim for operand in bare):
        shape = shape[ndim - max(len(operand.shape) for operand in bare) :]
    inner = build.remake(node, bare, shape)
    if shape == node.shape:
        return inner
    return build.make(EXPAND, (inner,), (node.shape,), node.shape, node.dtype, node.device, node)


def _is_expand(node: Node) -> bool:
    return node.op is EXPAND and node.storage is None

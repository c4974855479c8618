"""Carrying, as graphs: what a tile leaves of a reduction over the cut, and how a scan goes on from the tile before.

Sums of floats leave the totals of their pieces, in the dtype in which elements of a piece are added, which loses
nothing; `runtime/streaming/partial_aggregates.py` joins them one after the other, as kernels do (`kernel/ir/order.py`).
"""

from __future__ import annotations

from math import prod
from typing import Any

from tensorframe.dtypes import COMPLEX, FLOAT, DType, complex_of, float64
from tensorframe.graph.node import Node
from tensorframe.graph.op import Op, find
from tensorframe.graph.shape import Shape, reduced
from tensorframe.kernel.ir.order import PIECE
from tensorframe.ops.movement import CONCAT, PERMUTE, RESHAPE
from tensorframe.ops.reduction import ARGMAX, MAX, MIN
from tensorframe.schedule.blocks import whole
from tensorframe.schedule.tile_graph import shown
from tensorframe.schedule.tiles import How, Join


def left_by(node: Node, join: Join, tile: Node, carried: Node | None) -> tuple[Node, ...]:
    """Return what a tile of its operand leaves of a reduction; `carried` is the result of the tiles before, if any.

    Totals of pieces have these along the first axis.
    """
    if join.how is How.COMBINE:
        partial = _reduced(node.op, tile, node.attrs, node)
        if carried is None:
            return (partial,)
        assert node.op.combination is not None
        row = node.op.combination.join
        return (Node(row, (carried, partial), (), node.shape, node.dtype, node.device, node.site),)
    if join.how is How.POSITION:
        extreme = MAX if node.op is ARGMAX else MIN
        return (
            _reduced(node.op, tile, node.attrs, node),
            _reduced(extreme, tile, node.attrs, node, tile.dtype),
        )
    return (_totals_of_pieces(node, join, tile),)


def _reduced(
    op: Op, tile: Node, attrs: tuple[Any, ...], like: Node, dtype: DType | None = None
) -> Node:
    axes, keepdims = attrs
    shape = reduced(tile.shape, axes, keepdims=keepdims)
    return Node(op, (tile,), attrs, shape, dtype or like.dtype, like.device, like.site)


def _totals_of_pieces(node: Node, join: Join, tile: Node) -> Node:
    """Return the totals of a tile's pieces, in order along the first axis, before the axes that are kept."""
    assert join.dtype is not None
    rows = _rows_of(node, _cast(tile, join.dtype))
    count, *across = rows.shape
    length = count if join.grain > 1 else min(join.length, count)
    x = _reshape(rows, (count // length, length, *across))
    parts = []
    whole_pieces = length // PIECE
    if whole_pieces:
        first = _reshape(
            _between(x, 1, 0, whole_pieces * PIECE),
            (count // length, whole_pieces, PIECE, *across),
        )
        parts.append(_reduced(node.op, first, ((2,), False), first))
    if length % PIECE:
        rest = _between(x, 1, whole_pieces * PIECE, length)
        parts.append(_reduced(node.op, rest, ((1,), True), rest))
    totals = parts[0] if len(parts) == 1 else _joined(parts, 1)
    return _reshape(totals, (prod(totals.shape[:2]), *across))


def _rows_of(node: Node, tile: Node) -> Node:
    """Return a tile with its reduced axes as the first one, before the axes that are kept."""
    axes = sorted(node.attrs[0])
    kept = [axis for axis in range(len(tile.shape)) if axis not in axes]
    count = prod([tile.shape[axis] for axis in axes])
    across = tuple([tile.shape[axis] for axis in kept])
    return _reshape(_permute(tile, [*axes, *kept]), (count, *across))


def samples_of(node: Node, chunk: int, tile: Node, most: int) -> list[Node]:
    """Return the first elements of a tile's chunks, along the second axis: of whole ones, and of what is left."""
    rows = _rows_of(node, tile)
    count, *across = rows.shape
    chunks = count // chunk
    samples = []
    if chunks:
        shape = (chunks, chunk, *across)
        samples.append(_between(_reshape(_between(rows, 0, 0, chunks * chunk), shape), 1, 0, most))
    if count % chunk:
        first = chunks * chunk
        rest = _between(rows, 0, first, min(first + most, count))
        samples.append(_reshape(rest, (1, *rest.shape)))
    return samples


def moments_of(node: Node, tile: Node, pivots: Node) -> tuple[Node, Node]:
    """Return the totals of the pieces of distances from pivots, one for each piece, and of their squares."""
    rows = _rows_of(node, tile)
    count, *across = rows.shape
    pieces = count // PIECE
    distances: list[Node] = []
    squares: list[Node] = []

    def take(elements: Node, first: int, last: int) -> None:
        pivot = _between(pivots, 0, first, last)
        away = _map(find("subtract"), elements, pivot)
        distances.append(_reduced(node.op, away, ((1,), False), away))
        squares.append(_reduced(node.op, _map(find("multiply"), away, away), ((1,), False), away))

    if pieces:
        take(_reshape(_between(rows, 0, 0, pieces * PIECE), (pieces, PIECE, *across)), 0, pieces)
    if count % PIECE:
        rest = _between(rows, 0, pieces * PIECE, count)
        take(_reshape(rest, (1, *rest.shape)), pieces, pieces + 1)
    if len(distances) == 1:
        return distances[0], squares[0]
    return _joined(distances, 0), _joined(squares, 0)


def _map(op: Op, left: Node, right: Node) -> Node:
    return Node(op, (left, right), (), left.shape, left.dtype, left.device, left.site)


def scan_tile(node: Node, operand: Node, carried: Node) -> tuple[Node, Node]:
    """Return a block of a scan along the cut, and all of its running totals, the carried one first.

    The carried total, and those that are returned, are of the dtype that totals are accumulated in.
    """
    (axis,) = node.attrs
    line = _joined([carried, _cast(operand, carried.dtype)], axis)
    totals = Node(node.op, (line,), node.attrs, line.shape, carried.dtype, node.device, node.site)
    return _cast(_between(totals, axis, 1, line.shape[axis]), node.dtype), totals


def total_dtype(dtype: DType) -> DType:
    """Return the dtype in which totals are held: nothing of them is rounded."""
    if dtype in FLOAT:
        return float64
    return complex_of(float64) if dtype in COMPLEX else dtype


def finished(node: Node, total: Node) -> Node:
    """Return the result of a reduction from its total, which has the axes that are kept."""
    return _reshape(_cast(total, node.dtype), node.shape)


def total_at(totals: Node, axis: int, place: int) -> Node:
    """Return the running total before a place of a block, which has one place along the axis."""
    return _between(totals, axis, place, place + 1)


def _cast(node: Node, dtype: DType) -> Node:
    if node.dtype == dtype:
        return node
    return Node(find("cast"), (node,), (dtype,), node.shape, dtype, node.device, node.site)


def _between(node: Node, axis: int, low: int, high: int) -> Node:
    everything = whole(node.shape)
    return shown(node, (*everything[:axis], (low, high), *everything[axis + 1 :]))


def _permute(node: Node, axes: list[int]) -> Node:
    if axes == sorted(axes):
        return node
    shape = tuple([node.shape[axis] for axis in axes])
    return Node(PERMUTE, (node,), (tuple(axes),), shape, node.dtype, node.device, node.site)


def _reshape(node: Node, shape: Shape) -> Node:
    if node.shape == shape:
        return node
    return Node(RESHAPE, (node,), (shape,), shape, node.dtype, node.device, node.site)


def _joined(nodes: list[Node], axis: int) -> Node:
    first = nodes[0]
    size = sum(node.shape[axis] for node in nodes)
    shape = (*first.shape[:axis], size, *first.shape[axis + 1 :])
    return Node(CONCAT, tuple(nodes), (axis,), shape, first.dtype, first.device, first.site)
